"""The controls of what a question runs under: for a conversation, and for the second settings of a comparison."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import streamlit as st

from crag.errors import CragError
from crag.options import RunOptions, Thresholds
from pages.parts import markdown, words
from pages.parts.resources import application, models

Change = Callable[..., None]
_K = (1, 20)
_SAME_MODEL = "The one that answers"


@dataclass(frozen=True, slots=True)
class Controls:
    """Draws options and hands every change on; `prefix` keeps the keys of two drawings apart."""

    options: RunOptions
    change: Change
    prefix: str

    def draw(self) -> None:
        """What is often changed first; how passages are judged, and how the web is asked, folded."""
        self._choose("policy", "Policy", words.POLICIES)
        st.slider(
            "Passages to grade (k)", *_K, value=self.options.k, key=self._key("k"), on_change=self._take, args=("k",)
        )
        self._switch("refine", "Refine knowledge", "Passages are cut into strips; only those that help are used.")
        grader = words.GRADERS[self.options.grader][0]
        with st.expander(f"Grading: {grader.lower()}", type="compact", key=self._key("grading")):
            self._choose("grader", "Grader", words.GRADERS)
            self._grader_model()
            self._thresholds()
        rewrite = words.REWRITES[self.options.rewrite][0].lower()
        with st.expander(f"Query for the web: {rewrite}", type="compact", key=self._key("query")):
            self._choose("rewrite", "Rewritten as", words.REWRITES)
            self._switch("fetch_pages", "Read whole pages", "The pages that were found are fetched, not only quoted.")

    def _choose(self, name: str, title: str, known: dict[Any, tuple[str, str]]) -> None:
        """One of several, each with a line on what it means."""
        values = list(known)
        st.radio(
            title,
            values,
            index=values.index(getattr(self.options, name)),
            format_func=lambda value: known[value][0],
            captions=[known[value][1] for value in values],
            key=self._key(name),
            on_change=self._take,
            args=(name,),
        )

    def _switch(self, name: str, title: str, meaning: str) -> None:
        st.toggle(
            title,
            value=getattr(self.options, name),
            help=meaning,
            key=self._key(name),
            on_change=self._take,
            args=(name,),
        )

    def _grader_model(self) -> None:
        known = {model.name: model.label for model in models() if not model.builtin}
        chosen = self.options.grader_model
        names = list(dict.fromkeys(["", *known, chosen]))
        if len(names) < 2 or self.options.grader == "builtin":
            return
        st.selectbox(
            "Grader's model",
            names,
            index=names.index(chosen),
            format_func=lambda name: known.get(name, name) or _SAME_MODEL,
            key=self._key("grader_model"),
            on_change=self._take,
            args=("grader_model",),
        )

    def _thresholds(self) -> None:
        """Where scores turn into words: what holds now and why, and other values for this conversation."""
        try:
            judging = application().judging(self.options)
        except CragError as error:
            st.caption(f":material/info: {markdown.label(str(error))}")
            return
        held, key = judging.thresholds, self._key("thresholds")
        st.session_state[key] = held.lower, held.upper  # they change with the grader, too
        st.slider(
            "Irrelevant below · relevant from",
            0.0,
            1.0,
            step=0.01,
            key=key,
            on_change=self._set_thresholds,
        )
        origin = words.threshold_origin(self.options, calibrated=judging.calibrated)
        st.caption(f"Thresholds for *{words.grader_label(judging.grader)}*: {origin}.")
        if self.options.thresholds is not None:
            self._back_to_automatic()

    def _back_to_automatic(self) -> None:
        st.button(
            "Back to automatic thresholds",
            icon=":material/undo:",
            type="tertiary",
            key=self._key("automatic"),
            on_click=self.change,
            kwargs={"thresholds": None},
        )

    def _key(self, name: str) -> str:
        return f"{self.prefix}_{name}"

    def _take(self, name: str) -> None:
        self.change(**{name: st.session_state[self._key(name)]}, preset="")

    def _set_thresholds(self) -> None:
        lower, upper = st.session_state[self._key("thresholds")]
        self.change(thresholds=Thresholds(lower, upper), preset="")
