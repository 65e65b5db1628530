"""Variants of evaluations beside each other."""
