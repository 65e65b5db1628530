"""Interfaces between packages, so that no package imports its neighbour's implementation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from crag.cancellation import Cancellation
from crag.options import RunOptions
from crag.types import (
    Assessment,
    EmbeddingSpace,
    Grade,
    Knowledge,
    Passage,
    Prompt,
    Route,
    Statement,
    Strip,
    TableResult,
    Thresholds,
    Turn,
    Usage,
    Vectors,
    WrittenLanguage,
)


class Embedder(Protocol):
    """Turns text into unit vectors of one embedding space."""

    @property
    def space(self) -> EmbeddingSpace:
        """Embedding space of all vectors of this embedder."""
        ...

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector per text, shape (len(texts), dimension). Raises `ModelFault`."""
        ...

    def embed_query(self, text: str) -> Vectors:
        """Return one unit vector, shape (dimension,). Raises `ModelFault`."""
        ...


@dataclass(frozen=True, slots=True)
class ConfiguredEmbedder:
    """The embedder named in the settings. `explicit` is False if they leave the choice to the application."""

    name: str
    explicit: bool


class EmbedderProvider(Protocol):
    """Opens embedders by name."""

    def wanted(self) -> ConfiguredEmbedder:
        """Return the embedder that the settings name at present."""
        ...

    def open(self, name: str) -> Embedder:
        """Return the named embedder with its current embedding space. Raises `ModelFault`."""
        ...


OFF_TOPIC = "off_topic"
"""Finish reason of a writer that writes nothing because the knowledge has too little to do with the question."""


@dataclass(frozen=True, slots=True)
class ReplyPiece:
    """A piece of a streamed reply. The last piece carries the usage; `thought` is reasoning text.

    In the last piece, `repeated` counts the characters at the end of the whole reply that only repeat earlier text.
    """

    text: str
    usage: Usage | None = None
    thought: str = ""
    repeated: int = 0


@dataclass(frozen=True, slots=True)
class Reply:
    """A complete reply."""

    text: str
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class TokenChoice:
    """A reply that one token decides, with the natural log-probability of each candidate token at that position.

    `alternatives` is empty if the server reports none.
    """

    text: str
    alternatives: Mapping[str, float] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)


class ChatModel(Protocol):
    """A language model; the one interface to Ollama and every other provider."""

    @property
    def name(self) -> str:
        """Name as in the settings, such as `ollama:llama3.1:8b`."""
        ...

    @property
    def fingerprint(self) -> str:
        """Name and digest. Two fingerprints are equal only if the same weights answer."""
        ...

    @property
    def host(self) -> str:
        """Destination of prompts: a host, or the name of a provider. Empty if the model runs on this machine."""
        ...

    @property
    def window(self) -> int:
        """Size of the context window in tokens."""
        ...

    @property
    def answer_limit(self) -> int:
        """Maximum number of answer tokens, reasoning included. The prompt may use `window - answer_limit`."""
        ...

    @property
    def concurrency(self) -> int:
        """Number of requests worth sending at once."""
        ...

    def count_tokens(self, text: str) -> int:
        """Return an upper estimate of the number of tokens in `text`."""
        ...

    def complete(self, prompts: Sequence[Prompt], stop: Cancellation, *, schema: dict[str, Any] | None = None) -> Reply:
        """Return a whole, brief reply, constrained to a JSON schema if one is given; {} stands for any JSON object.

        Raises `ModelFault`, `Stopped`.
        """
        ...

    def first_token(self, prompts: Sequence[Prompt], stop: Cancellation) -> TokenChoice:
        """Return only the first token, at the cost of processing the prompt.

        The text is longer if the server reports no alternatives. Raises `ModelFault`, `Stopped`.
        """
        ...

    def choose_word(self, prompts: Sequence[Prompt], words: Sequence[str], stop: Cancellation) -> TokenChoice:
        """Make the model reply with one of the words, as the `verdict` of a JSON object.

        Raises `ModelFault`, `Stopped`.
        """
        ...

    def stream(self, prompts: Sequence[Prompt], stop: Cancellation) -> Iterator[ReplyPiece]:
        """Yield the reply as it is generated. Raises `ModelFault`, `Stopped`."""
        ...


class Retrieval(NamedTuple):
    """Passages, best first, and a notice to the user about this search, mostly empty.

    `scored` is the number of candidates that the evaluator scored; the first passages are the best of them.
    """

    passages: list[Passage]
    notice: str = ""
    scored: int = 0


class Retriever(Protocol):
    """Retrieves passages from the library."""

    def retrieve(
        self, query: str, options: RunOptions, stop: Cancellation | None = None, *, as_asked: str = ""
    ) -> Retrieval:
        """Return at most `options.k` passages. The evaluator orders them, unless the grader is the built-in one.

        `as_asked` is a follow-up before it was rewritten to `query`; passages that match both come first. Raises
        `Stopped`.
        """
        ...

    def size(self, options: RunOptions) -> int:
        """Return the number of passages searched under these options."""
        ...

    def titles(self, options: RunOptions) -> list[str]:
        """Return the titles of the documents searched under these options, newest first."""
        ...

    def read_all(self, options: RunOptions, *, with_tables: bool = False) -> Iterator[Passage]:
        """Yield all passages searched under these options in document order, each without wider context.

        `with_tables` leaves out those that hold no row of a table.
        """
        ...


class Grader(Protocol):
    """Judges whether passages contain the answer to a question."""

    @property
    def name(self) -> str:
        """Grader and exact model; part of the cache key of verdicts."""
        ...

    @property
    def thresholds(self) -> Thresholds:
        """Thresholds that turn this grader's scores into verdicts."""
        ...

    def grade(self, question: str, passages: Sequence[Passage], stop: Cancellation) -> Iterator[tuple[int, Grade]]:
        """Yield (index into `passages`, grade) for each passage once, in any order. Raises `ModelFault`, `Stopped`."""
        ...


class Evaluator(Protocol):
    """A trained model on this machine that scores texts by how likely they answer a question (a cross-encoder)."""

    @property
    def name(self) -> str:
        """Name as in the settings, or that of its folder."""
        ...

    @property
    def fingerprint(self) -> str:
        """Name and digest. Two fingerprints are equal only if the same model scores."""
        ...

    def reads(self, question: str) -> bool:
        """Return whether it was trained on the language of this question."""
        ...

    def score(self, question: str, texts: Sequence[str], stop: Cancellation) -> list[float | None]:
        """Return a score in 0..1 for each text, None if it could not be scored; no pair is scored twice.

        Raises `ModelFault`, `Stopped`.
        """
        ...


class Assessor(Protocol):
    """Grades passages and judges whether their best excerpts together answer the question."""

    def assess(
        self,
        question: str,
        passages: Sequence[Passage],
        stop: Cancellation,
        *,
        refine: bool = True,
        history: Sequence[Turn] = (),
    ) -> Iterator[tuple[int, Grade] | Assessment]:
        """Yield the grades as in `Grader.grade`, and one assessment last, unless every passage is rejected.

        Raises `ModelFault`, `Stopped`.
        What is judged is what the answer will be written from: without `refine` whole passages instead of excerpts, and
        the `history`.
        """
        ...


class Refiner(Protocol):
    """Splits passages into strips and keeps those that help to answer (CRAG, arXiv 2401.15884, section 4.4)."""

    def refine(
        self, question: str, passages: Sequence[Passage], stop: Cancellation
    ) -> Iterator[tuple[int, tuple[Strip, ...]]]:
        """Yield (index into `passages`, its strips in document order) as they are scored.

        Raises `ModelFault`, `Stopped`.
        """
        ...


MAX_QUERY_LENGTH = 400  # characters of a web query; the limit of search services


PassageFinder = Callable[[str], Sequence[Passage]]
"""Returns the passages nearest to a text, best first."""


@dataclass(frozen=True, slots=True)
class CondensedQuestion:
    """A question that is understood without the conversation; `reason` says in a sentence why it was changed or not."""

    text: str
    reason: str = ""


class Rewriter(Protocol):
    """Rewrites questions: follow-ups to stand alone, and web search queries. No document text becomes part of them."""

    def condense(
        self, question: str, history: Sequence[Turn], find_passages: PassageFinder, stop: Cancellation
    ) -> CondensedQuestion:
        """Return the question rewritten to be understood without its history. Raises `ModelFault`, `Stopped`.

        `find_passages` may decide what a question refers to; no passage is sent to a model.
        """
        ...

    def rewrite(self, question: str, options: RunOptions, stop: Cancellation) -> str:
        """Return a web query within `MAX_QUERY_LENGTH`, in the style of `options.rewrite`.

        Raises `ModelFault`, `Stopped`.
        """
        ...


@dataclass(frozen=True, slots=True)
class ShortenedQuestion:
    """A question as sent to models. `left_out` of its `tokens` tokens were dropped from `text`."""

    text: str
    tokens: int = 0
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class PromptFit:
    """How the prompt fitted the window.

    `tokens` and `window` (0: none) are in tokens. `left_out` counts the omitted strips, `messages_left_out` the omitted
    earlier messages.
    """

    tokens: int
    window: int
    left_out: int
    messages_left_out: int = 0


class Writer(Protocol):
    """Writes the answer from the knowledge alone, with `[n]` after each statement based on knowledge n."""

    def write(
        self,
        question: str,
        knowledge: Sequence[Knowledge],
        history: Sequence[Turn],
        stop: Cancellation,
        *,
        partial_answer: str = "",
    ) -> Iterator[PromptFit | ReplyPiece]:
        """Yield a `PromptFit`, then the answer in pieces, the last with its usage. Raises `ModelFault`, `Stopped`.

        `partial_answer` is the text of an interrupted answer under the same knowledge. The answer either continues from
        it and begins with it, or is written from scratch.
        """
        ...


@dataclass(frozen=True, slots=True)
class ReadingProgress:
    """Number of passages read so far."""

    read: int


@dataclass(frozen=True, slots=True)
class SummarySources:
    """The passages that a summary cites: `[n]` stands for the n-th of them, from 1."""

    passages: tuple[Passage, ...]


class Summarizer(Protocol):
    """Sums up passages, all of which it reads."""

    def summarize(
        self, question: str, passages: Sequence[Passage], stop: Cancellation
    ) -> Iterator[ReadingProgress | SummarySources | PromptFit | ReplyPiece]:
        """Yield the progress of reading, then the sources, the fit of the prompt, and the summary in pieces.

        The question is the request for the summary, which may say its length and form.

        What was read is kept for a while, so that a second summary of the same passages is quick. Raises `ModelFault`,
        `Stopped`.
        """
        ...


class RouteJudge(Protocol):
    """Decides the kind of an ambiguous question."""

    def judge(self, question: str, stop: Cancellation) -> Route | None:
        """Return the kind, or None without a usable reply. Raises `Stopped`."""
        ...

    def split(self, question: str, stop: Cancellation) -> tuple[str, ...]:
        """Return the questions in which to answer one, `[1]` in place of the answer to the first; empty if undivided.

        Raises `Stopped`.
        """
        ...


class QueryWriter(Protocol):
    """Turns a question about tables into SQL."""

    def write_query(
        self, question: str, schema: str, stop: Cancellation, *, refused: str = "", reason: str = ""
    ) -> str:
        """Return one SELECT for tables of this schema, unchecked. Raises `ModelFault`, `Stopped`.

        `refused` is an earlier query that could not be run, and `reason` says why.
        """
        ...


@dataclass(frozen=True, slots=True)
class Calculation:
    """Figures in words, without citations, with the query's result and some of the rows on which it rests.

    `is_certain` is false if words of the question were left out.
    """

    text: str
    result: TableResult
    rows: tuple[Statement, ...]
    is_certain: bool


@dataclass(frozen=True, slots=True)
class TableDescription:
    """What a table holds, in words without citations, and its first row."""

    title: str
    text: str
    first_row: Statement


class CalculationFailed(Exception):
    """A calculation could not be made. The message says why, for the user."""


class Calculator(Protocol):
    """Answers questions by calculating with the tables of documents."""

    def is_calculation(self, question: str) -> bool:
        """Return whether the wording asks for a count, total, mean, extreme, share or change, or may ask for rows."""
        ...

    def calculate(
        self,
        question: str,
        passages: Sequence[Passage],
        language: WrittenLanguage,
        stop: Cancellation,
        *,
        accept_uncertain: bool = False,
        confirm: Callable[[], bool] = lambda: True,
    ) -> Calculation | None:
        """Return the figures from the tables in these passages, which are in document order; None if none answers.

        `confirm` is called before a model writes a query for a question that may ask for a fact after all.
        Raises `CalculationFailed`, `ModelFault`, `Stopped`.
        """
        ...

    def describe(self, passages: Sequence[Passage], language: WrittenLanguage) -> list[TableDescription]:
        """Describe each table in these passages, which are in document order. Raises `CalculationFailed`."""
        ...

    def continue_question(self, previous: str, fragment: str, passages: Sequence[Passage]) -> str:
        """Return the earlier calculation with what an incomplete follow-up changes; empty if it changes nothing.

        “What was the revenue in the South?” and “in the North” make “What was the revenue in the North?”.
        """
        ...


class WebSearch(Protocol):
    """Searches the web. Every call leaves the machine."""

    @property
    def name(self) -> str:
        """Name of the provider as shown, such as `Tavily`."""
        ...

    @property
    def host(self) -> str:
        """Host that receives the query, such as `api.tavily.com`."""
        ...

    def search(self, query: str, results: int, stop: Cancellation) -> list[Passage]:
        """Return at most `results` passages of origin `web`, with ids -1, -2, ….

        Raises `WebSearchFailed`, `Stopped`.
        """
        ...


class PageReader(Protocol):
    """Reads the pages found by a web search. Every call leaves the machine."""

    def read(self, question: str, found: Sequence[Passage], stop: Cancellation) -> tuple[list[Passage], int]:
        """Return `found` with page text in place of excerpts, and the number of pages not read. Raises `Stopped`.

        Each passage gets the parts of its page that are most similar to the question. It keeps its excerpt if the page
        cannot be read.
        """
        ...


@dataclass(frozen=True, slots=True)
class Quotation:
    """Sentences of one passage that an answer uses.

    `context` is what they may refer to: title, heading and the sentence before them. `items` counts the list items
    among them; `is_cut` is set if the last one ends its passage, so that the list may go on in the next.
    """

    text: str
    context: str
    items: int = 0
    is_cut: bool = False


class CoverageCheck(Protocol):
    """Checks whether the quotations of an answer cover the question."""

    def is_covered(
        self, question: str, used: Sequence[Quotation], *, answer: str = "", passages: Sequence[Passage] = ()
    ) -> bool:
        """Return whether one of the quotations states everything that the question asks for.

        An `answer` in other words than the quotations that support it must also state the value that they state, and
        nothing else that the question does not say. No other sentence of the `passages` may name as much of the
        question and state a different value. Raises `ModelFault`.
        """
        ...

    def find_unanswered_part(self, question: str, used: Sequence[Quotation]) -> str:
        """Return the part of a question in two parts that the quotations do not answer, while they do the other.

        Empty if there is none. Raises `ModelFault`.
        """
        ...


def _find_no_corrections(_question: str) -> Mapping[str, str]:
    return {}


@dataclass(frozen=True, slots=True)
class Engine:
    """The models and components that a run uses, by role. Without `coverage`, every answer counts as covered.

    `remote_models` holds the labels of the models that run on another machine. `shorten` fits a question into the
    smallest window. `quoting_writer` answers where the model wrote nothing or only repeated itself; it is None if
    `writer` quotes anyway. `find_corrections` returns the misspelled words of a question with the words that are meant.
    Without an `assessor`, nothing judges whether passages suffice. Without a `route_judge`, the wording of a question
    alone decides its kind.
    """

    name: str
    label: str
    grader: Grader
    refiner: Refiner
    rewriter: Rewriter
    writer: Writer
    remote_models: tuple[str, ...] = ()
    shorten: Callable[[str], ShortenedQuestion] = ShortenedQuestion
    coverage: CoverageCheck | None = None
    quoting_writer: Writer | None = None
    find_corrections: Callable[[str], Mapping[str, str]] = _find_no_corrections
    assessor: Assessor | None = None
    summarizer: Summarizer | None = None
    calculator: Calculator | None = None
    route_judge: RouteJudge | None = None
