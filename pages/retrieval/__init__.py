"""The page Retrieval."""
