"""Head of an evaluation: name, state, settings, environment and actions."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from crag.evaluate import signs
from crag.evaluate.values import Evaluation, Variant
from crag.evaluate.varying import settings_that_differ
from crag.models.choice import model_label
from crag.moments import day_and_minute
from crag.options import RunOptions, changes_between
from crag.preferences import CATALOG
from pages.evaluate import chosen, earlier, judging
from pages.evaluate.comparison import sides
from pages.evaluate.result import exporting, progress
from pages.evaluate.start import setting_up, starting
from pages.parts import dialogs, markdown, refusals, settings, words
from pages.parts.folding import draw_folded
from pages.parts.person import person
from pages.parts.resources import application

RENAME = "rename an evaluation"
_OTHERS = 20
_RENAME, _JUDGE, _DELETE = ":material/edit: Rename", ":material/gavel: Have it judged", ":material/delete: Delete"


def draw(evaluation: Evaluation) -> None:
    """Draw the title with its buttons, then the facts."""
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.title(markdown.label(evaluation.name, 120), anchor=False, width="content")
        with st.container(horizontal=True, width="content"):
            _draw_buttons(evaluation)
    variant = evaluation.variants[0]
    asked, answered_by = words.grey(" · ".join(_asked(evaluation))), words.grey(" · ".join(_answered_by(evaluation)))
    st.markdown(f"{words.badge(signs.STATES[evaluation.state])} {asked}  \n{answered_by}")
    _draw_environment(evaluation.id, variant)
    _tell_state(evaluation)


def _draw_environment(evaluation_id: str, variant: Variant) -> None:
    """Draw settings and environment once expanded, because the first table of a page loads slowly."""

    def draw_table() -> None:
        st.table(_environment(variant), border="horizontal", width="content", alt="What the answers were made with")

    draw_folded("Settings and environment", f"made-with-{evaluation_id}", draw_table, type="compact")


def _asked(evaluation: Evaluation) -> list[str]:
    """Return dataset, sizes, start and duration as short texts."""
    told = [markdown.label(evaluation.dataset, 60), words.count(evaluation.size, "question")]
    if len(evaluation.variants) > 1:
        told.append(words.count(len(evaluation.variants), "setting"))
    if evaluation.repetitions > 1:
        told.append(words.count(evaluation.repetitions, "repetition"))
    told.append(day_and_minute(evaluation.started_at))
    if evaluation.state not in progress.MOVING:
        told.append(words.duration(evaluation.seconds))
    return told


def _answered_by(evaluation: Evaluation) -> list[str]:
    """Return model and settings that all variants share and, once started, library and version."""
    options, made = evaluation.variants[0].options, evaluation.variants[0].environment
    differing = settings_that_differ(evaluation.variants)
    model = markdown.label(model_label(made.model), 60) if made.version else settings.value_word("model", options)
    told = [] if "model" in differing else [model]
    told += setting_up.in_words(options, differing)
    if not made.version:
        return told
    where = markdown.label(options.collection, 40) or "all documents"
    held = f"{words.count(made.documents, 'document')}, {words.count(made.passages, 'passage')}"
    return [*told, f"{where}: {held}", f"version {markdown.label(made.version, 20)}"]


def _environment(variant: Variant) -> dict[str, str]:
    """Return everything the answers depend on, by title; digests distinguish models of the same name."""
    made, options = variant.environment, variant.options
    facts = {
        "Model": model_label(made.model or options.model),
        "Digests of the models": made.fingerprint,
        "Grader": made.grader,
        "Thresholds": made.thresholds,
        "Embedder": made.embedder,
        "Space of the vectors": made.space,
        "Library": made.library,
        "Version": made.version,
    }
    told = {name: markdown.label(value, 120) for name, value in facts.items() if value}
    changed = changes_between(RunOptions(), options)
    named = {name: CATALOG[name].title for name in changed if name in CATALOG and name != "model"}
    return told | {title: settings.value_word(name, options) for name, title in named.items()}


def _draw_buttons(evaluation: Evaluation) -> None:
    if evaluation.state not in progress.MOVING:
        st.button(
            "Run again", icon=":material/replay:", key="evaluate-again", on_click=starting.again, args=(evaluation,)
        )
    latest = application().evaluations.list(person(), _OTHERS + 1)
    others = [one for one in latest if one.done and one.id != evaluation.id]
    if others and evaluation.done:
        _draw_menu("Compare with", "compare_arrows", {one.id: _named(one) for one in others}, evaluation, _compare)
    st.button(
        "Export",
        icon=":material/download:",
        key="evaluate-export",
        disabled=not evaluation.done,
        on_click=dialogs.ask,
        args=(exporting.EXPORT, evaluation.id),
    )
    _draw_menu("More", "more_horiz", {one: one for one in (_RENAME, _JUDGE, _DELETE)}, evaluation, _do)


def _draw_menu(
    label: str, icon: str, choices: dict[str, str], evaluation: Evaluation, on_choice: Callable[[Evaluation, str], None]
) -> None:
    key = f"evaluate-menu-{icon}"
    st.menu_button(
        label,
        list(choices),
        format_func=choices.__getitem__,
        icon=f":material/{icon}:",
        key=key,
        on_click=lambda: on_choice(evaluation, st.session_state[key]),
    )


def _named(one: Evaluation) -> str:
    return f"{markdown.label(one.name, 60)} {words.grey(day_and_minute(one.started_at))}"


def _compare(evaluation: Evaluation, other: str) -> None:
    """Compare two evaluations, with the earlier one as the baseline."""
    both = sorted((evaluation, application().evaluations.get(other, person())), key=lambda one: one.started_at)
    sides.choose([f"{one.id}.0" for one in both])


def _do(evaluation: Evaluation, choice: str) -> None:
    if choice == _DELETE:
        dialogs.ask(earlier.DELETE, [evaluation.id])
    else:
        dialogs.ask({_RENAME: RENAME, _JUDGE: judging.JUDGE}[choice], evaluation.id)


def draw_rename(evaluation_id: str) -> None:
    """Draw the dialog that renames an evaluation."""
    st.dialog("Rename this evaluation", icon=":material/edit:", on_dismiss=dialogs.close)(_rename)(evaluation_id)


def _rename(evaluation_id: str) -> None:
    name = application().evaluations.get(evaluation_id, person()).name
    with st.form("rename-evaluation", border=False):
        typed = st.text_input("Name", name, max_chars=120)
        if st.form_submit_button("Rename", icon=":material/check:"):
            with refusals.kept():
                application().evaluations.rename(evaluation_id, typed or "")
            dialogs.close_and_redraw()


def _tell_state(evaluation: Evaluation) -> None:
    """Say why an ended evaluation is incomplete, and offer to resume it."""
    if evaluation.state in ("done", *progress.MOVING):
        return
    left = words.count(evaluation.total - evaluation.done, "answer")
    said: dict[str, str] = {
        "stopped": f"Stopped by you: {left} to go.",
        "interrupted": f"The application was closed while it ran: {left} to go.",
        "failed": f"{markdown.answer(evaluation.fault)} {left} to go.",
    }
    kept = " What is there is kept." if evaluation.done else ""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f":orange[:material/info:] {said[evaluation.state]}{kept}", width="content")
        st.button(
            "Resume", icon=":material/play_arrow:", key="evaluate-resume", on_click=_resume, args=(evaluation.id,)
        )


def _resume(evaluation_id: str) -> None:
    with refusals.kept():
        application().evaluations.resume(evaluation_id)
    chosen.open_evaluation(evaluation_id)
