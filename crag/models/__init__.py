"""What writes and what embeds: chat models, embedders, the Ollama server, the built-in engine, and the choice."""
