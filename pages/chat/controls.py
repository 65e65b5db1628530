"""Controls for run options: of a conversation, and of the second run of a comparison."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import streamlit as st

from crag.errors import CragError
from crag.options import RunOptions, Thresholds, value_of
from crag.preferences import CATALOG, Setting, ValueOrigin
from crag.preferences.catalog import Section
from pages.chat import state
from pages.parts import markdown, settings, words
from pages.parts.resources import application

Change = Callable[..., None]
THRESHOLDS = "thresholds"
_FIRST = ("policy", "k", "refine")


@dataclass(frozen=True, slots=True)
class Controls:
    """Option controls that report every change; `prefix` separates the widget keys of two instances.

    `origins` gives the origin badge by option name; `forget` resets one option of the conversation.
    """

    options: RunOptions
    change: Change
    prefix: str
    origins: Mapping[str, ValueOrigin] = field(default_factory=dict)
    forget: Change | None = None

    def draw(self) -> None:
        """Draw frequent options first, and the rest in folded groups with their values in the headings."""
        self._rows(_FIRST)
        option = self.options
        self._group("Models", settings.value_word("model", option), _names("Models"))
        self._group("Grading", settings.value_word("grader", option), (*_names("Grading"), THRESHOLDS))
        self._group("Web search", settings.value_word("web", option), _names("Web search"))
        self._group("Answers", "", _names("Answers"))
        st.caption("Fine-tuning")
        for role, title in words.ROLES.items():
            window, limit = (settings.value_word(f"{role}.{name}", option) for name in ("window", "answer_limit"))
            self._group(title, f"window {window}, replies up to {limit} tokens", settings.tuning_of(role))

    def draw_only(self, names: Iterable[str]) -> None:
        """Draw only these options, in their order, with tuning options folded."""
        known = [name for name in names if name in CATALOG or name == THRESHOLDS]
        tuning = [name for name in known if "." in name]
        self._rows(name for name in known if name not in tuning)
        if tuning:
            self._group("Fine-tuning", "", tuning)

    def _group(self, title: str, value: str, names: Iterable[str]) -> None:
        names = list(names)
        own = sum(self.origins.get(name) == "conversation" for name in names)
        summary = f"{words.small(value)} {f':small[**{own} changed**]' if own else ''}"
        with st.expander(f"{title} {summary}", type="compact", key=self._key(f"group-{names[0]}")):
            self._rows(names)

    def _rows(self, names: Iterable[str]) -> None:
        for name in names:
            if name == THRESHOLDS:
                self._thresholds()
            elif name != "web" or state.web_is_there():
                self._row(CATALOG[name])

    def _row(self, setting: Setting) -> None:
        """Draw one option: title, origin, meaning, control."""
        value, key = value_of(self.options, setting.name), self._key(setting.name)
        with st.container(gap="xxsmall"):
            self._head(setting.name, settings.short_title(setting), _meaning(setting, value))
            settings.control(setting, value, key, lambda: self._take(setting), titled=False)

    def _head(self, name: str, title: str, meaning: str) -> None:
        origin = self.origins.get(name)
        badge = settings.ORIGINS[origin] if origin else ""
        with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
            st.markdown(f"{title} {badge}", width="content")
            if origin == "conversation" and self.forget:
                st.button(
                    "Back to the home's value",
                    icon=":material/undo:",
                    type="tertiary",
                    key=self._key(f"forget-{name}"),
                    on_click=self.forget,
                    args=(name,),
                )
        st.caption(markdown.label(meaning))

    def _thresholds(self) -> None:
        """Draw the grader's current thresholds and their origin, with a slider to change them."""
        try:
            judging = application().judging(self.options)
        except CragError as error:
            st.caption(f":material/info: {markdown.label(str(error))}")
            return
        thresholds, key = judging.thresholds, self._key(THRESHOLDS)
        st.session_state[key] = thresholds.lower, thresholds.upper  # also changes with the grader
        origin = words.threshold_origin(self.options, calibrated=judging.calibrated)
        with st.container(gap="xxsmall"):
            self._head(THRESHOLDS, "Thresholds", f"Irrelevant below the first, relevant from the second: {origin}.")
            st.slider(
                "Irrelevant below · relevant from",
                0.0,
                1.0,
                step=0.01,
                key=key,
                on_change=self._set_thresholds,
                label_visibility="collapsed",
            )
            st.caption(f"For *{words.grader_label(judging.grader)}*.")

    def _key(self, name: str) -> str:
        return f"{self.prefix}_{name}"

    def _take(self, setting: Setting) -> None:
        value = settings.taken(setting, self._key(setting.name))
        if value == value_of(self.options, setting.name):  # the browser may report a value again before the redraw
            return
        try:
            setting.check(value)
        except CragError as error:
            st.toast(markdown.label(str(error)), icon=":material/error:")
        else:
            self.change(**{setting.name: value, "preset": ""})

    def _set_thresholds(self) -> None:
        lower, upper = st.session_state[self._key(THRESHOLDS)]
        self.change(thresholds=Thresholds(lower, upper), preset="")


def _names(section: Section) -> list[str]:
    return [name for name, setting in CATALOG.items() if setting.section == section and name not in _FIRST]


def _meaning(setting: Setting, value: object) -> str:
    """Return the meaning of the chosen value, or of the option if it has no named choices."""
    chosen = settings.CHOICES.get(setting.name, {}).get(value)
    return f"{chosen[0]}: {chosen[1]}." if chosen else setting.meaning
