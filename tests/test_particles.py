"""Korean particles follow the sound of the value before them."""

import pytest

from crag.particles import KoreanText, format_korean
from crag.translation import _, ngettext, translate_text, use_language


@pytest.mark.parametrize(
    ("value", "composed"),
    [
        ("잔금", "잔금을 잔금이 잔금은 잔금과 잔금으로 잔금이라는"),
        ("회비", "회비를 회비가 회비는 회비와 회비로 회비라는"),
        ("겨울", "겨울을 겨울이 겨울은 겨울과 겨울로 겨울이라는"),
        ("10", "10을 10이 10은 10과 10으로 10이라는"),
        ("1,205", "1,205를 1,205가 1,205는 1,205와 1,205로 1,205라는"),
        ("7", "7을 7이 7은 7과 7로 7이라는"),
        ("25%", "25%를 25%가 25%는 25%와 25%로 25%라는"),
        ("PDF", "PDF를 PDF가 PDF는 PDF와 PDF로 PDF라는"),
        ("URL", "URL을 URL이 URL은 URL과 URL로 URL이라는"),
        ("Google", "Google을 Google이 Google은 Google과 Google로 Google이라는"),
        ("Ollama", "Ollama를 Ollama가 Ollama는 Ollama와 Ollama로 Ollama라는"),
        ("notebook", "notebook을 notebook이 notebook은 notebook과 notebook으로 notebook이라는"),
        ("llama3.2:1b", "llama3.2:1b를 llama3.2:1b가 llama3.2:1b는 llama3.2:1b와 llama3.2:1b로 llama3.2:1b라는"),
        ("契約", "契約을(를) 契約이(가) 契約은(는) 契約와(과) 契約(으)로 契約(이)라는"),
    ],
)
def test_a_particle_follows_the_sound_of_the_value(value: str, composed: str):
    text = "{x}을(를) {x}이(가) {x}은(는) {x}와(과) {x}(으)로 {x}(이)라는"
    assert format_korean(text, x=value) == composed


@pytest.mark.parametrize(
    ("text", "value", "composed"),
    [
        ("“{name}”(으)로 이미 추가됨", "임대차계약서.txt", "“임대차계약서.txt”로 이미 추가됨"),
        ("**{name}**은(는)", "서식.html", "**서식.html**은"),
        ("{name}을(를)", "“규정”", "“규정”을"),
        ("{name}이(가)", "김민수 (총무부)", "김민수 (총무부)가"),
        ("{name}을(를)", "", "을(를)"),
        ("{name}에서", "을(를)", "을(를)에서"),
        ("{name} 을(를)", "잔금", "잔금 을(를)"),
        ("{count:.1f}을(를)", 2.3, "2.3을"),
    ],
)
def test_a_particle_is_chosen_right_after_a_placeholder_alone(text: str, value: object, composed: str):
    assert format_korean(text, name=value, count=value) == composed
    assert KoreanText(text).format(name=value, count=value, text="", self="") == composed


def test_texts_of_the_catalogue_choose_their_particles():
    with use_language("ko"):
        assert _("There is no model called “{name}”.").format(name="tiny") == "“tiny”라는 모델이 없습니다."
        assert translate_text("There is no model called “gemma”.") == "“gemma”라는 모델이 없습니다."
        assert translate_text("There is no model called “qwen”.") == "“qwen”이라는 모델이 없습니다."
        assert ngettext("{count} document", "{count} documents", 2).format(count=2) == "문서 2개"
