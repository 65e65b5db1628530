"""Models of Ollama: list, load, unload, delete, download."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import streamlit as st

from crag.app.model_checks import describe_host
from crag.models.ollama_server import SUGGESTED_MODELS
from crag.options import ROLES
from crag.text.formatting import format_count, format_size
from crag.translation import _, format_list, translate_text
from pages.parts import dialogs, downloads, external_hosts, labels, markdown, option_controls
from pages.parts.layout import draw_watching
from pages.parts.services import ModelTask, application, server_monitor
from pages.parts.session import is_phone
from pages.settings import model_settings
from pages.settings.model_settings import is_server_busy, model_report, refresh_server_status, server_status

if TYPE_CHECKING:
    from crag.models.downloads import Download
    from crag.models.ollama_server import ModelReport


_OLLAMA_PREFIX = "ollama:"
_NAME_KEY = "model_to_get"


def _draw_download_form() -> None:
    """Draw the field for a model name, and where models come from."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        labels = {name: _describe_suggestion(name) for name in _suggested_models()}
        common = {"key": _NAME_KEY, "index": None, "placeholder": _("A name such as llama3.1:8b")}
        option_controls.draw_model_box(_("Get another model"), labels, common)
        st.button(_("Get it"), icon=":material/download:", on_click=_get_model)
    st.caption(_("Ollama downloads it from ollama.com to this machine. You can type any name from its library."))


def _draw_download_row(download: Download) -> None:
    name = download.name.removeprefix(_OLLAMA_PREFIX)
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute", wrap=False):
        with st.container(gap=None):
            shown = f"**{markdown.escape_line(name, 60)}**"
            st.markdown(_("Getting {model}").format(model=shown) if download.state == "running" else shown)
            downloads.draw_download_progress(download)
        with st.container(horizontal=True, width="content", gap="small"):
            downloads.draw_download_button(download.name, _("Resume"), "-listed")
            if download.state != "running":
                key = f"dismiss-{download.name}"
                st.button(_("Dismiss"), type="tertiary", key=key, on_click=_dismiss_download, args=(download.name,))


def _suggested_models() -> list[str]:
    """Return models that are not installed, the one recommended for this machine first."""
    there = {model.name.removesuffix(":latest") for model in server_status().models}
    best, _unused = application().ollama.recommended()
    return [name for name in dict.fromkeys([best, *SUGGESTED_MODELS]) if name not in there]


def _describe_suggestion(name: str) -> str:
    """Return the label of a suggestion; plain text."""
    best, _unused = application().ollama.recommended()
    fits = _(", fits this machine") if name == best else ""
    return f"{name} — {format_size(SUGGESTED_MODELS[name])}{fits}"


def _get_model() -> None:
    if name := option_controls.read_model_box(_NAME_KEY).removeprefix(_OLLAMA_PREFIX):
        downloads.start_download(f"{_OLLAMA_PREFIX}{name}")
        st.session_state[_NAME_KEY] = None


def _dismiss_download(name: str) -> None:
    application().downloads.dismiss(name)
    st.rerun()


_DOWNLOAD_LINK = "[ollama.com/download](https://ollama.com/download)"
OLLAMA_WORDS = (
    "on Ollama models load unload delete get another model download pull size context length quantization OLLAMA_HOST "
    "server version address loaded on GPU CPU cloud"
)
DELETE_MODEL_DIALOG = "delete_model"


def draw_ollama() -> None:
    """Draw the state of the server, its models and its downloads."""
    with st.container(gap="xxsmall"):
        _draw_head()
        _draw_hosts()
        with st.container(border=True):
            if not server_status().known:
                st.skeleton(height=64)
            elif server_status().fault:
                _draw_fault()
            else:
                is_busy = is_server_busy()
                draw_watching(
                    (is_busy, ""),
                    lambda: (is_server_busy(), refresh_server_status().fault),
                    downloads.REFRESH_SECONDS if is_busy else None,
                    _draw_models,
                )
                _draw_download_form()


def _draw_head() -> None:
    state, address = server_status(), markdown.escape_line(application().settings.ollama_host_label, 60)
    if not state.known:
        sign, fact = ":gray[:material/progress_activity:]", _("looking for it at {address}").format(address=address)
    elif state.fault:
        sign, fact = ":gray[:material/radio_button_unchecked:]", _("not found at {address}").format(address=address)
    else:
        version = markdown.escape_line(state.version, 20)
        sign = ":green[:material/check_circle:]"
        fact = _("{version} at {address}").format(version=version, address=address)
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.header(_("On Ollama"), anchor=False, width="content")
        if not state.hosts:  # each has a line of its own
            st.markdown(f"{sign} {labels.grey_text(fact)}", width="content")


def _draw_hosts() -> None:
    for host in server_status().hosts:
        sign = ":orange[:material/error:]" if host.fault else ":green[:material/check_circle:]"
        state = markdown.escape_line(translate_text(describe_host(host)))
        st.markdown(f"{sign} {markdown.escape_line(host.label, 60)} {labels.grey_text(state)}")


def _draw_fault() -> None:
    state = server_status()
    if not state.silent:
        st.markdown(markdown.sanitize_answer(translate_text(f"{state.fault} {state.remedy}")))
        return
    st.markdown(
        markdown.escape_line(_("{fault} If it is installed, start it with:").format(fault=translate_text(state.fault)))
    )
    st.code("ollama serve", language="bash")
    where = _(
        "{download_link} has it for every system. To use another address, set OLLAMA_HOST. This page updates by itself."
    )
    # A caption would be too pale for its link.
    st.markdown(labels.grey_text(where.format(download_link=_DOWNLOAD_LINK)))


def _draw_models() -> None:
    there = server_status().models
    with st.container(gap="small"):
        for model in there:
            _draw_model(model)
        if not there:
            st.caption(_("No models yet."))
        for download in application().downloads.all():
            if download.name.startswith(_OLLAMA_PREFIX) and download.state != "done":
                _draw_download_row(download)


def _draw_model(model: ModelReport) -> None:
    work = server_monitor().work(model.name)
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute", wrap=is_phone()):
        with st.container():
            st.markdown(
                f"**{markdown.escape_line(model.name, 60)}** {labels.grey_text(_model_facts(model))} "
                f"{_model_badges(model)}"
            )
        with st.container(horizontal=True, width="content", gap="small"):
            _draw_model_actions(model, work)
    if work is not None and work.fault:
        st.markdown(f":small[:orange[:material/error:] {markdown.sanitize_answer(translate_text(work.fault))}]")


def _model_facts(model: ModelReport) -> str:
    """Return the facts on a model; safe Markdown."""
    context = format_count(model.context_length, "token") if model.context_length else ""
    size = "" if model.cloud else format_size(model.size)
    facts = [model.parameters, model.quantization, context, size, _("embedding model") if model.embeds else ""]
    parts = [markdown.escape_line(fact) for fact in facts if fact]
    if model.loaded:
        where = _("loaded on {processor}").format(processor=model.processor) if model.processor else _("loaded")
        parts.append(f":green[{markdown.escape_line(where)}]")
    return " · ".join(parts)


def _model_badges(model: ModelReport) -> str:
    """Return badges for the model's host and for the roles that it plays."""
    marks = (
        [
            _(":orange-badge[{external_icon} runs at {host}]").format(
                external_icon=external_hosts.EXTERNAL_ICON, host=markdown.escape_line(model.host, 40)
            )
        ]
        if model.cloud
        else []
    )
    roles = [role for role in ROLES if model_report(model_settings.model_in_role(role)) == model]
    if roles:
        marks.append(
            _(":blue-badge[used for {value}]").format(
                value=_("all") if len(roles) == len(ROLES) else format_list([_(role.title()) for role in roles], "and")
            )
        )
    return " ".join(marks)


def _draw_model_actions(model: ModelReport, work: ModelTask | None) -> None:
    if work is not None and not work.fault:
        st.markdown(
            labels.grey_text(
                _("{word}, {monotonic:.0f} s so far").format(word=work.word, monotonic=time.monotonic() - work.since)
            ),
            width="content",
        )
        return
    if not model.cloud:
        word, act = (_("Unload"), _unload_model) if model.loaded else (_("Load"), _load_model)
        st.button(word, type="tertiary", key=f"{word}-{model.name}", on_click=act, args=(model.name,))
    asked = (DELETE_MODEL_DIALOG, model.name)
    st.button(
        _("Delete"), type="tertiary", key=f"delete-{model.name}", on_click=dialogs.open_dialog_from_fragment, args=asked
    )


def _load_model(name: str) -> None:
    server_monitor().begin(name, "loading", application().load_model)
    st.rerun()  # starts the refresh every second


def _unload_model(name: str) -> None:
    server_monitor().begin(name, "unloading", application().ollama.unload)
    st.rerun()


def draw_delete_model_dialog(name: str) -> None:
    """Draw the confirmation before a model is deleted."""
    dialogs.confirm(
        _("Delete model?"),
        lambda: _draw_deleted_model(name),
        _("Delete"),
        lambda: server_monitor().begin(name, "deleting", application().ollama.delete),
    )


def _draw_deleted_model(name: str) -> None:
    model = next((model for model in server_status().models if model.name == name), None)
    size = f", {format_size(model.size)}" if model is not None and not model.cloud else ""
    st.markdown(
        _("**{name}**{size} will be removed from Ollama, for every program that uses it.").format(
            name=markdown.escape_line(name, 60), size=size
        )
    )
    st.caption(_("Your documents and conversations are kept. To use it again, download it again."))
