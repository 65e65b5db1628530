"""The page to try retrieval on, and its parts."""
