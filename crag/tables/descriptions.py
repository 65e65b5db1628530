"""Tables and results in words: for the prompt of a language model, and for the user."""

from __future__ import annotations

import re
from collections.abc import Sequence

from crag.particles import KoreanText
from crag.tables.data_table import MONTH_UNIT, DataTable, TableColumn
from crag.tables.periods import is_whole_year, read_period
from crag.tables.query import QueryResult
from crag.tables.query_scope import TableQuery
from crag.tables.table_reading import is_numbering
from crag.tables.wording import whole_words
from crag.text.language import is_cjk
from crag.text.table_headers import CAPTION_SEPARATOR
from crag.types import WrittenLanguage

_SAMPLE_ROWS = 3
_MAX_LISTED = 10
_NOT_ADDED = ("%", "‰", "°C", "°F", "°")  # units of figures whose sum says nothing
_PLURAL_SCALE = re.compile(r"\b(thousand|million|billion)s(?: of)? ")
_CURRENCIES = ("$", "€", "£", "¥", "₩", "￥")
_SENTENCES: dict[WrittenLanguage, dict[str, str]] = {
    "en": {
        "label": "Item",
        "unnamed": "Column {n}",
        "list": ", ",
        "content": "{rows}: {columns}.",
        "size": "{count} rows",
        "size_one": "1 row",
        "range": " {name}: {low} to {high}{total}.",
        "total": ", {total} in total",
        "stated": " The table itself states {value} as the total.",
        "none": "No row of the table matches.",
        "count": "{value} rows match.",
        "count_one": "1 row matches.",
        "sum": "The total of {name} is {value}{rows}.",
        "mean": "The average of {name} is {value}{rows}.",
        "median": "The median of {name} is {value}{rows}.",
        "distinct": "{name}: {value} different values.",
        "share": "{value} % ({part} of {whole}).",
        "change": "The change is {value}{percent}: from {before} to {after}.",
        "difference": "The difference is {value}.",
        "rows": " ({count} rows)",
        "rows_one": " (1 row)",
        "more": "and {count} more",
        "join": "; ",
        "end": ".",
        "pair": ": ",
    },
    "ko": {
        "label": "항목",
        "unnamed": "{n}열",
        "list": ", ",
        "content": "{rows}, 열: {columns}.",
        "size": "{count}개 행",
        "range": " {name}: {low}~{high}{total}.",
        "total": ", 합계 {total}",
        "stated": KoreanText(" 표에는 합계가 {value}(으)로 적혀 있습니다."),
        "none": "표에 해당하는 행이 없습니다.",
        "count": "해당하는 행은 {value}개입니다.",
        "count_one": "해당하는 행은 1개입니다.",
        "sum": "{name} 합계: {value}{rows}.",
        "mean": "{name} 평균: {value}{rows}.",
        "median": "{name} 중앙값: {value}{rows}.",
        "distinct": "{name}: 서로 다른 값 {value}개.",
        "share": "{value} % ({whole} 중 {part}).",
        "change": KoreanText("변화량: {value}{percent}. {before}에서 {after}(으)로 바뀌었습니다."),
        "difference": "차이: {value}.",
        "rows": " ({count}개 행)",
        "more": "외 {count}개",
        "join": "; ",
        "end": ".",
        "pair": ": ",
    },
    "zh": {
        "label": "项目",
        "unnamed": "第 {n} 列",
        "list": "、",
        "content": "{rows}，列：{columns}。",
        "size": "{count} 行",
        "range": "{name}：{low} 至 {high}{total}。",
        "total": "，合计 {total}",
        "stated": "表中写的总计是 {value}。",
        "none": "表中没有符合条件的行。",
        "count": "符合条件的有 {value} 行。",
        "count_one": "符合条件的有 1 行。",
        "sum": "{name}合计为 {value}{rows}。",
        "mean": "{name}平均为 {value}{rows}。",
        "median": "{name}的中位数为 {value}{rows}。",
        "distinct": "{name}：{value} 个不同的值。",
        "share": "{value} %（{whole}中的 {part}）。",
        "change": "变化为 {value}{percent}：从 {before} 到 {after}。",
        "difference": "相差 {value}。",
        "rows": "（共 {count} 行）",
        "more": "另有 {count} 项",
        "join": "；",
        "end": "。",
        "pair": "：",
    },
    "zh-Hant": {
        "label": "項目",
        "unnamed": "第 {n} 欄",
        "list": "、",
        "content": "{rows}，欄位：{columns}。",
        "size": "{count} 列",
        "range": "{name}：{low} 至 {high}{total}。",
        "total": "，合計 {total}",
        "stated": "表中寫的總計是 {value}。",
        "none": "表中沒有符合條件的列。",
        "count": "符合條件的有 {value} 列。",
        "count_one": "符合條件的有 1 列。",
        "sum": "{name}合計為 {value}{rows}。",
        "mean": "{name}平均為 {value}{rows}。",
        "median": "{name}的中位數為 {value}{rows}。",
        "distinct": "{name}：{value} 個不同的值。",
        "share": "{value} %（{whole}中的 {part}）。",
        "change": "變化為 {value}{percent}：從 {before} 到 {after}。",
        "difference": "相差 {value}。",
        "rows": "（共 {count} 列）",
        "more": "另有 {count} 項",
        "join": "；",
        "end": "。",
        "pair": "：",
    },
}

_COMPUTED_NAMES: dict[WrittenLanguage, dict[str, str]] = {
    "ko": {
        "count": "개수",
        "sum": "합계",
        "mean": "평균",
        "median": "중앙값",
        "min": "최소",
        "max": "최대",
        "share": "비율(%)",
        "part": "부분",
        "whole": "전체",
        "before": "이전",
        "after": "이후",
        "change": "변화량",
        "percent": "변화율(%)",
        "difference": "차이",
        "year": "연도",
        "quarter": "분기",
        "month": "월",
    },
    "zh": {
        "count": "数量",
        "sum": "合计",
        "mean": "平均",
        "median": "中位数",
        "min": "最小",
        "max": "最大",
        "share": "占比（%）",
        "part": "部分",
        "whole": "总体",
        "before": "之前",
        "after": "之后",
        "change": "变化",
        "percent": "变化率（%）",
        "difference": "差额",
        "year": "年份",
        "quarter": "季度",
        "month": "月份",
    },
    "zh-Hant": {
        "count": "數量",
        "sum": "合計",
        "mean": "平均",
        "median": "中位數",
        "min": "最小",
        "max": "最大",
        "share": "占比（%）",
        "part": "部分",
        "whole": "總體",
        "before": "之前",
        "after": "之後",
        "change": "變化",
        "percent": "變化率（%）",
        "difference": "差額",
        "year": "年份",
        "quarter": "季度",
        "month": "月份",
    },
}
"""Words for the names that statements give to computed columns. English keeps them."""


def name_column(table: DataTable, column: TableColumn, language: WrittenLanguage) -> str:
    """Return the name of a column; of one without a name, what it is: the items of the rows, or a column by number."""
    at = table.columns.index(column)
    return column.name or _SENTENCES[language]["unnamed" if at else "label"].format(n=at + 1)


def name_computed(name: str, language: WrittenLanguage) -> str:
    """Return the name of a computed column, such as `sum`, in a language; an unknown one stays as it is."""
    return _COMPUTED_NAMES.get(language, {}).get(name, name)


def describe_tables(tables: Sequence[DataTable]) -> str:
    """Return the names and types of the columns, and the first rows, of each table, for a prompt."""
    return "\n\n".join(map(_describe_table, tables))


def describe_content(table: DataTable, language: WrittenLanguage) -> str:
    """Return the number of rows, the columns, and the range and total of each column of figures or dates."""
    words = _SENTENCES[language]
    size = words["size_one" if len(table.rows) == 1 and "size_one" in words else "size"]
    columns = words["list"].join(name_column(table, column, language) for column in table.columns)
    text = words["content"].format(rows=size.format(count=f"{len(table.rows):,}"), columns=columns)
    for at, column in enumerate(table.columns):
        values = [value for row in table.rows if (value := row.values[at]) is not None]
        if column.kind == "text" or not values or is_numbering(table, column):
            continue
        low, high = (_write(value, column.unit) for value in (min(values), max(values)))
        numbers = [value for value in values if isinstance(value, float)]
        is_added = len(numbers) > 1 and column.unit not in _NOT_ADDED
        is_added = is_added and not whole_words("not_added").search(column.name)
        total = words["total"].format(total=_write(sum(numbers), column.unit)) if is_added else ""
        text += words["range"].format(name=name_column(table, column, language), low=low, high=high, total=total)
    return text


def _describe_table(table: DataTable) -> str:
    columns = ", ".join(_describe_column(column) for column in table.columns)
    rows = [" | ".join("" if value is None else _write(value) for value in row.values) for row in table.rows]
    head = f'Table "{table.sql_name}" ({table.title}), {len(table.rows):,} rows\nColumns: {columns}'
    return "\n".join([head, *rows[:_SAMPLE_ROWS]])


def _describe_column(column: TableColumn) -> str:
    about = f'"{column.name}"' + (f", in {column.unit}" if column.unit else "")
    return f'"{column.sql_name}" {column.kind} ({about})'


def describe_result(question_language: WrittenLanguage, query: TableQuery | None, result: QueryResult) -> str:
    """Return one or two sentences with the figures of a result; `query` is None if a model wrote the statement."""
    words = _SENTENCES[question_language]
    if not result.rows or all(value is None for row in result.rows for value in row):
        return words["none"]
    kind = query.kind if query else "filter"
    if query is None or kind in ("filter", "min", "max", "top", "group"):
        return _list_rows(words, query, result)
    first = result.rows[0]
    column = _find_measure(query, result)
    unit = column.unit if column else ""
    values = [_write(value, unit) for value in first]
    if kind == "count":
        return words["count_one" if values[0] == "1" else "count"].format(value=_write(first[0]))
    if kind == "distinct":
        counted = next(one for one in query.table.columns if one.quoted in query.sql.partition(" FROM ")[0])
        name = name_column(query.table, counted, question_language)
        return words[kind].format(name=name, value=_write(first[0]))
    if kind in ("sum", "mean", "median"):
        form = words["rows_one"] if result.used_count == 1 and "rows_one" in words else words["rows"]
        rows = form.format(count=f"{result.used_count:,}")
        return words[kind].format(name=column.name if column else "", value=values[0], rows=rows)
    if kind == "share":
        return words["share"].format(value=_write(first[0]), part=values[1], whole=values[2])
    if result.columns[0] == "difference":
        return words["difference"].format(value=values[0])
    percent = f" ({_write(first[1])} %)" if first[1] is not None else ""
    before, after = (
        f"{value} ({one.name})" if one and not one.name.isdigit() else value
        for value, one in zip(values[2:], _find_compared(query, result), strict=True)
    )
    return words["change"].format(value=values[0], percent=percent, before=before, after=after)


def describe_stated_total(language: WrittenLanguage, stated: float) -> str:
    """Return a sentence on the total that a table states, where its rows add up to another one."""
    return _SENTENCES[language]["stated"].format(value=_write(stated))


def _list_rows(words: dict[str, str], query: TableQuery | None, result: QueryResult) -> str:
    """Return the rows, the first cell of each as the name of the others."""
    columns = [_find_column(query, name) for name in result.columns]
    measure = _find_measure(query, result) if query else None
    units = [column.unit if column else measure.unit if measure else "" for column in columns]
    if query and query.kind == "group" and result.columns[-1] == "count":
        units[-1] = ""
    parts = []
    for row in result.rows[:_MAX_LISTED]:
        cells = [_write(value, unit) for value, unit in zip(row, units, strict=True)]
        is_named = [
            column is not None and (len(row) > 2 or not unit or _is_name_needed(column))
            for column, unit in zip(columns, units, strict=True)
        ]
        shown = [
            f"{column.name}{words['pair']}{cell}" if column and column.name and named else cell
            for column, named, cell in zip(columns, is_named, cells, strict=True)
        ]
        behind = " — " if any(is_named[1:]) else words["pair"]
        first = columns[0]
        is_row_number = query is not None and first is not None and is_numbering(query.table, first)
        label = f"{first.name} {cells[0]}".strip() if first and is_row_number else cells[0]
        parts.append(cells[0] if len(row) == 1 else f"{label}{behind}{', '.join(shown[1:])}")
    if result.total_rows > len(parts):
        parts.append(words["more"].format(count=f"{result.total_rows - len(parts):,}"))
    return words["join"].join(parts) + words["end"]


def _is_name_needed(column: TableColumn) -> bool:
    """Return whether a column may hold something else than the question says, such as half of its year."""
    period = read_period(column.name)
    return CAPTION_SEPARATOR in column.name or bool(period and not is_whole_year(*period))


def _find_compared(query: TableQuery, result: QueryResult) -> tuple[TableColumn | None, TableColumn | None]:
    """Return the columns of the earlier and the later figure of a change between two columns."""
    names = dict(re.findall(r'sum\("([^"]+)"\) AS (before|after)\b', result.sql))
    found = {role: _find_column(query, name) for name, role in names.items()}
    return found.get("before"), found.get("after")


def _find_column(query: TableQuery | None, name: str) -> TableColumn | None:
    columns = query.table.columns if query else ()
    return next((column for column in columns if column.sql_name == name), None)


def _find_measure(query: TableQuery, result: QueryResult) -> TableColumn | None:
    """Return the column of figures of a result: the one it shows, or the only one that the statement computes with."""
    shown = [column for name in result.columns if (column := _find_column(query, name)) and column.kind == "number"]
    computed = [
        column
        for column in query.table.columns
        if re.search(rf'\b(?:sum|avg|median|min|max)\("{re.escape(column.sql_name)}"\)', query.sql)
    ]
    return next(iter([*shown, *computed]), None)


def _write(value: str | float | None, unit: str = "") -> str:
    """Return a value with thousands separators, at most two decimals, and its unit: “3 million CHF”."""
    unit = _PLURAL_SCALE.sub(r"\1 ", unit)
    if value is None:
        return "–"
    if isinstance(value, str):
        return value.removesuffix("-01") if unit == MONTH_UNIT else value
    is_year = not unit and value in range(1900, 2051)
    text = f"{value:.0f}" if is_year else f"{value:,.2f}".rstrip("0").rstrip(".") if value % 1 else f"{value:,.0f}"
    if not unit:
        return text
    if unit in _CURRENCIES:
        text = f"{value:,.2f}" if value % 1 else text
        return f"-{unit}{text[1:]}" if text.startswith("-") else f"{unit}{text}"
    return f"{text}{unit}" if is_cjk(unit) else f"{text} {unit}"
