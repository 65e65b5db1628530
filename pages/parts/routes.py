"""The pages of the application: titles, icons and addresses."""

from __future__ import annotations

from enum import Enum
from typing import Literal


class Page(Enum):
    """A page, in the order of the menu; `CHAT`, the first, is the start page.

    The name in lower case is the folder below `pages/` and the address. A hidden page has no menu entry: buttons of
    other pages lead to it.
    """

    CHAT = "Chat", ":material/forum:"
    DOCUMENTS = "Documents", ":material/folder_open:", "wide"
    RETRIEVAL = "Try retrieval", ":material/manage_search:", "centered", "hidden"
    GAPS = "What your documents do not cover", ":material/content_paste_search:", "centered", "hidden"
    COMPARE = "Compare", ":material/compare_arrows:", "wide", "hidden"
    CALIBRATION = "Calibrate", ":material/straighten:", "centered", "hidden"
    INSPECT = "Inspect", ":material/account_tree:", "wide"
    EVALUATE = "Evaluate", ":material/analytics:", "wide"
    SETTINGS = "Settings", ":material/tune:"

    def __init__(
        self,
        title: str,
        icon: str,
        layout: Literal["centered", "wide"] = "centered",
        visibility: Literal["visible", "hidden"] = "visible",
    ) -> None:
        self.title = title
        self.icon = icon
        self.layout = layout
        self.visibility = visibility

    @property
    def address(self) -> str:
        """Return the path in the URL."""
        return self.name.lower()

    @property
    def path(self) -> str:
        """Return the script of the page, relative to `app.py`, as `st.switch_page` expects it."""
        return f"pages/{self.address}/page.py"
