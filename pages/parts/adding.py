"""Upload of files and web addresses, shared by several pages."""

from __future__ import annotations

from typing import Any

import streamlit as st

from crag.library.web.site import SiteLimits
from crag.types import DEFAULT_COLLECTION
from pages.parts.person import is_one_of_several
from pages.parts.resources import application

UPLOAD_TYPES = ["pdf", "docx", "pptx", "xlsx", "odt", "epub", "eml", "html", "htm", "csv", "tsv", "json", "jsonl"]
UPLOAD_TYPES += ["md", "markdown", "txt", "zip", "png", "jpg", "jpeg", "tif", "tiff"]
# Plain words: screen readers read the label literally.
_KINDS = "PDF, Office, EPUB, e-mail, HTML, CSV, text, pictures, ZIP"


def uploader(label: str, collection: str = "") -> None:
    """Draw the file uploader; dropped files are submitted to the library at once.

    Any file type can be dropped: files rejected by the uploader itself would vanish silently with the next widget
    key.
    """
    generation = st.session_state.setdefault("upload_generation", 0)
    key = f"upload-{generation}"
    st.file_uploader(
        f"{label}: {_KINDS}",
        accept_multiple_files=True,
        max_upload_size=application().settings.max_upload_mb,
        key=key,
        on_change=_hand_over,
        args=(key, collection),
    )
    if is_one_of_several():
        st.caption("Documents are shared: everybody on this server can read and ask what you add.")


def _hand_over(key: str, collection: str) -> None:
    """Submit the uploaded files, and change the uploader's key so that it does not list them again.

    Streamlit repeats this callback when another click interrupts it, so each file id is recorded before it is
    submitted.
    """
    files: list[Any] = st.session_state[key] or []
    taken: set[str] = st.session_state.setdefault("uploads_taken", set())
    for file in files:
        if file.file_id not in taken:
            taken.add(file.file_id)
            application().jobs.submit_bytes(file.name, file.getvalue(), collection or DEFAULT_COLLECTION)
    st.session_state.upload_generation += 1


def add_addresses(text: str, collection: str = "", limits: SiteLimits | None = None) -> int:
    """Submit the addresses, one per line, and return their number.

    With `limits`, each address is crawled as a site.
    """
    addresses = [line.strip() for line in text.splitlines() if line.strip()]
    for address in addresses:
        if limits:
            application().jobs.submit_site(address, limits, collection or DEFAULT_COLLECTION)
        else:
            application().jobs.submit_url(address, collection or DEFAULT_COLLECTION)
    return len(addresses)
