"""Document frequencies of terms, cached per epoch of the library."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import bindparam, func, select, text

from crag.database import Database
from crag.database.tables import passages
from crag.library.rows import read_epoch
from crag.scoring import inverse_frequency

_FREQUENCIES = text("SELECT term, doc FROM passage_vocabulary WHERE term IN :terms").bindparams(
    bindparam("terms", expanding=True)
)


@dataclass(frozen=True, slots=True)
class Counted:
    """Document frequencies of terms at one epoch, with the number of passages and the highest passage id."""

    epoch: int
    passages: int
    last_id: int
    by_term: Mapping[str, int]

    def weigh(self, term: str) -> float:
        """Return the term's inverse document frequency; a term that never occurs gets the maximum."""
        return inverse_frequency(self.by_term[term], self.passages)


class Frequencies:
    """Document frequencies from the full-text index, cached per epoch. Safe to share between threads."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._known = Counted(-1, 0, 0, {})

    def read(self, wanted: Sequence[str]) -> Counted:
        """Return the frequencies of these terms at the current epoch."""
        with self._lock, self._database.snapshot() as connection:
            epoch = read_epoch(connection)
            if epoch != self._known.epoch:
                size = connection.execute(select(func.count(), func.max(passages.c.id)).select_from(passages)).one()
                self._known = Counted(epoch, size[0], size[1] or 0, {})
            known = dict(self._known.by_term)
            if new := [term for term in wanted if term not in known]:
                known |= dict.fromkeys(new, 0)
                known |= {row.term: row.doc for row in connection.execute(_FREQUENCIES, {"terms": new})}
                self._known = replace(self._known, by_term=known)
        return replace(self._known, by_term={term: known[term] for term in wanted})
