"""Brings together the lines of one source, wherever they stand in a file, holding one source in memory at a time."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

from crag.errors import SourceRefused
from crag.library.exchange.lines import LONGEST_LINE, Line, decode
from crag.stopping import Stop


class LinesBySource:
    """A file of lines, every one of them checked before the first source is given out."""

    def __init__(self, path: Path, nameless: str, stop: Stop) -> None:
        """`nameless`: the location of passages that name no source. Raises `SourceRefused`, `Stopped`, `OSError`."""
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
        """How many sources there are."""
        return len(self._places)

    def __iter__(self) -> Iterator[Sequence[Line]]:
        """The lines of each source, in the order of the file."""
        with self._path.open("rb") as file:
            for places in self._places.values():
                yield [self._line(file, place) for place in places]

    def _line(self, file: IO[bytes], place: int) -> Line:
        file.seek(place)
        return decode(file.readline(LONGEST_LINE), 0, self._nameless)


def _lines(file: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """(offset, line) of every line that is not blank. Raises `SourceRefused` for an endless one."""
    offset = 0
    while line := file.readline(LONGEST_LINE):
        if len(line) == LONGEST_LINE and not line.endswith(b"\n"):
            raise SourceRefused("too_large", f"It holds a line of more than {LONGEST_LINE // 1_048_576} MB.")
        if line.strip():
            yield offset, line
        offset += len(line)
