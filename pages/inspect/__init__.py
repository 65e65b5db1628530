"""Inspect page: list runs and show one in detail."""
