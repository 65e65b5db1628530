"""Calibration: where the scores of a grader turn into verdicts, measured on what a collection holds and lacks."""

from crag.calibration.background import Measuring
from crag.calibration.calibrator import Calibrator, Plan

__all__ = ["Calibrator", "Measuring", "Plan"]
