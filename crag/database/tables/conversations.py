"""Tables of conversations, runs and their records, and user rulings on passages."""

from __future__ import annotations

from sqlalchemy import Column, Float, ForeignKey, Index, Integer, LargeBinary, Table, Text, UniqueConstraint

from crag.database.tables.metadata import metadata

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
    Column("version_of", Text, ForeignKey("runs.id", ondelete="CASCADE"), index=True),  # first answer to the question
    Column("change", Text, nullable=False, server_default=""),  # difference from the previous version
    Column("draft", Text, nullable=False, server_default=""),  # edited text of the query that waits for consent
    Column("gap_closed", Integer, nullable=False, server_default="0"),  # the user closed this coverage gap
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
    Column("parent_id", Integer, index=True),  # no foreign key: SQLite cascades through at most 1,000 levels
    Index("messages_of_conversation", "conversation_id", "id"),
)

events = Table(
    "events",
    metadata,
    Column("run_id", Text, ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, primary_key=True),
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
    Column("tokens", Integer, nullable=False),
    Column("best", Float),  # highest score of a library passage
    Column("relevant", Integer, nullable=False),
    Column("ambiguous", Integer, nullable=False),
    Column("irrelevant", Integer, nullable=False),
    Column("unknown", Integer, nullable=False),
)

# Every prompt as sent, with the reply. `at` is in seconds since the start of the run; `body` is compressed JSON.
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

# Verdicts overridden by users, with everything that another grader needs to grade the same passages again.
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
