"""Titles of the nodes, and short descriptions of their outcome."""

from __future__ import annotations

from crag.amounts import count, score
from crag.events import Node
from crag.options import Thresholds
from crag.runs import Step, Trace

NODES: dict[Node, str] = {
    "condense_question": "Condense the question",
    "retrieve": "Retrieve",
    "grade_documents": "Grade passages",
    "decide": "Decide",
    "transform_query": "Rewrite the question",
    "web_search": "Search the web",
    "refine_knowledge": "Refine knowledge",
    "generate": "Write the answer",
    "check_answer": "Check the answer",
}
_OPEN_ENDS = {
    "running": "running",
    "waiting": "waiting for you",
    "stopped": "stopped here",
    "failed": "failed here",
    "interrupted": "interrupted here",
}


def counted(step: Step, trace: Trace) -> str:
    """Return how many passages, results, strips, tokens or sentences a node has processed; empty without a count."""
    found = trace.found.get("library", ())
    match step.node:
        case "retrieve" if "library" in trace.found:
            return f"{len(found)} of {count(trace.searched, 'passage')}"
        case "grade_documents":
            return f"{sum(item in trace.verdicts for item in found)} of {len(found)}"
        case "web_search" if "web" in trace.found:
            return count(len(trace.found["web"]), "result")
        case "refine_knowledge" if trace.strips:
            strips = [strip for cut in trace.strips.values() for strip in cut]
            return f"{sum(strip.kept for strip in strips)} of {count(len(strips), 'strip')} kept"
        case "generate" if trace.prompt and (trace.pieces or trace.usage.answer_tokens):
            return count(trace.usage.answer_tokens or trace.pieces, "token")
        case "generate" if step.state == "done" and trace.prompt is None:
            return "nothing to write from"
        case "check_answer" if trace.sentences:
            held = sum(sentence.strength != "unsupported" for sentence in trace.sentences)
            return f"{held} of {count(len(trace.sentences), 'sentence')} supported"
        case "check_answer" if step.state == "done":
            return "nothing to check"
    return ""


def came_to(step: Step, trace: Trace) -> str:
    """Return the outcome of a node: its count, the relevant passages for grading, the best score for the decision."""
    found = trace.found.get("library", ())
    if step.node == "grade_documents" and step.state == "done":
        relevant = sum(item in trace.verdicts and trace.verdicts[item].word == "relevant" for item in found)
        return f"{relevant} of {len(found)} relevant"
    return _best(trace) if step.node == "decide" else counted(step, trace)


def bounds(thresholds: Thresholds) -> str:
    """Describe the scores at which verdicts change."""
    return f"relevant from {score(thresholds.upper)}, irrelevant below {score(thresholds.lower)}"


def state_word(step: Step) -> str:
    """Return the state of an unfinished node; empty for a finished one."""
    return _OPEN_ENDS.get(step.state, "")


def _best(trace: Trace) -> str:
    """Return the grader's best score with the threshold it is above or below."""
    verdicts = (trace.verdicts.get(item) for item in trace.found.get("library", ()))
    scores = [one.score for one in verdicts if one and one.ruling is None and one.score is not None]
    held = trace.thresholds
    if not scores or held is None:
        return ""
    best = max(scores)
    if best >= held.upper:
        return f"best {best:.2f} ≥ {score(held.upper)}"
    if best < held.lower:
        return f"best {best:.2f} < {score(held.lower)}"
    return f"best {best:.2f}, between {score(held.lower)} and {score(held.upper)}"
