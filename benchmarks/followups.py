"""Recall for follow-up questions with the built-in engine: `python -m benchmarks.followups FOLDER`.

FOLDER contains `corpus.jsonl` (id, title, text) and `conversations.jsonl`, whose turns have the `question` as asked, a
person's stand-alone `rewrite` and the `passage_id` that answers it. Each conversation is really held, so that each
question is understood after the answers of the engine. The rules were chosen on the first half of the conversations.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.grader_data import read_lines
from benchmarks.paragraph_library import open_paragraphs
from crag.app.application import Application
from crag.evaluation.statistics import Interval, bootstrap_interval, ratio_statistic
from crag.options import RunOptions
from crag.runs.trace import Trace

DEPTHS = (1, 4, 10)
_FORMS = ("as asked", "as understood", "both, as retrieved", "by a person")
_Found = dict[int, tuple[float, ...]]  # by depth, for each form 1 if the passage was found


def main(folder: Path) -> None:
    """Print a table for each half: recall of each form, and how far the application falls short of the person."""
    conversations = read_lines(folder / "conversations.jsonl")
    with open_paragraphs(folder) as (application, paragraphs):
        found = [_hold(application, paragraphs, one["turns"]) for one in conversations]
    half = len(found) // 2
    for name, some in (("chosen on", found[:half]), ("held back", found[half:])):
        _print(f"{name}, all questions", [turn for turns in some for turn in turns])
        _print(f"{name}, follow-ups", [turn for turns in some for turn in turns[1:]])


def _hold(application: Application, paragraphs: dict[str, str], turns: Sequence[dict[str, Any]]) -> list[_Found]:
    """Ask the questions in one conversation; return what was found for each."""
    conversation, found = application.conversations.create(), []
    for turn in turns:
        asked = turn["question"]
        run = application.runs.start(conversation.id, asked, RunOptions(model="builtin"))
        trace = Trace().apply_all(event for _, event in run.follow())
        if trace.state != "done":
            raise SystemExit(f"A run {trace.state}: {trace.error}")
        understood = trace.condensed or asked
        forms = (
            (asked, ""),
            (understood, ""),
            (understood, asked if asked != understood else ""),
            (turn["rewrite"], ""),
        )
        wanted = next(source for source, paragraph in paragraphs.items() if paragraph == turn["passage_id"])
        found.append({k: tuple(_finds(application, wanted, k, *form) for form in forms) for k in DEPTHS})
    return found


def _finds(application: Application, wanted: str, k: int, query: str, as_asked: str) -> float:
    """Return 1 if the document is among the first `k`, else 0."""
    passages = application.library.retriever.retrieve(query, RunOptions(k=k), as_asked=as_asked).passages
    return float(wanted in {passage.source_id for passage in passages})


def _print(title: str, found: Sequence[_Found]) -> None:
    columns = (*_FORMS, "short of a person")
    print(f"\n{title}, n = {len(found)}\n{'':10}" + "".join(f"{column:>24}" for column in columns))
    for depth in DEPTHS:
        rows = [turn[depth] for turn in found]
        figures = [_mean([row[form] for row in rows], (0.0, 1.0)) for form in range(len(_FORMS))]
        short = _mean([row[3] - row[2] for row in rows], (-1.0, 1.0))
        print(f"{f'recall@{depth}':10}" + "".join(f"{_show(figure):>24}" for figure in (*figures, short)))


def _mean(values: Sequence[float], bounds: tuple[float, float]) -> Interval:
    return bootstrap_interval(ratio_statistic(values, [1.0] * len(values)), len(values), bounds)


def _show(figure: Interval) -> str:
    return f"{figure.value:.3f} ({figure.low:.2f} to {figure.high:.2f})"


if __name__ == "__main__":
    main(Path(sys.argv[1]))
