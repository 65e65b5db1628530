"""Likely queries sampled from the library's own passages, for measuring the recall of its index."""

from __future__ import annotations

import random
from collections.abc import Callable

from sqlalchemy import Connection, func, select

from crag.database import Database
from crag.database.tables import passages
from crag.language import words
from crag.protocols import Vectors

_SHORTEST, _LONGEST = 3, 8


def sample_questions(database: Database, embed: Callable[[str], Vectors], number: int) -> Vectors:
    """Embed a few consecutive content words from random passages as likely queries, to measure the index's recall.

    Raises `ModelFault`.
    """
    import numpy as np

    rng = random.Random(1)  # noqa: S311 — sampling, not security
    with database.read() as connection:
        texts = _draw_texts(connection, rng, number)
    return np.stack([embed(_some_words(text, rng)) for text in texts])


def _draw_texts(connection: Connection, rng: random.Random, number: int) -> list[str]:
    """Sample texts from the whole library. A passage after a gap in the ids is drawn more often, which is harmless."""
    highest = connection.scalar(select(func.max(passages.c.id))) or 0
    drawn = []
    for _ in range(number):
        following = select(passages.c.text).where(passages.c.id >= rng.randint(1, highest)).order_by(passages.c.id)
        drawn.append(connection.scalar(following.limit(1)) or "")
    return drawn


def _some_words(text: str, rng: random.Random) -> str:
    content_words = [word for word, _ in words(text)]
    length = rng.randint(_SHORTEST, _LONGEST)
    start = rng.randrange(max(1, len(content_words) - length))
    return " ".join(content_words[start : start + length]) or text
