"""Registry of graders: how each is opened, and the rule that chooses one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import Literal

from crag.errors import BadRequest
from crag.options import GRADERS, GraderKind
from crag.protocols import Assessor, ChatModel, Embedder, Evaluator, Grader, Refiner
from crag.text.questions import TermStatistics

BUILTIN: Literal["builtin"] = "builtin"
EVALUATOR: Literal["evaluator"] = "evaluator"
# A cascade leaves the action to the model, for one round of one-token calls. The cost: relevant passages that the
# built-in, trained grader rejects with high confidence (measured in docs/measurements.md).
AUTO_GRADER: GraderKind = "cascade"


@dataclass(frozen=True, slots=True)
class GraderResources:
    """What graders are made from.

    `embedder` is the built-in one, because the built-in coefficients are valid for its vectors only, even if the
    library uses another embedder. `model` is None for graders that ask no language model. `cached` wraps a grader that
    asks the model; built-in verdicts are not cached, since they are cheap and change with the words of the library, and
    an evaluator caches its scores itself. `evaluator` is None where there is none.
    """

    embedder: Embedder
    statistics: TermStatistics
    model: ChatModel | None
    cached: Callable[[Grader], Grader]
    evaluator: Evaluator | None = None


GraderFactory = Callable[[GraderResources], tuple[Grader, Refiner]]


def _open_builtin(resources: GraderResources) -> tuple[Grader, Refiner]:
    from crag.grading.builtin import BuiltinGrader
    from crag.grading.refiners import BuiltinRefiner

    made_from = resources.embedder, resources.statistics
    return BuiltinGrader(*made_from), BuiltinRefiner(*made_from)


def _open_evaluator(resources: GraderResources) -> tuple[Grader, Refiner]:
    from crag.grading.evaluator import EvaluatorGrader, EvaluatorRefiner

    if resources.evaluator is None:
        raise _no_evaluator()
    grader, refiner = _open_builtin(resources)  # for questions in languages that the evaluator does not read
    return EvaluatorGrader(resources.evaluator, grader), EvaluatorRefiner(resources.evaluator, refiner)


def open_first_grader(resources: GraderResources) -> tuple[Grader, Refiner]:
    """Open the grader that costs no tokens, and its refiner: the evaluator if there is one, else the built-in one."""
    return (_open_evaluator if resources.evaluator else _open_builtin)(resources)


def _no_evaluator() -> BadRequest:
    return BadRequest(
        "This grader needs an evaluator, but there is none on this machine.",
        "Download one in Settings, or choose another grader.",
    )


def _open_cascade(resources: GraderResources) -> tuple[Grader, Refiner]:
    """Open the grader that costs no tokens in front of the one-token score; the former's refiner scores strips."""
    from crag.grading.composites import CascadeGrader

    first, refiner = open_first_grader(resources)
    return CascadeGrader(first, GRADER_FACTORIES["score"](resources)[0]), refiner


def open_assessor(grader: Grader, resources: GraderResources) -> Assessor:
    """Open what grades with this grader and judges sufficiency: by the language model that grades, else by words."""
    from crag.grading.builtin_judge import BuiltinJudge
    from crag.grading.composites import CascadeAssessor, CascadeGrader
    from crag.grading.sufficiency import ModelJudge, SeparateAssessor

    if resources.model is None:
        return SeparateAssessor(grader, BuiltinJudge(resources.embedder, resources.statistics))
    _, refiner = open_first_grader(resources)
    judge = ModelJudge(resources.model, refiner)
    if isinstance(grader, CascadeGrader):
        return CascadeAssessor(grader, judge, refiner)
    return SeparateAssessor(grader, judge)


def _model_grader(grader: str, refiner: str) -> GraderFactory:
    """Return the factory of a grader that asks the model; both arguments are `module:class` in this package."""

    def open_grader(resources: GraderResources) -> tuple[Grader, Refiner]:
        make_grader, make_refiner = (resolve_name(f"{__package__}.{name}") for name in (grader, refiner))
        return resources.cached(make_grader(resources.model)), make_refiner(resources.model)

    return open_grader


# The factory by kind, of a grader and the refiner that scores strips the same way. Labels are in `crag.options`.
GRADER_FACTORIES: dict[GraderKind, GraderFactory] = {
    BUILTIN: _open_builtin,
    EVALUATOR: _open_evaluator,
    "score": _model_grader("score:ScoreGrader", "refiners:ScoreRefiner"),
    "explained": _model_grader("explained:ExplainedGrader", "refiners:ExplainedRefiner"),
    "listwise": _model_grader("listwise:ListwiseGrader", "refiners:ListwiseRefiner"),
    "cascade": _open_cascade,
    "binary": _model_grader("binary:BinaryGrader", "refiners:ExplainedRefiner"),
    "json": _model_grader("binary:JsonModeGrader", "refiners:ExplainedRefiner"),
}


def choose_grader(
    kind: GraderKind, *models: str, has_evaluator: bool = False, may_fall_back: bool = False
) -> tuple[GraderKind, str]:
    """Choose the grader and its model: the first named one of `models` that this grader can use.

    Under `auto` a language model grades as `AUTO_GRADER`; where the built-in engine answers, the evaluator grades, or
    the built-in grader if there is none. If the grader needs a language model or an evaluator and there is none, the
    built-in grader replaces it, if it `may_fall_back`; otherwise `BadRequest` is raised.
    """
    named = [model for model in models if model]
    if kind == "auto" and named[0] != BUILTIN:
        kind = AUTO_GRADER
    elif kind == "auto":
        kind = EVALUATOR if has_evaluator else BUILTIN
    if kind == EVALUATOR and not has_evaluator:
        if may_fall_back:
            return BUILTIN, BUILTIN
        raise _no_evaluator()
    if not GRADERS[kind].asks_model:
        return kind, BUILTIN
    model = next((name for name in named if name != BUILTIN), None)
    if model is None and may_fall_back:
        return BUILTIN, BUILTIN
    if model is None:
        raise BadRequest(
            "This grader needs a language model, but only the built-in engine is available.",
            "Choose a model to grade with, or the built-in grader.",
        )
    return kind, model
