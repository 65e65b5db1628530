"""Whether passages suffice, judged by words: mostly it cannot be told."""

from __future__ import annotations

import pytest

from crag.cancellation import Cancellation
from crag.grading.builtin_judge import BuiltinJudge
from crag.protocols import Embedder
from crag.text.relevance_scores import CountedTermStatistics
from crag.types import Assessment, Grade
from tests.doubles.engine import passage

BRIDGE = "The Halden bridge opened in 1931."


def judge(embedder: Embedder, question: str, *texts: str, complete: bool | None = None) -> Assessment:
    graded = [(passage(n, text), Grade(0.9, "", complete=complete)) for n, text in enumerate(texts, start=1)]
    return BuiltinJudge(embedder, CountedTermStatistics(texts)).judge(question, graded, Cancellation())


@pytest.mark.parametrize(
    ("question", "other", "sufficiency"),
    [
        ("When did the Halden bridge open?", "The Halden bridge opened in 1933.", "conflicting"),
        ("When did the Halden bridge open?", "In 1931 the Halden bridge opened.", "sufficient"),
        ("When did the Halden bridge open?", "The Halden bridge opened on 3 May 1931.", "sufficient"),
        ("When did the Halden bridge open?", "The Lund bridge opened in 1933.", "sufficient"),
        ("When did the Halden bridge open?", "The Halden bridge was painted in 1933.", "sufficient"),
        ("When did the Halden bridge open?", "The Halden bridge opened in 1931 and again in 1950.", "sufficient"),
        ("Why did the Halden bridge open?", "The Halden bridge opened in 1933.", "sufficient"),
    ],
)
def test_documents_disagree_only_if_both_state_one_value_of_what_is_asked(
    embedder, question, other, sufficiency
) -> None:
    assessment = judge(embedder, question, BRIDGE, other, complete=True)
    assert assessment.sufficiency == sufficiency
    stated = [statement.sentence for statement in assessment.statements]
    assert stated == ([BRIDGE, other] if sufficiency == "conflicting" else [])


def test_passages_of_one_document_do_not_disagree(embedder) -> None:
    graded = [
        (passage(n, text, source_id="s1"), Grade(0.9, "", complete=True))
        for n, text in enumerate((BRIDGE, "The Halden bridge opened in 1933."), start=1)
    ]
    statistics = CountedTermStatistics([BRIDGE])
    assessment = BuiltinJudge(embedder, statistics).judge("When did the Halden bridge open?", graded, Cancellation())
    assert assessment.sufficiency == "sufficient"


@pytest.mark.parametrize(
    ("question", "text", "reason"),
    [
        (
            "What did the Lindqvist bridge cost?",
            "The Halden bridge cost a million.",
            "No passage mentions “Lindqvist”.",
        ),
        ("Who crossed the Halden bridge in 1706?", "The Halden bridge was crossed by Clara Moor.", "“1706”"),
        ("1931년에 핼든 다리를 누가 열었습니까?", "핼든 다리는 클라라가 열었다.", "‘1931"),
        ("1931年誰開放了大橋？", "大橋由克拉拉開放。", "沒有段落提到「1931"),
    ],
)
def test_a_name_or_year_that_no_passage_mentions_leaves_the_question_open(embedder, question, text, reason) -> None:
    assessment = judge(embedder, question, text, "It is a long text on bridges.")
    assert assessment.sufficiency == "insufficient"
    assert reason in assessment.reason


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Who built the Haldan bridge?", "The Halden bridge is red."),
        ("Who leads the WHO in Halden?", "The World Health Organization is in Halden."),
        ("Who sold 10,000 stones for the Halden bridge?", "It took 10000 stones, in Halden."),
        ("Who walked 12 miles in Halden?", "They walked twelve miles, in Halden."),
        ("Why is the bridge red?", "The bridge is painted."),
    ],
)
def test_another_spelling_or_a_short_name_does_not(embedder, question, text) -> None:
    assert judge(embedder, question, text).sufficiency is None
