"""Text without models: language, sanitizing, formatting, lexical features."""
