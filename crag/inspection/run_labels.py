"""Labels of runs: badges, names and outcomes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from os.path import commonprefix
from typing import TYPE_CHECKING, Any, Literal

from crag.events import NODES
from crag.models.evaluator_weights import reads_question
from crag.models.model_choice import BUILTIN_LABEL, model_label
from crag.options import GRADERS, OPTIONS, POLICIES, PolicyName, RunOptions
from crag.reference_systems import find_system
from crag.runs.trace import Trace
from crag.text.formatting import format_count, format_duration, format_number, format_score
from crag.text.sanitization import to_one_line
from crag.translation import ENGLISH, N_, _, current_language, translate_text
from crag.types import (
    HEADING_SEPARATOR,
    Action,
    Citation,
    Outcome,
    Ruling,
    RunState,
    SupportStrength,
    Thresholds,
    Verdict,
    VerdictWord,
)

if TYPE_CHECKING:
    from crag.inspection.run_archive import RunRow

Colour = Literal["green", "orange", "red", "blue", "gray"]


@dataclass(frozen=True, slots=True)
class Badge:
    """One badge; `number` follows the word, and `remark` the badge, where there is one."""

    colour: Colour
    icon: str
    english: str
    number: str = ""
    remark: str = ""

    @property
    def word(self) -> str:
        """Word in the user's language."""
        return _(self.english)


VERDICT_BADGES: dict[VerdictWord, Badge] = {
    "relevant": Badge("green", "check_circle", "relevant"),
    "ambiguous": Badge("orange", "contrast", "partly relevant"),
    "irrelevant": Badge("red", "cancel", "not relevant"),
    "unknown": Badge("gray", "help", "not graded"),
}
STRENGTH_BADGES: dict[SupportStrength, Badge] = {
    "supported": Badge("green", "check_circle", "supported"),
    "weak": Badge("gray", "contrast", "weak source"),
    "unsupported": Badge("orange", "link_off", "no source"),
}
RULING_BADGES: dict[Ruling, Badge] = {
    "use": Badge("green", "person_check", "used by you"),
    "drop": Badge("red", "person_remove", "left out by you"),
}
OUTCOME_BADGES: dict[Outcome | Literal["related"], Badge] = {
    "documents": Badge("green", "task_alt", "from your documents"),
    "quoted": Badge("blue", "format_quote", "quoted from your documents"),
    "possible": Badge("orange", "format_quote", "possible answer"),
    "documents_partly": Badge("orange", "contrast", "partly covered"),
    "conflicting": Badge("orange", "call_split", "sources disagree"),
    "documents_and_web": Badge("orange", "contrast", "documents and web"),
    "web": Badge("blue", "travel_explore", "from the web"),
    "not_answered": Badge("gray", "search_off", "not found in your documents"),
    "related": Badge("gray", "search_off", "related, but no answer"),
    "calculated": Badge("blue", "calculate", "calculated from your documents"),
    "talk": Badge("gray", "forum", "chat"),
}
# A decision is named like the answer that it leads to from the documents alone, but never green: that must be earned.
ACTION_BADGES: dict[Action | None, Badge] = {
    "correct": replace(OUTCOME_BADGES["documents"], colour="blue", icon="find_in_page"),
    "ambiguous": OUTCOME_BADGES["documents_partly"],
    "incorrect": OUTCOME_BADGES["not_answered"],
    None: Badge("gray", "remove_circle_outline", "grading off"),
}
RUN_STATE_BADGES: dict[RunState, Badge] = {
    "running": Badge("blue", "pending", "running"),
    "waiting": Badge("orange", "pause_circle", "waiting for you"),
    "done": Badge("green", "check_circle", "done"),
    "stopped": Badge("gray", "stop_circle", "stopped"),
    "failed": Badge("red", "error", "failed"),
    "interrupted": Badge("gray", "stop_circle", "interrupted"),
}


def verdict_badge(verdict: Verdict | None) -> Badge:
    """Return the badge of a verdict with the grader's score; the score is only a remark on the user's own ruling."""
    if verdict is None:
        return Badge("gray", "pending", N_("not graded"))
    score = "" if verdict.score is None else f"{verdict.score:.2f}"
    if verdict.ruling:
        return replace(RULING_BADGES[verdict.ruling], remark=score)
    return replace(VERDICT_BADGES[verdict.word], number=score)


def run_badge(run: RunRow) -> Badge:
    """Return the badge for how a run ended: its outcome when it completed, else its state."""
    if run.outcome and run.state == "done":
        return outcome_badge(run.action, run.outcome)
    return RUN_STATE_BADGES[run.state]


def decision_badge(action: Action | None, outcome: Outcome | None) -> Badge:
    """Return the badge of a decision; once the answer is known, the answer's own, so that both say the same."""
    if outcome and action in ("correct", "ambiguous"):
        return outcome_badge(action, outcome)
    return ACTION_BADGES[action]


def outcome_badge(action: Action | None, outcome: Outcome) -> Badge:
    """Return the badge of an outcome; a declined question tells related passages from none that are about it."""
    is_related = outcome == "not_answered" and action in ("correct", "ambiguous")
    return OUTCOME_BADGES["related" if is_related else outcome]


def trajectory_title(step: str) -> str:
    """Return the title of a step of a trajectory, as in the trace; of an unknown one, its name."""
    return next((_(node.title) for node in NODES.values() if node.trajectory_step == step), step)


def answer_badges(action: Action | None, outcome: Outcome | None) -> list[Badge]:
    """Return the badge of an answer, preceded by that of its decision if the two say different things."""
    badges = [decision_badge(action, outcome)] if action else []
    badges += [outcome_badge(action, outcome)] if outcome else []
    return badges[-1:] if len({badge.word for badge in badges}) < len(badges) else badges


def answer_badge(trace: Trace) -> Badge:
    """Return the badge of an answer: where it comes from, or why there is none."""
    if trace.error_code == "consent_needed":
        return Badge("orange", "cloud_upload", N_("nothing sent"))
    if trace.state == "failed":
        return Badge("red", "error", N_("incomplete") if trace.text else N_("not answered"))
    if trace.state in {"stopped", "interrupted"}:
        return RUN_STATE_BADGES[trace.state]
    if trace.waiting and trace.waiting.from_answer:
        return Badge("orange", "link_off", N_("no source"))
    if trace.waiting and trace.action == "ambiguous":
        return OUTCOME_BADGES["documents_partly"]
    badge = outcome_badge(trace.action, trace.outcome or "not_answered")
    is_elsewhere = badge is OUTCOME_BADGES["not_answered"] and trace.options.is_limited  # perhaps, in other documents
    return replace(badge, english=N_("not found in the documents searched")) if is_elsewhere else badge


def answer_facts(trace: Trace) -> list[str]:
    """Return the facts next to an answer's badge: whether any passage was relevant, how much is cited, the time taken.

    They contain no text from documents or the web.
    """
    if trace.waiting and trace.waiting.from_answer:
        return [_("one sentence of the answer has no source")]
    if trace.outcome == "talk":
        return []
    cited = _passages_read(trace) or _passages_cited(trace)
    facts = [_("no relevant passages")] if trace.action == "incorrect" and not _is_refused(trace) else []
    facts += [cited] if cited else []
    if trace.seconds is not None and trace.outcome != "not_answered":
        facts.append(format_duration(trace.seconds))
    return facts


def describe_engine_change(trace: Trace, earlier: Iterable[Trace]) -> str:
    """Say that another engine answers than before, and why; empty unless it was chosen automatically.

    `earlier` are the answers before it in the conversation, latest first. Replies to small talk do not count.
    """
    if not trace.model_reason or trace.small_talk:
        return ""
    engines = (before.model for before in earlier if before.model and not before.small_talk)
    if next(engines, trace.model) == trace.model:
        return ""
    return (
        _("{model} answers again.").format(model=trace.model)
        if trace.model != BUILTIN_LABEL and trace.model in engines
        else translate_text(trace.model_reason)
    )


def source_locators(trace: Trace) -> dict[int, str]:
    """Return where in its document each source of an answer is, by its number.

    Sources that would read the same are told apart by their headings, or else by their quotes without the words with
    which all begin.
    """
    places: dict[tuple[str, str], list[Citation]] = {}
    for cited in trace.citations:
        places.setdefault((cited.title, cited.locator), []).append(cited)
    return {
        cited.n: " · ".join(filter(None, (cited.locator, detail)))
        for alike in places.values()
        for cited, detail in zip(alike, _distinct_details(alike, trace), strict=True)
    }


def _distinct_details(alike: Sequence[Citation], trace: Trace) -> list[str]:
    if len(alike) == 1:
        return [""]
    passages = [trace.passages.get(cited.passage_id) for cited in alike]
    headings = [passage.heading.rpartition(HEADING_SEPARATOR)[2] if passage else "" for passage in passages]
    if all(headings) and len(set(headings)) == len(alike):
        return headings
    quotes = [cited.readable_quote for cited in alike]
    shared = commonprefix(quotes).rpartition(" ")[0]  # noqa: RUF071 — of text, not of paths
    return [quote and f"“{'…' if shared else ''}{quote.removeprefix(shared).lstrip()}”" for quote in quotes]


def _is_refused(trace: Trace) -> bool:
    return trace.outcome == "not_answered" or (trace.waiting is not None and trace.action == "incorrect")


def _passages_read(trace: Trace) -> str:
    """Return how many passages were read for a summary or a list, or rows for a calculation; empty for others."""
    if trace.table:
        return _("from {rows}").format(rows=format_count(trace.table.used, "row"))
    if trace.read is None or trace.route == "fact":
        return ""
    return _("{read} of {passages} read").format(
        read=format_number(trace.read.read), passages=format_count(trace.read.of, "passage")
    )


def _passages_cited(trace: Trace) -> str:
    library, web = trace.found.get("library", ()), trace.found.get("web", ())
    cited = {one.passage_id for one in trace.citations}
    dropped = sum(trace.verdicts[found].ruling == "drop" for found in library if found in trace.verdicts)
    if _is_refused(trace) and dropped:
        return _("you left out {dropped} of {passages}").format(
            dropped=dropped, passages=format_count(len(library), "passage")
        )
    if trace.outcome == "not_answered" and trace.action != "incorrect":
        return _("no passage used")
    if _is_refused(trace) and trace.read and trace.route == "fact":
        return _("none of the {passages} read seems to hold it").format(
            passages=format_count(trace.read.read, "passage")
        )
    if _is_refused(trace) and library:
        return (
            _("none of the {library} nearest passages seems to hold it").format(library=len(library))
            if len(library) > 1
            else _("the nearest passage does not seem to hold it")
        )
    if cited & set(web):
        return _("cites {cited} of {results}").format(
            cited=len(cited & set(web)), results=format_count(len(web), "result")
        )
    if len(trace.citations) > len(cited):
        return _("{sources} from {cited} of {passages}").format(
            sources=format_count(len(trace.citations), "source"),
            cited=len(cited),
            passages=format_count(len(library), "passage"),
        )
    return (
        _("cites {cited} of {passages}").format(cited=len(cited), passages=format_count(len(library), "passage"))
        if library and trace.outcome
        else ""
    )


def _grading_text(policy: PolicyName) -> str:
    label = POLICIES[policy][0].lower()
    return f"grading {label}" if policy == "off" else f"{label} grading"


def grading_label(policy: PolicyName) -> str:
    """Return a policy in words that need no context, such as “strict grading”."""
    return translate_text(_grading_text(policy))


_CHANGE_LABELS = {
    option.describe(value): f"{option.describe(value).removesuffix(value)}{label}"
    for option in OPTIONS.values()
    for value, (label, _) in option.values.items()
} | {
    "same settings": "asked again",
    "model builtin": "model Built-in engine",
    **{OPTIONS["policy"].describe(name): _grading_text(name) for name in POLICIES},
}
_K_CHANGE = re.compile(r"k (\d+)")


def format_option_value(name: str, value: Any) -> str:
    """Return the value of an option in words, with the display names of models; plain text."""
    shown = OPTIONS[name].format(value)
    return translate_text(model_label(shown)) if OPTIONS[name].kind == "model" else shown


def describe_option(name: str, value: Any) -> str:
    """Describe an option with a value in display names, such as “strict grading”."""
    return describe_change(OPTIONS[name].describe(value))


def describe_change(change: str) -> str:
    """Describe a version's change with the display names of policies, graders and models."""
    return ", ".join(
        translate_text(_CHANGE_LABELS.get(part, "")) or _describe_value_change(part) for part in change.split(", ")
    )


def version_label(number: int, total: int, change: str) -> str:
    """Return “Version 2 of 3” and how the version differs, on one line."""
    described = to_one_line(describe_change(change)) if change else ""
    return " · ".join(
        part for part in (_("Version {number} of {total}").format(number=number, total=total), described) if part
    )


def describe_grader(name: str, question: str = "") -> str:
    """Return a grader's display name with its model or evaluator, such as “Fast, llama3.1:8b”; else the name itself.

    With a question that the evaluator does not read, the built-in grader is named, which graded in its place.
    """
    kind, _colon, rest = name.partition(":")
    if kind not in GRADERS:
        return name
    if kind == "cascade":
        first, _plus, second = rest.partition("+")
        model = describe_grader(second, question).rpartition(", ")[2]
        return _("{label}: {grader}, then {model}").format(
            label=_(GRADERS[kind].label), grader=describe_grader(first, question), model=model
        )
    model = rest.partition("@")[0].rpartition("ollama:")[2]
    if kind == "evaluator" and question and not reads_question(model, question):
        return _(GRADERS["builtin"].label)
    label = _(GRADERS[kind].label)
    return f"{label}, {model}" if model and (GRADERS[kind].asks_model or kind == "evaluator") else label


def describe_trace_grader(trace: Trace) -> str:
    """Return the display name of what graded the passages of a run."""
    return describe_grader(trace.grader, trace.condensed or trace.question)


def _describe_value_change(change: str) -> str:
    """Write the number of passages as “4 passages”, and a model with its display name."""
    if number := _K_CHANGE.fullmatch(change):
        return format_count(int(number[1]), "passage")
    role, found, name = change.partition("model ")
    if found and ":" in name:
        return f"{translate_text(f'{role}model')} {translate_text(model_label(name))}"
    return _translate_value_change(change)


def _translate_value_change(change: str) -> str:
    """Return an option with its value, such as “excerpts on”; by its title in other languages than English."""
    if current_language() == ENGLISH:
        return change
    for option in OPTIONS.values():
        term, _space, value = change.partition(f"{option.term or option.title.lower()} ")
        if not term and value:
            return f"{option.label}: {translate_text(value)}"
    return translate_text(change)


def threshold_origin(options: RunOptions, *, calibrated: bool) -> str:
    """Return where the thresholds come from."""
    if options.thresholds is not None:
        return _("set by the preset") if find_system(options) else _("set by you")
    return (
        _("calibrated for {collection}").format(collection=options.collection or _("all documents"))
        if calibrated
        else _("default thresholds")
    )


def describe_thresholds(thresholds: Thresholds) -> str:
    """Describe the scores at which verdicts change."""
    return _("relevant from {upper}, not relevant below {lower}").format(
        upper=format_score(thresholds.upper), lower=format_score(thresholds.lower)
    )
