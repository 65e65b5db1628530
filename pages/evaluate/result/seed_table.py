"""Right answers and right steps of each question, as in the table at the end of the LangGraph notebook."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import streamlit as st

from crag.evaluate.figures.verdicts import right
from crag.evaluate.values import Evaluation, Result
from pages.evaluate import reading
from pages.parts import markdown


def draw(evaluation: Evaluation, variant: int) -> None:
    """Draw a row for each question and one for the total."""
    st.header("Question by question, as the notebook counts", anchor=False)
    of_question: dict[str, list[Result]] = defaultdict(list)
    results = reading.results(evaluation, variant)
    for result in results:
        of_question[result.example.question].append(result)
    cutoffs = reading.cutoffs()

    rows = [*of_question.values(), list(results)]
    st.table(
        {
            "Question": [*(markdown.label(question, 160) for question in of_question), "**All**"],
            "Right answers": [_counted(right(one, cutoffs) for one in given) for given in rows],
            "Right steps": [_counted(_steps_right(one) for one in given) for given in rows],
        },
        border="horizontal",
        hide_index=True,
        alt="Right answers and right steps of each question",
    )


def _steps_right(result: Result) -> bool | None:
    matched = result.scored.scores.get("steps_match")
    return None if matched is None else matched == 1.0


def _counted(said: Iterable[bool | None]) -> str:
    known = [one for one in said if one is not None]
    return f"{sum(known)} of {len(known)}" if known else "not known"
