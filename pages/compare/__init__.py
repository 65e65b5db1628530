"""The page that lays two answers side by side, and its parts."""
