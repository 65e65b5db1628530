"""Head of an evaluation: state, facts, actions, progress and export."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import streamlit as st

from crag.errors import CragError
from crag.evaluation import metrics
from crag.evaluation.evaluations import Evaluations
from crag.evaluation.exports import export_csv, export_json
from crag.evaluation.grid import find_differing_options
from crag.evaluation.html_report import export_html
from crag.evaluation.types import Cutoffs, Evaluation, EvaluationResult, Variant
from crag.models.model_choice import model_label
from crag.options import OPTIONS, RunOptions, diff_options
from crag.text.formatting import format_count, format_date_time, format_done, format_duration, format_number
from crag.translation import N_, _, join_texts, translate_text
from crag.types import Progress
from pages.evaluate import result_figures, results, selection, start, start_options
from pages.parts import dialogs, external_hosts, labels, markdown, option_controls, reruns
from pages.parts.layout import draw_file_download, draw_folded, draw_watching, progress_share
from pages.parts.services import application

_REFRESH_SECONDS = 1.0


def draw_progress(evaluation: Evaluation, variant: int) -> None:
    """Draw a fragment that reruns every second; start, first answer and end redraw the whole page."""
    draw_watching(
        _page_state(evaluation),
        lambda: _page_state(_reload(evaluation)),
        _REFRESH_SECONDS,
        lambda: _draw_progress_bar(_reload(evaluation), variant),
    )


def _reload(evaluation: Evaluation) -> Evaluation:
    return application().evaluations.get(evaluation.id)


def _page_state(evaluation: Evaluation) -> tuple[str, bool]:
    """Return what the rest of the page depends on: the state, and whether there is any answer."""
    return evaluation.state, evaluation.done > 0


def _draw_progress_bar(evaluation: Evaluation, variant: int) -> None:
    with st.container(horizontal=True, vertical_alignment="center", wrap=False):
        made_ready = application().evaluations.preparation_progress(evaluation.id)
        how_far = made_ready or Progress("", evaluation.done + evaluation.judgements, _count_steps(evaluation))
        st.progress(
            progress_share(how_far.done, how_far.total),
            text=labels.grey_text(_describe_progress(evaluation, made_ready)),
        )
        st.button(
            _("Stop"),
            icon=":material/stop:",
            key=f"stop-{evaluation.id}",
            on_click=application().evaluations.stop,
            args=(evaluation.id,),
        )
    result_figures.draw_main_figures(evaluation, variant)


def _count_steps(evaluation: Evaluation) -> int:
    """Return the number of steps: one for each answer, and one for each judgement."""
    return evaluation.total * (2 if evaluation.judge else 1)


def _describe_progress(evaluation: Evaluation, made_ready: Progress | None) -> str:
    """Return activity, progress and time left as safe Markdown."""
    if made_ready:
        stage = markdown.escape_line(translate_text(made_ready.stage))
        return f"{stage} · {format_done(made_ready.done, made_ready.total)}"
    if evaluation.state == "queued":
        return _("Waiting for the previous evaluation")
    told = [
        _("{done} of {answers}").format(
            done=format_number(evaluation.done), answers=format_count(evaluation.total, "answer")
        )
    ]
    if evaluation.judge:
        told.append(_("{count} judged").format(count=format_number(evaluation.judgements)))
    if evaluation.failed:
        told.append(_("{count} failed").format(count=format_number(evaluation.failed)))
    if evaluation.seconds_left is not None:
        told.append(_("{duration} left").format(duration=format_duration(evaluation.seconds_left)))
    return " · ".join(told)


EXPORT_DIALOG = "export an evaluation"

Exporter = Callable[[Evaluation, Sequence[EvaluationResult], Cutoffs], str]


@dialogs.dialog(N_("Export this evaluation"), icon=":material/download:")
def draw_export_dialog(evaluation_id: str) -> None:
    """Draw the export dialog; each file is made when it is downloaded."""
    evaluation = application().evaluations.get(evaluation_id)
    for name, meaning, ending, export in (
        (_("Web page"), _("figures and every answer"), "html", export_html),
        ("CSV", _("a row for each answer"), "csv", export_csv),
        ("JSON", _("summary and rows"), "json", export_json),
    ):
        make = partial(_export, export, evaluation, application().evaluations)
        draw_file_download(name, meaning, evaluation.name, ending, make, evaluation.id)
    st.caption(_("Includes questions, answers and expected answers, but no folders or keys."))
    if application().uploads.available:
        _draw_langsmith_upload(evaluation)


def _export(export: Exporter, evaluation: Evaluation, evaluations: Evaluations) -> str:
    return export(evaluation, evaluations.results(evaluation.id), evaluations.cutoffs())


def _draw_langsmith_upload(evaluation: Evaluation) -> None:
    """Draw what an upload to LangSmith would send, and the upload button."""
    uploads = application().uploads
    what = markdown.escape_line(translate_text(uploads.describe_upload(evaluation)), 600)
    st.markdown(f":orange[{external_hosts.EXTERNAL_ICON}] {what}")
    if not st.button(_("Upload to LangSmith"), icon=external_hosts.EXTERNAL_ICON):
        return
    bar = st.progress(0.0)

    def report(progress: Progress) -> None:
        bar.progress(progress_share(progress.done, progress.total), translate_text(progress.stage))

    try:
        with reruns.let_others_draw():
            address = uploads.upload(evaluation, results.load_results(evaluation), report)
    except CragError as error:
        st.error(markdown.escape_line(translate_text(str(error))), icon=":material/error:")
        return
    bar.empty()
    st.markdown(_(":green[:material/check_circle:] Uploaded:"))
    st.code(address, language=None, wrap_lines=True)


RENAME_DIALOG = "rename an evaluation"
_MAX_OTHER_EVALUATIONS = 20
_RENAME_CHOICE, _JUDGE_CHOICE, _DELETE_CHOICE = (
    N_(":material/edit: Rename"),
    N_(":material/gavel: Judge answers"),
    N_(":material/delete: Delete"),
)


def draw_evaluation_head(evaluation: Evaluation) -> None:
    """Draw the title with its buttons, then the facts."""
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.title(markdown.escape_line(evaluation.name, 120), anchor=False, width="content")
        with st.container(horizontal=True, width="content"):
            _draw_buttons(evaluation)
    variant = evaluation.variants[0]
    asked, answered_by = (
        labels.grey_text(" · ".join(_describe_questions(evaluation))),
        labels.grey_text(" · ".join(_describe_answering(evaluation))),
    )
    st.markdown(f"{labels.badge_markdown(metrics.STATE_BADGES[evaluation.state])} {asked}  \n{answered_by}")
    _draw_environment(evaluation.id, variant)
    _draw_unfinished_state(evaluation)


def _draw_environment(evaluation_id: str, variant: Variant) -> None:
    """Draw settings and environment once expanded, because the first table of a page loads slowly."""

    def draw_table() -> None:
        st.table(_environment_facts(variant), border="horizontal", width="content", alt=_("Settings and environment"))

    draw_folded(_("Settings and environment"), f"made-with-{evaluation_id}", draw_table, type="compact")


def _describe_questions(evaluation: Evaluation) -> list[str]:
    """Return dataset, sizes, start and duration as short texts."""
    told = [markdown.escape_line(translate_text(evaluation.dataset), 60), format_count(evaluation.size, "question")]
    if len(evaluation.variants) > 1:
        told.append(format_count(len(evaluation.variants), "setting"))
    if evaluation.repetitions > 1:
        told.append(format_count(evaluation.repetitions, "repetition"))
    told.append(format_date_time(evaluation.started_at))
    if evaluation.state not in results.ACTIVE_STATES:
        told.append(format_duration(evaluation.seconds))
    return told


def _describe_answering(evaluation: Evaluation) -> list[str]:
    """Return model and settings that all variants share and, once started, library and version."""
    options, made = evaluation.variants[0].options, evaluation.variants[0].environment
    differing = find_differing_options(evaluation.variants)
    model = (
        markdown.escape_line(translate_text(model_label(made.model)), 60)
        if made.version
        else option_controls.format_value("model", options)
    )
    told = [] if "model" in differing else [model]
    told += start_options.describe_options(options, differing)
    if not made.version:
        return told
    where = markdown.escape_line(options.collection, 40) or _("all documents")
    held = f"{format_count(made.documents, 'document')}, {format_count(made.passages, 'passage')}"
    version = _("version {version}").format(version=markdown.escape_line(made.version, 20))
    return [*told, f"{where}: {held}", version]


def _environment_facts(variant: Variant) -> dict[str, str]:
    """Return everything the answers depend on, by title; digests distinguish models of the same name."""
    made, options = variant.environment, variant.options
    facts = {
        _("Model"): translate_text(model_label(made.model or options.model)),
        _("Model digests"): made.fingerprint,
        _("Grader"): made.grader,
        _("Thresholds"): made.thresholds,
        _("Embedder"): made.embedder,
        _("Embeddings"): made.space,
        _("Library"): made.library,
        _("Version"): made.version,
    }
    told = {name: markdown.escape_line(value, 120) for name, value in facts.items() if value}
    changed = diff_options(RunOptions(), options)
    named = {name: OPTIONS[name].label for name in changed if name != "model" and OPTIONS[name].changes_answers}
    return {title: option_controls.format_value(name, options) for name, title in named.items()} | told


def _draw_buttons(evaluation: Evaluation) -> None:
    if evaluation.state not in results.ACTIVE_STATES:
        st.button(
            _("Run again"),
            icon=":material/replay:",
            key="evaluate-again",
            on_click=start.prefill_from_evaluation,
            args=(evaluation,),
        )
    latest = application().evaluations.list(_MAX_OTHER_EVALUATIONS + 1)
    others = [one for one in latest if one.done and one.id != evaluation.id]
    if others and evaluation.done:
        _draw_menu(
            _("Compare with"),
            "compare_arrows",
            {one.id: markdown.escape_line(results.variant_title(one, 0), 120) for one in others},
            evaluation,
            _compare_with,
        )
    key, disabled = "evaluate-export", not evaluation.done
    dialogs.draw_opener(_("Export"), ":material/download:", EXPORT_DIALOG, evaluation.id, key=key, disabled=disabled)
    _draw_menu(
        _("More"),
        "more_horiz",
        {one: one for one in (_(_RENAME_CHOICE), _(_JUDGE_CHOICE), _(_DELETE_CHOICE))},
        evaluation,
        _handle_menu_choice,
    )


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


def _compare_with(evaluation: Evaluation, other: str) -> None:
    """Compare two evaluations, with the earlier one as the baseline."""
    both = sorted((evaluation, application().evaluations.get(other)), key=lambda one: one.started_at)
    selection.select_variants([results.variant_key(one, 0) for one in both])


def _handle_menu_choice(evaluation: Evaluation, choice: str) -> None:
    if choice == _(_DELETE_CHOICE):
        dialogs.open_dialog(selection.DELETE_EVALUATIONS_DIALOG, [evaluation.id])
    else:
        dialogs.open_dialog(
            {_(_RENAME_CHOICE): RENAME_DIALOG, _(_JUDGE_CHOICE): start.JUDGE_DIALOG}[choice], evaluation.id
        )


@dialogs.dialog(N_("Rename this evaluation"), icon=":material/edit:")
def draw_rename_dialog(evaluation_id: str) -> None:
    """Draw the dialog that renames an evaluation."""
    name = application().evaluations.get(evaluation_id).name
    with st.form("rename-evaluation", border=False):
        typed = st.text_input(_("Name"), name, max_chars=120)
        if st.form_submit_button(_("Rename"), icon=":material/check:"):
            with dialogs.catch_refusals():
                application().evaluations.rename(evaluation_id, typed or "")
            dialogs.close_and_rerun()


def _draw_unfinished_state(evaluation: Evaluation) -> None:
    """Say why an ended evaluation is incomplete, and offer to resume it."""
    if evaluation.state in ("done", *results.ACTIVE_STATES):
        return
    left = format_count(evaluation.total - evaluation.done, "answer")
    said: dict[str, str] = {
        "stopped": _("Stopped by you: {left} to go.").format(left=left),
        "interrupted": _("The app closed while it ran: {left} to go.").format(left=left),
        "failed": _("{sanitize_answer} {left} to go.").format(
            sanitize_answer=markdown.sanitize_answer(evaluation.fault), left=left
        ),
    }
    kept = _("Finished answers are kept.") if evaluation.done else ""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f":orange[:material/info:] {join_texts(said[evaluation.state], kept)}", width="content")
        st.button(
            _("Resume"),
            icon=":material/play_arrow:",
            key="evaluate-resume",
            on_click=_resume_evaluation,
            args=(evaluation.id,),
        )


def _resume_evaluation(evaluation_id: str) -> None:
    application().evaluations.resume(evaluation_id)
    selection.open_evaluation(evaluation_id)
