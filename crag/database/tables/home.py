"""Tables of the home as a whole: outbound records, preferences, downloads."""

from __future__ import annotations

from sqlalchemy import Column, Float, Integer, Table, Text

from crag.database.tables.metadata import metadata

# Everything that left the machine. A row is written before its content is sent.
departures = Table(
    "departures",
    metadata,
    Column("number", Integer, primary_key=True),
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
    Column("done", Integer, nullable=False, server_default="0"),
    Column("total", Integer, nullable=False, server_default="0"),
    Column("rate", Float, nullable=False, server_default="0"),
    Column("fault", Text, nullable=False, server_default=""),
    Column("owner", Text, nullable=False, server_default=""),
    Column("cancelled", Integer, nullable=False, server_default="0"),
)
