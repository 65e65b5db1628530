"""Sharing: conversations and runs as files for others to read, and conversations taken in from such files."""

from crag.sharing.sharing import Sharing

__all__ = ["Sharing"]
