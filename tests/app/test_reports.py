"""What the command line prints for an answer."""

from __future__ import annotations

from crag.app import reports
from crag.events import AnswerChecked, AnswerWritten
from crag.runs.trace import Trace
from crag.types import AddResult, Citation, Support, Usage

SENTENCES = (
    Support("Bees dance [1].", "supported", (1,), "Bees dance."),
    Support("Bees dance in 12 ways [1].", "weak", (1,), "Bees dance."),
    Support("Bees\x1b[2J sing.", "unsupported"),
)


def answered() -> Trace:
    cited = Citation(1, 1, "s1", "Bees", "bees.txt", None, "Bees dance.", "library")
    text = " ".join(one.sentence for one in SENTENCES)
    return Trace().apply_all([AnswerWritten(text, (cited,), "documents", Usage()), AnswerChecked(SENTENCES)])


def test_sentences_in_doubt_are_named_below_the_answer() -> None:
    assert reports.sources_text(answered()).splitlines() == [
        "[1] Bees",
        "Weak source: Bees dance in 12 ways [1].",
        "No source: Bees[2J sing.",
    ]


def test_the_report_holds_strength_and_quote_of_each_sentence() -> None:
    held = reports.answer_json("r", answered())["support"]
    assert [(one["strength"], one["quote"]) for one in held] == [
        ("supported", "Bees dance."),
        ("weak", "Bees dance."),
        ("unsupported", ""),
    ]


def test_a_presentation_has_slides() -> None:
    added = AddResult("fox.pptx", "s1", "Foxes", "added", 3, 2, kind="pptx")
    assert reports.added_text(added) == "✓ Foxes: added, 2 slides, 3 passages"
