"""Expected cost of an evaluation and the data it sends elsewhere, shown before it starts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import streamlit as st

from crag.amounts import duration
from crag.errors import CragError
from crag.evaluate.values import Plan
from crag.options import RunOptions
from pages.evaluate import judging
from pages.parts import away, markdown, words
from pages.parts.person import person
from pages.parts.resources import answering, application

_LOOKED_AT = 30


@dataclass(frozen=True, slots=True)
class Departure:
    """Data sent to another machine: a description, the host, and the model that must first be allowed, if any."""

    what: str
    host: str
    forbidden: str = ""


def draw(plan: Plan) -> list[str]:
    """Draw cost and outbound data; return the models that must be allowed before the evaluation can start."""
    departures = list(dict.fromkeys(_departures(plan)))
    st.markdown(f"{_amount(plan)}{words.grey(_time(plan))}")
    if not departures:
        st.caption(":material/lock: Nothing leaves this machine.")
    for one in departures:
        st.markdown(f":orange[{away.ICON}] {one.what} to **{markdown.label(one.host, 60)}**.")
    return [one.forbidden for one in departures if one.forbidden]


def _amount(plan: Plan) -> str:
    """Return the number of answers, such as 5 questions × 3 repetitions: 15 answers."""
    questions, variants = len(plan.dataset.examples), len(plan.variants)
    parts = [words.count(questions, "question")]
    parts += [words.count(variants, "setting")] if variants > 1 else []
    parts += [words.count(plan.repetitions, "repetition")] if plan.repetitions > 1 else []
    total = questions * variants * plan.repetitions
    return f"{' × '.join(parts)}: **{words.count(total, 'answer')}**" if len(parts) > 1 else f"**{parts[0]}**"


def _time(plan: Plan) -> str:
    """Estimate the duration from the seconds per answer of the last evaluation with the same model; empty if none."""
    model = answering(plan.variants[0].options)
    for past in application().evaluations.list(person(), _LOOKED_AT):
        if past.state == "done" and past.done and answering(past.variants[0].options) == model:
            total = len(plan.dataset.examples) * len(plan.variants) * plan.repetitions
            return f" about {duration(past.seconds / past.done * total)}, as fast as the last one with this model"
    return ""


def _departures(plan: Plan) -> Iterable[Departure]:
    options = [variant.options for variant in plan.variants]
    if any(one.web == "auto" for one in options):
        yield Departure("Questions that the documents do not answer are rewritten, and go", "Tavily")
    if host := application().environments.embedding_host():
        yield Departure("To find passages, questions go", host)
    if application().traces.on:
        yield Departure("The trace of each answer goes", application().uploads.host)
    yield from _models(options)
    if host := away.of_model(plan.judge):
        yield _departure(judging.WHAT_GOES, plan.judge, host)


def _models(options: Sequence[RunOptions]) -> Iterable[Departure]:
    """Yield a notice for each remote model that answers, grades or rewrites."""
    for one in options:
        try:
            cast = application().engines.cast(answering(one), one)
        except CragError:  # no answer is possible with these options; each question will report it
            continue
        for role in (cast.answering, cast.grading, cast.rewriting):
            if host := away.of_model(role.model):
                yield _departure("Questions and the passages that are found go", role.model, host)


def _departure(what: str, model: str, host: str) -> Departure:
    allowed = application().engines.may_send(model, host)
    return Departure(what, host, "" if allowed else model)
