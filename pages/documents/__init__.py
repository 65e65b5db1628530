"""The documents page and its parts."""
