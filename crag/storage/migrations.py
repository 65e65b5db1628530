"""Schema creation and numbered migrations. A newer schema is refused."""

from __future__ import annotations

from sqlalchemy import Connection, text

from crag.errors import HomeFault
from crag.storage.tables import FULL_TEXT_INDEX, metadata

# Conversations stored every option. Keep only those that differ from the defaults of that version,
# and the web search mode in any case.
_KEEP_CHANGED_OPTIONS = """
UPDATE conversations SET options = (
    SELECT json_group_object(mine.key, json(conversations.options -> mine.fullkey))
    FROM json_each(conversations.options) AS mine
    WHERE NOT EXISTS (
        SELECT 1
        FROM json_each(
            '{"model": "auto", "k": 4, "policy": "paper", "refine": true, "rewrite": "question",
              "web_results": 3, "join_web": false, "parent_context": false, "grader": "auto", "grader_model": "",
              "thresholds": null, "fetch_pages": false, "collection": "", "source_ids": [], "preset": ""}'
        ) AS usual
        WHERE usual.key = mine.key AND usual.value IS mine.value
    )
)
"""

# One step per version, as plain SQL, so that a step does not change with the current table definitions.
_MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        "ALTER TABLE spaces ADD COLUMN canary BLOB",
        "ALTER TABLE spaces ADD COLUMN vector_weight FLOAT",
        "ALTER TABLE sources ADD COLUMN author TEXT DEFAULT '' NOT NULL",
        "ALTER TABLE sources ADD COLUMN published TEXT DEFAULT '' NOT NULL",
        (
            "CREATE TABLE active_spaces (number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, space_id TEXT NOT NULL,"
            " activated_at FLOAT NOT NULL, owner TEXT DEFAULT '' NOT NULL,"
            " FOREIGN KEY(space_id) REFERENCES spaces (id))"
        ),
        (
            "INSERT INTO active_spaces (space_id, activated_at) SELECT space_id, strftime('%s', 'now') FROM vectors"
            " GROUP BY space_id ORDER BY count(*) DESC LIMIT 1"
        ),
        "CREATE TABLE embedder_choices (name TEXT NOT NULL PRIMARY KEY, chosen INTEGER NOT NULL)",
        (
            "CREATE TABLE jobs (number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL,"
            " kind TEXT NOT NULL, spec TEXT NOT NULL, name TEXT NOT NULL, collection TEXT NOT NULL,"
            " options TEXT DEFAULT '{}' NOT NULL, state TEXT NOT NULL, stage TEXT DEFAULT '' NOT NULL,"
            " done INTEGER DEFAULT '0' NOT NULL, total INTEGER DEFAULT '0' NOT NULL, result TEXT,"
            " cancelled INTEGER DEFAULT '0' NOT NULL, owner TEXT DEFAULT '' NOT NULL, submitted_at FLOAT NOT NULL,"
            " UNIQUE (id))"
        ),
        "CREATE INDEX ix_jobs_state ON jobs (state)",
        (
            "CREATE TABLE epochs (number INTEGER NOT NULL PRIMARY KEY, first_id INTEGER NOT NULL,"
            " last_id INTEGER NOT NULL)"
        ),
        "INSERT INTO epochs SELECT value, 0, 0 FROM counters WHERE name = 'library_epoch'",
        "DROP TABLE counters",
        "CREATE VIRTUAL TABLE passage_occurrences USING fts5vocab(passage_terms, instance)",
    ),
    (
        "ALTER TABLE runs ADD COLUMN version_of TEXT REFERENCES runs (id) ON DELETE CASCADE",
        "ALTER TABLE runs ADD COLUMN change TEXT DEFAULT '' NOT NULL",
        "ALTER TABLE runs ADD COLUMN draft TEXT DEFAULT '' NOT NULL",
        "CREATE INDEX ix_runs_version_of ON runs (version_of)",
        (
            "CREATE TABLE rulings (number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, run_id TEXT NOT NULL,"
            " question TEXT NOT NULL, passage_id INTEGER NOT NULL, title TEXT NOT NULL, text TEXT NOT NULL,"
            " collection TEXT NOT NULL, grader TEXT NOT NULL, score FLOAT, ruling TEXT NOT NULL,"
            " given_at FLOAT NOT NULL, UNIQUE (run_id, passage_id))"
        ),
        (
            "CREATE TABLE calibrations (collection TEXT NOT NULL, grader TEXT NOT NULL, lower FLOAT NOT NULL,"
            " upper FLOAT NOT NULL, made_at FLOAT NOT NULL, report TEXT DEFAULT '{}' NOT NULL,"
            " PRIMARY KEY (collection, grader))"
        ),
        (
            "CREATE TABLE departures (number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, at FLOAT NOT NULL,"
            " host TEXT NOT NULL, kind TEXT NOT NULL, what TEXT NOT NULL)"
        ),
        "CREATE INDEX ix_departures_at ON departures (at)",
    ),
    (
        "CREATE TABLE preferences (name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL)",
        "CREATE TABLE presets (name TEXT NOT NULL PRIMARY KEY, changes TEXT NOT NULL, made_at FLOAT NOT NULL)",
        (
            "CREATE TABLE downloads (name TEXT NOT NULL PRIMARY KEY, state TEXT NOT NULL,"
            " stage TEXT DEFAULT '' NOT NULL, done INTEGER DEFAULT '0' NOT NULL, total INTEGER DEFAULT '0' NOT NULL,"
            " rate FLOAT DEFAULT '0' NOT NULL, fault TEXT DEFAULT '' NOT NULL, owner TEXT DEFAULT '' NOT NULL,"
            " cancelled INTEGER DEFAULT '0' NOT NULL)"
        ),
        _KEEP_CHANGED_OPTIONS,
    ),
    (
        "ALTER TABLE sources ADD COLUMN found_by TEXT DEFAULT '' NOT NULL",
        "ALTER TABLE conversations ADD COLUMN person TEXT DEFAULT '' NOT NULL",
        "ALTER TABLE conversations ADD COLUMN pinned INTEGER DEFAULT '0' NOT NULL",
        "ALTER TABLE conversations ADD COLUMN deleted_at FLOAT",
        "ALTER TABLE conversations ADD COLUMN head_id INTEGER",
        "CREATE INDEX ix_conversations_person ON conversations (person)",
        "ALTER TABLE runs ADD COLUMN gap_closed INTEGER DEFAULT '0' NOT NULL",
        "CREATE INDEX ix_runs_started_at ON runs (started_at)",
        "ALTER TABLE messages ADD COLUMN parent_id INTEGER",
        "CREATE INDEX ix_messages_parent_id ON messages (parent_id)",
        (
            "UPDATE messages SET parent_id = (SELECT max(before.id) FROM messages AS before"
            " WHERE before.conversation_id = messages.conversation_id AND before.id < messages.id)"
        ),
        (
            "UPDATE conversations SET head_id = (SELECT max(messages.id) FROM messages"
            " WHERE messages.conversation_id = conversations.id)"
        ),
        (
            "CREATE TABLE run_summaries (run_id TEXT NOT NULL PRIMARY KEY, action TEXT NOT NULL,"
            " outcome TEXT NOT NULL, model TEXT NOT NULL, grader TEXT NOT NULL, policy TEXT NOT NULL,"
            " collection TEXT NOT NULL, query_sent TEXT NOT NULL, seconds FLOAT NOT NULL, tokens INTEGER NOT NULL,"
            " best FLOAT, relevant INTEGER NOT NULL, ambiguous INTEGER NOT NULL, irrelevant INTEGER NOT NULL,"
            " unknown INTEGER NOT NULL, FOREIGN KEY(run_id) REFERENCES runs (id) ON DELETE CASCADE)"
        ),
        (
            "CREATE TABLE model_calls (run_id TEXT NOT NULL, number INTEGER NOT NULL, node TEXT NOT NULL,"
            " model TEXT NOT NULL, at FLOAT NOT NULL, seconds FLOAT NOT NULL, prompt_tokens INTEGER,"
            " answer_tokens INTEGER, fault TEXT DEFAULT '' NOT NULL, body BLOB NOT NULL, PRIMARY KEY (run_id, number),"
            " FOREIGN KEY(run_id) REFERENCES runs (id) ON DELETE CASCADE)"
        ),
        "ALTER TABLE departures ADD COLUMN person TEXT DEFAULT '' NOT NULL",
    ),
    (
        (
            "CREATE TABLE datasets (id TEXT NOT NULL PRIMARY KEY, name TEXT NOT NULL, kind TEXT NOT NULL,"
            " person TEXT DEFAULT '' NOT NULL, made_at FLOAT NOT NULL)"
        ),
        (
            "CREATE TABLE examples (number INTEGER NOT NULL PRIMARY KEY, dataset_id TEXT NOT NULL, key TEXT NOT NULL,"
            " body TEXT NOT NULL, run_id TEXT DEFAULT '' NOT NULL, UNIQUE (dataset_id, key),"
            " FOREIGN KEY(dataset_id) REFERENCES datasets (id) ON DELETE CASCADE)"
        ),
        (
            "CREATE TABLE evaluations (id TEXT NOT NULL PRIMARY KEY, name TEXT NOT NULL, kind TEXT NOT NULL,"
            " dataset TEXT NOT NULL, dataset_id TEXT NOT NULL, digest TEXT NOT NULL, size INTEGER NOT NULL,"
            " examples BLOB NOT NULL, variants TEXT NOT NULL, repetitions INTEGER NOT NULL,"
            " judge TEXT DEFAULT '' NOT NULL, parallel INTEGER DEFAULT '0' NOT NULL, person TEXT DEFAULT '' NOT NULL,"
            " state TEXT NOT NULL, owner TEXT DEFAULT '' NOT NULL, stopping INTEGER DEFAULT '0' NOT NULL,"
            " fault TEXT DEFAULT '' NOT NULL, started_at FLOAT NOT NULL, ended_at FLOAT,"
            " seconds FLOAT DEFAULT '0' NOT NULL)"
        ),
        "CREATE INDEX ix_evaluations_started_at ON evaluations (started_at)",
        (
            "CREATE TABLE evaluation_results (evaluation_id TEXT NOT NULL, variant INTEGER NOT NULL,"
            " number INTEGER NOT NULL, repetition INTEGER NOT NULL, run_id TEXT NOT NULL, state TEXT NOT NULL,"
            " error TEXT DEFAULT '' NOT NULL, body TEXT NOT NULL, judged TEXT, label INTEGER,"
            " PRIMARY KEY (evaluation_id, variant, number, repetition),"
            " FOREIGN KEY(evaluation_id) REFERENCES evaluations (id) ON DELETE CASCADE)"
        ),
        "CREATE INDEX labelled_results ON evaluation_results (evaluation_id) WHERE label IS NOT NULL",
        "ALTER TABLE runs ADD COLUMN evaluation_id TEXT REFERENCES evaluations (id) ON DELETE CASCADE",
        "CREATE INDEX ix_runs_evaluation_id ON runs (evaluation_id)",
    ),
)
SCHEMA_VERSION = len(_MIGRATIONS) + 1


def migrate(connection: Connection) -> None:
    """Update the schema within the caller's transaction: create an empty one, or apply the missing steps.

    Raises `HomeFault` if the schema is newer than this application.
    """
    version: int = connection.execute(text("PRAGMA user_version")).scalar_one()
    if version > SCHEMA_VERSION:
        raise HomeFault(
            "This folder was last used by a newer version of the application; it was left as it is.",
            "Update the application, or choose another folder with CRAG_HOME.",
        )
    if version == SCHEMA_VERSION:
        return
    if version == 0:
        metadata.create_all(connection)
    statements = FULL_TEXT_INDEX if version == 0 else [line for step in _MIGRATIONS[version - 1 :] for line in step]
    for statement in statements:
        connection.execute(text(statement))
    connection.execute(text(f"PRAGMA user_version = {SCHEMA_VERSION}"))
