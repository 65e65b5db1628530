"""What is kept of downloads, so that other processes see them and a later one knows what was left unfinished."""

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
    """The rows of one home, for the owner that this is. Every method raises `HomeFault`."""

    def __init__(self, database: Database, owner: str) -> None:
        self._database = database
        self._owner = owner

    def claim(self, name: str) -> bool:
        """Begins it, or goes on with it; False when it is running already, in whichever living process."""
        fresh = {"state": "running", "stage": "", "rate": 0.0, "fault": "", "owner": self._owner, "cancelled": 0}
        with self._database.write() as connection:
            row = connection.execute(select(downloads).where(downloads.c.name == name)).first()
            if row is not None and row.state == "running" and is_alive(row.owner):
                return False
            begun = insert(downloads).values(name=name, **fresh)
            connection.execute(begun.on_conflict_do_update(index_elements=["name"], set_=fresh))
        return True

    def keep(self, download: Download) -> None:
        """Writes down how far the owner's is, or how it ended; nothing after that."""
        kept = ("state", "stage", "done", "total", "rate", "fault")
        values = {column: getattr(download, column) for column in kept}
        own = update(downloads).where(downloads.c.name == download.name, downloads.c.owner == self._owner)
        with self._database.write() as connection:
            connection.execute(own.where(downloads.c.state == "running").values(values))

    def cancel(self, name: str) -> None:
        """Asks the process that has it to stop."""
        with self._database.write() as connection:
            connection.execute(update(downloads).where(downloads.c.name == name).values(cancelled=1))

    def is_cancelled(self, name: str) -> bool:
        """Whether somebody asked the owner to stop, or took it away."""
        mine = select(downloads.c.cancelled).where(downloads.c.name == name, downloads.c.owner == self._owner)
        with self._database.read() as connection:
            return connection.scalar(mine) != 0

    def dismiss(self, name: str) -> None:
        """Forgets it, unless it is running."""
        if any(download.name == name and download.state != "running" for download in self.all()):
            with self._database.write() as connection:
                connection.execute(delete(downloads).where(downloads.c.name == name))

    def all(self) -> list[Download]:
        """By name; what a process left unfinished when it died is cancelled."""
        with self._database.read() as connection:
            return [_download(row) for row in connection.execute(select(downloads).order_by(downloads.c.name))]


def _download(row: Row[Any]) -> Download:
    if row.state == "running" and not is_alive(row.owner):
        return Download(row.name, "cancelled", NOT_FINISHED, row.done, row.total)
    return Download(row.name, row.state, row.stage, row.done, row.total, row.rate, row.fault)
