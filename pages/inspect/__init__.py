"""The page Inspect."""
