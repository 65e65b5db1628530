"""Dataset dialogs: view the questions with their expected answers; upload, rename or delete a dataset."""

from __future__ import annotations

from functools import partial
from pathlib import PurePath
from typing import Any

import streamlit as st

from crag.errors import CragError
from crag.evaluate.datasets.examples import Dataset, Example
from crag.sharing.names import file_name
from pages.evaluate import reading
from pages.evaluate.start import starting
from pages.parts import dialogs, markdown, refusals, tables, words
from pages.parts.person import person
from pages.parts.resources import application

LOOK, UPLOAD, DELETE = "look into a dataset", "upload a dataset", "delete a dataset"
_WIDTH = 860
_MOST_ROWS = 14
_REMOVE = ":material/delete: Remove this question"
_SHAPE = """{"question": "When is the boiler serviced?", "reference": "Every May", "phrases": ["boiler, each May"]}
{"question": "Who won the 2024 NBA finals?", "answerable": false}"""
_MEANING = (
    "JSON Lines: one question a line, with any of *reference*, *steps*, *expected_action*, *answerable*, *sources*, "
    "*phrases*, *must_mention*, *must_not_mention*, *language*. What is not there is not measured."
)


def draw_upload(_: Any = None) -> None:
    """Draw the upload dialog."""
    st.dialog("Upload a dataset", icon=":material/upload:", on_dismiss=dialogs.close, width="medium")(_upload)()


def draw_dialog(dataset_id: str) -> None:
    """Draw a drawer with the questions of a dataset."""
    try:
        dataset = application().datasets.get(dataset_id, person())
    except CragError as gone:
        refusals.keep(gone)
        dialogs.close()
        return
    title = markdown.label(dataset.name, 80)
    st.dialog(title, icon=":material/table_rows:", position="right", width=_WIDTH, on_dismiss=dialogs.close)(_look)(
        dataset.id
    )


def draw_delete(dataset_id: str) -> None:
    """Draw the dialog that confirms the deletion of a dataset."""
    st.dialog("Delete this dataset?", icon=":material/delete:", on_dismiss=dialogs.close)(_confirm)(dataset_id)


def _upload() -> None:
    file = st.file_uploader("A dataset", max_upload_size=application().settings.max_upload_mb, key="evaluate-file")
    st.caption(_MEANING)
    st.code(_SHAPE, language="json", wrap_lines=True)
    if file is None:
        return
    try:
        dataset = application().datasets.add(PurePath(file.name).stem, file.getvalue(), person() or "")
    except CragError as error:
        st.error(markdown.label(str(error)), icon=":material/error:")
        return
    reading.forget_datasets()
    starting.use(dataset.id)
    dialogs.close_and_redraw()


def _look(dataset_id: str) -> None:
    dataset = application().datasets.get(dataset_id, person())
    st.caption(_facts(dataset))
    if dataset.examples:
        _table(dataset)
    else:
        st.caption("Say “this answer is right” or “this passage was right” of an answer, and its question stands here.")
    _actions(dataset)


def _facts(dataset: Dataset) -> str:
    """Return the number of questions, and how many have each kind of expected answer."""
    examples = dataset.examples
    counted = {
        "with a reference": sum(bool(one.references) for one in examples),
        "with phrases to mention": sum(bool(one.must_mention or one.must_not_mention) for one in examples),
        "with right passages": sum(bool(one.sources or one.phrases) for one in examples),
        "with accepted steps": sum(bool(one.steps) for one in examples),
        "with an expected action": sum(one.action is not None for one in examples),
        "without an answer": sum(one.answerable is False for one in examples),
    }
    told = [f"{number:,} {name}" for name, number in counted.items() if number]
    return " · ".join([words.count(len(examples), "question"), *told])


def _table(dataset: Dataset) -> None:
    click = f"example-of-{dataset.id}"
    columns: dict[str, list[Any]] = {
        "Question": [markdown.visible(one.question) for one in dataset.examples],
        "Right": [_known(one) for one in dataset.examples],
    }
    if dataset.kind != "builtin":
        columns["Actions"] = [[_REMOVE] for _ in dataset.examples]
    st.dataframe(
        columns,
        hide_index=True,
        key=f"dataset-{dataset.id}-{len(dataset.examples)}",
        height=tables.height(len(dataset.examples), _MOST_ROWS),
        alt=f"Table of {words.count(len(dataset.examples), 'question')}",
        column_config={
            "Question": st.column_config.TextColumn(width=330),
            "Right": st.column_config.TextColumn("What is right", width=360),
            "Actions": st.column_config.ButtonColumn(
                "", key=click, on_click=partial(_remove, dataset, click), type="tertiary", width=44
            ),
        },
    )


def _known(one: Example) -> str:
    """Return the first known expectation of a question as plain text."""
    if one.answerable is False:
        return "There is no answer"
    texts = [*one.references, *(f"mentions “{phrase}”" for phrase in one.must_mention), *one.phrases, *one.sources]
    return markdown.visible(texts[0]) if texts else ""


def _remove(dataset: Dataset, click: str) -> None:
    with refusals.kept():
        key = dataset.examples[st.session_state[click].row].key
        application().datasets.remove_example(dataset.id, key, person())
    reading.forget_datasets()


def _actions(dataset: Dataset) -> None:
    if dataset.kind == "uploaded":
        key = f"name-of-{dataset.id}"
        st.text_input("Name", dataset.name, max_chars=80, key=key, on_change=_rename, args=(dataset, key))
    with st.container(horizontal=True):
        if dataset.examples and st.button("Evaluate with it", icon=":material/analytics:"):
            starting.use(dataset.id)
            dialogs.close_and_redraw()
        if dataset.examples:
            st.download_button(
                "Download",
                partial(application().datasets.as_json_lines, dataset.id, person()),
                file_name=file_name(dataset.name, "jsonl"),
                mime="application/x-ndjson",
                icon=":material/download:",
                type="tertiary",
                on_click="ignore",
            )
        if dataset.kind != "builtin" and dataset.examples:
            st.button(
                "Delete",
                icon=":material/delete:",
                type="tertiary",
                key=f"delete-dataset-{dataset.id}",
                on_click=dialogs.ask_at_once,
                args=(DELETE, dataset.id),
            )


def _rename(dataset: Dataset, key: str) -> None:
    with refusals.kept():
        application().datasets.rename(dataset.id, st.session_state[key], person())
    reading.forget_datasets()
    st.rerun()


def _confirm(dataset_id: str) -> None:
    dataset = application().datasets.get(dataset_id, person())
    count = words.count(len(dataset.examples), "question")
    st.markdown(f"**{markdown.label(dataset.name, 80)}** with {count} goes. Evaluations of it stay as they are.")
    with st.container(horizontal=True):
        if st.button("Delete it", icon=":material/delete:"):
            with refusals.kept():
                application().datasets.delete(dataset_id, person())
            reading.forget_datasets()
            dialogs.close_and_redraw()
        if st.button("Keep it"):
            dialogs.close_and_redraw()
