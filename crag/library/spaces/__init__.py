"""Embedding spaces: which one answers, switching to another beside it, going back."""
