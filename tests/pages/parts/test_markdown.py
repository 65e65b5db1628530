"""Untrusted text escaped for Streamlit's Markdown; tests/e2e shows what the browser makes of it."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from crag.text import sanitization
from crag.text.sanitization import WORD_JOINER
from crag.types import Citation, Support
from pages.parts import markdown

CITED = {1: Citation(1, 7, "s", 'Say "hi" [x](y)', "a.pdf", 6, "", "library")}


def without_own_links(drawn: str) -> str:
    return re.sub(r'\[\\\[1\\\]\]\(#cite-run-1 "(?:[^"\\]|\\.)*"\)', "<own>", drawn).replace("<own>", "(own)")


def seen(text: str) -> str:
    """What a person reads: no escapes, no joiners."""
    return re.sub(r"\\(?=[\W_])", "", text).replace(WORD_JOINER, "")


@pytest.mark.parametrize(
    "text",
    [
        "Annual report 2025.pdf",
        "<img src=x onerror=1>.pdf",
        "https://example.com/a and www.example.com and a@b.example",
        ":red[loud] :material/home: :streamlit: :smile:",
        "**bold** _it_ `code` ~~gone~~ # head $x^2$ [a](b) ![a](b) | a | b",
        "a -> b <- c -- d >= e != f ... 1. first",
        "&#58;streamlit&#58; &lt;b&gt;",
        "{user} %s {{7*7}}",
        "가을 세미나 발표 자료.txt",
    ],
)
def test_a_label_says_what_the_text_says(text):
    assert seen(markdown.escape_line(text)) == text


@pytest.mark.parametrize(
    "live",
    ["http://x", "https://x", "HTTP://x", "ftp://x", "www.x", "WWW.x", "a@b.c", ":red[x]", ":material/x:", ":a:"],
)
def test_a_label_is_dead(live):
    drawn = markdown.escape_line(f"see {live} here")
    assert live not in drawn
    assert not re.search(r":(?=[a-z/])|@(?!\u2060)|www\.", drawn, re.IGNORECASE)
    passage = markdown.escape_passage(f"see {live}\na | {live}\nb | {live}:so", live, ":gray[{}]")
    assert live not in re.sub(r":(?:gray|yellow-background)\[", "", passage)


def test_a_label_is_one_short_visible_line():
    assert markdown.escape_line("a\nb\t c\x00\x1b[0m\u202e\u200b\U000e0041") == r"a b c\[0m"
    assert len(markdown.escape_line("x" * 5000, 50)) == 50
    assert sanitization.strip_invisible("e" + "\u0301" * 100) == "e" + "\u0301" * 4
    assert sanitization.strip_invisible("می‌خواهم") == "می‌خواهم"


@pytest.mark.parametrize(("title", "shown"), [("Report", "Report"), ("\u200b\u202e", "Untitled")])
def test_a_dialog_always_has_a_title(title, shown):
    assert markdown.escape_title(title) == shown


def test_a_long_title_keeps_its_end_and_its_page():
    shown = markdown.escape_place(f"Annual report {'of everything ' * 20}second half", "p. 12", 60).replace("\\", "")
    assert shown.startswith("Annual report")
    assert shown.endswith("second half · p. 12")
    assert len(shown) <= 60


def test_a_long_location_leaves_room_for_the_title():
    shown = markdown.escape_place("protocol-2024.txt", "“Filters of unit 92 are replaced after 4 litres.”", 32)
    assert shown.replace("\\", "") == "protoc…24.txt · “Filters of uni…"


def test_a_question_keeps_its_lines():
    assert markdown.escape_paragraphs("one\n# two\n- three") == "one  \n\\# two  \n\\- three"


def test_citations_become_links_and_nothing_else_does():
    drawn = markdown.sanitize_answer("So it is [1], but not [9] or \\[1].", CITED, "run")
    assert '[\\[1\\]](#cite-run-1 "' in drawn
    assert "[9]" in drawn
    assert drawn.count("](#") == 1
    assert '\\"hi\\" \\[x\\]\\(y\\) · p\\. 6 · a\\.pdf"' in drawn.replace(WORD_JOINER, "")


def test_each_sentence_links_to_its_own_quote_of_a_source():
    text = "Cats purr [1]. Do they [1]? **Cats** sleep *long* [1]."
    said = [Support("Cats purr [1].", "supported", (1,)), Support("**Cats** sleep *long* [1].", "weak", (1,))]
    cited = [[replace(CITED[1], page=page, quote=f"Quote {page}.")] for page in (3, 4)]
    drawn = markdown.sanitize_answer(text, CITED, "run", said, cited).replace(WORD_JOINER, "").replace("\\", "")
    assert re.findall(r"#cite-run-(\S+) ", drawn) == ["1.0", "1", "1.1"]
    assert re.findall(r"· p. (\d)", drawn) == ["3", "6", "4"]


@pytest.mark.parametrize(
    "hostile",
    [
        "![x](http://canary/a)",
        "![x][1]\n\n[1]: http://canary/a",
        "[x]\\(http://canary/a)",
        "[text](javascript:alert(1))",
        "<http://canary/a>",
        "<img src='http://canary/a'>",
        "http\\://canary/a and http&#58;//canary/a",
        "www\\.canary.test",
        "mail a\\@canary.test",
        "[^1]: http://canary/a",
        "[1]: http://canary/a",
        "![[1]](http://canary/a)",
        "Wow![1]",
        "`code` ![x](http://canary/a) `",
        "```\n![x](http://canary/a)",
        ":red[x] :material/home:",
    ],
)
@pytest.mark.parametrize("citations", [{}, CITED])
def test_what_a_model_writes_is_dead(hostile, citations):
    drawn = markdown.sanitize_answer(hostile, citations, "run")
    own = without_own_links(drawn)
    assert not re.search(r"\](?=\\*[(:])", own)
    assert not re.search(r"(?i)https?:(?!\u2060)", own)
    assert not re.search(r"<(?=[A-Za-z/!])", own)
    assert not re.search(r":(?=[a-z])", own.replace(f":{WORD_JOINER}", ""))
    assert not re.search(r"&(?=[#a-z])", own)
    assert not re.search(r"!\\*\[", drawn)


def test_half_an_answer_is_as_dead_as_a_whole_one():
    text = "See [1] ![x](http://canary/a) and [b](http://canary/b) <img src=http://canary/c> :red[x] $y$ [1]: http://d"
    for end in range(len(text)):
        own = without_own_links(markdown.sanitize_answer(text[:end], CITED, "run"))
        assert not re.search(r"\](?=\\*[(:])|https?:(?!\u2060|$)|<(?=[a-z])", own)


def test_formatting_survives():
    text = "# Title\n\n- **bold** and *slanted*\n\n| a | b |\n|:--|:-:|\n| 1 | 2 |\n\n```python\nx = a < b\n```"
    assert markdown.sanitize_answer(text) == text
    assert markdown.sanitize_answer("It costs $5 or $6.") == r"It costs \$5 or \$6."
    assert markdown.sanitize_answer("09:00~14:00, 14:00~18:00") == r"09:00\~14:00, 14:00\~18:00"


def test_a_sentence_without_support_is_marked():
    said = [Support("It is so.", "unsupported"), Support("It is not.", "weak"), Support("It may be.", "supported")]
    drawn = markdown.sanitize_answer("It is  so. It is not. It may be.", {}, "", said)
    bare, weak = ":orange-badge[:material/link_off: no source]", ":gray-badge[:material/contrast: weak source]"
    assert drawn == f"It is  so. {bare} It is not. {weak} It may be."


def test_a_row_without_support_is_marked_inside_its_last_cell():
    drawn = markdown.sanitize_answer("| a | b |\n|---|---|\n| 1 | 2 |", {}, "", [Support("| 1 | 2 |", "unsupported")])
    assert drawn == "| a | b |\n|---|---|\n| 1 | 2 :orange-badge[:material/link_off: no source] |"


@pytest.mark.parametrize("text", [":red[hot]", r"\:red[hot]", r"\\:red[hot]"])
def test_what_looks_like_a_directive_keeps_its_label(text):
    drawn = markdown.sanitize_answer(text)
    before = drawn[: drawn.index(":")]
    assert (len(before) - len(before.rstrip("\\"))) % 2 == 1  # an escaped colon begins nothing
    assert "[hot]" in drawn


def test_a_citation_shows_the_quote_of_its_sentence_where_there_is_one():
    cited = replace(CITED[1], quote="of all")
    sentences = [Support("[1]", "supported", (1,)), Support("Dogs bark [1].", "supported", (1,))]
    own = [[replace(cited, quote="of nothing")], [replace(cited, quote="of dogs")]]
    assert "“of all”" in markdown.sanitize_answer("Dogs bark [1].", {1: cited}, "run", sentences)
    drawn = markdown.sanitize_answer("Cats purr [1]. Dogs bark [1].", {1: cited}, "run", sentences, own)
    assert re.findall("“(.*?)”", drawn) == ["of all", "of dogs"]


def test_a_highlighted_line_of_a_passage_stays_a_line():
    passage = "Offices\n- Code 660: Astro\n- Code 670: Helio\n- Code 690: Solar\n\nThe end. Really."
    drawn = seen(markdown.escape_passage(passage, "- Code 670: Helio"))
    highlighted = passage.replace("- Code 670: Helio", ":yellow-background[- Code 670: Helio]")
    assert drawn == highlighted.replace("\n", "  \n")
    assert seen(markdown.escape_passage(passage, "The end.")).endswith(":yellow-background[The end.] Really.")
    assert seen(markdown.escape_passage("先說。然後。", "先說。")) == ":yellow-background[先說。]然後。"


def test_a_highlight_behind_a_colon_is_one():
    drawn = markdown.escape_passage("Contact:desk", "desk")
    assert drawn == f"Contact:{WORD_JOINER}:yellow-background[desk]"


def test_the_highlight_of_two_lines_is_two_highlights():
    drawn = markdown.escape_passage("One\nTwo\nThree", "One\nTwo")
    assert drawn == ":yellow-background[One]  \n:yellow-background[Two]  \nThree"
    assert markdown.escape_passage("One\nTwo\nThree", "One Two") == drawn, "a quote is one line"


def test_rows_of_a_passage_are_a_table():
    passage = "Sales\nArea | 2022 | 2023\nWater | 1706 | a*b\nMilk | 5418\nThe end"
    assert seen(markdown.escape_passage(passage, "Water | 1706 | a*b", style=":gray[{}]")).split("\n") == [
        ":gray[Sales]",
        "",
        "| :gray[Area] | :gray[2022] | :gray[2023] |",
        "| --- | --- | --- |",
        "| :yellow-background[Water] | :yellow-background[1706] | :yellow-background[a*b] |",
        "| :gray[Milk] | :gray[5418] |  |",
        "",
        ":gray[The end]",
    ]
    below = markdown.escape_passage("a1 | 1\n| b | 2 |", columns="Name | Cost")
    assert below.split("\n")[0] == "| Name | Cost |"
    assert markdown.escape_passage("a1 | 1", columns="Name | Cost").split("\n") == [
        "| Name | Cost |",
        "| --- | --- |",
        "| a1 | 1 |",
    ]
    assert markdown.escape_passage("a1 | 1", columns="Name") == r"a1 \| 1"
    assert markdown.escape_passage("a1 | 1\n| b | 2 |", columns="Name").split("\n")[0] == "|  |  |"
    assert markdown.escape_passage("a1 | 1\n| b | 2 |").split("\n") == [
        "|  |  |",
        "| --- | --- |",
        "| a1 | 1 |",
        "| b | 2 |",
    ]
