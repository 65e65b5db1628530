"""Texts composed in English find their translation with their values, whatever was stored with them."""

import re

import pytest

from crag.ingest.parse.child import UNSUPPORTED_SIGNATURES
from crag.ingest.parse.document import (
    ParseLimits,
    damaged_refusal,
    describe_unread_pages,
    out_of_memory_refusal,
    too_much_text_refusal,
)
from crag.ingest.parse.ocr import OCR_TIMED_OUT
from crag.ingest.parse.zip_container import inflated_size_refusal
from crag.sharing.backup import damaged_backup_error
from crag.translation import ENGLISH, bind_language, format_list, list_languages, translate_text, use_language


@pytest.mark.parametrize(
    ("composed", "translated"),
    [
        ("Settings", "설정"),
        ("There is no model called “tiny”.", "“tiny”라는 모델이 없습니다."),
        ("4 passages", "문단 4개"),
        (
            "Ollama does not answer at 127.0.0.1:9. Start it with `ollama serve`, then try again.",
            "127.0.0.1:9의 Ollama가 응답하지 않습니다. `ollama serve`로 시작한 다음 다시 시도하세요.",
        ),
        (
            "Ollama does not answer at 127.0.0.1:9, so the built-in engine answers.",
            "127.0.0.1:9의 Ollama가 응답하지 않습니다. 그래서 내장 엔진이 답합니다.",
        ),
        ("2 of 4 passages are relevant, best 0.94 ≥ 0.59.", "문단 4개 중 2개 관련 있음, 최고 0.94 ≥ 0.59."),
        (
            "0 of 4 passages are relevant, best 0.00 < 0.30: no answer found in your documents.",
            "문단 4개 중 0개 관련 있음, 최고 0.00 < 0.30: 문서에서 답을 찾지 못함.",
        ),
        (
            "Best 0.46, between 0.31 and 0.59: your documents may cover this.",
            "최고 0.46, 0.31–0.59 사이. 문서에 답이 있을 수 있습니다.",
        ),
        ("What somebody wrote themselves. Or not?", "What somebody wrote themselves. Or not?"),
    ],
)
def test_a_composed_text_is_translated_with_its_values(composed: str, translated: str):
    with use_language("ko"):
        assert translate_text(composed) == translated
    with use_language(ENGLISH):
        assert translate_text(composed) == composed


def test_a_download_is_in_the_language_of_the_page_that_offers_it():
    with use_language("ko"):
        make = bind_language(lambda: translate_text("Settings"))
    with use_language(ENGLISH):
        assert make() == "설정"


def test_sentences_are_joined_as_the_language_does_it():
    composed = "The application is running on this folder; nothing was changed. Stop it first."
    with use_language("zh_Hans"):
        assert translate_text(composed) == "应用正在使用此文件夹，未作任何更改。请先停止应用。"
        assert translate_text("Built-in engine. Chosen in the settings.") == "内置引擎。在设置中选择。"
    with use_language("ko"):
        assert translate_text(composed).endswith("않았습니다. 먼저 앱을 종료하세요.")
        assert format_list(["a", "b"], "and") == "a 및 b"


COMPOSED = (
    too_much_text_refusal(ParseLimits(characters=3_000)).message,
    out_of_memory_refusal().message,
    inflated_size_refusal(ParseLimits()).message,
    damaged_refusal().message,
    damaged_refusal("The PDF").message,
    *UNSUPPORTED_SIGNATURES.values(),
    describe_unread_pages(9, {"damaged content": 1, OCR_TIMED_OUT: 2, "install Tesseract or RapidOCR": 3}),
    damaged_backup_error("its database is incomplete").message,
    "2 excerpts left out: the window of 4,096 tokens is full.",
    "1 earlier message left out: the window of 4,096 tokens is full.",
    "Only the first 400 of 4,000 passages were read. Choose fewer documents.",
    "Tavily cannot be reached. Only your documents were used.",
    "nomic: in use, ollama: kept as a fallback, openai: has 3 of 1,200 passages",
    "Built-in engine. Ollama does not answer at 127.0.0.1:9, so the built-in engine answers.",
)


@pytest.mark.parametrize("language", [known for known in list_languages() if known != ENGLISH])
@pytest.mark.parametrize("composed", COMPOSED)
def test_no_part_of_a_composed_text_stays_english(composed: str, language: str):
    with use_language(language):
        assert not re.search(r"(?<![A-Za-z.])(?!token|ollama|openai|nomic)[a-z]{3}", translate_text(composed))
