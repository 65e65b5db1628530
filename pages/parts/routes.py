"""The pages of the application: titles, icons and addresses."""

from __future__ import annotations

from enum import Enum
from typing import Literal

from crag.translation import N_, _


class Page(Enum):
    """A page, in the order of the menu; `CHAT`, the first, is the start page.

    The name in lower case is the folder below `pages/` and the address. A page with a parent has no menu entry: buttons
    lead to it, and a link above its title leads back to the parent.
    """

    CHAT = N_("Chat"), ":material/forum:"
    DOCUMENTS = N_("Documents"), ":material/folder_open:", "wide"
    RETRIEVAL = N_("Try search"), ":material/manage_search:", "centered", "DOCUMENTS"
    GAPS = N_("Coverage gaps"), ":material/content_paste_search:", "centered", "DOCUMENTS"
    NOTES = N_("Notes"), ":material/note_stack:", "centered", "CHAT"
    SHARED = N_("Shared conversation"), ":material/link:", "centered", "CHAT"
    COMPARE = N_("Compare"), ":material/compare_arrows:", "wide", "CHAT"
    CALIBRATION = N_("Calibrate"), ":material/straighten:", "centered", "DOCUMENTS"
    INSPECT = N_("Inspect"), ":material/account_tree:", "wide"
    EVALUATE = N_("Evaluate"), ":material/analytics:", "wide"
    SETTINGS = N_("Settings"), ":material/tune:"

    def __init__(
        self,
        title: str,
        icon: str,
        layout: Literal["centered", "wide"] = "centered",
        parent: str = "",
    ) -> None:
        self._title = title
        self.icon = icon
        self.layout = layout
        self._parent = parent

    @property
    def title(self) -> str:
        """Return the title in the user's language."""
        return _(self._title)

    @property
    def parent(self) -> Page | None:
        """Return the page of the menu that this one belongs to; None for the pages of the menu."""
        return Page[self._parent] if self._parent else None

    @property
    def address(self) -> str:
        """Return the path in the URL."""
        return self.name.lower()

    @property
    def path(self) -> str:
        """Return the script of the page, relative to `app.py`, as `st.switch_page` expects it."""
        return f"pages/{self.address}/page.py"
