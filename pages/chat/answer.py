"""One answer of the application, as it stands for good: where it comes from, what it says, what one can do with it."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from crag.runs import Trace
from crag.types import Citation, Message, RunOptions
from pages.chat import state
from pages.chat.questions import ask
from pages.parts import markdown, setup, words
from pages.parts.components import copy_button
from pages.parts.resources import application, checks, models

AVATAR = ":material/fact_check:"
_AGAIN = "Same settings"
_NEAREST = 4


def draw(message: Message, trace: Trace, *, last: bool) -> None:
    """The content of an answer's message; the last one of a conversation has its actions."""
    run_id = message.run_id or ""
    _headline(run_id, trace)
    if trace.text:
        bare = [item.sentence for item in trace.sentences if item.strength == "unsupported"]
        known = {cited.n: cited for cited in trace.citations}
        answered = trace.outcome != "not_answered"
        st.markdown(markdown.answer(trace.text, known, run_id, bare if answered else ()), anchors=False)
    _notes(trace)
    if trace.citations:
        _sources(run_id, trace)
    if trace.outcome == "not_answered":
        _ways_out(run_id, trace)
    if trace.state == "failed":
        _failed_ways_out(run_id, trace)
    if last:
        _engine_notice(run_id, trace)
        _actions(run_id, trace)


def sentence_of_outcome(trace: Trace) -> str:
    """The end of a run for those who cannot see it."""
    if trace.state != "done" or trace.outcome is None:
        return {"stopped": "Stopped", "failed": "The answer failed"}.get(trace.state, "")
    return f"Answer ready, {words.outcome_word(trace.outcome)}, {words.count(len(trace.citations), 'source')}"


def _headline(run_id: str, trace: Trace) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(f"{_badge(trace)} {words.grey(' · '.join(_facts(trace)))}", width="content")
        st.button(
            "Trace",
            icon=":material/account_tree:",
            type="tertiary",
            key=f"trace-of-{run_id}",
            on_click=_open_trace,
            args=(run_id,),
        )


def _open_trace(run_id: str) -> None:
    state.show_trace(run_id)
    st.session_state.trace_open = run_id


def _badge(trace: Trace) -> str:
    if trace.state == "failed":
        return ":red-badge[:material/error: not answered]"
    if trace.state in {"stopped", "interrupted"}:
        return f":gray-badge[:material/stop_circle: {trace.state}]"
    return words.outcome_badge(trace.outcome or "not_answered")


def _facts(trace: Trace) -> list[str]:
    facts = [f"retrieval {trace.action}"] if trace.action else []
    library, web = trace.found.get("library", ()), trace.found.get("web", ())
    used = {cited.passage_id for cited in trace.citations}
    if trace.outcome == "not_answered" and library:
        nearest = f"none of the {len(library)} nearest passages answers" if len(library) > 1 else "it does not answer"
        facts.append(f"{nearest} this")
    elif used & set(web):
        facts.append(f"{len(used & set(web))} of {words.count(len(web), 'result')} used")
    elif library and trace.outcome:
        facts.append(f"{len(used)} of {words.count(len(library), 'passage')} used")
    if trace.seconds is not None and trace.outcome != "not_answered":
        facts.append(words.duration(trace.seconds))
    return facts


def _notes(trace: Trace) -> None:
    if trace.state == "failed":
        st.markdown(f"**{markdown.label(trace.error)}** {markdown.answer(trace.remedy)}")
    elif trace.state == "stopped":
        st.caption("Stopped by you. The text so far is kept.")
    elif trace.state == "interrupted":
        st.caption("The application was closed while this was written. The text so far is kept.")
    if trace.query_sent:
        sent = f"Sent to {markdown.label(trace.web_provider)}: “{markdown.label(trace.query_sent)}”"
        st.caption(f":material/arrow_circle_up: {sent}")
    notes = [*trace.notes]
    if trace.prompt and trace.prompt.left_out and not any("left out" in note for note in notes):
        left_out = words.count(trace.prompt.left_out, "strip")
        notes.append(f"{left_out} did not fit the window of {trace.prompt.window:,} tokens and were left out.")
    for note in notes:
        st.caption(f":material/info: {markdown.label(note)}")


def _engine_notice(run_id: str, trace: Trace) -> None:
    """Under an answer of the built-in engine: what it is, and how to get a better one."""
    if trace.prompt is None or trace.prompt.window or trace.outcome == "not_answered":
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.caption("Answers quote your documents; no language model is running.", width="content")
        llama = next((check for check in checks() if check.name == setup.LLAMA and check.fix), None)
        if llama and st.button("Get Llama 3", type="tertiary", key=f"get-llama-{run_id}"):
            st.session_state.mending = llama
            st.rerun()


def _sources(run_id: str, trace: Trace) -> None:
    with st.container(horizontal=True, gap="small"):
        for cited in trace.citations:
            where = markdown.label(markdown.place(cited.title, cited.page), 70)
            st.button(
                f":blue[**{cited.n}**] {_source_icon(cited)} {where}",
                key=f"source-{run_id}-{cited.n}",
                type="tertiary",
                on_click=state.open_source,
                args=(run_id, cited.passage_id, cited.quote),
            )


def _source_icon(cited: Citation) -> str:
    return ":material/public:" if cited.origin == "web" else ":material/description:"


def _ways_out(run_id: str, trace: Trace) -> None:
    passages = [trace.passages[found] for found in trace.found.get("library", ())]
    nearest = {markdown.place(passage.title, passage.page): passage for passage in reversed(passages)}
    if nearest:
        with st.container(horizontal=True, gap="small", vertical_alignment="center"):
            st.caption("Nearest:", width="content")
            for place, passage in [*reversed(nearest.items())][:_NEAREST]:
                st.button(
                    markdown.label(place, 60),
                    icon=":material/description:",
                    key=f"nearest-{run_id}-{passage.id}",
                    type="tertiary",
                    on_click=state.open_source,
                    args=(run_id, passage.id),
                )
    with st.container(horizontal=True):
        if trace.options.web == "off" and trace.wants_web and web_is_there():
            st.button(
                "Allow web search and try again",
                icon=":material/public:",
                key=f"web-{run_id}",
                on_click=ask,
                args=(trace.question, replace(trace.options, web="auto")),
            )
        if st.button("Add documents", icon=":material/folder_open:", key=f"add-{run_id}"):
            st.switch_page("pages/documents/page.py")


def _failed_ways_out(run_id: str, trace: Trace) -> None:
    question, options = trace.question, trace.options
    with st.container(horizontal=True):
        st.button(
            "Try again",
            icon=":material/refresh:",
            key=f"retry-{run_id}",
            on_click=ask,
            args=(question, options),
        )
        if options.model != "builtin":
            st.button(
                "Answer with the built-in engine",
                icon=":material/memory:",
                key=f"builtin-{run_id}",
                on_click=ask,
                args=(question, replace(options, model="builtin")),
            )


def _actions(run_id: str, trace: Trace) -> None:
    question, options = trace.question, trace.options
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.feedback("thumbs", key=f"thumbs-{run_id}", default=_given(run_id), on_change=_thumb, args=(run_id,))
        if trace.text:
            copy_button(trace.text, key=f"copy-{run_id}")
        choices = again_choices(options)
        st.menu_button(
            "Again",
            list(choices),
            icon=":material/refresh:",
            type="tertiary",
            key=f"again-{run_id}",
            on_click=_again_with,
            args=(f"again-{run_id}", question, options),
        )


def again_choices(options: RunOptions) -> dict[str, RunOptions]:
    """What `Again` offers, by the words of its menu: the same settings, another model, another policy."""
    choices = {_AGAIN: options}
    used = application().model_choice().name if options.model == "auto" else options.model
    for model in models():
        if model.name != used:
            choices[f"With {markdown.label(model.label, 60)}"] = replace(options, model=model.name)
    for policy, (name, meaning) in words.POLICIES.items():
        if policy != options.policy:
            choices[f"Policy {name} {words.grey(meaning)}"] = replace(options, policy=policy, preset="")
    return choices


def web_is_there() -> bool:
    """Whether a web search is set up."""
    return any(check.name == "Web search" and check.status == "ok" for check in checks())


def _again_with(key: str, question: str, options: RunOptions) -> None:
    ask(question, again_choices(options)[st.session_state[key]])


def _given(run_id: str) -> int | None:
    helpful = application().conversations.feedback(run_id)
    return None if helpful is None else int(helpful)


def _thumb(run_id: str) -> None:
    value = st.session_state[f"thumbs-{run_id}"]
    if value is None:
        return
    application().conversations.give_feedback(run_id, bool(value))
    if value == 0:
        st.session_state.asks_why = run_id


def ask_why(run_id: str) -> None:
    """A small dialog: what was wrong with the answer."""

    def content() -> None:
        reason = st.text_area("What was wrong?", height=90, max_chars=500, placeholder="It missed the second failure")
        if st.button("Send", icon=":material/send:"):
            application().conversations.give_feedback(run_id, helpful=False, reason=reason)
            st.session_state.pop("asks_why", None)
            st.rerun()

    st.dialog("Thank you", on_dismiss=lambda: st.session_state.pop("asks_why", None))(content)()
