"""Resumable download of one large file, verified before it becomes visible."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

from crag.following import follow
from crag.models.nomic import faults
from crag.models.nomic.partial_file import PartialFile
from crag.models.nomic.remote_file import FileChanged, Record, RemoteFile, receive
from crag.progress import Report
from crag.stopping import Stop
from crag.types import Progress

# Seconds before each retry after a broken connection.
_PAUSES = (0.5, 1.0, 2.0, 4.0, 8.0)
_MOST_BYTES = 2_000_000_000  # the weights are 274 MB; anything larger is wrong and would fill the disk


def fetch_file(file: RemoteFile, target: Path, magic: bytes, record: Record, report: Report, stop: Stop) -> None:
    """Download the file to `target`, complete and verified; on failure an existing `target` stays.

    The file must begin with `magic`. `record(host, what)` is called before each request; `report` receives bytes. A
    partial download is kept in the same folder for the next call. Raises `ModelFault`, `Stopped` and what `record`
    raises.
    """
    import httpx

    partial = PartialFile(target)
    at_first = partial.size()
    for pause in (*_PAUSES, None):
        try:
            with faults.of_disk():
                return _fetch_rest(file, partial, magic, record, report, stop)
        except FileChanged:
            partial.remove()
        except (httpx.TransportError, httpx.InvalidURL) as error:
            if partial.size() <= at_first:
                raise faults.no_connection(file.host, error) from error
        if pause is not None:
            stop.wait(pause)
            stop.check()
    raise faults.broken_off(file.host)


def _fetch_rest(
    file: RemoteFile, partial: PartialFile, magic: bytes, record: Record, report: Report, stop: Stop
) -> None:
    pieces = follow(lambda: receive(file, partial.size(), record), stop)
    first = next(pieces, None)
    if first is None or (first.begin == 0 and not magic.startswith(first.body[: len(magic)])):
        raise faults.other_file(file.host)
    with partial.opened(first) as kept:
        for piece in chain([first], pieces):
            if piece.end > _MOST_BYTES:
                partial.remove()
                raise faults.other_file(file.host)
            kept.write(piece.body)
            report(Progress("Receiving", piece.end, piece.total))
        partial.finish(kept, file, report, stop)
