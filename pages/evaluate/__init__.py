"""Evaluate page: run datasets through options, show figures and compare them."""
