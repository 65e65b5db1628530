"""Options of a run: `RunOptions`, changes to it by name, the `Option` records, and presets of published variants."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, get_args

from crag.errors import BadRequest
from crag.types import Thresholds

PolicyName = Literal["paper", "any", "none", "off"]
WebMode = Literal["off", "ask", "auto"]
RewriteStyle = Literal["none", "question", "keywords"]
GraderKind = Literal["auto", "builtin", "score", "explained", "listwise", "cascade"]
# Label and explanation by kind; `crag.grading.registry` opens each but `auto`.
GRADERS: dict[GraderKind, tuple[str, str]] = {
    "auto": ("Automatic", "a cascade with a language model, else built-in"),
    "builtin": ("Built-in", "no model is asked: milliseconds for all passages"),
    "score": ("One-token score", "one short call for each passage, one token each"),
    "explained": ("Explained", "one call for each passage, with the reason in words: the slowest"),
    "listwise": ("All in one call", "one call for all passages together"),
    "cascade": ("Cascade", "built-in first, a model only for what it leaves open"),
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
    collection: str = ""
    source_ids: tuple[str, ...] = ()
    preset: str = ""
    passage_size: int = 0


ROLES = ("answering", "grading", "rewriting")


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
    except ValueError:
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


OptionSection = Literal["Models", "Fine-tuning", "Grading", "Web search", "Answers"]
_MAX_MODEL_NAME_LENGTH = 200


@dataclass(frozen=True, slots=True)
class Option:
    """One option, by its name in `RunOptions`. For kind `model`, an empty value means the default model.

    Numbers range from `lowest` to `highest`, in `unit`; they are whole numbers if `step` is an int. `variable` is the
    environment variable that sets the option.
    """

    name: str
    section: OptionSection
    title: str
    meaning: str
    kind: Literal["model", "choice", "switch", "number"]
    choices: tuple[str, ...] = ()
    lowest: float = 0
    highest: float = 0
    step: float = 1
    unit: str = ""
    variable: str = ""

    def check(self, value: Any) -> None:
        """Raise `BadRequest` for an invalid value."""
        if not self._fits(value):
            raise BadRequest(f"{self.title} cannot be “{value}”.", self._allowed())

    def read(self, written: str) -> Any:
        """Parse a value written as text, such as `on` or `0.5`. Raises `BadRequest` if it is invalid."""
        value: Any = written
        with suppress(ValueError):
            if self.kind == "switch":
                value = {"on": True, "off": False}.get(written, written)
            elif self.kind == "number":
                value = int(written) if isinstance(self.step, int) else float(written)
        self.check(value)
        return value

    def _fits(self, value: Any) -> bool:
        match self.kind:
            case "switch":
                return isinstance(value, bool)
            case "choice":
                return value in self.choices
            case "model":
                return isinstance(value, str) and len(value) <= _MAX_MODEL_NAME_LENGTH and value == value.strip()
        numbers = int if isinstance(self.step, int) else int | float
        return isinstance(value, numbers) and not isinstance(value, bool) and self.lowest <= value <= self.highest

    def _allowed(self) -> str:
        match self.kind:
            case "switch":
                return "It is on or off."
            case "choice":
                return f"Choose one of {', '.join(self.choices)}."
            case "model":
                return "Write builtin, ollama:NAME, or provider:model such as openai:gpt-4o-mini."
        return f"Choose a number from {self.lowest:,} to {self.highest:,}."


_PARAMETER_OPTIONS = (
    Option(
        "window",
        "Fine-tuning",
        "context window",
        "How much the model reads at once. Larger windows need more memory; roles that share a model share the "
        "largest of their windows.",
        "number",
        lowest=1024,
        highest=131_072,
        step=1024,
        unit="tokens",
    ),
    Option(
        "answer_limit",
        "Fine-tuning",
        "longest reply",
        "Where the model is stopped. It is taken from the window: at most half of it.",
        "number",
        lowest=64,
        highest=16_384,
        step=64,
        unit="tokens",
    ),
    Option(
        "temperature",
        "Fine-tuning",
        "temperature",
        "0 says the likeliest; more varies. Judging is best at 0.",
        "number",
        lowest=0.0,
        highest=2.0,
        step=0.1,
    ),
    Option(
        "keep_alive",
        "Fine-tuning",
        "stays loaded",
        "How long the model stays in memory after its last use. -1: until the server stops.",
        "number",
        lowest=-1,
        highest=86_400,
        step=1,
        unit="seconds",
    ),
    Option(
        "parallelism",
        "Fine-tuning",
        "requests at once",
        "More than the server works on (OLLAMA_NUM_PARALLEL) only wait there. 0: automatic.",
        "number",
        lowest=0,
        highest=32,
        step=1,
    ),
)


def _role_options(role: str, title: str) -> tuple[Option, ...]:
    """Return the model parameters of one role."""
    return tuple(
        replace(tuned, name=f"{role}.{tuned.name}", title=f"{title}: {tuned.title}") for tuned in _PARAMETER_OPTIONS
    )


_OPTION_RECORDS = (
    Option(
        "model",
        "Models",
        "Answering",
        "Writes the answer.",
        "model",
        variable="CRAG_CHAT_MODEL",
    ),
    Option(
        "grader_model",
        "Models",
        "Grading",
        "Judges each passage. A smaller model is usually enough and much faster.",
        "model",
        variable="CRAG_GRADER_MODEL",
    ),
    Option(
        "rewriter_model",
        "Models",
        "Rewriting",
        "Makes follow-up questions stand alone, and writes queries for the web.",
        "model",
    ),
    Option(
        "thinking",
        "Models",
        "Think first",
        "Models that can think aloud do so before they answer; it takes longer. The thoughts are shown folded.",
        "switch",
    ),
    *_role_options("answering", "Answering"),
    *_role_options("grading", "Grading"),
    *_role_options("rewriting", "Rewriting"),
    Option("policy", "Grading", "Policy", "From verdicts to what is done.", "choice", get_args(PolicyName)),
    Option("grader", "Grading", "Grader", "How passages are judged.", "choice", tuple(GRADERS)),
    Option("k", "Grading", "Passages to grade (k)", "How many are found and judged.", "number", lowest=1, highest=20),
    Option(
        "web",
        "Web search",
        "Search the web",
        "When the documents do not answer.",
        "choice",
        get_args(WebMode),
    ),
    Option(
        "rewrite",
        "Web search",
        "Rewritten as",
        "How the question is written anew for the web.",
        "choice",
        get_args(RewriteStyle),
    ),
    Option("web_results", "Web search", "Results", "How many are asked for.", "number", lowest=1, highest=10),
    Option(
        "fetch_pages",
        "Web search",
        "Read whole pages",
        "The pages that were found are fetched, not only quoted.",
        "switch",
    ),
    Option(
        "refine",
        "Answers",
        "Refine knowledge",
        "Passages are cut into strips; only those that help are used.",
        "switch",
    ),
    Option(
        "parent_context",
        "Answers",
        "Wider context",
        "The text around each passage is given to the model, too.",
        "switch",
    ),
)

OPTIONS: dict[str, Option] = {setting.name: setting for setting in _OPTION_RECORDS}


PRESETS: dict[str, RunOptions] = {
    # LangGraph notebook on local models (June 2024): any irrelevant passage triggers a web search, no rewriting.
    "langgraph-local": RunOptions(policy="any", k=4, rewrite="none", web_results=3, refine=False, web="auto"),
    # LangGraph notebook (February 2024): rewrites the query, joins all web results into one document.
    "langgraph": RunOptions(policy="any", k=4, rewrite="question", join_web=True, refine=False, web="auto"),
    # LangGraph.js: searches the web only if no passage is relevant.
    "langgraph-js": RunOptions(policy="none", k=4, rewrite="question", join_web=True, refine=False, web="auto"),
    # Korean CRAG on AWS: searches child passages and gives their parent to the model.
    "parent-child": RunOptions(policy="any", k=4, rewrite="question", parent_context=True, refine=False, web="auto"),
    # Mistral notebooks: two graphs, with and without rewriting.
    "mistral": RunOptions(policy="any", k=4, rewrite="question", refine=False, web="auto"),
    "mistral-no-rewrite": RunOptions(policy="any", k=4, rewrite="none", refine=False, web="auto"),
    # The paper, section 4: ten passages, three actions, strips, at most three keywords, five web pages.
    "paper": RunOptions(policy="paper", k=10, rewrite="keywords", refine=True, web_results=5, web="auto"),
}
