"""Registry of graders: the grader kinds and the rule that chooses one."""

from __future__ import annotations

from crag.errors import BadRequest
from crag.options import GraderKind

BUILTIN = "builtin"
# A cascade leaves the action to the model, for one or two calls instead of one per passage. The cost: relevant passages
# that the built-in, trained grader rejects with high confidence (measured in docs/measurements.md).
AUTO_GRADER: GraderKind = "cascade"


def choose_grader(kind: GraderKind, *models: str) -> tuple[GraderKind, str]:
    """Choose the grader and its model: the first named one of `models` that this grader can use.

    Under `auto` the built-in engine grades by itself, and a language model grades as `AUTO_GRADER`. Raises `BadRequest`
    if the grader needs a language model and none is named.
    """
    named = [model for model in models if model]
    if kind == "builtin" or (kind == "auto" and named[0] == BUILTIN):
        return "builtin", BUILTIN
    model = next((name for name in named if name != BUILTIN), None)
    if model is None:
        raise BadRequest(
            "This grader needs a language model, and the built-in engine is none.",
            "Choose a model to grade with, or the built-in grader.",
        )
    return (AUTO_GRADER if kind == "auto" else kind), model
