"""The options that can be saved: title, meaning and valid values."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from crag.errors import BadRequest
from crag.options import GraderKind, PolicyName, RewriteStyle, WebMode

Section = Literal["Models", "Fine-tuning", "Grading", "Web search", "Answers"]
_LONGEST_NAME = 200


@dataclass(frozen=True, slots=True)
class Setting:
    """One option, by its name in `RunOptions`. For kind `model`, an empty value means the default model.

    Numbers range from `lowest` to `highest`, in `unit`; they are whole numbers if `step` is an int. `variable` is the
    environment variable that sets the option.
    """

    name: str
    section: Section
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
                return isinstance(value, str) and len(value) <= _LONGEST_NAME and value == value.strip()
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


_TUNED = (
    Setting(
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
    Setting(
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
    Setting(
        "temperature",
        "Fine-tuning",
        "temperature",
        "0 says the likeliest; more varies. Judging is best at 0.",
        "number",
        lowest=0.0,
        highest=2.0,
        step=0.1,
    ),
    Setting(
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
    Setting(
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


def _tuning(role: str, title: str) -> tuple[Setting, ...]:
    """Return the model parameters of one role."""
    return tuple(replace(tuned, name=f"{role}.{tuned.name}", title=f"{title}: {tuned.title}") for tuned in _TUNED)


_SETTINGS = (
    Setting(
        "model",
        "Models",
        "Answering",
        "Writes the answer.",
        "model",
        variable="CRAG_CHAT_MODEL",
    ),
    Setting(
        "grader_model",
        "Models",
        "Grading",
        "Judges each passage. A smaller model is usually enough and much faster.",
        "model",
        variable="CRAG_GRADER_MODEL",
    ),
    Setting(
        "rewriter_model",
        "Models",
        "Rewriting",
        "Makes follow-up questions stand alone, and writes queries for the web.",
        "model",
    ),
    Setting(
        "thinking",
        "Models",
        "Think first",
        "Models that can think aloud do so before they answer; it takes longer. The thoughts are shown folded.",
        "switch",
    ),
    *_tuning("answering", "Answering"),
    *_tuning("grading", "Grading"),
    *_tuning("rewriting", "Rewriting"),
    Setting("policy", "Grading", "Policy", "From verdicts to what is done.", "choice", get_args(PolicyName)),
    Setting("grader", "Grading", "Grader", "How passages are judged.", "choice", get_args(GraderKind)),
    Setting("k", "Grading", "Passages to grade (k)", "How many are found and judged.", "number", lowest=1, highest=20),
    Setting(
        "web",
        "Web search",
        "Search the web",
        "When the documents do not answer.",
        "choice",
        get_args(WebMode),
    ),
    Setting(
        "rewrite",
        "Web search",
        "Rewritten as",
        "How the question is written anew for the web.",
        "choice",
        get_args(RewriteStyle),
    ),
    Setting("web_results", "Web search", "Results", "How many are asked for.", "number", lowest=1, highest=10),
    Setting(
        "fetch_pages",
        "Web search",
        "Read whole pages",
        "The pages that were found are fetched, not only quoted.",
        "switch",
    ),
    Setting(
        "refine",
        "Answers",
        "Refine knowledge",
        "Passages are cut into strips; only those that help are used.",
        "switch",
    ),
    Setting(
        "parent_context",
        "Answers",
        "Wider context",
        "The text around each passage is given to the model, too.",
        "switch",
    ),
)

CATALOG: dict[str, Setting] = {setting.name: setting for setting in _SETTINGS}
