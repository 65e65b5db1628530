"""Datasets as they are kept: whose they are, added again under a name, renamed, deleted, taken out one by one."""

import pytest

from crag.errors import BadRequest, NotFound
from crag.evaluation.dataset_format import SEED_DATASET, parse_examples
from crag.evaluation.datasets import Datasets
from crag.storage.engine import Database

TWO = '{"question": "Wer?", "answer": "Ää"}\n{"question": "Wann?", "id": "when"}\n'.encode()
ONE = b'{"question": "Where?"}'


@pytest.fixture
def datasets(tmp_path):
    database = Database(tmp_path / "home")
    yield Datasets(database, {}.__getitem__)
    database.close()


def names(found):
    return [one.name for one in found]


def test_the_built_in_one_and_what_is_pinned_are_always_there(datasets):
    assert names(datasets.all("ada")) == [SEED_DATASET.name, "Pinned questions"]
    assert datasets.get("seed").examples == SEED_DATASET.examples
    assert len(SEED_DATASET.examples) == 5
    assert datasets.get(datasets.pinned("ada").id, "ada").examples == ()


def test_what_was_uploaded_is_there_as_it_was_read(datasets):
    added = datasets.add("Mine", TWO)
    assert (added.kind, added.examples) == ("uploaded", parse_examples(TWO))
    assert datasets.get(added.id) == added
    assert parse_examples(datasets.export_json_lines(added.id).encode()) == added.examples


def test_another_file_under_the_same_name_takes_its_place(datasets):
    first = datasets.add("Mine", TWO, "ada")
    assert datasets.add("Mine", ONE, "ada").id == first.id
    assert [one.question for one in datasets.get(first.id, "ada").examples] == ["Where?"]
    assert datasets.add("Mine", TWO, "bob").id != first.id


def test_nothing_is_kept_of_a_file_with_a_bad_line(datasets):
    kept = datasets.add("Mine", ONE)
    with pytest.raises(BadRequest):
        datasets.add("Mine", TWO + b'{"question": 3}')
    assert datasets.get(kept.id).examples == kept.examples


def test_it_is_seen_by_whose_it_is_and_what_is_nobodys_by_all(datasets):
    own, shared = datasets.add("Own", ONE, "ada"), datasets.add("Shared", ONE)
    assert names(datasets.all("bob"))[2:] == ["Shared"]
    assert sorted(names(datasets.all(None))[2:]) == ["Own", "Shared"]
    assert datasets.get(shared.id, "bob") == shared
    for refused in (datasets.get, datasets.delete, datasets.export_json_lines):
        with pytest.raises(NotFound):
            refused(own.id, "bob")


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
