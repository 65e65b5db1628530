"""Runs in detail, coverage gaps, LangSmith traces."""
