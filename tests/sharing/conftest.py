"""A conversation with every feature, and two homes that exchange collections and backups."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from crag.options import RunOptions
from crag.sharing.passage_exchange import PassageExchange
from crag.sharing.service import ConversationExchange
from tests.applications import wait
from tests.doubles.engine import passage
from tests.doubles.library import open_library
from tests.runs.conftest import RESULT, House, house  # noqa: F401 — fixtures
from tests.sharing.backups import NOTES, save
from tests.sharing.contents import CATS, KETTLES

HOME_FOLDER = "/home/someone/papers"


@dataclass
class Shared:
    house: House
    sharing: ConversationExchange
    conversation: str

    def json(self) -> dict[str, Any]:
        return json.loads(self.sharing.json(self.conversation))

    def take_in(self, document: Any, user: str = "") -> str:
        data = document if isinstance(document, bytes) else json.dumps(document).encode()
        return self.sharing.for_user(user or None).import_json(data).id

    def again(self, conversation: str) -> Shared:
        return Shared(self.house, self.sharing, conversation)


def shared_in(made: House) -> Shared:
    sharing = ConversationExchange(
        made.database, made.conversations, made.runs.calls, lambda address: "example" in address
    )
    return Shared(made, sharing, made.conversations.for_user("me").create({"k": 6, "policy": "any"}).id)


@pytest.fixture
def bare(house) -> Shared:  # noqa: F811
    return shared_in(house())


@pytest.fixture(scope="session")
def original(tmp_path_factory) -> Iterator[Shared]:
    """As it came to be, for tests that leave it as it is.

    Shown is the first branch: a question with three versions, then one that the web was asked.
    """
    home = House(tmp_path_factory.mktemp("original"))
    made = shared_in(home)
    home.retriever.passages = [passage(1, location=f"{HOME_FOLDER}/paper1.pdf"), passage(2)]
    wait(home.runs.start(made.conversation, "What of whales?", RunOptions()))
    first = home.conversations.messages(made.conversation)[0].id
    wait(home.runs.regenerate(shown(made, 1), RunOptions(k=2)))
    wait(home.runs.overrule(shown(made, 1), {1: "drop"}))
    home.grader.scores = {-1: 0.9}
    asks = home.runs.start(made.conversation, "And on the web?", RunOptions(web="ask"))
    wait(asks)
    wait(home.runs.answer_consent(asks.id, "whales"))
    home.conversations.give_feedback(shown(made, 3), helpful=False, reason="It missed the second failure.")
    wait(home.runs.edit(first, "What of bees?", RunOptions()))
    home.conversations.show_branch(made.conversation, first)
    yield made
    home.close()


@pytest.fixture
def shared(bare, original) -> Shared:
    """The same in a home of its own."""
    return bare.again(bare.take_in(original.json(), "me"))


def shown(shared: Shared, index: int) -> str:
    """The run of the message at this place of the branch that is shown."""
    return shared.house.conversations.messages(shared.conversation)[index].run_id


def lasting(document: dict[str, Any]) -> dict[str, Any]:
    """What of an export does not tell when it was made."""
    return {name: value for name, value in document.items() if name not in ("exported_at", "updated_at")}


@pytest.fixture
def exchange_of():
    return lambda library: PassageExchange(library._database, library, lambda text: len(text.split()))


@pytest.fixture
def exchange(library, exchange_of):
    return exchange_of(library)


@pytest.fixture
def filled(library):
    library.pipeline.add_bytes("kettles.md", KETTLES)
    library.pipeline.add_bytes("cats.md", CATS, collection="Animals")
    return library


@pytest.fixture
def other(tmp_path, reopen, embedder, reader):
    """A second home."""
    opened = open_library(tmp_path / "other", embedder=embedder, read=reader)
    yield opened
    opened._database.close()


@pytest.fixture
def saved(library, tmp_path):
    """A backup of a home with two documents."""
    library.pipeline.add_bytes("notes.md", NOTES)
    library.pipeline.add_bytes("cats.md", b"A cat sleeps all day.\n", collection="Animals")
    save(library, tmp_path / "saved.backup")
    return tmp_path / "saved.backup"
