"""An evaluation as CSV, JSON and HTML: every answer, every figure with its n, hostile text made harmless."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from crag.evaluation.exports import export_csv, export_json
from crag.evaluation.html_report import export_html
from crag.evaluation.metrics import METRICS
from crag.evaluation.types import Cutoffs
from tests.evaluation.sample import EXAMPLES, evaluation, judged, results
from tests.sharing.hostile import payloads

CANARY = "http://canary.test"


def rows_of(written: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(written)))


def test_every_metric_is_explained_in_the_documentation():
    written = (Path(__file__).parents[2] / "docs" / "quality.md").read_text(encoding="utf-8")
    rows = [f"| {one.title} | `{name}` | {one.meaning} |" for name, one in METRICS.items()]
    assert "\n".join(rows) in written


class Page(HTMLParser):
    """What elements and attributes a page has, and its visible text."""

    def __init__(self, written: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.addresses: set[str] = set()
        self.text = ""
        self.feed(written)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.addresses |= {value or "" for name, value in attrs if name in ("href", "src", "action", "style")}

    def handle_data(self, data):
        self.text += data


def test_the_table_has_a_row_for_each_answer_with_all_scores():
    rows = rows_of(export_csv(evaluation(), results(), Cutoffs()))
    assert len(rows) == 12
    assert [row["right"] for row in rows[:6]] == ["1", "1", "0", "0", "", ""]
    first = rows[0]
    assert (first["variant"], first["number"], first["repetition"], first["run_id"]) == ("k 1", "1", "1", "run-0-0-1")
    assert (first["answer"], first["contained"], first["refused"]) == ("It is 1931. [1]", "1.0", "")
    assert set(METRICS) - set(first) == {"answer_right", "judged"}  # `right`, and `judge_score` beside its reason


def test_an_evaluation_without_answers_still_has_its_names():
    assert export_csv(evaluation(), [], Cutoffs()).startswith("variant,truthfulness,right,number,")
    assert "No question was answered." in export_html(evaluation(1, done=0), [], Cutoffs())


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t=", "\r=", "\x00=", "\u200b=", "＝"])
def test_nothing_in_the_table_is_calculated_by_a_spreadsheet(start):
    formula = f'{start}HYPERLINK("{CANARY}")'
    example = replace(EXAMPLES[0], question=formula, references=(formula,), key=formula)
    answered = judged(replace(results(1)[0], example=example, error=formula), 0.9, formula)
    answered = replace(answered, scored=replace(answered.scored, answer=formula))
    named = evaluation(1, variants=(replace(evaluation(1).variants[0], name=formula),))
    cells = rows_of(export_csv(named, [answered], Cutoffs()))[0].values()
    held = [cell for cell in cells if CANARY in cell]
    assert len(held) == 7
    assert all(cell.startswith("'") for cell in held)


def test_the_document_is_one_with_summary_and_rows():
    document = json.loads(export_json(evaluation(), results(), Cutoffs()))
    assert set(document) == {"evaluation", "summary", "rows"}
    assert "browser-key" not in json.dumps(document)
    first, second = document["summary"]["variants"]
    assert (first["variant"], first["answers"], first["figures"]["answer_right"]["value"]) == ("k 1", 6, 0.5)
    assert first["actions"] == [
        {"expected": "correct", "actual": "correct", "count": 4},
        {"expected": "incorrect", "actual": "incorrect", "count": 2},
    ]
    assert second["figures"]["answer_right"] == second["figures"]["answer_right"] | {"value": 1.0, "n": 2}
    assert document["evaluation"]["variants"][0]["environment"]["library"] == "library-digest"
    row = document["rows"][0]
    assert row["truthfulness"] == 1
    assert (row["question"], row["right"], row["answer"]) == (EXAMPLES[0].question, True, "It is 1931. [1]")
    assert row["expected"]["references"] == ["1931"]


def test_the_cutoffs_say_what_is_right():
    answers = [judged(result, 0.6, "Nearly.") for result in results(1)[:1]]
    assert rows_of(export_csv(evaluation(1), answers, Cutoffs(judge=0.5)))[0]["right"] == "1"
    assert rows_of(export_csv(evaluation(1), answers, Cutoffs(judge=0.7)))[0]["right"] == "0"


def test_files_say_how_many_answers_a_person_rated():
    answers = [replace(results(1)[2], label=True), *results(1)[3:]]
    document = json.loads(export_json(evaluation(1), answers, Cutoffs()))
    assert (document["summary"]["variants"][0]["labelled"], document["rows"][0]["right"]) == (1, True)
    page = Page(export_html(evaluation(1), answers, Cutoffs())).text
    assert "1 rated by a person" in page
    assert "rated right by a person" in page
    assert "rated by a person" not in Page(export_html(evaluation(1), results(1), Cutoffs())).text.replace(
        METRICS["answer_right"].meaning, ""
    )


def test_the_report_shows_figures_with_n_settings_and_answers():
    answers = results(1)
    page = Page(
        export_html(evaluation(1), [judged(answers[0], 1.0, "The year is right."), *answers[1:]], Cutoffs())
    ).text
    for told in ("Right answers", "50.0%", "library-digest", "It is 1931. [1]", "run-0-0-1", "The year is right."):
        assert told in page
    for told in ("1 of 2 passages graded relevant", "Write", "not found in your documents", "Who is the mayor?"):
        assert told in page


def test_two_variants_are_ranked_and_compared():
    page = Page(export_html(evaluation(), results(), Cutoffs())).text
    ranking = page[page.index("Figures") :]
    assert ranking.index("k 2") < ranking.index("k 1")
    assert "From “k 1” to “k 2”" in page
    assert "Better (1)" in page
    assert "Newly wrong" not in page


def test_one_that_was_stopped_says_so():
    stopped = evaluation(1, state="stopped", done=3, fault="Ten answers in a row failed.")
    page = Page(export_html(stopped, results(1)[:3], Cutoffs())).text
    assert "stopped" in page
    assert "Ten answers in a row failed." in page
    assert "3 of 6 answers" in page


def test_no_text_of_strangers_has_any_power_in_the_report():
    """Names, questions, references, answers, reasons, errors, models: whatever can hold what others wrote."""
    evil = payloads(CANARY)
    plain = export_html(evaluation(), results(), Cutoffs())
    example = replace(EXAMPLES[0], question=evil, references=(evil,), steps=((evil,),), sources=(evil,), key=evil)
    answers = [
        judged(
            replace(
                one, example=example, error=evil, run_id=evil, scored=replace(one.scored, answer=evil, steps=(evil,))
            ),
            0.5,
            evil,
        )
        for one in results()
    ]
    variants = tuple(
        replace(one, name=evil, environment=replace(one.environment, model=evil, library=evil))
        for one in evaluation().variants
    )
    made = export_html(
        evaluation(name=evil, dataset=evil, fault=evil, judge=evil, variants=variants), answers, Cutoffs()
    )
    page, usual = Page(made), Page(plain)
    assert page.tags <= usual.tags | {"ul", "li"}
    assert page.attributes <= usual.attributes
    assert all(address.startswith("#") for address in page.addresses)
    assert "script" not in page.tags
    assert "default-src 'none'" in made
    assert not {"\u202e", "\x1b", "\u200b"} & set(made)
