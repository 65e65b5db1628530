"""Questions pinned from the chat: the question of an answer and its right answer or passages, as an example.

A right passage is stored as one of its sentences, since passages are split again and renumbered, and a changed document
gets new ones. Its document is not named: every passage of that document would then count as right.
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

_PHRASE_LENGTH = 200  # characters; a longer one might be split at another passage size


@dataclass(frozen=True, slots=True)
class Pins:
    """What a user pinned of a run: its answer, and which of its passages.

    `known` says whether a right answer, from whichever run, is pinned for the question. `reference` is that answer,
    empty if a refusal is right.
    """

    answer: bool = False
    passages: frozenset[int] = frozenset()
    known: bool = False
    reference: str = ""


class Pinning:
    """Pins and unpins answers and passages. `person` is the owner's key, None for a home with a single owner."""

    def __init__(self, database: Database, trace_of: Callable[[str], Trace]) -> None:
        """Take a `trace_of` that raises `NotFound` for a deleted run."""
        self._database = database
        self._trace_of = trace_of

    def pins(self, run_id: str, person: str | None = None) -> Pins:
        """Return what is pinned of this run. Raises `NotFound`."""
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
        """Return whether this run's answer is pinned; cheap enough for every answer of a page. Raises `NotFound`."""
        with self._database.read() as connection:
            found = find_pinned(connection, person, question_key(asked(self._trace_of(run_id))))
        return found is not None and found.run_id == run_id

    def pin_answer(self, run_id: str, person: str | None = None, text: str = "") -> None:
        """Pin the question with `text` as its right answer, by default the run's answer; a refusal as unanswerable.

        Replaces the right answer pinned before for the same question. Raises `NotFound`, or `BadRequest` if there is no
        answer to pin.
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
        """Remove the pinned right answer to the question of this run. Raises `NotFound`."""
        self._change(self._trace_of(run_id), person, lambda one: replace(one, references=(), answerable=None), "")

    def pin_passage(self, run_id: str, passage_id: int, person: str | None = None) -> None:
        """Pin the question with a sentence of a right passage. Raises `NotFound`, `BadRequest` for a web page."""
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
        """Remove this passage from the right ones. Raises `NotFound`."""
        trace = self._trace_of(run_id)
        passage = _passage(trace, passage_id)

        def unpin(example: Example) -> Example:
            kept = tuple(phrase for phrase in example.phrases if not holds(passage.text, phrase))
            return replace(example, phrases=kept)

        self._change(trace, person, unpin)

    def _change(
        self, trace: Trace, person: str | None, change: Callable[[Example], Example], run_id: str | None = None
    ) -> None:
        """Change the example of a question; `run_id` is the run its answer comes from, None to keep it."""
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
    """Return the question, reworded if needed to be understood without the conversation."""
    return storable(trace.condensed) or trace.question


def suggested_reference(trace: Trace) -> str:
    """Return the answer as a draft reference, without source numbers; empty for a refusal."""
    return "" if trace.outcome == "not_answered" else storable(without_citations(trace.text))


def telling_phrase(passage: Passage, quote: str) -> str:
    """Return a sentence that identifies the passage: the cited one, otherwise its longest.

    The longest is taken because short sentences occur everywhere. Documents are never split within a sentence, except
    one that exceeds the passage size. If all sentences are that long, the beginning of the passage is returned.
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
