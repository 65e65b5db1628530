"""Stored datasets and pinned questions: owners, replacement, deletion, passages found again after rechunking."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from crag.errors import BadRequest, NotFound
from crag.evaluation.dataset_format import SEED_DATASET, parse_examples
from crag.evaluation.datasets import Datasets, RunPins, choose_identifying_phrase
from crag.runs.trace import Trace
from crag.storage.engine import Database
from crag.storage.outbound_log import SERVER_KEY
from crag.types import Citation, Passage

TWO = '{"question": "Wer?", "answer": "Ää"}\n{"question": "Wann?", "id": "when"}\n'.encode()
ONE = b'{"question": "Where?"}'

TEXT = "Short. The boiler of the north hall was replaced in 2019 by a heat pump. It runs at night."
BOILER = "The boiler of the north hall was replaced in 2019 by a heat pump."


@pytest.fixture
def datasets(tmp_path):
    database = Database(tmp_path / "home")
    yield Datasets(database, SimpleNamespace(trace={}.__getitem__))
    database.close()


def names(found):
    return [one.name for one in found]


def test_the_built_in_one_and_what_is_pinned_are_always_there(datasets):
    assert names(datasets.for_user("ada").all()) == [SEED_DATASET.name, "Test questions"]
    assert datasets.get("seed").examples == SEED_DATASET.examples
    assert len(SEED_DATASET.examples) == 5
    assert datasets.for_user("ada").get(datasets.for_user("ada").pinned().id).examples == ()


def test_what_was_uploaded_is_there_as_it_was_read(datasets):
    added = datasets.add("Mine", TWO)
    assert (added.kind, added.examples) == ("uploaded", parse_examples(TWO))
    assert datasets.get(added.id) == added
    assert parse_examples(datasets.export_json_lines(added.id).encode()) == added.examples


def test_an_id_is_found_even_if_it_is_the_name_of_another_dataset(datasets):
    first = datasets.add("seed", ONE)
    second = datasets.add(first.id, TWO)
    assert datasets.find("seed") == SEED_DATASET
    assert datasets.find(first.id) == first
    assert datasets.find(second.id) == second


def test_another_file_under_the_same_name_takes_its_place(datasets):
    first = datasets.for_user("ada").add("Mine", TWO)
    assert datasets.for_user("ada").add("Mine", ONE).id == first.id
    assert [one.question for one in datasets.for_user("ada").get(first.id).examples] == ["Where?"]
    assert datasets.for_user("bob").add("Mine", TWO).id != first.id


def test_nothing_is_kept_of_a_file_with_a_bad_line(datasets):
    kept = datasets.add("Mine", ONE)
    with pytest.raises(BadRequest):
        datasets.add("Mine", TWO + b'{"question": 3}')
    assert datasets.get(kept.id).examples == kept.examples


def test_it_is_seen_by_whose_it_is_and_what_is_nobodys_by_all(datasets):
    own, shared = datasets.for_user("ada").add("Own", ONE), datasets.add("Shared", ONE)
    assert names(datasets.for_user("bob").all())[2:] == ["Shared"]
    assert sorted(names(datasets.all())[2:]) == ["Own", "Shared"]
    assert datasets.for_user("bob").get(shared.id) == shared
    bobs = datasets.for_user("bob")
    for refused in (bobs.get, bobs.delete, bobs.export_json_lines):
        with pytest.raises(NotFound):
            refused(own.id)


def test_it_is_renamed_but_not_to_a_name_that_is_taken(datasets):
    first, second = datasets.add("First", ONE), datasets.add("Second", ONE)
    datasets.rename(first.id, "  Third ")
    assert datasets.get(first.id).name == "Third"
    for taken in ("Second", " "):
        with pytest.raises(BadRequest):
            datasets.rename(first.id, taken)
    datasets.delete(second.id)
    datasets.rename(first.id, "Second")
    assert names(datasets.all())[2:] == ["Second"]


def test_one_example_is_taken_out(datasets):
    added = datasets.add("Mine", TWO)
    datasets.remove_example(added.id, "when")
    assert [one.question for one in datasets.get(added.id).examples] == ["Wer?"]


def test_the_built_in_one_stays(datasets):
    for change in (lambda: datasets.delete("seed"), lambda: datasets.remove_example("seed", "x")):
        with pytest.raises(BadRequest):
            change()


def passage(id_, text=TEXT, origin="library"):
    return Passage(id_, f"source-{id_}", "hall.txt", "hall.txt", text, text, origin=origin)


def trace(question="When?", text="In 2019 [1].", outcome="documents", **known):
    passages = {1: passage(1), 2: passage(2, "Another thing."), -1: passage(-1, origin="web")}
    return Trace(question=question, text=text, outcome=outcome, passages=passages, state="done", **known)


@pytest.fixture
def traces():
    return {"run": trace()}


@pytest.fixture
def datasets_of_runs(tmp_path, traces):
    def trace_of(run_id):
        if run_id not in traces:
            raise NotFound("This answer no longer exists.")
        return traces[run_id]

    database = Database(tmp_path / "home")
    yield Datasets(database, SimpleNamespace(trace=trace_of))
    database.close()


def only(datasets_of_runs, user=None):
    (example,) = datasets_of_runs.for_user(user).pinned().examples
    return example


def test_an_answer_is_kept_without_the_numbers_of_its_sources(datasets_of_runs):
    datasets_of_runs.pins.pin_answer("run")
    example = only(datasets_of_runs)
    assert (example.question, example.references, example.answerable) == ("When?", ("In 2019.",), True)
    assert datasets_of_runs.pins.get_pins("run") == RunPins(answer=True, known=True, reference="In 2019.")
    assert datasets_of_runs.pins.pinned_runs(["run", "other"]) == {"run"}
    datasets_of_runs.pins.unpin_answer("run")
    assert datasets_of_runs.pinned().examples == ()
    assert datasets_of_runs.pins.get_pins("run") == RunPins()


def test_the_reference_is_as_the_person_wrote_it(datasets_of_runs):
    datasets_of_runs.for_user("ada").pins.pin_answer("run", " 2019\x00 ")
    assert only(datasets_of_runs, "ada").references == ("2019",)
    assert datasets_of_runs.for_user("bob").pinned().examples == ()
    assert datasets_of_runs.for_user("bob").pins.get_pins("run") == RunPins()


def test_another_answer_to_the_same_question_takes_its_place(datasets_of_runs, traces):
    traces["later"] = trace("when", text="In 2020.")
    datasets_of_runs.pins.pin_answer("run")
    assert datasets_of_runs.pins.get_pins("later") == RunPins(answer=False, known=True, reference="In 2019.")
    datasets_of_runs.pins.pin_answer("later")
    assert only(datasets_of_runs).references == ("In 2020.",)
    assert (datasets_of_runs.pins.get_pins("run").answer, datasets_of_runs.pins.pinned_runs(["run"])) == (False, set())


def test_a_follow_up_is_pinned_as_its_standalone_question(datasets_of_runs, traces):
    traces["run"] = trace("And when?", condensed="When was the boiler replaced?")
    datasets_of_runs.pins.pin_answer("run")
    assert only(datasets_of_runs).question == "When was the boiler replaced?"


def test_a_refusal_that_is_right_says_that_there_is_no_answer(datasets_of_runs, traces):
    traces["run"] = trace(text="Your documents do not say.", outcome="not_answered")
    datasets_of_runs.pins.pin_passage("run", 1)
    datasets_of_runs.pins.pin_answer("run")
    example = only(datasets_of_runs)
    assert (example.answerable, example.references, example.phrases) == (False, (), ())
    assert datasets_of_runs.pins.get_pins("run") == RunPins(answer=True, known=True)
    datasets_of_runs.pins.pin_answer("run", text="In 2019.")
    assert (only(datasets_of_runs).answerable, only(datasets_of_runs).references) == (True, ("In 2019.",))


def test_an_unanswered_run_is_pinned_with_the_given_reference(datasets_of_runs, traces):
    traces["run"] = trace(text="", outcome=None)
    with pytest.raises(BadRequest):
        datasets_of_runs.pins.pin_answer("run")
    datasets_of_runs.pins.pin_answer("run", text="In 2019.")
    assert only(datasets_of_runs).references == ("In 2019.",)


def test_a_pinned_passage_is_found_again_after_rechunking(datasets_of_runs, traces):
    datasets_of_runs.pins.pin_passage("run", 1)
    assert only(datasets_of_runs).phrases == (BOILER,)
    assert datasets_of_runs.pins.get_pins("run").passages == {1}
    later = {7: passage(7, "Short."), 8: passage(8, f"{BOILER} It runs at night.")}
    traces["later"] = replace(trace(), passages=later)
    assert datasets_of_runs.pins.get_pins("later").passages == {8}
    datasets_of_runs.pins.pin_passage("later", 8)
    assert only(datasets_of_runs).phrases == (BOILER,)
    datasets_of_runs.pins.unpin_passage("later", 8)
    assert datasets_of_runs.pinned().examples == ()


def test_answer_and_passages_are_kept_and_forgotten_apart(datasets_of_runs):
    datasets_of_runs.pins.pin_answer("run")
    datasets_of_runs.pins.pin_passage("run", 1)
    datasets_of_runs.pins.pin_passage("run", 2)
    assert only(datasets_of_runs).phrases == (BOILER, "Another thing.")
    datasets_of_runs.pins.unpin_answer("run")
    assert only(datasets_of_runs).references == ()
    assert datasets_of_runs.pins.get_pins("run").passages == {1, 2}
    datasets_of_runs.pins.unpin_passage("run", 1)
    assert only(datasets_of_runs).phrases == ("Another thing.",)


def test_a_page_of_the_web_and_what_is_gone_cannot_be_pinned(datasets_of_runs):
    with pytest.raises(BadRequest, match="web"):
        datasets_of_runs.pins.pin_passage("run", -1)
    pins = datasets_of_runs.pins
    for missing in (lambda: pins.pin_passage("run", 9), lambda: pins.pin_answer("gone")):
        with pytest.raises(NotFound):
            missing()
    assert datasets_of_runs.pinned().examples == ()


def test_the_pinned_phrase_is_the_cited_sentence(datasets_of_runs, traces):
    quote = Citation(1, 1, "source-1", "hall.txt", "hall.txt", None, "It runs at night.", "library")
    traces["run"] = trace(citations=(quote,))
    datasets_of_runs.pins.pin_passage("run", 1)
    assert only(datasets_of_runs).phrases == ("It runs at night.",)


@pytest.mark.parametrize("text", ["word " * 400, "字" * 900, ""])
def test_a_text_without_sentences_gives_its_beginning(text):
    phrase = choose_identifying_phrase(passage(1, text), "")
    assert len(phrase) <= 200
    assert text.startswith(phrase)


def test_whoever_owns_all_sees_what_anybody_pinned_and_undoes_it(datasets_of_runs, traces):
    traces["other"] = trace("Where?", text="Here.")
    datasets_of_runs.for_user("ada").pins.pin_answer("run")
    datasets_of_runs.for_user("bob").pins.pin_answer("other")
    datasets_of_runs.pins.pin_answer("other")
    assert [one.question for one in datasets_of_runs.pinned().examples] == ["When?", "Where?"]
    assert [one.question for one in datasets_of_runs.for_user("ada").pinned().examples] == ["When?"]
    assert datasets_of_runs.pins.get_pins("run").answer
    datasets_of_runs.remove_example(datasets_of_runs.pinned().id, only(datasets_of_runs, "ada").key)
    datasets_of_runs.pins.unpin_answer("other")
    assert [datasets_of_runs.for_user(user).pinned().examples for user in ("ada", "bob", None)] == [(), (), ()]


def test_pins_of_two_users_on_the_same_question_stay_apart(datasets_of_runs):
    ada, bob = (datasets_of_runs.for_user(user) for user in ("ada", "bob"))
    ada.pins.pin_answer("run", "In May.")
    ada.pins.pin_passage("run", 1)
    kept = ada.pinned().examples
    bob.pins.pin_answer("run", "In June.")
    assert (ada.pinned().examples, only(datasets_of_runs, "bob").references) == (kept, ("In June.",))
    bob.pins.unpin_answer("run")
    bob.pins.unpin_passage("run", 1)
    bob.pins.pin_answer("run")
    bob.remove_example(bob.pinned().id, kept[0].key)
    bob.pins.pin_answer("run")
    bob.delete(bob.pinned().id)
    assert (ada.pinned().examples, bob.pinned().examples) == (kept, ())


def test_a_dataset_of_pins_has_one_id_before_and_after_the_first(datasets_of_runs):
    before = datasets_of_runs.for_user("ada").pinned().id
    datasets_of_runs.for_user("ada").pins.pin_answer("run")
    assert datasets_of_runs.for_user("ada").pinned().id == before
    assert [one.id for one in datasets_of_runs.for_user("ada").all()][1] == before
    assert "ada" not in before


def test_pins_keep_their_owner_when_the_home_owner_runs_them(datasets_of_runs, traces):
    traces["other"] = trace("Who has the keys?")
    datasets_of_runs.for_user("ada").pins.pin_answer("run")
    assert datasets_of_runs.pinned().owner_id == "ada"
    datasets_of_runs.for_user("bob").pins.pin_answer("other")
    assert datasets_of_runs.pinned().owner_id == SERVER_KEY
    assert [datasets_of_runs.for_user(user).pinned().owner_id for user in ("ada", "eve")] == ["ada", "eve"]
