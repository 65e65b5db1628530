"""One answer of an evaluation with the expected answer and the user's label."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from crag.evaluate import signs
from crag.evaluate.figures.metrics import METRICS
from crag.evaluate.figures.verdicts import AnswerVerdict
from crag.evaluate.figures.wording import value_in_words
from crag.evaluate.values import Evaluation, Result
from crag.inspection import badges
from crag.models.choice import model_label
from pages.evaluate import chosen, reading
from pages.parts import markdown, refusals, words
from pages.parts.resources import application

_WORDS = {True: ":material/check: Right", False: ":material/close: Wrong"}
_COSTS = ("seconds", "tokens")


def draw(evaluation: Evaluation, result: Result, verdict: AnswerVerdict) -> None:
    """Draw question, answer, expected answer, judgement and scores, with the label control and the link to the run."""
    name = f"{evaluation.id}-{result.variant}-{result.number}-{result.repetition}"
    st.markdown(f"**{markdown.label(result.example.question, 400)}**")
    st.markdown(" ".join(_badges(result, verdict)))
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        _draw_word(evaluation, result, name)
        st.button(
            "Lay open",
            icon=":material/account_tree:",
            key=f"lay-open-{name}",
            on_click=chosen.lay_open,
            args=(result.run_id,),
        )
    if result.error:
        st.markdown(f":red[:material/error:] {markdown.label(result.error, 600)}")
    if result.scored.answer:
        with st.container(border=True):
            st.markdown(markdown.answer(result.scored.answer), anchors=False)
    _draw_expected(result)
    _draw_judgement(result)
    if facts := _facts(result):
        st.caption(" · ".join(facts))


def _badges(result: Result, verdict: AnswerVerdict) -> list[str]:
    told = [words.badge(signs.VERDICTS[verdict])]
    if result.scored.action:
        told.append(f"{words.grey('decided')} {words.action_badge(result.scored.action)}")
    if result.scored.outcome and verdict != "refused":
        told.append(words.badge(badges.OUTCOMES[result.scored.outcome]))
    return told


def _draw_expected(result: Result) -> None:
    """Draw what the dataset says about the right answer."""
    example = result.example
    if example.answerable is False:
        st.markdown(":small[:gray[Right would be]] to say that the documents do not answer this")
    _draw_texts("Reference", example.references)
    _draw_texts("Must mention", example.must_mention)
    _draw_texts("Must not mention", example.must_not_mention)
    _draw_texts("Right passages hold", example.phrases)
    _draw_texts("Right passages are of", example.sources)
    if example.action:
        st.markdown(f":small[:gray[Right action]] {example.action}")
    if result.scored.steps:
        st.markdown(f":small[:gray[Steps]] {_steps(result.scored.steps)}")
    if example.steps and result.scored.scores.get("steps_match") == 0.0:
        st.markdown(f":small[:gray[Right steps]] {' :small[:gray[or]] '.join(map(_steps, example.steps))}")


def _steps(steps: Sequence[str]) -> str:
    return f":small[{markdown.label(' → '.join(steps), 400)}]"


def _draw_texts(name: str, texts: Sequence[str]) -> None:
    if texts:
        told = " :small[:gray[or]] ".join(markdown.label(text, 600) for text in texts)
        st.markdown(f":small[:gray[{name}]] {told}")


def _draw_judgement(result: Result) -> None:
    judged = result.judged
    if judged is None:
        return
    said = "could not be read" if judged.score is None else f"{judged.score:.2f}"
    model = markdown.label(model_label(judged.model), 60)
    st.markdown(f":small[:gray[Judge, {model}]] **{said}** {markdown.label(judged.reason, 600)}")


def _facts(result: Result) -> list[str]:
    """Return the scores of this answer, except costs, and its duration."""
    scores = {name: value for name, value in result.scored.scores.items() if name in METRICS and name not in _COSTS}
    told = [f"{METRICS[name].title} {value_in_words(name, value)}" for name, value in scores.items()]
    return [*told, words.duration(result.scored.seconds)] if result.state == "done" else told


def _draw_word(evaluation: Evaluation, result: Result, name: str) -> None:
    """Draw the control that labels the answer as right or wrong; a second click removes the label."""
    key = f"word-{name}"
    st.session_state[key] = result.label

    def take() -> None:
        with refusals.kept():
            application().evaluations.label(evaluation.id, result, st.session_state[key])
        reading.forget()

    st.segmented_control(
        "Your word on it",
        list(_WORDS),
        format_func=_WORDS.__getitem__,
        key=key,
        label_visibility="collapsed",
        on_change=take,
    )
