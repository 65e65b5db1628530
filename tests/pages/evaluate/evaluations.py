"""Open the page Evaluate in a test."""

from __future__ import annotations

PAGE = "pages/evaluate/page.py"


def opened(chat, evaluation=None):
    """The overview, or one evaluation."""
    chat.run().switch_page(PAGE)
    if evaluation:
        chat.query_params["evaluation"] = evaluation.id
    chat.run()
    assert not chat.exception
    return chat
