"""Inputs and outputs of one node of a run, as named values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from crag.inspection.run_labels import decision_badge, describe_thresholds, describe_trace_grader, format_option_value
from crag.inspection.steps import (
    PassageDescription,
    PromptSize,
    SentenceDescription,
    describe_assessment,
    describe_prompt,
    describe_sentence,
    describe_strips,
    describe_verdicts,
)
from crag.options import OPTIONS, WEB_MODES, get_option
from crag.runs.trace import Trace
from crag.text.formatting import format_count
from crag.translation import _, translate_text
from crag.types import NodeName, Passage, Turn

NodeContent = (
    str
    | PromptSize
    | tuple[Passage, ...]
    | tuple[PassageDescription, ...]
    | tuple[SentenceDescription, ...]
    | tuple[Turn, ...]
    | None
)


@dataclass(frozen=True, slots=True)
class NodeValue:
    """One named value. Passages are ordered by rank."""

    name: str
    content: NodeContent


@dataclass(frozen=True, slots=True)
class NodeDescription:
    """Inputs and outputs of one node of a run, as far as it got."""

    node: NodeName
    inputs: tuple[NodeValue, ...]
    outputs: tuple[NodeValue, ...]


def describe_node(node: NodeName, trace: Trace, history: Sequence[Turn] = ()) -> NodeDescription:
    """Describe a node without its empty values; `history` holds the turns before the question."""
    given, came = _VALUE_READERS[node]
    inputs = (
        [*given(trace), NodeValue(_("Conversation so far"), tuple(history))]
        if node == "condense_question"
        else given(trace)
    )
    return NodeDescription(node, _drop_empty(inputs), _drop_empty(came(trace)))


def _drop_empty(values: Sequence[NodeValue]) -> tuple[NodeValue, ...]:
    return tuple(value for value in values if value.content)


def _option_value(name: str, trace: Trace) -> NodeValue:
    return NodeValue(OPTIONS[name].label, format_option_value(name, get_option(trace.options, name)))


def _question_value(trace: Trace) -> NodeValue:
    return NodeValue(_("Question"), trace.condensed or trace.question)


def _found_passages(trace: Trace, *origins: str) -> tuple[Passage, ...]:
    ids = [found for origin, held in trace.found.items() if origin in origins for found in held]
    return tuple(trace.passages[found] for found in ids)


def _usable_passages(trace: Trace) -> tuple[Passage, ...]:
    """Return the passages usable for the answer: all that were not graded irrelevant."""
    irrelevant = {one.passage_id for one in trace.verdicts.values() if one.word == "irrelevant"}
    return tuple(one for one in _found_passages(trace, "library", "web") if one.id not in irrelevant)


def _retrieve_inputs(trace: Trace) -> list[NodeValue]:
    options = trace.options
    where = format_count(len(options.source_ids), "chosen document") if options.source_ids else options.collection
    return [
        _question_value(trace),
        _option_value("k", trace),
        NodeValue(_("Searched"), where or _("all documents")),
        *([_option_value("passage_size", trace)] if options.passage_size else []),
        NodeValue(_("Embedder"), trace.embedder),
    ]


def _retrieve_outputs(trace: Trace) -> list[NodeValue]:
    searched = format_count(trace.searched, "passage") if "library" in trace.found else ""
    scored = format_count(trace.scored, "candidate") if trace.scored else ""
    return [
        NodeValue(_("Passages searched"), searched),
        NodeValue(_("Scored by the evaluator"), scored),
        NodeValue(_("Nearest passages"), _found_passages(trace, "library")),
    ]


def _grade_inputs(trace: Trace) -> list[NodeValue]:
    return [
        _question_value(trace),
        NodeValue(_("Passages"), _found_passages(trace, "library")),
        NodeValue(_("Grader"), describe_trace_grader(trace)),
        NodeValue(_("Thresholds"), _thresholds_text(trace)),
    ]


def _thresholds_text(trace: Trace) -> str:
    return describe_thresholds(trace.thresholds) if trace.thresholds else ""


def _decide_inputs(trace: Trace) -> list[NodeValue]:
    return [
        _option_value("policy", trace),
        NodeValue(_("Verdicts"), describe_verdicts(trace, "library")),
        NodeValue(_("Thresholds"), _thresholds_text(trace)),
        NodeValue(_("Enough to answer"), describe_assessment(trace)),
    ]


def _decide_outputs(trace: Trace) -> list[NodeValue]:
    if not trace.action_reason:
        return []
    return [
        NodeValue(_("Decision"), decision_badge(trace.action, trace.outcome).word),
        NodeValue(_("Reason"), translate_text(trace.action_reason)),
        NodeValue(_("Web search needed"), _("yes") if trace.wants_web else _("no")),
        NodeValue(
            _("Web search skipped"), translate_text(trace.web_skipped) if trace.step("web_search") is None else ""
        ),
    ]


def _web_search_inputs(trace: Trace) -> list[NodeValue]:
    """Return the query as written and, if it was edited before it was sent, as edited."""
    written = trace.query or trace.condensed or trace.question
    edited = trace.query_sent if trace.query_sent != written else ""
    return [
        NodeValue(_("Query as written"), written),
        NodeValue(_("Query as you edited it"), edited),
        NodeValue(_("Web"), _(WEB_MODES[trace.options.web][0]).lower()),
    ]


def _web_search_outputs(trace: Trace) -> list[NodeValue]:
    waiting = trace.waiting
    return [
        NodeValue(_("Sent"), trace.query_sent),
        NodeValue(_("Sent to"), trace.web_provider),
        NodeValue(_("Not sent yet"), waiting.query if waiting else ""),
        NodeValue(_("Skipped because"), translate_text(trace.web_skipped)),
        NodeValue(_("Results"), _found_passages(trace, "web")),
        NodeValue(_("Pages"), _("read in full where possible") if _read_in_full(trace) else ""),
        NodeValue(_("Verdicts"), describe_verdicts(trace, "web")),
    ]


def _read_in_full(trace: Trace) -> bool:
    return trace.options.fetch_pages and bool(trace.query_sent) and bool(_found_passages(trace, "web"))


def _refine_inputs(trace: Trace) -> list[NodeValue]:
    return [_question_value(trace), NodeValue(_("Usable passages"), _usable_passages(trace))]


def _generate_inputs(trace: Trace) -> list[NodeValue]:
    cut = (replace(one, strips=tuple(strip for strip in one.strips if strip.kept)) for one in describe_strips(trace))
    kept = tuple(one for one in cut if one.strips)
    knowledge = NodeValue(_("Excerpts used"), kept) if kept else NodeValue(_("Passages used"), _usable_passages(trace))
    prompt = NodeValue(_("Prompt"), describe_prompt(trace))
    return [_question_value(trace), knowledge, prompt, NodeValue(_("Model"), trace.model)]


def _generate_outputs(trace: Trace) -> list[NodeValue]:
    usage = trace.usage
    counts = ((usage.prompt_tokens, _("prompt token")), (usage.answer_tokens, _("answer token")))
    tokens = " · ".join(format_count(number, noun) for number, noun in counts if number is not None)
    return [
        NodeValue(_("Answer"), trace.text),
        NodeValue(_("Reasoning"), trace.thought),
        NodeValue(_("Tokens counted by the model server"), tokens),
        NodeValue(_("Stop reason"), usage.finish_reason or ""),
        NodeValue(_("Notes"), "\n".join(map(translate_text, trace.notes))),
    ]


ValueReader = Callable[[Trace], list[NodeValue]]
_VALUE_READERS: dict[NodeName, tuple[ValueReader, ValueReader]] = {
    "reply": (
        lambda trace: [NodeValue("Question", trace.question)],
        lambda trace: [NodeValue("Reply", trace.text)],
    ),
    "condense_question": (
        lambda trace: [NodeValue("Question", trace.question)],
        lambda trace: [NodeValue("Standalone question", trace.condensed)],
    ),
    "retrieve": (_retrieve_inputs, _retrieve_outputs),
    "grade_documents": (_grade_inputs, lambda trace: [NodeValue("Verdicts", describe_verdicts(trace, "library"))]),
    "decide": (_decide_inputs, _decide_outputs),
    "transform_query": (
        lambda trace: [_question_value(trace), _option_value("rewrite", trace)],
        lambda trace: [NodeValue("Query", trace.query)],
    ),
    "web_search": (_web_search_inputs, _web_search_outputs),
    "refine_knowledge": (_refine_inputs, lambda trace: [NodeValue("Excerpts", describe_strips(trace))]),
    "generate": (_generate_inputs, _generate_outputs),
    "check_answer": (
        lambda trace: [NodeValue("Answer", trace.text)],
        lambda trace: [NodeValue("Sentences", tuple(map(describe_sentence, trace.sentences)))],
    ),
}
