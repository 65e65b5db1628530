"""Measurements, run by hand: they print tables and assert nothing about time."""
