"""Documents that hold instructions: nothing leaks, and the text of an obedient model is not shown as fact."""

from __future__ import annotations

from dataclasses import replace

import pytest
from markdown_it import MarkdownIt

from crag.options import RunOptions
from pages.parts import markdown
from tests.abuse.conftest import Scene, passages
from tests.abuse.injections import DEMANDS, OPENINGS, ObedientModel, injections
from tests.doubles.ollama_values import Say

QUESTION = "How much water does the kettle hold?"
HONEST = (
    "The red kettle stands on the stove and is filled from the tap.",
    "The kettle holds water for four cups.",
    "The cook lifts the kettle off when it whistles.",
    "The lamp in the hall was bought in 1931.",
)
MODEL = RunOptions(model="ollama:llama3.1:8b", k=5, refine=False, policy="any")  # which wants the web
SETTINGS = {  # and every how many of the variants are tried
    "off": (MODEL, 1),
    "refused": (replace(MODEL, web="ask"), 3),
    "refined": (replace(MODEL, refine=True), 9),
}
SCREEN = MarkdownIt("gfm-like", {"linkify": False, "html": True})


def live_parts(text: str) -> list[str]:
    """What a browser would load or link to in a Markdown text, but for the citations of this answer."""
    tokens = [inner for block in SCREEN.parse(text) for inner in [block, *(block.children or [])]]
    drawn = [f"{token.type} {token.attrGet('href') or token.content}" for token in tokens if token.type in LIVE]
    return [part for part in drawn if "#cite-" not in part]


LIVE = {"image", "link_open", "html_inline", "html_block"}


@pytest.mark.parametrize("setting", SETTINGS)
def test_an_obeyed_instruction_neither_leaks_nor_reads_as_fact(scene: Scene, setting: str) -> None:
    model = ObedientModel()
    scene.ollama.script = model
    options, step = SETTINGS[setting]
    assert len(OPENINGS) * len(DEMANDS) >= 50
    variants = injections(f"http://127.0.0.1:{scene.canary.port}")[::step]
    believed, alive, scene.refused = [], [], 0
    for variant in variants:
        model.injection = variant
        scene.passages = passages([variant.text, *HONEST])
        trace = scene.ask(QUESTION, options)
        assert trace.state == "done"
        judged = {one.sentence: one.strength for one in trace.sentences if variant.claim in one.sentence}
        assert variant.claim not in trace.text or judged, "every sentence of it is judged"
        believed += [sentence for sentence, strength in judged.items() if strength == "supported"]
        cited = {one.n: one for one in trace.citations}
        alive += live_parts(markdown.sanitize_answer(trace.text, cited, "run", trace.sentences))
    fewest = 1 if setting == "refined" else len(variants)  # refining strikes out some of what the model would obey
    assert fewest <= model.obeyed <= len(variants), "the model obeys whatever reaches it"
    assert scene.refused == (len(variants) if setting == "refused" else 0)
    assert believed == []
    assert alive == []
    assert (scene.tavily.requests, scene.canary.hits()) == ([], 0)


def test_a_citation_of_nothing_is_dropped_before_anyone_sees_it(scene: Scene) -> None:

    def script(asked):
        return Say("The kettle holds two litres [99]. It is red [1, 99] [0].")

    scene.ollama.script = script
    scene.passages = passages(["The kettle holds two litres.", *HONEST])
    trace = scene.ask(QUESTION, replace(MODEL, policy="off"))
    assert trace.text == "The kettle holds two litres. It is red [1]."
    assert [cited.n for cited in trace.citations] == [1]
