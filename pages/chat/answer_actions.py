"""Actions on an answer: feedback, copy, regenerate, compare, pin, menu."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import streamlit as st

from crag.evaluation.datasets import RunPins, standalone_question, suggested_reference
from crag.inspection import run_labels
from crag.options import POLICIES, ROUTES, RunOptions
from crag.reference_systems import keep_system
from crag.runs.trace import Trace
from crag.text import sanitization
from crag.text.formatting import format_place
from crag.translation import N_, _
from crag.types import Citation, Feedback
from pages.chat import state
from pages.chat.options import open_comparison_drawer
from pages.chat.questions import regenerate_answer
from pages.parts import dialogs, external_hosts, labels, markdown, notes, pins
from pages.parts.address import open_page
from pages.parts.components import draw_copy_button
from pages.parts.layout import draw_menu
from pages.parts.routes import Page
from pages.parts.services import answering_model, application, available_models


@dataclass(frozen=True, slots=True)
class AnswerMarks:
    """What users said about the answers of a page: feedback by run id, and the runs whose answers are pinned."""

    feedback: Mapping[str, Feedback]
    pinned: frozenset[str]


def read_answer_marks(run_ids: Sequence[str]) -> AnswerMarks:
    """Return the marks of these runs, in one query of each kind."""
    services = application()
    return AnswerMarks(services.conversations.feedback_by_run(run_ids), services.datasets.pins.pinned_runs(run_ids))


COPY_DIALOG = "copy"
_COPY_HEIGHT = 360


def answer_with_sources(trace: Trace) -> str:
    """Return question, answer and numbered sources as Markdown; web sources include the address."""
    asked = "\n".join(f"> {line}".rstrip() for line in trace.question.strip().split("\n"))
    sources = "\n".join(f"[{cited.n}] {_source_line(cited)}  " for cited in trace.citations)
    return "\n\n".join(part for part in (asked, trace.text.strip(), sources) if part)


@dialogs.dialog(N_("Copy with sources"), width="large")
def draw_copy_dialog(run_id: str) -> None:
    """Draw the dialog with the text and a copy button."""
    text = answer_with_sources(application().runs.trace(run_id))
    st.code(sanitization.strip_invisible(text), language=None, wrap_lines=True, height=_COPY_HEIGHT)
    draw_copy_button(text, key="copy-with-sources")


def _source_line(cited: Citation) -> str:
    where = format_place(cited.title, cited.locator)
    return f"{where}, {cited.location}" if cited.origin == "web" else where


PIN_DIALOG = "pin an answer"
PIN_CHOICE = N_(":material/quiz: Pin as a test question")
_CHANGE_PIN_CHOICE = N_(":material/quiz: Change the test question")
_REFERENCE_LENGTH = 20_000  # characters


def _draw_pinned(run_id: str, given: Feedback | None, *, pinned: bool) -> None:
    """Draw that an answer is pinned, or the button that pins one with thumbs up."""
    if not pinned and (given is None or not given.helpful):
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if pinned:
            st.caption(_(":material/quiz: Pinned as a test question"), width="content")
        word, icon = (_("Change"), ":material/edit:") if pinned else (_("Pin as a test question"), ":material/quiz:")
        dialogs.draw_opener(word, icon, PIN_DIALOG, run_id, type="tertiary", key=f"pin-{run_id}")


def draw_pin_dialog(run_id: str) -> None:
    """Draw the dialog in which the reference answer is edited before it is pinned."""
    title = _("Test question") if pins.run_pins(run_id).answer else _("Pin as a test question")
    dialogs.dialog(title)(_draw_pin_content)(run_id)


def _draw_pin_content(run_id: str) -> None:
    trace, pinned = application().runs.trace(run_id), pins.run_pins(run_id)
    st.markdown(f"**{markdown.escape_line(standalone_question(trace), 400)}**")
    with st.form("pin", border=False):
        right = st.text_area(
            _("Right answer"),
            value=(pinned.reference if pinned.answer else suggested_reference(trace))[:_REFERENCE_LENGTH],
            height=150,
            max_chars=_REFERENCE_LENGTH,
            placeholder=_("The documents do not say") if trace.outcome == "not_answered" else "",
        )
        st.caption(_pin_hint(pinned, refused=trace.outcome == "not_answered"))
        with st.container(horizontal=True):
            keep = st.form_submit_button(_("Save") if pinned.answer else _("Pin"), icon=":material/check:")
            forget = pinned.answer and st.form_submit_button(_("Unpin"), icon=":material/close:")
    if keep or forget:
        with dialogs.catch_refusals():
            _save_pin(run_id, right or "", forget=forget)
        dialogs.close_and_rerun()


def _pin_hint(pinned: RunPins, *, refused: bool) -> str:
    if refused:
        return _("Leave it empty if declining to answer is right.")
    shorten = _("Keep only the words that make an answer right.")
    if pinned.known and not pinned.answer:
        return _("{shorten} This replaces what is pinned for this question.").format(shorten=shorten)
    return shorten


def _save_pin(run_id: str, right: str, *, forget: bool) -> None:
    pins = application().datasets.pins
    if forget:
        pins.unpin_answer(run_id)
    else:
        pins.pin_answer(run_id, right)
        st.toast(_("Pinned. Find it under “Test questions” in Evaluate."), icon=":material/quiz:")


SHARE_DIALOG = "share an answer"  # the dialog


def draw_more_menu(
    run_id: str, trace: Trace, question_id: int, marks: AnswerMarks, *, with_trace: bool = False
) -> None:
    """Draw the menu; `with_trace` adds the trace, for an answer without a button for it."""
    actions: dict[str, Callable[[], object]] = {
        N_(":material/edit: Edit question"): partial(state.start_editing, question_id)
    }
    if with_trace:
        actions[N_(":material/route: Trace")] = partial(state.open_trace, run_id)
    if trace.text:
        actions[N_(":material/content_copy: Copy with sources")] = partial(dialogs.open_dialog, COPY_DIALOG, run_id)
        actions[N_(":material/note_add: Keep as a note")] = partial(notes.keep_answer, run_id)
    pin = _CHANGE_PIN_CHOICE if run_id in marks.pinned else PIN_CHOICE
    actions |= {
        N_(":material/share: Share this answer"): partial(dialogs.open_dialog, SHARE_DIALOG, run_id),
        pin: partial(dialogs.open_dialog, PIN_DIALOG, run_id),
        N_(":material/account_tree: Open in Inspect"): partial(open_page, Page.INSPECT, run=run_id),
    }
    draw_menu(_("More"), f"more-{run_id}", actions)


REASON_DIALOG = "why"  # the dialog
_REASON_LENGTH = 500


def _draw_reason(run_id: str, given: Feedback | None) -> None:
    """Draw the user's reason for a thumbs down."""
    if given is None or given.helpful:
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        text = (
            _("You said: “{reason}”").format(reason=markdown.escape_line(given.reason, 160))
            if given.reason
            else _("You marked this as not helpful.")
        )
        st.caption(text, width="content")
        word = _("Change") if given.reason else _("Say why")
        dialogs.draw_opener(word, ":material/edit:", REASON_DIALOG, run_id, type="tertiary", key=f"why-{run_id}")


@dialogs.dialog(N_("What was wrong?"))
def draw_reason_dialog(run_id: str) -> None:
    """Draw the dialog that asks what was wrong with the answer."""
    given = application().conversations.feedback(run_id)
    with st.form("why", border=False):
        reason = st.text_area(
            _("What was wrong?"),
            value=given.reason if given else "",
            height=90,
            max_chars=_REASON_LENGTH,
            placeholder=_("For example: leaves out the second cause"),
            label_visibility="collapsed",
        )
        submitted = st.form_submit_button(_("Save"), icon=":material/check:")
    if submitted:
        with dialogs.catch_refusals():
            application().conversations.give_feedback(run_id, helpful=False, reason=reason or "")
        dialogs.close_and_rerun()


def _save_thumb(run_id: str) -> None:
    value = st.session_state[f"thumbs-{run_id}"]
    if value is None:
        application().conversations.withdraw_feedback(run_id)
        return
    application().conversations.give_feedback(run_id, bool(value))
    if value == 0:
        dialogs.open_dialog(REASON_DIALOG, run_id)


_SAME_SETTINGS = N_("Same settings")
_COMPARE_CHOICE = N_("Compare with other settings :small[:gray[both answers side by side]]")


def draw_actions(run_id: str, trace: Trace, question_id: int, marks: AnswerMarks, *, last: bool) -> None:
    """Draw a row of buttons and, below it, the user's feedback."""
    key = f"again-{run_id}"
    given = marks.feedback.get(run_id)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        default = None if given is None else int(given.helpful)
        st.feedback("thumbs", key=f"thumbs-{run_id}", default=default, on_change=_save_thumb, args=(run_id,))
        if trace.text:
            draw_copy_button(trace.text, key=f"copy-{run_id}")
        st.menu_button(
            _("Again"),
            [*regenerate_choices(trace.options), _(_COMPARE_CHOICE)],
            icon=":material/refresh:",
            type="tertiary",
            key=key,
            on_click=_regenerate_chosen,
            args=(key, run_id, trace.options),
        )
        draw_more_menu(run_id, trace, question_id, marks, with_trace=not last)
    _draw_reason(run_id, given)
    _draw_pinned(run_id, given, pinned=run_id in marks.pinned)


def regenerate_choices(options: RunOptions) -> dict[str, RunOptions]:
    """Return the choices of `Again` by menu label: same settings, other models and policies."""
    choices = {_(_SAME_SETTINGS): options}
    used = answering_model(options)
    for model in available_models():
        if model.name != used:
            choices[_("With {model}").format(model=external_hosts.model_with_host(model.name))] = replace(
                options, model=model.name, preset=keep_system(options)
            )
    for route, (label, meaning) in ROUTES.items():
        if route not in (options.route, "auto", "steps"):
            kind = _("As a {kind}").format(kind=_(label).lower())
            choices[f"{kind} {labels.grey_text(_(meaning))}"] = replace(options, route=route, preset="")
    for policy, (_label, meaning) in POLICIES.items():
        if policy != options.policy:
            choices[f"{run_labels.grading_label(policy).capitalize()} {labels.grey_text(_(meaning))}"] = replace(
                options, policy=policy, preset=""
            )
    return choices


def _regenerate_chosen(key: str, run_id: str, options: RunOptions) -> None:
    chosen = st.session_state[key]
    if chosen == _(_COMPARE_CHOICE):
        open_comparison_drawer(run_id, options)
    else:
        regenerate_answer(run_id, regenerate_choices(options)[chosen])
