"""Cache of grades: the same grader never grades the same passage twice for the same question."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import replace

from crag.options import Thresholds
from crag.protocols import Grader
from crag.stopping import Stop
from crag.types import Grade, Passage

Key = tuple[str, str, str]  # question, digest of the passage, grader


class GradeMemory:
    """In-memory LRU cache of grades. Thread-safe."""

    def __init__(self, size: int = 10_000) -> None:
        self._size = size
        self._lock = threading.Lock()
        self._grades: OrderedDict[Key, Grade] = OrderedDict()

    def get(self, keys: Sequence[Key]) -> dict[Key, Grade]:
        """Return the cached grades."""
        with self._lock:
            found = {key: self._grades[key] for key in keys if key in self._grades}
            for key in found:
                self._grades.move_to_end(key)
            return found

    def put(self, key: Key, grade: Grade) -> None:
        """Cache a grade; evict the least recently used beyond the size."""
        with self._lock:
            self._grades[key] = grade
            self._grades.move_to_end(key)
            while len(self._grades) > self._size:
                self._grades.popitem(last=False)


class CachedGrader:
    """A grader that asks another one only for grades that are not cached. Failures are not cached."""

    def __init__(self, grader: Grader, cache: GradeMemory) -> None:
        self._grader = grader
        self._cache = cache

    @property
    def name(self) -> str:
        """The name of the wrapped grader."""
        return self._grader.name

    @property
    def thresholds(self) -> Thresholds:
        """The thresholds of the wrapped grader."""
        return self._grader.thresholds

    def grade(self, question: str, passages: Sequence[Passage], stop: Stop) -> Iterator[tuple[int, Grade]]:
        """Yield cached grades first, then the others as they are graded. Raises `ModelFault`, `Stopped`."""
        stop.check()
        keys = [self._key(question, passage) for passage in passages]
        known = self._cache.get(keys)
        yield from ((index, known[key]) for index, key in enumerate(keys) if key in known)
        missing = [index for index, key in enumerate(keys) if key not in known]
        if not missing:
            return
        for position, grade in self._grader.grade(question, [passages[index] for index in missing], stop):
            if grade.score is not None:
                self._cache.put(keys[missing[position]], replace(grade, usage=None))  # a cached grade costs nothing
            yield missing[position], grade

    def _key(self, question: str, passage: Passage) -> Key:
        seen = "\x1f".join((passage.title, passage.heading, passage.text))
        return question, hashlib.sha256(seen.encode("utf-8", "surrogatepass")).hexdigest(), self._grader.name
