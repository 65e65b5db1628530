"""The page of coverage gaps."""

from __future__ import annotations

import pytest

from tests.doubles.tavily import TavilyServer
from tests.doubles.web import serving
from tests.pages.conftest import click, labels, said, until
from tests.waiting import PATIENCE, wait_until

PAGE = "pages/gaps/page.py"
QUESTION = "Who won the 2024 NBA finals?"
FINALS = "The Boston Celtics won the 2024 NBA finals against the Dallas Mavericks."


@pytest.fixture
def found(monkeypatch):
    """What the web search finds: a page that is there, with a title that would be a picture and a link."""
    with TavilyServer() as tavily, serving() as web:
        monkeypatch.setenv("TAVILY_API_KEY", "tvly-x")
        monkeypatch.setenv("CRAG_TAVILY_URL", tavily.url)
        monkeypatch.setenv("CRAG_ALLOW_PRIVATE_URLS", "127.0.0.1/32")
        page = web.page("/finals", f"<html><title>Finals</title><body><p>{FINALS}</p></body></html>".encode())
        tavily.results = [{"title": "![x](http://evil.example) Finals", "url": page, "content": FINALS, "score": 0.9}]
        yield page


@pytest.fixture
def page(chat, found, notes, services):
    """The page after a question that the web answered and one that nobody did."""
    services.preferences.save("web", "auto")
    for question, web in ((QUESTION, "auto"), ("How deep is the Mariana trench?", "off")):
        conversation = services.conversations.create()
        run = services.runs.start(conversation.id, question, services.preferences.options({"web": web}))
        for _ in run.follow(seconds=PATIENCE):
            pass
    return chat.switch_page(PAGE).run()


def test_a_page_is_added_from_a_gap_with_one_click(page, services):
    assert not page.exception
    assert {header.value for header in page.header} == {QUESTION, "How deep is the Mariana trench?"}
    assert said(page, "2 questions on 2 topics")
    assert said(page, "127.0.0.1")
    assert not any("](http" in one.value for one in page.markdown)
    services.library.create_collection("Sports")
    page.run()
    page.selectbox[0].set_value("Sports").run()
    click(page, "Add to Sports")
    wait_until(lambda: not services.jobs.active)
    until(page, lambda: said(page, "Added to Sports"))
    (source,) = services.library.sources("Sports")
    assert source.found_by == QUESTION
    assert "Add to Sports" not in labels(page)


def test_a_gap_is_dismissed_and_the_dismissal_undone(page):
    close = [button for button in page.button if button.label == "Not a gap"]
    close[0].click().run()
    assert len(page.header) == 1
    assert said(page, "removed from the list")
    click(page, "Undo")
    assert len(page.header) == 2


def test_without_any_gap_the_page_says_what_will_be_here(chat, notes):
    chat.run()
    page = chat.switch_page(PAGE).run()
    assert not page.exception
    assert said(page, "No coverage gaps")
    assert "Ask your documents" in labels(page)


def test_documents_and_citations_name_the_question_they_answer(page, services):
    page.run()
    click(page, "Add to Documents")
    wait_until(lambda: not services.jobs.active)
    documents = page.switch_page("pages/documents/page.py").run()
    table = documents.dataframe[0].value
    at = list(table["Document"]).index("Finals")
    assert table["Kind"][at] == "Web page · found by a web search"
    assert (table["Found for"][at], list(table["Found for"]).count("")) == (QUESTION, 1)
    gaps = documents.switch_page(PAGE).run()
    [button for button in gaps.button if button.label == "Ask again"][-1].click().run()
    until(gaps, lambda: services.archive.list()[0].outcome)
    cited = services.archive.list()[0]
    assert (cited.outcome, cited.question) == ("quoted", QUESTION)
    chat = gaps.switch_page("pages/chat/page.py").run()  # as the page itself has done, which the test runner forgets
    chat.button(key=f"source-{cited.run_id}-1").click().run()
    assert said(chat, f"Found by a web search for “{QUESTION}”")
    assert {header.value for header in gaps.switch_page(PAGE).run().header} == {"How deep is the Mariana trench?"}
