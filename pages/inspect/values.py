"""Named values of a node, drawn by type: text, passages, verdicts, strips, sentences or a prompt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from crag.events import PromptBuilt
from crag.inspection.nodes import Value
from crag.runs import Trace
from crag.types import Passage, Strip, Support, Turn, Verdict
from pages.parts import markdown, steps, words

_NAMED = {
    "Policy": lambda text: words.POLICIES[text][0],
    "Style": lambda text: words.REWRITES[text][0],
    "Grader": words.grader_label,
}
_SHORT = 120  # characters; longer text is shown below its name


def draw(value: Value, trace: Trace) -> None:
    """Draw the name of a value and its content."""
    name, content = value.name, value.content
    if isinstance(content, str):
        _text(name, content)
    elif isinstance(content, PromptBuilt):
        st.caption(f"**{name}**")
        steps.draw_prompt(trace)
    elif isinstance(content, Mapping):
        st.caption(f"**{name}**")
        _strips(content, trace)
    else:
        st.caption(f"**{name}** {len(content)}")
        _list(content, trace)


def _text(name: str, text: str) -> None:
    if name in _NAMED:
        text = _NAMED[name](text)
    if len(text) <= _SHORT and "\n" not in text:
        shown = text if name in _NAMED else markdown.label(text)
        st.markdown(f":small[:gray[**{name}**]] {shown}")
    else:
        st.caption(f"**{name}**")
        st.text(markdown.visible(text))


def _list(content: Sequence[Passage | Verdict | Support | Turn], trace: Trace) -> None:
    for rank, one in enumerate(content, start=1):
        match one:
            case Passage():
                _passage(rank, one)
            case Verdict():
                where = steps.where(trace.passages[one.passage_id])
                st.markdown(f"{words.verdict_badge(one)} {where} {words.grey(markdown.label(one.reason))}")
            case Support():
                cited = "".join(f"\\[{number}\\]" for number in one.citations)
                st.markdown(
                    f"{words.strength_badge(one.strength)} {markdown.label(one.sentence, 600)} {words.grey(cited)}"
                )
            case Turn():
                st.markdown(f":small[:gray[{one.role}]] {markdown.label(one.text, 400)}")


def _passage(rank: int, passage: Passage) -> None:
    address = f" · {markdown.label(passage.location, 160)}" if passage.origin == "web" else ""
    head = f"{rank}. {steps.where(passage)} {words.small(f'score {passage.score:.3f}{address}')}"
    with st.expander(head, type="compact"):
        st.text(markdown.visible(passage.text))


def _strips(cuts: Mapping[int, Sequence[Strip]], trace: Trace) -> None:
    for passage_id, cut in cuts.items():
        st.caption(steps.where(trace.passages[passage_id]))
        for strip in cut:
            st.markdown(f":small[{steps.strip_line(strip)}]")
