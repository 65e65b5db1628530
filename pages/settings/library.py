"""Library and backup: values set by the environment, and the backup download."""

from __future__ import annotations

import time

import streamlit as st

from crag.settings import format_command
from crag.text.formatting import format_count, format_number, format_size
from crag.translation import _
from pages.parts import labels
from pages.parts.services import application
from pages.parts.session import has_other_users
from pages.settings.setting_row import SettingsRow, read_only_row


def library_rows() -> tuple[SettingsRow, ...]:
    """Return folder, size, upload limit and private networks."""
    return (
        read_only_row(
            _("Folder"),
            _("All data is stored here."),
            lambda: str(application().settings.home),
            "CRAG_HOME",
            "home",
        ),
        read_only_row(_("Size"), _("Disk space used by documents, passages and embeddings."), _library_size),
        read_only_row(
            _("Upload limit"),
            _("Larger files are rejected."),
            lambda: _("{max_upload_mb} MB per file").format(
                max_upload_mb=format_number(application().settings.max_upload_mb)
            ),
            "CRAG_MAX_UPLOAD_MB",
            "max_upload_mb",
        ),
        read_only_row(
            _("Private addresses"),
            _("Private networks that pages may be added from."),
            lambda: ", ".join(map(str, application().settings.allow_private_urls)) or _("None"),
            "CRAG_ALLOW_PRIVATE_URLS",
            "allow_private_urls",
        ),
    )


def _library_size() -> str:
    sources, passages, size = application().library.counts()
    return f"{format_size(size)}: {format_count(sources, 'document')}, {format_count(passages, 'passage')}"


BACKUP_WORDS = "backup download restore everything documents conversations one file"
_MOST_BYTES = 500_000_000  # a download is held in memory completely


def draw_backup() -> None:
    """Draw what a backup contains, its maximum size, and the download button."""
    _unused, _unused, size = application().library.counts()
    command = format_command("backup FILE", application().settings.home)
    with st.container(border=True):
        st.markdown(
            _("Documents, passages, embeddings and conversations in one file. You can keep working.")
            + f" {labels.grey_text(_('Settings and keys are not included.'))}"
        )
        if has_other_users():
            st.caption(_("It contains the questions of several people, so make it in a terminal on the server:"))
            st.code(command, None, wrap_lines=True)
        elif size > _MOST_BYTES:
            st.caption(
                _("{size} are too large to download here. Make it in a terminal on the server:").format(
                    size=format_size(size)
                )
            )
            st.code(command, None, wrap_lines=True)
        else:
            st.download_button(
                _("Download a backup (at most {size})").format(size=format_size(size)),
                application().exchange.backup_bytes,
                file_name=f"crag-{time.strftime('%Y-%m-%d')}.backup",
                mime="application/octet-stream",
                icon=":material/archive:",
                on_click="ignore",
            )
        st.caption(_("To restore it into an empty folder:"))
        st.code(format_command("restore FILE --home FOLDER"), None, wrap_lines=True)
