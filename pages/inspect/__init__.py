"""The page that lays runs open, and its parts."""
