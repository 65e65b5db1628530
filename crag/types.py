"""Frozen values that every package uses."""

from __future__ import annotations

import hashlib
import re
import secrets
import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Literal

from crag.translation import _

HEADING_SEPARATOR = " › "

PageStarts = tuple[tuple[int, int], ...]
"""Where pages begin within a text, as (offset in characters, page from 1), in order."""
_NAME_WORD = re.compile(r"[^\W\d_]+|(?<!\d)(?:19|20)\d\d(?!\d)")  # in a file name: words and years
_SHORTEST_BEGINNING = 3  # words by which a sentence is still recognized


@dataclass(frozen=True, slots=True)
class Chunk:
    """A future passage. `page` is the page of its first word, `heading` the path of headings above it (`A › B`).

    Its wider context consists of the chunks with the ordinals `context_start` to `context_end`, both included.
    `page_starts` are the later pages that begin within `text`; None if unknown.
    """

    text: str
    page: int | None
    heading: str
    ordinal: int
    context_start: int
    context_end: int
    page_starts: PageStarts | None = ()


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Scores ≥ upper are *relevant*, scores < lower *irrelevant*, others *ambiguous*. 0 ≤ lower ≤ upper ≤ 1."""

    lower: float
    upper: float

    def verdict_for(self, score: float | None) -> VerdictWord:
        """Return the verdict for a score in 0..1, or `unknown` for None (could not be judged)."""
        if score is None:
            return "unknown"
        if score >= self.upper:
            return "relevant"
        return "irrelevant" if score < self.lower else "ambiguous"


if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]
else:
    Vectors = Any  # numpy is slow to import, and the first page does not need it


@dataclass(frozen=True, slots=True)
class Prompt:
    """One message to a chat model. Roles follow the OpenAI and Ollama chat formats.

    `about` gives the purpose and the question, such as `answer: Who won?`. It is never sent.
    """

    role: Literal["system", "user", "assistant"]
    text: str
    about: str = field(default="", compare=False)


Language = Literal["en", "ko", "zh"]
WrittenLanguage = Literal["en", "ko", "zh", "zh-Hant"]


VerdictWord = Literal["relevant", "irrelevant", "ambiguous", "unknown"]
Action = Literal["correct", "ambiguous", "incorrect"]
Sufficiency = Literal["sufficient", "insufficient", "conflicting"]
Origin = Literal["library", "web"]
Ruling = Literal["use", "drop"]
OutboundKind = Literal["web search", "web page", "model", "embedding", "account", "download", "evaluation", "trace"]
Outcome = Literal[
    "documents",
    "quoted",
    "possible",
    "documents_partly",
    "conflicting",
    "documents_and_web",
    "web",
    "not_answered",
    "talk",
    "calculated",
]
"""What an answer rests on. *quoted*, *possible*: sentences of the documents found by comparing words, which hold all
that the question names, or perhaps not; no model has read whether they answer it. *calculated*: figures that a query
over tables returned.
"""
SmallTalk = Literal[
    "documents", "identity", "capabilities", "summary", "wellbeing", "thanks", "farewell", "greeting", "acknowledgement"
]
"""Kinds of small talk. If a message holds several, the first of them in this order is answered.

Only runs of earlier versions treat a request for a *summary* as small talk.
"""
SupportStrength = Literal["supported", "weak", "unsupported"]
Route = Literal["fact", "document", "list", "table", "steps"]
"""How a question is answered.

From a few passages; from whole documents; by listing every match; by a calculation over tables; in several steps.
"""
RunState = Literal["running", "waiting", "done", "stopped", "failed", "interrupted"]
AddStatus = Literal["added", "unchanged", "replaced", "failed"]
NodeName = Literal[
    "reply",
    "condense_question",
    "read_documents",
    "list_matches",
    "query_table",
    "answer_parts",
    "retrieve",
    "grade_documents",
    "decide",
    "transform_query",
    "web_search",
    "refine_knowledge",
    "generate",
    "check_answer",
]
"""The steps of the graph."""

DEFAULT_COLLECTION = "Documents"

PRESENTATION_KIND = "pptx"
"""The kind of documents in slides."""

WORKBOOK_KIND = "xlsx"
"""The kind of documents in sheets; the first heading of each passage is the name of its sheet."""


@dataclass(frozen=True, slots=True)
class EmbeddingSpace:
    """An embedding space. Vectors of different spaces cannot be compared.

    `digest` identifies the exact weights: two models may share a name and a dimension.
    """

    provider: str
    model: str
    digest: str
    dimension: int
    document_prefix: str = ""
    query_prefix: str = ""

    @property
    def id(self) -> str:
        """Short fingerprint of every field. Two ids are equal only if the vectors are comparable."""
        parts = (self.provider, self.model, self.digest, str(self.dimension), self.document_prefix, self.query_prefix)
        return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:16]

    @property
    def name(self) -> str:
        """Name of the embedder in the settings: `builtin`, `nomic`, `ollama:NAME` or `provider:NAME`."""
        return self.provider if self.provider in ("builtin", "nomic") else self.label

    @property
    def label(self) -> str:
        """Name shown on screen, such as `builtin:wordllama`."""
        return f"{self.provider}:{self.model}"


@dataclass(frozen=True, slots=True)
class Source:
    """One added document.

    `size` is in bytes, `added_at` in seconds since the epoch. `pages` is None for formats without pages. `author` and
    `published` (YYYY-MM-DD) are empty if the document does not state them. `found_by` is the question whose web search
    found the document (`found_on_web`), empty if another user asked it; both are empty for documents added by a user.
    `own_title` is the title that the file states if a user gave the document another one, else empty.
    """

    id: str
    title: str
    kind: str
    location: str
    collection: str
    sha256: str
    size: int
    pages: int | None
    passages: int
    added_at: float
    space: str
    author: str = ""
    published: str = ""
    found_by: str = ""
    found_on_web: bool = False
    own_title: str = ""


@dataclass(frozen=True, slots=True)
class Collection:
    """A named part of the library, with its numbers of sources and passages."""

    name: str
    sources: int
    passages: int


CollectionAccess = Literal["read", "add", "change"]
"""What a user may do with a collection: search it, add documents to it, or also remove these, rename and share it."""


@dataclass(frozen=True, slots=True)
class CollectionSharing:
    """With whom a collection is shared: everyone on the server if `public`, and people by e-mail.

    Each of these `members` may read it, and add documents where the value is set.
    """

    public: bool = False
    members: Mapping[str, bool] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RemovedSource:
    """A document whose removal can still be undone. `removed_at` is in seconds since the epoch.

    It can be undone for at least `kept_seconds`.
    """

    id: str
    title: str
    removed_at: float
    kept_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class MoveResult:
    """Result of moving one document to another collection (`Collections.move`)."""

    id: str
    title: str
    status: Literal["moved", "merged", "kept"]


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk that is retrieved and graded.

    Library passages have their positive database id; web passages are numbered -1, -2, … within one run. `context` is
    the wider parent text around `text`, or `text` itself. `score` is the retrieval score; higher is more similar.
    `also_in` names each document, once, whose near-duplicate passages were omitted in favour of this one. `page` is the
    page of the first word; `page_starts` are the later pages that begin within `text`, and `context_page_starts` all
    pages of `context`, the first one included. `sheet` is the name of the sheet of a workbook. `published`
    (YYYY-MM-DD, or its known prefix) and `added_at` (seconds since the epoch) date its document; they may be empty and
    0.
    """

    id: int
    source_id: str
    title: str
    location: str
    text: str
    context: str
    page: int | None = None
    heading: str = ""
    origin: Origin = "library"
    score: float = 0.0
    also_in: tuple[str, ...] = ()
    page_starts: PageStarts = ()
    context_page_starts: PageStarts = ()
    sheet: str = ""
    published: str = ""
    added_at: float = 0.0

    def with_title(self, text: str) -> str:
        """Return a text of this passage below the title and the heading, unless it begins with them."""
        over = dict.fromkeys((self.title, self.heading))
        return "\n".join([*(part for part in over if part and not text.startswith(part)), text])

    @property
    def names(self) -> str:
        """The title and the words of the file name: what its sentences may be about without saying so."""
        file_name = "" if "://" in self.location else PurePath(self.location).stem
        return " ".join([self.title, *_NAME_WORD.findall(file_name)])

    @property
    def subject(self) -> str:
        """The names of its document and the headings above it."""
        return f"{self.names} {self.heading}"

    def __post_init__(self) -> None:
        """Restore the tuples: JSON state of a saved run holds lists."""
        if not isinstance(self.also_in, tuple):
            object.__setattr__(self, "also_in", tuple(self.also_in))
        for name in ("page_starts", "context_page_starts"):
            if not isinstance(getattr(self, name), tuple):
                object.__setattr__(self, name, tuple((offset, page) for offset, page in getattr(self, name)))

    @property
    def last_page(self) -> int | None:
        """The page of the last word; None where the document has no pages."""
        return self.page_starts[-1][1] if self.page_starts else self.page

    @property
    def locator(self) -> str:
        """Where the passage is in its document, in the current language; empty if the document has no such parts.

        For example: p. 6, p. 1–2, slide 3, sheet Q2.
        """
        return _format_locator(self.page, self.last_page, self.sheet, self.location)

    def page_of(self, quote: str) -> int | None:
        """Return the page on which a quote from the passage or its context begins; `page` if it is in neither."""
        if self.page is None:
            return None
        places = ((self.text, ((0, self.page), *self.page_starts)), (self.context, self.context_page_starts))
        for text, starts in places:
            if len(starts) > 1 and (offset := _find_words(text, quote.split())) is not None:
                return [self.page, *(page for start, page in starts if start <= offset)][-1]
        return self.page

    def text_on_page(self, page: int) -> str:
        """Return the part of `text` that is on a page; empty for a page that the passage does not touch."""
        return self._range_on_page(0, len(self.text), page)

    def quote_on_page(self, quote: str, page: int) -> str:
        """Return the part of a quote that is on a page.

        A quote that `text` does not hold word for word is whole on the page where it begins.
        """
        words = quote.split()
        start = _find_words(self.text, words)
        if start is None or self.text[start : start + len(quote)].split() != words:
            return quote if page == self.page_of(quote) else ""
        return self._range_on_page(start, start + len(quote), page)

    def _range_on_page(self, start: int, end: int, page: int) -> str:
        pages = ((0, self.page), *self.page_starts)
        ends = (*(first for first, _ in self.page_starts), len(self.text))
        parts = [
            self.text[max(first, start) : min(last, end)].strip()
            for (first, on), last in zip(pages, ends, strict=True)
            if on == page and first < end and start < last
        ]
        return "\n\n".join(parts)


def _format_locator(page: int | None, last_page: int | None, sheet: str, location: str) -> str:
    if sheet:
        return _("sheet {sheet}").format(sheet=sheet)
    if page is None:
        return ""
    pages = page if last_page in (None, page) else f"{page}–{last_page}"
    if location.lower().endswith(".pptx"):
        return _("slide {page}").format(page=pages)
    return _("p. {page}").format(page=pages)


def _find_words(text: str, words: Sequence[str]) -> int | None:
    """Return the offset of the words in a text, whatever separates them there.

    A sentence that was put together from excerpts is found by its beginning.
    """
    shortest = min(len(words), _SHORTEST_BEGINNING)
    while words and len(words) >= shortest:
        if found := re.search(r"\s+".join(map(re.escape, words)), text):
            return found.start()
        words = words[: len(words) // 2]
    return None


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A passage found by a search, with the reasons. Ranks count from 1 among all candidates.

    `word_score` is the BM25 score; it is 0, without a rank, if the passage contains no query term. `cosine` is None if
    the passage has no vector in the active space. `matched` holds the query terms found in the passage or its title.
    """

    passage: Passage
    word_score: float
    word_rank: int | None
    cosine: float | None
    vector_rank: int | None
    matched: frozenset[str]


@dataclass(frozen=True, slots=True)
class Grade:
    """A grader's score for one passage, in 0..1, and the reason. The score is None if the passage could not be judged.

    `complete` is False if the passage is about the question but does not state everything it asks for, and None if the
    grader does not judge that. `usage` counts the tokens of the model call, if any. A call that graded several passages
    is counted on one of them.
    """

    score: float | None
    reason: str
    usage: Usage | None = None
    complete: bool | None = None


@dataclass(frozen=True, slots=True)
class Statement:
    """The sentence of a passage that states its answer."""

    passage_id: int
    sentence: str


@dataclass(frozen=True, slots=True)
class Assessment:
    """Whether passages together answer a question, and the reason in the question's language.

    `sufficiency` is None if that could not be told. `statements` are the different answers that are *conflicting*.
    """

    sufficiency: Sufficiency | None
    reason: str
    statements: tuple[Statement, ...] = ()


@dataclass(frozen=True, slots=True)
class Match:
    """One place that a question asks to list: a sentence, list item or table row of a passage, and where it is.

    A sentence that announces a list has each item of it as a further line of `text`.
    """

    passage_id: int
    text: str
    title: str
    page: int | None = None
    sheet: str = ""


@dataclass(frozen=True, slots=True)
class TableResult:
    """The result of a query over a table of the documents.

    `title` is that of the table, `used` the number of its rows on which the result rests, `total_rows` the number of
    rows of the whole result, of which `rows` holds the first. `chart` names the columns of a bar chart, where one fits.
    """

    title: str
    sql: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str | int | float | None, ...], ...]
    total_rows: int
    used: int
    chart: tuple[str, str] | None = None

    @property
    def is_figure(self) -> bool:
        """Whether the result is one figure, which the text of the answer says already."""
        return len(self.rows) < 2 and len(self.columns) < 2


@dataclass(frozen=True, slots=True)
class SubQuestion:
    """One part of a question that is answered in several steps.

    `relevant` counts those of its passages (ids in `passages`) that were not graded irrelevant. `reason` says which
    earlier answer the question rests on.
    """

    question: str
    passages: tuple[int, ...]
    relevant: int
    answered: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Strip:
    """One to three sentences of a passage, kept or discarded by refinement."""

    text: str
    score: float | None
    kept: bool


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on one passage, as shown and stored. A user's `ruling` overrides the grader.

    `complete` as in `Grade`.
    """

    passage_id: int
    word: VerdictWord
    score: float | None
    reason: str
    ruling: Ruling | None = None
    complete: bool | None = None

    def with_ruling(self, ruling: Ruling) -> Verdict:
        """Return this verdict with the user's ruling applied. The grader's score and reason are kept for display."""
        return replace(self, word="relevant" if ruling == "use" else "irrelevant", ruling=ruling)


@dataclass(frozen=True, slots=True)
class Knowledge:
    """The text of one passage that the writer may use, with its citation number `n` (from 1).

    `strips` are the kept strips that make up `text`, in order. It is empty if the passage was not split into strips.
    `is_trusted` is true for a passage that the user chose to use, and for all of them while grading is off.
    """

    n: int
    passage: Passage
    text: str
    strips: tuple[Strip, ...] = ()
    is_trusted: bool = False


@dataclass(frozen=True, slots=True)
class Citation:
    """One numbered source of an answer. `quote` is the sentence or table row of the source that supports the answer.

    `page` is the page of the quote, `sheet` the sheet of a workbook,
    `row` a quoted row with the names of its columns.
    """

    n: int
    passage_id: int
    source_id: str
    title: str
    location: str
    page: int | None
    quote: str
    origin: Origin
    sheet: str = ""
    row: str = ""

    @property
    def readable_quote(self) -> str:
        """The quote, a row with the names of its columns."""
        return self.row or self.quote

    @property
    def locator(self) -> str:
        """Where the quote is in its document, as in `Passage.locator`."""
        return _format_locator(self.page, None, self.sheet, self.location)


@dataclass(frozen=True, slots=True)
class Support:
    """How well the cited passages support one sentence of the answer. `quote` is the text that supports it most."""

    sentence: str
    strength: SupportStrength
    citations: tuple[int, ...] = ()
    quote: str = ""


@dataclass(frozen=True, slots=True)
class Turn:
    """One earlier message of a conversation, in the form that models receive.

    `meant` is a follow-up question as it was understood; empty for other messages. `cited` are the ids of the documents
    that an answer cites.
    """

    role: Literal["user", "assistant"]
    text: str
    meant: str = ""
    cited: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts reported by the model server, or counted here for a reply that ended early; None if unknown.

    `prompt_cut` is set if the reported count shows that the server read less of the prompt than was sent.
    """

    prompt_tokens: int | None = None
    answer_tokens: int | None = None
    finish_reason: str | None = None
    prompt_cut: bool = False

    @property
    def answer_cut(self) -> bool:
        """Whether the reply was cut off before its end."""
        return self.finish_reason in ("length", "incomplete", "repetition")

    def __add__(self, later: Usage) -> Usage:
        """Return the total tokens of two calls, with the finish reason of the later one."""
        return Usage(
            _sum_known(self.prompt_tokens, later.prompt_tokens),
            _sum_known(self.answer_tokens, later.answer_tokens),
            later.finish_reason,
        )


def _sum_known(left: int | None, right: int | None) -> int | None:
    return None if left is None and right is None else (left or 0) + (right or 0)


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of one task: `stage` as shown to the user, `done` of `total` units.

    A `total` of 0 means not yet known.
    """

    stage: str
    done: int = 0
    total: int = 0


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request was refused: the code of an error, as in JSON output, and a sentence for the user."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class AddResult:
    """Result of adding one file or address. `note` tells the user which parts of it are missing.

    `older` holds the ids of documents that keep the same name: uploads with different content replace nothing.
    """

    source: str
    id: str | None
    title: str
    status: AddStatus
    passages: int = 0
    pages: int | None = None
    error: Refusal | None = None
    older: tuple[str, ...] = ()
    note: str = ""
    kind: str = ""


@dataclass(frozen=True, slots=True)
class OutboundRecord:
    """One transmission from this machine: time (seconds since the epoch), destination, and full content."""

    at: float
    host: str
    kind: OutboundKind
    what: str


@dataclass(frozen=True, slots=True)
class Version:
    """One answer to a message, numbered from 1. `change` describes the difference from the previous version."""

    number: int
    run_id: str
    change: str
    state: RunState


@dataclass(frozen=True, slots=True)
class Import:
    """When something was imported (seconds since the epoch), and the name of its file, if known."""

    at: float
    file: str = ""


@dataclass(frozen=True, slots=True)
class Conversation:
    """A stored chat. Times are seconds since the epoch. `changes` are its options that differ from the home's.

    `owner_id` is the key of the owner's browser; empty if anyone with access to this home may see the conversation.
    """

    id: str
    title: str
    created_at: float
    updated_at: float
    changes: Mapping[str, Any] = field(default_factory=dict)
    owner_id: str = ""
    pinned: bool = False
    imported: Import | None = None


@dataclass(frozen=True, slots=True)
class Feedback:
    """A user's rating of an answer, with an optional reason."""

    helpful: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation. An answer carries the id and the `state` of the run that produced it.

    `branches` holds the ids of all questions asked at this position, in order and including this one. `versions` is the
    number of answers to the same question. An `imported` answer was given elsewhere.
    """

    id: int
    conversation_id: str
    role: Literal["user", "assistant"]
    text: str
    created_at: float
    run_id: str | None = None
    state: RunState = "done"
    branches: tuple[int, ...] = ()
    versions: int = 1
    imported: bool = False


ProgressCallback = Callable[[Progress], None]


def ignore_progress(_progress: Progress) -> None:
    """Ignore progress; a `ProgressCallback` for work that nobody watches."""


def strip_unstorable(text: str) -> str:
    """Remove lone surrogates and NUL, which no database stores."""
    return text.encode("utf-8", "ignore").decode().replace("\x00", "")


_USER_KEY = re.compile(r"[0-9a-f]{64}")


def generate_user_key() -> str:
    """Return a random key, as a browser has one."""
    return secrets.token_hex(32)


def is_user_key(text: str) -> bool:
    """Return whether `text` has the form of a user key."""
    return _USER_KEY.fullmatch(text) is not None


ACCOUNT_PREFIX = "account:"  # no key of a browser contains a colon


def new_account_id() -> str:
    """Return the id of a new account."""
    return ACCOUNT_PREFIX + secrets.token_hex(8)


def is_account(user: str | None) -> bool:
    """Return whether this is the id of an account, and not the key of a browser."""
    return user is not None and user.startswith(ACCOUNT_PREFIX)


Role = Literal["admin", "member"]


_ASCII_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


def fold_email(address: str) -> str:
    """Return the address in the spelling by which people are compared.

    Only ASCII letters are folded: to Unicode, the Kelvin sign is a capital *k*, but to mail servers another mailbox.
    """
    return address.strip().translate(_ASCII_LOWER)


@dataclass(frozen=True, slots=True)
class Identity:
    """Who a provider says that somebody is: `subject` is their lasting id at the `issuer`."""

    issuer: str
    subject: str
    email: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Account:
    """Somebody who has logged in. The names of their collections begin with the `handle`."""

    id: str
    email: str
    name: str
    handle: str
    role: Role

    @property
    def is_admin(self) -> bool:
        """Whether they may change what concerns everyone."""
        return self.role == "admin"


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One request to a chat model: `prompts` as sent, `reply` and `thought` as far as received.

    `node` is the step of the run that made the request, and `at` the seconds since the start of the run. In the call
    passed to a listener, `node` is empty and `at` is a `time.monotonic` value. Token counts are as in `Usage`. `fault`
    is empty if the reply was read to its end. Every retry is a call of its own.
    """

    node: str
    model: str
    at: float
    seconds: float
    prompts: tuple[Prompt, ...]
    reply: str = ""
    thought: str = ""
    prompt_tokens: int | None = None
    answer_tokens: int | None = None
    fault: str = ""
