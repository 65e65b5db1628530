"""Start card of an evaluation: questions, options and cost."""
