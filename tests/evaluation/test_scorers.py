"""What a finished run is worth, measured against what is known of its question."""

import pytest

from crag.evaluation.scorers import score_run
from crag.evaluation.types import Example, GradedPassage, NodeCost
from crag.types import Citation, ModelCall, Support, Usage
from tests.doubles.engine import passage
from tests.evaluation.answers import answered, found, refused, steps

PARIS = Example("1", "What is the capital of France?", references=("Paris", "the city of Paris"))


def test_where_nothing_is_known_nothing_is_measured():
    scored = score_run(Example("1", "Why?"), answered("Because."))
    assert (scored.scores, scored.text_score, scored.grades) == ({}, None, ())
    assert (scored.answer, scored.seconds, scored.tokens) == ("Because.", 2.0, 0)


def test_an_answer_that_holds_a_reference_is_right_however_long():
    scored = score_run(PARIS, answered("The capital of France, as everybody knows, is Paris [1]."))
    assert (scored.scores["contained"], scored.text_score) == (1.0, 1.0)
    assert scored.scores["token_f1"] == pytest.approx(4 / 11)  # "of Paris", 2 words of 8 and 3


def test_one_that_does_not_is_worth_its_f1_with_the_nearest_reference():
    scored = score_run(Example("1", "Who?", references=("Grace Brewster Hopper", "nobody")), answered("Grace Hopper"))
    assert scored.scores["contained"] == 0.0
    assert scored.text_score == scored.scores["token_f1"] == pytest.approx(0.8)


@pytest.mark.parametrize(
    ("reference", "wrong", "right"),
    [
        (
            "The pump has a warranty of three years from the date of purchase.",
            "The pump has a warranty of five years from the date of purchase.",
            "From the date of purchase the pump has a 3 year warranty.",
        ),
        (
            "The valve must be closed before the tank is filled.",
            "The valve must not be closed before the tank is filled.",
            "Before the tank is filled, the valve must be closed.",
        ),
        (
            "이 펌프의 보증 기간은 구입일부터 3년이다.",
            "이 펌프의 보증 기간은 구입일부터 5년이다.",
            "구입일부터 이 펌프의 보증 기간은 3년이다.",
        ),
    ],
)
def test_a_near_copy_that_changes_what_matters_is_not_right(reference, wrong, right):
    example = Example("1", "How?", references=(reference,))
    changed, other_order = score_run(example, answered(wrong)), score_run(example, answered(right))
    assert changed.scores["token_f1"] > 0.8
    assert changed.text_score < 0.5
    assert other_order.text_score == other_order.scores["token_f1"] > 0.5


def test_what_must_be_mentioned_and_what_must_not():
    example = Example("1", "Which?", references=("red",), must_mention=("blue", "green"), must_not_mention=("grey",))
    half = score_run(example, answered("Red and blue."))
    assert (half.scores["mentions"], half.scores["avoids"]) == (0.5, 1.0)
    assert half.text_score == 0.25, "all of it must be there"
    assert score_run(example, answered("Red, blue, green and grey.")).text_score == 0.0
    only_mentions = Example("1", "Which?", must_mention=("blue", "green"))
    assert score_run(only_mentions, answered("Blue.")).text_score == 0.25


def test_what_must_not_be_mentioned_alone_makes_no_answer_right():
    scored = score_run(Example("1", "Which?", must_not_mention=("grey",)), answered("Red."))
    assert (scored.scores, scored.text_score) == ({"avoids": 1.0}, None)


def test_a_refusal_holds_nothing_whatever_it_quotes():
    example = Example("1", "What?", references=("Paris",), must_mention=("Paris",), must_not_mention=("France",))
    scored = score_run(example, refused())
    assert scored.text_score == 0.0
    assert scored.scores == {
        "refusal_right": 0.0,
        "answered": 0.0,
        "contained": 0.0,
        "token_f1": 0.0,
        "mentions": 0.0,
        "avoids": 1.0,
    }


@pytest.mark.parametrize(
    ("reference", "answer", "contained"),
    [
        ("no", "There is no doubt that it is.", 0.0),
        ("no", "No, it is not.", 1.0),
        ("Yes", "**Yes** [1].", 1.0),
        ("是", "這是一個問題。", 0.0),
        ("아니요", "아니요, 그렇지 않습니다.", 1.0),
    ],
)
def test_a_yes_or_no_is_given_by_the_first_word(reference, answer, contained):
    scored = score_run(Example("1", "Is it?", references=(reference,)), answered(answer))
    assert scored.scores["contained"] == contained


def test_for_what_cannot_be_answered_only_refusing_is_right():
    unanswerable = Example("1", "Who?", references=("Paris",), answerable=False)
    assert score_run(unanswerable, refused()).scores == {"refusal_right": 1.0, "refused": 1.0}
    assert score_run(unanswerable, answered("Paris.")).scores == {"refusal_right": 0.0, "refused": 0.0}
    assert score_run(unanswerable, answered("Paris.")).text_score is None


def test_a_known_answer_says_that_there_is_one():
    assert score_run(PARIS, answered("Paris")).scores["answered"] == 1.0


def test_steps_are_exactly_one_of_the_accepted_lists():
    accepted = (("retrieve_documents", "generate_answer"), ("generate_answer",))
    example = Example("1", "Which?", steps=accepted)
    taken = steps(("retrieve", 0.1), ("decide", 0.0), ("generate", 0.5), ("check_answer", 0.1))
    assert score_run(example, answered("So.", steps=taken)).scores == {"steps_match": 1.0}
    assert score_run(example, answered("So.", steps=taken[:1])).scores == {"steps_match": 0.0}
    assert score_run(example, answered("So.", steps=taken)).steps == accepted[0]


def test_the_action_is_compared_where_there_is_one():
    example = Example("1", "Which?", action="incorrect")
    assert score_run(example, answered("So.", action="incorrect")).scores == {"action_match": 1.0}
    assert score_run(example, answered("So.", action="correct")).scores == {"action_match": 0.0}
    assert score_run(example, answered("So.")).scores == {}


@pytest.mark.parametrize(
    ("source", "title", "is_found"),
    [
        ("squad-a-7-9", "Victoria squad-a-7-9.txt", True),
        ("squad-a-7-9", "Victoria squad-a-7-91.txt", False),
        ("squad-a-7-9", "Victoria squad-a-7-9-1.txt", False),
        ("squad-a-7-9", "Victoria xsquad-a-7-9.txt", False),
        ("SQUAD-A-7-9", "victoria squad-a-7-9.txt", True),
        ("7.1", "Chapter 7.1.2.txt", False),
        ("보고서", "보고서.pdf", True),  # as macOS writes its syllables
        ("a (draft)+.pdf", "a (draft)+.pdf", True),
        ("", "anything.txt", False),
    ],
)
def test_a_source_is_named_whole(source, title, is_found):
    held = passage(1, title=title, location="elsewhere")
    scored = score_run(Example("1", "Where?", sources=(source,)), found(held))
    assert scored.scores["recall"] == float(is_found)


def test_a_source_is_found_by_its_id_its_address_and_through_one_that_says_the_same():
    held = passage(1, location="https://example.org/paper", also_in=("Twin.pdf",))
    for source in (held.source_id, "https://example.org/paper", "Twin.pdf"):
        assert score_run(Example("1", "Where?", sources=(source,)), found(held)).scores["recall"] == 1.0


def test_recall_and_reciprocal_rank_of_sources_and_phrases():
    passages = passage(1), passage(2, text="It flies\n at  Mach 2."), passage(3)
    example = Example("1", "How fast?", sources=("s3", "s9"), phrases=("flies at mach 2", "never"))
    scored = score_run(example, found(*passages))
    assert (scored.scores["recall"], scored.scores["reciprocal_rank"]) == (0.5, 0.5)
    assert score_run(example, answered("So.")).scores["recall"] == 0.0  # nothing was found at all


def test_what_was_found_on_the_web_is_no_find_of_the_library():
    result = passage(-1, origin="web")
    trace = answered("So.", passages={-1: result}, found={"web": (-1,)})
    assert score_run(Example("1", "Where?", sources=(result.source_id,)), trace).scores["reciprocal_rank"] == 0.0


def test_the_grader_beside_which_passages_are_right():
    passages = [passage(number) for number in range(1, 5)]
    words = ("relevant", "unknown", "ambiguous")
    trace = found(*passages, words=words, scores=(0.9, None, 0.5))
    scored = score_run(Example("1", "Where?", sources=("s2", "s3")), trace)
    assert scored.grades == (
        GradedPassage(0.9, True, False),
        GradedPassage(None, False, True),
        GradedPassage(0.5, False, True),
    )
    assert scored.best == 0.9
    nothing_right = score_run(Example("1", "Where?", sources=("s2",), answerable=False), trace)
    assert [grade.right for grade in nothing_right.grades] == [False] * 3
    assert score_run(Example("1", "Where?"), trace).grades == ()
    assert score_run(Example("1", "Where?"), found(passages[0], words=["unknown"], scores=[None])).best is None


def test_support_is_measured_over_the_sentences_that_cite():
    sentences = (
        Support("A [1].", "supported", (1,)),
        Support("B [1].", "weak", (1,)),
        Support("So it goes.", "supported", (1,)),
    )
    cited = Citation(1, 1, "s1", "Paper 1.pdf", "paper1.pdf", 1, "A.", "library")
    trace = answered("A [1].", sentences=sentences, citations=(cited,), passages={1: passage(1), 2: passage(2)})
    assert score_run(Example("1", "?"), trace).scores == {"supported": 0.5}
    assert score_run(Example("1", "?", sources=("s1",)), trace).scores["cited"] == 1.0
    assert score_run(Example("1", "?", sources=("s2",)), trace).scores["cited"] == 0.0
    trace.outcome = "not_answered"
    assert not {"supported", "cited"} & set(score_run(Example("1", "?", sources=("s1",)), trace).scores)


def test_what_each_node_took():
    taken = steps(("retrieve", 0.25), ("generate", 1.0), ("generate", 0.5))
    usage = Usage(prompt_tokens=50, answer_tokens=5)
    calls = [
        ModelCall("grade_documents", "m", 0.0, 1.0, (), prompt_tokens=100, answer_tokens=10),
        ModelCall("grade_documents", "m", 0.0, 1.0, (), prompt_tokens=None, fault="cut off"),
        ModelCall("generate", "m", 0.0, 1.0, (), prompt_tokens=50, answer_tokens=5),
    ]
    scored = score_run(PARIS, answered("Paris", steps=taken, usage=usage), calls)
    assert scored.nodes == {
        "retrieve": NodeCost(0.25),
        "generate": NodeCost(1.5, 50, 5),
        "grade_documents": NodeCost(0.0, 100, 10),
    }
    assert scored.tokens == 165
    assert score_run(PARIS, answered("Paris", steps=taken, usage=usage)).tokens == 55
    assert score_run(PARIS, answered("Paris", steps=taken)).tokens == 0


def test_what_the_documents_are_not_expected_to_hold_may_be_refused_and_may_be_answered_from_the_web():
    example = Example("1", "Who won?", references=("Celtics",), action="incorrect")
    for answer in (answered("The Celtics."), refused()):
        scored = score_run(example, answer)
        assert not {"refusal_right", "answered", "refused"} & set(scored.scores)
