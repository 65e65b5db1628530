"""Registry of graders: how each is opened, and the rule that chooses one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import Literal

from crag.errors import BadRequest
from crag.options import GRADERS, GraderKind
from crag.protocols import ChatModel, Embedder, Grader, Refiner
from crag.text.questions import TermStatistics

BUILTIN: Literal["builtin"] = "builtin"
# A cascade leaves the action to the model, for one or two calls instead of one per passage. The cost: relevant passages
# that the built-in, trained grader rejects with high confidence (measured in docs/measurements.md).
AUTO_GRADER: GraderKind = "cascade"


@dataclass(frozen=True, slots=True)
class GraderResources:
    """What graders are made from.

    `embedder` is the built-in one, because the built-in coefficients are valid for its vectors only, even if the
    library uses another embedder. `model` is None for the built-in grader. `cached` wraps a grader that asks the model;
    built-in verdicts are not cached, since they are cheap and change with the words of the library.
    """

    embedder: Embedder
    statistics: TermStatistics
    model: ChatModel | None
    cached: Callable[[Grader], Grader]


GraderFactory = Callable[[GraderResources], tuple[Grader, Refiner]]


def _open_builtin(resources: GraderResources) -> tuple[Grader, Refiner]:
    from crag.grading.builtin import BuiltinGrader
    from crag.grading.refiners import BuiltinRefiner

    made_from = resources.embedder, resources.statistics
    return BuiltinGrader(*made_from), BuiltinRefiner(*made_from)


def _open_cascade(resources: GraderResources) -> tuple[Grader, Refiner]:
    """Open the built-in grader in front of the one-token score; strips are scored by the built-in one."""
    from crag.grading.composites import CascadeGrader

    builtin, refiner = _open_builtin(resources)
    return CascadeGrader(builtin, GRADER_FACTORIES["score"](resources)[0]), refiner


def _model_grader(grader: str, refiner: str) -> GraderFactory:
    """Return the factory of a grader that asks the model; both arguments are `module:class` in this package."""

    def open_grader(resources: GraderResources) -> tuple[Grader, Refiner]:
        make_grader, make_refiner = (resolve_name(f"{__package__}.{name}") for name in (grader, refiner))
        return resources.cached(make_grader(resources.model)), make_refiner(resources.model)

    return open_grader


# The factory by kind, of a grader and the refiner that scores strips the same way. Labels are in `crag.options`.
GRADER_FACTORIES: dict[GraderKind, GraderFactory] = {
    BUILTIN: _open_builtin,
    "score": _model_grader("score:ScoreGrader", "refiners:ScoreRefiner"),
    "explained": _model_grader("explained:ExplainedGrader", "refiners:ExplainedRefiner"),
    "listwise": _model_grader("listwise:ListwiseGrader", "refiners:ListwiseRefiner"),
    "cascade": _open_cascade,
}


def choose_grader(kind: GraderKind, *models: str) -> tuple[GraderKind, str]:
    """Choose the grader and its model: the first named one of `models` that this grader can use.

    Under `auto` the built-in engine grades by itself, and a language model grades as `AUTO_GRADER`. Raises `BadRequest`
    if the grader asks a language model and none is named.
    """
    named = [model for model in models if model]
    if kind == "auto":
        kind = BUILTIN if named[0] == BUILTIN else AUTO_GRADER
    if not GRADERS[kind].asks_model:
        return kind, BUILTIN
    model = next((name for name in named if name != BUILTIN), None)
    if model is None:
        raise BadRequest(
            "This grader needs a language model, but only the built-in engine is available.",
            "Choose a model to grade with, or the built-in grader.",
        )
    return kind, model
