"""Turns of sessions, undelivered messages when a fragment runs again, how often pages look for changes, the theme."""

import threading
from copy import copy
from types import SimpleNamespace
from typing import Any

import pytest
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.NewSession_pb2 import CustomThemeConfig
from streamlit.runtime.app_session import _populate_theme_msg
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue
from streamlit.runtime.scriptrunner import RerunData

from crag.concurrency.processor import PrioritySemaphore
from pages.parts import reruns
from pages.parts.reruns import after_history, clear_queue, copy_theme
from tests.waiting import PATIENCE, wait_until


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


class Session:
    """What turns need of a session: its fragments, its page, and scripts that note when they draw."""

    def __init__(self, drawn: list[str], name: str) -> None:
        self._fragment_storage = SimpleNamespace(contains={"shown"}.__contains__)
        self._pages_manager = SimpleNamespace(current_page_script_hash="inspect")
        self.draw = lambda: drawn.append(name)


@pytest.fixture
def sessions(monkeypatch):
    """Sessions whose turns have not come, since somebody draws; gives what adds one, and what has been drawn."""
    turns, drawn = PrioritySemaphore(permits=1), list[str]()
    monkeypatch.setattr(reruns, "drawing_turns", turns)
    monkeypatch.setattr(reruns, "_run_script", lambda session, _: session.draw())
    monkeypatch.setattr(reruns, "_request_rerun", lambda *_: True)
    threads: list[threading.Thread] = []

    def add(name: str, rerun: RerunData) -> Session:
        session = Session(drawn, name)
        before = len(turns._waiting)  # nothing else shows that a thread waits
        threads.append(threading.Thread(target=reruns._run_in_turn, args=(session, rerun)))
        threads[-1].start()
        wait_until(lambda: len(turns._waiting) > before or not threads[-1].is_alive())
        return session

    with turns.hold(0, PATIENCE):
        yield add, drawn
    for thread in threads:
        thread.join()


CLICK = RerunData(fragment_id_queue=["shown"])
TIMER = RerunData(fragment_id_queue=["shown"], is_auto_rerun=True)


def test_clicks_are_drawn_before_pages_and_timers(sessions):
    add, drawn = sessions
    for name, rerun in (("timer", TIMER), ("page", RerunData()), ("click", CLICK)):
        add(name, rerun)
    with reruns.drawing_turns.pause():
        wait_until(lambda: len(drawn) == 3)
    assert drawn == ["click", "page", "timer"]


def test_a_timer_does_not_delay_a_click_in_its_own_session(sessions):
    add, drawn = sessions
    session = add("timer of the session that was clicked in", TIMER)
    add("page", RerunData())
    reruns._request_in_turn(session, CLICK)
    with reruns.drawing_turns.pause():
        wait_until(lambda: len(drawn) == 2)
    assert drawn == ["timer of the session that was clicked in", "page"]


def test_a_timer_of_a_part_that_is_gone_waits_for_nobody(sessions):
    add, drawn = sessions
    add("gone", RerunData(fragment_id_queue=["gone"], is_auto_rerun=True))
    wait_until(lambda: drawn == ["gone"])


@pytest.mark.parametrize("part", ["shown", "gone"])
def test_a_timer_of_the_page_before_does_not_empty_the_page_that_is_shown(monkeypatch, part):
    ran: list[RerunData] = []
    monkeypatch.setattr(reruns, "_run_script", lambda _, rerun: ran.append(rerun))
    timer = RerunData(fragment_id_queue=[part], is_auto_rerun=True, page_script_hash="chat", query_string="c=1")
    reruns._run_in_turn(Session([], "timer"), timer)
    assert [rerun.page_script_hash for rerun in ran] == ["inspect"], "the browser would take it for another page"


def test_a_page_that_is_asked_for_is_drawn(monkeypatch):
    ran: list[RerunData] = []
    monkeypatch.setattr(reruns, "_run_script", lambda _, rerun: ran.append(rerun))
    reruns._run_in_turn(Session([], "page"), RerunData(page_script_hash="chat"))
    assert [rerun.page_script_hash for rerun in ran] == ["chat"]


def request(page: str, *widgets: str, **told: Any) -> ClientState:
    """What the browser sends; with widgets when one of them was used, without when a page was chosen."""
    state = ClientState(page_script_hash=page, **told)
    for widget in widgets:
        state.widget_states.widgets.add(id=widget)
    return state


BACK = request("chat", query_string="c=1", is_history_navigation=True)
TYPED = ("inspect", "field")


@pytest.mark.parametrize(
    ("before", "sent", "page", "is_history"),
    [
        ([BACK], request(*TYPED, fragment_id="part"), "chat", True),
        ([BACK], request("chat", "field", fragment_id="part"), "chat", True),
        ([BACK, request(*TYPED)], request(*TYPED), "chat", True),
        ([BACK, request("chat", "field")], request("chat", "field"), "chat", False),
        ([BACK], request("inspect"), "inspect", False),
        ([BACK, request("inspect")], request(*TYPED), "inspect", False),
        ([BACK], request(*TYPED, is_auto_rerun=True), "inspect", False),
        ([], request(*TYPED), "inspect", False),
    ],
    ids=["left page", "left place", "twice", "arrived", "chosen page", "on the chosen page", "timer", "no history"],
)
def test_what_was_typed_before_back_does_not_return_to_the_page_that_was_left(before, sent, page, is_history):
    session = SimpleNamespace()
    for state in before:
        after_history(session, copy(state))
    followed = after_history(session, sent)
    assert (followed.page_script_hash, followed.is_history_navigation) == (page, is_history)
    assert not (is_history and followed.fragment_id), "the part may be gone"
