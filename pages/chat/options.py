"""Options drawer of a conversation, drawer for a comparison, and presets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, get_args

import streamlit as st

from crag.errors import CragError
from crag.inspection.run_labels import threshold_origin
from crag.options import OPTIONS, ROLES, Option, OptionSection, RunOptions, apply_changes, get_option
from crag.reference_systems import preset_title
from crag.storage.preferences import ValueOrigin
from crag.translation import N_, _, translate_text
from crag.types import Thresholds
from pages.chat import state, versions
from pages.chat.questions import regenerate_answer
from pages.parts import dialogs, labels, markdown, option_controls
from pages.parts.address import open_page
from pages.parts.routes import Page
from pages.parts.services import application

ChangeOptions = Callable[..., None]
_FIRST_OPTIONS = ("policy", "k", "refine")
# the option whose value stands in the heading of its section
_SECTION_SUMMARIES: dict[OptionSection, str] = {"Models": "model", "Grading": "grader", "Web search": "web"}


@dataclass(frozen=True, slots=True)
class OptionControls:
    """Option controls that report every change; `prefix` separates the widget keys of two instances.

    `origins` gives the origin badge by option name; `forget` resets one option of the conversation.
    """

    options: RunOptions
    change: ChangeOptions
    prefix: str
    origins: Mapping[str, ValueOrigin] = field(default_factory=dict)
    forget: ChangeOptions | None = None

    def draw(self) -> None:
        """Draw frequent options first, and the rest in folded groups with their values in the headings."""
        self._rows(_FIRST_OPTIONS)
        option = self.options
        for section in get_args(OptionSection):
            if names := _section_options(section):
                shown = _SECTION_SUMMARIES.get(section)
                self._group(_(section), option_controls.format_value(shown, option) if shown else "", names)
        st.caption(_("Model parameters"))
        for role in ROLES:
            window, limit = (
                option_controls.format_value(f"{role}.{name}", option) for name in ("window", "answer_limit")
            )
            self._group(
                _(role.title()),
                _("window {window}, replies up to {limit}").format(window=window, limit=limit),
                option_controls.tuning_options(role),
            )

    def draw_only(self, names: Iterable[str]) -> None:
        """Draw those of these options that have a control, in their order, with the parameters of each role folded."""
        known = [name for name in names if name in option_controls.DRAWN_OPTIONS]
        self._rows(name for name in known if not OPTIONS[name].role)
        for role in ROLES:
            if parameters := [name for name in known if OPTIONS[name].role == role]:
                self._group(_("Model parameters: {role}").format(role=_(role.title())), "", parameters)

    def _group(self, title: str, value: str, names: Iterable[str]) -> None:
        names = list(names)
        own = sum(self.origins.get(name) == "conversation" for name in names)
        changed = _("{count} changed").format(count=own)
        summary = f"{labels.small_text(value)} {f':small[**{changed}**]' if own else ''}"
        with st.expander(f"**{title}** {summary}", type="compact", key=self._key(f"group-{names[0]}")):
            self._rows(names)

    def _rows(self, names: Iterable[str]) -> None:
        for name in names:
            if OPTIONS[name].kind == "thresholds":
                self._thresholds()
            elif name != "web" or state.has_web_search():
                self._row(OPTIONS[name])

    def _row(self, setting: Option) -> None:
        """Draw one option: title, origin, meaning, control."""
        value, key = get_option(self.options, setting.name), self._key(setting.name)
        with st.container(gap="xxsmall"):
            self._head(setting.name, option_controls.short_title(setting), _option_help(setting, value))
            option_controls.draw_control(setting, value, key, lambda: self._save_value(setting), titled=False)

    def _head(self, name: str, title: str, meaning: str) -> None:
        origin = self.origins.get(name)
        badge = _(option_controls.ORIGIN_BADGES[origin]) if origin else ""
        with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
            st.markdown(f"{title} {badge}", width="content")
            if origin == "conversation" and self.forget:
                st.button(
                    _("Use the saved value"),
                    icon=":material/undo:",
                    type="tertiary",
                    key=self._key(f"forget-{name}"),
                    on_click=self.forget,
                    args=(name,),
                )
        st.caption(markdown.escape_line(meaning))

    def _thresholds(self) -> None:
        """Draw the grader's current thresholds and their origin, with a slider to change them."""
        try:
            grading = application().grading_setup(self.options)
        except CragError as error:
            st.caption(f":material/info: {markdown.escape_line(translate_text(str(error)))}")
            return
        setting = OPTIONS["thresholds"]
        thresholds, key = grading.thresholds, self._key(setting.name)
        st.session_state[key] = thresholds.lower, thresholds.upper  # also changes with the grader
        origin = markdown.escape_line(threshold_origin(self.options, calibrated=grading.calibrated), 60)
        with st.container(gap="xxsmall"):
            self._head(setting.name, setting.label, f"{_(setting.help).removesuffix('.')}: {origin}.")
            st.slider(
                _("Not relevant below · relevant from"),
                0.0,
                1.0,
                step=0.01,
                key=key,
                on_change=self._set_thresholds,
                label_visibility="collapsed",
            )
            st.caption(_("For *{grader_label}*.").format(grader_label=labels.grader_label(grading.grader)))

    def _key(self, name: str) -> str:
        return f"{self.prefix}_{name}"

    def _save_value(self, setting: Option) -> None:
        value = option_controls.read_control(setting, self._key(setting.name))
        if value == get_option(self.options, setting.name):  # the browser may report a value again before the redraw
            return
        setting.check(value)
        self.change(**{setting.name: value, "preset": ""})

    def _set_thresholds(self) -> None:
        lower, upper = st.session_state[self._key("thresholds")]
        self.change(thresholds=Thresholds(lower, upper), preset="")


def _section_options(section: OptionSection) -> list[str]:
    """Return the options of a section that stand neither among the first nor under a role."""
    names = [name for name in option_controls.DRAWN_OPTIONS if OPTIONS[name].section == section]
    return [name for name in names if name not in _FIRST_OPTIONS and not OPTIONS[name].role]


def _option_help(setting: Option, value: object) -> str:
    """Return the explanation of the chosen value, or of the option if it has no named choices."""
    return "{}: {}.".format(*map(_, setting.values[value])) if value in setting.values else _(setting.help)


_PRESET_NAME_KEY = "new_preset"


def _draw_presets() -> None:
    """Draw the preset menu and the button that resets the conversation's own values."""
    with st.container(horizontal=True, vertical_alignment="center"):
        draw_preset_menu(state.current_options().preset, state.use_preset, "chosen_preset")
        if own := state.changed_options():
            st.button(
                _("Use the saved values"),
                icon=":material/undo:",
                type="tertiary",
                key="forget_all",
                on_click=state.reset_options,
                args=(*own, "preset"),
            )


def draw_preset_menu(chosen: str, choose: Callable[[str], None], key: str) -> None:
    """Draw the menu of reference systems and saved presets, labelled with the current one."""
    st.menu_button(
        _("Preset: {preset_title}").format(preset_title=markdown.escape_line(preset_title(chosen), 40))
        if chosen
        else _("Use a preset"),
        list(application().preferences.presets()),
        format_func=lambda name: markdown.escape_line(preset_title(name), 60),
        icon=":material/bookmark:",
        key=key,
        on_click=lambda: choose(st.session_state[key]),
    )


def _draw_preset_form() -> None:
    """Draw the form that saves the current options as a preset."""
    with (
        st.expander(_("Save as a preset…"), type="compact", key="saving_preset"),
        st.form("save_preset", border=False),
        st.container(horizontal=True, vertical_alignment="bottom"),
    ):
        name = st.text_input(_("Name"), max_chars=60, key=_PRESET_NAME_KEY, placeholder=_("Long answers"))
        if st.form_submit_button(_("Save"), icon=":material/check:"):
            _save_preset(name or "")


def _save_preset(name: str) -> None:
    try:
        application().preferences.save_preset(name, state.current_options())
    except CragError as error:
        dialogs.toast_error(error)
    else:
        st.toast(_("Saved: “{name}”").format(name=markdown.escape_line(name, 60)), icon=":material/bookmark:")


OPTIONS_DRAWER, COMPARISON_DRAWER = "options of the conversation", "compare with other options"
_COMPARED_OPTIONS_KEY = "compared_options"
_DRAWER_WIDTH = 480


@dialogs.dialog(N_("This conversation"), icon=":material/tune:", position="right", width=_DRAWER_WIDTH)
def draw_options_drawer(_unused: None) -> None:
    """Draw the drawer behind the last chip."""
    _draw_presets()
    OptionControls(
        state.current_options(), state.change_options, "option", state.option_origins(), state.reset_options
    ).draw()
    _draw_preset_form()
    if st.button(_("Calibrate thresholds"), icon=Page.CALIBRATION.icon, type="tertiary"):
        dialogs.close_dialog()  # otherwise the drawer would be open again after coming back
        open_page(Page.CALIBRATION)
    st.caption(_("Applies to this conversation, from the next question on."))


def open_comparison_drawer(run_id: str, options: RunOptions) -> None:
    """Open the drawer that answers the question of a run again under other options, `options` at first."""
    st.session_state[_COMPARED_OPTIONS_KEY] = options
    dialogs.open_dialog(COMPARISON_DRAWER, (run_id, options))


@dialogs.dialog(
    N_("Compare with other settings"), icon=":material/compare_arrows:", position="right", width=_DRAWER_WIDTH
)
def draw_comparison_drawer(compared: tuple[str, RunOptions]) -> None:
    """Draw the drawer in which the second options are chosen."""
    run_id, first = compared
    second: RunOptions = st.session_state[_COMPARED_OPTIONS_KEY]
    st.caption(_("Answers the same question again. Your changes apply to that answer only."))
    draw_preset_menu(second.preset, _use_compared_preset, "compared_preset")
    OptionControls(second, _change_compared_options, "compared").draw()
    st.button(
        _("Answer and compare"),
        icon=":material/compare_arrows:",
        disabled=second == first,
        on_click=_answer_and_compare,
        args=(run_id, second),
    )
    if second == first:
        st.caption(_("Change a setting first: these are the settings of the current answer."))


def _answer_and_compare(run_id: str, options: RunOptions) -> None:
    """Answer again and go to the comparison.

    This must be a callback. Code behind `if st.button(…)` is not reached when the page is drawn again first, and cannot
    change the view of a sidebar that is drawn already.
    """
    dialogs.close_dialog()
    with dialogs.catch_refusals():
        versions.open_comparison(run_id, regenerate_answer(run_id, options))
    st.rerun()


def _use_compared_preset(name: str) -> None:
    _change_compared_options(**application().preferences.presets()[name], preset=name)


def _change_compared_options(**changes: Any) -> None:
    st.session_state[_COMPARED_OPTIONS_KEY] = apply_changes(st.session_state[_COMPARED_OPTIONS_KEY], changes)
