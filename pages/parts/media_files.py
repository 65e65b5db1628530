"""Addresses of the files that a page offers: only the browser that shows the page can open them."""

from __future__ import annotations

from streamlit.runtime import get_instance
from streamlit.runtime.context import StreamlitHeaders
from streamlit.runtime.media_file_manager import MediaFileManager
from streamlit.runtime.scriptrunner import get_script_run_ctx

from crag.server.download_guard import sign_address

_ICON = "favicon"  # the coordinates of the page's icon, which a browser may fetch without cookies
_add = MediaFileManager.add
_execute_deferred = MediaFileManager.execute_deferred


def sign_media_addresses() -> None:
    """Make Streamlit name each file by a signed address; call it before the server starts."""
    MediaFileManager.add = _add_signed  # type: ignore[method-assign]
    MediaFileManager.execute_deferred = _execute_signed  # type: ignore[method-assign]


def _add_signed(
    manager: MediaFileManager,
    path_or_data: bytes | str,
    mimetype: str,
    coordinates: str,
    file_name: str | None = None,
    is_for_static_download: bool = False,
) -> str:
    address = _add(manager, path_or_data, mimetype, coordinates, file_name, is_for_static_download)
    if coordinates == _ICON:
        return sign_address(address, {})
    context = get_script_run_ctx()
    return _sign(address, context.session_id if context else "")


def _execute_signed(manager: MediaFileManager, file_id: str) -> str:
    """Make a file for the session that drew its button, whichever session asks for it."""
    entry = manager._deferred_callables.get(file_id)  # noqa: SLF001
    return _sign(_execute_deferred(manager, file_id), entry["session_id"] if entry else "")


def _sign(address: str, session_id: str) -> str:
    """Return the address for the browser of a session; one that opens for nobody if it is not connected."""
    client = get_instance().get_client(session_id)
    context = client.client_context if client else None
    return sign_address(address, StreamlitHeaders(context.headers)) if context else address
