"""Graders and refiners of passages."""
