"""The JSON Lines format of datasets, read with the field names of common datasets, and the built-in dataset."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, cast, get_args

from crag.errors import BadRequest
from crag.evaluation.types import Dataset, Example
from crag.text.jsonl import parse_json_lines
from crag.text.sanitization import clean_display_name, normalize_question, normalize_user_text
from crag.types import Action, Route

MAX_DATASET_BYTES = 50_000_000  # bytes
_MAX_KEY_LENGTH, _MAX_SUFFIX_LENGTH = 200, 10
_LIST_FIELDS = {
    "references": ("reference", "references", "answer", "answers"),
    "sources": ("passage_id", "passage_ids", "sources"),
    "phrases": ("passages", "phrases"),
    "must_mention": ("must_mention",),
    "must_not_mention": ("must_not_mention",),
}
_STEP_FIELDS = ("expected_steps", "steps")
_ACTIONS: tuple[Action, ...] = get_args(Action)
_ROUTES: tuple[Route, ...] = get_args(Route)


def read_dataset(path: Path) -> Dataset:
    """Read a dataset named after its file. Raises `BadRequest`, naming the unreadable line and field."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_DATASET_BYTES + 1)
    except (OSError, ValueError) as error:
        raise BadRequest(
            f"{clean_display_name(path.name)} cannot be read.", "Use the path of a JSON Lines file."
        ) from error
    return Dataset("", clean_display_name(path.stem), "uploaded", parse_examples(data))


def parse_examples(data: bytes) -> tuple[Example, ...]:
    """Parse a JSON Lines file; lines with the same question and compatible labels are merged.

    Lines that disagree stay apart, the second under another key: a set may hold a question both as answerable and as
    not. Raises `BadRequest` for a file that is too large, holds no question, or has an unreadable line.
    """
    if len(data) > MAX_DATASET_BYTES:
        raise BadRequest(
            f"The file has more than the {MAX_DATASET_BYTES / 1e6:,.0f} MB that a dataset may have.",
            "Split it into several datasets.",
        )
    found: dict[str, list[Example]] = {}
    for line, row in parse_json_lines(data):
        _group_example(found, parse_example(row, line), line)
    if not found:
        raise BadRequest("There is no question in the file.", 'Write one per line, such as {"question": "…"}.')
    return tuple(_clear_unanswerable(_merge_examples(key, lines)) for key, lines in found.items())


def parse_example(row: Mapping[str, Any], line: int) -> Example:
    """Parse one line; unknown fields are ignored. Raises `BadRequest`, naming line and field."""
    fields = _RowFields(_flatten_langsmith_row(row), line)
    question = fields.question()
    lists = {name: fields.texts(*names) for name, names in _LIST_FIELDS.items()}
    return Example(
        key=fields.key() or question_key(question),
        question=question,
        steps=fields.steps(),
        action=fields.action(),
        answerable=fields.flag("answerable"),
        language=fields.text("language", "lang"),
        route=fields.route(),
        **lists,
    )


def example_to_row(example: Example) -> dict[str, Any]:
    """Return the row of an example, without unknown fields; the inverse of `parse_example`."""
    held = {
        "id": example.key,
        "question": example.question,
        "expected_steps": example.steps,
        "expected_action": example.action,
        "expected_route": example.route,
        "answerable": example.answerable,
        "language": example.language,
        **{name: getattr(example, name) for name in _LIST_FIELDS},
    }
    return {name: value for name, value in held.items() if value not in (None, "", ())}


def question_key(question: str) -> str:
    """Return the key of a question without an id, independent of case, width, spaces and final mark."""
    plain = " ".join(unicodedata.normalize("NFKC", question).casefold().split()).rstrip(" ?.")
    return hashlib.sha256(plain.encode()).hexdigest()[:16]


def _flatten_langsmith_row(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the row itself; for a LangSmith example, with its inputs and outputs moved to the top level."""
    inputs, outputs = row.get("inputs"), row.get("outputs")
    if not isinstance(inputs, dict):
        return row
    outputs = outputs if isinstance(outputs, dict) else {}
    return {"question": inputs.get("input"), "answer": outputs.get("output"), **row, **inputs, **outputs}


@dataclass(frozen=True, slots=True)
class _RowFields:
    """The fields of one line, each read under any of its names; every method raises `BadRequest`."""

    row: Mapping[str, Any]
    line: int

    def question(self) -> str:
        value = self.row.get("question")
        if not isinstance(value, str):
            raise self._field_error("question", "text")
        try:
            return normalize_question(value)
        except BadRequest as error:
            raise BadRequest(f"Line {self.line}: {error.message}", error.remedy) from error

    def key(self) -> str:
        value = self.row.get("id")
        value = "" if value is None else value
        text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
        if not isinstance(text, str) or len(text) > _MAX_KEY_LENGTH:
            raise self._field_error("id", f"text of at most {_MAX_KEY_LENGTH} characters, or a number")
        return normalize_user_text(text)

    def texts(self, *names: str) -> tuple[str, ...]:
        """Return all values under these names without duplicates.

        Numbers become text; SQuAD's `{"text": […]}` becomes its texts.
        """
        found: list[str] = []
        for name in names:
            value = self.row.get(name)
            value = value["text"] if isinstance(value, dict) and "text" in value else value
            values = value if isinstance(value, list) else [] if value is None else [value]
            if not all(isinstance(one, str | int | float) and not isinstance(one, bool) for one in values):
                raise self._field_error(name, "text or a list of texts")
            found += [normalize_user_text(str(one)) for one in values]
        return tuple(dict.fromkeys(text for text in found if text))

    def steps(self) -> tuple[tuple[str, ...], ...]:
        """Return the accepted trajectories, whether one or several are given."""
        for name in _STEP_FIELDS:
            value = self.row.get(name)
            if value is None:
                continue
            ways = value if isinstance(value, list) and value and isinstance(value[0], list) else [value]
            if not all(isinstance(way, list) and all(isinstance(step, str) for step in way) for way in ways):
                raise self._field_error(name, "a list of steps, or a list of such lists")
            return tuple(tuple(map(normalize_user_text, way)) for way in ways if way)
        return ()

    def action(self) -> Action | None:
        value = self.row.get("expected_action", self.row.get("action"))
        if value is None or value in _ACTIONS:
            return cast("Action | None", value)
        raise self._field_error("expected_action", f"one of {', '.join(_ACTIONS)}")

    def route(self) -> Route | None:
        value = self.row.get("expected_route")
        if value is None or value in _ROUTES:
            return cast("Route | None", value)
        raise self._field_error("expected_route", f"one of {', '.join(_ROUTES)}")

    def flag(self, name: str) -> bool | None:
        value = self.row.get(name)
        if value is None or isinstance(value, bool):
            return value
        raise self._field_error(name, "true or false")

    def text(self, *names: str) -> str:
        for name in names:
            value = self.row.get(name)
            if value is not None and not isinstance(value, str):
                raise self._field_error(name, "text")
            if value:
                return normalize_user_text(value)
        return ""

    def _field_error(self, name: str, wanted: str) -> BadRequest:
        return BadRequest(f"Line {self.line}: {name} must be {wanted}.", "Fix it and try again.")


def _group_example(groups: dict[str, list[Example]], example: Example, line: int) -> None:
    """Add an example to those with the same question, or under a new key. Raises `BadRequest` for a reused id."""
    key, number = example.key, 1
    if key in groups and question_key(groups[key][0].question) != question_key(example.question):
        raise BadRequest(f"Line {line}: id is that of another question already.", "Give each question its own.")
    while key in groups and not _labels_agree(groups[key][0], example):
        number += 1
        key = f"{example.key[: _MAX_KEY_LENGTH - _MAX_SUFFIX_LENGTH]}-{number}"
    lines = groups.setdefault(key, [])
    lines.append(example)
    lines[0] = _fill_missing_labels(lines[0], example)


def _labels_agree(first: Example, second: Example) -> bool:
    pairs = (first.answerable, second.answerable), (first.action, second.action)
    return all(one == other or None in (one, other) for one, other in pairs)


def _fill_missing_labels(first: Example, second: Example) -> Example:
    """Return the first example, with labels it lacks taken from the second."""
    if first.answerable is None or first.action is None:
        answerable = second.answerable if first.answerable is None else first.answerable
        return replace(first, action=first.action or second.action, answerable=answerable)
    return first


def _merge_examples(key: str, lines: Sequence[Example]) -> Example:
    """Merge lines of one question; the result has the union of their lists."""
    lists: dict[str, Any] = {
        name: tuple(dict.fromkeys(chain.from_iterable(getattr(one, name) for one in lines)))
        for name in (*_LIST_FIELDS, "steps")
    }
    language = next((one.language for one in lines if one.language), "")
    route = next((one.route for one in lines if one.route), None)
    return replace(lines[0], key=key, language=language, route=route, **lists)


def _clear_unanswerable(example: Example) -> Example:
    """Clear the right answers and passages of an unanswerable example, regardless of its row."""
    if example.answerable is not False:
        return example
    return replace(example, references=(), must_mention=(), sources=(), phrases=())


_NOTEBOOK_TRAJECTORIES = (
    ("retrieve_documents", "grade_document_retrieval", "web_search", "generate_answer"),
    ("retrieve_documents", "grade_document_retrieval", "generate_answer"),
)


def _seed_example(question: str, reference: str, *must_mention: str, action: Action | None = None) -> Example:
    key = question_key(question)
    return Example(
        key, question, (reference,), _NOTEBOOK_TRAJECTORIES, action, must_mention=must_mention, language="en"
    )


SEED_DATASET = Dataset(
    id="seed",
    name="Five questions on three posts",
    kind="builtin",
    examples=(
        _seed_example(
            "How does the ReAct agent use self-reflection?",
            "ReAct integrates reasoning and acting, performing actions - such as calling a Wikipedia search API - "
            "and then observing and reasoning about the tool outputs.",
        ),
        _seed_example(
            "What are the types of biases that can arise with few-shot prompting?",
            "The biases that can arise with few-shot prompting include (1) Majority label bias, (2) Recency bias, "
            "and (3) Common token bias.",
            "majority label bias",
            "recency bias",
            "common token bias",
        ),
        _seed_example(
            "What are five types of adversarial attacks?",
            "Five types of adversarial attacks are (1) Token manipulation, (2) Gradient based attack, "
            "(3) Jailbreak prompting, (4) Human red-teaming, (5) Model red-teaming.",
            "token manipulation",
            "gradient based attack",
            "jailbreak prompting",
            "human red-teaming",
            "model red-teaming",
        ),
        _seed_example(
            "Who did the Chicago Bears draft first in the 2024 NFL draft?",
            "The Chicago Bears drafted Caleb Williams first in the 2024 NFL draft.",
            "Caleb Williams",
            action="incorrect",
        ),
        _seed_example(
            "Who won the 2024 NBA finals?",
            "The Boston Celtics won the 2024 NBA finals.",
            "Boston Celtics",
            action="incorrect",
        ),
    ),
)
