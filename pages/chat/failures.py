"""Explanations and remedies for answers that failed or are incomplete."""

from __future__ import annotations

import re
from dataclasses import replace

import streamlit as st

from crag.models.model_choice import model_label
from crag.models.ollama_api import find_by_name
from crag.options import RunOptions
from crag.runs.trace import Trace
from crag.translation import N_, _, translate_text
from pages.chat.questions import (
    allow_model_and_regenerate,
    continue_answer,
    regenerate_answer,
    stop_and_regenerate_answer,
)
from pages.parts import downloads, external_hosts, markdown
from pages.parts.components import draw_copy_button
from pages.parts.services import application, available_models

_MODEL_UNAVAILABLE = N_("The model is not available")
_TITLES = {
    "unreachable": _MODEL_UNAVAILABLE,
    "model_missing": _MODEL_UNAVAILABLE,
    "not_ollama": _MODEL_UNAVAILABLE,
    "consent_needed": N_("Allow this to leave your machine?"),
    "out_of_memory": N_("Not enough memory for the model"),
    "busy": N_("The model is busy"),
    "silent": N_("The model does not respond"),
    "incomplete": N_("The answer is incomplete"),
    "key_missing": N_("The key is missing"),
    "package_missing": N_("A package is missing"),
    "question_too_long": N_("The question is too long"),
    "prompt_too_long": N_("The question is too long"),
    "nothing_written": N_("The model wrote no answer"),
    "only_embeds": N_("This model cannot answer"),
    "too_old": N_("Ollama is too old"),
    "no_access": N_("No access to this model"),
    "bad_reply": N_("The reply could not be read"),
    "bad_request": N_("This question cannot be asked"),
}
_DEFAULT_TITLE = N_("The answer failed")
_COMMAND = re.compile(r"`((?:ollama|pip) [^`\n]+)`")


def failure_title(trace: Trace) -> str:
    """Return what went wrong, in a few words."""
    return _(_TITLES.get(trace.error_code) or _DEFAULT_TITLE)


def kept_sentence(trace: Trace) -> str:
    """Return which text is kept: the partial answer or only the question."""
    return _("The text so far is kept.") if trace.text else _("Your question is kept.")


def draw_failure(run_id: str, trace: Trace, *, last: bool) -> None:
    """Draw what happened and the remedies; nothing for a complete answer.

    The `last` answer of a conversation offers all remedies, earlier ones only “Try again”.
    """
    if trace.state == "failed":
        _draw_explanation(trace)
        if last and trace.error_code == "model_missing" and downloads.draw_download(trace.error_model):
            return
        with st.container(horizontal=True):
            _draw_remedies(run_id, trace, last=last)
    elif last and (trace.unfinished or trace.state in ("stopped", "interrupted")):
        with st.container(horizontal=True):
            _draw_continue(run_id, trace)
            if trace.usage.finish_reason != "length":  # the same limit would cut the answer again
                _draw_retry(run_id, trace.options)


def _draw_explanation(trace: Trace) -> None:
    text = (
        f"{markdown.escape_line(translate_text(trace.error))} {markdown.sanitize_answer(translate_text(trace.remedy))} "
        f"{kept_sentence(trace)}"
    )
    st.markdown(f"**{failure_title(trace)}**  \n{text}", anchors=False)


def _draw_remedies(run_id: str, trace: Trace, *, last: bool) -> None:
    """Draw the remedies, the one that fixes the cause first."""
    if last:
        _draw_continue(run_id, trace)
        _draw_model_remedy(run_id, trace)
    if trace.error_code != "consent_needed":
        _draw_retry(run_id, trace.options)
    command = _COMMAND.search(trace.remedy)
    if last and command:
        draw_copy_button(command.group(1), key=f"command-{run_id}", label=_("Copy command"))
    if trace.options.model != "builtin":
        draw_builtin_offer(run_id, trace.options)


def _draw_model_remedy(run_id: str, trace: Trace) -> None:
    """Draw the button that downloads a missing model or allows an external one."""
    model, name = trace.error_model, markdown.escape_line(translate_text(model_label(trace.error_model)), 60)
    if trace.error_code == "consent_needed":
        st.button(
            _("Allow {name}").format(name=name),
            icon=external_hosts.EXTERNAL_ICON,
            key=f"allow-{run_id}",
            on_click=allow_model_and_regenerate,
            args=(run_id, model, trace.options),
        )
    elif trace.error_code == "model_missing" and downloads.can_download(model) and not _is_downloaded(model):
        begin = downloads.start_download
        st.button(
            _("Get {name}").format(name=name),
            icon=":material/download:",
            key=f"get-{run_id}",
            on_click=begin,
            args=(model,),
        )


def _is_downloaded(model: str) -> bool:
    """Return whether a missing model has been downloaded since.

    The list of models may be a few seconds old, so the download is checked as well.
    """
    fetched = application().downloads.get(model)
    return find_by_name(model, available_models()) is not None and fetched is not None and fetched.state == "done"


def _draw_continue(run_id: str, trace: Trace) -> None:
    if trace.unfinished:
        st.button(
            _("Continue"), icon=":material/resume:", key=f"go-on-{run_id}", on_click=continue_answer, args=(run_id,)
        )


def _draw_retry(run_id: str, options: RunOptions) -> None:
    st.button(
        _("Try again"),
        icon=":material/refresh:",
        key=f"retry-{run_id}",
        on_click=regenerate_answer,
        args=(run_id, options),
    )


def draw_builtin_offer(run_id: str, options: RunOptions) -> None:
    """Draw the button that answers with the built-in engine; it stops an answer that is still being written."""
    st.button(
        _("Answer with the built-in engine"),
        icon=":material/memory:",
        key=f"builtin-{run_id}",
        on_click=stop_and_regenerate_answer,
        args=(run_id, _with_builtin_engine(options)),
    )


def _with_builtin_engine(options: RunOptions) -> RunOptions:
    """Return the same options with the built-in engine in every role."""
    return replace(options, model="builtin", grader="builtin", grader_model="", rewriter_model="", preset="")
