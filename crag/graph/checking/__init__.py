"""How far an answer is carried by what it rests on: citations, sentences, and what words alone do not show."""
