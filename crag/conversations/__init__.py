"""Conversations: the chat, kept on disk."""

from crag.conversations.conversations import Conversations
from crag.conversations.listing import Found
from crag.conversations.people import People
from crag.conversations.purging import Purging

__all__ = ["Conversations", "Found", "People", "Purging"]
