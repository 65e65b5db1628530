"""One read-only SELECT over the tables of documents, run by DuckDB in memory.

The parsed statement is checked against lists of what is allowed, and what runs is written from the tree that was
checked. Nothing outside the given tables can be read, and nothing can be written.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from crag.cancellation import Cancellation, cancel_after
from crag.errors import Stopped
from crag.tables.data_table import DataTable, TableRow

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MAX_RESULT_ROWS = 200
MAX_USED_ROWS = 20
_MAX_LENGTH = 4_000  # characters of a statement
_MAX_PRODUCED_ROWS = 1_000_000
_MAX_RESULT_LENGTH = 1_000_000  # characters
_MAX_BOUND = 10_000  # of range() and generate_series()
_SECONDS = 5.0
_SETTINGS = {  # in this order: without access to files, the others can no longer be changed
    "threads": "2",
    "memory_limit": "256MB",
    "temp_directory": "",
    "max_temp_directory_size": "0B",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "python_enable_replacements": "false",
    "enable_external_access": "false",
}
_SQL_TYPES = {"text": "VARCHAR", "number": "DOUBLE", "date": "DATE"}
_QUERY_NODES = frozenset({"SELECT_NODE", "SET_OPERATION_NODE"})
_SOURCES = frozenset({"BASE_TABLE", "SUBQUERY", "JOIN", "EMPTY", "EXPRESSION_LIST", "TABLE_FUNCTION"})
_EXPRESSIONS = frozenset(
    """
    COLUMN_REF CONSTANT COMPARISON CONJUNCTION OPERATOR BETWEEN CASE CAST TYPE FUNCTION WINDOW SUBQUERY STAR COLLATE
    """.split()  # noqa: SIM905 — a list literal would be unreadable
)
_SERIES = frozenset({"range", "generate_series", "unnest"})
_FUNCTIONS = frozenset(
    """
    + - * / // % ^ ** || ~~ !~~ ~~* !~~* ~ ! @ abs add subtract multiply divide mod ceil ceiling floor round round_even
    trunc sign sqrt cbrt exp ln log log2 log10 pow power greatest least coalesce ifnull nullif isnan isfinite
    list_value row count count_star sum avg mean min max median mode stddev stddev_samp stddev_pop variance var_samp
    var_pop quantile quantile_cont quantile_disc corr covar_pop covar_samp first last any_value arg_min arg_max min_by
    max_by string_agg group_concat listagg bool_and bool_or count_if approx_count_distinct product regr_slope
    row_number rank dense_rank percent_rank cume_dist ntile lag lead first_value last_value nth_value
    lower upper lcase ucase length len strlen trim ltrim rtrim replace substring substr left right concat concat_ws
    contains prefix suffix starts_with ends_with instr position strpos split_part like_escape ilike_escape
    not_like_escape not_ilike_escape regexp_matches regexp_full_match regexp_extract regexp_replace reverse
    strip_accents nfc_normalize date_part datepart date_trunc datetrunc date_diff datediff date_sub datesub year month
    day quarter week dayofweek dayofyear weekday isodow monthname dayname last_day make_date strftime strptime
    to_days to_months to_years to_weeks age
    """.split()  # noqa: SIM905 — a list literal would be unreadable
)
_PLAIN_NAME = re.compile(r"\w{1,60}")


class QueryRefused(Exception):
    """A statement that is not run, or cannot be. The message says why in plain words."""


@dataclass(frozen=True, slots=True)
class QueryResult:
    """What a statement returned: at most `MAX_RESULT_ROWS` of its `total_rows`.

    `used` are rows of the tables on which the result rests, at most `MAX_USED_ROWS`. `used_count` rows were read:
    more, where it is a choice among them, such as the highest value.
    """

    sql: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str | int | float | None, ...], ...]
    total_rows: int
    used: tuple[TableRow, ...]
    used_count: int


def run_query(sql: str, tables: Sequence[DataTable], stop: Cancellation) -> QueryResult:
    """Return the result of one SELECT over the tables. Raises `QueryRefused`, `Stopped`."""
    import duckdb

    if len(sql) > _MAX_LENGTH:
        raise QueryRefused(f"The query is longer than {_MAX_LENGTH:,} characters.")
    connection = _open()
    try:
        with cancel_after(_SECONDS, stop) as own, own.on_cancel(connection.interrupt):
            return _Query(connection, sql, tables, own).run()
    except (Stopped, duckdb.InterruptException):
        stop.check()
        raise QueryRefused(f"The query took longer than {_SECONDS:g} seconds.") from None
    except (duckdb.Error, OverflowError, UnicodeError) as error:
        raise QueryRefused(f"The query could not be run: {str(error).splitlines()[0][:300]}") from error
    except RecursionError:
        raise QueryRefused("The query is nested too deeply.") from None
    finally:
        connection.close()


def _open() -> DuckDBPyConnection:
    """Open a database in memory that reaches no file, no network and no extension."""
    import duckdb

    connection = duckdb.connect(":memory:")
    for name, value in _SETTINGS.items():
        connection.execute(f"SET {name} = '{value}'")
    return connection


class _Query:
    """One statement on its way through a connection of its own."""

    def __init__(
        self, connection: DuckDBPyConnection, sql: str, tables: Sequence[DataTable], stop: Cancellation
    ) -> None:
        self._connection = connection
        self._sql = sql
        self._tables = {table.sql_name.lower(): table for table in tables}
        self._stop = stop

    def run(self) -> QueryResult:
        tree = self._parse()
        try:
            _check(tree["statements"][0]["node"], frozenset(self._tables))
        except (KeyError, TypeError, ValueError) as error:  # a part of the tree that these checks do not know
            raise QueryRefused("The query uses a form of SQL that is not allowed.") from error
        for table in self._tables.values():
            self._stop.check()
            _load(self._connection, table)
        self._connection.execute("SET lock_configuration = true")
        statement = self._write(tree)
        ((total,),) = self._fetch(f"SELECT count(*) FROM ({statement})")  # noqa: S608 — checked
        if total > _MAX_PRODUCED_ROWS:
            raise QueryRefused(f"The query returns more than {_MAX_PRODUCED_ROWS:,} rows.")
        rows = tuple(tuple(map(_plain_value, row)) for row in self._fetch(statement, MAX_RESULT_ROWS))
        if sum(len(cell) for row in rows for cell in row if isinstance(cell, str)) > _MAX_RESULT_LENGTH:
            raise QueryRefused(f"The query returns more than {_MAX_RESULT_LENGTH:,} characters.")
        columns = tuple(column[0] for column in self._connection.description)
        used = list(dict.fromkeys(self._find_used(tree)))
        shown = tuple(self._tables[name].rows[at] for name, at in used[:MAX_USED_ROWS])
        read = set(self._find_used(tree, limited=False))
        return QueryResult(self._sql, columns, rows, total, shown, len(read))

    def _parse(self) -> dict[str, Any]:
        ((text,),) = self._fetch("SELECT json_serialize_sql(?::VARCHAR)", values=[self._sql])
        tree: dict[str, Any] = json.loads(text)
        if tree["error"]:
            is_other = tree.get("error_type") == "not implemented"
            fault = "Only SELECT is allowed." if is_other else f"The query is no valid SQL: {tree['error_message']}"
            raise QueryRefused(fault)
        if len(tree["statements"]) != 1:
            raise QueryRefused("Only one statement is allowed.")
        if tree["statements"][0].get("named_param_map"):
            raise QueryRefused("The query has parameters without values.")
        return tree

    def _write(self, tree: dict[str, Any]) -> str:
        ((text,),) = self._fetch("SELECT json_deserialize_sql(?::JSON)", values=[json.dumps(tree)])
        return str(text)

    def _fetch(self, sql: str, count: int = 0, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        self._stop.check()
        result = self._connection.execute(sql, list(values))
        return result.fetchmany(count) if count else result.fetchall()

    def _find_used(self, tree: dict[str, Any], *, limited: bool = True) -> Iterator[tuple[str, int]]:
        """Yield (table, index) of the rows that pass the conditions of the statement, in their order.

        If not `limited`, also yield those beyond its limit, and those that its conditions compare.
        """
        selects = [*_find_selects(tree["statements"][0]["node"], {})]
        for node, common in selects:
            for one in _walk(None if limited else node["where_clause"]):
                if isinstance(one.get("subquery"), dict):
                    selects += _find_selects(one["subquery"]["node"], common)
            for name, alias in _find_base_tables(node["from_table"]):
                if name not in self._tables or name in common:
                    continue
                row = {"class": "COLUMN_REF", "type": "COLUMN_REF", "alias": "", "column_names": [alias, "rowid"]}
                limits = _limits_of(node) if limited else []
                shown = [*node["select_list"], row] if limits else [row]  # which the order may refer to
                kept = node | {"select_list": shown, "modifiers": limits} | _UNGROUPED
                yield from self._read_row_numbers(name, tree, kept)

    def _read_row_numbers(self, name: str, tree: dict[str, Any], node: dict[str, Any]) -> Iterator[tuple[str, int]]:
        import duckdb

        statement = tree["statements"][0] | {"node": node}
        for one in (node, node | {"modifiers": []}):
            try:
                found = self._fetch(self._write(tree | {"statements": [statement | {"node": one}]}))
            except (duckdb.BinderException, duckdb.CatalogException):
                continue  # it orders by something else, or refers to a query around it
            yield from ((name, row[-1]) for row in found if row[-1] is not None)
            return


_UNGROUPED: dict[str, Any] = {
    "group_expressions": [],
    "group_sets": [],
    "having": None,
    "qualify": None,
    "aggregate_handling": "STANDARD_HANDLING",
}
_AGGREGATES = frozenset(
    """
    count count_star sum avg mean min max median mode stddev stddev_samp stddev_pop variance var_samp var_pop quantile
    quantile_cont quantile_disc corr covar_pop covar_samp first last any_value arg_min arg_max min_by max_by string_agg
    group_concat listagg bool_and bool_or count_if approx_count_distinct product regr_slope
    """.split()  # noqa: SIM905 — a list literal would be unreadable
)


def _limits_of(node: dict[str, Any]) -> list[Any]:
    """Return the order and limit of a query whose rows are rows of its tables; nothing if it groups them."""
    functions = {one["function_name"].lower() for one in _walk(node["select_list"]) if one.get("class") == "FUNCTION"}
    is_grouped = node["group_expressions"] or functions & _AGGREGATES or node["having"] or node["qualify"]
    kept = [one for one in node["modifiers"] if one["type"] in ("ORDER_MODIFIER", "LIMIT_MODIFIER")]
    return [] if is_grouped or len(kept) < len(node["modifiers"]) else kept


def _find_selects(
    node: dict[str, Any], common: dict[str, dict[str, Any]]
) -> Iterator[tuple[dict[str, Any], dict[str, dict[str, Any]]]]:
    """Yield the SELECTs whose rows reach the result, each with the common table expressions that it can name."""
    common = common | {entry["key"].lower(): entry["value"]["query_node"] for entry in node["cte_map"]["map"]}
    if node["type"] == "SET_OPERATION_NODE":
        for child in node["children"]:
            yield from _find_selects(child, common)
        return
    yield node, common
    source = node["from_table"]
    for name, _ in _find_base_tables(source):
        if name in common:
            outer = {key: value for key, value in common.items() if key != name}
            yield from _find_selects(common[name], outer)
    inner = [source] if source["type"] != "EMPTY" else node["select_list"]
    for one in _walk(inner):
        if isinstance(one.get("subquery"), dict):
            yield from _find_selects(one["subquery"]["node"], common)


def _find_base_tables(source: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield (name, alias) of the tables that a FROM clause names itself."""
    if source["type"] == "BASE_TABLE":
        yield source["table_name"].lower(), source["alias"] or source["table_name"]
    elif source["type"] == "JOIN":
        yield from _find_base_tables(source["left"])
        yield from _find_base_tables(source["right"])


def _walk(value: Any) -> Iterator[dict[str, Any]]:
    """Yield every object of a tree outside of subqueries."""
    if isinstance(value, dict):
        yield value
        value = [inner for key, inner in value.items() if key != "subquery"]
    for inner in value if isinstance(value, list) else ():
        yield from _walk(inner)


def _check(value: Any, names: frozenset[str]) -> None:
    """Raise `QueryRefused` if a tree holds anything but the allowed parts of a SELECT over the named tables."""
    if isinstance(value, list):
        for inner in value:
            _check(inner, names)
    if not isinstance(value, dict):
        return
    if value.get("sample"):
        raise QueryRefused("A query of rows at random would answer differently each time.")
    if "cte_map" in value:
        names = _check_query_node(value, names)
    elif "class" in value:
        _check_expression(value)
    elif {"alias", "sample"} <= value.keys():
        _check_source(value, names)
    for key, inner in value.items():
        if key not in ("cte_map", "function") or "class" in value:
            _check(inner, names)


def _check_query_node(node: dict[str, Any], names: frozenset[str]) -> frozenset[str]:
    """Return the names that the parts of a query may use: those given and its common table expressions."""
    if node["type"] not in _QUERY_NODES:
        kind = "Recursive queries are" if "RECURSIVE" in node["type"] else "Statements that write are"
        raise QueryRefused(f"{kind} not allowed.")
    for entry in node["cte_map"]["map"]:
        if not _PLAIN_NAME.fullmatch(entry["key"]):
            raise QueryRefused(f"The name {entry['key'][:60]!r} is not allowed.")
        _check(entry["value"], names)
        names |= {entry["key"].lower()}
    return names


def _check_expression(value: dict[str, Any]) -> None:
    if value["class"] not in _EXPRESSIONS:
        raise QueryRefused(f"The query uses {value['class'].lower()}, which is not allowed.")
    name = value.get("function_name")
    if name is not None and (name.lower() not in _FUNCTIONS or value.get("schema") or value.get("catalog")):
        raise QueryRefused(f"The function {name} is not allowed.")
    if value["class"] == "TYPE" and value.get("type_name", "").upper() not in _TYPES:
        raise QueryRefused(f"The type {value.get('type_name')} is not allowed.")


_TYPES = frozenset(
    """
    VARCHAR TEXT STRING CHAR DOUBLE FLOAT REAL FLOAT8 DECIMAL NUMERIC INTEGER INT INT4 BIGINT INT8 SMALLINT TINYINT
    HUGEINT BOOLEAN BOOL DATE TIMESTAMP TIME INTERVAL
    """.split()  # noqa: SIM905 — a list literal would be unreadable
)


def _check_source(source: dict[str, Any], names: frozenset[str]) -> None:
    if source["type"] not in _SOURCES:
        raise QueryRefused("The query may read from the tables of the documents only.")
    if source["type"] == "TABLE_FUNCTION":
        _check_series(source["function"])
    if source["type"] == "BASE_TABLE":
        name = source["table_name"]
        is_qualified = source["schema_name"] or source["catalog_name"] or len(source["qualified_name"]["path"]) != 1
        if is_qualified or name.lower() not in names:
            raise QueryRefused(f"There is no table {name[:60]}; there are {', '.join(sorted(names)) or 'none'}.")


def _check_series(function: dict[str, Any]) -> None:
    """Refuse table functions except for series with small literal bounds."""
    name = function.get("function_name", "").lower()
    literals = [one["literal"] for one in _walk(function.get("arguments", [])) if one.get("class") == "CONSTANT"]
    allowed = {"CONSTANT", "FUNCTION"} if name == "unnest" else {"CONSTANT"}
    classes = {one["class"] for one in _walk(function.get("arguments", [])) if "class" in one}
    is_small = all(one["kind"] != "INTEGER" or abs(int(one["text"])) <= _MAX_BOUND for one in literals)
    if name not in _SERIES or function.get("schema") or not classes <= allowed or not is_small:
        raise QueryRefused(f"The table function {name} is not allowed here.")
    for one in _walk(function.get("arguments", [])):
        if "class" in one:
            _check_expression(one)


def _load(connection: DuckDBPyConnection, table: DataTable) -> None:
    """Create a table and fill it by columns, which is much faster than row by row."""
    names = [f'"{column.sql_name}" {_SQL_TYPES[column.kind]}' for column in table.columns]
    connection.execute(f'CREATE TABLE "{table.sql_name}" ({", ".join(names)})')
    lists = [f"unnest(?::{_SQL_TYPES[column.kind]}[])" for column in table.columns]
    values = [list(cells) for cells in zip(*(row.values for row in table.rows), strict=True)]
    connection.execute(f'INSERT INTO "{table.sql_name}" SELECT {", ".join(lists)}', values)


def _plain_value(value: object) -> str | int | float | None:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float | Decimal):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, date):
        return value.isoformat()
    return value if value is None or isinstance(value, str | int) else str(value)
