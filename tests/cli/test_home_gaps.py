"""The command that lists gaps: JSON for programs, the same in words, and nothing of a page steers the terminal."""

import json

import pytest

from crag.cli.main import main
from tests.inspection.conftest import FINALS, QUESTION


@pytest.fixture
def crag(home, capsys):
    def run(*arguments):
        code = main(["gaps", "--home", str(home), *arguments])
        return code, capsys.readouterr().out

    return run


def test_what_is_missing_is_listed_with_the_pages_that_answered(world, crag):
    world.tavily.results = [{"title": "Finals\x1b[31m", "url": world.page, "content": FINALS, "score": 0.9}]
    run, _ = world.ask()
    world.application.close()
    code, printed = crag("--json")
    (gap,) = json.loads(printed)["gaps"]
    (asked,) = gap["questions"]
    assert (code, gap["topic"], gap["count"], gap["last_asked"]) == (0, "2024 NBA finals", 1, asked["asked_at"])
    assert (asked["run_id"], asked["question"], asked["outcome"]) == (run.id, QUESTION, "web")
    assert [page["location"] for page in asked["pages"]] == [world.page]
    code, printed = crag()
    assert code == 0
    assert "2024 NBA finals  (1 question, the last on 20" in printed
    assert (QUESTION in printed, world.page in printed, "\x1b" in printed) == (True, True, False)


def test_an_empty_home_has_no_gap(crag):
    assert crag("--json") == (0, '{"gaps": []}\n')
    assert "covered every question" in crag()[1]
