"""What is pinned from the chat: the right answer, a refusal, right passages that are found again when cut anew."""

from dataclasses import replace

import pytest

from crag.errors import BadRequest, NotFound
from crag.evaluation.datasets import Datasets, RunPins, choose_identifying_phrase
from crag.runs.trace import Trace
from crag.storage.engine import Database
from crag.storage.outbound_ledger import SERVER_KEY
from crag.types import Citation, Passage

TEXT = "Short. The boiler of the north hall was replaced in 2019 by a heat pump. It runs at night."
BOILER = "The boiler of the north hall was replaced in 2019 by a heat pump."


def passage(id_, text=TEXT, origin="library"):
    return Passage(id_, f"source-{id_}", "hall.txt", "hall.txt", text, text, origin=origin)


def trace(question="When?", text="In 2019 [1].", outcome="documents", **known):
    passages = {1: passage(1), 2: passage(2, "Another thing."), -1: passage(-1, origin="web")}
    return Trace(question=question, text=text, outcome=outcome, passages=passages, state="done", **known)


@pytest.fixture
def traces():
    return {"run": trace()}


@pytest.fixture
def datasets(tmp_path, traces):
    def trace_of(run_id):
        if run_id not in traces:
            raise NotFound("This answer is no longer there.")
        return traces[run_id]

    database = Database(tmp_path / "home")
    yield Datasets(database, trace_of)
    database.close()


def only(datasets, person=None):
    (example,) = datasets.pinned(person).examples
    return example


def test_an_answer_is_kept_without_the_numbers_of_its_sources(datasets):
    datasets.pin_answer("run")
    example = only(datasets)
    assert (example.question, example.references, example.answerable) == ("When?", ("In 2019.",), True)
    assert datasets.get_pins("run") == RunPins(answer=True, known=True, reference="In 2019.")
    assert datasets.is_pinned("run")
    datasets.unpin_answer("run")
    assert datasets.pinned().examples == ()
    assert datasets.get_pins("run") == RunPins()


def test_the_reference_is_as_the_person_wrote_it(datasets):
    datasets.pin_answer("run", "ada", " 2019\x00 ")
    assert only(datasets, "ada").references == ("2019",)
    assert datasets.pinned("bob").examples == ()
    assert datasets.get_pins("run", "bob") == RunPins()


def test_another_answer_to_the_same_question_takes_its_place(datasets, traces):
    traces["later"] = trace("when", text="In 2020.")
    datasets.pin_answer("run")
    assert datasets.get_pins("later") == RunPins(answer=False, known=True, reference="In 2019.")
    datasets.pin_answer("later")
    assert only(datasets).references == ("In 2020.",)
    assert (datasets.get_pins("run").answer, datasets.is_pinned("run")) == (False, False)


def test_a_question_that_hangs_on_those_before_is_kept_as_it_was_understood(datasets, traces):
    traces["run"] = trace("And when?", condensed="When was the boiler replaced?")
    datasets.pin_answer("run")
    assert only(datasets).question == "When was the boiler replaced?"


def test_a_refusal_that_is_right_says_that_there_is_no_answer(datasets, traces):
    traces["run"] = trace(text="Your documents do not say.", outcome="not_answered")
    datasets.pin_passage("run", 1)
    datasets.pin_answer("run")
    example = only(datasets)
    assert (example.answerable, example.references, example.phrases) == (False, (), ())
    assert datasets.get_pins("run") == RunPins(answer=True, known=True)
    datasets.pin_answer("run", text="In 2019.")
    assert (only(datasets).answerable, only(datasets).references) == (True, ("In 2019.",))


def test_a_run_without_an_answer_is_pinned_with_the_answer_of_the_person_alone(datasets, traces):
    traces["run"] = trace(text="", outcome=None)
    with pytest.raises(BadRequest):
        datasets.pin_answer("run")
    datasets.pin_answer("run", text="In 2019.")
    assert only(datasets).references == ("In 2019.",)


def test_a_right_passage_is_found_again_when_its_document_is_cut_anew(datasets, traces):
    datasets.pin_passage("run", 1)
    assert only(datasets).phrases == (BOILER,)
    assert datasets.get_pins("run").passages == {1}
    anew = {7: passage(7, "Short."), 8: passage(8, f"{BOILER} It runs at night.")}
    traces["later"] = replace(trace(), passages=anew)
    assert datasets.get_pins("later").passages == {8}
    datasets.pin_passage("later", 8)
    assert only(datasets).phrases == (BOILER,)
    datasets.unpin_passage("later", 8)
    assert datasets.pinned().examples == ()


def test_answer_and_passages_are_kept_and_forgotten_apart(datasets):
    datasets.pin_answer("run")
    datasets.pin_passage("run", 1)
    datasets.pin_passage("run", 2)
    assert only(datasets).phrases == (BOILER, "Another thing.")
    datasets.unpin_answer("run")
    assert only(datasets).references == ()
    assert datasets.get_pins("run").passages == {1, 2}
    datasets.unpin_passage("run", 1)
    assert only(datasets).phrases == ("Another thing.",)


def test_a_page_of_the_web_and_what_is_gone_cannot_be_pinned(datasets):
    with pytest.raises(BadRequest, match="web"):
        datasets.pin_passage("run", -1)
    for missing in (lambda: datasets.pin_passage("run", 9), lambda: datasets.pin_answer("gone")):
        with pytest.raises(NotFound):
            missing()
    assert datasets.pinned().examples == ()


def test_the_sentence_kept_is_the_one_cited_where_the_passage_holds_it(datasets, traces):
    quote = Citation(1, 1, "source-1", "hall.txt", "hall.txt", None, "It runs at night.", "library")
    traces["run"] = trace(citations=(quote,))
    datasets.pin_passage("run", 1)
    assert only(datasets).phrases == ("It runs at night.",)


@pytest.mark.parametrize("text", ["word " * 400, "字" * 900, ""])
def test_a_text_without_sentences_gives_its_beginning(text):
    phrase = choose_identifying_phrase(passage(1, text), "")
    assert len(phrase) <= 200
    assert text.startswith(phrase)


def test_whoever_owns_all_sees_what_anybody_pinned_and_undoes_it(datasets, traces):
    traces["other"] = trace("Where?", text="Here.")
    datasets.pin_answer("run", "ada")
    datasets.pin_answer("other", "bob")
    datasets.pin_answer("other")
    assert [one.question for one in datasets.pinned().examples] == ["When?", "Where?"]
    assert [one.question for one in datasets.pinned("ada").examples] == ["When?"]
    assert datasets.get_pins("run").answer
    datasets.remove_example(datasets.pinned().id, only(datasets, "ada").key)
    datasets.unpin_answer("other")
    assert [datasets.pinned(person).examples for person in ("ada", "bob", None)] == [(), (), ()]


def test_a_dataset_of_pins_has_one_id_before_and_after_the_first(datasets):
    before = datasets.pinned("ada").id
    datasets.pin_answer("run", "ada")
    assert datasets.pinned("ada").id == before
    assert [one.id for one in datasets.all("ada")][1] == before
    assert "ada" not in before


def test_pinned_questions_stay_those_of_whose_they_are_when_the_owner_of_the_home_asks_them(datasets, traces):
    traces["other"] = trace("Who has the keys?")
    datasets.pin_answer("run", "ada")
    assert datasets.pinned(None).person == "ada"
    datasets.pin_answer("other", "bob")
    assert datasets.pinned(None).person == SERVER_KEY
    assert [datasets.pinned(person).person for person in ("ada", "eve")] == ["ada", "eve"]
