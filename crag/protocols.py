"""The seams: what one room needs of another, so that no room imports its neighbour."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

from crag.options import RunOptions, Thresholds
from crag.stopping import Stop
from crag.types import Grade, Knowledge, Passage, Space, Strip, Turn, Usage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]
else:
    Vectors = Any  # numpy is slow to import, and the first page needs none


class Embedder(Protocol):
    """Turns text into unit vectors of one space."""

    @property
    def space(self) -> Space:
        """The space all vectors of this embedder live in."""
        ...

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """One row for each text, shape (len(texts), dimension), each row of length 1. Raises `ModelFault`."""
        ...

    def embed_query(self, text: str) -> Vectors:
        """Shape (dimension,), length 1. Raises `ModelFault`."""
        ...


@dataclass(frozen=True, slots=True)
class WantedEmbedder:
    """The embedder that the settings ask for; `explicit` is False where they leave it to the application."""

    name: str
    explicit: bool


class Embedders(Protocol):
    """What embedders there are."""

    def wanted(self) -> WantedEmbedder:
        """What the settings ask for now."""
        ...

    def open(self, name: str) -> Embedder:
        """The embedder called so, with the space it has at this moment. Raises `ModelFault`."""
        ...


@dataclass(frozen=True, slots=True)
class Prompt:
    """One message to a chat model. Roles as in the OpenAI and Ollama chat formats.

    `about` says what the request is for and what is asked, such as `answer: Who won?`; it is never sent.
    """

    role: Literal["system", "user", "assistant"]
    text: str
    about: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a streamed reply; the last one carries the usage. `thought` is what the model thinks aloud.

    `repeated`, of the last one, is how many characters at the end of the whole reply only repeat what stands before.
    """

    text: str
    usage: Usage | None = None
    thought: str = ""
    repeated: int = 0


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole reply."""

    text: str
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class FirstToken:
    """The first token of a reply, and the natural log-probability of each token that could have stood there.

    `alternatives` is empty where the server tells none; `text` may then be longer than one token.
    """

    text: str
    alternatives: Mapping[str, float] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)


class ChatModel(Protocol):
    """A language model behind the one seam that Ollama and every other provider pass through."""

    @property
    def name(self) -> str:
        """As in the settings, such as `ollama:llama3.1:8b`."""
        ...

    @property
    def fingerprint(self) -> str:
        """Name and digest: equal exactly when the same weights answer."""
        ...

    @property
    def host(self) -> str:
        """Where prompts go: a host, or the name of a provider; empty when the model runs on this machine."""
        ...

    @property
    def window(self) -> int:
        """Size of the context window in tokens."""
        ...

    @property
    def answer_limit(self) -> int:
        """How many tokens an answer may have, thoughts included; the prompt may use `window - answer_limit`."""
        ...

    @property
    def concurrency(self) -> int:
        """How many requests are worth sending at once."""
        ...

    def count_tokens(self, text: str) -> int:
        """An upper estimate of the tokens in `text`."""
        ...

    def complete(self, prompts: Sequence[Prompt], stop: Stop, *, schema: dict[str, Any] | None = None) -> Reply:
        """A whole reply, constrained to a JSON schema when one is given. Raises `ModelFault`, `Stopped`."""
        ...

    def first_token(self, prompts: Sequence[Prompt], stop: Stop) -> FirstToken:
        """The first token alone, at the price of the prompt. Raises `ModelFault`, `Stopped`."""
        ...

    def stream(self, prompts: Sequence[Prompt], stop: Stop) -> Iterator[Piece]:
        """The reply as it is made. Raises `ModelFault`, `Stopped`."""
        ...


class Retriever(Protocol):
    """Finds the nearest passages of the library."""

    def retrieve(self, query: str, options: RunOptions) -> list[Passage]:
        """At most `options.k` passages, best first."""
        ...

    def size(self, options: RunOptions) -> int:
        """How many passages are searched under these options."""
        ...

    def notice(self) -> str:
        """What a person should know of the last search, in their words; empty while all is well."""
        ...


class TermStatistics(Protocol):
    """Knows how rare terms are in the library."""

    def idf(self, terms: Sequence[str]) -> dict[str, float]:
        """The inverse document frequency, above 0, of each term as cut by `crag.language.terms`.

        A term that no passage holds gets the maximum, so that a question about something absent scores low.
        """
        ...


class Grader(Protocol):
    """Judges whether passages hold what answers a question."""

    @property
    def name(self) -> str:
        """Grader and exact model; part of the key under which verdicts are cached."""
        ...

    @property
    def thresholds(self) -> Thresholds:
        """Where this grader's scores turn into words."""
        ...

    def grade(self, question: str, passages: Sequence[Passage], stop: Stop) -> Iterator[tuple[int, Grade]]:
        """(index into `passages`, grade) as each is known, in any order, each once. Raises `ModelFault`, `Stopped`."""
        ...


class Refiner(Protocol):
    """Cuts passages into strips and keeps those that help to answer (CRAG, arXiv 2401.15884, section 4.4)."""

    def refine(self, question: str, passages: Sequence[Passage], stop: Stop) -> Iterator[tuple[int, tuple[Strip, ...]]]:
        """(index into `passages`, its strips in document order) as each is known. Raises `ModelFault`, `Stopped`."""
        ...


QUERY_LIMIT = 400  # characters that a query for the web may have: as many as search services take


class Rewriter(Protocol):
    """Writes questions anew: follow-ups that stand alone, queries for the web. Never sees document text."""

    def condense(self, question: str, history: Sequence[Turn], stop: Stop) -> str:
        """The question, made to stand without its history. Raises `ModelFault`, `Stopped`."""
        ...

    def rewrite(self, question: str, options: RunOptions, stop: Stop) -> str:
        """A query for the web within `QUERY_LIMIT`, as `options.rewrite` says. Raises `ModelFault`, `Stopped`."""
        ...


@dataclass(frozen=True, slots=True)
class ShortenedQuestion:
    """A question as models are given it; `left_out` of its `tokens` tokens are not in `text`."""

    text: str
    tokens: int = 0
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class PromptFit:
    """How a prompt fitted: its tokens, the window in tokens (0: none), strips and earlier messages left out of it."""

    tokens: int
    window: int
    left_out: int
    messages_left_out: int = 0


class Writer(Protocol):
    """Writes the answer from the knowledge alone, with `[n]` after what rests on knowledge n."""

    def write(
        self, question: str, knowledge: Sequence[Knowledge], history: Sequence[Turn], stop: Stop, *, begun: str = ""
    ) -> Iterator[PromptFit | Piece]:
        """First a `PromptFit`, then the answer in pieces, the last with its usage. Raises `ModelFault`, `Stopped`.

        `begun` is the text of an answer that broke off, under the same knowledge: the answer goes on from it and begins
        with it, or is written anew.
        """
        ...


class WebSearch(Protocol):
    """Searches the web. Every call leaves the machine."""

    @property
    def name(self) -> str:
        """The provider's name as shown, such as `Tavily`."""
        ...

    @property
    def host(self) -> str:
        """Where the query goes, such as `api.tavily.com`."""
        ...

    def search(self, query: str, results: int, stop: Stop) -> list[Passage]:
        """At most `results` passages with ids -1, -2, … and the origin `web`. Raises `WebSearchFailed`, `Stopped`."""
        ...


class PageReader(Protocol):
    """Reads the pages that a web search found. Every call leaves the machine."""

    def read(self, question: str, found: Sequence[Passage], stop: Stop) -> tuple[list[Passage], int]:
        """`found`, with the parts of its page nearest to the question instead of each excerpt; how many were unread.

        What cannot be read keeps its excerpt. Raises `Stopped`.
        """
        ...


@dataclass(frozen=True, slots=True)
class Engine:
    """What answers: the roles a run needs, whoever plays them.

    `away` are the labels of those models among them that run on another machine. `shorten` fits a question into the
    smallest of their windows.
    """

    name: str
    label: str
    grader: Grader
    refiner: Refiner
    rewriter: Rewriter
    writer: Writer
    away: tuple[str, ...] = ()
    shorten: Callable[[str], ShortenedQuestion] = ShortenedQuestion
