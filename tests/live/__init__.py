"""Against a real Ollama server with any models: the shape of its replies, never their quality."""
