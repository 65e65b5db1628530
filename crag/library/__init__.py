"""The library of documents as the rest of the application sees it."""
