"""The page Notes."""
