"""All tables. Times are seconds since the epoch, ids are text, vectors are little-endian float32."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Float,
    ForeignKey,
    FromClause,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    column,
    func,
    literal_column,
    table,
)

metadata = MetaData()
_INTEGER = BigInteger().with_variant(Integer, "sqlite")  # integers of SQLite have 64 bits


# The messages form a tree: `head_id` is the last message of the branch shown. Deletion becomes final after a delay.
conversations = Table(
    "conversations",
    metadata,
    Column("id", Text, primary_key=True),
    Column("title", Text, nullable=False),
    Column("created_at", Float, nullable=False),
    Column("updated_at", Float, nullable=False, index=True),
    Column("options", Text, nullable=False),
    Column("person", Text, nullable=False, server_default="", index=True),  # owner: the key of a browser
    Column("pinned", _INTEGER, nullable=False, server_default="0"),
    Column("deleted_at", Float),
    Column("head_id", _INTEGER),
    Column("imported_at", Float),
    Column("imported_from", Text, nullable=False, server_default=""),  # name of the file, if known
)

runs = Table(
    "runs",
    metadata,
    Column("id", Text, primary_key=True),
    Column("conversation_id", Text, ForeignKey("conversations.id", ondelete="CASCADE"), index=True),
    Column("question", Text, nullable=False),
    Column("state", Text, nullable=False, index=True),
    Column("owner", Text, nullable=False),
    Column("started_at", Float, nullable=False, index=True),
    Column("version_of", Text, ForeignKey("runs.id", ondelete="CASCADE"), index=True),  # first answer to the question
    Column("change", Text, nullable=False, server_default=""),  # difference from the previous version
    Column("draft", Text, nullable=False, server_default=""),  # edited text of the query that waits for consent
    Column("gap_closed", _INTEGER, nullable=False, server_default="0"),  # the user closed this coverage gap
    Column("evaluation_id", Text, ForeignKey("evaluations.id", ondelete="CASCADE"), index=True),
    Column("stopping", _INTEGER, nullable=False, server_default="0"),  # stop requested by another process
    Column("imported", _INTEGER, nullable=False, server_default="0"),  # with its conversation
)
RUN_ORDER = literal_column("runs.rowid", Integer)  # as they were asked: `started_at` follows a clock that is set back

messages = Table(
    "messages",
    metadata,
    Column("id", _INTEGER, primary_key=True),
    Column("conversation_id", Text, ForeignKey("conversations.id", ondelete="CASCADE"), nullable=False),
    Column("role", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("created_at", Float, nullable=False),
    Column("run_id", Text, ForeignKey("runs.id", ondelete="CASCADE")),
    Column("parent_id", _INTEGER, index=True),  # no foreign key: SQLite cascades through at most 1,000 levels
    Index("messages_of_conversation", "conversation_id", "id"),
)

# Questions that wait for the answer before them, or for their files. `files` maps the ids of ingest jobs to file names,
# as JSON. A question is on hold while the user edits it.
queued_questions = Table(
    "queued_questions",
    metadata,
    Column("id", _INTEGER, primary_key=True),
    Column("conversation_id", Text, ForeignKey("conversations.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("position", _INTEGER, nullable=False),
    Column("text", Text, nullable=False),
    Column("files", Text, nullable=False, server_default="{}"),
    Column("on_hold", _INTEGER, nullable=False, server_default="0"),
    sqlite_autoincrement=True,  # an id names one question for good: another tab may still show one that was asked
)

events = Table(
    "events",
    metadata,
    Column("run_id", Text, ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    Column("number", _INTEGER, primary_key=True),
    Column("body", Text, nullable=False),
)

# Summary of a run for lists, built from its events when it ends, and rebuilt where it is missing.
run_summaries = Table(
    "run_summaries",
    metadata,
    Column("run_id", Text, ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    Column("action", Text, nullable=False),
    Column("outcome", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("grader", Text, nullable=False),
    Column("policy", Text, nullable=False),
    Column("collection", Text, nullable=False),
    Column("query_sent", Text, nullable=False),
    Column("seconds", Float, nullable=False),
    Column("tokens", _INTEGER, nullable=False),
    Column("best", Float),  # highest score of a library passage
    Column("relevant", _INTEGER, nullable=False),
    Column("ambiguous", _INTEGER, nullable=False),
    Column("irrelevant", _INTEGER, nullable=False),
    Column("unknown", _INTEGER, nullable=False),
    Column("sufficiency", Text, nullable=False, server_default=""),
)

# Every prompt as sent, with the reply. `at` is in seconds since the start of the run; `body` is compressed JSON.
model_calls = Table(
    "model_calls",
    metadata,
    Column("run_id", Text, ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    Column("number", _INTEGER, primary_key=True),
    Column("node", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("at", Float, nullable=False),
    Column("seconds", Float, nullable=False),
    Column("prompt_tokens", _INTEGER),
    Column("answer_tokens", _INTEGER),
    Column("fault", Text, nullable=False, server_default=""),
    Column("body", LargeBinary, nullable=False),
)

feedback = Table(
    "feedback",
    metadata,
    Column("run_id", Text, ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    Column("helpful", _INTEGER, nullable=False),
    Column("reason", Text, nullable=False),
    Column("given_at", Float, nullable=False),
)

# Verdicts overridden by users, with everything that another grader needs to grade the same passages again.
rulings = Table(
    "rulings",
    metadata,
    Column("number", _INTEGER, primary_key=True),
    Column("run_id", Text, nullable=False),
    Column("question", Text, nullable=False),
    Column("passage_id", _INTEGER, nullable=False),
    Column("title", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("collection", Text, nullable=False),
    Column("grader", Text, nullable=False),
    Column("score", Float),
    Column("ruling", Text, nullable=False),
    Column("given_at", Float, nullable=False),
    Column("person", Text, nullable=False, server_default=""),
    UniqueConstraint("run_id", "passage_id"),
    sqlite_autoincrement=True,
)

# Thresholds fitted for a grader on a collection ("": the whole library); `report` is JSON.
calibrations = Table(
    "calibrations",
    metadata,
    Column("collection", Text, primary_key=True),
    Column("grader", Text, primary_key=True),
    Column("lower", Float, nullable=False),
    Column("upper", Float, nullable=False),
    Column("made_at", Float, nullable=False),
    Column("report", Text, nullable=False, server_default="{}"),
)


datasets = Table(
    "datasets",
    metadata,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("person", Text, nullable=False, server_default=""),  # owner: the key of a browser; empty: everyone
    Column("made_at", Float, nullable=False),
)

# `body` holds the reference answer as JSON. `run_id` is the answer from which the question was pinned, if any.
examples = Table(
    "examples",
    metadata,
    Column("number", _INTEGER, primary_key=True),
    Column("dataset_id", Text, ForeignKey("datasets.id", ondelete="CASCADE"), nullable=False),
    Column("key", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("run_id", Text, nullable=False, server_default=""),
    UniqueConstraint("dataset_id", "key"),
)

# `examples` is a copy of the dataset at the start, as compressed JSON. `seconds` is the time spent so far.
evaluations = Table(
    "evaluations",
    metadata,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("dataset", Text, nullable=False),
    Column("dataset_id", Text, nullable=False),
    Column("digest", Text, nullable=False),
    Column("size", _INTEGER, nullable=False),
    Column("examples", LargeBinary, nullable=False),
    Column("variants", Text, nullable=False),
    Column("repetitions", _INTEGER, nullable=False),
    Column("judge", Text, nullable=False, server_default=""),
    Column("parallel", _INTEGER, nullable=False, server_default="0"),
    Column("person", Text, nullable=False, server_default=""),
    Column("state", Text, nullable=False),
    Column("owner", Text, nullable=False, server_default=""),
    Column("stopping", _INTEGER, nullable=False, server_default="0"),  # stop requested, possibly by another process
    Column("fault", Text, nullable=False, server_default=""),
    Column("started_at", Float, nullable=False, index=True),
    Column("ended_at", Float),
    Column("seconds", Float, nullable=False, server_default="0"),
)

# One row per answer. `body` and `judged` are JSON; `label` is the user's judgement of the answer.
evaluation_results = Table(
    "evaluation_results",
    metadata,
    Column("evaluation_id", Text, ForeignKey("evaluations.id", ondelete="CASCADE"), primary_key=True),
    Column("variant", _INTEGER, primary_key=True),
    Column("number", _INTEGER, primary_key=True),
    Column("repetition", _INTEGER, primary_key=True),
    Column("run_id", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("error", Text, nullable=False, server_default=""),
    Column("body", Text, nullable=False),
    Column("judged", Text),
    Column("label", _INTEGER),
)
_is_labelled = evaluation_results.c.label.is_not(None)
Index("labelled_results", evaluation_results.c.evaluation_id, sqlite_where=_is_labelled, postgresql_where=_is_labelled)


# Everything that left the machine. A row is written before its content is sent.
departures = Table(
    "departures",
    metadata,
    Column("number", _INTEGER, primary_key=True),
    Column("at", Float, nullable=False, index=True),
    Column("host", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("what", Text, nullable=False),
    Column("person", Text, nullable=False, server_default=""),  # on whose behalf, if known
    sqlite_autoincrement=True,
)

# Saved options of this home, as JSON by name. A preset is a named set of such values.
preferences = Table(
    "preferences",
    metadata,
    Column("name", Text, primary_key=True),
    Column("value", Text, nullable=False),
)

presets = Table(
    "presets",
    metadata,
    Column("name", Text, primary_key=True),
    Column("changes", Text, nullable=False),
    Column("made_at", Float, nullable=False),
)

# Model downloads by name. `owner` is the downloading process. Sizes are in bytes, `rate` is in bytes per second.
downloads = Table(
    "downloads",
    metadata,
    Column("name", Text, primary_key=True),
    Column("state", Text, nullable=False),
    Column("stage", Text, nullable=False, server_default=""),
    Column("done", _INTEGER, nullable=False, server_default="0"),
    Column("total", _INTEGER, nullable=False, server_default="0"),
    Column("rate", Float, nullable=False, server_default="0"),
    Column("fault", Text, nullable=False, server_default=""),
    Column("owner", Text, nullable=False, server_default=""),
    Column("cancelled", _INTEGER, nullable=False, server_default="0"),
)


spaces = Table(
    "spaces",
    metadata,
    Column("id", Text, primary_key=True),
    Column("provider", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("digest", Text, nullable=False),
    Column("dimension", _INTEGER, nullable=False),
    Column("document_prefix", Text, nullable=False),
    Column("query_prefix", Text, nullable=False),
    Column("canary", LargeBinary),  # vector of a fixed sentence; detects a model changed under the same name
    Column("vector_weight", Float),  # weight of the vector ranking against the word ranking, once fitted
)

# The last row names the active space; the row before it is the target of a rollback.
active_spaces = Table(
    "active_spaces",
    metadata,
    Column("number", _INTEGER, primary_key=True),
    Column("space_id", Text, ForeignKey("spaces.id"), nullable=False),
    Column("activated_at", Float, nullable=False),
    Column("owner", Text, nullable=False, server_default=""),  # the process that switched to it
    sqlite_autoincrement=True,
)

# The user's choices: the one chosen embedder, and those refused until they are chosen again.
embedder_choices = Table(
    "embedder_choices",
    metadata,
    Column("name", Text, primary_key=True),
    Column("chosen", _INTEGER, nullable=False),
)

# People with an account. Others are known by the key of their browser, and share all documents.
users = Table(
    "users",
    metadata,
    Column("id", Text, primary_key=True),
    Column("issuer", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column("email", Text, nullable=False, index=True),  # in lower case
    Column("name", Text, nullable=False),
    Column("handle", Text, nullable=False, unique=True),  # what the names of their collections begin with
    Column("role", Text, nullable=False, server_default="member"),
    Column("first_seen", Float, nullable=False),
    Column("last_seen", Float, nullable=False),
    UniqueConstraint("issuer", "subject"),
)

# `person` is the account that owns a collection. Without an owner it is for everyone on the server, as when `public`.
collections = Table(
    "collections",
    metadata,
    Column("name", Text, primary_key=True),
    Column("created_at", Float, nullable=False),
    Column("person", Text, nullable=False, server_default=""),
    Column("public", Integer, nullable=False, server_default="0"),
)

# What models noted on parts of documents while they summed them up; `sources` are the ids of these documents.
summary_parts = Table(
    "summary_parts",
    metadata,
    Column("model", Text, primary_key=True),
    Column("prompt", Text, primary_key=True),
    Column("notes", Text, nullable=False),
    Column("sources", Text, nullable=False),
    Column("added_at", Float, nullable=False, index=True),
)

# What users keep: texts of their own, answers and passages with their sources. A note outlives its conversation.
notes = Table(
    "notes",
    metadata,
    Column("id", Text, primary_key=True),
    Column("person", Text, nullable=False, server_default="", index=True),
    Column("conversation_id", Text, ForeignKey("conversations.id", ondelete="SET NULL"), index=True),
    Column("title", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("sources", Text, nullable=False, server_default="[]"),  # `Citation`s as JSON
    Column("created_at", Float, nullable=False),
    Column("updated_at", Float, nullable=False),
)

# Tokens with which programs use the API, and the replies that they get again for a request with the same key.
api_tokens = Table(
    "api_tokens",
    metadata,
    Column("id", Text, primary_key=True),
    Column("person", Text, nullable=False, server_default="", index=True),
    Column("name", Text, nullable=False),
    Column("digest", Text, nullable=False, unique=True),
    Column("scopes", Text, nullable=False),
    Column("created_at", Float, nullable=False),
    Column("used_at", Float),
)
api_replies = Table(
    "api_replies",
    metadata,
    Column("token_id", Text, ForeignKey("api_tokens.id", ondelete="CASCADE"), primary_key=True),
    Column("key", Text, primary_key=True),
    Column("request", Text, nullable=False),
    Column("reply", Text, nullable=False),
    Column("at", Float, nullable=False),
)

# Links with which other accounts read a conversation as it is now; the id is the secret part of the address.
shared_links = Table(
    "shared_links",
    metadata,
    Column("id", Text, primary_key=True),
    Column("conversation_id", Text, ForeignKey("conversations.id", ondelete="CASCADE"), nullable=False, unique=True),
    Column("created_at", Float, nullable=False),
)

# The people with whom the owner of a collection shares it, also before they first log in.
collection_members = Table(
    "collection_members",
    metadata,
    Column(
        "collection",
        Text,
        ForeignKey("collections.name", onupdate="CASCADE", ondelete="CASCADE"),
        primary_key=True,
    ),
    Column("email", Text, primary_key=True),
    Column("may_add", Integer, nullable=False, server_default="0"),
)

sources = Table(
    "sources",
    metadata,
    Column("id", Text, primary_key=True),
    Column("title", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("location", Text, nullable=False),
    Column("collection", Text, ForeignKey("collections.name", onupdate="CASCADE"), nullable=False),
    Column("sha256", Text, nullable=False),
    Column("size", _INTEGER, nullable=False),
    Column("pages", _INTEGER),
    Column("chunker", Text, nullable=False),
    Column("added_at", Float, nullable=False),
    Column("author", Text, nullable=False, server_default=""),
    Column("published", Text, nullable=False, server_default=""),  # YYYY-MM-DD, or its known prefix
    Column("found_by", Text, nullable=False, server_default=""),  # the question whose web search found it, if any
    Column("own_title", Text),  # the title that the file states; null unless a user gave the document another one
    UniqueConstraint("collection", "sha256"),
)

LOCATION_START = 400  # characters; PostgreSQL indexes no text of any length


def location_start(table: FromClause = sources) -> ColumnElement[str]:
    """Return the indexed beginning of the location of a source."""
    return func.substr(table.c.location, literal_column("1"), literal_column(str(LOCATION_START)))


Index("ix_sources_location", sources.c.collection, location_start())

passages = Table(
    "passages",
    metadata,
    Column("id", _INTEGER, primary_key=True),
    Column("source_id", Text, ForeignKey("sources.id", ondelete="CASCADE"), nullable=False),
    Column("ordinal", _INTEGER, nullable=False),
    Column("page", _INTEGER),
    Column("heading", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("context_start", _INTEGER, nullable=False),
    Column("context_end", _INTEGER, nullable=False),
    Column("page_starts", Text),  # JSON of `Chunk.page_starts`; NULL: stored before there was this column
    UniqueConstraint("source_id", "ordinal"),
    sqlite_autoincrement=True,  # ids are never reused, so that a stale cache cannot show another text
)

vectors = Table(
    "vectors",
    metadata,
    Column("passage_id", _INTEGER, ForeignKey("passages.id", ondelete="CASCADE"), primary_key=True),
    Column("space_id", Text, ForeignKey("spaces.id"), primary_key=True),
    Column("vector", LargeBinary, nullable=False),
)


_KEPT_WITH = {"source_id": "removed_sources.id", "passage_id": "removed_passages.id"}


def _copy_columns(table: Table) -> list[Column[Any]]:
    """Return the columns of a table of the library for the table of what was removed from it."""
    return [
        Column(
            one.name,
            one.type,
            *(ForeignKey(_KEPT_WITH[name], ondelete="CASCADE") for name in _KEPT_WITH if name == one.name),
            primary_key=one.primary_key,
            nullable=one.nullable,
            index=one.name == "source_id",
        )
        for one in table.columns
    ]


# Sources that were removed, with all their rows, until the removal is final. Until then it can be undone.
removed_sources = Table(
    "removed_sources",
    metadata,
    *_copy_columns(sources),
    Column("removed_at", Float, nullable=False),
    Column("person", Text, nullable=False, server_default=""),  # the account that removed it
    Column("kept_seconds", Float, nullable=False, server_default="0"),  # at least
)
removed_passages = Table("removed_passages", metadata, *_copy_columns(passages), Column("terms", Text, nullable=False))
removed_vectors = Table("removed_vectors", metadata, *_copy_columns(vectors))

# Terms are extracted and stemmed before insertion; the tokenizer only splits them at spaces.
FULL_TEXT_INDEX = (
    """CREATE VIRTUAL TABLE passage_terms USING fts5(terms, tokenize = "ascii tokenchars '.'")""",
    "CREATE VIRTUAL TABLE passage_vocabulary USING fts5vocab(passage_terms, row)",
    "CREATE VIRTUAL TABLE passage_occurrences USING fts5vocab(passage_terms, instance)",
)

passage_terms = table("passage_terms", column("rowid"), column("terms"))  # the rows of the full-text index

# Originals by SHA-256 and uploads by job, for processes on other machines. Empty on SQLite, where they share a folder.
file_pieces = Table(
    "file_pieces",
    metadata,
    Column("kind", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("number", _INTEGER, primary_key=True),
    Column("piece", LargeBinary, nullable=False),
    Column("added_at", Float, nullable=False),
)

# Folders whose files are kept in step with a collection. `files` is what the collection was brought to: for each file
# its time, size, SHA-256 and refusal; `changes` is what the last look found besides. `owner` is the process that looks.
watched_folders = Table(
    "watched_folders",
    metadata,
    Column("id", Text, primary_key=True),
    Column("person", Text, nullable=False, server_default=""),  # the account that watches it
    Column("path", Text, nullable=False),
    Column(
        "collection",
        Text,
        ForeignKey("collections.name", onupdate="CASCADE", ondelete="CASCADE"),
        nullable=False,
        index=True,
    ),
    Column("include", Text, nullable=False, server_default="[]"),
    Column("exclude", Text, nullable=False, server_default="[]"),
    Column("subfolders", Integer, nullable=False, server_default="1"),
    Column("automatic", Integer, nullable=False, server_default="0"),
    Column("paused", Integer, nullable=False, server_default="0"),
    Column("started", Integer, nullable=False, server_default="0"),  # the first preview was applied
    Column("applying", Integer, nullable=False, server_default="0"),
    Column("reachable", Integer, nullable=False, server_default="1"),
    Column("fault", Text, nullable=False, server_default=""),
    Column("job", Text, nullable=False, server_default=""),
    Column("files", Text, nullable=False, server_default="{}"),
    Column("changes", Text, nullable=False, server_default="{}"),
    Column("devices", Text, nullable=False, server_default="{}"),
    Column("owner", Text, nullable=False, server_default=""),
    Column("looked_at", Float),
    Column("created_at", Float, nullable=False),
)

# Jobs that are unfinished, or whose result was not seen yet. `spec` is what to add: an address, a path, or the name of
# a spooled upload. `owner` is the process that works on it.
jobs = Table(
    "jobs",
    metadata,
    Column("number", _INTEGER, primary_key=True),
    Column("id", Text, nullable=False, unique=True),
    Column("kind", Text, nullable=False),
    Column("spec", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("collection", Text, nullable=False),
    Column("options", Text, nullable=False, server_default="{}"),
    Column("state", Text, nullable=False, index=True),
    Column("stage", Text, nullable=False, server_default=""),
    Column("done", _INTEGER, nullable=False, server_default="0"),
    Column("total", _INTEGER, nullable=False, server_default="0"),
    Column("result", Text),
    Column("cancelled", _INTEGER, nullable=False, server_default="0"),
    Column("owner", Text, nullable=False, server_default=""),
    Column("submitted_at", Float, nullable=False),
    Column("person", Text, nullable=False, server_default=""),  # the account that adds it
    sqlite_autoincrement=True,
)

# One row per change of the searchable content: vectors were added or removed for passages with ids from `first_id` to
# `last_id`; both are 0 if no vectors changed. A copy of the vectors, such as the index, catches up from these rows.
epochs = Table(
    "epochs",
    metadata,
    Column("number", _INTEGER, primary_key=True, autoincrement=False),
    Column("first_id", _INTEGER, nullable=False),
    Column("last_id", _INTEGER, nullable=False),
)


__all__ = [
    "FULL_TEXT_INDEX",
    "active_spaces",
    "calibrations",
    "collection_members",
    "collections",
    "conversations",
    "datasets",
    "departures",
    "downloads",
    "embedder_choices",
    "epochs",
    "evaluation_results",
    "evaluations",
    "events",
    "examples",
    "feedback",
    "file_pieces",
    "jobs",
    "messages",
    "metadata",
    "model_calls",
    "passage_terms",
    "passages",
    "preferences",
    "presets",
    "queued_questions",
    "removed_passages",
    "removed_sources",
    "removed_vectors",
    "rulings",
    "run_summaries",
    "runs",
    "sources",
    "spaces",
    "users",
    "vectors",
    "watched_folders",
]
