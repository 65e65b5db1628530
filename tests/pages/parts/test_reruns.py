"""Undelivered messages when a fragment runs again, how often pages look for changes, and the theme."""

import pytest
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.NewSession_pb2 import CustomThemeConfig
from streamlit.runtime.app_session import _populate_theme_msg
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue

from pages.parts import reruns
from pages.parts.reruns import clear_queue, copy_theme


def element(fragment: str, text: str) -> ForwardMsg:
    """An element of a fragment, always at the same place."""
    message = ForwardMsg()
    message.metadata.delta_path.extend([0, 1])
    message.delta.fragment_id = fragment
    message.delta.new_element.markdown.body = text
    return message


def end() -> ForwardMsg:
    """The message that a fragment has run."""
    return ForwardMsg(script_finished=ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY)


@pytest.mark.parametrize("starts", ["outer", "inner", "other"])
def test_all_that_was_drawn_before_a_fragment_starts_is_delivered_in_order(starts):
    queue = ForwardMsgQueue()
    before = [element("outer", "first"), end()]
    for message in before:
        queue.enqueue(message)
    clear_queue(queue, retain_lifecycle_msgs=True, fragment_ids_this_run=[starts])
    after = element("outer", "second")
    queue.enqueue(after)
    assert queue.flush() == [*before, after]


def test_a_run_of_the_whole_page_drops_what_was_drawn_before():
    queue = ForwardMsgQueue()
    queue.enqueue(element("outer", "first"))
    clear_queue(queue, retain_lifecycle_msgs=True)
    assert queue.flush() == []


@pytest.mark.parametrize(
    ("pages", "seconds", "interval"),
    [(1, 3.0, 3.0), (15, 3.0, 3.0), (16, 3.0, 6.0), (200, 3.0, 48.0), (200, 60.0, 60.0)],
)
def test_pages_look_for_changes_less_often_the_more_are_open(monkeypatch, pages, seconds, interval):
    monkeypatch.setattr(reruns, "_count_open_pages", lambda: pages)
    assert reruns.poll_interval(seconds) == interval


@pytest.mark.parametrize("section", ["theme", "theme.light", "theme.dark", "theme.sidebar"])
def test_every_redraw_sends_the_theme_of_the_configuration(section):
    configured = CustomThemeConfig()
    _populate_theme_msg(configured, section)
    for _ in range(2):
        sent = CustomThemeConfig()
        copy_theme(sent, section)
        assert sent == configured
        sent.primary_color = "changed by the receiver"
