"""User text in a form that can be stored."""

from __future__ import annotations

from crag.errors import BadRequest

QUESTION_LIMIT = 200_000  # characters


def storable(text: str) -> str:
    """Strip surrounding white space and remove characters that the database cannot store."""
    return text.encode("utf-8", "ignore").decode().replace("\x00", "").strip()


def storable_question(text: str) -> str:
    """Normalize a question. Raises `BadRequest` if it is empty or too long."""
    question = storable(text)
    if not question:
        raise BadRequest("The question is empty.", "Write one, then send it.")
    if len(question) > QUESTION_LIMIT:
        raise BadRequest(
            f"The question has {len(question):,} characters; at most {QUESTION_LIMIT:,} can be asked.",
            "Shorten it, or add the long part as a document and ask about it.",
        )
    return question
