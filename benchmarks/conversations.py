"""Processor time of the conversation list: `python -m benchmarks.conversations [COUNT ...]`."""

from __future__ import annotations

import random
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from sqlalchemy import insert

from crag.conversations.conversations import Conversations
from crag.storage.engine import Database
from crag.storage.tables import conversations, messages

_WORDS = [
    "espresso",
    "machine",
    "kitchen",
    "descaled",
    "weeks",
    "acid",
    "trace",
    "fragment",
    "loop",
    "bridge",
    "river",
    "council",
    "report",
    "motor",
    "Größe",
]
_TIMES, _SHOWN, _MESSAGES = 15, 50, 10
_SEARCHES = ("", "zebra", "espresso", "größe", "nowhere")


def main(sizes: list[int]) -> None:
    """Print a row for each number of conversations and each search."""
    for size in sizes:
        with tempfile.TemporaryDirectory() as home:
            database = Database(Path(home))
            _fill(database, size)
            for search in _SEARCHES:
                seconds, found = _measure(Conversations(database).for_user("somebody"), search)
                print(f"{size:6,} conversations, “{search}”: {1000 * seconds:.1f} ms, {found:,} found")
            database.close()


def _fill(database: Database, size: int) -> None:
    """Add conversations of ten messages; every fiftieth contains the word zebra."""
    chance = random.Random(1)

    def text(words: int) -> str:
        return " ".join(chance.choices(_WORDS, k=words))

    shared = {"created_at": 0, "updated_at": 0, "options": "{}", "person": "somebody"}
    made = [{"id": str(number), "title": text(8), **shared} for number in range(size)]
    said = [
        {
            "conversation_id": one["id"],
            "role": "assistant" if number % 2 else "user",
            "text": text(120 if number % 2 else 12) + (" zebra" if int(one["id"]) % 50 == 0 and number == 3 else ""),
            "created_at": 0,
        }
        for one in made
        for number in range(_MESSAGES)
    ]
    with database.write() as connection:
        connection.execute(insert(conversations), made)
        connection.execute(insert(messages), said)


def _measure(listed: Conversations, search: str) -> tuple[float, int]:
    """Return the median processor time (s) of 15 searches for 50 rows with snippets, and the number of matches."""
    taken = []
    for _ in range(_TIMES):
        began = time.process_time()
        found = listed.find(search, _SHOWN)
        taken.append(time.process_time() - began)
    return median(taken), found.total


if __name__ == "__main__":
    main([int(size) for size in sys.argv[1:]] or [100, 5000])
