"""Questions about 100 generated sheets: how many the built-in engine answers exactly, wrongly or not at all.

The answers are computed from the generated rows in plain Python. Each question is asked over its sheet and another one.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.table_wordings import WORDINGS
from crag.cancellation import Cancellation
from crag.ingest.parse.document import Block, Document
from crag.ingest.parse.table_rows import table_blocks
from crag.ingest.reader import CHUNK_TOKENS, split_document
from crag.tables.data_table import DataTable, find_tables
from crag.tables.query import QueryRefused, QueryResult, run_query
from crag.tables.questions import write_query
from crag.text.patterns import MONTHS
from crag.types import Passage

SHEETS = 100
Cells = list[str]
Expected = list[tuple[Any, ...]]
"""The rows of the answer, each with the values that it must hold."""
Ask = tuple[str, Expected | None]
"""A question with its answer; None if the sheet does not say, or the patterns do not read such questions."""


@dataclass(slots=True)
class Sheet:
    """A sheet as its author typed it, with a question and its answer."""

    title: str
    rows: list[Cells]
    question: str = ""
    expected: Expected | None = None


Maker = Callable[[random.Random], tuple[Sheet, list[Ask]]]


def best(rows: Iterable[tuple[Any, ...]], at: int, *, least: bool = False) -> Expected:
    """Return (name, value) of all rows with the largest or smallest value."""
    rows = [row for row in rows if row[at] is not None]
    limit = (min if least else max)(row[at] for row in rows)
    return [(row[0], row[at]) for row in rows if row[at] == limit]


def grouped(rows: Iterable[tuple[Any, ...]], by: int, at: int | None) -> Expected:
    """Return (group, sum) for the values of a column, or (group, count)."""
    sums: defaultdict[str, float] = defaultdict(float)
    for row in rows:
        sums[row[by]] += 1 if at is None else row[at]
    return list(sums.items())


def best_group(rows: Iterable[tuple[Any, ...]], by: int, at: int) -> Expected:
    """Return (group, sum) of all groups with the largest sum."""
    return best(grouped(rows, by, at), 1)


def draw(rng: random.Random, names: str, count: int) -> list[str]:
    """Return some of the names, in any order."""
    return rng.sample(names.split(), count)


def _boats(rng: random.Random) -> tuple[Sheet, list[Ask]]:
    names = draw(rng, "Tern Gull Lark Kite Heron Osprey Puffin Curlew Plover Avocet", 7)
    rows = [
        (name, rng.randint(2, 9), rng.choice(range(120, 980, 5)), rng.choice(("Odby", "Varn", "Salt")))
        for name in names
    ]
    cells = [["Boat", "Berths", "Price per day (€)", "Harbour"], *([n, str(b), f"€{p}", h] for n, b, p, h in rows)]
    one, limit, place = rng.choice(rows), rng.choice((300, 450, 500)), rows[0][3]
    asks: list[Ask] = [
        (f"Which boats cost more than {limit} euros a day?", [(r[0],) for r in rows if r[2] > limit]),
        (f"What is the price of the {one[0]}?", [(one[2],)]),
        (f"How many boats are moored in {place}?", [(sum(r[3] == place for r in rows),)]),
        ("What's the cheapest boat?", best(rows, 2, least=True)),
        ("Which boat sleeps the most people?", best(rows, 1)),
        ("average price per day of our boats", [(sum(r[2] for r in rows) / len(rows),)]),
        (f"How many berths does the {one[0]} have?", [(one[1],)]),
        (f"Which boats in {place} have at least 4 berths?", [(r[0],) for r in rows if r[3] == place and r[1] >= 4]),
        (f"how much is it to rent the {one[0]} for a day", [(one[2],)]),
        (f"Is there a boat in {place} with more than 6 berths?", [(r[0],) for r in rows if r[3] == place and r[1] > 6]),
        ("Total number of berths in the fleet", [(sum(r[1] for r in rows),)]),
        (f"what harbour is the {one[0]} in", [(one[3],)]),
        ("Which harbour has the most berths?", best_group(rows, 3, 1)),
        ("Cheapest boat with at least 5 berths?", best([r for r in rows if r[1] >= 5] or rows, 2, least=True)),
        ("What is the price of the Albatross?", None),
        ("How many boats were built in 2015?", None),
        (f"Which boats are not in {place}?", [(r[0],) for r in rows if r[3] != place]),
        ("How long is the longest boat?", None),
        (f"How many boats in {place} cost less than 500?", [(sum(r[3] == place and r[2] < 500 for r in rows),)]),
    ]
    return Sheet("Charter list", cells), asks


def _robots(rng: random.Random) -> tuple[Sheet, list[Ask]]:
    names = draw(rng, "R2 Mopper Welder Picker Scout Painter Lifter Sorter", 6)
    rows = [
        (name, rng.randint(40, 4000), rng.randint(1000, 90000) / 10, rng.choice(("North", "South"))) for name in names
    ]
    cells = [["Robot", "Units sold", "Revenue (EUR thousand)", "Region"]]
    cells += [[n, f"{u:,}", f"{r:,.1f}", g] for n, u, r, g in rows]
    total = (sum(r[1] for r in rows), sum(r[2] for r in rows))
    cells += [["Total", f"{total[0]:,}", f"{total[1]:,.1f}", ""]]
    one = rng.choice(rows)
    asks: list[Ask] = [
        ("Which robot sold most?", best(rows, 1)),
        ("What is the total revenue?", [(total[1],)]),
        ("How many units did we sell altogether?", [(total[0],)]),
        (f"What share of the units sold came from {one[0]}?", [(100 * one[1] / total[0],)]),
        ("Which robot brought in the least revenue?", best(rows, 2, least=True)),
        ("units sold by region", grouped(rows, 3, 1)),
        ("Top 3 robots by revenue", [(r[0], r[2]) for r in sorted(rows, key=lambda r: -r[2])[:3]]),
        ("How many robots did we sell in the north?", [(sum(r[1] for r in rows if r[3] == "North"),)]),
        (f"How many {one[0]} units were sold?", [(one[1],)]),
        ("Which region has the highest revenue?", best_group(rows, 3, 2)),
        ("What's our best-selling robot?", best(rows, 1)),
        ("how many robots are there in the table", [(len(rows),)]),
        (
            "What percentage of revenue does the South account for?",
            [(100 * sum(r[2] for r in rows if r[3] == "South") / total[1],)],
        ),
        ("Average units sold per robot", [(total[0] / len(rows),)]),
        ("What is the total revenue in 2021?", None),
        ("How much profit did we make with Welder?", None),
        ("What was the second best selling robot?", [sorted(rows, key=lambda r: -r[1])[1][:2]]),
        ("How many robots were returned?", None),
        ("Which robots sold more than 2,000 units?", [(r[0],) for r in rows if r[1] > 2000]),
        (f"Compare units sold of {rows[0][0]} and {rows[1][0]}", [(r[0], r[1]) for r in rows[:2]]),
    ]
    return Sheet("Robot sales", cells), asks


def _branches(rng: random.Random) -> tuple[Sheet, list[Ask]]:
    names = draw(rng, "Lisbon Oslo Graz Turin Leeds Ghent Malmo", 5)
    rows = [(name, *(rng.randint(100, 9000) for _ in range(3))) for name in names]
    cells = [["Branch", "2022", "2023", "2024"], *([r[0], *(f"{v:,}" for v in r[1:])] for r in rows)]
    cells += [["Total", *(f"{sum(r[at] for r in rows):,}" for at in (1, 2, 3))]]
    one = rng.choice(rows)
    asks: list[Ask] = [
        (f"How much did sales in {one[0]} change from 2023 to 2024?", [(one[3] - one[2],)]),
        ("What were total sales in 2023?", [(sum(r[2] for r in rows),)]),
        ("Which branch sold the most in 2024?", best(rows, 3)),
        (f"What did {one[0]} sell in 2022?", [(one[1],)]),
        (f"By what percentage did {one[0]} grow between 2022 and 2024?", [(100 * (one[3] - one[1]) / one[1],)]),
        ("Which branch was weakest in 2022?", best(rows, 1, least=True)),
        ("What was the average across branches in 2023?", [(sum(r[2] for r in rows) / len(rows),)]),
        ("Which branches sold over 5,000 in 2023?", [(r[0],) for r in rows if r[2] > 5000]),
        ("total 2024", [(sum(r[3] for r in rows),)]),
        (f"{one[0]} 2023?", [(one[2],)]),
        ("How did total sales change between 2022 and 2023?", [(sum(r[2] for r in rows) - sum(r[1] for r in rows),)]),
        ("What were total sales in 2021?", None),
        ("Which branch sold the most?", None),
        (f"How many employees work in {one[0]}?", None),
        (f"What share of the 2024 sales did {one[0]} have?", [(100 * one[3] / sum(r[3] for r in rows),)]),
        ("Which branch grew the most from 2023 to 2024?", None),
        ("top two branches in 2023", [(r[0], r[2]) for r in sorted(rows, key=lambda r: -r[2])[:2]]),
        (f"Did {one[0]} sell more in 2023 than in 2022?", None),
        ("How many branches are there?", [(len(rows),)]),
    ]
    return Sheet("Sales by branch", cells), asks


def _segments(rng: random.Random) -> tuple[Sheet, list[Ask]]:
    names = draw(rng, "Hardware Services Licences Training Rental", 4)
    rows = [(name, *(rng.randint(-300, 2000) for _ in range(4))) for name in names]

    def written(value: int) -> str:
        return f"({-value:,})" if value < 0 else f"{value:,}"

    cells = [["Operating profit, in thousands of CHF"], ["Segment", "Q1", "Q2", "Q3", "Q4"]]
    cells += [[r[0], *map(written, r[1:])] for r in rows]
    one = rng.choice(rows)
    asks: list[Ask] = [
        ("Which segment had the highest profit in Q3?", best(rows, 3)),
        (f"What was the profit of {one[0]} in Q2?", [(one[2],)]),
        ("What is the total for Q4?", [(sum(r[4] for r in rows),)]),
        ("Which segments made a loss in Q1?", [(r[0],) for r in rows if r[1] < 0]),
        (f"How did {one[0]} develop from Q1 to Q4?", [(one[4] - one[1],)]),
        ("Lowest value in Q2 — which segment?", best(rows, 2, least=True)),
        ("Total operating profit in Q1?", [(sum(r[1] for r in rows),)]),
        (f"What is the revenue of {one[0]} in Q2?", None),
        ("Which segment had the highest profit in Q3 last year?", None),
        ("average operating profit of the segments in Q2", [(sum(r[2] for r in rows) / len(rows),)]),
        (f"What was the operating profit of {one[0]} for the full year?", [(sum(one[1:]),)]),
        ("Which segments earned more than 500 in Q4?", [(r[0],) for r in rows if r[4] > 500]),
    ]
    return Sheet("Quarterly report", cells), asks


def _staff(rng: random.Random) -> tuple[Sheet, list[Ask]]:
    firsts = draw(rng, "Ana Ben Cleo Dov Elke Finn Gita Hugo", 8)
    lasts = draw(rng, "Ash Birch Cedar Dogwood Elm Fir Gorse Hazel", 8)
    people = rng.sample([f"{first} {last}" for first in firsts for last in lasts], 60)
    teams = ("Sales", "Support", "Engineering", "Legal")
    rows = [
        (p, rng.choice(teams), rng.randrange(31000, 99000, 10), f"{rng.randint(1, 28)} {m} {rng.randint(2012, 2024)}")
        for p in people
        for m in [rng.choice(("Jan", "Mar", "Jun", "Sep"))]
    ]
    cells = [["Name", "Department", "Salary (USD)", "Start date"], *([n, t, f"{s:,}", d] for n, t, s, d in rows)]
    one, team = rng.choice(rows), rng.choice(teams)
    inside = [r for r in rows if r[1] == team]
    asks: list[Ask] = [
        (f"How many people work in {team}?", [(len(inside),)]),
        (f"What's the average salary in {team}?", [(sum(r[2] for r in inside) / len(inside),)]),
        ("Who earns the most?", best(rows, 2)),
        (f"How much does {one[0]} earn?", [(one[2],)]),
        ("number of employees per department", grouped(rows, 1, None)),
        ("Who earns over 95,000?", [(r[0],) for r in rows if r[2] > 95000]),
        (f"Sum of all salaries in the {team} department", [(sum(r[2] for r in inside),)]),
        ("Who has the lowest salary?", best(rows, 2, least=True)),
        ("What's the highest salary in Legal?", best([r for r in rows if r[1] == "Legal"], 2)),
        ("How many employees do we have?", [(len(rows),)]),
        (
            "Which department has the highest average salary?",
            best(
                [
                    (t, sum(r[2] for r in rows if r[1] == t) / sum(r[1] == t for r in rows))
                    for t in {r[1] for r in rows}
                ],
                1,
            ),
        ),
        (
            "average salary by department",
            [
                (t, sum(r[2] for r in rows if r[1] == t) / sum(r[1] == t for r in rows))
                for t in dict.fromkeys(r[1] for r in rows)
            ],
        ),
        (f"Which department does {one[0]} work in?", [(one[1],)]),
        (f"When did {one[0]} start?", [(one[0],)]),
        ("How many people started in 2019?", [(sum(r[3].endswith("2019") for r in rows),)]),
        ("Who started first?", None),
        ("How many people work in Marketing?", None),
        ("What is the salary of Peter Pan?", None),
        ("How many people earn between 40,000 and 60,000?", [(sum(40000 <= r[2] <= 60000 for r in rows),)]),
        ("What share of employees work in Support?", [(100 * sum(r[1] == "Support" for r in rows) / len(rows),)]),
        ("how many women work here?", None),
    ]
    return Sheet("Staff list", cells), asks


def _orders(rng: random.Random) -> tuple[Sheet, list[Ask]]:
    customers, products = ("Bakker Ltd", "Nordhaus", "Quill & Co", "Tamsin Foods"), ("Rope", "Anchor", "Sail", "Lamp")
    rows = [
        (
            f"A-{1000 + n}",
            f"2024-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}",
            rng.choice(customers),
            rng.choice(products),
            rng.randint(1, 40),
            rng.randint(500, 90000) / 100,
        )
        for n in range(rng.choice((150, 300)))
    ]
    cells = [["Order", "Date", "Customer", "Product", "Quantity", "Amount (£)"]]
    cells += [[o, d, c, p, str(q), f"{a:,.2f}"] for o, d, c, p, q, a in rows]
    who, what = rng.choice(customers), rng.choice(products)
    asks: list[Ask] = [
        (f"How many orders did {who} place?", [(sum(r[2] == who for r in rows),)]),
        (f"What is the total amount of the orders from {who}?", [(sum(r[5] for r in rows if r[2] == who),)]),
        ("amount by product", grouped(rows, 3, 5)),
        ("What was the largest order by amount?", best(rows, 5)),
        (f"Total quantity of {what} ordered", [(sum(r[4] for r in rows if r[3] == what),)]),
        (
            f"What is the mean order amount for {what}?",
            [(sum(r[5] for r in rows if r[3] == what) / sum(r[3] == what for r in rows),)],
        ),
        ("How many orders came in during March 2024?", [(sum(r[1].startswith("2024-03") for r in rows),)]),
        (
            f"What share of the amount comes from {who}?",
            [(100 * sum(r[5] for r in rows if r[2] == who) / sum(r[5] for r in rows),)],
        ),
        ("Which customer ordered the most by amount?", best_group(rows, 2, 5)),
        (f"How many {what.lower()}s did {who} order?", [(sum(r[4] for r in rows if r[2] == who and r[3] == what),)]),
        ("How many orders are over £500?", [(sum(r[5] > 500 for r in rows),)]),
        ("What's the average order amount?", [(sum(r[5] for r in rows) / len(rows),)]),
        ("number of orders per customer", grouped(rows, 2, None)),
        ("What was the total amount in June 2024?", [(sum(r[5] for r in rows if r[1].startswith("2024-06")),)]),
        ("How many orders did Zephyr Inc place?", None),
        ("How many orders were cancelled?", None),
        ("What is the amount of order A-1004?", [(rows[4][5],)]),
        ("total quantity", [(sum(r[4] for r in rows),)]),
        ("How much did Nordhaus spend on Sail?", [(sum(r[5] for r in rows if r[2] == "Nordhaus" and r[3] == "Sail"),)]),
        ("Which product is sold most often?", None),
    ]
    return Sheet("Orders 2024", cells), asks


def _stock(rng: random.Random) -> tuple[Sheet, list[Ask]]:
    names = draw(rng, "Hinge Bracket Bolt Washer Clamp Hook Pulley Dowel Rivet Spring", 9)
    rows = [(n, rng.randint(0, 2500), rng.randint(50, 400), rng.randint(5, 4999) / 100) for n in names]
    cells = [["Item", "In stock", "Reorder level", "Unit price ($)"]]
    cells += [[n, f"{s:,}", str(r), f"{p:.2f}"] for n, s, r, p in rows]
    one, two = rng.sample(rows, 2)
    limit = rng.choice((500, 800, 1200))
    asks: list[Ask] = [
        (f"How many {one[0].lower()}s are in stock?", [(one[1],)]),
        (f"Which items have fewer than {limit} in stock?", [(r[0],) for r in rows if r[1] < limit]),
        ("Which item has the highest unit price?", best(rows, 3)),
        (f"What's the reorder level for {one[0]}?", [(one[2],)]),
        ("How many items are listed?", [(len(rows),)]),
        ("List items priced under 20 dollars", [(r[0],) for r in rows if r[3] < 20]),
        (f"What is the difference in unit price between {one[0]} and {two[0]}?", [(abs(one[3] - two[3]),)]),
        ("median unit price", [(sorted(r[3] for r in rows)[4],)]),
        (f"How much does a {one[0].lower()} cost?", [(one[3],)]),
        ("Which items are below their reorder level?", [(r[0],) for r in rows if r[1] < r[2]]),
        ("What is the most expensive item?", best(rows, 3)),
        ("Total stock?", [(sum(r[1] for r in rows),)]),
        ("How many screws are in stock?", None),
        ("What is the total value of the stock?", None),
        ("items with a unit price above 30", [(r[0],) for r in rows if r[3] > 30]),
        ("Which 3 items have the lowest stock?", None),
        ("Average reorder level?", [(sum(r[2] for r in rows) / len(rows),)]),
        ("When does the clamp get delivered?", None),
    ]
    return Sheet("Stock", cells), asks


def _invoices(rng: random.Random) -> tuple[Sheet, list[Ask]]:
    names = draw(rng, "Amsel Buche Dachs Eiche Falke Ginster Hecht", 6)
    rows = [(n, rng.randint(100000, 9999999) / 100, rng.randint(1, 60)) for n in names]

    def written(value: float) -> str:
        return f"{value:,.2f}".replace(",", "_").replace(".", ",").replace("_", ".")

    cells = [["Supplier", "Invoiced", "Days overdue"], *([n, f"{written(a)} €", str(d)] for n, a, d in rows)]
    one = rng.choice(rows)
    asks: list[Ask] = [
        ("How much was invoiced in total?", [(sum(r[1] for r in rows),)]),
        (f"How much did {one[0]} invoice?", [(one[1],)]),
        ("Which supplier is longest overdue?", best(rows, 2)),
        ("Which suppliers are more than 30 days overdue?", [(r[0],) for r in rows if r[2] > 30]),
        ("What's the average number of days overdue?", [(sum(r[2] for r in rows) / len(rows),)]),
        ("What do we owe in total?", None),
        (f"By how many days is {one[0]} overdue?", [(one[2],)]),
        ("Which supplier invoiced the least?", best(rows, 1, least=True)),
        ("How many suppliers are on the list?", [(len(rows),)]),
        (f"What share of the invoiced total is {one[0]}'s?", [(100 * one[1] / sum(r[1] for r in rows),)]),
        ("Suppliers that invoiced more than 20,000 euros", [(r[0],) for r in rows if r[1] > 20000]),
    ]
    return Sheet("Open invoices", cells), asks


def _two_tables(rng: random.Random) -> tuple[Sheet, list[Ask]]:
    courses = [(n, rng.randint(5, 60), rng.randint(40, 99)) for n in draw(rng, "Welding Pottery Yoga Dutch Chess", 4)]
    rooms = [(n, rng.randint(10, 120), rng.randint(20, 300)) for n in ("Blue hall", "Attic", "Studio", "Garden room")]
    cells = [["Course", "Participants", "Pass rate"], *([n, str(p), f"{r} %"] for n, p, r in courses), []]
    cells += [["Room", "Seats", "Area (m²)"], *([n, str(s), str(a)] for n, s, a in rooms)]
    one, room = rng.choice(courses), rng.choice(rooms)
    asks: list[Ask] = [
        (f"What is the pass rate in {one[0]}?", [(one[2],)]),
        ("Which course had the most participants?", best(courses, 1)),
        (f"How many seats does the {room[0].lower()} have?", [(room[1],)]),
        ("Which is the largest room?", best(rooms, 2)),
        ("How many participants were there overall?", [(sum(r[1] for r in courses),)]),
        ("Which rooms have 50 seats or more?", [(r[0],) for r in rooms if r[1] >= 50]),
        ("Which course has the lowest pass rate?", best(courses, 2, least=True)),
        ("average pass rate", [(sum(r[2] for r in courses) / len(courses),)]),
        ("How many rooms are there?", [(len(rooms),)]),
        ("total number of seats", [(sum(r[1] for r in rooms),)]),
        ("Which courses take place in the attic?", None),
        ("Who teaches Yoga?", None),
        ("What is the total pass rate?", None),
        (f"How big is the {room[0].lower()}?", [(room[2],)]),
    ]
    return Sheet("Adult education", cells), asks


def _visitors(rng: random.Random) -> tuple[Sheet, list[Ask]]:
    months = MONTHS
    rows = [(m, rng.randint(500, 9000), rng.randint(200, 5000)) for m in months]
    cells = [["Month", "Visitors", "Loans"], *([m, f"{v:,}", f"{n:,}"] for m, v, n in rows)]
    cells += [["Average", f"{sum(r[1] for r in rows) / 12:,.0f}", f"{sum(r[2] for r in rows) / 12:,.0f}"]]
    asks: list[Ask] = [
        ("When were loans lowest?", best(rows, 2, least=True)),
        ("In which month did we have the most visitors?", best(rows, 1)),
        ("How many visitors came in July?", [(rows[6][1],)]),
        ("How many loans were there over the whole year?", [(sum(r[2] for r in rows),)]),
        ("By how much did visitors change from May to June?", [(rows[5][1] - rows[4][1],)]),
        ("In how many months were there more than 5,000 visitors?", [(sum(r[1] > 5000 for r in rows),)]),
        ("What was the busiest month?", None),
        ("Average visitors per month", [(sum(r[1] for r in rows) / 12,)]),
        ("Did more people come in May or in June?", None),
        ("How many visitors came in July 2019?", None),
        ("total visitors from January to March", [(sum(r[1] for r in rows[:3]),)]),
        ("Which months had fewer than 1,000 loans?", [(r[0],) for r in rows if r[2] < 1000]),
        ("How many visitors were there on Sundays?", None),
        ("three highest months by visitors", [(r[0], r[1]) for r in sorted(rows, key=lambda r: -r[1])[:3]]),
    ]
    return Sheet("Library figures", cells), asks


def _projects(rng: random.Random) -> tuple[Sheet, list[Ask]]:
    names = draw(rng, "Aurora Basalt Cobalt Delta Ember Fjord Granite", 6)
    rows = [(n, rng.randint(5, 95) / 10, rng.choice(("open", "closed", "on hold"))) for n in names]
    cells = [["Project", "Budget", "Status", "Lead"], *([n, f"${b}M", s, "n/a"] for n, b, s in rows)]
    one = rng.choice(rows)
    asks: list[Ask] = [
        ("Which project has the biggest budget?", [(n, b * 1e6) for n, b in best(rows, 1)]),
        (f"What is the budget of project {one[0]}?", [(one[1] * 1e6,)]),
        ("How many projects are open?", [(sum(r[2] == "open" for r in rows),)]),
        ("What do all the budgets add up to?", [(sum(r[1] for r in rows) * 1e6,)]),
        ("Which projects are on hold?", [(r[0],) for r in rows if r[2] == "on hold"]),
        ("Which projects have a budget between 2 and 6 million?", [(r[0],) for r in rows if 2 <= r[1] <= 6]),
        (f"What's the status of {one[0]}?", [(one[2],)]),
        ("Total budget of all open projects", [(sum(r[1] for r in rows if r[2] == "open") * 1e6,)]),
        ("How many projects are there per status?", grouped(rows, 2, None)),
        ("Which project has the smallest budget?", [(n, b * 1e6) for n, b in best(rows, 1, least=True)]),
        ("Who leads Aurora?", [(r[0],) for r in rows if r[0] == "Aurora"] or None),
        ("How much of the budget has been spent?", None),
        ("How many projects were closed in 2023?", None),
        ("What is the average budget for closed projects in Asia?", None),
    ]
    return Sheet("Project portfolio", cells), asks


def _korean_branches(rng: random.Random) -> tuple[Sheet, list[Ask]]:
    names = draw(rng, "강남점 종로점 해운대점 수원점 대전점 전주점", 5)
    rows = [(n, rng.randint(500, 9900), rng.randint(3, 40), rng.choice(("수도권", "지방"))) for n in names]
    cells = [["지점", "매출(만원)", "직원 수", "지역"], *([n, f"{s:,}", f"{e}명", g] for n, s, e, g in rows)]
    cells += [["합계", f"{sum(r[1] for r in rows):,}", f"{sum(r[2] for r in rows)}명", ""]]
    one = rng.choice(rows)
    asks: list[Ask] = [
        ("매출이 가장 높은 지점은 어디인가요?", best(rows, 1)),
        ("전체 매출 합계는 얼마인가요?", [(sum(r[1] for r in rows),)]),
        (f"{one[0]} 직원은 몇 명인가요?", [(one[2],)]),
        ("매출이 5,000만원 이상인 지점을 알려주세요", [(r[0],) for r in rows if r[1] >= 5000]),
        ("직원 수가 제일 적은 지점은?", best(rows, 2, least=True)),
        ("지역별 매출을 알려줘", grouped(rows, 3, 1)),
        ("지점별 평균 매출은 얼마야?", [(sum(r[1] for r in rows) / len(rows),)]),
        ("수도권 지점은 몇 개인가요?", [(sum(r[3] == "수도권" for r in rows),)]),
        (f"{one[0]}의 매출은?", [(one[1],)]),
        ("지방 지점들의 매출 합계는?", [(sum(r[1] for r in rows if r[3] == "지방"),)]),
        ("직원이 20명 이상인 지점은 몇 곳인가요?", [(sum(r[2] >= 20 for r in rows),)]),
        ("매출 상위 3개 지점을 보여주세요", [(r[0], r[1]) for r in sorted(rows, key=lambda r: -r[1])[:3]]),
        ("평균 직원 수는 몇 명인가요?", [(sum(r[2] for r in rows) / len(rows),)]),
        (f"{one[0]}이 전체 매출에서 차지하는 비중은?", [(100 * one[1] / sum(r[1] for r in rows),)]),
        ("제주점 매출은 얼마인가요?", None),
        ("2021년 총매출은 얼마인가요?", None),
        ("매출이 두 번째로 높은 지점은?", [sorted(rows, key=lambda r: -r[1])[1][:2]]),
        ("영업이익이 가장 높은 지점은?", None),
    ]
    return Sheet("지점 현황", cells), asks


def _korean_months(rng: random.Random) -> tuple[Sheet, list[Ask]]:
    names = draw(rng, "사과 배 포도 감귤 딸기 수박", 5)
    rows = [(n, *(rng.randint(100, 3000) for _ in range(3))) for n in names]
    cells = [["품목", "1월", "2월", "3월"], *([r[0], *(f"{v:,}" for v in r[1:])] for r in rows)]
    one = rng.choice(rows)
    asks: list[Ask] = [
        (f"{one[0]}의 2월 판매량은 얼마인가요?", [(one[2],)]),
        ("3월에 가장 많이 팔린 품목은 무엇인가요?", best(rows, 3)),
        ("1월 총 판매량은?", [(sum(r[1] for r in rows),)]),
        (f"{one[0]}은 1월보다 3월에 얼마나 늘었나요?", [(one[3] - one[1],)]),
        ("2월 평균은 얼마인가요?", [(sum(r[2] for r in rows) / len(rows),)]),
        ("1월 판매량이 1000 미만인 품목은?", [(r[0],) for r in rows if r[1] < 1000]),
        ("수박은 1월에 얼마나 팔렸나요?", [(r[1],) for r in rows if r[0] == "수박"] or None),
        ("2월에 제일 적게 팔린 과일은?", best(rows, 2, least=True)),
        ("4월 총 판매량은?", None),
        ("가장 많이 팔린 품목은?", None),
        ("바나나의 1월 판매량은?", None),
        ("3월 판매량이 2,000 이상인 품목은 몇 개인가요?", [(sum(r[3] >= 2000 for r in rows),)]),
    ]
    return Sheet("과일 판매량", cells), asks


def _chinese_products(rng: random.Random) -> tuple[Sheet, list[Ask]]:
    names = draw(rng, "台灯 书桌 椅子 沙发 地毯 窗帘 衣柜", 6)
    rows = [(n, rng.randint(20, 900), rng.randint(50, 3000), rng.choice(("华东", "华南", "华北"))) for n in names]
    cells = [["产品", "销量", "单价（元）", "地区"], *([n, str(s), f"{p:,}", g] for n, s, p, g in rows)]
    cells += [["合计", str(sum(r[1] for r in rows)), "", ""]]
    one, place = rng.choice(rows), rows[0][3]
    asks: list[Ask] = [
        ("哪个产品销量最高？", best(rows, 1)),
        (f"{one[0]}的单价是多少？", [(one[2],)]),
        ("总销量是多少？", [(sum(r[1] for r in rows),)]),
        ("单价超过1000元的产品有哪些？", [(r[0],) for r in rows if r[2] > 1000]),
        ("平均单价是多少", [(sum(r[2] for r in rows) / len(rows),)]),
        ("各地区的销量分别是多少？", grouped(rows, 3, 1)),
        (f"{one[0]}的销量占总销量的百分之几？", [(100 * one[1] / sum(r[1] for r in rows),)]),
        (f"{place}地区有几种产品？", [(sum(r[3] == place for r in rows),)]),
        ("最贵的产品是什么？", best(rows, 2)),
        (f"{place}地区的总销量是多少？", [(sum(r[1] for r in rows if r[3] == place),)]),
        ("销量前三名的产品是哪些？", [(r[0], r[1]) for r in sorted(rows, key=lambda r: -r[1])[:3]]),
        ("一共有多少种产品？", [(len(rows),)]),
        ("单价低于500元的产品有几种？", [(sum(r[2] < 500 for r in rows),)]),
        ("冰箱的单价是多少？", None),
        ("2023年的总销量是多少？", None),
        ("哪个产品利润最高？", None),
        ("西南地区的销量是多少？", None),
    ]
    return Sheet("家具销售", cells), asks


def _chinese_years(rng: random.Random) -> tuple[Sheet, list[Ask]]:
    names = draw(rng, "研发部 市场部 行政部 生产部 客服部", 4)
    rows = [(n, *(rng.randint(50, 900) for _ in range(3))) for n in names]
    cells = [["部门", "2022年", "2023年", "2024年"], *([r[0], *map(str, r[1:])] for r in rows)]
    one = rng.choice(rows)
    asks: list[Ask] = [
        (f"{one[0]}2023年的预算是多少？", [(one[2],)]),
        ("2024年预算最多的部门是哪个？", best(rows, 3)),
        ("2022年各部门预算总共是多少？", [(sum(r[1] for r in rows),)]),
        (f"{one[0]}的预算从2022年到2024年增加了多少？", [(one[3] - one[1],)]),
        ("2023年预算低于400的部门有哪些？", [(r[0],) for r in rows if r[2] < 400]),
        ("2024年的平均预算？", [(sum(r[3] for r in rows) / len(rows),)]),
        ("哪个部门2022年预算最少？", best(rows, 1, least=True)),
        ("2021年的总预算是多少？", None),
        ("人事部2023年的预算是多少？", None),
        (f"{one[0]}2024年占总预算的百分之几？", [(100 * one[3] / sum(r[3] for r in rows),)]),
        ("2023年实际支出最多的部门是哪个？", None),
        ("2024年预算超过300万元的部门", [(r[0],) for r in rows if r[3] > 300]),
    ]
    return Sheet("部门预算（万元）", cells), asks


def _traditional_shops(rng: random.Random) -> tuple[Sheet, list[Ask]]:
    names = draw(rng, "台北店 台中店 高雄店 新竹店 花蓮店", 5)
    rows = [(n, rng.randint(100, 2000), rng.randint(4, 40)) for n in names]
    cells = [["分店", "營業額（萬元）", "員工人數"], *([n, f"{s:,}", str(e)] for n, s, e in rows)]
    one = rng.choice(rows)
    asks: list[Ask] = [
        ("哪家分店的營業額最低？", best(rows, 1, least=True)),
        (f"{one[0]}有多少員工？", [(one[2],)]),
        ("所有分店的營業額合計是多少？", [(sum(r[1] for r in rows),)]),
        ("營業額前三名的分店", [(r[0], r[1]) for r in sorted(rows, key=lambda r: -r[1])[:3]]),
        ("員工人數不到15人的分店有哪些？", [(r[0],) for r in rows if r[2] < 15]),
        ("員工最多的是哪家分店？", best(rows, 2)),
        ("平均營業額是多少？", [(sum(r[1] for r in rows) / len(rows),)]),
        ("台南店的營業額是多少？", None),
        ("營業額超過1000萬元的分店有幾家？", [(sum(r[1] > 1000 for r in rows),)]),
        ("去年的營業額合計是多少？", None),
    ]
    return Sheet("分店一覽", cells), asks


MAKERS: tuple[Maker, ...] = (
    *(_boats, _robots, _branches, _segments, _staff, _orders, _stock, _invoices, _two_tables, _visitors, _projects),
    *(_korean_branches, _korean_months, _chinese_products, _chinese_years, _traditional_shops),
)


def make_sheets(count: int = SHEETS, seed: int = 0) -> list[Sheet]:
    """Return sheets of all shapes in turn, each with one of its questions that has a result."""
    sheets: list[Sheet] = []
    while len(sheets) < count:
        rng = random.Random(seed)
        sheet, asks = MAKERS[len(sheets) % len(MAKERS)](rng)
        sheet.question, sheet.expected = rng.choice(asks)
        seed += 1
        if sheet.expected != []:
            sheets.append(sheet)
    return sheets


def make_passages(sheet: Sheet, first_id: int = 1) -> list[Passage]:
    """Return the passages of a sheet, split as an added file would be."""
    blocks = (Block(sheet.title, "heading", level=1), *table_blocks(sheet.rows, least_names=2))
    document = Document(sheet.title, None, blocks)
    chunks = split_document(document, lambda text: len(text) // 3 + 1, CHUNK_TOKENS)
    return [
        Passage(first_id + at, sheet.title, sheet.title, "", chunk.text, chunk.text, heading=chunk.heading)
        for at, chunk in enumerate(chunks)
    ]


def is_exact(result: QueryResult, expected: Sequence[tuple[Any, ...]]) -> bool:
    """Return whether the rows of a result are those expected, in any order, each with the expected values."""
    if result.total_rows != len(expected):
        return False
    rest = list(result.rows)
    for wanted in expected:
        at = next(
            (n for n, row in enumerate(rest) if all(any(_equal(one, cell) for cell in row) for one in wanted)), -1
        )
        if at < 0:
            return False
        del rest[at]
    return True


def _equal(wanted: object, cell: object) -> bool:
    if isinstance(wanted, int | float) and isinstance(cell, int | float):
        return abs(wanted - cell) <= 1e-6 * max(1.0, abs(wanted))
    return wanted == cell


def ask(sheet: Sheet, tables: Sequence[DataTable]) -> tuple[str, str]:
    """Return the outcome for the question of a sheet, and the SQL."""
    query = write_query(sheet.question, tables)
    if query is None:
        return "none" if sheet.expected is not None else "rightly none", ""
    try:
        result = run_query(query.sql, tables, Cancellation())
    except QueryRefused as refused:
        return "refused", f"{refused} {query.sql}"
    certainty = "certain" if query.is_certain else "uncertain"
    exact = sheet.expected is not None and is_exact(result, sheet.expected)
    return (f"exact, {certainty}" if exact else f"wrong, {certainty}"), f"{query.sql} → {result.rows[:4]}"


def measure(asked: Sequence[tuple[Sheet, Sheet]]) -> None:
    """Print the outcomes of questions, each over its sheet and another one, and those not answered exactly."""
    outcomes: Counter[str] = Counter()
    for sheet, other in asked:
        tables = find_tables([*make_passages(sheet), *make_passages(other, 10_000)])
        outcome, sql = ask(sheet, tables)
        outcomes[outcome] += 1
        if outcome in ("none", "refused") or outcome.startswith("wrong"):
            print(f"{outcome}: {sheet.question}\n    {sql}\n    expected {str(sheet.expected)[:120]}")
    print(f"\n{len(asked)} questions")
    for outcome, count in sorted(outcomes.items()):
        print(f"{outcome:20}{count:>5}")


def main() -> None:
    """Print the outcomes for generated sheets with one question each, and for sheets with many wordings each."""
    sheets = make_sheets()
    measure([(sheet, sheets[(at + 5) % len(sheets)]) for at, sheet in enumerate(sheets)])
    worded = [make(random.Random(seed)) for seed, make in enumerate(WORDINGS)]
    others = [Sheet(title, cells) for title, cells, _ in worded]
    measure(
        [
            (Sheet(title, cells, question, expected), others[(at + 5) % len(others)])
            for at, (title, cells, asks) in enumerate(worded)
            for question, expected in asks
        ]
    )
