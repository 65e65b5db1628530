"""The metrics of answers, each under the name it has in results, tables and exports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Metric:
    """Title, meaning and direction of one metric. Shares are in 0..1."""

    name: str
    title: str
    meaning: str
    better: Literal["higher", "lower"] = "higher"
    unit: Literal["share", "seconds", "tokens"] = "share"


_METRICS = (
    Metric(
        "answer_right", "Right answers", "By the judge, else by comparing texts, of questions whose answer is known."
    ),
    Metric("steps_match", "Right steps", "The steps taken are exactly one of those that are accepted."),
    Metric("refusal_right", "Answered or refused rightly", "Answered what can be answered, refused what cannot."),
    Metric("answered", "Answered", "Of the questions that can be answered, those that were not refused."),
    Metric("refused", "Refused", "Of the questions that cannot be answered, those that were refused."),
    Metric("contained", "Reference in the answer", "The answer holds one of the references, case and marks aside."),
    Metric(
        "token_f1", "Token F1", "How many words an answer shares with the nearest reference (SQuAD, arXiv 1606.05250)."
    ),
    Metric("mentions", "Must mention", "The share of the phrases that must be in the answer and are."),
    Metric("avoids", "Must not mention", "None of the phrases that must not be in the answer is."),
    Metric("judged", "By the judge", "How right the judge model finds the answer."),
    Metric("recall", "Retrieval recall", "The share of the right passages that were found."),
    Metric("reciprocal_rank", "Retrieval MRR", "1 / the place of the first right passage; 0 where none was found."),
    Metric("grader_precision", "Grader precision", "Of the passages graded relevant, those that are right ones."),
    Metric("grader_recall", "Grader recall", "Of the right passages that were found, those graded relevant."),
    Metric("grader_auc", "Grader AUC", "How often a right passage scores above a wrong one; 0.5 is chance."),
    Metric("action_match", "Right action", "The action is the expected one."),
    Metric("supported", "Sentences supported", "Of the sentences that cite, those that their source carries."),
    Metric("cited", "Cites a right passage", "The answer cites at least one of the right passages."),
    Metric("seconds", "Time", "From question to answer.", better="lower", unit="seconds"),
    Metric("tokens", "Tokens", "Read and written by models for one answer.", better="lower", unit="tokens"),
)
METRICS: dict[str, Metric] = {metric.name: metric for metric in _METRICS}
HEADLINE = ("answer_right", "steps_match", "refusal_right", "recall", "seconds")  # shown in rankings of variants
