"""The page Coverage gaps."""
