"""Grouping of passage lines by source, in any order of the file, with one source in memory at a time."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

from crag.errors import SourceRefused
from crag.library.exchange.lines import LONGEST_LINE, Line, decode
from crag.stopping import Stop


class LinesBySource:
    """A file of passage lines. All lines are checked before the first source is returned."""

    def __init__(self, path: Path, nameless: str, stop: Stop) -> None:
        """`nameless`: the location for passages without a source. Raises `SourceRefused`, `Stopped`, `OSError`."""
        self._path = path
        self._nameless = nameless
        self._places: dict[tuple[str, str], array[int]] = {}
        with path.open("rb") as file:
            for number, (offset, line) in enumerate(_lines(file), start=1):
                stop.check()
                key = decode(line, number, nameless).source_key
                self._places.setdefault(key, array("q")).append(offset)
        if not self._places:
            raise SourceRefused("empty", "There is no passage in it.")

    def __len__(self) -> int:
        """Return the number of sources."""
        return len(self._places)

    def __iter__(self) -> Iterator[Sequence[Line]]:
        """Yield the lines of each source, in file order."""
        with self._path.open("rb") as file:
            for places in self._places.values():
                yield [self._line(file, place) for place in places]

    def _line(self, file: IO[bytes], place: int) -> Line:
        file.seek(place)
        return decode(file.readline(LONGEST_LINE), 0, self._nameless)


def _lines(file: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield (offset, line) for every non-blank line. Raises `SourceRefused` for a line without an end."""
    offset = 0
    while line := file.readline(LONGEST_LINE):
        if len(line) == LONGEST_LINE and not line.endswith(b"\n"):
            raise SourceRefused("too_large", f"It holds a line of more than {LONGEST_LINE // 1_048_576} MB.")
        if line.strip():
            yield offset, line
        offset += len(line)
