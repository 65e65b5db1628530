"""One read-only SELECT over the tables of documents."""

from pathlib import Path

import pytest

from crag.cancellation import Cancellation, Stopped
from crag.tables.data_table import DataTable, TableColumn, TableRow
from crag.tables.query import MAX_RESULT_ROWS, MAX_USED_ROWS, QueryRefused, QueryResult, run_query

BOATS = DataTable(
    "table_1",
    "Boats",
    "boats",
    (
        TableColumn("Boat", "boat", "text"),
        TableColumn("Price (€)", "price", "number", "€"),
        TableColumn("Since", "since", "date"),
    ),
    tuple(
        TableRow(values, " | ".join(map(str, values)), at)
        for at, values in enumerate(
            [("Tern", 400.0, "2020-03-02"), ("Gull", 900.0, "2021-04-03"), ("Lark", None, None), ("Kite", 900.0, None)]
        )
    ),
)


def many_rows(count: int) -> DataTable:
    kinds = ("text", "number", "number", "text", "text", "text", "number", "date")
    columns = tuple(TableColumn(f"c{at}", f"c{at}", kind) for at, kind in enumerate(kinds))
    rows = (
        TableRow((f"n{at}", float(at), 1.5, "a", "b", None, 2.0, "2024-01-01"), f"row {at}", 1) for at in range(count)
    )
    return DataTable("table_2", "Many", "many", columns, tuple(rows))


def run(sql: str, *tables: DataTable) -> QueryResult:
    return run_query(sql, tables or (BOATS,), Cancellation())


@pytest.mark.parametrize(
    ("sql", "rows", "used"),
    [
        ("SELECT sum(price) FROM table_1", [(2200.0,)], ["Tern", "Gull", "Lark", "Kite"]),
        ("SELECT boat FROM table_1 WHERE price > 500", [("Gull",), ("Kite",)], ["Gull", "Kite"]),
        (
            "SELECT boat FROM table_1 WHERE price < 500 UNION ALL SELECT boat FROM table_1 WHERE price > 500",
            [("Tern",), ("Gull",), ("Kite",)],
            ["Tern", "Gull", "Kite"],
        ),
        ("SELECT b.boat FROM table_1 b WHERE b.price > 500", [("Gull",), ("Kite",)], ["Gull", "Kite"]),
        ("select BOAT from TABLE_1 order by 1 limit 1;", [("Gull",)], ["Gull"]),
        ("SELECT count(*) /* all */ FROM table_1 -- of them", [(4,)], ["Tern", "Gull", "Lark", "Kite"]),
        ("SELECT since FROM table_1 WHERE boat = 'Tern'", [("2020-03-02",)], ["Tern"]),
        ("SELECT boat FROM table_1 WHERE price = (SELECT max(price) FROM table_1)", [("Gull",), ("Kite",)], None),
        ("WITH x AS (SELECT * FROM table_1 WHERE price < 500) SELECT boat FROM x", [("Tern",)], ["Tern"]),
        ("SELECT round(100 * (SELECT sum(price) FROM table_1 WHERE boat = 'Tern') / 800)", [(50.0,)], ["Tern"]),
        ("SELECT price, count(*) AS n FROM table_1 GROUP BY price HAVING n > 1", [(900.0, 2)], None),
        ("SELECT a.boat FROM table_1 a JOIN table_1 b ON a.price < b.price LIMIT 1", [("Tern",)], None),
        ("SELECT price > 500 FROM table_1 LIMIT 1", [("false",)], ["Tern"]),
        ("SELECT range FROM range(2)", [(0,), (1,)], []),
        (
            "SELECT boat FROM table_1 WHERE boat ILIKE '%k%' ORDER BY boat DESC",
            [("Lark",), ("Kite",)],
            ["Lark", "Kite"],
        ),
    ],
)
def test_a_select_returns_values_and_the_rows_it_rests_on(
    sql: str, rows: list[tuple[object, ...]], used: list[str] | None
) -> None:
    result = run(sql)
    assert list(result.rows) == rows
    assert used is None or [row.values[0] for row in result.used] == used


def test_results_are_cut_and_say_how_many_there_are() -> None:
    result = run("SELECT * FROM table_2 ORDER BY c1", many_rows(1000))
    assert (len(result.rows), result.total_rows) == (MAX_RESULT_ROWS, 1000)
    assert (len(result.used), result.used_count) == (MAX_USED_ROWS, 1000)
    assert result.columns[:2] == ("c0", "c1")
    assert result.rows[0] == ("n0", 0.0, 1.5, "a", "b", None, 2.0, "2024-01-01")


HOSTILE = [
    "SELECT * FROM read_csv('{file}')",
    "SELECT * FROM read_csv_auto('{file}')",
    "SELECT * FROM read_text('{file}')",
    "SELECT * FROM read_blob('{file}')",
    "SELECT * FROM read_json('{file}')",
    "SELECT * FROM read_json_auto('{file}')",
    "SELECT * FROM read_parquet('{file}')",
    "SELECT * FROM parquet_scan('{file}')",
    "SELECT * FROM sqlite_scan('{file}', 'x')",
    "SELECT * FROM sniff_csv('{file}')",
    "SELECT * FROM glob('/etc/*')",
    "SELECT * FROM '{file}'",
    'SELECT * FROM "{file}"',
    "FROM '{file}'",
    "TABLE '{file}'",
    "SELECT * FROM (SELECT * FROM '{file}') t",
    "SELECT * FROM table_1 WHERE boat IN (SELECT * FROM '{file}')",
    "SELECT * FROM table_1 JOIN '{file}' ON true",
    "SELECT (SELECT content FROM read_text('{file}'))",
    "SELECT * FROM table_1 ORDER BY (SELECT content FROM read_text('{file}'))",
    "SELECT 1 FROM table_1 LIMIT (SELECT count(*) FROM read_text('{file}'))",
    "WITH x AS (SELECT * FROM read_text('{file}')) SELECT * FROM x",
    'WITH "{file}" AS (SELECT 1) SELECT * FROM "{file}"',
    "SELECT * FROM table_1 UNION ALL SELECT content, 1, NULL FROM read_text('{file}')",
    "SELECT getenv('CRAG_CANARY')",
    "SELECT current_setting('home_directory')",
    "SELECT * FROM query('SELECT 1')",
    "SELECT * FROM query_table('table_1')",
    "SELECT * FROM duckdb_settings()",
    "SELECT * FROM duckdb_secrets()",
    "SELECT * FROM duckdb_tables",
    "WITH duckdb_tables AS (SELECT * FROM duckdb_tables) SELECT * FROM duckdb_tables",
    "SELECT * FROM pragma_version()",
    "SELECT * FROM pragma_table_info('table_1')",
    "SELECT * FROM information_schema.tables",
    "SELECT * FROM sqlite_master",
    "SELECT * FROM pg_catalog.pg_tables",
    "SELECT * FROM memory.main.table_1",
    "SELECT * FROM tables",
    "SELECT * FROM BOATS",
    "DESCRIBE table_1",
    "SHOW ALL TABLES",
    "SUMMARIZE table_1",
    "EXPLAIN ANALYZE SELECT 1",
    "COPY table_1 TO '{file}'",
    "COPY (SELECT 1) TO '{file}'",
    "EXPORT DATABASE '{folder}'",
    "IMPORT DATABASE '{folder}'",
    "ATTACH '{folder}/other.db'",
    "ATTACH '{folder}/other.db' AS o; SELECT 1",
    "INSTALL httpfs",
    "LOAD httpfs",
    "PRAGMA database_list",
    "SET memory_limit = '99GB'",
    "RESET ALL",
    "CALL pragma_version()",
    "CREATE TABLE x AS SELECT 1",
    "CREATE MACRO f() AS 1",
    "INSERT INTO table_1 VALUES ('x', 1, NULL)",
    "UPDATE table_1 SET price = 0",
    "DELETE FROM table_1",
    "DROP TABLE table_1",
    "WITH x AS (INSERT INTO table_1 VALUES ('x', 1, NULL) RETURNING *) SELECT * FROM x",
    "SELECT 1; SELECT 2",
    "SELECT 1; DROP TABLE table_1",
    "SELECT 1 /* ; */ ; COPY table_1 TO '{file}' --",
    "SELECT 1 -- x\n; DELETE FROM table_1",
    "SELECT 1) UNION (SELECT 2",
    "SELECT * FROM range(1000000000)",
    "SELECT * FROM generate_series(1, 100000 * 100000)",
    "SELECT * FROM range((SELECT 5))",
    "SELECT * FROM unnest(read_text('{file}'))",
    "SELECT * FROM unnest((SELECT [content] FROM read_text('{file}')))",
    "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT * FROM r",
    "SELECT repeat('x', 1000000000)",
    "SELECT list_transform([1], lambda x: x + 1)",
    "SELECT error('x')",
    "SELECT nextval('x')",
    "SELECT main.sum(price) FROM table_1",
    "SELECT write_log('x')",
    "SELECT random()",
    "SELECT * FROM table_1 TABLESAMPLE 50%",
    "SELECT * FROM table_1 USING SAMPLE 2",
    "SELECT * FROM (SELECT * FROM table_1) x TABLESAMPLE 2 ROWS",
    "SELECT CAST('x' AS main.other)",
    "SELECT 'x'::BLOB",
    "SELECT CAST('a' AS ENUM('a'))",
    "SELECT #1 FROM table_1",
    "SELECT $1",
    "SELECT ?",
    "PIVOT table_1 ON boat USING sum(price)",
    "SELECT",
    "",
    "SELECT " + "(" * 1500 + "1" + ")" * 1500,
    "SELECT '" + "x" * 5000 + "'",
]


@pytest.mark.parametrize("sql", HOSTILE)
def test_no_other_statement_runs(sql: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CRAG_CANARY", "c4n4ry")
    file = tmp_path / "canary.csv"
    file.write_text("c4n4ry\n1\n")
    with pytest.raises(QueryRefused) as refused:
        run(sql.replace("{file}", str(file)).replace("{folder}", str(tmp_path)))
    assert "c4n4ry" not in str(refused.value)
    assert [one.name for one in tmp_path.iterdir()] == ["canary.csv"]
    assert file.read_text() == "c4n4ry\n1\n"


def test_the_connection_alone_refuses_files(tmp_path: Path) -> None:
    """The second wall: a function that the list of allowed ones let through by mistake reads nothing."""
    import duckdb

    from crag.tables.query import _open

    file = tmp_path / "canary.csv"
    file.write_text("c4n4ry\n1\n")
    connection = _open()
    connection.execute("SET lock_configuration = true")
    for sql in ("SELECT * FROM read_text('{file}')", "SELECT * FROM '{file}'", "SET enable_external_access = true"):
        with pytest.raises(duckdb.Error):
            connection.execute(sql.replace("{file}", str(file)))
    connection.close()


def test_a_result_of_too_much_text_is_refused() -> None:
    with pytest.raises(QueryRefused, match="more than 1,000,000 characters"):
        run(f"SELECT replace('{'x' * 1000}', 'x', '{'y' * 1001}')")


def test_a_long_query_is_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crag.tables.query._SECONDS", 0.3)
    endless = "SELECT count(*) FROM table_2 a, table_2 b, table_2 c"
    with pytest.raises(QueryRefused, match="longer than"):
        run(endless, many_rows(5000))
    stop = Cancellation()
    stop.cancel()
    with pytest.raises(Stopped):
        run_query(endless, [BOATS], stop)
