"""How the state of a run is read back: as plain values alone, since a restored backup may come from a stranger."""

from __future__ import annotations

from typing import Any

from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

_OLD_FORM = "json"


class PlainSerializer(JsonPlusSerializer):
    """Reads what it writes, MessagePack with an allowlist of types, and not LangChain's old form.

    That one makes any object of `langchain_core` that a file names, whatever the allowlist holds.
    """

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """The value. Raises `ValueError` for what was written in the old form."""
        if data[0] == _OLD_FORM:
            raise ValueError("The state of a run is in a form that is not read.")
        return super().loads_typed(data)
