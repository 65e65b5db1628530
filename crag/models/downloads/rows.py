"""Download rows, shared with other processes and kept so that unfinished downloads can be resumed."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Row, delete, select, update
from sqlalchemy.dialects.sqlite import insert

from crag.database import Database
from crag.database.tables import downloads
from crag.models.downloads.values import Download
from crag.processes import is_alive

NOT_FINISHED = "Not finished"


class DownloadRows:
    """Download rows of one home, on behalf of one owner. Every method raises `HomeFault`."""

    def __init__(self, database: Database, owner: str) -> None:
        self._database = database
        self._owner = owner

    def claim(self, name: str) -> bool:
        """Claim a new or unfinished download; return False if a living process is running it."""
        fresh = {"state": "running", "stage": "", "rate": 0.0, "fault": "", "owner": self._owner, "cancelled": 0}
        with self._database.write() as connection:
            row = connection.execute(select(downloads).where(downloads.c.name == name)).first()
            if row is not None and row.state == "running" and is_alive(row.owner):
                return False
            begun = insert(downloads).values(name=name, **fresh)
            connection.execute(begun.on_conflict_do_update(index_elements=["name"], set_=fresh))
        return True

    def keep(self, download: Download) -> None:
        """Record the progress or end of the owner's download; an ended download is not changed."""
        kept = ("state", "stage", "done", "total", "rate", "fault")
        values = {column: getattr(download, column) for column in kept}
        own = update(downloads).where(downloads.c.name == download.name, downloads.c.owner == self._owner)
        with self._database.write() as connection:
            connection.execute(own.where(downloads.c.state == "running").values(values))

    def cancel(self, name: str) -> None:
        """Ask the owning process to stop."""
        with self._database.write() as connection:
            connection.execute(update(downloads).where(downloads.c.name == name).values(cancelled=1))

    def is_cancelled(self, name: str) -> bool:
        """Return whether the owner was asked to stop or lost the download."""
        mine = select(downloads.c.cancelled).where(downloads.c.name == name, downloads.c.owner == self._owner)
        with self._database.read() as connection:
            return connection.scalar(mine) != 0

    def dismiss(self, name: str) -> None:
        """Delete a download unless it is running."""
        if any(download.name == name and download.state != "running" for download in self.all()):
            with self._database.write() as connection:
                connection.execute(delete(downloads).where(downloads.c.name == name))

    def all(self) -> list[Download]:
        """List the downloads by name; those left by a dead process count as cancelled."""
        with self._database.read() as connection:
            return [_download(row) for row in connection.execute(select(downloads).order_by(downloads.c.name))]


def _download(row: Row[Any]) -> Download:
    if row.state == "running" and not is_alive(row.owner):
        return Download(row.name, "cancelled", NOT_FINISHED, row.done, row.total)
    return Download(row.name, row.state, row.stage, row.done, row.total, row.rate, row.fault)
