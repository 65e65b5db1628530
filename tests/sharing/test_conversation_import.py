"""Damaged exports are refused in words, and nothing of them is kept."""

import copy
import json
import random

import pytest
from sqlalchemy import func, select

from crag.errors import BadRequest
from crag.storage.tables import conversations, events, feedback, messages, runs

TABLES = (conversations, messages, runs, events, feedback)
DEEP = b'{"format":"crag-conversation","version":1,"changes":' + b'{"a":' * 5_000 + b"1" + b"}" * 5_000 + b"}"


def rows(shared):
    with shared.house.database.read() as connection:
        return [connection.execute(select(func.count()).select_from(table)).scalar_one() for table in TABLES]


def refusal(shared, document):
    before = rows(shared)
    with pytest.raises(BadRequest) as refused:
        shared.take_in(document)
    assert rows(shared) == before
    assert refused.value.remedy
    return refused.value.message


NO_CONVERSATIONS = [
    (b"", "not a conversation that was exported"),
    (b"\xff\xfe\x00", "not a conversation that was exported"),
    (b"[" * 100_000, "not a conversation that was exported"),
    (b'{"a": NaN}', "not a conversation"),
    (b'{"format": "crag-backup", "version": 1}', "not a conversation"),
    (b'{"format": "crag-conversation", "version": 2}', "version 2"),
    (b'{"format": "crag-conversation", "version": 1}', ": “exported_at” cannot be read"),
    (b'{"format": "crag-conversation", "version": "1"}', ": “version” cannot be read"),
    (DEEP, "not a conversation that was exported"),
]


def test_what_is_no_conversation(bare):
    for data, words in NO_CONVERSATIONS:
        assert words in refusal(bare, data), data[:60]


def test_a_file_that_is_too_large_is_not_read(bare, monkeypatch):
    monkeypatch.setattr("crag.sharing.service._MAX_IMPORT_BYTES", 10)
    assert "larger" in refusal(bare, b" " * 11)


def first(document, kind):
    """The first event of a kind."""
    return next(event for run in document["runs"] for event in run["events"] if event["type"] == kind)


def set_value(*path):
    """A change that puts the last of `path` where the others lead to."""

    def change(document):
        *places, name, value = path
        for place in places:
            document = document[place]
        document[name] = value

    return change


def set_event(kind, name, value):
    def change(document):
        first(document, kind)[name] = value

    return change


CHANGES = {
    "title of another type": set_value("title", 7),
    "a field too many": set_value("admin", True),
    "a time that never is": set_value("created_at", 1e300),
    "an unknown role": set_value("messages", 0, "role", "system"),
    "a parent after its child": set_value("messages", 0, "parent", 3),
    "a parent that is itself": set_value("messages", 2, "parent", 3),
    "a parent that is nowhere": set_value("messages", 2, "parent", 999),
    "a circle": lambda document: (
        set_value("messages", 0, "parent", 4)(document),
        set_value("messages", 3, "parent", 1)(document),
    ),
    "a question below a question": set_value("messages", 2, "parent", 1),
    "a number for two messages": set_value("messages", 2, "id", 1),
    "a number for two runs": lambda document: document["runs"].append(copy.deepcopy(document["runs"][0])),
    "an answer without a run": set_value("messages", 1, "run", None),
    "an answer that is nowhere": set_value("messages", 1, "run", 77),
    "one answer for two questions": set_value("messages", 1, "run", 4),
    "a version of nothing": set_value("runs", 1, "version_of", 99),
    "a version of itself": set_value("runs", 0, "version_of", 1),
    "a version of a version": set_value("runs", 2, "version_of", 2),
    "a head that is a question": set_value("head", 1),
    "no head": set_value("head", None),
    "a message without an answer": lambda document: document["messages"].pop(),
    "a run of no message": lambda document: document["runs"].append(copy.deepcopy(document["runs"][0]) | {"id": 50}),
    "an event that nobody knows": set_value("runs", 0, "events", 0, {"type": "rm_rf"}),
    "an event without a kind": set_value("runs", 0, "events", 0, {}),
    "an event that is no object": set_value("runs", 0, "events", 0, "run_started"),
    "an end that is none": set_event("run_ended", "state", "running"),
    "an end in the middle": lambda document: document["runs"][0]["events"].insert(0, first(document, "run_ended")),
    "a verdict on a passage that is not there": lambda document: set_value("passage_id", 88)(
        first(document, "passage_graded")["verdict"]
    ),
    "a score above all": lambda document: set_value("score", 1e9)(first(document, "passage_graded")["verdict"]),
    "an unknown verdict": lambda document: set_value("word", "great")(first(document, "passage_graded")["verdict"]),
    "a source that is not there": lambda document: set_value("passage_id", 88)(
        first(document, "answer_written")["citations"][0]
    ),
    "two sources of one number": lambda document: first(document, "answer_written")["citations"].append(
        first(document, "answer_written")["citations"][0]
    ),
    "a passage twice": lambda document: first(document, "passages_found")["passages"].append(
        first(document, "passages_found")["passages"][0]
    ),
    "more tokens than can be": set_event("prompt_built", "tokens", -1),
    "a time before the beginning": set_event("node_started", "at", -5.0),
    "an option that cannot be": lambda document: set_value("k", 10**9)(first(document, "run_started")["options"]),
    "a parent run from elsewhere": set_event("version_begun", "parent", "0" * 32),
    "feedback of another type": set_value("runs", 0, "feedback", "good"),
}


def test_a_file_that_was_changed(shared):
    for name, change in CHANGES.items():
        document = shared.json()
        change(document)
        assert refusal(shared, document).startswith("This file is damaged or was changed"), name


def test_a_damaged_file_is_imported_whole_or_refused(shared):
    """Bits that flip, ends that are cut off, values that trade places."""
    data, chance = shared.sharing.json(shared.conversation), random.Random(7)
    imported = 0
    for number in range(150):
        before = rows(shared)
        try:
            kept = shared.take_in(damaged(data, number, chance))
        except BadRequest:
            assert rows(shared) == before
            continue
        imported += 1
        found = shared.again(kept)
        assert found.sharing.html(kept)
        assert found.sharing.markdown(kept)
        assert found.json()["messages"]
    assert 0 < imported < 150


def damaged(data, number, chance):
    place = chance.randrange(len(data))
    match number % 3:
        case 0:
            return data[:place] + bytes([data[place] ^ (1 << chance.randrange(8))]) + data[place + 1 :]
        case 1:
            return data[:place]
    document = json.loads(data)
    leaves = list(places_in(document))
    (one, here), (other, there) = chance.choice(leaves), chance.choice(leaves)
    one[here], other[there] = other[there], one[here]
    return json.dumps(document).encode()


def places_in(value):
    """Every place of a document that holds a plain value."""
    held = value.items() if isinstance(value, dict) else enumerate(value)
    for name, inside in list(held):
        if isinstance(inside, dict | list):
            yield from places_in(inside)
        else:
            yield value, name
