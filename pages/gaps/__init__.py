"""What the documents do not cover, and what would fill it."""
