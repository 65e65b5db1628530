"""Export of conversations and runs as Markdown, JSON and HTML, and import of conversations from JSON."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from crag.amounts import size
from crag.conversations import Conversations
from crag.database import Database
from crag.errors import BadRequest
from crag.types import Conversation

if TYPE_CHECKING:
    from crag.model_calls import ModelCall

_MOST_BYTES = 100_000_000
_UNSEEN = re.compile(r"[\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")  # they control terminals and hide text


class Sharing:
    """Exports and imports of one home. Callers must check who owns a conversation.

    The modules it needs are imported on first use because they load slowly.
    """

    def __init__(
        self,
        database: Database,
        conversations: Conversations,
        calls: Callable[[str], list[ModelCall]],
        may_link: Callable[[str], bool],
    ) -> None:
        """`calls` returns the prompts of a run as sent; `may_link` decides which untrusted addresses become links."""
        self._database = database
        self._conversations = conversations
        self._calls = calls
        self._may_link = may_link

    def markdown(self, conversation_id: str) -> str:
        """Export the displayed branch as Markdown that is harmless in any viewer. Raises `NotFound`."""
        from crag.sharing.markdown import write_markdown
        from crag.sharing.records import read_conversation

        return write_markdown(read_conversation(self._database, conversation_id))

    def json(self, conversation_id: str) -> bytes:
        """Export the conversation with all branches, versions and events, for import. Raises `NotFound`."""
        from crag.sharing.records import read_conversation

        written = read_conversation(self._database, conversation_id).model_dump_json(indent=1)
        return _UNSEEN.sub(lambda found: f"\\u{ord(found.group()):04x}", written).encode()

    def html(self, conversation_id: str) -> str:
        """Export the displayed branch as one self-contained page. Raises `NotFound`."""
        from crag.sharing.page import conversation_page
        from crag.sharing.records import read_conversation

        return conversation_page(read_conversation(self._database, conversation_id), self._may_link)

    def run_html(self, run_id: str) -> str:
        """Export one run as a self-contained page, with its prompts as sent. Raises `NotFound`."""
        from crag.sharing.page import run_page
        from crag.sharing.records import read_run

        run, versions = read_run(self._database, run_id)
        return run_page(run, versions, self._calls(run_id), self._may_link)

    def import_json(self, data: bytes, person: str = "") -> Conversation:
        """Store an exported JSON conversation as a new one of this user, under new ids.

        Raises `BadRequest` with a description of the problem; nothing is stored in that case.
        """
        from crag.sharing.importing import keep, read_file

        if len(data) > _MOST_BYTES:
            raise BadRequest(f"This file is larger than {size(_MOST_BYTES)} and was not read.", "Choose another one.")
        return self._conversations.get(keep(self._database, read_file(data), person))
