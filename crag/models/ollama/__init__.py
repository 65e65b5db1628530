"""The Ollama server as something to look at and to run: its models, what is loaded, getting and removing them."""
