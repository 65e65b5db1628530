"""A home with two good passages and a web, and a run service over doubles."""

from __future__ import annotations

import pytest

from crag.conversations.conversations import Conversations
from crag.runs.service import RunService
from crag.runs.worker import RunResources
from crag.storage.engine import Database
from tests.doubles.engine import ListRetriever, ListWeb, QuotingWriter, TableGrader, engine, passage

RESULT = passage(-1, "The web says that fact9 holds.", origin="web", location="https://example.org/9", page=None)


class House:
    """`scores` are what the grader gives to passages 1 and 2 and to the web's -1."""

    def __init__(self, home, writer=None, equip_fault=None, scores=None, web=None, url=""):
        self.database = Database(home, url)
        self.conversations = Conversations(self.database)
        self.writer = writer or QuotingWriter()
        self.equip_fault = equip_fault
        self.web = web or ListWeb([RESULT])
        self.grader = TableGrader({1: 0.9, 2: 0.8} if scores is None else scores)
        self.retriever = ListRetriever([passage(1), passage(2)])
        self.runs = RunService(self.database, self.build)

    def build(self, options, *_):
        if self.equip_fault:
            raise self.equip_fault
        web = None if options.web == "off" else self.web
        return RunResources(engine(self.grader, self.writer), self.retriever, "none", web, "Web search is off")

    def close(self):
        self.runs.close()
        self.database.close()


@pytest.fixture
def house(tmp_path):
    made = []

    def make(**given):
        made.append(House(tmp_path, **given))
        return made[-1]

    yield make
    for one in made:
        one.close()
