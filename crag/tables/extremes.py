"""Queries for the largest and smallest: rows, or groups of rows, at a rank or down to it."""

from __future__ import annotations

from crag.tables.data_table import TableColumn
from crag.tables.query_scope import AGGREGATES, QueryKind, QueryScope, TableQuery, is_rate, quote_name, write_literal
from crag.tables.table_reading import find_operations, only_one
from crag.tables.wording import has_words, read_count, word_pattern


def write_extreme(scope: QueryScope) -> TableQuery | None:
    """List the rows, or the groups of rows, with the largest or smallest values."""
    asked, owner = scope.asked, _owner(scope)
    if scope.group() or _is_owner_fixed(scope) or asked.column_comparison:
        return None
    kind, rank, limit = _read_order(scope)
    order = "ASC" if kind == "min" or (limit and _is_low(scope)) else "DESC"
    measure = asked.date if asked.date_order else scope.measure()
    is_other = asked.is_ranked_by_synonym and not asked.date_order  # “the price of the largest”, ranked by size
    measure = only_one(asked.synonyms) if is_other else measure
    if owner:
        return None if asked.date_order else _write_best_group(scope, owner, measure, kind, order, limit or -rank)
    if measure is None or {"mean", "median"} & set(asked.operations):
        return None
    scope.is_guessed |= (
        scope.names_one_row() and len(asked.values[asked.label]) == 1
    )  # “the maximum weight for the Picker” may be what it carries
    if asked.left_over and asked.label not in asked.values:
        scope.rows.append(f"{asked.label.quoted} NOT IN ({', '.join(map(write_literal, asked.left_over))})")
    name = measure.quoted
    shown = [one.quoted for one in asked.numbers if one in asked.named and (asked.date_order or is_other)]
    select = ", ".join(dict.fromkeys([asked.label.quoted, name, *shown]))
    filled = [*scope.rows, f"{name} IS NOT NULL"]
    if limit:
        scope.rows = filled
        end = f" QUALIFY rank() OVER (ORDER BY {name} {order}) <= {limit} ORDER BY {name} {order}"
        return scope.query("top", select, end, measure=measure)
    table, where = quote_name(asked.table.sql_name), " AND ".join(filled)
    nth = f"SELECT DISTINCT {name} FROM {table} WHERE {where} ORDER BY 1 {order} LIMIT 1 OFFSET {rank - 1}"  # noqa: S608
    scope.rows.append(f"{name} = ({nth})")
    return scope.query(kind, select, measure=measure)


def _read_order(scope: QueryScope) -> tuple[QueryKind, int, int]:
    """Return the kind of extreme, its rank, and the number of rows if several are asked for."""
    asked = scope.asked
    if asked.date_order:
        return ("max" if asked.date_order == "latest" else "min"), 1, 0
    if asked.contest:  # all that are compared, the one that is asked for first
        return "top", 1, len(asked.values[asked.contest])
    kind: QueryKind = "min" if _is_low(scope) else "max"
    if asked.operation in ("top", "rank"):
        found = word_pattern("operations", asked.operation).search(asked.question)
        number = read_count(found[0]) if found else 1
        return ("top", 1, number) if asked.operation == "top" else (kind, number, 0)
    if limit := word_pattern("wording", "limit").search(asked.question):
        return "top", 1, read_count(limit[0])
    return kind, 1, 0


def _is_low(scope: QueryScope) -> bool:
    """Return whether the question looks for small values; Korean and Chinese say so after the number."""
    operations, question = find_operations(scope.asked.question), scope.asked.question
    spans = [*operations.get("top", ()), *operations.get("rank", ())]
    ends = [question[start : end + 12 * (not question.isascii())] for start, end in spans]
    return "min" in scope.asked.operations or any(has_words(one, "wording", "low") for one in ends)


def _owner(scope: QueryScope) -> str:
    """Return the SQL of what is compared: a column with several rows for each value, or a period."""
    asked = scope.asked
    if asked.asked_period:
        return scope.period(asked.asked_period)
    if asked.contest:
        return "" if asked.contest is asked.label and asked.is_label_unique else asked.contest.quoted
    is_repeated = (asked.label.kind != "number" or bool(asked.label.unit)) and not asked.is_label_unique
    texts = [one for one in asked.named if one.kind == "text" and len(asked.values.get(one, ())) != 1]
    texts += [asked.label] if asked.label.kind != "text" and is_repeated and asked.label in asked.named else []
    others = [one for one in texts if one is not asked.label or is_repeated]
    before = [one for one in others if has_words(asked.question[: asked.named[one]], "wording", "which")]
    choice = only_one(before or ([] if asked.label in asked.named and not is_repeated else others))
    return choice.quoted if choice else ""


def _is_owner_fixed(scope: QueryScope) -> bool:
    """Return whether the question asks for the best value of a column of which it names only one."""
    asked = scope.asked
    single = [one for one, values in asked.values.items() if len(values) == 1 and one not in asked.excluded]
    fixed = [asked.named[one] for one in single if one in asked.named]
    return any(has_words(asked.question[:place], "wording", "which") for place in fixed)


def _is_label_counted(scope: QueryScope) -> bool:
    """Return whether the question compares numbers of rows, as in “the most employees”."""
    has_measure = any(one in scope.asked.numbers for one in scope.asked.named) or bool(scope.asked.synonyms)
    counts_values = bool(scope.asked.values) and not scope.may_be_several()
    return not has_measure and (scope.asked.names_rows or counts_values)


def _write_best_group(
    scope: QueryScope, owner: str, measure: TableColumn | None, kind: QueryKind, order: str, place: int
) -> TableQuery | None:
    """Rank groups by sum, average or count: return the first `place` groups, or the one at rank minus `place`."""
    asked = scope.asked
    means = [one for one in ("mean", "median") if one in asked.operations]
    if (kind != "top" or asked.contest) and _is_label_counted(scope):
        measure = None
        scope.is_guessed |= not (asked.names_rows or asked.is_about_people or scope.are_rows_events())
    if (measure is None and not _is_label_counted(scope)) or (measure and is_rate(measure) and not means):
        return None
    names_row = asked.names_people or (asked.label in asked.named and asked.label.quoted != owner)
    scope.is_guessed |= names_row and measure in asked.named and not asked.contest  # of one row, or of the group
    scope.is_guessed |= has_words(asked.question, "wording", "priced")  # by a price, or by the sum of its rows
    alias = means[0] if means else "sum" if measure else "count"
    value = f"{AGGREGATES[alias]}({measure.quoted})" if measure else "count(*)"
    name = f"{owner} AS {asked.asked_period}" if asked.asked_period else owner
    at = f"<= {place}" if place > 0 else f"= {-place}"
    end = f" GROUP BY {owner} QUALIFY dense_rank() OVER (ORDER BY {value} {order}) {at} ORDER BY 2 {order}"
    return scope.query(kind, f"{name}, {value} AS {alias}", end, measure=measure)
