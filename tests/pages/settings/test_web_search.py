"""Web search in the settings: which provider is asked, what a test of it says, and the MCP server."""

from __future__ import annotations

import pytest

from crag.errors import BadRequest
from crag.text.sanitization import WORD_JOINER
from pages.parts.services import shared_application
from tests.doubles import mcp_search
from tests.doubles.ollama import closed_address
from tests.doubles.search_api import SearchApi
from tests.pages.conftest import click, labels, open_settings, said

QUERY = "corrective retrieval augmented generation"
FOUND = {"title": "Corrective <b>RAG</b>", "url": "https://arxiv.org/abs/2401.15884", "content": "CRAG"}
PROVIDER, MCP = "web_search_provider", "mcp_search"


@pytest.fixture
def searxng(monkeypatch):
    with SearchApi({"results": [FOUND]}) as server:
        monkeypatch.setenv("CRAG_SEARXNG_URL", server.url)
        shared_application.clear()
        yield server


@pytest.fixture
def settings(chat):
    return lambda: open_settings(chat, "web-search")


def texts(page):
    shown = [item.value for item in [*page.text, *page.markdown, *page.caption]]
    return [text.replace("\\", "").replace(WORD_JOINER, "") for text in shown]


def test_without_a_provider_there_is_nothing_to_test(settings):
    page = settings()
    assert "None, so nothing is sent" in texts(page)
    assert "Test" not in labels(page)
    assert any("`CRAG_SEARXNG_URL` for SearXNG" in text for text in texts(page))
    assert shared_application().test_search() is None


def test_a_test_shows_the_first_result_and_is_logged(settings, searxng):
    page = settings()
    assert searxng.asked == [], "nothing is sent before the click"
    click(page, "Test")
    assert len(searxng.asked) == 1
    assert any("Corrective <b>RAG</b> (arxiv.org)" in text for text in texts(page))
    assert not any("<b>" in item.value for item in page.markdown), "HTML would be read as such"
    (entry,) = shared_application().outbound_log.entries()
    assert (entry.host, entry.kind, entry.what) == (searxng.url[7:], "web search", QUERY)
    assert any("1 search this month" in text for text in texts(page))


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ({"status": 401}, "refused the key"),
        ({"status": 403}, "Add json to search.formats in its settings.yml"),
        ({"reply": {"results": []}}, "answers, but found nothing. Try it"),
    ],
)
def test_a_test_tells_the_reasons_apart(settings, searxng, script, words):
    for name, value in script.items():
        setattr(searxng, name, value)
    page = settings()
    click(page, "Test")
    assert any(words in text for text in texts(page)), texts(page)
    assert shared_application().outbound_log.count_since(kind="web search") == 1


def test_a_test_of_a_provider_that_is_not_there_says_so(settings, monkeypatch):
    monkeypatch.setenv("CRAG_SEARXNG_URL", closed_address())
    page = settings()
    click(page, "Test")
    assert any("SearXNG cannot be reached" in text for text in texts(page))


def test_a_provider_is_chosen_among_those_set_up(settings, searxng, monkeypatch):
    monkeypatch.setenv("BRAVE_API_KEY", "brave-secret")
    page = settings()
    choice = page.selectbox(key=PROVIDER)
    assert choice.options == ["Automatic (Brave)", "Brave", "SearXNG"]
    assert shared_application().web.open_search().name == "Brave"
    choice.set_value("searxng").run()
    assert said(page, "Provider :blue-badge[saved]")
    assert f"SearXNG, {searxng.url[7:]}" in texts(page)
    assert shared_application().web.open_search().name == "SearXNG"
    page.selectbox(key=PROVIDER).set_value("auto").run()
    assert said(page, "Provider :gray-badge[default]")
    assert searxng.asked == []


def test_the_environment_decides_where_it_names_one(settings, searxng, monkeypatch):
    monkeypatch.setenv("CRAG_WEB_SEARCH", "searxng")
    page = settings()
    assert page.selectbox(key=PROVIDER).disabled
    assert said(page, "Provider :violet-badge[:material/lock: environment]")


def test_a_provider_that_is_named_but_lacks_its_key_says_which(settings, searxng, monkeypatch):
    monkeypatch.setenv("CRAG_WEB_SEARCH", "brave")
    page = settings()
    assert any("`BRAVE_API_KEY` for Brave" in text for text in texts(page))
    (check,) = [one for one in shared_application().checks() if one.name == "Web search"]
    assert check.detail == "CRAG_WEB_SEARCH names Brave, but BRAVE_API_KEY is missing, so nothing is sent"
    assert check.action.commands == "BRAVE_API_KEY=YOUR-KEY"


def test_an_mcp_server_is_one_more_provider(settings):
    with mcp_search.serving(mcp_search.make_server()) as url:
        page = settings()
        page.text_input(key=MCP).set_value(f"{url}#find_structured").run()
        assert said(page, "MCP server :blue-badge[saved]")
        assert page.selectbox(key=PROVIDER).options == ["Automatic (MCP server)", "MCP server"]
        click(page, "Test")
        assert any("Finals (example.org)" in text for text in texts(page))
        assert shared_application().preferences.options().web == "ask", "the web is off until something can search"
        page.text_input(key=MCP).set_value("").run()
    assert "None, so nothing is sent" in texts(page)
    assert shared_application().preferences.options().web == "off"


@pytest.mark.parametrize("typed", ["python -m server #find", "file:///etc/passwd", "https://", "https://a b/mcp#x"])
def test_no_command_is_taken_from_the_page(settings, typed):
    page = settings()
    page.text_input(key=MCP).set_value(typed).run()
    assert any("because they run code" in text for text in texts(page))
    assert shared_application().preferences.search_settings().mcp_search == ""


def test_a_server_of_the_environment_is_named_by_its_host_alone(settings, monkeypatch):
    monkeypatch.setenv("CRAG_MCP_SEARCH", "env KEY=secret uvx server #find")
    page = settings()
    assert "a local program" in texts(page)
    assert not [field for field in page.text_input if field.key == MCP]
    assert not any("secret" in text for text in texts(page))


def test_the_token_of_the_environment_goes_to_no_other_server(services, monkeypatch):
    monkeypatch.setenv("CRAG_MCP_TOKEN", "token")
    shared_application.clear()
    preferences = shared_application().preferences
    preferences.save_mcp_search("https://elsewhere.example/mcp")
    assert preferences.search_settings().mcp_token == ""
    with pytest.raises(BadRequest, match="not set up"):
        preferences.choose_web_search("tavily")
