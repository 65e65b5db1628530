"""Questions made from a collection: they find their passages, and their unanswerable twins find none."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from crag.cancellation import Cancellation
from crag.errors import Stopped
from crag.evaluation.calibration_probes import (
    ProbeMaker,
    QuestionWriter,
    WrittenQuestions,
    informative_sentences,
    make_cloze_question,
    parse_written_questions,
)
from crag.library.library import Library
from crag.protocols import Reply
from crag.text.language import detect_language, extract_terms
from crag.types import Prompt
from tests.doubles.library import open_library
from tests.evaluation.towns import TOWNS, add_facts

SENTENCES = {
    "en": "The harbour bridge of Alder was opened in 1931 by Edward Smith after a long quarrel about its costs.",
    "ko": "세종대왕은 1443년에 훈민정음을 창제하고 집현전 학자들과 함께 해례본을 편찬하여 반포하였다.",
    "zh": "玉山是臺灣最高的山峰，海拔3952公尺，位於南投縣與嘉義縣和高雄市的交界處，每年吸引許多登山客前往。",
}


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """Forty towns, for all tests that only read them."""
    opened = open_library(tmp_path_factory.mktemp("probes") / "home")
    add_facts(opened)
    return opened


def maker(library: Library, **options: Any) -> ProbeMaker:
    return ProbeMaker(library._database, lambda question: library.search(question, 24), 4, **options)


@pytest.mark.parametrize("language", SENTENCES)
def test_a_question_asks_for_part_of_a_sentence_in_its_language(language):
    sentence = SENTENCES[language]
    question = make_cloze_question(sentence, [], random.Random(1))
    assert question is not None
    assert question.endswith(("?", "？"))
    assert detect_language(question) == language
    held = set(extract_terms(sentence))
    assert 2 <= len(held & set(extract_terms(question))) < len(held)


def test_words_are_paraphrased_but_not_names_or_numbers():
    chance = random.Random(3)
    made = [make_cloze_question(SENTENCES["en"], ["zeppelin"], chance) or "" for _ in range(60)]
    assert 10 < sum("zeppelin" in question for question in made) < 60
    assert any("1931" in question and "zeppelin" in question for question in made)


def test_a_swapped_fact_is_of_the_same_kind():
    made = {make_cloze_question(SENTENCES["en"], [], random.Random(n), ["1755", "Teak", "zeppelin"]) for n in range(40)}
    for question in made:
        assert question is not None
        assert sum(word in question for word in ("1755", "Teak", "zeppelin")) == 1
        assert not ("1755" in question and "1931" in question)


def test_sentences_that_say_nothing_are_not_asked_about():
    assert informative_sentences("# Contents\n\nYes. It was so.\n\n1\n2\n3") == []
    assert make_cloze_question("It was so.", [], random.Random(1)) is None


def test_every_probe_has_a_twin_without_an_answer(library):
    probes = list(maker(library).make("", 30, Cancellation()))
    assert len(probes) == 60
    answered, twins = probes[::2], probes[1::2]
    assert all(probe.answerable and probe.kind == "passage" for probe in answered)
    assert {twin.kind for twin in twins} == {"hidden", "swapped"}
    assert not any(twin.answerable for twin in twins)
    hidden = [(probe, twin) for probe, twin in zip(answered, twins, strict=True) if twin.kind == "hidden"]
    gone = [{one.id for one in probe.passages} - {one.id for one in twin.passages} for probe, twin in hidden]
    assert all(twin.question == probe.question and len(twin.passages) == 4 for probe, twin in hidden)
    assert all(len(ids) <= 1 for ids in gone)
    assert sum(len(ids) == 1 for ids in gone) > 0.5 * len(hidden)  # the others did not find their passage at all


def test_the_same_seed_makes_the_same_probes(library):
    first, again, other = (list(maker(library, seed=seed).make("", 10, Cancellation())) for seed in (5, 5, 6))
    assert first == again
    assert first != other


def test_questions_from_other_collections_are_asked_too(tmp_path):
    library = open_library(tmp_path / "home")
    for collection in ("Documents", "Elsewhere"):
        add_facts(library, collection=collection)
    kinds = {probe.kind for probe in maker(library).make("Elsewhere", 12, Cancellation())}
    assert "elsewhere" in kinds


def test_one_long_document_hides_the_passage_and_its_neighbours(tmp_path):
    library = open_library(tmp_path / "home")
    lines = [
        f"The {town} festival of {1800 + n} drew {n * 37 + 11} visitors to its old harbour."
        for n, town in enumerate(TOWNS)
    ]
    library.pipeline.add_bytes("all.txt", "\n".join(lines).encode())
    for probe in maker(library).make("", 20, Cancellation()):
        if probe.kind == "hidden":
            assert probe.passages
            assert not any(
                all(term in extract_terms(passage.text) for term in extract_terms(probe.question))
                for passage in probe.passages
            )


def test_stopping_stops(library):
    stop = Cancellation()
    stop.cancel()
    with pytest.raises(Stopped):
        list(maker(library).make("", 5, stop))


@dataclass
class Writing:
    """A chat model with a scripted reply."""

    reply: str
    prompts: list[str] = field(default_factory=list)

    def complete(self, prompts: Sequence[Prompt], stop: Cancellation, *, schema: dict[str, Any] | None = None) -> Reply:
        self.prompts.append(prompts[-1].text)
        return Reply(self.reply)


def test_a_model_writes_both_questions_where_there_is_one(library):
    model = Writing(json.dumps({"answered": "Who opened it?", "unanswered": "Who closed it?"}))
    probes = list(maker(library, writer=QuestionWriter(model)).make("", 6, Cancellation()))
    assert {probe.question for probe in probes if probe.answerable} == {"Who opened it?"}
    assert {probe.question for probe in probes if probe.kind == "swapped"} == {"Who closed it?"}
    assert len(model.prompts) == 6


@pytest.mark.parametrize(
    "reply", ["", "no", "[]", "{}", '{"answered": "Q?"}', '{"answered": "Q?", "unanswered": "Q?"}', "{" * 5000]
)
def test_a_reply_without_questions_is_none(reply):
    assert parse_written_questions(reply) is None


def test_questions_are_read_amid_thoughts_and_prose():
    found = parse_written_questions(
        '<think>{one}, or {two}?</think>Here: {"answered": "A?", "unanswered": "B?"} Is that {fine}?'
    )
    assert found == WrittenQuestions("A?", "B?")


def test_where_a_model_writes_none_the_rules_do(library):
    probes = list(maker(library, writer=QuestionWriter(Writing("no"))).make("", 3, Cancellation()))
    assert len(probes) == 6
