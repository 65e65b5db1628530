"""Dataset files: accepted field names, refusals in words, duplicate questions."""

import json
from pathlib import Path

import pytest

from crag.errors import BadRequest
from crag.evaluation import dataset_format
from crag.evaluation.dataset_format import (
    MAX_DATASET_BYTES,
    SEED_DATASET,
    example_to_row,
    parse_example,
    parse_examples,
    question_key,
    read_dataset,
)
from crag.evaluation.types import Example

STEPS = ("retrieve_documents", "generate_answer")


def lines(*rows) -> bytes:
    return "\n".join(json.dumps(row) for row in rows).encode()


def read(**fields) -> Example:
    return parse_examples(lines({"question": "Why?", **fields}))[0]


def test_a_row_may_say_all_that_is_known_of_a_right_answer():
    example = read(
        id="first",
        reference="Because.",
        expected_steps=[list(STEPS), ["retrieve_documents"]],
        expected_action="correct",
        expected_route="list",
        answerable=True,
        passage_ids=["a-1", 2],
        phrases=["for this reason"],
        must_mention=["because"],
        must_not_mention="never",
        language="en",
    )
    assert example == Example(
        "first",
        "Why?",
        ("Because.",),
        (STEPS, ("retrieve_documents",)),
        "correct",
        True,
        ("a-1", "2"),
        ("for this reason",),
        ("because",),
        ("never",),
        "en",
        "list",
    )


@pytest.mark.parametrize(
    ("fields", "name", "value"),
    [
        ({"answer": "A"}, "references", ("A",)),
        ({"answers": ["A", "B", "A", ""]}, "references", ("A", "B")),
        ({"references": ["A"], "answer": 4}, "references", ("A", "4")),
        ({"answers": {"text": ["A"], "answer_start": [3]}}, "references", ("A",)),
        ({"passage_id": "p-1"}, "sources", ("p-1",)),
        ({"sources": ["a.pdf"]}, "sources", ("a.pdf",)),
        ({"passages": "said so"}, "phrases", ("said so",)),
        ({"steps": list(STEPS)}, "steps", (STEPS,)),
        ({"action": "incorrect"}, "action", "incorrect"),
        ({"lang": "ko"}, "language", "ko"),
        ({"id": 7}, "key", "7"),
        ({"reference": None, "answerable": None, "unknown": {"left": "alone"}}, "references", ()),
    ],
)
def test_fields_go_by_the_names_that_the_usual_sets_give_them(fields, name, value):
    assert getattr(read(**fields), name) == value


def test_a_row_of_langsmith_is_its_inputs_and_outputs():
    row = {"id": "one", "inputs": {"input": "Who?"}, "outputs": {"output": "She."}}
    assert parse_examples(lines(row)) == (Example("one", "Who?", ("She.",)),)
    row = {"inputs": {"question": "Who?"}, "outputs": {"answer": "He.", "expected_steps": list(STEPS)}}
    assert parse_examples(lines(row)) == (Example(question_key("Who?"), "Who?", ("He.",), (STEPS,)),)


@pytest.mark.parametrize(
    ("row", "field"),
    [
        ('{"answer": "no question"}', "question"),
        ('{"question": 3}', "question"),
        ('{"question": "Q", "answers": [["deep"]]}', "answers"),
        ('{"question": "Q", "reference": true}', "reference"),
        ('{"question": "Q", "passage_id": {"id": 1}}', "passage_id"),
        ('{"question": "Q", "expected_steps": "retrieve"}', "expected_steps"),
        ('{"question": "Q", "expected_steps": [["retrieve"], "generate"]}', "expected_steps"),
        ('{"question": "Q", "expected_action": "right"}', "expected_action"),
        ('{"question": "Q", "expected_route": "map"}', "expected_route"),
        ('{"question": "Q", "expected_action": ["correct"]}', "expected_action"),
        ('{"question": "Q", "answerable": "no"}', "answerable"),
        ('{"question": "Q", "language": 3}', "language"),
        ('{"question": "Q", "id": {}}', "id"),
        ('["question"]', "JSON object"),
        ("{" + '"a":[' * 100_000, "JSON object"),
        ('{"question": " \\u0000 "}', "question is empty"),
    ],
)
def test_a_line_that_cannot_be_read_is_named_with_its_field(row, field):
    with pytest.raises(BadRequest, match=rf"^Line 3\b.*{field}"):
        parse_examples(b'{"question": "first"}\n\n' + row.encode())


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "no question"),
        (b"\n \n", "no question"),
        (b"\xff\xfe{}", "cannot be read"),
        (b" " * (MAX_DATASET_BYTES + 1), "50 MB that a dataset may have"),
        (lines({"question": "x" * 200_001}), "Line 1: The question has 200,001 characters"),
    ],
)
def test_a_file_that_holds_no_dataset_is_refused(data, why):
    with pytest.raises(BadRequest, match=why):
        parse_examples(data)


def test_invalid_characters_go_and_long_questions_stay_whole():
    data = b"\xef\xbb\xbf" + b'{"question": "W\\ud800hy\\u0000?", "answer": "a\\ud800"}\r\n'
    assert parse_examples(data)[0] == Example(question_key("Why?"), "Why?", ("a",))
    long = "Why " * 25_000
    assert read(question=long).question == long.strip()


def test_unanswerable_questions_have_no_reference_answer():
    example = read(answerable=False, answers=["plausible"], passage_id="near", must_mention="x", phrases="y")
    assert example == Example(question_key("Why?"), "Why?", answerable=False)


def test_the_same_question_given_twice_is_one_with_both_answers():
    rows = {"question": "Who is  she?", "answer": "Ada"}, {"question": " who IS she ？", "answer": ["Ada", "Lovelace"]}
    (example,) = parse_examples(lines(*rows))
    assert (example.question, example.references) == ("Who is  she?", ("Ada", "Lovelace"))
    apart = parse_examples(lines({"question": "Who?", "id": "a"}, {"question": "Who?", "id": "b"}))
    assert [one.key for one in apart] == ["a", "b"]


def test_the_same_question_with_and_without_an_answer_stays_two():
    rows = [{"question": "Who?", "answer": "Ada", "answerable": True}, {"question": "Who?", "answerable": False}] * 2
    first, second = parse_examples(lines(*rows))
    assert (first.key, first.references, second.key, second.answerable) == (
        question_key("Who?"),
        ("Ada",),
        f"{question_key('Who?')}-2",
        False,
    )


def test_one_id_for_two_questions_is_refused():
    with pytest.raises(BadRequest, match="Line 2: id"):
        parse_examples(lines({"question": "Who?", "id": "a"}, {"question": "When?", "id": "a"}))


def test_a_dataset_is_named_after_its_file(tmp_path):
    file = tmp_path / "my questions.jsonl"
    file.write_bytes(lines({"question": "Who?"}))
    assert read_dataset(file).name == "my questions"
    with pytest.raises(BadRequest, match=r"absent\.jsonl cannot be read"):
        read_dataset(tmp_path / "absent.jsonl")
    with pytest.raises(BadRequest, match="50 MB that a dataset may have"):
        read_dataset(Path("/dev/zero"))


@pytest.mark.parametrize("example", SEED_DATASET.examples, ids=lambda example: example.question)
def test_an_example_is_read_again_from_its_line(example):
    assert parse_example(json.loads(json.dumps(example_to_row(example))), 1) == example


def test_what_was_read_can_be_read_again_however_long_its_id():
    longest = "x" * 200
    kept = parse_examples(
        lines(
            {"question": "Why?", "id": longest, "answerable": True},
            {"question": "Why?", "id": longest, "answerable": False},
        )
    )
    assert len({one.key for one in kept}) == 2
    for example in kept:
        assert parse_example(json.loads(json.dumps(example_to_row(example))), 1) == example
    with pytest.raises(BadRequest, match="id must be text of at most 200"):
        read(id=10**300)


def test_the_work_for_a_question_on_very_many_lines_grows_with_their_number(monkeypatch):
    """Merged line by line, each example would hold all answers before it."""
    held = []

    def counted(make):
        def make_counted(*values, **fields):
            example = make(*values, **fields)
            held.append(len(example.references))
            return example

        return make_counted

    for name in ("Example", "replace"):
        monkeypatch.setattr(dataset_format, name, counted(getattr(dataset_format, name)))
    (example,) = parse_examples(lines(*({"question": "Why?", "answer": number} for number in range(2_000))))
    assert len(example.references) == 2_000
    assert 2_000 <= sum(held) <= 3 * 2_000
