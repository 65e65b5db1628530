"""A shared conversation: read by whoever has the link, and nothing but read."""

from __future__ import annotations

from tests.pages.conftest import labels, said

PAGE = "pages/shared/page.py"


def test_who_has_the_link_reads_the_conversation(asked, services):
    conversation = services.conversations.list()[0]
    link = services.sharing.create_link(conversation.id)
    asked.switch_page(PAGE)
    asked.query_params["link"] = link
    asked.run()
    assert not asked.exception
    assert said(asked, "How often is the espresso machine descaled?")
    assert said(asked, "citric acid")
    assert labels(asked) == []
    services.sharing.remove_link(conversation.id)
    asked.run()
    assert not said(asked, "citric acid")
    told = "This link is not valid\\. Ask the person who sent it for a new one\\."
    assert [one.value for one in asked.info] == [told]
