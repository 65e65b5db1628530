"""Questions about tables: the real graph and real DuckDB over doubles."""

import time

import pytest

from crag.options import RunOptions
from crag.protocols import QueryWriter
from crag.types import Turn
from tests.doubles.engine import passage

ROBOTS = passage(1, "Robot | Units sold | Price\nMule | 385 | 1.8\nAnt | 510 | 0.6\nBee | 90 | 0.2", title="Robots")
PROSE = passage(2, "The Mule was sold to a mill.")


class Scripted(QueryWriter):
    def __init__(self, *queries):
        self.queries = [*queries]
        self.asked = []

    def write_query(self, question, schema, stop, *, refused="", reason=""):
        self.asked.append((schema, refused, reason))
        return self.queries.pop(0)


def test_a_figure_is_calculated_and_its_row_is_cited(bench):
    trace = bench({}, passages=[PROSE, ROBOTS]).ask("Which robot sold the most units?")
    assert (trace.route, trace.outcome) == ("table", "calculated")
    assert trace.text == "Ant — Units sold: 510. [1]"
    assert trace.table.sql.lstrip().upper().startswith("SELECT")
    assert (trace.table.rows, trace.table.used) == ((("Ant", 510),), 3)
    assert [(cited.passage_id, cited.quote) for cited in trace.citations] == [(1, "Ant | 510 | 0.6")]
    assert trace.trajectory == ["query_table"]


REGIONS = passage(3, "Region | Month | Revenue\nNorth | May | 30\nNorth | June | 50\nSouth | May | 20", title="Sales")


def test_a_comparison_of_values_of_a_table_is_calculated(bench):
    trace = bench({}, passages=[PROSE, REGIONS]).ask("Compare North and South revenue")
    assert (trace.route, trace.outcome) == ("table", "calculated")
    assert trace.table.rows == (("North", 80), ("South", 20))


@pytest.mark.parametrize("question", ["Compare the Mule and the mill", "Compare North and South"])
def test_a_comparison_that_no_table_answers_is_answered_part_by_part(bench, question):
    trace = bench({1: 1.0, 2: 1.0, 3: 1.0}, passages=[PROSE, REGIONS]).ask(question)
    assert (trace.route, trace.outcome) == ("steps", "documents")
    assert trace.table is None


STOCK = passage(6, "产品 | 库存 | 最低库存\n绳子 | 3 | 5\n油灯 | 9 | 4", title="库存")


def test_a_list_of_rows_is_calculated(bench):
    trace = bench({}, passages=[PROSE, STOCK]).ask("库存低于最低库存的有哪些?")
    assert (trace.route, trace.outcome) == ("table", "calculated")
    assert trace.table.rows == (("绳子", 3, 5),)


def test_a_list_that_no_table_answers_is_made_of_passages(bench):
    trace = bench({}, passages=[PROSE, STOCK]).ask("List all mules with more than 3 carts")
    assert trace.trajectory[:2] == ["query_table", "list_matches"]


def test_what_a_model_takes_for_a_calculation_is_a_fact_if_no_table_answers_it(bench):
    trace = bench({1: 1.0}, passages=[ROBOTS], state={"route": "table"}).ask("How long does the voyage take?")
    assert (trace.route, trace.table) == ("fact", None)


YEARS = passage(
    4,
    "Region | 2020 | 2021 | 2022 | 2023 | 2024\nNorth | 10 | 20 | 25 | 30 | 50\nSouth | 1 | 2 | 3 | 20 | 25",
    title="Sales",
)


def test_a_figure_of_a_period_is_looked_up_in_a_wide_row(bench):
    trace = bench({}, passages=[PROSE, YEARS]).ask("What were the sales of North in 2024?")
    assert (trace.route, trace.outcome) == ("table", "calculated")
    assert trace.table.rows == (("North", 50),)


def test_a_figure_of_a_narrow_row_is_quoted(bench):
    held = passage(5, "Region | 2023 | 2024\nNorth | 30 | 50\nSouth | 20 | 25", title="Sales")
    assert bench({5: 1.0}, passages=[held]).ask("What were the sales of North in 2024?").table is None


def test_a_figure_that_no_table_holds_is_searched_as_a_fact(bench):
    trace = bench({4: 1.0}, passages=[PROSE, YEARS]).ask("What were the sales of North in 2019?")
    assert trace.route == "fact"
    assert trace.table is None


def test_a_text_that_came_with_the_question_is_not_read_for_a_calculation(bench):
    began = time.process_time()
    assert bench({1: 1.0}, passages=[ROBOTS]).ask("Who built the Mule? " + "1," * 15_000).route is None
    assert time.process_time() - began < 4


def test_documents_without_a_table_are_searched_at_once(bench):
    trace = bench({2: 1.0}, passages=[PROSE]).ask("Which robot sold the most units?")
    assert "query_table" not in trace.trajectory
    assert trace.route is None


def test_a_question_that_no_table_answers_is_searched_for(bench):
    trace = bench({1: 1.0}, passages=[ROBOTS]).ask("How many sailors were on the ship?")
    assert (trace.route, trace.outcome) == ("fact", "documents")
    assert trace.table is None


def test_a_model_writes_what_the_patterns_are_not_sure_of(bench):
    writer = Scripted('SELECT "Robot", "Price" FROM table_1 ORDER BY "Price" LIMIT 1')
    trace = bench({}, passages=[ROBOTS], query_writer=writer).ask("What is the average weight by colour of robots?")
    assert (trace.outcome, trace.table.rows) == ("calculated", (("Bee", 0.2),))
    assert "Units sold" in writer.asked[0][0]


def test_a_query_that_cannot_be_run_is_repaired_once(bench):
    writer = Scripted("DROP TABLE table_1", 'SELECT "Robot" FROM table_1 WHERE "Price" > 1')
    trace = bench({}, passages=[ROBOTS], query_writer=writer).ask("What is the average weight by colour of robots?")
    assert trace.table.rows == (("Mule",),)
    assert writer.asked[1][1] == "DROP TABLE table_1"
    assert writer.asked[1][2]


@pytest.mark.parametrize("query", ["SELECT * FROM read_csv('/etc/passwd')", "nonsense"])
def test_a_second_failure_is_said_and_the_passages_are_searched(bench, query):
    writer = Scripted(query, query)
    trace = bench({1: 1.0}, passages=[ROBOTS], query_writer=writer).ask(
        "What is the average weight by colour of robots?"
    )
    assert (trace.route, trace.table) == ("fact", None)
    assert trace.notes[0].startswith("The tables could not be queried. ")


def test_a_model_is_not_asked_about_what_may_be_a_fact(bench):
    writer = Scripted()
    assert bench({1: 1.0}, passages=[ROBOTS], query_writer=writer).ask("How much does the voyage take?").table is None
    assert writer.asked == []
    trace = bench({}, passages=[ROBOTS], query_writer=writer).ask("How much does the Mule cost?")
    assert (trace.outcome, trace.table.rows) == ("calculated", (("Mule", 1.8),))


def test_the_user_may_ask_for_a_table(bench):
    trace = bench({}, options=RunOptions(route="table"), passages=[ROBOTS]).ask("Price of the Mule")
    assert trace.table.rows[0][-1] == 1.8


SALES = passage(
    3,
    "Date | Region | Product | Units | Revenue\n2024-03-01 | North | Mixer | 4 | 100\n"
    "2024-03-09 | South | Kettle | 9 | 60\n2024-05-02 | North | Kettle | 2 | 80\n2024-05-12 | East | Toaster |  | 20",
    title="Sales",
)


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("Top 2 products by revenue", (("Kettle", 140), ("Mixer", 100))),
        ("How many sales were there in March 2024?", ((2,),)),
        ("What is the total revenue in 2024?", ((260,),)),
        ("What is the average of units?", ((5,),)),
    ],
)
def test_figures_are_those_of_the_rows_that_are_meant(bench, question, rows):
    trace = bench({}, passages=[SALES]).ask(question)
    assert (trace.outcome, trace.table.rows) == ("calculated", rows)
    assert "Date is" not in trace.text


@pytest.mark.parametrize("question", ["How many sales have no units?", "What share of sales were Mixers?"])
def test_what_may_be_meant_otherwise_is_not_calculated(bench, question):
    assert bench({3: 1.0}, passages=[SALES]).ask(question).table is None


def test_a_follow_up_goes_on_with_the_calculation(bench):
    before = (Turn("user", "Which robot sold the most units?"), Turn("assistant", "Ant — Units sold: 510."))
    trace = bench({}, passages=[PROSE, ROBOTS]).ask("and the least?", before)
    assert (trace.route, trace.text) == ("table", "Bee — Units sold: 90. [1]")
    assert trace.condensed == "Which robot sold the least units?"
    trace = bench({2: 1.0}, passages=[PROSE, ROBOTS]).ask("Who bought the Mule?", before)
    assert (trace.route, trace.table) == ("fact", None), "another question is not calculated"
