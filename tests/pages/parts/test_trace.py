"""Labels of the steps of a trace."""

from __future__ import annotations

import pytest

from crag.inspection.steps import StepDescription
from pages.parts.trace import step_label


@pytest.mark.parametrize("comparison", ["0.94 ≥ 0.59", "0.06 < 0.31"])
def test_a_comparison_stays_on_one_line(comparison):
    label = step_label(StepDescription("decide", "Decide", "done", "check", summary=f"best {comparison}"))
    assert f"best {comparison}".replace(" ", "\u00a0") in label.replace("\\", "")
