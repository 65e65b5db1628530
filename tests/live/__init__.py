"""Against a real Ollama server, whatever its models are called: the shape of what it says, never its quality."""
