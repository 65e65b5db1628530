"""Export of conversations and runs as Markdown, JSON and HTML, links to conversations, and import from JSON."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from sqlalchemy import delete, insert, select

from crag.conversations.conversations import Conversations
from crag.errors import BadRequest, NotFound
from crag.storage.engine import Database
from crag.storage.tables import shared_links
from crag.storage.user_scope import UserScoped
from crag.text.formatting import format_size
from crag.text.sanitization import TERMINAL_CONTROLS
from crag.types import Conversation

if TYPE_CHECKING:
    from crag.sharing.conversation_document import SharedConversation
    from crag.types import ModelCall


_MAX_IMPORT_BYTES = 100_000_000


class ConversationExchange(UserScoped):
    """Exports, links and imports of one home.

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
        from crag.sharing.conversation_document import read_conversation
        from crag.sharing.markdown import write_markdown

        return write_markdown(
            read_conversation(self._database, self._conversations.get(conversation_id).id, self._user)
        )

    def json(self, conversation_id: str) -> bytes:
        """Export the conversation with all branches, versions and events, for import. Raises `NotFound`."""
        from crag.sharing.conversation_document import read_conversation

        conversation = self._conversations.get(conversation_id)
        written = read_conversation(self._database, conversation.id, self._user).model_dump_json(indent=1)
        return TERMINAL_CONTROLS.sub(lambda found: f"\\u{ord(found.group()):04x}", written).encode()

    def html(self, conversation_id: str) -> str:
        """Export the displayed branch as one self-contained page. Raises `NotFound`."""
        from crag.sharing.conversation_document import read_conversation
        from crag.sharing.html_page import render_conversation_page

        conversation = self._conversations.get(conversation_id)
        return render_conversation_page(read_conversation(self._database, conversation.id, self._user), self._may_link)

    def export_run_html(self, run_id: str) -> str:
        """Export one run as a self-contained page, with its prompts as sent. Raises `NotFound`."""
        from crag.sharing.conversation_document import read_run
        from crag.sharing.html_page import render_run_page

        self._conversations.find_by_run(run_id)  # raises for a run of another user
        run, versions = read_run(self._database, run_id, self._user)
        return render_run_page(run, versions, self._calls(run_id), self._may_link)

    def link(self, conversation_id: str) -> str:
        """Return the id of the link to the conversation; empty if it has none. Raises `NotFound`."""
        conversation = self._conversations.get(conversation_id)
        query = select(shared_links.c.id).where(shared_links.c.conversation_id == conversation.id)
        with self._database.read() as connection:
            return connection.scalar(query) or ""

    def create_link(self, conversation_id: str) -> str:
        """Let everyone who logs in and has the link read the conversation; return its id. Raises `NotFound`."""
        conversation = self._conversations.get(conversation_id)
        if existing := self.link(conversation_id):
            return existing
        made = {"id": secrets.token_urlsafe(24), "conversation_id": conversation.id, "created_at": time.time()}
        with self._database.write() as connection:
            connection.execute(insert(shared_links).values(made))
        return str(made["id"])

    def remove_link(self, conversation_id: str) -> None:
        """End what `create_link` began. Raises `NotFound`."""
        conversation = self._conversations.get(conversation_id)
        with self._database.write() as connection:
            connection.execute(delete(shared_links).where(shared_links.c.conversation_id == conversation.id))

    def read_link(self, link_id: str) -> SharedConversation:
        """Return the conversation of a link, of any user. Raises `NotFound`."""
        from crag.sharing.conversation_document import read_conversation

        query = select(shared_links.c.conversation_id).where(shared_links.c.id == link_id)
        with self._database.whole.read() as connection:
            conversation_id = connection.scalar(query)
        if conversation_id is None:
            raise NotFound("This link is not valid.", "Ask the person who sent it for a new one.")
        return read_conversation(self._database.whole, conversation_id, self._user)

    def import_json(self, data: bytes, file: str = "") -> Conversation:
        """Store an exported JSON conversation as a new one, under new ids; `file` is the name of its file.

        Raises `BadRequest` with a description of the problem; nothing is stored in that case.
        """
        from crag.sharing.conversation_import import read_shared_conversation, store_conversation

        if len(data) > _MAX_IMPORT_BYTES:
            raise BadRequest(
                f"This file is larger than {format_size(_MAX_IMPORT_BYTES)} and was not read.", "Choose another one."
            )
        shared = read_shared_conversation(data)
        return self._conversations.get(store_conversation(self._database, shared, self._user or "", file))
