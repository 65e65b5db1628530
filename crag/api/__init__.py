"""HTTP API: what OpenAI's clients expect, and documents, runs and evaluations as resources."""
