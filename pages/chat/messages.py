"""Messages of a conversation, the start page and follow-up questions."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from crag.errors import CragError
from crag.runs.run import Run
from crag.runs.trace import Trace
from crag.text.formatting import format_count
from crag.translation import _
from crag.types import Conversation, Message
from pages.chat import answer, answer_actions, question_editor, state
from pages.chat.answer_actions import AnswerMarks
from pages.chat.questions import ask_question
from pages.parts import document_intake, ingest_jobs, labels, layout, markdown, reruns, setup_checklist
from pages.parts.services import application
from pages.parts.session import is_phone

_POLL_SECONDS = 1.0
_LOOKED_AT = 100  # conversations among which the latest is found: pinned ones come first


def _draw_start_page() -> None:
    """Draw the uploader and the set-up for an empty library, else suggested questions."""
    if state.is_conversation_missing():
        _draw_missing_conversation()
    heading = st.container(gap="xsmall")
    heading.title(_("Ask your documents"), anchor=False)
    (sources, passages, _unused), jobs = application().library.counts(), len(application().jobs.jobs())
    if sources:
        _draw_suggested_questions(sources, passages)
        ingest_jobs.draw_jobs(unseen_only=True)
        setup_checklist.draw_checklist(folded=True)
        return
    heading.markdown(
        _(
            "**CRAG Chat** grades each passage before using it. If your documents do not answer, "
            "it rewrites your question and, if you allow it, searches the web. You see every step "
            "and can change every verdict."
        )
    )
    ingest_jobs.draw_jobs(unseen_only=True)
    _draw_first_documents()
    with st.container(gap="xsmall"):
        st.header(_("Set-up"), anchor=False)
        setup_checklist.draw_checklist()
    # Documents may also arrive from another tab or the command line.
    layout.draw_watching(
        (0, jobs),
        lambda: (application().library.counts()[0], len(application().jobs.jobs())),
        _POLL_SECONDS,
    )


def _draw_missing_conversation() -> None:
    """Say that the address leads to no conversation, and offer the latest one."""
    with st.container(border=True):
        st.markdown(_("**There is no such conversation here.** It was deleted, or it belongs to another browser."))
        listed = application().conversations.find("", _LOOKED_AT).conversations
        with st.container(horizontal=True):
            if listed:
                latest = max(listed, key=lambda conversation: conversation.updated_at)
                st.button(
                    _("Open the latest conversation"),
                    icon=":material/forum:",
                    on_click=state.open_conversation,
                    args=(latest.id,),
                )
            st.button(
                _("New conversation"), icon=":material/edit_square:", on_click=state.open_conversation, args=(None,)
            )


def _draw_first_documents() -> None:
    with st.container(border=True, gap="xsmall"):  # the start page must fit a screen of 900 pixels
        document_intake.draw_uploader(_("Add documents"))
        # A form, so that Enter in the field adds the page.
        with st.form("first_page", border=False), st.container(horizontal=True):
            st.text_input(
                _("Or add a web page"),
                type="url",
                max_chars=2_000,
                icon=":material/link:",
                placeholder=_("Or a web address") if is_phone() else _("Or a web address: example.com/page"),
                label_visibility="collapsed",
                key="first_address",
            )
            st.form_submit_button(_("Add page"), icon=":material/add_link:", on_click=_add_page)
        with st.container(horizontal=True, gap="small"):
            st.button(
                _("Add the example document"),
                icon=":material/description:",
                on_click=document_intake.add_example_document,
            )
            st.button(
                _("Add three example posts"),
                icon=":material/auto_stories:",
                type="tertiary",
                on_click=document_intake.add_example_posts,
            )
        document_intake.draw_example_posts_notice()


def _add_page() -> None:
    if document_intake.add_addresses(st.session_state.first_address):
        st.session_state.first_address = ""


_SUGGESTED = 3  # questions
_SUMMARIZED_FROM = 3  # passages: a shorter document, such as a list of prices, may have nothing to sum up


def _draw_suggested_questions(sources: int, passages: int) -> None:
    counts = f"{format_count(sources, 'document')}, {format_count(passages, 'passage')}"
    st.markdown(_("{counts}. CRAG Chat grades each passage before using it.").format(counts=counts))
    library = application().library
    suggested = library.suggest_questions(_SUGGESTED) or [
        _("Summarize “{title}”").format(title=title) for title in library.long_titles(_SUGGESTED, _SUMMARIZED_FROM)
    ]
    if not suggested:
        return
    with st.container(gap="xsmall"):
        for index, question in enumerate(suggested):
            st.button(
                markdown.escape_line(question, 160),
                icon=":material/chat_bubble:",
                key=f"suggested-{index}",
                on_click=ask_question,
                args=(question,),
            )


_NEWEST = 6  # messages, at least: as many as fit a screen
_MOST_NEWEST = 20  # messages that are drawn with each answer
_STEP = 8  # messages by which what is drawn moves on; an element that keeps its place costs the browser nothing
_PAINT_SECONDS = 0.1  # in which the browser shows what is in view, before more arrives


def shown_messages(conversation: Conversation | None) -> Sequence[Message]:
    """Return the newest messages of the shown branch; none before the first question."""
    if conversation is None:
        return ()
    last = st.session_state.get(state.MESSAGES_SHOWN_KEY, state.MESSAGES_AT_ONCE)
    messages = application().conversations.messages(conversation.id, last=last)
    if len(messages) < last:
        return messages
    hidden = application().conversations.count(conversation.id) - last
    return application().conversations.messages(conversation.id, last=last + max(0, hidden) % _STEP)


def messages_above(messages: Sequence[Message]) -> Sequence[Message]:
    """Return the messages above the newest ones."""
    return messages[: max(0, len(messages) - _NEWEST) // _STEP * _STEP]


def newest_messages(messages: Sequence[Message], above: Sequence[Message]) -> Sequence[Message] | None:
    """Return the messages below those that are drawn above; None if these have changed since."""
    if not above:
        return messages
    if above[-1] not in messages:
        return None
    count = messages.index(above[-1]) + 1
    return messages[count:] if messages[:count] == above[-count:] else None


def open_place_above(conversation: Conversation | None, messages: Sequence[Message]) -> DeltaGenerator:
    """Draw where the conversation is from, if not from here, and the button that shows earlier messages.

    Returns the place of those above the newest ones.
    """
    if conversation and conversation.imported:
        st.caption(f":material/upload: {labels.import_origin(conversation.imported)}")
    is_full = conversation is not None and len(messages) >= state.MESSAGES_AT_ONCE
    if is_full and application().conversations.count(conversation.id) > len(messages):
        st.button(_("Show earlier messages"), icon=":material/expand_less:", type="tertiary", on_click=_show_earlier)
    return st.container()


def open_message_frames(conversation: Conversation | None, newest: Sequence[Message]) -> Mapping[int, DeltaGenerator]:
    """Draw the empty frames of the newest messages, by message id, or the start page."""
    if conversation is None or not newest:
        _draw_start_page()
        return {}
    ingest_jobs.mark_jobs_seen()
    return {message.id: _draw_frame(message) for message in newest}


def _draw_frame(message: Message) -> DeltaGenerator:
    if message.role == "user":
        return question_editor.question_message()
    return st.chat_message("assistant", avatar=answer.ANSWER_AVATAR)


def draw_newest_messages(
    messages: Sequence[Message],
    frames: Mapping[int, DeltaGenerator],
    running: Run | None,
    after_first: Callable[[], object] = lambda: None,
) -> None:
    """Draw the messages that have a frame, newest first, since those are in view; leave out a running answer.

    `after_first` is called when each is drawn.
    """
    above = len(messages) - len(frames)
    marks = _read_marks([one for one in messages[above:] if running is None or one.run_id != running.id])
    for position, message in reversed([*enumerate(messages)][above:]):
        with frames[message.id]:
            if running is None or message.run_id != running.id:
                _draw_message(messages, position, marks)
                after_first()


def draw_messages_above(messages: Sequence[Message], place: DeltaGenerator) -> None:
    """Draw the messages above the newest ones; they are out of view, so call it last."""
    above = messages_above(messages)
    if not above:
        return
    with reruns.let_others_draw():
        time.sleep(_PAINT_SECONDS)
    marks = _read_marks(above)
    with place:
        for position, message in enumerate(above):
            if reruns.is_click_waiting():
                st.rerun()
            with _draw_frame(message):
                _draw_message(messages, position, marks)


def move_messages_up(newest: Sequence[Message]) -> None:
    """Rerun the whole page if too many messages are drawn with each answer."""
    if len(newest) > _MOST_NEWEST:
        with reruns.let_others_draw():
            time.sleep(_PAINT_SECONDS)
        st.rerun()


def _read_marks(messages: Sequence[Message]) -> AnswerMarks:
    return answer_actions.read_answer_marks([message.run_id for message in messages if message.run_id])


def _draw_message(messages: Sequence[Message], position: int, marks: AnswerMarks) -> None:
    message = messages[position]
    if message.role == "user":
        question_editor.draw_question(message)
        return
    question_id = messages[position - 1].id if position else 0
    answer.draw_engine_change(_trace(message), earlier_traces(messages[:position]))
    _draw_answer(message, question_id, marks, last=message is messages[-1])


def earlier_traces(messages: Sequence[Message]) -> Iterator[Trace]:
    """Yield the traces of the answers among the messages, latest first."""
    return (_trace(message) for message in reversed(messages) if message.run_id)


def _draw_answer(message: Message, question_id: int, marks: AnswerMarks, *, last: bool) -> None:
    run_id, trace = message.run_id or "", _trace(message)
    if trace.waiting:
        answer.draw_waiting_answer(run_id, trace)
    else:
        answer.draw_answer(message, trace, question_id, marks, last=last)


def _trace(answer_message: Message) -> Trace:
    return application().runs.trace(answer_message.run_id or "")


def _show_earlier() -> None:
    now = st.session_state.get(state.MESSAGES_SHOWN_KEY, state.MESSAGES_AT_ONCE)
    st.session_state[state.MESSAGES_SHOWN_KEY] = now + state.MESSAGES_AT_ONCE


_QUESTION_LENGTH = 100
_CACHE_SECONDS = 600  # documents may be added or removed


def draw_next_questions(run_id: str, trace: Trace, messages: Sequence[Message]) -> None:
    """Draw up to three questions, none selected; nothing for an answer not based on documents."""
    if trace.state != "done" or trace.outcome in (None, "web", "not_answered", "talk"):
        return
    if reruns.are_others_waiting():  # a search for suggestions would make them wait longer
        return
    asked = tuple(message.text for message in messages if message.role == "user")
    try:
        offered = _follow_up_questions(run_id, asked)
    except CragError:  # optional: an error only hides the questions
        return
    if offered:
        key = f"next-{run_id}"
        st.pills(
            _("Ask next"),
            offered,
            format_func=lambda question: markdown.escape_line(question, _QUESTION_LENGTH),
            key=key,
            on_change=_ask_chosen,
            args=(key,),
            label_visibility="collapsed",
        )


@st.cache_data(max_entries=256, ttl=_CACHE_SECONDS, show_spinner=False)
def _follow_up_questions(run_id: str, asked: tuple[str, ...]) -> list[str]:
    trace = application().runs.trace(run_id)
    used = [cited.passage_id for cited in trace.citations if cited.origin == "library"]
    options = trace.options
    return application().library.suggest_follow_ups(
        used, trace.text, asked, collection=options.collection, source_ids=options.source_ids
    )


def _ask_chosen(key: str) -> None:
    question = st.session_state[key]
    st.session_state[key] = None
    if question:
        ask_question(question)
