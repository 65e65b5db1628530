"""The tables of the library: documents, their passages and vectors, and the work of adding them."""

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
    Column("canary", LargeBinary),  # the vector of a fixed sentence: tells a model changed under the same name
    Column("vector_weight", Float),  # of its ranking against that of the words, once it was fitted
)

# The last row names the space that answers; the one before it is what a rollback goes back to.
active_spaces = Table(
    "active_spaces",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("space_id", Text, ForeignKey("spaces.id"), nullable=False),
    Column("activated_at", Float, nullable=False),
    Column("owner", Text, nullable=False, server_default=""),  # the process that switched to it
    sqlite_autoincrement=True,
)

# What a person decided by hand: the one embedder that is chosen, and those refused until they are chosen anew.
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
    Column("published", Text, nullable=False, server_default=""),  # YYYY-MM-DD, or as much of it as is known
    Column("found_by", Text, nullable=False, server_default=""),  # the question whose web search found it, if one did
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
    sqlite_autoincrement=True,  # an id is never used again, so that a stale cache cannot show another text
)

vectors = Table(
    "vectors",
    metadata,
    Column("passage_id", Integer, ForeignKey("passages.id", ondelete="CASCADE"), primary_key=True),
    Column("space_id", Text, ForeignKey("spaces.id"), primary_key=True),
    Column("vector", LargeBinary, nullable=False),
)

# The terms are cut and stemmed before they come here; the tokenizer only separates them at the spaces between them.
FULL_TEXT_INDEX = (
    """CREATE VIRTUAL TABLE passage_terms USING fts5(terms, tokenize = "ascii tokenchars '.'")""",
    "CREATE VIRTUAL TABLE passage_vocabulary USING fts5vocab(passage_terms, row)",
    "CREATE VIRTUAL TABLE passage_occurrences USING fts5vocab(passage_terms, instance)",
)

# Work that is not done yet, or whose end was not seen yet. `spec` is what to add: an address, a path, or the name of a
# spooled upload; `owner` the process at work.
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

# One row for every change of what can be searched: of passages with ids from `first_id` to `last_id` vectors came or
# went; both are 0 where none did. Whoever keeps a copy of the vectors reads here what it has missed.
epochs = Table(
    "epochs",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("first_id", Integer, nullable=False),
    Column("last_id", Integer, nullable=False),
)
