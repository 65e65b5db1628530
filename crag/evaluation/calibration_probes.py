"""Probe questions for calibration: made by rules, written by a model, or read from a file."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import cycle
from pathlib import Path
from typing import Any, Literal

from sqlalchemy import ColumnElement, select

from crag.cancellation import Cancellation
from crag.errors import BadRequest
from crag.evaluation.threshold_proposal import ProbeKind, ProvidedQuestion
from crag.prompts import compose_prompt, find_json_object, strip_thoughts
from crag.protocols import ChatModel
from crag.storage.engine import Database
from crag.storage.passages import SearchScope
from crag.storage.tables import passages, sources
from crag.text.jsonl import read_json_lines
from crag.text.language import detect_language, extract_terms, split_sentences
from crag.types import Language, Passage, strip_unstorable

AnswerKind = Literal["time", "number", "name", "thing"]

MIN_TERMS = 5
_KEPT_PIECES: dict[Language, tuple[int, int]] = {
    "en": (4, 8),
    "ko": (4, 8),
    "zh": (5, 11),
}  # pieces, as in real questions
_SUBSTITUTION_RATE: dict[Language, float] = {"en": 0.22, "ko": 0.22, "zh": 0.09}  # see docs/measurements.md
_PUNCTUATION = " ,.;:!?()[]{}\"'“”‘’«»「」『』《》。，、；：！？（）"
_YEAR = re.compile(r"(?:1\d|20)\d\d年?$|.*\d년")
_NUMBER = re.compile(r"[\d,.]*\d")
_NAME = re.compile(r"[A-Z][\w’'-]+$")
_CLAUSE = re.compile(r"[，、；：,;:（）()「」『』《》“”]")
_QUESTION_TEMPLATES: dict[Language, dict[AnswerKind, str]] = {
    "en": {"time": "When {}?", "number": "How many {}?", "name": "Who or what {}?", "thing": "What {}?"},
    "ko": {"time": "{} 언제인가?", "number": "{} 몇인가?", "name": "{} 누구인가?", "thing": "{} 무엇인가?"},
    "zh": {"time": "{}是哪一年？", "number": "{}有多少？", "name": "{}是何人？", "thing": "{}是何？"},
}  # fmt: skip


def split_pieces(sentence: str, language: Language) -> list[str]:
    """Split a sentence into the pieces of questions: words as written, in Chinese character pairs within a clause."""
    if language != "zh":
        return [piece for raw in sentence.split() if (piece := raw.strip(_PUNCTUATION))]
    clauses = [clause.strip() for clause in _CLAUSE.split(sentence.strip(_PUNCTUATION))]
    return [clause[at : at + 2] for clause in clauses for at in range(0, len(clause), 2)]


def informative_sentences(text: str) -> list[str]:
    """Return the sentences with enough content for a question."""
    return [sentence for sentence in split_sentences(text) if MIN_TERMS <= len(set(extract_terms(sentence))) <= 60]


def make_cloze_question(
    sentence: str, foreign: Sequence[str], rng: random.Random, replacements: Sequence[str] = ()
) -> str | None:
    """Make a question that the sentence answers, with some pieces replaced by `foreign` ones of other passages.

    Return None if the sentence says too little.

    With `replacements`, pieces of another text, one of them replaces a piece of its kind, so that nothing answers the
    question.
    """
    language = detect_language(sentence)
    parts = split_pieces(sentence, language)
    meaningful = [at for at, part in enumerate(parts) if extract_terms(part)]
    if len(meaningful) < MIN_TERMS:
        return None
    asked = _choose_answer(parts, meaningful, rng)
    kept = _nearest_pieces(asked, meaningful, rng.randint(*_KEPT_PIECES[language]))
    kept_pieces = {at: parts[at] for at in range(kept[0], kept[-1] + 1) if at != asked}
    for at in sorted(kept_pieces.keys() & set(meaningful)):
        if foreign and _answer_kind(kept_pieces[at]) == "thing" and rng.random() < _SUBSTITUTION_RATE[language]:
            kept_pieces[at] = rng.choice(foreign)
    if replacements and not _swap_piece(kept_pieces, [at for at in kept if at != asked], replacements, rng):
        return None
    text = ("" if language == "zh" else " ").join(kept_pieces.values())
    return _QUESTION_TEMPLATES[language][_answer_kind(parts[asked])].format(text)


def _choose_answer(parts: Sequence[str], meaningful: Sequence[int], rng: random.Random) -> int:
    """Choose the index of the piece to ask for, preferably a year, number or name, as real questions do."""
    facts = [at for at in meaningful if at and _answer_kind(parts[at]) != "thing"]
    return rng.choice(facts or meaningful)


def _answer_kind(piece: str) -> AnswerKind:
    if _YEAR.match(piece):
        return "time"
    if _NUMBER.match(piece):
        return "number"
    return "name" if _NAME.match(piece) else "thing"


def _nearest_pieces(asked: int, meaningful: Sequence[int], count: int) -> list[int]:
    """Return the indexes of the piece asked for and of the `count` meaningful pieces nearest to it."""
    nearest = sorted(meaningful, key=lambda at: (abs(at - asked), at))
    return sorted(nearest[: count + 1])


def _swap_piece(
    kept_pieces: dict[int, str], indexes: Sequence[int], replacements: Sequence[str], rng: random.Random
) -> bool:
    """Replace a name or number, otherwise another word, by one of its kind; return whether one was found."""
    by_kind = {
        at: [piece for piece in replacements if _answer_kind(piece) == _answer_kind(kept_pieces[at])] for at in indexes
    }
    usable = [at for at in indexes if by_kind[at]]
    facts = [at for at in usable if _answer_kind(kept_pieces[at]) != "thing"]
    if not usable:
        return False
    at = rng.choice(facts or usable)
    kept_pieces[at] = rng.choice(by_kind[at])
    return True


_IDS_PER_QUERY = 500


@dataclass(frozen=True, slots=True)
class PassageSample:
    """A passage sampled to make questions from."""

    id: int
    source_id: str
    title: str
    text: str


def sample_other_collections(
    database: Database, scope: SearchScope, count: int, rng: random.Random
) -> list[PassageSample]:
    """Sample at most `count` passages from the other collections; none for the whole library."""
    others = [*replace(scope, collection="").conditions(), sources.c.collection != scope.collection]
    return _sample_matching(database, others, count, rng) if scope.collection else []


def _sample_matching(
    database: Database, conditions: Sequence[ColumnElement[bool]], count: int, rng: random.Random
) -> list[PassageSample]:
    of_them = select(passages.c.id).select_from(passages.join(sources)).where(*conditions).order_by(passages.c.id)
    with database.read() as connection:
        ids = connection.scalars(of_them).all()
        wanted = rng.sample(ids, min(count, len(ids)))
        query = select(passages.c.id, passages.c.source_id, sources.c.title, passages.c.text)
        found: dict[int, PassageSample] = {}
        for start in range(0, len(wanted), _IDS_PER_QUERY):
            some = query.select_from(passages.join(sources)).where(
                passages.c.id.in_(wanted[start : start + _IDS_PER_QUERY])
            )
            found |= {
                row.id: PassageSample(row.id, row.source_id, row.title, row.text) for row in connection.execute(some)
            }
    return [found[id_] for id_ in wanted if id_ in found]


QUESTIONS_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"answered": {"type": "string"}, "unanswered": {"type": "string"}},
    "required": ["answered", "unanswered"],
}
_MAX_QUESTION_LENGTH = 300


@dataclass(frozen=True, slots=True)
class WrittenQuestions:
    """Two questions about one passage: it answers the first but not the second."""

    answered: str
    unanswered: str


class QuestionWriter:
    """Writes questions with a chat model, in one call per passage."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    def write(self, passage: PassageSample, stop: Cancellation) -> WrittenQuestions | None:
        """Return the two questions; None if the reply holds none. Raises `ModelFault`, `Stopped`."""
        system, asked = compose_prompt("probe", title=passage.title, passage=passage.text)
        prompts = system, replace(asked, about=f"questions to calibrate by, on: {passage.title}")
        return parse_written_questions(self._model.complete(prompts, stop, schema=QUESTIONS_SCHEMA).text)


def parse_written_questions(reply: str) -> WrittenQuestions | None:
    """Parse the questions in a model's reply, which may be surrounded by prose or a code block."""
    found = find_json_object(strip_thoughts(reply)) or {}
    questions = [
        " ".join(str(found.get(name) or "").split())[:_MAX_QUESTION_LENGTH] for name in ("answered", "unanswered")
    ]
    return WrittenQuestions(*questions) if all(questions) and questions[0] != questions[1] else None


_SAMPLES_PER_PROBE = 3  # not every passage has enough content for a question
_MAX_FOREIGN_PIECES = 200
_SWAP_SOURCES = 2  # retrieved passages that swapped facts are taken from

FindPassages = Callable[[str], list[Passage]]


@dataclass(frozen=True, slots=True)
class Probe:
    """A question with the passages to grade for it, best first."""

    question: str
    kind: ProbeKind
    answerable: bool
    passages: tuple[Passage, ...]


@dataclass(frozen=True, slots=True)
class _SentenceProbe:
    """A question answered by a sentence of a passage, with the passages found and `foreign` pieces of other texts."""

    question: str
    sample: PassageSample
    sentence: str
    foreign: Sequence[str]
    found: Sequence[Passage]
    written: WrittenQuestions | None


class ProbeMaker:
    """Samples passages, makes questions from them, and retrieves passages to grade. Deterministic for a given seed."""

    def __init__(
        self,
        database: Database,
        find: FindPassages,
        k: int,
        writer: QuestionWriter | None = None,
        seed: int = 0,
        user: str | None = None,
    ) -> None:
        """Take `find`, which retrieves far more than `k` passages, so that some can be hidden.

        Only passages that the `user` (None: anyone) may read are sampled. Without a `writer`, questions are made by
        rules alone.
        """
        self._database = database
        self._find = find
        self._k = k
        self._writer = writer
        self._user = user
        self._rng = random.Random(seed)  # noqa: S311 — a sample, no secret

    def make(self, collection: str, count: int, stop: Cancellation) -> Iterator[Probe]:
        """Yield two questions for each of at most `count` passages: one it answers and one that no passage answers.

        Raises `ModelFault`, `Stopped`.
        """
        scope = SearchScope(self._user, collection)
        samples = _sample_matching(self._database, scope.conditions(), _SAMPLES_PER_PROBE * count, self._rng)
        elsewhere = iter(sample_other_collections(self._database, scope, count, self._rng))
        pool = [piece for one in samples[:_MAX_FOREIGN_PIECES] for piece in _pieces_with_terms(one.text)]
        kinds: Iterator[ProbeKind] = cycle(("hidden", "swapped", "elsewhere"))
        asked = (self._ask(one, pool, stop) for one in samples)
        for _, one in zip(range(count), filter(None, asked), strict=False):
            yield Probe(one.question, "passage", True, tuple(one.found[: self._k]))
            yield self._unanswered(one, next(kinds), elsewhere, pool, stop)

    def _ask(self, sample: PassageSample, pool: Sequence[str], stop: Cancellation) -> _SentenceProbe | None:
        """Make a question about the passage; None if it says too little."""
        stop.check()
        if not (sentences := informative_sentences(sample.text)):
            return None
        sentence = self._rng.choice(sentences)
        foreign = _foreign_pieces(sample.text, self._rng.sample(pool, min(_MAX_FOREIGN_PIECES, len(pool))))
        made = make_cloze_question(sentence, foreign, self._rng)
        written = self._writer.write(sample, stop) if self._writer and made else None
        question = written.answered if written else made
        return _SentenceProbe(question, sample, sentence, foreign, self._find(question), written) if question else None

    def _unanswered(
        self,
        probe: _SentenceProbe,
        kind: ProbeKind,
        elsewhere: Iterator[PassageSample],
        pool: Sequence[str],
        stop: Cancellation,
    ) -> Probe:
        """Return an unanswerable question of this kind, or the same question with its passage hidden."""
        if kind == "elsewhere" and (other := next(elsewhere, None)) and (asked := self._ask(other, pool, stop)):
            return Probe(asked.question, kind, False, tuple(asked.found[: self._k]))
        if kind == "swapped" and (question := self._swap(probe)):
            return Probe(question, kind, False, tuple(self._find(question)[: self._k]))
        return Probe(probe.question, "hidden", False, self._passages_without_own(probe))

    def _swap(self, probe: _SentenceProbe) -> str | None:
        """Return the question with one fact replaced by a fact from a nearby passage."""
        if probe.written:
            return probe.written.unanswered
        others = [passage for passage in probe.found if passage.id != probe.sample.id][:_SWAP_SOURCES]
        replacements = _foreign_pieces(
            probe.sample.text, [piece for passage in others for piece in _pieces_with_terms(passage.text)]
        )
        return make_cloze_question(probe.sentence, probe.foreign, self._rng, replacements) if replacements else None

    def _passages_without_own(self, probe: _SentenceProbe) -> tuple[Passage, ...]:
        """Return the passages found without those of its document.

        If too few remain, only the passage and its neighbours are left out.
        """
        containing = {passage.id for passage in probe.found if probe.sentence in passage.text}
        others = [
            passage
            for passage in probe.found
            if passage.id not in containing and passage.source_id != probe.sample.source_id
        ]
        if len(others) < self._k:
            near = range(probe.sample.id - 1, probe.sample.id + 2)  # passages of one document have consecutive ids
            others = [passage for passage in probe.found if passage.id not in containing and passage.id not in near]
        return tuple(others[: self._k])


def _pieces_with_terms(text: str) -> list[str]:
    return [piece for piece in split_pieces(text, detect_language(text)) if extract_terms(piece)]


def _foreign_pieces(text: str, candidates: Sequence[str]) -> list[str]:
    """Return the candidates that share no term with the text."""
    held = set(extract_terms(text))
    return [piece for piece in candidates if held.isdisjoint(extract_terms(piece))]


def read_provided_questions(file: Path) -> list[ProvidedQuestion]:
    """Read the lines `{"question", "answerable"}` of a JSON Lines file; other fields are ignored.

    Raises `BadRequest`, naming the unreadable line.
    """
    return [_parse_provided_question(row, number) for number, row in read_json_lines(file)]


def _parse_provided_question(row: dict[str, Any], number: int) -> ProvidedQuestion:
    question, answerable = row.get("question"), row.get("answerable")
    if not isinstance(question, str) or not question.strip() or not isinstance(answerable, bool):
        raise BadRequest(f"Line {number}: question must be text, answerable true or false.", "Fix it and try again.")
    return ProvidedQuestion(strip_unstorable(question), answerable)
