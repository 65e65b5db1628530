"""Comparison of variants."""
