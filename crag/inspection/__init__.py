"""Inspection of finished runs: results, path, timing, the inputs and outputs of each node."""
