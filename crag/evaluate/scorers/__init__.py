"""Scorers: what a finished run is worth, one file for each kind of thing that is known of an example."""
