"""A page that a web search found is added as any address is, and says for good which question found it."""

import pytest

from crag.cli import reports
from crag.errors import BadRequest, NotFound
from tests.inspection.conftest import QUESTION


def test_a_page_is_added_under_its_question_and_answers_it_from_then_on(world, added):
    run, trace = world.ask()
    assert trace.outcome == "web"
    job = world.application.gaps.add_page(world.page, "Basketball", run.id)
    assert [one.id for one in world.application.jobs.jobs()] == [job]
    added()
    (source,) = world.application.library.sources("Basketball")
    assert (source.location, source.title, source.found_by) == (world.page, "2024 NBA Finals", QUESTION)
    assert reports.source_json(source)["found_by"] == QUESTION
    _, again = world.ask(web="off")
    assert (again.outcome, again.citations[0].source_id) == ("documents", source.id)


def test_its_question_stays_when_it_is_fetched_again_moved_or_added_once_more_by_hand(world, added):
    run, _ = world.ask()
    world.application.gaps.add_page(world.page, "Documents", run.id)
    added()
    library = world.application.library
    (source,) = library.sources()
    world.web.page("/finals", b"<html><body><p>The Celtics won in five games, the fans say.</p></body></html>")
    assert library.refresh([source.id])[0].status == "replaced"
    library.move([source.id], "Basketball")
    world.web.page("/finals", b"<html><body><p>The Celtics won in five games, all say.</p></body></html>")
    assert [result.status for result in library.add(world.page, collection="Basketball")] == ["replaced"]
    assert [(one.id, one.found_by) for one in library.sources()] == [(source.id, QUESTION)]


def test_what_a_person_had_added_stays_theirs(world, added):
    list(world.application.library.add(world.page))
    run, _ = world.ask("Which team did the Boston Celtics beat?")
    world.web.page("/finals", b"<html><body><p>The Celtics won in five games, the fans say.</p></body></html>")
    world.application.jobs.submit_url(world.page, found_by=run.question)
    added()
    assert [one.found_by for one in world.application.library.sources()] == [""]


@pytest.mark.parametrize("format_", ["langchain", "jsonl"])
def test_it_is_exported_and_imported_with_its_question(world, added, tmp_path, format_):
    run, _ = world.ask()
    world.application.gaps.add_page(world.page, "Documents", run.id)
    added()
    world.application.exchange.export(tmp_path / "out", format_)
    world.application.library.remove([world.application.library.sources()[0].id])
    list(world.application.exchange.import_passages(tmp_path / "out"))
    assert [one.found_by for one in world.application.library.sources()] == [QUESTION]


def test_only_what_the_search_returned_is_fetched(world):
    other = world.web.page("/other", b"<html><body>Elsewhere</body></html>")
    run, _ = world.ask()
    before = list(world.web.seen)
    for location in (other, "http://169.254.169.254/latest", "file:///etc/passwd", ""):
        with pytest.raises(BadRequest, match="did not return"):
            world.application.gaps.add_page(location, "Documents", run.id)
    with pytest.raises(NotFound):
        world.application.gaps.add_page(world.page, "Documents", "nobody")
    assert (world.application.jobs.jobs(), world.web.seen) == ([], before)


def test_a_page_that_cannot_be_fetched_is_refused_in_words_and_nothing_is_stored(world, added):
    run, _ = world.ask()
    del world.web.scripts["/finals"]
    world.application.gaps.add_page(world.page, "Documents", run.id)
    added()
    (job,) = world.application.jobs.jobs()
    assert (job.state, job.result.error.code) == ("failed", "http_error")
    assert world.application.library.sources() == []
