"""Runs: one execution of the graph for one question, with its event log and trace."""
