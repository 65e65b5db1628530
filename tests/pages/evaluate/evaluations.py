"""Evaluations, and the page Evaluate on them."""

from __future__ import annotations

from crag.evaluation.types import EvaluationPlan, Variant
from crag.options import RunOptions

PAGE = "pages/evaluate/page.py"
BASE = RunOptions(model="builtin")


def finished(services, dataset, *tried, **changes):
    """An evaluation that is done, by default of one variant."""
    begun = services.evaluations.begin(EvaluationPlan(dataset, tried or [Variant("", BASE)], **changes))
    return services.evaluations.wait(begun.id)


def opened(chat, evaluation=None):
    """The overview, or one evaluation."""
    chat.switch_page(PAGE)
    if evaluation:
        chat.query_params["evaluation"] = evaluation.id
    chat.run()
    assert not chat.exception
    return chat
