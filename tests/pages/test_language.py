"""The language of the screen: who chooses it, and that no visible text has been forgotten.

The pseudo-language puts each text that was looked up between ⟦ and ⟧. What is visible outside of these marks was not.
"""

import gettext
import re
from collections.abc import Iterator
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from crag import translation
from crag.app.application import Application
from crag.types import DEFAULT_COLLECTION
from pages.parts.routes import Page
from pages.settings.sections import all_sections
from tests.pages.conftest import NOTES, QUESTION, open_settings, said

ALLOWED = re.compile(
    r"CRAG Chat|(CRAG|LANGSMITH|OLLAMA|TAVILY)_\w+|Ollama|Llama 3|Nomic|Tavily|SearXNG|LangSmith|LangChain|BGE "
    "reranker v2 M3|"
    r"MiniLM|Tesseract|RapidOCR|evaluator:|Apache-2.0|https?:\S+|\w+(\.\w+)+|JSON Lines|EPUB|BM25|"
    r"\b(CSV|HTML|JSON|Markdown|PDF|Word|ZIP|API|URL|MB|kB|GB|ms|min|n|s)\b"
)
SYNTAX = re.compile(
    r"^/.*$|^English$|:material/\w+:|:[a-z-]+\[|`[^`]*`|\(#cite[^)]*\)|\[?\(https?:[^)]*\)|<[^>]*>|\$\$?"
)
FIELDS = {"label", "body", "help", "placeholder", "options", "text", "alt", "value_text"}


class PseudoLanguage(gettext.NullTranslations):
    def gettext(self, message: str) -> str:
        return f"⟦{message}⟧"

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        return f"⟦{msgid1 if n == 1 else msgid2}⟧"


@pytest.fixture
def pseudo(monkeypatch: pytest.MonkeyPatch, services: Application) -> Iterator[None]:
    """The user's language is one whose texts all have marks."""
    language = next(name for name in translation.list_languages() if name != translation.ENGLISH)
    monkeypatch.setattr(translation, "load_catalogue", lambda _language: PseudoLanguage())
    translation._translate_composed.cache_clear()
    services.preferences.save_language(language)
    yield
    translation._translate_composed.cache_clear()
    translation._patterns.cache_clear()


def visible_texts(app: AppTest) -> set[str]:
    return {text for block in (app.main, app.sidebar) for text in texts_of(block)}


def texts_of(block: Any) -> Iterator[str]:
    for child in block.children.values():
        proto = getattr(child, "proto", None)
        if proto is not None:
            for field, value in proto.ListFields():
                if field.name in FIELDS:
                    yield from [value] if isinstance(value, str) else [one for one in value if isinstance(one, str)]
                if field.name == "dialog" or field.name == "expandable":
                    yield from (str(getattr(value, name)) for name in ("title", "label") if hasattr(value, name))
        if getattr(child, "children", None):
            yield from texts_of(child)


def untranslated(text: str, own: str) -> str:
    """The letters of a text that are outside of all marks and are no content of the user."""
    while "⟦" in text:
        shorter = re.sub(r"⟦[^⟦⟧]*⟧", " ", text)
        if shorter == text:
            break
        text = shorter
    rest = ALLOWED.sub(" ", SYNTAX.sub(" ", text.replace("\\", "")))
    words = [word for word in re.findall(r"[A-Za-z]{2,}", rest) if word.lower() not in own]
    return " ".join(words)


OWN = set(re.findall(r"[a-z]{2,}", f"{NOTES} {QUESTION} {DEFAULT_COLLECTION}".lower()))


@pytest.mark.parametrize("page", [page for page in Page if page is not Page.SHARED], ids=lambda page: page.name)
def test_every_visible_text_of_a_page_can_be_translated(asked, pseudo, page):
    asked.switch_page(page.path).run()
    assert not asked.exception
    assert {text: left for text in visible_texts(asked) if (left := untranslated(text, OWN))} == {}


@pytest.mark.parametrize("section", [section.slug for section in all_sections()])
def test_every_visible_text_of_the_settings_can_be_translated(chat, pseudo, section):
    app = open_settings(chat, section)
    assert {text: left for text in visible_texts(app) if (left := untranslated(text, OWN))} == {}


def test_every_visible_text_of_the_options_of_a_conversation_can_be_translated(chat, pseudo):
    chat.run()
    chat.button(key="chip_options").click().run()
    assert chat.slider(key="option_k")
    assert {text: left for text in visible_texts(chat) if (left := untranslated(text, OWN))} == {}


def test_the_choice_of_the_settings_is_the_language_of_the_page(chat, services):
    app = open_settings(chat, "language")
    assert said(app, "Language of pages and exports.")
    app.selectbox(key="language").select("ko").run()
    assert not said(app, "Language of pages and exports.")
    assert services.preferences.language() == "ko"


@pytest.mark.parametrize("language", ["zh_Hans", "zh_Hant"])
def test_a_list_has_the_punctuation_of_its_language(chat, services, language):
    services.preferences.save_language(language)
    label = chat.run().file_uploader[0].label
    assert "：PDF、Office、" in label
    assert not {":", ","} & {*label}


@pytest.mark.parametrize(
    ("tag", "language"),
    [("ko-KR", "ko"), ("zh-TW", "zh_Hant"), ("zh-HK", "zh_Hant"), ("zh-CN", "zh_Hans"), ("en-GB", "en"), ("xx", "en")],
)
def test_the_language_of_the_browser_is_found(tag, language):
    assert translation.match_language([tag]) == language
