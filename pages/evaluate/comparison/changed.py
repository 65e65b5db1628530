"""Questions with another result: broken and mended, with both answers and links to both runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from crag.evaluate.datasets.examples import Example
from crag.evaluate.figures.comparison import Comparison
from crag.evaluate.values import ChangedExample, Result
from pages.chat.versions import open_comparison
from pages.evaluate import chosen
from pages.evaluate.comparison.sides import Side
from pages.parts import markdown, words

_FEW = 10
_TITLES = {"broken": "What broke", "mended": "What was mended"}
_ICONS = {"broken": ":red[:material/cancel:]", "mended": ":green[:material/check_circle:]"}

Names = tuple[str, str]


def draw(both: tuple[Side, Side], names: Names, comparison: Comparison) -> None:
    """Draw broken and mended questions in two columns; runs as a fragment."""
    runs = {result.run_id: result for side in both for result in side.results}
    for column, (kind, title) in zip(st.columns(2, gap="medium"), _TITLES.items(), strict=True):
        found = [one for one in comparison.changed if one.what == kind]
        with column:
            st.header(f"{title}: {len(found):,} of {comparison.examples:,} questions", anchor=False)
            _draw_kind(kind, found, names, runs)


def _draw_kind(kind: str, found: Sequence[ChangedExample], names: Names, runs: Mapping[str, Result]) -> None:
    if not found:
        st.caption("None.")
    shown = found if st.session_state.get(_all_key(kind)) else found[:_FEW]
    for one in shown:
        _draw_example(kind, one, names, runs)
    if len(shown) < len(found):
        st.button(
            f"Show all {len(found):,}", icon=":material/expand_more:", type="tertiary", on_click=_show_all, args=(kind,)
        )


def _draw_example(kind: str, one: ChangedExample, names: Names, runs: Mapping[str, Result]) -> None:
    """Draw the question, both answers, the expected answer and the three links."""
    with st.container(border=True, gap="small"):
        st.markdown(f"{_ICONS[kind]} **{markdown.label(one.example.question, 200)}**{_shares(one)}")
        for name, run_id in zip(names, (one.before_run, one.after_run), strict=True):
            st.markdown(f":small[:gray[{name}] {_answer(runs.get(run_id))}]")
        if expected := _expected(one.example):
            st.markdown(f":small[:gray[Right] {expected}]")
        with st.container(horizontal=True, gap="small"):
            for name, run_id in zip(names, (one.before_run, one.after_run), strict=True):
                if _button(f"Trace of {name}", ":material/account_tree:", f"{one.example.key}-{run_id}"):
                    chosen.lay_open(run_id)
            if _button("Compare both", ":material/compare_arrows:", f"{one.example.key}-both"):
                open_comparison(one.before_run, one.after_run)


def _button(word: str, icon: str, key: str) -> bool:
    return st.button(word, icon=icon, type="tertiary", key=f"changed-{key}")


def _shares(one: ChangedExample) -> str:
    """Return the shares of right repetitions; empty if all were right or all wrong."""
    if {one.before, one.after} <= {0.0, 1.0}:
        return ""
    return f" {words.grey(f'right in {one.before:.0%} of the answers before, {one.after:.0%} after')}"


def _expected(example: Example) -> str:
    if example.answerable is False:
        return "to say that the documents do not answer this"
    if known := example.references or example.must_mention:
        return markdown.label(" or ".join(known), 160)
    passages = " and ".join((*example.sources, *example.phrases))
    return f"to find: {markdown.label(passages, 160)}" if passages else ""


def _answer(result: Result | None) -> str:
    if result is None:
        return "–"
    if result.state != "done":
        return f"failed: {markdown.label(result.error, 160)}"
    return "refused" if result.scored.outcome == "not_answered" else markdown.label(result.scored.answer, 200)


def _all_key(kind: str) -> str:
    return f"all-{kind}"


def _show_all(kind: str) -> None:
    st.session_state[_all_key(kind)] = True
