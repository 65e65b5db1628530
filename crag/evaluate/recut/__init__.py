"""Documents cut to other passage sizes, each in a library of its own beside that of the home."""
