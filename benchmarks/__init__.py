"""Benchmarks, run by hand: they print tables and assert no time limits."""
