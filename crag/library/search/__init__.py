"""Finding passages: candidates by words and by meaning, ranked by both."""
