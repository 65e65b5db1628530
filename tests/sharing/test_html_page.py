"""The HTML page and Markdown of an answer, with hostile text kept in its place."""

from __future__ import annotations

from dataclasses import replace

from crag.events import AnswerWritten, EngineOpened, RunEnded, TableQueried
from crag.sharing.conversation_document import read_conversation, read_run
from crag.sharing.html_page import render_answer, render_conversation_page, render_run_page
from crag.sharing.markdown import write_markdown, write_source_item
from crag.text.sanitization import WORD_JOINER
from crag.translation import use_language
from crag.types import Citation, ModelCall, Prompt, TableResult
from tests.sharing.conftest import shown


def test_a_run_is_shown_with_its_prompts_as_they_were_sent(original):
    run, versions = read_run(original.house.database, shown(original, 1))
    call = ModelCall(
        "generate", "llama3.1:8b", 0.1, 1.9, (Prompt("system", "Use <b>only</b> {{ this }}"),), "Yes </pre>"
    )
    page = render_run_page(run, versions, [call], lambda _: False)
    assert "Use &lt;b&gt;only&lt;/b&gt; {{ this }}" in page
    assert "Yes &lt;/pre&gt;" in page
    assert "Version 3 of 3 · you left out p. 1" in page
    assert page.count("<details") == page.count("</details>")


def test_addresses_are_links_only_where_the_screen_links_them(original):
    run, versions = read_run(original.house.database, shown(original, 3))
    assert 'href="https://example.org/9"' in render_run_page(run, versions, [], lambda _: True)
    refused = render_run_page(run, versions, [], lambda _: False)
    assert 'href="https://example.org/9"' not in refused
    assert "https://example.org/9" in refused
    events = [
        replace(one, citations=tuple(replace(cited, location="https://example.org/\u200b9") for cited in one.citations))
        if isinstance(one, AnswerWritten)
        else one
        for one in run.events
    ]
    invisible = run.model_copy(update={"events": events})
    assert 'href="https:' not in render_run_page(invisible, [invisible], [], lambda _: True)


def test_answers_keep_their_formatting_and_lose_what_loads():
    links = {1: ("a1-source-1", 'A "paper" · p. 6')}
    made = render_answer("**bold** [1] [2] \\[1]\n\n```py\nx[1]\n```\n\n| a |\n|---|\n| [1] |", links)
    assert "<strong>bold</strong>" in made
    assert made.count('<a class="cite" href="#a1-source-1" title="A &#34;paper&#34; · p. 6">[1]</a>') == 2
    assert "[2] [\u20601]" in made
    assert "x[1]" in made
    for hostile in ("![x](http://c/a)", "[x](http://c/a)", "<http://c/a>", "<img src=http://c/a>", "[x]: http://c/a"):
        assert not {"<a", "<img"} & {tag for tag in ("<a", "<img") if tag in render_answer(hostile, {})}


def test_in_markdown_no_answer_swallows_what_follows(original):
    shared = read_conversation(original.house.database, original.conversation)
    run = next(one for one in shared.runs if one.id == shared.shown_messages()[1].run)
    for text in ("~~~~ text\nnot closed", "```\nnot closed\n``", "<!-- not closed", "<div>\n<pre>"):
        events = [replace(one, text=text) if isinstance(one, AnswerWritten) else one for one in run.events]
        changed = [one.model_copy(update={"events": events}) if one.id == run.id else one for one in shared.runs]
        written = write_markdown(shared.model_copy(update={"runs": changed}))
        assert headings(written) == ["What of whales?", "What of whales?", "And on the web?"], text


def test_in_markdown_titles_are_no_formatting(original):
    shared = read_conversation(original.house.database, original.conversation)
    named = shared.model_copy(update={"title": "1. *a* ![x](http://c/a) <b> www.c.de"})
    assert write_markdown(named).startswith(rf"# 1\. \*a\* !{WORD_JOINER}\[x\]{WORD_JOINER}(http:{WORD_JOINER}//c/a)")


def test_a_change_of_engine_is_said_above_the_answer(original):
    shared = read_conversation(original.house.database, original.conversation)
    opened = EngineOpened("Built-in engine", "none", reason="Ollama does not answer, so the built-in engine answers.")
    last = shared.shown_messages()[-1].run
    events = {
        one.id: [opened if isinstance(event, EngineOpened) else event for event in one.events]
        for one in shared.runs
        if one.id == last
    }
    changed = [one.model_copy(update={"events": events.get(one.id, one.events)}) for one in shared.runs]
    shared = shared.model_copy(update={"runs": changed})
    for written in (write_markdown(shared), render_conversation_page(shared, lambda _: False)):
        assert written.count(opened.reason) == 1
        assert written.index("What of whales?") < written.index(opened.reason) < written.index("fact9")


def test_a_result_of_several_cells_is_a_table(original):
    shared = read_conversation(original.house.database, original.conversation)
    last = shared.shown_messages()[-1].run

    def exports(result):
        runs = [
            one.model_copy(update={"events": [one.events[0], TableQueried(result), *one.events[1:]]})
            if one.id == last
            else one
            for one in shared.runs
        ]
        changed = shared.model_copy(update={"runs": runs})
        return write_markdown(changed), render_conversation_page(changed, lambda _: False)

    text, page = exports(TableResult("T", "SELECT", ("Site | *x*", "Sum"), (("*A* <b>", 1200), (None, 2.5)), 9, 2))
    assert "| Site \\| \\*x\\* | Sum |\n| --- | --- |\n| \\*A\\* \\<\u2060b\\> | 1200 |\n|  | 2.5 |" in text
    assert "<th>Site | *x*</th><th>Sum</th>" in page
    assert "<td>*A* &lt;b&gt;</td><td>1200</td>" in page
    assert "First 2 of 9 rows." in text
    assert "First 2 of 9 rows." in page
    text, page = exports(TableResult("T", "SELECT", ("Sum",), ((1200,),), 1, 2))
    assert "| Sum |" not in text
    assert "<th>" not in page


def test_an_answer_that_failed_says_so(original):
    shared = read_conversation(original.house.database, original.conversation)
    end = RunEnded("failed", 1.0, "The model is not available.", "Start Ollama.", "unreachable")
    failed = [one.model_copy(update={"events": [one.events[0], end], "state": "failed"}) for one in shared.runs]
    written = write_markdown(shared.model_copy(update={"runs": failed}))
    assert "*The answer failed.* The model is not available. Start Ollama." in written
    page = render_conversation_page(shared.model_copy(update={"runs": failed}), lambda _: True)
    assert "The model is not available. Start Ollama." in page
    unexplained = [one.model_copy(update={"events": [RunEnded("failed", 1.0)]}) for one in failed]
    page = render_conversation_page(shared.model_copy(update={"runs": unexplained}), lambda _: True)
    assert "The answer failed." in page


def headings(text):
    from markdown_it import MarkdownIt

    tokens = MarkdownIt("commonmark").parse(text)
    return [tokens[index + 1].content for index, token in enumerate(tokens) if token.type == "heading_open"]


def page_quoting(original, quote, row=""):
    run, _ = read_run(original.house.database, shown(original, 1))
    events = [
        replace(one, citations=tuple(replace(cited, quote=quote, row=row) for cited in one.citations))
        if isinstance(one, AnswerWritten)
        else one
        for one in run.events
    ]
    changed = run.model_copy(update={"events": events})
    return render_run_page(changed, [changed], [], lambda _: False)


def test_a_quote_that_its_passage_no_longer_holds_is_shown_alone(original):
    assert "<mark>Gone since.</mark>" in page_quoting(original, "Gone since.")


def test_a_quoted_row_is_shown_with_the_names_of_its_columns(original):
    row = "week: 12 — km: 41.5"
    assert f"<mark>{row}</mark>" in page_quoting(original, "12 | 41.5", row)
    cited = Citation(1, 1, "s1", "plan.csv", "plan.csv", None, "12 | 41.5", "library", row=row)
    assert write_source_item(cited).replace("\\", "").endswith(f"> {row}")


def test_without_a_quote_the_whole_passage_is_shown(original):
    page = page_quoting(original, "")
    assert "Passage 1" in page
    assert "<mark>" not in page


def test_a_page_is_in_the_language_of_the_user(original):
    with use_language("zh_Hant"):
        run, versions = read_run(original.house.database, shown(original, 3))
        page = render_run_page(run, versions, [], lambda _: False)
    assert '<html lang="zh-Hant">' in page
    assert ">來源</h3>" in page
    assert ">Sources<" not in page
