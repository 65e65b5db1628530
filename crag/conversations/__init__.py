"""Conversations: the chat, kept on disk."""

from crag.conversations.conversations import Conversations

__all__ = ["Conversations"]
