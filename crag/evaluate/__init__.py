"""Evaluation: datasets, runs of them under several settings, scorers, comparison, reports."""
