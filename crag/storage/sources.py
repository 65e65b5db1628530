"""Sources with their passages and vectors. Every change to the searchable content advances the epoch in its commit."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, delete, func, insert, literal, select, text, union, update

from crag.errors import BadRequest, NotFound, SourceRefused
from crag.storage.engine import Database, insert_into, see_everything
from crag.storage.passages import encode_page_starts
from crag.storage.row_security import changeable_collections, document_owner, extensible_collections, visible_rows
from crag.storage.spaces import activate_space, ensure_space, read_active_space
from crag.storage.tables import (
    LOCATION_START,
    collections,
    epochs,
    location_start,
    passages,
    removed_sources,
    sources,
    spaces,
    summary_parts,
    users,
    vectors,
)
from crag.storage.user_scope import UserScoped
from crag.types import AddStatus, Chunk, EmbeddingSpace, Source, Vectors, is_account

# Passed directly to the driver: SQLAlchemy's insert takes several times as long for this many rows.
_ADD_PASSAGES = (
    "INSERT INTO passages "
    "(id, source_id, ordinal, page, heading, text, context_start, context_end, page_starts) VALUES "
)
_ADD_TERMS = "INSERT INTO passage_terms (rowid, terms) VALUES "
_REMOVE_TERMS = text("DELETE FROM passage_terms WHERE rowid IN (SELECT id FROM passages WHERE source_id = :source)")
_ADD_VECTORS = "INSERT INTO vectors (passage_id, space_id, vector) VALUES "
_USED_ORIGINALS = union(select(sources.c.sha256), select(removed_sources.c.sha256))
_NEWEST_FIRST = (sources.c.added_at.desc(), sources.c.id)
_ROWS_AT_ONCE = 100  # of at most 9 values each: older versions of SQLite take 999 values in a statement


@dataclass(frozen=True, slots=True)
class SourceIdentity:
    """What identifies a source before it is read.

    `located`: the location identifies the source, so that a new version replaces the old one. `source_id` is the id to
    use; an empty one means a new id.
    """

    collection: str
    location: str
    located: bool
    sha256: str
    size: int
    source_id: str = ""


@dataclass(frozen=True, slots=True)
class SourceDescription:
    """Metadata known after reading a source. `chunker` gives tokenizer, chunk size and overlap.

    `found_by` is the question whose web search found the source. A new version of a source keeps the first value.
    """

    title: str
    kind: str
    pages: int | None
    chunker: str
    author: str = ""
    published: str = ""
    found_by: str = ""


@dataclass(frozen=True, slots=True)
class StoreResult:
    """Result of storing a source: status, id, and the SHA-256 of the replaced version."""

    status: AddStatus
    id: str
    dropped: str | None


@dataclass(frozen=True, slots=True)
class NewPassages:
    """The passages of a new source, row by row: chunks, search terms, and vectors of `space`, verified by `canary`.

    `activation` is the number of the `ActiveSpace` for which they were embedded.
    """

    chunks: Sequence[Chunk]
    terms: Sequence[str]
    vectors: Vectors
    space: EmbeddingSpace
    canary: Vectors
    activation: int


@dataclass(frozen=True, slots=True)
class NewSource:
    """A source to store with its passages. `replace_same`: it replaces a source with the same bytes, too."""

    identity: SourceIdentity
    description: SourceDescription
    content: NewPassages
    replace_same: bool = False


def read_epoch(connection: Connection) -> int:
    """Return a number that grows with every change of the searchable content, as seen by this connection."""
    return connection.scalar(select(func.max(epochs.c.number))) or 0


def advance_epoch(connection: Connection, ids: Sequence[int] = ()) -> None:
    """Start a new epoch, in which the vectors of these passages were added or removed.

    The upper bits count up. The lower 32 bits are random, which distinguishes a database that was restored from a
    backup.
    """
    number = ((read_epoch(connection) >> 32) + 1 << 32) | secrets.randbits(32)
    values = {"number": number, "first_id": min(ids, default=0), "last_id": max(ids, default=0)}
    connection.execute(insert(epochs), values)


def read_changed_ranges(connection: Connection, since: int) -> list[tuple[int, int]] | None:
    """Return the id ranges whose vectors changed since an epoch, in order, each once.

    Returns None if the database never had that epoch.
    """
    if not connection.scalar(select(func.count()).where(epochs.c.number == since)):
        return None
    later = select(epochs.c.first_id, epochs.c.last_id).where(epochs.c.number > since, epochs.c.last_id > 0)
    return [(row.first_id, row.last_id) for row in connection.execute(later.distinct().order_by(epochs.c.first_id))]


OWNER_SEPARATOR = "/"


def ensure_collection(connection: Connection, name: str, user: str | None) -> None:
    """Create the collection if it does not exist, for everyone or, if this user has an account, for them alone.

    Raises `SourceRefused` if the user may not add documents to it.
    """
    with see_everything(connection):
        exists = connection.scalar(select(func.count()).where(collections.c.name == name))
    if not exists:
        if is_account(user) and not name.startswith(read_name_prefix(connection, user)):
            raise SourceRefused("not_allowed", "Its collection no longer exists.")
        values = {"name": name, "created_at": time.time(), "person": document_owner(user)}
        connection.execute(insert_into(connection, collections).values(values).on_conflict_do_nothing())
    elif not may_extend(connection, name, user):
        raise SourceRefused("not_allowed", f"You may only read the collection “{name}”.")


def read_name_prefix(connection: Connection, user: str | None) -> str:
    """Return what the names of the collections of an account begin with; empty for other users."""
    handle = connection.scalar(select(users.c.handle).where(users.c.id == user)) if is_account(user) else None
    return f"{handle}{OWNER_SEPARATOR}" if handle else ""


def may_extend(connection: Connection, name: str, user: str | None) -> bool:
    """Return whether this user may add documents to an existing collection."""
    named = select(func.count()).select_from(collections).where(collections.c.name == name)
    return bool(connection.scalar(named.where(extensible_collections(user))))


def in_changeable_collection(user: str | None) -> ColumnElement[bool]:
    """Match the sources that this user (None: anyone) may remove or move."""
    return sources.c.collection.in_(select(collections.c.name).where(changeable_collections(user)))


def read_source_titles(connection: Connection, source_ids: Iterable[str], user: str | None) -> dict[str, str]:
    """Return the present titles of those of these sources that this user (None: anyone) may read, by id."""
    wanted = select(sources.c.id, sources.c.title).where(
        sources.c.id.in_(list(source_ids)), visible_rows(sources, user)
    )
    return {row.id: row.title for row in connection.execute(wanted)}


def check_changeable(connection: Connection, source_ids: Iterable[str], user: str | None) -> list[str]:
    """Return those of these sources that exist, for this user. Raises `BadRequest` if the user may only read one."""
    wanted = select(sources.c.id).where(sources.c.id.in_(list(source_ids)), visible_rows(sources, user))
    found = list(connection.scalars(wanted))
    if len(found) > len(list(connection.scalars(wanted.where(in_changeable_collection(user))))):
        raise BadRequest("You may only read some of these documents.", "Ask the owner of their collection.")
    return found


def find_source_row(connection: Connection, conditions: Sequence[ColumnElement[bool]]) -> Row[Any] | None:
    """Return the one source that meets the conditions, or None."""
    return connection.execute(select(sources).where(*conditions)).first()


def same_content_conditions(identity: SourceIdentity) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions for a source of the collection with the same bytes."""
    return sources.c.collection == identity.collection, sources.c.sha256 == identity.sha256


def same_location_conditions(identity: SourceIdentity) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions for the source of the collection at the same location."""
    start, rest = identity.location[:LOCATION_START], identity.location[LOCATION_START:]
    # In two parts, because SQLite overlooks the index of the first beside a condition on the whole.
    is_there = and_(location_start() == start, func.substr(sources.c.location, LOCATION_START + 1) == rest)
    return sources.c.collection == identity.collection, is_there


def write_source(
    connection: Connection, identity: SourceIdentity, description: SourceDescription, old: str | None
) -> str:
    """Write the row of a source, replacing the old version if given, and return its id."""
    source_id = old or identity.source_id or secrets.token_hex(6)
    values = asdict(identity) | asdict(description) | {"added_at": time.time()}
    del values["located"], values["source_id"]
    if old:
        del values["found_by"]
        if connection.scalar(select(sources.c.own_title).where(sources.c.id == old)) is not None:
            values["own_title"] = values.pop("title")  # the title that a user gave stays
        _delete_passages(connection, old)
        connection.execute(update(sources).where(sources.c.id == old).values(values))
    else:
        connection.execute(insert(sources), {"id": source_id} | values)
    return source_id


def write_passages(
    connection: Connection, source_id: str, content: NewPassages, check: Callable[[], None] = lambda: None
) -> None:
    """Add the passages of a source with their search terms and vectors, and start a new epoch.

    `check` is called regularly and may raise to abort.
    """
    ids = _reserve_passage_ids(connection, len(content.chunks))
    for start in range(0, len(ids), _ROWS_AT_ONCE):
        check()
        rows = slice(start, start + _ROWS_AT_ONCE)
        chunks = zip(ids[rows], content.chunks[rows], strict=True)
        _insert_rows(connection, _ADD_PASSAGES, [(id_, source_id, *_chunk_columns(chunk)) for id_, chunk in chunks])
        _insert_rows(connection, _ADD_TERMS, list(zip(ids[rows], content.terms[rows], strict=True)))
    write_vectors(connection, ids, content.vectors, content.space, content.canary, check)


def _reserve_passage_ids(connection: Connection, count: int) -> range:
    """Return ids that no passage ever had."""
    if connection.dialect.name == "postgresql":
        reserve = text("SELECT setval('passages_id_seq', nextval('passages_id_seq') + :count - 1)")
        last = int(connection.execute(reserve, {"count": count}).scalar_one()) if count else 0
        return range(last + 1 - count, last + 1)
    last = connection.scalar(text("SELECT seq FROM sqlite_sequence WHERE name = 'passages'")) or 0
    return range(last + 1, last + 1 + count)


def replace_terms(connection: Connection, source_id: str, rows: Sequence[tuple[int, str]]) -> None:
    """Replace the search terms of all passages of a source, given by id, and start a new epoch."""
    connection.execute(_REMOVE_TERMS, {"source": source_id})
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        _insert_rows(connection, _ADD_TERMS, rows[start : start + _ROWS_AT_ONCE])
    advance_epoch(connection)


def _insert_rows(connection: Connection, statement: str, rows: Sequence[tuple[Any, ...]]) -> None:
    """Insert all rows in one statement: the driver gives up the interpreter lock once for each statement."""
    mark = "%s" if connection.dialect.name == "postgresql" else "?"
    places = ", ".join(["(" + ", ".join([mark] * len(rows[0])) + ")"] * len(rows))
    connection.exec_driver_sql(statement + places, tuple(value for row in rows for value in row))


def _chunk_columns(chunk: Chunk) -> tuple[Any, ...]:
    starts = encode_page_starts(chunk.page_starts)
    return chunk.ordinal, chunk.page, chunk.heading, chunk.text, chunk.context_start, chunk.context_end, starts


def write_vectors(
    connection: Connection,
    ids: Sequence[int],
    rows: Vectors,
    space: EmbeddingSpace,
    canary: Vectors,
    check: Callable[[], None] = lambda: None,
) -> None:
    """Add one vector of `space` for each passage id, and start a new epoch. `check` works as in `write_passages`.

    Raises `ModelFault` if the canary differs from that of the space.
    """
    ensure_space(connection, space, canary)
    for start in range(0, len(ids), _ROWS_AT_ONCE):
        check()
        part = zip(ids[start : start + _ROWS_AT_ONCE], rows[start : start + _ROWS_AT_ONCE].astype("<f4"), strict=True)
        _insert_rows(connection, _ADD_VECTORS, [(id_, space.id, row.tobytes()) for id_, row in part])
    advance_epoch(connection, ids)


def is_path_or_url(location: str) -> bool:
    """Return whether it is a path or a URL. Upload names are not unique."""
    return "/" in location or "\\" in location


def delete_source(connection: Connection, source_id: str) -> None:
    """Remove a source and all its passages, and start a new epoch."""
    _delete_passages(connection, source_id)
    connection.execute(delete(sources).where(sources.c.id == source_id))


def _delete_passages(connection: Connection, source_id: str) -> None:
    """Delete the full-text rows first, because FTS has no foreign keys. Vectors are deleted with their passages.

    What models noted on these passages is deleted, too.
    """
    connection.execute(delete(summary_parts).where(func.instr(summary_parts.c.sources, source_id) > 0))
    ids = list(connection.scalars(select(passages.c.id).where(passages.c.source_id == source_id)))
    connection.execute(_REMOVE_TERMS, {"source": source_id})
    connection.execute(delete(passages).where(passages.c.source_id == source_id))
    advance_epoch(connection, ids)


class SpaceSwitched(Exception):
    """The active space changed after the passages were embedded. Used within the library only, never shown."""


class SourceStore(UserScoped):
    """Sources in the database, read and written in short transactions."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def epoch(self) -> int:
        """Return a number that changes with every change of the library, by any process."""
        with self.database.read() as connection:
            return read_epoch(connection)

    def sources(self, *conditions: ColumnElement[bool]) -> list[Source]:
        """Return the sources that meet all conditions, newest first."""
        passage_count = (
            select(func.count()).where(passages.c.source_id == sources.c.id).correlate(sources).scalar_subquery()
        )
        labels = (
            select(func.aggregate_strings(spaces.c.provider + ":" + spaces.c.model, ","))
            .select_from(passages.join(vectors).join(spaces))
            .where(passages.c.source_id == sources.c.id, passages.c.ordinal == 0)
            .correlate(sources)
            .scalar_subquery()
        )
        is_found = (sources.c.found_by != "").label("found_on_web")
        columns = (sources, passage_count.label("passages"), labels.label("space"), is_found)
        query = select(*columns).where(*conditions, self._visible(sources))
        with self.database.read() as connection:
            return [
                Source(
                    **{one.name: getattr(row, one.name) for one in fields(Source)}
                    | {"space": row.space or "", "own_title": row.own_title or ""}
                )
                for row in connection.execute(query.order_by(*_NEWEST_FIRST))
            ]

    def page(
        self, limit: int, after: tuple[float, str] | None, *conditions: ColumnElement[bool]
    ) -> tuple[list[Source], int]:
        """Return the newest `limit` sources that meet all conditions, and how many do.

        With `after`, the time and id of a source, which may be gone, only those that come after it are returned.
        """
        matching = (*conditions, self._visible(sources))
        chosen = select(sources.c.id).where(*matching)
        if after is not None:
            added_at, source_id = after
            is_later = and_(sources.c.added_at == added_at, sources.c.id > source_id)
            chosen = chosen.where((sources.c.added_at < added_at) | is_later)
        chosen = chosen.order_by(*_NEWEST_FIRST).limit(limit)  # before passages are counted, which takes longer
        with self.database.read() as connection:
            total = connection.scalar(select(func.count()).select_from(sources).where(*matching)) or 0
        return self.sources(sources.c.id.in_(chosen.subquery().select())), total

    def long_titles(self, n: int, least: int) -> list[str]:
        """Return the titles of the newest `n` sources with at least so many passages."""
        is_long = select(func.count()).where(passages.c.source_id == sources.c.id).scalar_subquery() >= least
        query = select(sources.c.title).where(is_long, self._visible(sources)).order_by(*_NEWEST_FIRST).limit(n)
        with self.database.read() as connection:
            return list(connection.execute(query).scalars())

    def source(self, source_id: str) -> Source | None:
        """Return the source with this id, or None."""
        return next(iter(self.sources(sources.c.id == source_id)), None)

    def at_path(self, path: str, collection: str) -> list[Source]:
        """Return the sources of a collection that were added from a file, also as members of an archive."""
        location, within = sources.c.location, f"{path}!/"
        is_member = func.substr(location, 1, len(within)) == within
        return self.sources(sources.c.collection == collection, (location == path) | is_member)

    def relocate(self, source_ids: Sequence[str], old: str, new: str, titles: tuple[str, str]) -> None:
        """Replace a path that the locations of sources begin with, and the first of two titles by the second."""
        location = literal(new) + func.substr(sources.c.location, len(old) + 1)
        own = update(sources).where(sources.c.id.in_(source_ids))
        with self.database.write() as connection:
            connection.execute(own.where(in_changeable_collection(self._user)).values(location=location))
            for title in (sources.c.title, sources.c.own_title):
                connection.execute(own.where(title == titles[0]).values({title: titles[1]}))
            advance_epoch(connection)

    def given_title(self, identity: SourceIdentity) -> str:
        """Return the title that a user gave to the source that this one replaces; empty if there is none."""
        same = and_(*same_content_conditions(identity))
        if identity.located:
            same |= and_(*same_location_conditions(identity))
        wanted = select(sources.c.title).where(same, sources.c.own_title.is_not(None), self._visible(sources))
        with self.database.read() as connection:
            return connection.scalar(wanted.order_by(*_NEWEST_FIRST).limit(1)) or ""

    def rename(self, source_id: str, title: str, index_title: Callable[[Connection, str, str], None]) -> None:
        """Give a source another title; an empty one brings back the title that its file states.

        `index_title` rewrites its search terms in the same commit; it gets the id and the title. Raises `NotFound`, and
        `BadRequest` if the user may only read the source.
        """
        with self.database.write() as connection:
            if not check_changeable(connection, [source_id], self._user):
                raise NotFound("This document is no longer in the library.")
            row = connection.execute(select(sources).where(sources.c.id == source_id)).one()
            own = row.title if row.own_title is None else row.own_title
            shown = title or own
            values = {"title": shown, "own_title": None if shown == own else own}
            connection.execute(update(sources).where(sources.c.id == source_id).values(values))
            index_title(connection, source_id, shown)

    def chunker(self, source_id: str) -> str:
        """Return the tokenizer, chunk size and overlap that the source was split by; empty if it does not exist."""
        with self.database.read() as connection:
            wanted = select(sources.c.chunker).where(sources.c.id == source_id, self._visible(sources))
            return connection.scalar(wanted) or ""

    def find_unchanged(self, identity: SourceIdentity) -> Source | None:
        """Return the source of this collection with the same bytes.

        Returns None if there is none, or if the location still has a different version.
        """
        visible = self._visible(sources)
        with self.database.read() as connection:
            duplicate = find_source_row(connection, (*same_content_conditions(identity), visible))
            if duplicate and identity.located:
                old = find_source_row(connection, (*same_location_conditions(identity), visible))
                duplicate = None if old and old.id != duplicate.id else duplicate
        return self.source(duplicate.id) if duplicate else None

    def namesakes(self, source_id: str) -> list[str]:
        """Return the ids of the other sources at the same location of the collection, newest first."""
        named = sources.alias()
        is_same = and_(
            sources.c.collection == named.c.collection,
            location_start() == location_start(named),
            sources.c.location == named.c.location,
        )
        wanted = select(sources.c.id).join_from(named, sources, is_same)
        wanted = wanted.where(named.c.id == source_id, sources.c.id != source_id, self._visible(sources))
        with self.database.read() as connection:
            return list(connection.scalars(wanted.order_by(*_NEWEST_FIRST)))

    def put(
        self,
        new: Sequence[NewSource],
        finish: Callable[[Connection, Sequence[StoreResult]], None],
        check: Callable[[], None] = lambda: None,
    ) -> list[StoreResult]:
        """Make sources visible in one commit. `finish` runs within it as the last step that may fail.

        `check` is called regularly meanwhile and may raise to abort. Status *unchanged* comes with the id of the
        duplicate that is stored by now, *replaced* with the existing id of the location. Raises `SpaceSwitched` if
        another space is active by now, and `SourceRefused` if the user may not add to a collection.
        """
        with self.database.write() as connection:
            active = read_active_space(connection)
            if any(one.content.activation != active.number for one in new):
                raise SpaceSwitched
            for collection in {one.identity.collection for one in new}:
                ensure_collection(connection, collection, self._user)
            results = [_put_source(connection, one, check) for one in new]
            if active.space is None and any(one.status != "unchanged" for one in results):
                activate_space(connection, new[0].content.space)
            finish(connection, results)
        return results

    def add_vectors(self, ids: Sequence[int], rows: Vectors, space: EmbeddingSpace, canary: Vectors) -> int:
        """Give existing passages vectors of another space. Return how many of them still exist and had none."""
        with self.database.write() as connection:
            exist = set(connection.scalars(select(passages.c.id).where(passages.c.id.in_(ids))))
            held = select(vectors.c.passage_id).where(vectors.c.space_id == space.id, vectors.c.passage_id.in_(ids))
            have = set(connection.scalars(held))
            wanted = [place for place, id_ in enumerate(ids) if id_ in exist - have]
            if wanted:
                write_vectors(connection, [ids[place] for place in wanted], rows[wanted], space, canary)
        return len(wanted)

    def remove(self, source_ids: Sequence[str]) -> list[Source]:
        """Remove sources and return those that existed. Raises `BadRequest` if the user may only read one."""
        gone = self.sources(sources.c.id.in_(source_ids))
        with self.database.write() as connection:
            check_changeable(connection, source_ids, self._user)
            for source in gone:
                delete_source(connection, source.id)
        return gone

    def release_originals(self, digests: Iterable[str], remove: Callable[[str], None]) -> None:
        """Call `remove` for each SHA-256 that no source uses, while no source can be added."""
        with self.database.whole.write() as connection:
            for digest in set(digests) - set(connection.scalars(_USED_ORIGINALS)):
                remove(digest)

    def remove_unused_originals(self, remove_unused: Callable[[Sequence[str]], None]) -> None:
        """Call `remove_unused` with every SHA-256 in use, while no source can be added."""
        with self.database.whole.write() as connection:
            remove_unused(list(connection.scalars(_USED_ORIGINALS)))

    def counts(self) -> tuple[int, int]:
        """Return the numbers of sources and passages."""
        with self.database.read() as connection:
            read_sources = select(func.count()).select_from(sources).where(self._visible(sources))
            read_passages = select(func.count()).select_from(passages).where(self._visible(passages))
            number_of_sources = connection.scalar(read_sources) or 0
            number_of_passages = connection.scalar(read_passages) or 0
        return number_of_sources, number_of_passages

    def originals_size(self) -> int:
        """Return the total size in bytes of all originals, each counted once."""
        files = select(sources.c.sha256, sources.c.size).where(self._visible(sources)).distinct().subquery()
        with self.database.read() as connection:
            return connection.scalar(select(func.sum(files.c.size))) or 0


def _put_source(connection: Connection, new: NewSource, check: Callable[[], None]) -> StoreResult:
    identity = new.identity
    duplicate = find_source_row(connection, same_content_conditions(identity))
    old = find_source_row(connection, same_location_conditions(identity)) if identity.located else None
    if duplicate and new.replace_same:
        old = old or duplicate
    elif duplicate:
        return _keep_duplicate(connection, duplicate, old)
    source_id = write_source(connection, identity, new.description, old.id if old else None)
    write_passages(connection, source_id, new.content, check)
    return StoreResult("replaced", source_id, old.sha256) if old else StoreResult("added", source_id, None)


def _keep_duplicate(connection: Connection, duplicate: Row[Any], old: Row[Any] | None) -> StoreResult:
    """Keep the duplicate with the same bytes, and delete the old version at the location."""
    if old is None or old.id == duplicate.id:
        return StoreResult("unchanged", duplicate.id, None)
    delete_source(connection, old.id)
    return StoreResult("unchanged", duplicate.id, old.sha256)
