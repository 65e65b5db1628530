"""The tables of conversations, of runs with all that is kept of each, and of what people decided of passages."""

from __future__ import annotations

from sqlalchemy import Column, Float, ForeignKey, Index, Integer, LargeBinary, Table, Text, UniqueConstraint

from crag.database.tables.metadata import metadata

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
    Column("evaluation_id", Text, ForeignKey("evaluations.id", ondelete="CASCADE"), index=True),
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
