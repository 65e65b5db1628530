"""File formats: what a file is, and its text, read in a child process."""
