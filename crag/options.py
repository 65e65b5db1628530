"""Options of a run: `RunOptions`, changes to it by name, and the `Option` records.

To add an option, add a field to `RunOptions` and a record to `_OPTION_RECORDS`. Settings page, controls, command-line
flags, grids, comparisons, exports and docs/settings.md are made from the record.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

from crag.errors import BadRequest
from crag.translation import ENGLISH, N_, _, use_language
from crag.types import NodeName, Thresholds

PolicyName = Literal["paper", "any", "none", "off"]
WebMode = Literal["off", "ask", "auto"]
RewriteStyle = Literal["none", "question", "keywords"]
RouteName = Literal["auto", "fact", "document", "list", "table", "steps"]
GraderKind = Literal["auto", "builtin", "evaluator", "score", "explained", "listwise", "cascade", "binary", "json"]


@dataclass(frozen=True, slots=True)
class GraderDescription:
    """How a grader is called and explained, and whether it asks a language model."""

    label: str
    explanation: str
    asks_model: bool = True


# `crag.grading.registry` opens each but `auto`.
GRADERS: dict[GraderKind, GraderDescription] = {
    "auto": GraderDescription(
        "Automatic", "evaluator or built-in, and a language model, if there is one, for unclear passages"
    ),
    "builtin": GraderDescription("Built-in", "no language model, takes milliseconds", asks_model=False),
    "evaluator": GraderDescription(
        "Evaluator", "a small trained model that also orders the passages found; no language model", asks_model=False
    ),
    "score": GraderDescription("Fast", "one short call for each passage"),
    "explained": GraderDescription("Explained", "one call for each passage, with a reason in words (slowest)"),
    "listwise": GraderDescription("All at once", "one call for all passages"),
    "cascade": GraderDescription(
        "Two-stage", "evaluator or built-in first; a language model grades only the unclear passages"
    ),
    "binary": GraderDescription("Yes or no", "one call for each passage in turn, as in LangGraph's notebooks"),
    "json": GraderDescription("Yes or no, JSON", "the same in JSON mode, for models without structured output"),
}

OptionChanges = Mapping[str, Any]  # option values by name, such as `k` or `answering.window`


@dataclass(frozen=True, slots=True)
class ModelParameters:
    """Parameters of a language model in one role.

    `window` and `answer_limit` are in tokens. `keep_alive` is in seconds after the last use; -1 keeps the model loaded
    as long as the server runs. `parallelism` is the number of concurrent requests; 0 uses the server's known capacity.
    """

    temperature: float = 0.0
    window: int = 8192
    answer_limit: int = 1024
    keep_alive: int = 1800
    parallelism: int = 0


@dataclass(frozen=True, slots=True)
class RunOptions:
    """All options of one question. Empty `collection` and `source_ids` mean the whole library.

    An empty `grader_model` or `rewriter_model` means the answering model. `thresholds` None means those calibrated for
    the collection, or else the grader's own. `thinking` lets the answering model reason first, if it can. `fetch_pages`
    reads the full pages found by a web search. `passage_size` is the chunk size in tokens for an evaluation; 0 keeps
    the library's.
    """

    model: str = "auto"
    k: int = 4
    policy: PolicyName = "paper"
    web: WebMode = "off"
    refine: bool = True
    rewrite: RewriteStyle = "question"
    web_results: int = 3
    join_web: bool = False
    parent_context: bool = False
    grader: GraderKind = "auto"
    grader_model: str = ""
    rewriter_model: str = ""
    answering: ModelParameters = ModelParameters()
    grading: ModelParameters = ModelParameters()
    rewriting: ModelParameters = ModelParameters()
    thinking: bool = False
    thresholds: Thresholds | None = None
    fetch_pages: bool = False
    route: RouteName = "auto"
    collection: str = ""
    source_ids: tuple[str, ...] = ()
    preset: str = ""
    passage_size: int = 0

    @property
    def is_limited(self) -> bool:
        """Whether only a part of the library is searched."""
        return bool(self.collection or self.source_ids)


ROLES = {"answering": "model", "grading": "grader_model", "rewriting": "rewriter_model"}
"""What a language model is used for, and the option that names the model for it."""


def list_option_names() -> tuple[str, ...]:
    """Return the names of all options; a model parameter of a role is named like `answering.window`."""
    own = (field.name for field in fields(RunOptions) if field.name not in ROLES)
    return *own, *(f"{role}.{field.name}" for role in ROLES for field in fields(ModelParameters))


def get_option(options: RunOptions, name: str) -> Any:
    """Return the value of the named option."""
    role, _, own = name.rpartition(".")
    return getattr(getattr(options, role) if role else options, own)


def apply_changes(options: RunOptions, changes: OptionChanges) -> RunOptions:
    """Return the options with the given changes applied."""
    for name, value in changes.items():
        role, _, own = name.rpartition(".")
        changed = replace(getattr(options, role), **{own: value}) if role else value
        options = replace(options, **{role or own: changed})
    return options


def diff_options(before: RunOptions, after: RunOptions) -> dict[str, Any]:
    """Return the changes that turn `before` into `after`."""
    names = list_option_names()
    return {name: get_option(after, name) for name in names if get_option(after, name) != get_option(before, name)}


def dump_changes(changes: OptionChanges) -> str:
    """Return the changes as JSON."""
    return json.dumps(dict(changes), default=lambda value: [value.lower, value.upper])


def load_changes(text: str) -> dict[str, Any]:
    """Parse changes from JSON. Entries that this version does not know or cannot interpret are dropped."""
    try:
        written = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    named = written if isinstance(written, dict) else {}
    thawed = {name: _from_json_value(name, value) for name, value in named.items() if name in list_option_names()}
    return {name: value for name, value in thawed.items() if _has_option_type(name, value)}


def _from_json_value(name: str, value: Any) -> Any:
    """Convert a JSON list or object back to the option's type."""
    if name == "thresholds" and isinstance(value, dict | list):
        values = list(value.values()) if isinstance(value, dict) else value
        is_two = len(values) == 2 and all(isinstance(one, int | float) for one in values)
        return Thresholds(*sorted(values)) if is_two else value
    return tuple(map(str, value)) if name == "source_ids" and isinstance(value, list) else value


def _has_option_type(name: str, value: Any) -> bool:
    """Return whether the value has the type of the option."""
    if name == "thresholds":
        return value is None or isinstance(value, Thresholds)
    usual = type(get_option(RunOptions(), name))
    return isinstance(value, int | float if usual is float else usual) and isinstance(value, bool) == (usual is bool)


OptionSection = Literal["Models", "Model parameters", "Grading", "Web search", "Answers", "Documents"]
OptionKind = Literal["model", "choice", "switch", "number", "thresholds", "documents", "preset"]
OptionScope = Literal["home", "conversation", "evaluation"]
_MAX_MODEL_NAME_LENGTH = 200


@dataclass(frozen=True, slots=True)
class Option:
    """The description of one option of `RunOptions`; the code that acts on the option is elsewhere.

    `scope` says who sets the option: the home, a conversation, or only an evaluation. `term` is its name within a
    sentence, as in “policy any, k 6”. `values` gives a label and an explanation for each value of a choice. Numbers
    range from `lowest` to `highest`, in `unit`; they are whole numbers if `step` is an int; a question on the command
    line or in an imported file may go up to `run_highest`, if given. `empty_means` says what an empty value stands for.
    `offered` holds the values that a grid suggests: () means all values, None means none. `nodes` are the steps of the
    graph that read the option. An option without `changes_answers` only affects speed, or names other options.
    Reference systems set those `in_systems`. `receives` says which data goes to a model. `variable` is the
    environment variable that sets the option; `Settings` has a field of that name.
    """

    name: str
    section: OptionSection
    title: str
    help: str
    kind: OptionKind
    term: str = ""
    scope: OptionScope = "home"
    values: Mapping[Any, tuple[str, str]] = field(default_factory=dict, hash=False)
    lowest: float = 0
    highest: float = 0
    run_highest: float = 0
    step: float = 1
    unit: str = ""
    empty_means: str = ""
    offered: tuple[Any, ...] | None = None
    nodes: tuple[NodeName, ...] = ()
    changes_answers: bool = True
    in_systems: bool = False
    receives: str = ""
    variable: str = ""

    @property
    def role(self) -> str:
        """Role of the model that a parameter belongs to; empty for other options."""
        return self.name.rpartition(".")[0]

    @property
    def flag(self) -> str:
        """Command-line argument; empty if the option has none."""
        is_for_question = self.scope == "conversation" and self.kind == "choice"
        if self.role or not (self.scope == "home" or is_for_question):
            return ""
        return f"--{self.name.replace('_', '-')}" if len(self.name) > 1 else f"-{self.name}"

    @property
    def label(self) -> str:
        """Title in the user's language."""
        return _(self.title)

    @property
    def heading(self) -> str:
        """Title with the unit in the user's language, for a control that shows bare numbers."""
        return f"{self.label}, {_(self.unit)}" if self.unit else self.label

    @property
    def settings_field(self) -> str:
        """Name of the field of `Settings` with the value from the environment; empty if no variable sets it."""
        return self.variable.removeprefix("CRAG_").lower()

    def bounds(self, *, for_run: bool = False) -> tuple[float, float]:
        """Return the lowest and the highest valid number; with `for_run`, those valid for a single question."""
        return self.lowest, (for_run and self.run_highest) or self.highest

    def check(self, value: Any) -> None:
        """Raise `BadRequest` for an invalid value."""
        if not self.is_valid(value):
            raise BadRequest(f"{self.title} cannot be “{value}”.", self.requirement())

    def is_valid(self, value: Any, *, for_run: bool = False) -> bool:
        """Return whether the value can be chosen; with `for_run`, whether a single question can be asked with it."""
        match self.kind:
            case "switch":
                return isinstance(value, bool)
            case "choice":
                return isinstance(value, str) and value in self.values
            case "number":
                numbers = int if isinstance(self.step, int) else int | float
                lowest, highest = self.bounds(for_run=for_run)
                return isinstance(value, numbers) and not isinstance(value, bool) and lowest <= value <= highest
            case "thresholds":
                return value is None or (isinstance(value, Thresholds) and 0 <= value.lower <= value.upper <= 1)
            case "model":
                return isinstance(value, str) and len(value) <= _MAX_MODEL_NAME_LENGTH and value == value.strip()
        return isinstance(value, str | tuple)

    def requirement(self) -> str:
        """Return which values are valid, as a sentence."""
        match self.kind:
            case "switch":
                return N_("Choose on or off.")
            case "choice":
                return N_(f"Choose one of {', '.join(self.values)}.")
            case "model":
                return N_("Use builtin, ollama:NAME, or provider:model such as openai:gpt-4o-mini.")
        return N_(f"Choose a number from {self.lowest:,} to {self.highest:,}.")

    def parse(self, written: str) -> Any:
        """Parse a value written as text, such as `on` or `0.5`. Raises `BadRequest` if it is invalid."""
        value: Any = written
        with suppress(ValueError):
            if self.kind == "switch":
                value = {"on": True, "off": False}.get(written, written)
            elif self.kind == "number":
                value = int(written) if isinstance(self.step, int) else float(written)
        self.check(value)
        return value

    def write(self, value: Any) -> str:
        """Return the value as `parse` reads it, or the meaning of an empty one."""
        if isinstance(value, bool):
            return "on" if value else "off"
        return str(value) if value != "" else self.empty_means

    def format(self, value: Any) -> str:
        """Return the value in words of the user's language."""
        if self.empty_means and (not value or (self.kind == "model" and value == "auto")):
            return _(self.empty_means)
        if self.kind == "choice" and value in self.values:
            return _(self.values[value][0])
        match value:
            case bool():
                return _("on") if value else _("off")
            case int() | float():
                return f"{value:,} {_(self.unit)}".rstrip()
            case Thresholds():
                return _("{lower:g} and {upper:g}").format(lower=value.lower, upper=value.upper)
            case tuple():
                return f"{len(value):,}"
        return str(value or "")

    def describe(self, value: Any) -> str:
        """Return the option with its value in English, such as “policy any”. A choice appears as stored."""
        with use_language(ENGLISH):
            return f"{self.term or self.title.lower()} {value if self.kind == 'choice' else self.format(value)}"


POLICIES: dict[PolicyName, tuple[str, str]] = {
    "paper": ("Balanced", "searches the web unless passages clearly answer"),
    "any": ("Strict", "searches the web if any passage is not relevant"),
    "none": ("Lenient", "searches the web only if no passage is relevant"),
    "off": ("Off", "uses every passage and never searches the web"),
}
WEB_MODES: dict[WebMode, tuple[str, str]] = {
    "off": ("Off", "answers from your documents only"),
    "ask": ("Ask first", "you see and edit each query"),
    "auto": ("On", "sends queries without asking"),
}
REWRITE_STYLES: dict[RewriteStyle, tuple[str, str]] = {
    "question": ("Question", "your question in better words"),
    "keywords": ("Keywords", "up to three, as in the paper"),
    "none": ("Unchanged", "your question as you asked it"),
}

ROUTES: dict[RouteName, tuple[str, str]] = {
    "auto": ("Automatic", "decided from the wording, or by the model where that leaves it open"),
    "fact": ("Fact", "from the few passages that fit best"),
    "document": ("Whole document", "reads every passage and sums up"),
    "list": ("List", "reads every passage and lists each match"),
    "table": ("Table", "calculates with the tables of your documents"),
    "steps": ("Several steps", "answers each part of the question by itself"),
}


_MODEL_PARAMETERS = (  # of the model in any role, which completes their names; `nodes` are those of the role
    Option(
        "window",
        "Model parameters",
        "context window",
        "How much the model reads at once. Larger windows need more memory. Roles that share a model use the largest "
        "of their windows.",
        "number",
        lowest=1024,
        highest=131_072,
        step=1024,
        unit="tokens",
    ),
    Option(
        "answer_limit",
        "Model parameters",
        "longest reply",
        "The model stops at this length. At most half of the context window.",
        "number",
        lowest=64,
        highest=16_384,
        step=64,
        unit="tokens",
    ),
    Option(
        "temperature",
        "Model parameters",
        "temperature",
        "0 picks the most likely words; higher values vary more. Use 0 for grading.",
        "number",
        lowest=0.0,
        highest=2.0,
        step=0.1,
        in_systems=True,
    ),
    Option(
        "keep_alive",
        "Model parameters",
        "keep loaded",
        "How long the model stays in memory after its last use. -1 keeps it until Ollama stops.",
        "number",
        lowest=-1,
        highest=86_400,
        unit="seconds",
        changes_answers=False,
    ),
    Option(
        "parallelism",
        "Model parameters",
        "parallel requests",
        "How many requests are sent at the same time. Ollama queues those above its own limit "
        "(OLLAMA_NUM_PARALLEL). 0 is automatic.",
        "number",
        highest=32,
        changes_answers=False,
        in_systems=True,
    ),
)


def _role_options(role: str, owner: str, nodes: tuple[NodeName, ...]) -> Iterator[Option]:
    """Yield the parameters of the model in one role; `owner` precedes their names within a sentence."""
    for one in _MODEL_PARAMETERS:
        names: dict[str, Any] = {
            "name": f"{role}.{one.name}",
            "title": f"{role.title()}: {one.title}",
            "term": f"{owner}{one.title}",
        }
        yield replace(one, **names, nodes=nodes if one.changes_answers else ())


_OPTION_RECORDS = (
    Option(
        "model",
        "Models",
        "Answering model",
        "Writes the answer.",
        "model",
        term="model",
        empty_means="automatic",
        offered=(),
        nodes=("generate",),
        receives="Your question, the conversation so far and the passages found",
        variable="CRAG_CHAT_MODEL",
    ),
    Option(
        "grader_model",
        "Models",
        "Grading model",
        "Grades each passage. A smaller model is usually enough and much faster.",
        "model",
        empty_means="same as answering",
        offered=(),
        nodes=("grade_documents",),
        receives="Your question and every passage to grade",
        variable="CRAG_GRADER_MODEL",
    ),
    Option(
        "rewriter_model",
        "Models",
        "Rewriting model",
        "Rewrites follow-up questions so that they stand alone, and writes web queries.",
        "model",
        empty_means="same as answering",
        nodes=("condense_question", "transform_query"),
        receives="Your question and the conversation so far",
    ),
    Option(
        "thinking",
        "Models",
        "Think first",
        "The model reasons before it answers, if it can. This takes longer. Its reasoning is shown folded.",
        "switch",
        term="thinking",
        nodes=("generate",),
        in_systems=True,
    ),
    *_role_options("answering", "", ("generate",)),
    *_role_options("grading", "grader's ", ("grade_documents",)),
    *_role_options("rewriting", "rewriter's ", ("condense_question", "transform_query")),
    Option(
        "policy",
        "Grading",
        "Strictness",
        "Decides from the verdicts whether your documents are enough.",
        "choice",
        term="policy",
        values=POLICIES,
        offered=(),
        nodes=("decide",),
        in_systems=True,
    ),
    Option(
        "grader",
        "Grading",
        "Grader",
        "How passages are graded.",
        "choice",
        values={kind: (grader.label, grader.explanation) for kind, grader in GRADERS.items()},
        offered=(),
        nodes=("grade_documents",),
        in_systems=True,
    ),
    Option(
        "thresholds",
        "Grading",
        "Thresholds",
        "Below the first score a passage is not relevant; from the second on it is relevant.",
        "thresholds",
        scope="conversation",
        empty_means="automatic",
        nodes=("decide",),
        in_systems=True,
    ),
    Option(
        "k",
        "Grading",
        "Passages to grade",
        "How many passages are found and graded for each question.",
        "number",
        term="k",
        lowest=1,
        highest=20,
        run_highest=100,
        offered=(1, 2, 3, 4, 6, 8, 10, 15, 20),
        nodes=("retrieve",),
        in_systems=True,
    ),
    Option(
        "web",
        "Web search",
        "Search the web",
        "What to do when your documents do not answer.",
        "choice",
        term="web",
        values=WEB_MODES,
        nodes=("web_search",),
        in_systems=True,
    ),
    Option(
        "rewrite",
        "Web search",
        "Web query",
        "How your question is rewritten for the web.",
        "choice",
        term="rewriting",
        values=REWRITE_STYLES,
        nodes=("transform_query",),
        in_systems=True,
    ),
    Option(
        "web_results",
        "Web search",
        "Web results",
        "How many results each web search asks for.",
        "number",
        lowest=1,
        highest=10,
        run_highest=100,
        nodes=("web_search",),
        in_systems=True,
    ),
    Option(
        "join_web",
        "Web search",
        "Web results as one passage",
        "Joins all results and grades them as one passage.",
        "switch",
        scope="conversation",
        nodes=("web_search",),
        in_systems=True,
    ),
    Option(
        "fetch_pages",
        "Web search",
        "Read whole pages",
        "Reads the full pages found, not just the search results.",
        "switch",
        term="whole pages",
        nodes=("web_search",),
        in_systems=True,
    ),
    Option(
        "refine",
        "Answers",
        "Keep excerpts",
        "Splits passages into excerpts and uses only those that help to answer.",
        "switch",
        term="excerpts",
        offered=(),
        nodes=("refine_knowledge",),
        in_systems=True,
    ),
    Option(
        "parent_context",
        "Answers",
        "Wider context",
        "Also gives the model the text around each passage.",
        "switch",
        offered=(),
        nodes=("generate",),
        in_systems=True,
    ),
    Option(
        "route",
        "Answers",
        "Kind of question",
        "How your question is answered.",
        "choice",
        term="kind",
        scope="conversation",
        values=ROUTES,
        nodes=("condense_question",),
        in_systems=True,
    ),
    Option(
        "collection",
        "Documents",
        "Collection",
        "The documents to search.",
        "documents",
        scope="conversation",
        empty_means="all documents",
        nodes=("retrieve",),
    ),
    Option(
        "source_ids",
        "Documents",
        "Chosen documents",
        "Searches only these documents.",
        "documents",
        term="documents",
        scope="conversation",
        empty_means="all",
        nodes=("retrieve",),
    ),
    Option(
        "passage_size",
        "Documents",
        "Passage size",
        "Splits a copy of the documents into passages of up to this size. This takes a while.",
        "number",
        scope="evaluation",
        lowest=50,
        highest=2000,
        run_highest=100_000,
        unit="tokens",
        empty_means="as in the library",
        offered=(100, 150, 250, 400, 600, 1000),
    ),
    Option(
        "preset",
        "Answers",
        "Preset",
        "The preset these values come from.",
        "preset",
        scope="conversation",
        changes_answers=False,
    ),
)

OPTIONS: dict[str, Option] = {option.name: option for option in _OPTION_RECORDS}
SAVED_OPTIONS: dict[str, Option] = {name: option for name, option in OPTIONS.items() if option.scope == "home"}
MODEL_OPTIONS = tuple(name for name, option in OPTIONS.items() if option.kind == "model")
DOCUMENT_OPTIONS = tuple(name for name, option in OPTIONS.items() if option.kind == "documents")
MAIN_OPTIONS = ("policy", "k", "refine", "grader")  # shown first, and named in summaries
