"""Adding files and web pages, from whichever page."""

from __future__ import annotations

from typing import Any

import streamlit as st

from crag.library.web.site import SiteLimits
from crag.types import DEFAULT_COLLECTION
from pages.parts.person import is_one_of_several
from pages.parts.resources import application

UPLOAD_TYPES = ["pdf", "docx", "pptx", "xlsx", "odt", "epub", "eml", "html", "htm", "csv", "tsv", "json", "jsonl"]
UPLOAD_TYPES += ["md", "markdown", "txt", "zip", "png", "jpg", "jpeg", "tif", "tiff"]
# Plain words: the label is read out as it is written.
_KINDS = "PDF, Office, EPUB, e-mail, HTML, CSV, text, pictures, ZIP"


def uploader(label: str, collection: str = "") -> None:
    """A place to drop files; they are handed to the library at once.

    Any kind may be dropped: a kind that the uploader kept back would vanish without a word with the next key.
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
    """A new key afterwards: else the uploader would list the same files again.

    Streamlit calls this once more when another click interrupts it, so each file is remembered before it is taken.
    """
    files: list[Any] = st.session_state[key] or []
    taken: set[str] = st.session_state.setdefault("uploads_taken", set())
    for file in files:
        if file.file_id not in taken:
            taken.add(file.file_id)
            application().jobs.submit_bytes(file.name, file.getvalue(), collection or DEFAULT_COLLECTION)
    st.session_state.upload_generation += 1


def add_addresses(text: str, collection: str = "", limits: SiteLimits | None = None) -> int:
    """Hand the addresses, one a line, to the library, each with its site within `limits`; how many there were."""
    addresses = [line.strip() for line in text.splitlines() if line.strip()]
    for address in addresses:
        if limits:
            application().jobs.submit_site(address, limits, collection or DEFAULT_COLLECTION)
        else:
            application().jobs.submit_url(address, collection or DEFAULT_COLLECTION)
    return len(addresses)
