"""Tables of datasets and evaluations."""

from __future__ import annotations

from sqlalchemy import Column, Float, ForeignKey, Index, Integer, LargeBinary, Table, Text, UniqueConstraint

from crag.database.tables.metadata import metadata

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
    Column("number", Integer, primary_key=True),
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
    Column("size", Integer, nullable=False),
    Column("examples", LargeBinary, nullable=False),
    Column("variants", Text, nullable=False),
    Column("repetitions", Integer, nullable=False),
    Column("judge", Text, nullable=False, server_default=""),
    Column("parallel", Integer, nullable=False, server_default="0"),
    Column("person", Text, nullable=False, server_default=""),
    Column("state", Text, nullable=False),
    Column("owner", Text, nullable=False, server_default=""),
    Column("stopping", Integer, nullable=False, server_default="0"),  # stop requested, possibly by another process
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
    Column("variant", Integer, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("repetition", Integer, primary_key=True),
    Column("run_id", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("error", Text, nullable=False, server_default=""),
    Column("body", Text, nullable=False),
    Column("judged", Text),
    Column("label", Integer),
)
Index("labelled_results", evaluation_results.c.evaluation_id, sqlite_where=evaluation_results.c.label.is_not(None))
