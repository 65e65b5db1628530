"""Inputs and outputs of one node of a run, as named values in plain words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from crag.amounts import count
from crag.events import Node, PromptBuilt
from crag.inspection.facts import bounds
from crag.runs import Trace
from crag.types import Passage, Strip, Support, Turn, Verdict

Content = (
    str
    | PromptBuilt
    | tuple[Passage, ...]
    | tuple[Verdict, ...]
    | tuple[Support, ...]
    | tuple[Turn, ...]
    | Mapping[int, tuple[Strip, ...]]
)


@dataclass(frozen=True, slots=True)
class Value:
    """One named value. Passages are ordered by rank; strips are keyed by the id of their passage."""

    name: str
    content: Content


@dataclass(frozen=True, slots=True)
class NodeView:
    """Inputs and outputs of one node of a run, as far as it got."""

    node: Node
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]


def view(node: Node, trace: Trace, history: Sequence[Turn] = ()) -> NodeView:
    """Describe a node without its empty values; `history` holds the turns before the question."""
    given, came = _VALUES[node]
    inputs = [*given(trace), Value("Said before", tuple(history))] if node == "condense_question" else given(trace)
    return NodeView(node, _there(inputs), _there(came(trace)))


def _there(values: Sequence[Value]) -> tuple[Value, ...]:
    return tuple(value for value in values if value.content)


def _asked(trace: Trace) -> Value:
    return Value("Question", trace.condensed or trace.question)


def _found(trace: Trace, *origins: str) -> tuple[Passage, ...]:
    ids = [found for origin, held in trace.found.items() if origin in origins for found in held]
    return tuple(trace.passages[found] for found in ids)


def _verdicts(trace: Trace, *origins: str) -> tuple[Verdict, ...]:
    return tuple(trace.verdicts[one.id] for one in _found(trace, *origins) if one.id in trace.verdicts)


def _usable(trace: Trace) -> tuple[Passage, ...]:
    """Return the passages usable for the answer: all that were not graded irrelevant."""
    irrelevant = {one.passage_id for one in trace.verdicts.values() if one.word == "irrelevant"}
    return tuple(one for one in _found(trace, "library", "web") if one.id not in irrelevant)


def _searched_in(trace: Trace) -> list[Value]:
    options = trace.options
    where = count(len(options.source_ids), "chosen document") if options.source_ids else options.collection
    return [
        _asked(trace),
        Value("How many (k)", str(options.k)),
        Value("Searched in", where or "all documents"),
        Value("Passages of up to", count(options.passage_size, "token") if options.passage_size else ""),
        Value("Embedder", trace.embedder),
    ]


def _retrieved(trace: Trace) -> list[Value]:
    searched = count(trace.searched, "passage") if "library" in trace.found else ""
    return [Value("Looked through", searched), Value("Nearest passages", _found(trace, "library"))]


def _to_grade(trace: Trace) -> list[Value]:
    return [
        _asked(trace),
        Value("Passages", _found(trace, "library")),
        Value("Grader", trace.grader),
        Value("Thresholds", _thresholds(trace)),
    ]


def _thresholds(trace: Trace) -> str:
    return bounds(trace.thresholds) if trace.thresholds else ""


def _to_decide(trace: Trace) -> list[Value]:
    return [
        Value("Policy", trace.options.policy),
        Value("Verdicts", _verdicts(trace, "library")),
        Value("Thresholds", _thresholds(trace)),
    ]


def _decided(trace: Trace) -> list[Value]:
    if not trace.action_reason:
        return []
    return [
        Value("Action", trace.action or "grading off"),
        Value("Reason", trace.action_reason),
        Value("Wants the web", "yes" if trace.wants_web else "no"),
        Value("Web not searched", trace.web_skipped if trace.step("web_search") is None else ""),
    ]


def _queries(trace: Trace) -> list[Value]:
    """Return the query as written and, if it was edited before it was sent, as edited."""
    written = trace.query or trace.condensed or trace.question
    edited = trace.query_sent if trace.query_sent != written else ""
    return [
        Value("Query, as written", written),
        Value("Query, as you edited it", edited),
        Value("Web", {"off": "off", "ask": "ask first", "auto": "on"}[trace.options.web]),
    ]


def _from_web(trace: Trace) -> list[Value]:
    waiting = trace.waiting
    return [
        Value("Sent", trace.query_sent),
        Value("To", trace.web_provider),
        Value("Not sent yet", waiting.query if waiting else ""),
        Value("Why nothing more", trace.web_skipped),
        Value("Results", _found(trace, "web")),
        Value("Pages", "read whole from their own sites, where they could be" if _read_in_full(trace) else ""),
        Value("Verdicts", _verdicts(trace, "web")),
    ]


def _read_in_full(trace: Trace) -> bool:
    return trace.options.fetch_pages and bool(trace.query_sent) and bool(_found(trace, "web"))


def _to_refine(trace: Trace) -> list[Value]:
    return [_asked(trace), Value("Usable passages", _usable(trace))]


def _to_write(trace: Trace) -> list[Value]:
    kept = {found: strips for found, cut in trace.strips.items() if (strips := tuple(s for s in cut if s.kept))}
    knowledge = Value("Knowledge, kept strips", kept) if kept else Value("Knowledge, whole passages", _usable(trace))
    prompt = Value("Prompt", trace.prompt) if trace.prompt and trace.prompt.window else Value("Prompt", "")
    return [_asked(trace), knowledge, prompt, Value("Model", trace.model)]


def _written(trace: Trace) -> list[Value]:
    usage = trace.usage
    counts = ((usage.prompt_tokens, "prompt token"), (usage.answer_tokens, "answer token"))
    tokens = " · ".join(count(number, noun) for number, noun in counts if number is not None)
    return [
        Value("Answer", trace.text),
        Value("Thought", trace.thought),
        Value("Tokens, as the server counted", tokens),
        Value("Ended by", usage.finish_reason or ""),
        Value("Notes", "\n".join(trace.notes)),
    ]


Values = Callable[[Trace], list[Value]]
_VALUES: dict[Node, tuple[Values, Values]] = {
    "condense_question": (
        lambda trace: [Value("Question", trace.question)],
        lambda trace: [Value("Question that stands alone", trace.condensed)],
    ),
    "retrieve": (_searched_in, _retrieved),
    "grade_documents": (_to_grade, lambda trace: [Value("Verdicts", _verdicts(trace, "library"))]),
    "decide": (_to_decide, _decided),
    "transform_query": (
        lambda trace: [_asked(trace), Value("Style", trace.options.rewrite)],
        lambda trace: [Value("Query", trace.query)],
    ),
    "web_search": (_queries, _from_web),
    "refine_knowledge": (_to_refine, lambda trace: [Value("Strips", dict(trace.strips))]),
    "generate": (_to_write, _written),
    "check_answer": (
        lambda trace: [Value("Answer", trace.text)],
        lambda trace: [Value("Sentences", trace.sentences)],
    ),
}
