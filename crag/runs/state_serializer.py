"""Checkpoint serializer that restores plain values only, since a restored backup may be untrusted."""

from __future__ import annotations

from typing import Any

from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

_LEGACY_FORMAT = "json"


class PlainValueSerializer(JsonPlusSerializer):
    """Serializer for MessagePack with an allowlist of types that refuses to read LangChain's legacy format.

    The legacy format instantiates any object of `langchain_core` named in a file, regardless of the allowlist.
    """

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """Return the value. Raises `ValueError` for data in the legacy format."""
        if data[0] == _LEGACY_FORMAT:
            raise ValueError("The state of a run has an unsupported format.")
        return super().loads_typed(data)
