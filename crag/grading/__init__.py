"""Judges passages and cuts them into strips: by the built-in scorer, or by a language model that explains itself."""
