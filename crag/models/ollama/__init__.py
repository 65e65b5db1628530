"""The Ollama server as something to look at and to run: its models, what is loaded, getting and removing them."""

from crag.models.ollama.reports import ModelReport

__all__ = ["ModelReport"]
