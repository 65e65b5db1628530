"""Conversations: the chat, kept on disk."""

from crag.conversations.conversations import Conversations
from crag.conversations.people import People

__all__ = ["Conversations", "People"]
