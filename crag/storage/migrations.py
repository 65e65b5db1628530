"""Schema creation and migrations.

To add a table or column: add it to `tables.py`, a column nullable or with a `server_default`, and append a step with
the `CREATE TABLE` or `ALTER TABLE` statement to `MIGRATIONS`. New homes are created from the tables, existing ones get
the step. Steps from version 11 on run on PostgreSQL too.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from sqlalchemy import Connection, create_mock_engine, text

from crag.errors import HomeFault
from crag.storage.postgres_schema import POSTGRES_SCHEMA
from crag.storage.row_security import policy_statements
from crag.storage.tables import FULL_TEXT_INDEX, metadata

OLDEST_SCHEMA_VERSION = 6  # no earlier one was released
MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE queued_questions (
            id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
            conversation_id TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
            position INTEGER NOT NULL,
            text TEXT NOT NULL,
            files TEXT DEFAULT '{}' NOT NULL,
            on_hold INTEGER DEFAULT '0' NOT NULL
        )""",
        "CREATE INDEX ix_queued_questions_conversation_id ON queued_questions (conversation_id)",
    ),
    ("ALTER TABLE passages ADD COLUMN page_starts TEXT",),
    (
        """CREATE TABLE removed_sources (
            id TEXT NOT NULL PRIMARY KEY,
            title TEXT NOT NULL,
            kind TEXT NOT NULL,
            location TEXT NOT NULL,
            collection TEXT NOT NULL,
            sha256 TEXT NOT NULL,
            size INTEGER NOT NULL,
            pages INTEGER,
            chunker TEXT NOT NULL,
            added_at FLOAT NOT NULL,
            author TEXT NOT NULL,
            published TEXT NOT NULL,
            found_by TEXT NOT NULL,
            removed_at FLOAT NOT NULL
        )""",
        """CREATE TABLE removed_passages (
            id INTEGER NOT NULL PRIMARY KEY,
            source_id TEXT NOT NULL REFERENCES removed_sources (id) ON DELETE CASCADE,
            ordinal INTEGER NOT NULL,
            page INTEGER,
            heading TEXT NOT NULL,
            text TEXT NOT NULL,
            context_start INTEGER NOT NULL,
            context_end INTEGER NOT NULL,
            page_starts TEXT,
            terms TEXT NOT NULL
        )""",
        "CREATE INDEX ix_removed_passages_source_id ON removed_passages (source_id)",
        """CREATE TABLE removed_vectors (
            passage_id INTEGER NOT NULL REFERENCES removed_passages (id) ON DELETE CASCADE,
            space_id TEXT NOT NULL,
            vector BLOB NOT NULL,
            PRIMARY KEY (passage_id, space_id)
        )""",
    ),
    (
        "ALTER TABLE run_summaries ADD COLUMN sufficiency TEXT DEFAULT '' NOT NULL",
        "DELETE FROM run_summaries WHERE outcome = 'not_answered'",  # they are built again from the events
    ),
    (
        """CREATE TABLE file_pieces (
            kind TEXT NOT NULL,
            name TEXT NOT NULL,
            number INTEGER NOT NULL,
            piece BLOB NOT NULL,
            added_at FLOAT NOT NULL,
            PRIMARY KEY (kind, name, number)
        )""",
        "ALTER TABLE runs ADD COLUMN stopping INTEGER DEFAULT '0' NOT NULL",
    ),
    (
        """CREATE TABLE users (
            id TEXT NOT NULL PRIMARY KEY,
            issuer TEXT NOT NULL,
            subject TEXT NOT NULL,
            email TEXT NOT NULL,
            name TEXT NOT NULL,
            handle TEXT NOT NULL,
            role TEXT DEFAULT 'member' NOT NULL,
            first_seen FLOAT NOT NULL,
            last_seen FLOAT NOT NULL,
            UNIQUE (issuer, subject),
            UNIQUE (handle)
        )""",
        "CREATE INDEX ix_users_email ON users (email)",
        "ALTER TABLE collections ADD COLUMN person TEXT DEFAULT '' NOT NULL",
        "ALTER TABLE collections ADD COLUMN public INTEGER DEFAULT '0' NOT NULL",
        """CREATE TABLE collection_members (
            collection TEXT NOT NULL REFERENCES collections (name) ON UPDATE CASCADE ON DELETE CASCADE,
            email TEXT NOT NULL,
            may_add INTEGER DEFAULT '0' NOT NULL,
            PRIMARY KEY (collection, email)
        )""",
        "ALTER TABLE removed_sources ADD COLUMN person TEXT DEFAULT '' NOT NULL",
        "ALTER TABLE jobs ADD COLUMN person TEXT DEFAULT '' NOT NULL",
        "ALTER TABLE rulings ADD COLUMN person TEXT DEFAULT '' NOT NULL",
    ),
    (
        """CREATE TABLE notes (
            id TEXT NOT NULL PRIMARY KEY,
            person TEXT DEFAULT '' NOT NULL,
            conversation_id TEXT REFERENCES conversations (id) ON DELETE SET NULL,
            title TEXT NOT NULL,
            text TEXT NOT NULL,
            sources TEXT DEFAULT '[]' NOT NULL,
            created_at FLOAT NOT NULL,
            updated_at FLOAT NOT NULL
        )""",
        "CREATE INDEX ix_notes_person ON notes (person)",
        "CREATE INDEX ix_notes_conversation_id ON notes (conversation_id)",
        """CREATE TABLE shared_links (
            id TEXT NOT NULL PRIMARY KEY,
            conversation_id TEXT NOT NULL UNIQUE REFERENCES conversations (id) ON DELETE CASCADE,
            created_at FLOAT NOT NULL
        )""",
        """CREATE TABLE summary_parts (
            model TEXT NOT NULL,
            prompt TEXT NOT NULL,
            notes TEXT NOT NULL,
            sources TEXT NOT NULL,
            added_at FLOAT NOT NULL,
            PRIMARY KEY (model, prompt)
        )""",
        "CREATE INDEX ix_summary_parts_added_at ON summary_parts (added_at)",
        """CREATE TABLE api_tokens (
            id TEXT NOT NULL PRIMARY KEY,
            person TEXT DEFAULT '' NOT NULL,
            name TEXT NOT NULL,
            digest TEXT NOT NULL UNIQUE,
            scopes TEXT NOT NULL,
            created_at FLOAT NOT NULL,
            used_at FLOAT
        )""",
        "CREATE INDEX ix_api_tokens_person ON api_tokens (person)",
        """CREATE TABLE api_replies (
            token_id TEXT NOT NULL REFERENCES api_tokens (id) ON DELETE CASCADE,
            key TEXT NOT NULL,
            request TEXT NOT NULL,
            reply TEXT NOT NULL,
            at FLOAT NOT NULL,
            PRIMARY KEY (token_id, key)
        )""",
        """CREATE TABLE watched_folders (
            id TEXT NOT NULL PRIMARY KEY,
            person TEXT DEFAULT '' NOT NULL,
            path TEXT NOT NULL,
            collection TEXT NOT NULL REFERENCES collections (name) ON UPDATE CASCADE ON DELETE CASCADE,
            include TEXT DEFAULT '[]' NOT NULL,
            exclude TEXT DEFAULT '[]' NOT NULL,
            subfolders INTEGER DEFAULT '1' NOT NULL,
            automatic INTEGER DEFAULT '0' NOT NULL,
            paused INTEGER DEFAULT '0' NOT NULL,
            started INTEGER DEFAULT '0' NOT NULL,
            applying INTEGER DEFAULT '0' NOT NULL,
            reachable INTEGER DEFAULT '1' NOT NULL,
            fault TEXT DEFAULT '' NOT NULL,
            job TEXT DEFAULT '' NOT NULL,
            files TEXT DEFAULT '{}' NOT NULL,
            changes TEXT DEFAULT '{}' NOT NULL,
            devices TEXT DEFAULT '{}' NOT NULL,
            owner TEXT DEFAULT '' NOT NULL,
            looked_at FLOAT,
            created_at FLOAT NOT NULL
        )""",
        "CREATE INDEX ix_watched_folders_collection ON watched_folders (collection)",
    ),
    ("ALTER TABLE removed_sources ADD COLUMN kept_seconds FLOAT DEFAULT '0' NOT NULL",),
    ("ALTER TABLE sources ADD COLUMN own_title TEXT", "ALTER TABLE removed_sources ADD COLUMN own_title TEXT"),
    (
        "ALTER TABLE conversations ADD COLUMN imported_at FLOAT",
        "ALTER TABLE conversations ADD COLUMN imported_from TEXT DEFAULT '' NOT NULL",
        "ALTER TABLE runs ADD COLUMN imported INTEGER DEFAULT '0' NOT NULL",
    ),
    (),  # policies of PostgreSQL
    (
        "CREATE INDEX IF NOT EXISTS ix_sources_location ON sources (collection, substr(location, 1, 400))",
        "DROP INDEX IF EXISTS ix_sources_collection",  # which the other one covers
    ),
)
"""One step per version after the oldest, as plain SQL, so that a step does not follow later changes of the tables."""
SCHEMA_VERSION = OLDEST_SCHEMA_VERSION + len(MIGRATIONS)


def migrate(connection: Connection, steps: Sequence[Sequence[str]] = MIGRATIONS) -> None:
    """Update the schema within the caller's transaction: create an empty one, or apply the missing steps.

    Raises `HomeFault` if the schema is newer than this application, or older than any released one.
    """
    newest = OLDEST_SCHEMA_VERSION + len(steps)
    version = _read_version(connection)
    if version > newest:
        raise HomeFault(
            "This folder was last used by a newer version of the application; it was left as it is.",
            "Update the application, or choose another folder with CRAG_HOME.",
        )
    if version != 0 and version < OLDEST_SCHEMA_VERSION:
        raise HomeFault(
            "This folder was last used by an early version of the application that this one cannot read; "
            "it was left as it is.",
            "Open it with that version, or choose another folder with CRAG_HOME.",
        )
    if version == newest:
        return
    if version == 0:
        _create_schema(connection)
    for step in steps[version - OLDEST_SCHEMA_VERSION :] if version else ():
        for statement in step:
            connection.execute(text(statement))
    if connection.dialect.name == "postgresql":
        for statement in policy_statements():
            connection.execute(text(statement))
    _write_version(connection, newest)


def _create_schema(connection: Connection) -> None:
    for statement in _schema_statements(connection.dialect.name):
        connection.exec_driver_sql(statement)
    for statement in POSTGRES_SCHEMA if connection.dialect.name == "postgresql" else FULL_TEXT_INDEX:
        connection.execute(text(statement))


@cache
def _schema_statements(dialect: str) -> tuple[str, ...]:
    """Return the statements that create tables and indexes."""
    statements = []
    engine = create_mock_engine(f"{dialect}://", lambda statement, *_parameters: statements.append(statement))
    metadata.create_all(engine, checkfirst=False)
    return tuple(str(statement.compile(dialect=engine.dialect)) for statement in statements)


def _read_version(connection: Connection) -> int:
    if connection.dialect.name == "sqlite":
        return int(connection.execute(text("PRAGMA user_version")).scalar_one())
    is_new = connection.scalar(text("SELECT to_regclass('schema_version') IS NULL"))
    return 0 if is_new else int(connection.execute(text("SELECT version FROM schema_version")).scalar_one())


def _write_version(connection: Connection, version: int) -> None:
    if connection.dialect.name == "sqlite":
        connection.execute(text(f"PRAGMA user_version = {version}"))
    else:
        connection.execute(text("UPDATE schema_version SET version = :version"), {"version": version})
