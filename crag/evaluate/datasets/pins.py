"""Pinning from the chat: the question of an answer, what is right about it, kept as an example of a person's own.

A right passage is kept as one sentence of it, for passages are cut anew and renumbered, and a document that changed
has others. Its document is not named: every passage of that would then count as right.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from crag.database import Database
from crag.errors import BadRequest, NotFound
from crag.evaluate.datasets.examples import Example
from crag.evaluate.datasets.reading import question_key
from crag.evaluate.datasets.rows import Pinned, delete_example, ensure_pinned, find_pinned, put_pinned
from crag.evaluate.scorers.words import holds
from crag.graph.checking.citations import without_citations
from crag.language import sentences
from crag.runs import Trace
from crag.runs.texts import storable
from crag.types import Passage

_PHRASE_LENGTH = 200  # characters; one that is longer might be cut by another size of passages


@dataclass(frozen=True, slots=True)
class Pins:
    """What a person pinned of a run: its answer, and which of its passages.

    `reference` is the right answer that is pinned for its question, from whichever run; `known` whether there is one,
    which is empty where a refusal is right.
    """

    answer: bool = False
    passages: frozenset[int] = frozenset()
    known: bool = False
    reference: str = ""


class Pinning:
    """What is pinned and unpinned. `person` is whose; None where one person owns all."""

    def __init__(self, database: Database, trace_of: Callable[[str], Trace]) -> None:
        """`trace_of` raises `NotFound` for a run that is gone."""
        self._database = database
        self._trace_of = trace_of

    def pins(self, run_id: str, person: str | None = None) -> Pins:
        """What of this run is pinned. Raises `NotFound`."""
        trace = self._trace_of(run_id)
        with self._database.read() as connection:
            found = find_pinned(connection, person, question_key(asked(trace)))
        if found is None:
            return Pins()
        example = found.example
        known = example.can_be_right or example.answerable is False
        right = {one.id for one in trace.passages.values() if one.origin == "library" and _is_pinned(example, one)}
        return Pins(found.run_id == run_id, frozenset(right), known, "".join(example.references[:1]))

    def is_pinned(self, run_id: str, person: str | None = None) -> bool:
        """Whether the answer of this run is pinned; quick, for every answer of a page. Raises `NotFound`."""
        with self._database.read() as connection:
            found = find_pinned(connection, person, question_key(asked(self._trace_of(run_id))))
        return found is not None and found.run_id == run_id

    def pin_answer(self, run_id: str, person: str | None = None, text: str = "") -> None:
        """Keeps the question with `text` as its right answer, else with that of the run; a refusal, as unanswerable.

        It takes the place of the right answer that was pinned for the same question. Raises `NotFound`, `BadRequest`
        where there is no answer to pin.
        """
        trace = self._trace_of(run_id)
        refused = trace.outcome == "not_answered"
        right = storable(text) or ("" if refused else suggested_reference(trace))
        if not right and not refused:
            raise BadRequest("There is no answer to pin.", "Write the right one.")

        def pin(example: Example) -> Example:
            if right:
                return replace(example, references=(right,), answerable=True)
            return replace(example, references=(), phrases=(), answerable=False)

        self._change(trace, person, pin, run_id)

    def unpin_answer(self, run_id: str, person: str | None = None) -> None:
        """Forgets the right answer to the question of this run. Raises `NotFound`."""
        self._change(self._trace_of(run_id), person, lambda one: replace(one, references=(), answerable=None), "")

    def pin_passage(self, run_id: str, passage_id: int, person: str | None = None) -> None:
        """Keeps the question with a sentence of a right passage. Raises `NotFound`, `BadRequest` for a web page."""
        trace = self._trace_of(run_id)
        passage = _passage(trace, passage_id)
        if passage.origin == "web":
            raise BadRequest("A page of the web may be another tomorrow.", "Add it to your documents, then ask again.")
        phrase = telling_phrase(passage, trace.quote(passage_id))

        def pin(example: Example) -> Example:
            if _is_pinned(example, passage):
                return example
            answerable = None if example.answerable is False else example.answerable
            return replace(example, phrases=(*example.phrases, phrase), answerable=answerable)

        self._change(trace, person, pin)

    def unpin_passage(self, run_id: str, passage_id: int, person: str | None = None) -> None:
        """Forgets that this passage is right. Raises `NotFound`."""
        trace = self._trace_of(run_id)
        passage = _passage(trace, passage_id)

        def unpin(example: Example) -> Example:
            kept = tuple(phrase for phrase in example.phrases if not holds(passage.text, phrase))
            return replace(example, phrases=kept)

        self._change(trace, person, unpin)

    def _change(
        self, trace: Trace, person: str | None, change: Callable[[Example], Example], run_id: str | None = None
    ) -> None:
        """Changes the example of a question; `run_id` is what its answer comes from, None where that stays."""
        question = asked(trace)
        key = question_key(question)
        with self._database.write() as connection:
            before = find_pinned(connection, person, key)
            if before is None:
                before = Pinned(ensure_pinned(connection, person), Example(key, question), "")
            after = change(before.example)
            if after == Example(key, after.question):
                delete_example(connection, before.dataset_id, key)
            else:
                put_pinned(connection, Pinned(before.dataset_id, after, before.run_id if run_id is None else run_id))


def asked(trace: Trace) -> str:
    """The question as it can be understood without the conversation before it."""
    return storable(trace.condensed) or trace.question


def suggested_reference(trace: Trace) -> str:
    """The answer as a reference to begin with, without the numbers of its sources; empty for a refusal."""
    return "" if trace.outcome == "not_answered" else storable(without_citations(trace.text))


def telling_phrase(passage: Passage, quote: str) -> str:
    """A sentence that finds the passage again: what was cited of it, else its longest, for short ones are everywhere.

    Documents are never cut within a sentence, but within one that is longer than a passage may be. Where all are, it is
    the beginning of the passage.
    """
    candidates = [" ".join(sentence.split()) for sentence in (quote, *sentences(passage.text))]
    fitting = [one for one in candidates if len(one) <= _PHRASE_LENGTH and holds(passage.text, one)]
    if fitting:
        return fitting[0] if fitting[0] == candidates[0] else max(fitting, key=len)
    beginning = " ".join(passage.text.split())[:_PHRASE_LENGTH]
    return beginning.rpartition(" ")[0] or beginning


def _passage(trace: Trace, passage_id: int) -> Passage:
    if passage := trace.passages.get(passage_id):
        return passage
    raise NotFound("This passage is no longer there.")


def _is_pinned(example: Example, passage: Passage) -> bool:
    return any(holds(passage.text, phrase) for phrase in example.phrases)
