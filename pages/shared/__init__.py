"""The page Shared conversation."""
