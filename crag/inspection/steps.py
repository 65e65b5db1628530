"""Step descriptions: the steps of a run in words. Screen, exports and diagrams render them and add nothing.

The texts are plain single lines. Lines, passages and sentences may hold text of documents, models or the web, which
a renderer must escape; titles, badges and summaries never do.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from crag.events import NODES
from crag.inspection.run_labels import (
    RUN_STATE_BADGES,
    STRENGTH_BADGES,
    Badge,
    decision_badge,
    describe_thresholds,
    describe_trace_grader,
    threshold_origin,
    verdict_badge,
)
from crag.runs.trace import Step, Trace
from crag.text.formatting import (
    describe_best_score,
    format_count,
    format_done,
    format_duration,
    format_number,
    format_place,
)
from crag.text.sanitization import to_one_line
from crag.translation import N_, _, translate_text
from crag.types import NodeName, Origin, Passage, RunState, SmallTalk, Strip, Sufficiency, Support

_EXPANDED_NODES: frozenset[NodeName] = frozenset(
    {
        *("reply", "read_documents", "list_matches", "query_table", "answer_parts"),
        *("grade_documents", "decide", "web_search"),
    }
)
_UNTIMED_NODES: frozenset[NodeName] = frozenset({"decide", "check_answer", "reply"})  # a few milliseconds
_GRADED_ORIGINS: dict[NodeName, Origin] = {"grade_documents": "library", "web_search": "web"}
_SKIPPED_ICON = "remove_circle_outline"
_SMALL_TALK_NAMES: dict[SmallTalk, str] = {
    "greeting": "This is a greeting",
    "wellbeing": "This is small talk",
    "thanks": "This is a thank-you",
    "farewell": "This is a goodbye",
    "acknowledgement": "This is a short reply, not a question",
    "identity": "This asks about the application",
    "capabilities": "This asks about the application",
    "documents": "This asks which documents there are, not what they say",
    "summary": "This asks for a summary of a whole document",
}


@dataclass(frozen=True, slots=True)
class PassageDescription:
    """A judged passage, with its strips if it was cut. `irrelevant`: it is not used for the answer."""

    id: int
    badge: Badge
    place: str
    reason: str
    text: str
    irrelevant: bool = False
    strips: tuple[Strip, ...] = ()


@dataclass(frozen=True, slots=True)
class SentenceDescription:
    """A sentence of the answer, with the badge of its support and the numbers of the sources that it cites."""

    badge: Badge
    text: str
    citations: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class PromptSize:
    """How much of the model's context window the prompt takes, in words and as a `share` up to 1.

    `counted` says how many tokens the server counted; empty if it does not report it. `cut`: it cut the prompt.
    """

    share: float
    text: str
    counted: str = ""
    cut: bool = False


@dataclass(frozen=True, slots=True)
class StepDescription:
    """One step. `badge` and `summary` are shown next to the title; `candidates` counts passages, judged or not yet."""

    node: NodeName
    title: str
    state: RunState
    icon: str
    badge: Badge | None = None
    summary: str = ""
    lines: tuple[str, ...] = ()
    prompt: PromptSize | None = None
    passages: tuple[PassageDescription, ...] = ()
    candidates: int = 0
    sentences: tuple[SentenceDescription, ...] = ()
    expanded: bool = False


def describe_steps(trace: Trace) -> list[StepDescription]:
    """Describe the steps in order, including a web search that was wanted but not begun."""
    described = []
    for step in trace.steps:
        described.append(describe_step(step, trace))
        if step.node == "decide" and trace.web_skipped and trace.step("web_search") is None:
            described.append(_describe_skipped_search(trace))
    return described


def describe_step(step: Step, trace: Trace) -> StepDescription:
    """Describe one step of the trace."""
    origin = _GRADED_ORIGINS.get(step.node)
    return StepDescription(
        node=step.node,
        title=_(NODES[step.node].title),
        state=step.state,
        icon=_SKIPPED_ICON if step.node == "web_search" and trace.web_skipped else RUN_STATE_BADGES[step.state].icon,
        badge=decision_badge(trace.action, trace.outcome) if step.node == "decide" and trace.action_reason else None,
        summary=summarize_step(step, trace),
        lines=tuple(line for line in _step_lines(step, trace) if line),
        prompt=describe_prompt(trace) if step.node == "generate" else None,
        passages=describe_strips(trace) if step.node == "refine_knowledge" else describe_verdicts(trace, origin),
        candidates=len(trace.found.get(origin, ())) if origin else 0,
        sentences=_doubtful_sentences(trace) if step.node == "check_answer" else (),
        expanded=step.node in _EXPANDED_NODES or step.state == "running" or _is_reworded(step, trace),
    )


def _is_reworded(step: Step, trace: Trace) -> bool:
    return step.node == "condense_question" and trace.condensed not in ("", trace.question)


def _describe_skipped_search(trace: Trace) -> StepDescription:
    return StepDescription(
        node="web_search",
        title=_(NODES["web_search"].title),
        state="done",
        icon=_SKIPPED_ICON,
        summary=_("skipped"),
        lines=(to_one_line(translate_text(trace.web_skipped)),),
        expanded=True,
    )


def summarize_step(step: Step, trace: Trace) -> str:
    """Return the result of a step, and its duration or current state."""
    return " · ".join(part for part in (_outcome(step, trace), _timing(step)) if part)


def _outcome(step: Step, trace: Trace) -> str:  # noqa: C901 — one case per node, nothing nested
    """Return how many passages, results, strips, tokens or sentences a step processed; empty without a count."""
    match step.node:
        case "retrieve" if "library" in trace.found:
            return _("{found} of {passages}").format(
                found=format_number(len(trace.found["library"])), passages=format_count(trace.searched, "passage")
            )
        case "read_documents" | "list_matches" if trace.read:
            return describe_reading(trace)
        case "query_table" if trace.table:
            return format_count(trace.table.total_rows, "row")
        case "query_table" if step.state == "done":
            return _("no table answers this")
        case "answer_parts" if trace.parts:
            return _("{sum} of {parts} answered").format(
                sum=sum(part.answered for part in trace.parts), parts=len(trace.parts)
            )
        case "grade_documents":
            return _graded_count(step, trace)
        case "decide":
            return _best_score(trace)
        case "web_search" if "web" in trace.found:
            return format_count(len(trace.found["web"]), "result")
        case "refine_knowledge" if trace.strips:
            strips = [strip for cut in trace.strips.values() for strip in cut]
            return _("{sum} of {excerpts} kept").format(
                sum=sum(strip.kept for strip in strips), excerpts=format_count(len(strips), "excerpt")
            )
        case "generate" if trace.prompt and trace.prompt.window and (trace.pieces or trace.usage.answer_tokens):
            return format_count(trace.usage.answer_tokens or trace.pieces, "token")
        case "generate" if step.state == "done" and trace.prompt is None:
            quoted = _("{sources} quoted").format(sources=format_count(len(trace.citations), "source"))
            return quoted if trace.outcome == "conflicting" else _("nothing to answer from")
        case "check_answer" if trace.sentences:
            held = sum(sentence.strength != "unsupported" for sentence in trace.sentences)
            return _("{held} of {sentences} supported").format(
                held=held, sentences=format_count(len(trace.sentences), "sentence")
            )
        case "check_answer" if step.state == "done":
            return _("nothing to check")
    return ""


def _graded_count(step: Step, trace: Trace) -> str:
    """Return how many passages are graded; once all are, how many of them are relevant."""
    found = trace.found.get("library", ())
    words = [trace.verdicts[one].word for one in found if one in trace.verdicts]
    if step.state == "done":
        return _("{count} of {found} relevant").format(count=words.count("relevant"), found=len(found))
    return format_done(len(words), len(found))


def _best_score(trace: Trace) -> str:
    """Return the grader's best score with the threshold it is above or below; empty if a user's verdict decided."""
    verdicts = (trace.verdicts.get(item) for item in trace.found.get("library", ()))
    scores = [one.score for one in verdicts if one and one.ruling is None and one.score is not None]
    if not scores or trace.thresholds is None:
        return ""
    overruled = trace.action == "correct" and max(scores) < trace.thresholds.upper
    return "" if overruled else describe_best_score(max(scores), trace.thresholds)


def _timing(step: Step) -> str:
    if step.kept:
        return _("reused")
    if step.state == "done":
        return "" if step.node in _UNTIMED_NODES or step.seconds is None else format_duration(step.seconds)
    word = RUN_STATE_BADGES[step.state].word
    return word if step.state in ("running", "waiting") else _("{word} here").format(word=word)


def _step_lines(step: Step, trace: Trace) -> Iterable[str]:  # noqa: C901 — one case per node, nothing nested
    """Yield the sentences on a step; empty ones are dropped by the caller."""
    running = step.state == "running"
    match step.node:
        case "reply" if trace.small_talk:
            yield _("{small_talk_names}, so neither your documents nor the web were searched.").format(
                small_talk_names=_(_SMALL_TALK_NAMES[trace.small_talk])
            )
        case "condense_question":
            if running or not trace.condensed:
                yield _("Reading the conversation.") if running else ""
            else:
                yield _("Understood as {condensed}").format(
                    condensed=_quote(trace.condensed) if _is_reworded(step, trace) else _("asked.")
                )
                yield to_one_line(translate_text(trace.condensed_reason))
        case "read_documents" | "list_matches" | "query_table" | "answer_parts":
            yield to_one_line(translate_text(trace.route_reason)) if trace.route != "fact" else ""
            yield from _route_lines(step, trace)
        case "retrieve":
            yield to_one_line(translate_text(trace.route_reason)) if trace.route == "fact" else ""
            yield _retrieval_line(trace) or (_("Finding the nearest passages.") if running else "")
        case "grade_documents" if not running and not trace.verdicts:
            yield _("No passage was graded.")
        case "decide":
            yield describe_assessment(trace)
            yield to_one_line(translate_text(trace.action_reason)) or (_("Weighing the verdicts.") if running else "")
            yield describe_grading(trace)
        case "transform_query":
            yield _quote(trace.query) or (_("Written from your question alone.") if running else "")
        case "web_search":
            yield _query_line(trace)
            yield to_one_line(translate_text(trace.web_skipped))
        case "refine_knowledge" if not trace.strips:
            yield _("Splitting the passages into excerpts.") if running else _("Nothing to split.")
        case "generate":
            yield _prompt_line(step, trace)
        case "check_answer" if not running:
            yield _check_line(trace)


def describe_reading(trace: Trace) -> str:
    """Return how many passages were read, and how many matches were listed; empty if no document was read whole."""
    if trace.read is None:
        return ""
    read = _("{read} of {passages} read").format(
        read=format_number(trace.read.read), passages=format_count(trace.read.of, "passage")
    )
    return f"{format_count(len(trace.listed.matches), 'match', 'matches')} · {read}" if trace.listed else read


def _route_lines(step: Step, trace: Trace) -> Iterable[str]:
    """Yield the results of a node that answers other questions than facts."""
    match step.node:
        case "list_matches" if trace.listed:
            yield _("Looked for {topic}: list items and columns of that name, else sentences.").format(
                topic=_quote(trace.listed.topic)
            )
        case "query_table" if trace.table:
            yield to_one_line(trace.table.title)
            yield to_one_line(trace.table.sql)
            yield _("Based on {rows}.").format(rows=format_count(trace.table.used, "row"))
        case "answer_parts":
            for part in trace.parts:
                graded = _("{relevant} of {passages} usable").format(
                    relevant=part.relevant, passages=format_count(len(part.passages), "passage")
                )
                yield f"{_quote(part.question)}: {_('answered') if part.answered else _('no answer')}, {graded}"
                yield to_one_line(translate_text(part.reason))


def _quote(text: str) -> str:
    return f"“{to_one_line(text)}”" if text else ""


def _retrieval_line(trace: Trace) -> str:
    if "library" not in trace.found:
        return ""
    nearest = _("Nearest by meaning and words, using {embedder}.").format(embedder=to_one_line(trace.embedder))
    return nearest if trace.found["library"] else _("Nothing found.")


def describe_grading(trace: Trace) -> str:
    """Return the grader, its thresholds and their origin; empty if nothing was graded."""
    thresholds = trace.thresholds
    if thresholds is None or not trace.grader or not trace.verdicts:
        return ""
    origin = threshold_origin(trace.options, calibrated=trace.calibrated)
    return to_one_line(
        _("Graded by {trace_grader} · {thresholds} · {origin}").format(
            trace_grader=describe_trace_grader(trace), thresholds=describe_thresholds(thresholds), origin=origin
        )
    )


_SUFFICIENCY_WORDS: dict[Sufficiency | None, str] = {
    "sufficient": "Enough to answer",
    "insufficient": "Not enough to answer",
    "conflicting": "Sources disagree",
    None: "Cannot tell whether this is enough to answer",
}


def describe_assessment(trace: Trace) -> str:
    """Return whether the excerpts together answer the question, and why; empty if that was not judged."""
    judged = trace.assessment
    if judged is None:
        return ""
    word = _SUFFICIENCY_WORDS[judged.sufficiency]
    if judged.sufficiency == "sufficient" and trace.outcome == "possible":
        word = N_("Perhaps enough to answer")
    return to_one_line(f"{_(word)}: {translate_text(judged.reason)}")


def _query_line(trace: Trace) -> str:
    if trace.waiting:
        return _("{query} has not been sent.").format(query=_quote(trace.waiting.query))
    reused = _("Reuses the results of an earlier version; nothing was sent this time.") if "web" in trace.found else ""
    return describe_sent_query(trace) or reused


def describe_sent_query(trace: Trace) -> str:
    """Return which query was sent to which web search; empty if none was."""
    return (
        _("Sent to {web_provider}: {query_sent}").format(
            web_provider=to_one_line(trace.web_provider), query_sent=_quote(trace.query_sent)
        )
        if trace.query_sent
        else ""
    )


def _prompt_line(step: Step, trace: Trace) -> str:
    if trace.outcome == "conflicting":
        return _("Quoted side by side; no model chooses between them.")
    if trace.prompt is None:
        return _("Collecting the excerpts.") if step.state == "running" else _("There was nothing to answer from.")
    return "" if trace.prompt.window else _("Quoted from the passages; no language model was used.")


def describe_prompt(trace: Trace) -> PromptSize | None:
    """Describe the size of the writer's prompt; None if no model was asked."""
    prompt = trace.prompt
    if prompt is None or not prompt.window:
        return None
    question = trace.shortened and _("{tokens} of your question left out").format(
        tokens=format_count(trace.shortened.left_out, "token")
    )
    strips = prompt.left_out and _("{excerpts} left out").format(excerpts=format_count(prompt.left_out, "excerpt"))
    left_out = " · ".join(part for part in (question, strips) if part) or _("nothing left out")
    counted = trace.usage.prompt_tokens
    return PromptSize(
        share=min(1.0, prompt.tokens / prompt.window),
        text=_("Prompt {tokens} of {window} tokens · {left_out}").format(
            tokens=format_number(prompt.tokens), window=format_number(prompt.window), left_out=left_out
        ),
        counted=_("The model server counted {counted}.").format(counted=format_number(counted)) if counted else "",
        cut=trace.usage.prompt_cut,
    )


def _check_line(trace: Trace) -> str:
    if not trace.sentences:
        return _("There was nothing to check.")
    return "" if _doubtful_sentences(trace) else _("Every sentence is supported by its source.")


def _doubtful_sentences(trace: Trace) -> tuple[SentenceDescription, ...]:
    """Return the sentences without a source, then those with a weak one."""
    return tuple(
        describe_sentence(one)
        for strength in ("unsupported", "weak")
        for one in trace.sentences
        if one.strength == strength
    )


def describe_sentence(sentence: Support) -> SentenceDescription:
    """Describe the support of one sentence of the answer."""
    return SentenceDescription(STRENGTH_BADGES[sentence.strength], to_one_line(sentence.sentence), sentence.citations)


def describe_verdicts(trace: Trace, origin: Origin | None) -> tuple[PassageDescription, ...]:
    """Describe the passages of one origin that have a verdict, by rank."""
    found = trace.found.get(origin, ()) if origin else ()
    return tuple(_describe_passage(trace.passages[one], trace) for one in found if one in trace.verdicts)


def describe_strips(trace: Trace) -> tuple[PassageDescription, ...]:
    """Describe the passages that were cut into strips."""
    return tuple(_describe_passage(trace.passages[one], trace, cut) for one, cut in trace.strips.items())


def _describe_passage(passage: Passage, trace: Trace, cut: Sequence[Strip] = ()) -> PassageDescription:
    verdict = trace.verdicts.get(passage.id)
    return PassageDescription(
        id=passage.id,
        badge=verdict_badge(verdict),
        place=format_place(to_one_line(passage.title), to_one_line(passage.locator), locator_first=True),
        reason=to_one_line(translate_text(verdict.reason)) if verdict else "",
        text=to_one_line(passage.text),
        irrelevant=verdict is not None and verdict.word == "irrelevant",
        strips=tuple(Strip(to_one_line(strip.text), strip.score, strip.kept) for strip in cut),
    )


def describe_activity(trace: Trace) -> tuple[str, str]:
    """Return what a run is doing and its progress; the progress may contain the query."""
    if not trace.steps:
        return _("Getting ready"), ""
    return _(NODES[trace.steps[-1].node].activity), _progress(trace.steps[-1].node, trace)


def _progress(node: NodeName, trace: Trace) -> str:
    found = trace.found.get("library", ())
    match node:
        case "read_documents" | "list_matches" if trace.read:
            return _("{found} of {passages}").format(
                found=format_number(trace.read.read), passages=format_count(trace.read.of, "passage")
            )
        case "answer_parts" if trace.parts:
            return _("{count} done").format(count=len(trace.parts))
        case "grade_documents" if found:
            return format_done(sum(one in trace.verdicts for one in found), len(found))
        case "web_search" if trace.query_sent:
            return _("for {query}").format(query=_quote(trace.query_sent))
        case "generate" if trace.verdicts:
            usable = sum(verdict.word != "irrelevant" for verdict in trace.verdicts.values())
            return _("from {usable} of {passages}").format(
                usable=usable, passages=format_count(len(trace.verdicts), "passage")
            )
    return ""


def describe_duration(trace: Trace) -> str:
    """Return how long a run took and how it ended; empty until it ends."""
    if trace.seconds is None:
        return ""
    taken = format_duration(trace.seconds)
    return {
        "stopped": _("Stopped after {taken}").format(taken=taken),
        "failed": _("Failed after {taken}").format(taken=taken),
        "interrupted": _("Interrupted"),
    }.get(trace.state, _("{taken} in total").format(taken=taken))
