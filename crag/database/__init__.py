"""The one SQLite file that holds the truth: connections, tables, migrations."""

from crag.database.engine import Database

__all__ = ["Database"]
