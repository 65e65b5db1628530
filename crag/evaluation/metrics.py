"""Metrics of an evaluation: names, directions and wording, and the rules that call an answer right or wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from crag.evaluation.types import (
    ChangedExample,
    Cutoffs,
    Evaluation,
    EvaluationResult,
    EvaluationState,
    Figure,
    MetricDifference,
)
from crag.inspection.run_labels import Badge
from crag.text.formatting import format_count, format_duration, format_number
from crag.translation import _


@dataclass(frozen=True, slots=True)
class Metric:
    """Title, meaning and direction of one metric. Shares are in 0..1, or from `lowest` on."""

    name: str
    title: str
    meaning: str
    better: Literal["higher", "lower"] = "higher"
    unit: Literal["share", "seconds", "tokens"] = "share"
    lowest: float = 0.0


_METRICS = (
    Metric(
        "truthfulness",
        "Right minus wrong",
        "Right answers count +1, wrong ones −1, declined ones 0. Declining what cannot be answered is right.",
        lowest=-1.0,
    ),
    Metric(
        "answer_right",
        "Right answers",
        "Share of right answers: as rated by a person, else by the judge or by comparing texts.",
    ),
    Metric("steps_match", "Expected steps", "The steps taken match one of the accepted lists."),
    Metric("route_match", "Expected kind", "The question was answered as the expected kind, such as a list."),
    Metric("refusal_right", "Correctly answered or declined", "Answered what can be answered and declined the rest."),
    Metric("answered", "Answered", "Share of answerable questions that were answered."),
    Metric("refused", "Declined", "Share of unanswerable questions that were declined."),
    Metric(
        "contained",
        "Expected answer found",
        "The answer contains an expected answer, ignoring case and punctuation; a date in any notation.",
    ),
    Metric(
        "token_f1", "Word overlap", "Words shared with the nearest expected answer (token F1; SQuAD, arXiv 1606.05250)."
    ),
    Metric("mentions", "Must mention", "Share of required phrases that are in the answer."),
    Metric("avoids", "Must not mention", "The answer contains none of the forbidden phrases."),
    Metric("judged", "By the judge", "The score from the judge model."),
    Metric("recall", "Expected passages found", "Share of the expected passages that were found (retrieval recall)."),
    Metric(
        "reciprocal_rank",
        "Expected passage near the top",
        "1 / rank of the first expected passage; 0 if none was found (mean reciprocal rank, MRR).",
    ),
    Metric(
        "grader_precision",
        "Rightly graded relevant",
        "Share of the passages graded relevant that are expected (precision).",
    ),
    Metric(
        "grader_recall",
        "Expected passages recognized",
        "Share of the expected passages found that were graded relevant (recall).",
    ),
    Metric(
        "grader_auc",
        "Expected passages score higher",
        "How often an expected passage scores above another; 50% is chance (AUC).",
    ),
    Metric("action_match", "Expected decision", "The decision is the expected one."),
    Metric("supported", "Sentences supported", "Share of the citing sentences that their source supports."),
    Metric("cited", "Cites an expected passage", "The answer cites at least one expected passage."),
    Metric("seconds", "Time", "From question to answer.", better="lower", unit="seconds"),
    Metric("tokens", "Tokens", "Read and written by models per answer.", better="lower", unit="tokens"),
)
METRICS: dict[str, Metric] = {metric.name: metric for metric in _METRICS}
HEADLINE_METRICS = ("truthfulness", "answer_right", "steps_match", "recall", "seconds")


AnswerVerdict = Literal["right", "wrong", "refused", "failed", "unknown"]


def is_answer_right(result: EvaluationResult, cutoffs: Cutoffs) -> bool | None:
    """Return whether an answer is right: as a user labelled it, else by the judge, else by comparing texts.

    None if it has no label and no right answer is known. A failed answer is wrong, and so is a refused one without a
    label.
    """
    if result.is_labelled:
        return result.label
    if not result.example.has_known_answer:
        return None
    if result.state != "done" or result.scored.outcome == "not_answered":
        return False
    if result.judged and result.judged.score is not None:
        return result.judged.score >= cutoffs.judge
    return (result.scored.text_score or 0.0) >= cutoffs.text


def answer_verdict(result: EvaluationResult, cutoffs: Cutoffs) -> AnswerVerdict:
    """Return the verdict on one answer; `refused` is a wrong refusal, or one that cannot be judged."""
    if result.state != "done":
        return "failed"
    if result.is_labelled:
        return "right" if result.label else "wrong"
    can_be_answered = result.example.can_be_answered
    if result.scored.outcome == "not_answered":
        return "right" if can_be_answered is False else "refused"
    is_right = is_answer_right(result, cutoffs)
    if is_right is None:
        return "wrong" if can_be_answered is False else "unknown"
    return "right" if is_right else "wrong"


def score_truthfulness(result: EvaluationResult, cutoffs: Cutoffs) -> int | None:
    """Return 1 for a right answer, −1 for a wrong one and 0 for none, as the KDD-Cup benchmark CRAG counts.

    Declining what cannot be answered is right; a failed run says nothing, so it counts 0. None if no answer to the
    question could be called both right and wrong (arXiv 2406.04744).
    """
    example = result.example
    if not (result.is_labelled or example.has_known_answer or example.answerable is False):
        return None
    verdict = answer_verdict(result, cutoffs)
    if verdict == "right":
        return 1
    return -1 if verdict == "wrong" and result.scored.outcome != "not_answered" else 0


DIFFERENT_JUDGES_NOTE = "Different models judged these evaluations, so texts are compared instead."
ChangeAssessment = Literal["better", "worse", "no clear difference"]


def format_metric_value(metric: str, value: float) -> str:
    """Format a value in the unit of its metric: 84.2%, 1.9 s, 1,284."""
    match METRICS[metric].unit:
        case "seconds":
            return format_duration(value)
        case "tokens":
            return f"{value:,.0f}"
    return f"{value:.1%}".replace("-", "−")


def format_interval(figure: Figure) -> str:
    """Format the interval alone: 71.4%–93.1%, or −3.1% to 9.2%; empty where both ends read the same."""
    low, high = (format_metric_value(figure.metric, end) for end in (figure.low, figure.high))
    if low == high:
        return ""
    return _("{low} to {high}").format(low=low, high=high) if figure.low < 0 else f"{low}–{high}"


def format_figure_briefly(figure: Figure) -> str:
    """Format a figure for a narrow cell: 84.2%  71.4%–93.1%, n = 38."""
    facts = filter(None, (format_interval(figure), f"n = {figure.n:,}"))
    return f"{format_metric_value(figure.metric, figure.value)}  {', '.join(facts)}"


def format_figure(figure: Figure) -> str:
    """Format a figure with its interval: 84.2% (95%: 71.4%–93.1%, n=38)."""
    interval = format_interval(figure)
    within = f"95%: {interval}, " if interval else ""
    return f"{format_metric_value(figure.metric, figure.value)} ({within}n={figure.n:,})"


def format_change(difference: MetricDifference) -> str:
    """Format a change with its sign; shares in percentage points, such as +3.1 points."""
    return _format_signed(difference.metric, difference.after - difference.before)


def format_change_interval(difference: MetricDifference, *, with_unit: bool = True) -> str:
    """Format the interval of a change: −1.0 to +7.2 points."""
    metric, ends = difference.metric, (difference.low, difference.high)
    is_share = METRICS[metric].unit == "share"
    low, high = map(_format_points, ends) if is_share else (_format_signed(metric, end) for end in ends)
    interval = _("{low} to {high}").format(low=low, high=high)
    return _("{value} points").format(value=interval) if is_share and with_unit else interval


def assess_change(difference: MetricDifference) -> ChangeAssessment:
    """Return whether a change is an improvement; it is clear only if its interval excludes 0."""
    if not difference.is_clear:
        return "no clear difference"
    more = difference.after > difference.before
    return "better" if more == (METRICS[difference.metric].better == "higher") else "worse"


def format_score_change(changed: ChangedExample) -> str:
    """Format the mean score of a question then and now: +1 → −0.5."""
    before, after = (f"{_sign_of(score) if score else ''}{abs(score):.2g}" for score in (changed.before, changed.after))
    return f"{before} → {after}"


def format_labelled(labelled: int) -> str:
    """Format how many answers count as a person rated them: 3 rated by a person."""
    return _("{labelled} rated by a person").format(labelled=format_number(labelled))


def format_progress(evaluation: Evaluation) -> str:
    """Format the progress of an evaluation: 120 of 800 answers, 3 failed."""
    failed = _(", {failed} failed").format(failed=format_number(evaluation.failed)) if evaluation.failed else ""
    done, answers = format_number(evaluation.done), format_count(evaluation.total, "answer")
    return _("{done} of {answers}").format(done=done, answers=answers) + failed


def _format_signed(metric: str, value: float) -> str:
    if METRICS[metric].unit == "share":
        return _("{value} points").format(value=_format_points(value))
    return f"{_sign_of(value)}{format_metric_value(metric, abs(value)) if value else '0'}"


def _format_points(value: float) -> str:
    decimals = 2 if 0 < abs(value) < 0.0005 else 1  # keep the sign of a bound close to 0 visible
    return f"{_sign_of(round(value, decimals + 2))}{abs(100 * value):.{decimals}f}"


def _sign_of(value: float) -> str:
    return "+" if value > 0 else "−" if value < 0 else "±"


STATE_BADGES: dict[EvaluationState, Badge] = {
    "queued": Badge("gray", "schedule", "queued"),
    "running": Badge("blue", "pending", "running"),
    "stopped": Badge("gray", "stop_circle", "stopped"),
    "failed": Badge("red", "error", "failed"),
    "interrupted": Badge("gray", "stop_circle", "interrupted"),
    "done": Badge("green", "check", "done"),
}
VERDICT_BADGES: dict[AnswerVerdict, Badge] = {
    "right": Badge("green", "check_circle", "right"),
    "wrong": Badge("red", "cancel", "wrong"),
    "refused": Badge("orange", "block", "declined"),
    "failed": Badge("red", "error", "failed"),
    "unknown": Badge("gray", "help", "not known"),
}
