"""The datasets of a home: the built-in one, uploaded ones, and the questions that each user pinned."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import delete, select, update
from sqlalchemy.sql.elements import ColumnElement

from crag.errors import BadRequest, NotFound
from crag.evaluation.dataset_format import SEED_DATASET, example_to_row, parse_examples, question_key
from crag.evaluation.dataset_records import (
    PINNED_DATASET_NAME,
    PinnedExample,
    delete_example,
    ensure_pinned_dataset,
    find_pinned_example,
    find_pinned_runs,
    find_upload_by_name,
    load_datasets,
    pinned_dataset_id,
    pinned_datasets_of,
    replace_dataset,
    save_pinned_example,
)
from crag.evaluation.scorers import contains_phrase
from crag.evaluation.types import Dataset, Example
from crag.runs.service import RunService
from crag.runs.trace import Trace
from crag.storage.engine import Database
from crag.storage.outbound_log import SERVER_KEY
from crag.storage.tables import datasets
from crag.storage.user_scope import UserScoped
from crag.text.citation_marks import strip_bold, strip_citations
from crag.text.language import split_sentences
from crag.text.sanitization import clean_display_name, normalize_user_text
from crag.types import Passage

_MAX_PHRASE_LENGTH = 200  # characters; a longer one might be split at another passage size


@dataclass(frozen=True, slots=True)
class RunPins:
    """What a user pinned of a run: its answer, and which of its passages.

    `known` says whether a right answer, from whichever run, is pinned for the question. `reference` is that answer,
    empty if a refusal is right.
    """

    answer: bool = False
    passages: frozenset[int] = frozenset()
    known: bool = False
    reference: str = ""


class PinnedQuestions(UserScoped):
    """Pins and unpins answers and passages."""

    def __init__(self, database: Database, runs: RunService) -> None:
        self._database = database
        self._runs = runs

    def get_pins(self, run_id: str) -> RunPins:
        """Return what is pinned of this run. Raises `NotFound`."""
        trace = self._runs.trace(run_id)
        with self._database.read() as connection:
            found = find_pinned_example(connection, self._user, question_key(standalone_question(trace)))
        if found is None:
            return RunPins()
        example = found.example
        known = example.has_known_answer or example.answerable is False
        right = {
            one.id for one in trace.passages.values() if one.origin == "library" and _is_pinned_passage(example, one)
        }
        return RunPins(found.run_id == run_id, frozenset(right), known, "".join(example.references[:1]))

    def pinned_runs(self, run_ids: Sequence[str]) -> frozenset[str]:
        """Return which of these runs have a pinned answer."""
        if not run_ids:
            return frozenset()
        with self._database.read() as connection:
            return find_pinned_runs(connection, self._user, run_ids)

    def pin_answer(self, run_id: str, text: str = "") -> None:
        """Pin the question with `text` as its right answer, by default the run's answer; a refusal as unanswerable.

        Replaces the right answer pinned before for the same question. Raises `NotFound`, or `BadRequest` if there is no
        answer to pin.
        """
        trace = self._runs.trace(run_id)
        refused = trace.outcome == "not_answered"
        right = normalize_user_text(text) or ("" if refused else suggested_reference(trace))
        if not right and not refused:
            raise BadRequest("There is no answer to pin.", "Write the right one.")

        def pin(example: Example) -> Example:
            if right:
                return replace(example, references=(right,), answerable=True)
            return replace(example, references=(), phrases=(), answerable=False)

        self._change(trace, pin, run_id)

    def unpin_answer(self, run_id: str) -> None:
        """Remove the pinned right answer to the question of this run. Raises `NotFound`."""
        self._change(self._runs.trace(run_id), lambda one: replace(one, references=(), answerable=None), "")

    def pin_passage(self, run_id: str, passage_id: int) -> None:
        """Pin the question with a sentence of a right passage. Raises `NotFound`, `BadRequest` for a web page."""
        trace = self._runs.trace(run_id)
        passage = _find_passage(trace, passage_id)
        if passage.origin == "web":
            raise BadRequest("A web page may change.", "Add it to your documents, then ask again.")
        phrase = choose_identifying_phrase(passage, trace.quote(passage_id))

        def pin(example: Example) -> Example:
            if _is_pinned_passage(example, passage):
                return example
            answerable = None if example.answerable is False else example.answerable
            return replace(example, phrases=(*example.phrases, phrase), answerable=answerable)

        self._change(trace, pin)

    def unpin_passage(self, run_id: str, passage_id: int) -> None:
        """Remove this passage from the right ones. Raises `NotFound`."""
        trace = self._runs.trace(run_id)
        passage = _find_passage(trace, passage_id)

        def unpin(example: Example) -> Example:
            kept = tuple(phrase for phrase in example.phrases if not contains_phrase(passage.text, phrase))
            return replace(example, phrases=kept)

        self._change(trace, unpin)

    def _change(self, trace: Trace, change: Callable[[Example], Example], run_id: str | None = None) -> None:
        """Change the example of a question; `run_id` is the run its answer comes from, None to keep it."""
        question = standalone_question(trace)
        key = question_key(question)
        with self._database.write() as connection:
            before = find_pinned_example(connection, self._user, key)
            if before is None:
                before = PinnedExample(ensure_pinned_dataset(connection, self._user), Example(key, question), "")
            after = change(before.example)
            if after == Example(key, after.question):
                delete_example(connection, before.dataset_id, key)
            else:
                save_pinned_example(
                    connection, PinnedExample(before.dataset_id, after, before.run_id if run_id is None else run_id)
                )


def standalone_question(trace: Trace) -> str:
    """Return the question, reworded if needed to be understood without the conversation."""
    return normalize_user_text(trace.condensed) or trace.question


def suggested_reference(trace: Trace) -> str:
    """Return the answer as a draft reference, without source numbers; empty for a refusal."""
    return "" if trace.outcome == "not_answered" else normalize_user_text(strip_bold(strip_citations(trace.text)))


def choose_identifying_phrase(passage: Passage, quote: str) -> str:
    """Return a sentence that identifies the passage: the cited one, otherwise its longest.

    The longest is taken because short sentences occur everywhere. Documents are never split within a sentence, except
    one that exceeds the passage size. If all sentences are that long, the beginning of the passage is returned.
    """
    cited, *others = (" ".join(sentence.split()) for sentence in (quote, *split_sentences(passage.text)))
    for phrase in (cited, *sorted(others, key=len, reverse=True)):
        if len(phrase) <= _MAX_PHRASE_LENGTH and contains_phrase(passage.text, phrase):
            return phrase
    beginning = " ".join(passage.text.split())[:_MAX_PHRASE_LENGTH]
    return beginning.rpartition(" ")[0] or beginning


def _find_passage(trace: Trace, passage_id: int) -> Passage:
    if passage := trace.passages.get(passage_id):
        return passage
    raise NotFound("This passage no longer exists.")


def _is_pinned_passage(example: Example, passage: Passage) -> bool:
    return any(contains_phrase(passage.text, phrase) for phrase in example.phrases)


class Datasets(UserScoped):
    """All datasets; `pins` pins and unpins questions. A user sees their own datasets and shared ones."""

    def __init__(self, database: Database, runs: RunService) -> None:
        self._database = database
        self.pins = PinnedQuestions(database, runs)

    def all(self) -> list[Dataset]:
        """Return the built-in dataset, the pinned questions, then the uploaded ones, newest first."""
        with self._database.snapshot() as connection:
            found = load_datasets(connection, self._visible(datasets))
        uploaded = [one for one in found if one.kind == "uploaded"]
        pinned = _merge_pinned([one for one in found if one.kind == "pinned"], self._user)
        return [SEED_DATASET, pinned, *sorted(uploaded, key=lambda one: -one.made_at)]

    def get(self, dataset_id: str) -> Dataset:
        """Return one dataset. Raises `NotFound`, also for another user's dataset."""
        if dataset_id == SEED_DATASET.id:
            return SEED_DATASET
        if dataset_id == pinned_dataset_id(self._user):
            return self.pinned()
        with self._database.snapshot() as connection:
            found = load_datasets(connection, self._visible(datasets) & (datasets.c.id == dataset_id))
        if not found:
            raise NotFound("This dataset no longer exists.", "Choose another.")
        return found[0]

    def find(self, dataset_id: str) -> Dataset:
        """Return the dataset of this id, else of this name; `pinned` names the test questions.

        Raises `NotFound`, `BadRequest`.
        """
        if dataset_id == "pinned":
            return self.pinned()
        known = self.all()
        found = [one for one in known if one.id == dataset_id] or [one for one in known if one.name == dataset_id]
        if len(found) > 1:
            raise BadRequest(f"Several datasets are called “{dataset_id}”.", "Use its id.")
        if not found:
            raise NotFound(f"There is no dataset “{dataset_id}”.", "`datasets` lists them.")
        return found[0]

    def pinned(self) -> Dataset:
        """Return the questions this user pinned, or those of all users; the dataset may be empty."""
        with self._database.snapshot() as connection:
            return _merge_pinned(load_datasets(connection, pinned_datasets_of(self._user)), self._user)

    def add(self, name: str, data: bytes) -> Dataset:
        """Store the examples of a JSON Lines file, replacing the same user's dataset of this name.

        Raises `BadRequest` for an unreadable file, before anything is stored.
        """
        read, name = parse_examples(data), _clean_dataset_name(name)
        with self._database.write() as connection:
            dataset_id = find_upload_by_name(connection, name, self._user or "") or uuid.uuid4().hex
            replace_dataset(connection, Dataset(dataset_id, name, "uploaded", read, owner_id=self._user or ""))
        return self.get(dataset_id)

    def rename(self, dataset_id: str, name: str) -> None:
        """Rename a dataset. Raises `NotFound`, or `BadRequest` for a taken or empty name, or a pinned dataset."""
        dataset, name = self._own(dataset_id), _clean_dataset_name(name)
        if dataset.kind == "pinned":
            raise BadRequest(
                "The dataset of test questions cannot be renamed.", "Export it, and add it under another one."
            )
        with self._database.write() as connection:
            if find_upload_by_name(connection, name, dataset.owner_id) not in (None, dataset_id):
                raise BadRequest(f"A dataset “{name}” already exists.", "Choose another name.")
            connection.execute(update(datasets).where(datasets.c.id == dataset_id).values(name=name))

    def delete(self, dataset_id: str) -> None:
        """Delete a dataset; its evaluations keep their examples. Raises `NotFound`, `BadRequest` if built in."""
        meant = _dataset_condition(self._own(dataset_id), self._user)
        with self._database.write() as connection:
            connection.execute(delete(datasets).where(meant))

    def remove_example(self, dataset_id: str, key: str) -> None:
        """Remove one example. Raises `NotFound`, `BadRequest` for the built-in dataset."""
        meant = _dataset_condition(self._own(dataset_id), self._user)
        with self._database.write() as connection:
            for one in connection.scalars(select(datasets.c.id).where(meant)).all():
                delete_example(connection, one, key)

    def export_json_lines(self, dataset_id: str) -> str:
        """Return the dataset as a JSON Lines file that can be added again. Raises `NotFound`."""
        rows = map(example_to_row, self.get(dataset_id).examples)
        return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)

    def _own(self, dataset_id: str) -> Dataset:
        if dataset_id == SEED_DATASET.id:
            raise BadRequest("The built-in dataset cannot be changed.", "Add one of your own.")
        return self.get(dataset_id)


def _merge_pinned(pinned: Sequence[Dataset], user: str | None) -> Dataset:
    """Merge pinned datasets into one, each question once, the user's own first.

    For a caller who may see all, the merged dataset belongs to the only user with pinned questions. If several users
    have some, it belongs to `SERVER`, so none of them sees it.
    """
    own_first = sorted(pinned, key=lambda one: one.id != pinned_dataset_id(user))
    found = {example.key: example for one in reversed(own_first) for example in reversed(one.examples)}
    made_at = max((one.made_at for one in pinned), default=0.0)
    return Dataset(
        pinned_dataset_id(user),
        PINNED_DATASET_NAME,
        "pinned",
        tuple(reversed(found.values())),
        made_at,
        user or _common_owner(pinned),
    )


def _common_owner(pinned: Sequence[Dataset]) -> str:
    owners = {one.owner_id for one in pinned if one.examples} - {""}
    return SERVER_KEY if len(owners) > 1 else "".join(owners)


def _dataset_condition(dataset: Dataset, user: str | None) -> ColumnElement[bool]:
    """Return the condition for the rows behind a dataset; pinned questions may span several."""
    return pinned_datasets_of(user) if dataset.kind == "pinned" else datasets.c.id == dataset.id


def _clean_dataset_name(name: str) -> str:
    if not name.strip():
        raise BadRequest("A dataset needs a name.", "Write one, then try again.")
    return clean_display_name(name)
