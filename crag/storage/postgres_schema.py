"""Schema objects of PostgreSQL besides the tables: functions, the full-text index, leases."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Text
from sqlalchemy.ext.compiler import compiles

# `rowid` is the order of insertion, as in SQLite. `passage_vocabulary` keeps the number of passages with each term:
# every question needs it, and counting them would read all their rows.
POSTGRES_SCHEMA = (
    "ALTER TABLE runs ADD COLUMN rowid BIGINT GENERATED ALWAYS AS IDENTITY",
    "ALTER TABLE runs ALTER CONSTRAINT runs_version_of_fkey DEFERRABLE",
    # functions of SQLite that statements use
    "CREATE FUNCTION instr(text, text) RETURNS integer IMMUTABLE LANGUAGE sql AS 'SELECT strpos($1, $2)'",
    """CREATE FUNCTION date(double precision, text, text) RETURNS text STABLE LANGUAGE sql
        AS $$ SELECT to_char(to_timestamp($1), 'YYYY-MM-DD') $$""",
    """CREATE TABLE passage_terms (
        rowid BIGINT PRIMARY KEY,
        terms TEXT COLLATE pg_c_utf8 NOT NULL,
        words TEXT[] COLLATE pg_c_utf8 GENERATED ALWAYS AS (string_to_array(translate(terms, E'\\n', ' '), ' ')) STORED
    )""",
    "CREATE INDEX passage_words ON passage_terms USING gin (words)",
    "CREATE TABLE passage_vocabulary (term TEXT COLLATE pg_c_utf8 PRIMARY KEY, doc INTEGER NOT NULL)",
    """CREATE FUNCTION count_added_terms() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO passage_vocabulary (term, doc)
            SELECT term, count(DISTINCT rowid) FROM changed, unnest(words) AS term WHERE term <> '' GROUP BY term
            ON CONFLICT (term) DO UPDATE SET doc = passage_vocabulary.doc + excluded.doc;
        RETURN NULL;
    END $$""",
    """CREATE FUNCTION count_removed_terms() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        WITH fewer AS (
            SELECT term, count(DISTINCT rowid) AS doc FROM changed, unnest(words) AS term WHERE term <> '' GROUP BY term
        )
        UPDATE passage_vocabulary SET doc = passage_vocabulary.doc - fewer.doc
            FROM fewer WHERE passage_vocabulary.term = fewer.term;
        DELETE FROM passage_vocabulary WHERE doc <= 0;
        RETURN NULL;
    END $$""",
    """CREATE TRIGGER added_terms AFTER INSERT ON passage_terms REFERENCING NEW TABLE AS changed
        FOR EACH STATEMENT EXECUTE FUNCTION count_added_terms()""",
    """CREATE TRIGGER removed_terms AFTER DELETE ON passage_terms REFERENCING OLD TABLE AS changed
        FOR EACH STATEMENT EXECUTE FUNCTION count_removed_terms()""",
    "CREATE TABLE process_leases (name TEXT PRIMARY KEY, renewed_at TIMESTAMPTZ NOT NULL)",
    "CREATE TABLE schema_version (version INTEGER NOT NULL)",
    "INSERT INTO schema_version VALUES (0)",
)


@compiles(Text, "postgresql")
def _order_by_code_points(_type: Any, _compiler: Any, **_options: Any) -> str:
    """Order texts by code points, as SQLite does, whatever the locale of the database."""
    return "TEXT COLLATE pg_c_utf8"
