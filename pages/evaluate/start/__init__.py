"""The card that begins an evaluation: questions, settings, and what it takes."""
