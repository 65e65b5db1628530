"""Every table. Times are seconds since the epoch, identifiers are text, vectors are little-endian float32."""

from __future__ import annotations

from sqlalchemy import (
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
)

metadata = MetaData()

# The library -------------------------------------------------------------------------------------------------------

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

# Conversations and runs --------------------------------------------------------------------------------------------

# Its messages are a tree: `head_id` is the last message of the branch that is shown. A deleted one is kept for a while.
conversations = Table(
    "conversations",
    metadata,
    Column("id", Text, primary_key=True),
    Column("title", Text, nullable=False),
    Column("created_at", Float, nullable=False),
    Column("updated_at", Float, nullable=False, index=True),
    Column("options", Text, nullable=False),
    Column("person", Text, nullable=False, server_default="", index=True),  # whose it is: the key of a browser
    Column("pinned", Integer, nullable=False, server_default="0"),
    Column("deleted_at", Float),
    Column("head_id", Integer),
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
    Column("version_of", Text, ForeignKey("runs.id", ondelete="CASCADE"), index=True),  # the first answer to the same
    Column("change", Text, nullable=False, server_default=""),  # in what it differs from the version before
    Column("draft", Text, nullable=False, server_default=""),  # of the query that waits for consent, as edited so far
    Column("gap_closed", Integer, nullable=False, server_default="0"),  # a person said that nothing is missing
)

messages = Table(
    "messages",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("conversation_id", Text, ForeignKey("conversations.id", ondelete="CASCADE"), nullable=False),
    Column("role", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("created_at", Float, nullable=False),
    Column("run_id", Text, ForeignKey("runs.id", ondelete="CASCADE")),
    Column("parent_id", Integer, index=True),  # no foreign key: SQLite deletes chains of a thousand at most
    Index("messages_of_conversation", "conversation_id", "id"),
)

events = Table(
    "events",
    metadata,
    Column("run_id", Text, ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("body", Text, nullable=False),
)

# What a run came to, to be listed by: made of its events when it ends, and made again where it is missing.
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
    Column("tokens", Integer, nullable=False),
    Column("best", Float),  # the highest score of a passage of the library
    Column("relevant", Integer, nullable=False),
    Column("ambiguous", Integer, nullable=False),
    Column("irrelevant", Integer, nullable=False),
    Column("unknown", Integer, nullable=False),
)

# Every prompt as it was sent, and what came back. `at` in seconds since the run began; `body` is compressed JSON.
model_calls = Table(
    "model_calls",
    metadata,
    Column("run_id", Text, ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("node", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("at", Float, nullable=False),
    Column("seconds", Float, nullable=False),
    Column("prompt_tokens", Integer),
    Column("answer_tokens", Integer),
    Column("fault", Text, nullable=False, server_default=""),
    Column("body", LargeBinary, nullable=False),
)

feedback = Table(
    "feedback",
    metadata,
    Column("run_id", Text, ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    Column("helpful", Integer, nullable=False),
    Column("reason", Text, nullable=False),
    Column("given_at", Float, nullable=False),
)

# What people decided of passages against the grader, with all that another grader needs to judge the same again.
rulings = Table(
    "rulings",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("run_id", Text, nullable=False),
    Column("question", Text, nullable=False),
    Column("passage_id", Integer, nullable=False),
    Column("title", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("collection", Text, nullable=False),
    Column("grader", Text, nullable=False),
    Column("score", Float),
    Column("ruling", Text, nullable=False),
    Column("given_at", Float, nullable=False),
    UniqueConstraint("run_id", "passage_id"),
    sqlite_autoincrement=True,
)

# Thresholds that were fitted for a grader on a collection ("": the whole library); `report` is JSON.
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

# Everything that left the machine. Rows are written before anything is sent.
departures = Table(
    "departures",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("at", Float, nullable=False, index=True),
    Column("host", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("what", Text, nullable=False),
    Column("person", Text, nullable=False, server_default=""),  # for whom, where that is known
    sqlite_autoincrement=True,
)

# What a person settled for this home, as JSON by name; presets are several such values under one name.
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

# What is or was fetched of models, by name; `owner` is what fetches it. Sizes in bytes, `rate` in bytes a second.
downloads = Table(
    "downloads",
    metadata,
    Column("name", Text, primary_key=True),
    Column("state", Text, nullable=False),
    Column("stage", Text, nullable=False, server_default=""),
    Column("done", Integer, nullable=False, server_default="0"),
    Column("total", Integer, nullable=False, server_default="0"),
    Column("rate", Float, nullable=False, server_default="0"),
    Column("fault", Text, nullable=False, server_default=""),
    Column("owner", Text, nullable=False, server_default=""),
    Column("cancelled", Integer, nullable=False, server_default="0"),
)
