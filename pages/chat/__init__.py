"""The chat page and its parts."""
