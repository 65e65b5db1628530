"""Calibration: thresholds of a grader, measured on questions that a collection does and does not answer."""

from crag.calibration.background import Measuring
from crag.calibration.calibrator import Calibrator, Plan

__all__ = ["Calibrator", "Measuring", "Plan"]
