"""SQL written by a language model from the schema of tables."""

from __future__ import annotations

import re

from crag.cancellation import Cancellation
from crag.prompts import compose_prompt, strip_thoughts
from crag.protocols import ChatModel
from crag.text.patterns import lazy_regex

_CODE_BLOCK = lazy_regex(r"```(?:sql|duckdb)?\s*(.+?)```", re.DOTALL | re.IGNORECASE)
_STATEMENT = lazy_regex(r"\b(?:select|with)\b.*", re.DOTALL | re.IGNORECASE)


class ModelQueryWriter:
    """`QueryWriter` over a chat model."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    def write_query(
        self, question: str, schema: str, stop: Cancellation, *, refused: str = "", reason: str = ""
    ) -> str:
        """See `QueryWriter`."""
        repair = f"This query failed: {refused}\nReason: {reason}\nWrite a corrected one." if refused else ""
        prompts = compose_prompt("table_query", question=question, schema=schema, refused=repair)
        reply = strip_thoughts(self._model.complete(prompts, stop).text)
        block = _CODE_BLOCK.search(reply)
        written = block[1] if block else reply
        statement = _STATEMENT.search(written)
        return (statement[0] if statement else written).strip().rstrip(";")
