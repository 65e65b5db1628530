"""Tables of the library: documents, passages, vectors, and jobs that add documents."""

from __future__ import annotations

from sqlalchemy import Column, Float, ForeignKey, Integer, LargeBinary, Table, Text, UniqueConstraint

from crag.database.tables.metadata import metadata

spaces = Table(
    "spaces",
    metadata,
    Column("id", Text, primary_key=True),
    Column("provider", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("digest", Text, nullable=False),
    Column("dimension", Integer, nullable=False),
    Column("document_prefix", Text, nullable=False),
    Column("query_prefix", Text, nullable=False),
    Column("canary", LargeBinary),  # vector of a fixed sentence; detects a model changed under the same name
    Column("vector_weight", Float),  # weight of the vector ranking against the word ranking, once fitted
)

# The last row names the active space; the row before it is the target of a rollback.
active_spaces = Table(
    "active_spaces",
    metadata,
    Column("number", Integer, primary_key=True),
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
    Column("chosen", Integer, nullable=False),
)

collections = Table(
    "collections",
    metadata,
    Column("name", Text, primary_key=True),
    Column("created_at", Float, nullable=False),
)

sources = Table(
    "sources",
    metadata,
    Column("id", Text, primary_key=True),
    Column("title", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("location", Text, nullable=False),
    Column("collection", Text, ForeignKey("collections.name", onupdate="CASCADE"), nullable=False, index=True),
    Column("sha256", Text, nullable=False),
    Column("size", Integer, nullable=False),
    Column("pages", Integer),
    Column("chunker", Text, nullable=False),
    Column("added_at", Float, nullable=False),
    Column("author", Text, nullable=False, server_default=""),
    Column("published", Text, nullable=False, server_default=""),  # YYYY-MM-DD, or its known prefix
    Column("found_by", Text, nullable=False, server_default=""),  # the question whose web search found it, if any
    UniqueConstraint("collection", "sha256"),
)

passages = Table(
    "passages",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("source_id", Text, ForeignKey("sources.id", ondelete="CASCADE"), nullable=False),
    Column("ordinal", Integer, nullable=False),
    Column("page", Integer),
    Column("heading", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("context_start", Integer, nullable=False),
    Column("context_end", Integer, nullable=False),
    UniqueConstraint("source_id", "ordinal"),
    sqlite_autoincrement=True,  # ids are never reused, so that a stale cache cannot show another text
)

vectors = Table(
    "vectors",
    metadata,
    Column("passage_id", Integer, ForeignKey("passages.id", ondelete="CASCADE"), primary_key=True),
    Column("space_id", Text, ForeignKey("spaces.id"), primary_key=True),
    Column("vector", LargeBinary, nullable=False),
)

# Terms are extracted and stemmed before insertion; the tokenizer only splits them at spaces.
FULL_TEXT_INDEX = (
    """CREATE VIRTUAL TABLE passage_terms USING fts5(terms, tokenize = "ascii tokenchars '.'")""",
    "CREATE VIRTUAL TABLE passage_vocabulary USING fts5vocab(passage_terms, row)",
    "CREATE VIRTUAL TABLE passage_occurrences USING fts5vocab(passage_terms, instance)",
)

# Jobs that are unfinished, or whose result was not seen yet. `spec` is what to add: an address, a path, or the name of
# a spooled upload. `owner` is the process that works on it.
jobs = Table(
    "jobs",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("id", Text, nullable=False, unique=True),
    Column("kind", Text, nullable=False),
    Column("spec", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("collection", Text, nullable=False),
    Column("options", Text, nullable=False, server_default="{}"),
    Column("state", Text, nullable=False, index=True),
    Column("stage", Text, nullable=False, server_default=""),
    Column("done", Integer, nullable=False, server_default="0"),
    Column("total", Integer, nullable=False, server_default="0"),
    Column("result", Text),
    Column("cancelled", Integer, nullable=False, server_default="0"),
    Column("owner", Text, nullable=False, server_default=""),
    Column("submitted_at", Float, nullable=False),
    sqlite_autoincrement=True,
)

# One row per change of the searchable content: vectors were added or removed for passages with ids from `first_id` to
# `last_id`; both are 0 if no vectors changed. A copy of the vectors, such as the index, catches up from these rows.
epochs = Table(
    "epochs",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("first_id", Integer, nullable=False),
    Column("last_id", Integer, nullable=False),
)
