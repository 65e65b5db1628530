"""Adding documents: upload of files, addresses, and the examples."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from crag.ingest.addresses import is_reachable
from crag.ingest.parse.formats import FORMATS
from crag.ingest.site import SiteLimits
from crag.library.example import EXAMPLE_NAME, read_example
from crag.translation import _, format_list
from pages.parts import markdown
from pages.parts.faults import describe_fault
from pages.parts.services import application

_UNSAVED_KEY = "unsaved_uploads"
# Plain words: screen readers read the label literally.
_UPLOAD_KINDS = tuple(dict.fromkeys(known.family for known in FORMATS))


def draw_uploader(label: str, collection: str = "") -> None:
    """Draw the file uploader; dropped files are submitted to the library at once.

    Any file type can be dropped: files rejected by the uploader itself would vanish silently with the next widget
    key.
    """
    generation = st.session_state.setdefault("upload_generation", 0)
    key = f"upload-{generation}"
    st.file_uploader(
        _("{label}: {kinds}, also as ZIP").format(label=label, kinds=format_list([*map(_, _UPLOAD_KINDS)], "or")),
        accept_multiple_files=True,
        max_upload_size=application().settings.max_upload_mb,
        key=key,
        on_change=_submit_uploads,
        args=(key, collection),
    )
    draw_unsaved_files()
    draw_sharing_notice()


def draw_sharing_notice() -> None:
    """Say who else can read documents, before any is added, where others use this server."""
    settings = application().settings
    if settings.people == "accounts":
        st.caption(_("Everyone who may read this collection can read what you add and ask about it."))
    elif settings.serves_others:
        st.caption(_("Documents are shared: everyone who can open this page can read and ask about what you add."))


def _submit_uploads(key: str, collection: str) -> None:
    """Submit the uploaded files, and change the uploader's key so that it does not list them again.

    Streamlit repeats this callback when another click interrupts it, so each file id is recorded before it is
    submitted.
    """
    files: list[UploadedFile] = st.session_state[key] or []
    taken: set[str] = st.session_state.setdefault("uploads_taken", set())
    for file in files:
        if file.file_id not in taken:
            taken.add(file.file_id)
            _submit_upload(file, collection)
    st.session_state.upload_generation += 1


@dataclass(frozen=True, slots=True)
class _UnsavedFile:
    """An uploaded file that could not be saved, and why. It stays until it is saved, discarded or the tab is closed."""

    file: UploadedFile
    collection: str
    reason: str


def _submit_upload(file: UploadedFile, collection: str) -> None:
    """Submit a file, or keep it for `draw_unsaved_files`: an uploader forgets its files when a page is not drawn."""
    try:
        application().jobs.submit_bytes(file.name, file.getvalue(), collection)
    except Exception as error:  # noqa: BLE001 — whatever failed, the file may not be lost
        _unsaved_files().append(_UnsavedFile(file, collection, " ".join(describe_fault(error))))


def _unsaved_files() -> list[_UnsavedFile]:
    files: list[_UnsavedFile] = st.session_state.setdefault(_UNSAVED_KEY, [])
    return files


def draw_unsaved_files(place: str = "uploader") -> None:
    """Draw the files that could not be saved, with two buttons, whose keys include `place`."""
    unsaved = _unsaved_files()
    if not unsaved:
        return
    for file in unsaved:
        st.markdown(f":small[:gray[:material/attach_file: {markdown.escape_line(file.file.name, 80)}]]")
    st.markdown(
        _(":red[:material/error: **Not added.** {reason}]").format(reason=markdown.escape_line(unsaved[-1].reason))
    )
    with st.container(horizontal=True):
        for label, icon, act in ((_("Try again"), "refresh", _resubmit), (_("Discard"), "delete", unsaved.clear)):
            key = f"{icon}-unsaved-{place}"
            st.button(label, icon=f":material/{icon}:", type="tertiary", key=key, on_click=act)


def _resubmit() -> None:
    unsaved = list(_unsaved_files())
    _unsaved_files().clear()
    for file in unsaved:
        _submit_upload(file.file, file.collection)


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
            _(
                ":orange[:material/public_off:] No connection, so the posts cannot be fetched now. "
                "The example document is on this machine and needs none."
            )
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
