"""Inspection: what runs came to, laid open: the path, the time, and what each node was given and gave."""
