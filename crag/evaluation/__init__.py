"""Datasets, evaluations, metrics and calibration."""
