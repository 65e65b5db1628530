"""Adding documents: upload of files, addresses, and the examples."""

from __future__ import annotations

from typing import Any

import streamlit as st

from crag.errors import CragError
from crag.ingest.addresses import is_reachable
from crag.ingest.parse.formats import FORMATS
from crag.ingest.site import SiteLimits
from crag.library.example import EXAMPLE_NAME, read_example
from pages.parts import markdown
from pages.parts.services import application

_UPLOAD_FAULT_KEY = "upload_fault"
# Plain words: screen readers read the label literally.
_UPLOAD_KINDS = ", ".join([*dict.fromkeys(known.family for known in FORMATS), "ZIP"])


def draw_uploader(label: str, collection: str = "") -> None:
    """Draw the file uploader; dropped files are submitted to the library at once.

    Any file type can be dropped: files rejected by the uploader itself would vanish silently with the next widget
    key.
    """
    generation = st.session_state.setdefault("upload_generation", 0)
    key = f"upload-{generation}"
    files = st.file_uploader(
        f"{label}: {_UPLOAD_KINDS}",
        accept_multiple_files=True,
        max_upload_size=application().settings.max_upload_mb,
        key=key,
        on_change=_submit_uploads,
        args=(key, collection),
    )
    if files and (reason := st.session_state.get(_UPLOAD_FAULT_KEY)):
        st.markdown(f":red[:material/error: **Not added.** {markdown.escape_line(reason)}]")
        actions = {"on_click": _submit_uploads, "args": (key, collection)}
        st.button("Try again", icon=":material/refresh:", type="tertiary", key="upload-again", **actions)
    draw_sharing_notice()


def draw_sharing_notice() -> None:
    """Say who can see documents, before any is added."""
    st.caption("Documents are shared: everyone who can open this page can read and ask about what you add.")


def _submit_uploads(key: str, collection: str) -> None:
    """Submit the uploaded files, and change the uploader's key so that it does not list them again.

    Files that cannot be saved stay in the uploader, with the reason below it. Streamlit repeats this callback when
    another click interrupts it, so each file id is recorded before it is submitted.
    """
    files: list[Any] = st.session_state[key] or []
    taken: set[str] = st.session_state.setdefault("uploads_taken", set())
    st.session_state.pop(_UPLOAD_FAULT_KEY, None)
    for file in files:
        if file.file_id in taken:
            continue
        taken.add(file.file_id)
        try:
            application().jobs.submit_bytes(file.name, file.getvalue(), collection)
        except CragError as error:
            taken.remove(file.file_id)
            st.session_state[_UPLOAD_FAULT_KEY] = str(error)
            return
    st.session_state.upload_generation += 1


def add_example_document() -> None:
    """Add the bundled example, which needs no network."""
    application().jobs.submit_bytes(EXAMPLE_NAME, read_example())


def add_example_posts() -> None:
    """Add the three example posts, or remember that their server cannot be reached."""
    urls = application().example_urls
    st.session_state.example_posts_offline = not is_reachable(urls[0])
    if not st.session_state.example_posts_offline:
        add_addresses("\n".join(urls))


def draw_example_posts_notice() -> None:
    """Say that the example posts could not be fetched, after a click that found no connection."""
    if st.session_state.get("example_posts_offline"):
        st.markdown(
            ":orange[:material/public_off:] No connection, so the posts cannot be fetched now. The example document "
            "is on this machine and needs none."
        )


def add_addresses(text: str, collection: str = "", limits: SiteLimits | None = None) -> int:
    """Submit the addresses, one per line, and return their number.

    With `limits`, each address is crawled as a site.
    """
    addresses = [line.strip() for line in text.splitlines() if line.strip()]
    for address in addresses:
        if limits:
            application().jobs.submit_site(address, limits, collection)
        else:
            application().jobs.submit_url(address, collection)
    return len(addresses)
