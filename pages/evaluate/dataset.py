"""Dataset dialogs: view, upload, rename and delete a dataset."""

from __future__ import annotations

from functools import partial
from pathlib import PurePath
from typing import Any

import streamlit as st

from crag.errors import CragError
from crag.evaluation.types import Dataset, Example
from crag.text import sanitization
from crag.text.formatting import export_file_name, format_count
from crag.translation import N_, _, translate_text
from pages.evaluate import results, start
from pages.parts import dialogs, layout, markdown
from pages.parts.services import application

DATASET_DIALOG, UPLOAD_DIALOG, DELETE_DATASET_DIALOG = "look into a dataset", "upload a dataset", "delete a dataset"
_DRAWER_WIDTH = 860
_VISIBLE_ROWS = 14
_REMOVE_LABEL = N_(":material/delete: Remove this question")
_EXAMPLE = """{"question": "When is the boiler serviced?", "reference": "Every May", "phrases": ["boiler, each May"]}
{"question": "Who won the 2024 NBA finals?", "answerable": false}"""
_FORMAT_HELP = N_(
    "JSON Lines: one question per line, with any of *reference*, *steps*, *expected_action*, "
    "*answerable*, *sources*, *phrases*, *must_mention*, *must_not_mention*, *language*. "
    "Fields you leave out are not measured."
)


def draw_dataset_dialog(dataset_id: str) -> None:
    """Draw a drawer with the questions of a dataset."""
    try:
        dataset = application().datasets.get(dataset_id)
    except CragError as gone:
        dialogs.keep_refusal(gone)
        dialogs.close_dialog()
        return
    drawer = dialogs.dialog(
        markdown.escape_line(translate_text(dataset.name), 80),
        icon=":material/table_rows:",
        position="right",
        width=_DRAWER_WIDTH,
    )
    drawer(_draw_dataset)(dataset.id)


def draw_delete_dataset_dialog(dataset_id: str) -> None:
    """Draw the dialog that confirms the deletion of a dataset."""

    def draw() -> None:
        dataset = application().datasets.get(dataset_id)
        name, count = markdown.escape_line(dataset.name, 80), format_count(len(dataset.examples), "question")
        st.markdown(
            _("**{name}** and its {count} will be deleted. Its evaluations are kept.").format(name=name, count=count)
        )

    def delete() -> None:
        application().datasets.delete(dataset_id)
        results.invalidate_datasets()

    dialogs.confirm(_("Delete dataset?"), draw, _("Delete"), delete)


@dialogs.dialog(N_("Upload a dataset"), icon=":material/upload:", width="medium")
def draw_upload_dialog(_unused: None) -> None:
    """Draw the upload dialog."""
    file = st.file_uploader(_("A dataset"), max_upload_size=application().settings.max_upload_mb, key="evaluate-file")
    st.caption(_(_FORMAT_HELP))
    st.code(_EXAMPLE, language="json", wrap_lines=True)
    if file is None:
        return
    try:
        dataset = application().datasets.add(PurePath(file.name).stem, file.getvalue())
    except CragError as error:
        st.error(markdown.escape_line(translate_text(str(error))), icon=":material/error:")
        return
    results.invalidate_datasets()
    start.select_dataset(dataset.id)
    dialogs.close_and_rerun()


def _draw_dataset(dataset_id: str) -> None:
    dataset = application().datasets.get(dataset_id)
    st.caption(_describe_dataset(dataset))
    if dataset.examples:
        _draw_examples(dataset)
    else:
        st.caption(_("Pin an answer in Chat or an expected passage in Inspect to add its question here."))
    _draw_actions(dataset)


def _describe_dataset(dataset: Dataset) -> str:
    """Return the number of questions, and how many have each kind of expected answer."""
    examples = dataset.examples
    counted = {
        _("with an expected answer"): sum(bool(one.references) for one in examples),
        _("with phrases to mention"): sum(bool(one.must_mention or one.must_not_mention) for one in examples),
        _("with expected passages"): sum(bool(one.sources or one.phrases) for one in examples),
        _("with accepted steps"): sum(bool(one.steps) for one in examples),
        _("with an expected decision"): sum(one.action is not None for one in examples),
        _("without an answer"): sum(one.answerable is False for one in examples),
    }
    told = [f"{number:,} {name}" for name, number in counted.items() if number]
    return " · ".join([format_count(len(examples), "question"), *told])


def _draw_examples(dataset: Dataset) -> None:
    click = f"example-of-{dataset.id}"
    columns: dict[str, list[Any]] = {
        _("Question"): [sanitization.strip_invisible(one.question) for one in dataset.examples],
        _("Right"): [_expected_answer(one) for one in dataset.examples],
    }
    if dataset.kind != "builtin":
        columns[_("Actions")] = [[_(_REMOVE_LABEL)] for _unused in dataset.examples]
    st.dataframe(
        columns,
        hide_index=True,
        key=f"dataset-{dataset.id}-{len(dataset.examples)}",
        height=layout.table_height(len(dataset.examples), _VISIBLE_ROWS),
        alt=_("Table of {questions}").format(questions=format_count(len(dataset.examples), "question")),
        column_config={
            _("Question"): st.column_config.TextColumn(width=330),
            _("Right"): st.column_config.TextColumn(_("Expected answer"), width=360),
            _("Actions"): st.column_config.ButtonColumn(
                "", key=click, on_click=partial(_remove_example, dataset, click), type="tertiary", width=44
            ),
        },
    )


def _expected_answer(one: Example) -> str:
    """Return the first known expectation of a question as plain text."""
    if one.answerable is False:
        return _("Not in the documents")
    texts = [
        *one.references,
        *(_("mentions “{phrase}”").format(phrase=phrase) for phrase in one.must_mention),
        *one.phrases,
        *one.sources,
    ]
    return sanitization.strip_invisible(texts[0]) if texts else ""


def _remove_example(dataset: Dataset, click: str) -> None:
    key = dataset.examples[st.session_state[click].row].key
    application().datasets.remove_example(dataset.id, key)
    results.invalidate_datasets()


def _draw_actions(dataset: Dataset) -> None:
    if dataset.kind == "uploaded":
        key = f"name-of-{dataset.id}"
        st.text_input(_("Name"), dataset.name, max_chars=80, key=key, on_change=_rename_dataset, args=(dataset, key))
    with st.container(horizontal=True):
        if dataset.examples and st.button(_("Evaluate with it"), icon=":material/analytics:"):
            start.select_dataset(dataset.id)
            dialogs.close_and_rerun()
        if dataset.examples:
            st.download_button(
                _("Download"),
                partial(application().datasets.export_json_lines, dataset.id),
                file_name=export_file_name(dataset.name, "jsonl"),
                mime="application/x-ndjson",
                icon=":material/download:",
                type="tertiary",
                on_click="ignore",
            )
        if dataset.kind != "builtin" and dataset.examples:
            st.button(
                _("Delete"),
                icon=":material/delete:",
                type="tertiary",
                key=f"delete-dataset-{dataset.id}",
                on_click=dialogs.open_dialog_from_fragment,
                args=(DELETE_DATASET_DIALOG, dataset.id),
            )


def _rename_dataset(dataset: Dataset, key: str) -> None:
    application().datasets.rename(dataset.id, st.session_state[key])
    results.invalidate_datasets()
    st.rerun()
