"""Watched folders: the dialog that lists them with what was found, and adds another one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import streamlit as st

from crag.errors import CragError
from crag.library.watched_folders import FolderPreview, WatchedFolder
from crag.text.formatting import format_count, format_number, format_time
from crag.translation import N_, _, translate_text
from pages.parts import dialogs, labels, layout, markdown
from pages.parts.services import application

FOLDERS_DIALOG = "watched folders"
_REDRAW_SECONDS = 2.0
_MAX_PATH_LENGTH, _MAX_PATTERNS_LENGTH = 4_096, 2_000
_KINDS = {
    "new": N_("{count} new"),
    "changed": N_("{count} changed"),
    "renamed": N_("{count} renamed"),
    "vanished": N_("{count} missing"),
    "writing": N_("{count} still being written"),
    "refused": N_("{count} could not be added"),
    "ignored": N_("{count} ignored"),
}
_STATE_ICONS = {
    "Up to date": ":green[:material/check_circle:]",
    "Changes found": ":blue[:material/change_circle:]",
    "Not reachable": ":orange[:material/link_off:]",
    "Paused": ":gray[:material/pause_circle:]",
}
_ON_CLICK, _AUTOMATIC = N_("When I click Apply"), N_("Automatically, after the first time")
_REMOVAL_LABELS = {
    False: N_(":material/folder_off: Stop watching, keep its documents"),
    True: N_(":material/delete: Stop watching and remove its documents"),
}


def draw_opener() -> None:
    """Draw the button that opens the dialog, with the number of changes that wait for a click; none where not offered.

    A folder is a path of the machine of the server, so only its owner or an administrator may name one.
    """
    folders = application().watched_folders
    if not folders.is_offered:
        return
    waiting = sum(one.preview.pending for one in folders.list() if not (one.is_paused or one.is_applying))
    label = _("Watched folders") + (f" ({format_number(waiting)})" if waiting else "")
    dialogs.draw_opener(label, ":material/folder_managed:", FOLDERS_DIALOG, key="watched-folders")


@dialogs.dialog(N_("Watched folders"), width="large", icon=":material/folder_managed:")
def draw_folders_dialog(_about: None) -> None:
    """Draw the folders with what was found in each, and the form that adds one."""
    st.caption(_("Files of these folders are added to a collection, and follow what changes in the folder."))
    folders = application().watched_folders
    layout.draw_watching(None, lambda: None, _REDRAW_SECONDS if folders.list() else None, _draw_folders)
    _draw_add_form()


def _draw_folders() -> None:
    for folder in application().watched_folders.list():
        with st.container(border=True):
            _draw_folder(folder)


def _draw_folder(folder: WatchedFolder) -> None:
    st.markdown(f"**{markdown.escape_line(folder.path, 200)}**")
    files = format_count(folder.files, "file")
    facts = [_("{files} in *{collection}*").format(files=files, collection=labels.collection_label(folder.collection))]
    if folder.looked_at:
        facts.append(_("last checked {time}").format(time=format_time(folder.looked_at)))
    facts += _describe_rules(folder)
    icon = _STATE_ICONS.get(folder.state, ":gray[:material/progress_activity:]")
    st.markdown(f"{icon} {_(folder.state)} {labels.grey_text('· ' + ' · '.join(facts))}")
    if folder.state == "Not reachable":
        st.caption(_("The folder is missing or not mounted. Its documents stay, and it is checked again."))
    if folder.fault:
        st.markdown(f":red[{markdown.escape_line(translate_text(folder.fault), 300)}]")
    _draw_preview(folder)
    _draw_actions(folder)


def _describe_rules(folder: WatchedFolder) -> list[str]:
    include, exclude = (markdown.escape_line(", ".join(one), 120) for one in (folder.include, folder.exclude))
    rules = [
        _("only {patterns}").format(patterns=include) if include else "",
        _("without {patterns}").format(patterns=exclude) if exclude else "",
        "" if folder.subfolders else _("no subfolders"),
    ]
    return [rule for rule in rules if rule]


def _draw_preview(folder: WatchedFolder) -> None:
    counts = folder.preview.counts
    found = [_(words).format(count=format_number(counts[kind])) for kind, words in _KINDS.items() if counts.get(kind)]
    if found:
        layout.draw_folded(", ".join(found), f"preview-{folder.id}", lambda: _draw_files(folder.preview))


def _draw_files(preview: FolderPreview) -> None:
    groups: dict[str, Iterable[str]] = {
        "new": map(_name, preview.new),
        "changed": map(_name, preview.changed),
        "renamed": (f"{_name(old)} → {_name(new)}" for old, new in preview.renamed),
        "vanished": map(_name, preview.vanished),
        "writing": map(_name, preview.writing),
        "refused": map(_name_with_reason, preview.refused),
        "ignored": map(_name_with_reason, preview.ignored),
    }
    with st.container(height="content" if sum(preview.counts.values()) < 12 else 280, gap="xsmall"):
        for kind, names in groups.items():
            if lines := list(names):
                count = preview.counts[kind]
                st.markdown(f"**{_(_KINDS[kind]).format(count=format_number(count))}**")
                if (more := count - len(lines)) > 0:
                    lines.append(_("and {count} more").format(count=format_number(more)))
                st.markdown("\n".join(f"- {line}" for line in lines))


def _name(path: str) -> str:
    return markdown.escape_line(path, 160)


def _name_with_reason(refused: Sequence[str]) -> str:
    path, reason = refused
    return f"{_name(path)} {labels.grey_text(markdown.escape_line(translate_text(reason), 160))}"


def _draw_actions(folder: WatchedFolder) -> None:
    folders, pending = application().watched_folders, folder.preview.pending
    with st.container(horizontal=True, vertical_alignment="center"):
        if pending and not (folder.is_paused or folder.is_applying or (folder.is_automatic and folder.is_started)):
            st.button(
                _("Apply {changes}").format(changes=format_count(pending, "change")),
                icon=":material/check:",
                key=f"apply-{folder.id}",
                on_click=folders.apply,
                args=(folder.id,),
            )
        st.button(
            _("Resume") if folder.is_paused else _("Pause"),
            icon=":material/play_arrow:" if folder.is_paused else ":material/pause:",
            key=f"pause-{folder.id}",
            on_click=folders.pause,
            args=(folder.id, not folder.is_paused),
        )
        st.menu_button(
            _("Remove"),
            [*_REMOVAL_LABELS],
            format_func=lambda with_documents: _(_REMOVAL_LABELS[with_documents]),
            icon=":material/delete:",
            key=f"remove-{folder.id}",
            on_click=lambda: folders.remove(folder.id, with_documents=st.session_state[f"remove-{folder.id}"]),
        )
        st.toggle(
            _("Apply automatically"),
            folder.is_automatic,
            key=f"automatic-{folder.id}",
            on_change=lambda: folders.set_automatic(folder.id, st.session_state[f"automatic-{folder.id}"]),
            help=_("The first preview always waits for a click. Removed documents can be brought back for a day."),
        )


def _draw_add_form() -> None:
    names = [one.name for one in application().library.collections()]
    # A new form after each folder, so that its fields are empty.
    with st.form(f"watched-folder-{len(application().watched_folders.list())}", border=True):
        path = st.text_input(
            _("Folder of this machine"), max_chars=_MAX_PATH_LENGTH, placeholder=str(Path.home() / "Documents")
        )
        collection = st.selectbox(_("Collection"), names, accept_new_options=True)
        left, right = st.columns(2)
        include = left.text_input(_("Only these names"), max_chars=_MAX_PATTERNS_LENGTH, placeholder="*.pdf, *.docx")
        exclude = right.text_input(_("Except these names"), max_chars=_MAX_PATTERNS_LENGTH, placeholder="drafts, old/*")
        subfolders = st.checkbox(_("Include subfolders"), value=True)
        when = st.radio(_("Apply changes"), [_ON_CLICK, _AUTOMATIC], format_func=_, horizontal=True)
        sent = st.form_submit_button(_("Watch"), icon=":material/visibility:")
    if not sent:
        return
    try:
        application().watched_folders.add(
            path,
            collection or "",
            include=include.split(","),
            exclude=exclude.split(","),
            subfolders=subfolders,
            automatic=when == _AUTOMATIC,
        )
    except CragError as error:
        dialogs.draw_error(error)
        return
    st.rerun()
