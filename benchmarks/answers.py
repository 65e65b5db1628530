"""Answers of the built-in engine with and without refinement: `python -m benchmarks.answers FOLDER`.

Every paragraph of a set is a separate document, as in `benchmarks/retrieval.py`. The questions are: of squad_a, every
second answerable one (the 400 at the odd positions 1, 3, …, 799 of 800, counted from 0 in file order) and all 200
unanswerable ones; of korquad_a and drcd_a, all 300. Thresholds are the defaults of the grader; web search is off.
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.grader_data import read_lines
from benchmarks.paragraph_library import open_paragraphs
from crag.app.application import Application
from crag.evaluation.scorers import answer_text
from crag.graph.citations import cited_numbers
from crag.options import RunOptions
from crag.runs.trace import Trace
from crag.text.citation_marks import strip_bold

SETS = ("squad_a", "korquad_a", "drcd_a")


@dataclass(frozen=True, slots=True)
class Outcome:
    """Outcome of one question; `holding` of the `cited` sentences contain a gold answer."""

    action: str
    refused: bool
    holds: bool
    cited: int
    holding: int


def main(folder: Path) -> None:
    """Print a line for each set, kind of question and setting."""
    columns = ("n", "holds gold", "of answered", "cited hold", "refused", "correct", "ambiguous", "incorrect")
    print(f"{'':34}" + "".join(f"{name:>12}" for name in columns))
    for name in SETS:
        questions = read_lines(folder / name / "questions.jsonl")
        answerable = [row for row in questions if row.get("answerable", True)]
        asked = {
            "answerable": answerable[1::2] if name == "squad_a" else answerable,
            "unanswerable": [row for row in questions if not row.get("answerable", True)],
        }
        _measure(folder / name, asked)


def _measure(data_set: Path, asked: dict[str, list[dict[str, Any]]]) -> None:
    with open_paragraphs(data_set) as (application, _):
        for kind, questions in asked.items():
            for refine in (True, False):
                outcomes = [_ask(application, row, refine=refine) for row in questions]
                if outcomes:
                    _print(f"{data_set.name} {kind}, refine {'on' if refine else 'off'}", outcomes)


def _ask(application: Application, row: dict[str, Any], *, refine: bool) -> Outcome:
    run = application.runs.start(None, row["question"], RunOptions(model="builtin", refine=refine))
    trace = Trace().apply_all(event for _, event in run.follow())
    if trace.state != "done":
        raise SystemExit(f"A run {trace.state}: {trace.error}")
    refused = trace.outcome == "not_answered"
    cited = [] if refused else [one.sentence for one in trace.sentences if cited_numbers(one.sentence)]
    holding = sum(_contains_any(strip_bold(sentence), row["answers"]) for sentence in cited)
    holds = _contains_any(answer_text(trace), row["answers"])
    return Outcome(trace.action or "", refused, holds, len(cited), holding)


def _contains_any(text: str, answers: list[str]) -> bool:
    flat = " ".join(text.split()).casefold()
    return any(" ".join(answer.split()).casefold() in flat for answer in answers)


def _print(label: str, outcomes: list[Outcome]) -> None:
    actions = Counter(one.action for one in outcomes)
    answered = [one for one in outcomes if not one.refused]
    cited = sum(one.cited for one in answered)
    shares = (
        sum(one.holds for one in outcomes) / len(outcomes),
        sum(one.holds for one in answered) / max(1, len(answered)),
        sum(one.holding for one in answered) / max(1, cited),
        1 - len(answered) / len(outcomes),
        *(actions[action] / len(outcomes) for action in ("correct", "ambiguous", "incorrect")),
    )
    print(f"{label:34}{len(outcomes):>12}" + "".join(f"{share:>12.3f}" for share in shares), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
