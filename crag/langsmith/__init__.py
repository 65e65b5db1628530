"""LangSmith, another service: an account there, the one guarded way to it, and traces of answers. Off by itself."""
