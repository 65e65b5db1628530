"""Hosts outside this machine that questions and passages would go to."""

from __future__ import annotations

import streamlit as st

from crag.errors import CragError
from crag.models.destinations import external_host
from crag.models.model_choice import model_label
from crag.models.ollama_api import find_by_name
from crag.options import RunOptions
from crag.translation import _, format_list, translate_text
from pages.parts import labels, markdown
from pages.parts.services import answering_model, application, available_models

EXTERNAL_ICON = ":material/cloud_upload:"


def model_host(name: str) -> str:
    """Return the host or provider that receives this model's prompts; empty on this machine."""
    if name in ("", "auto"):
        return ""
    known = find_by_name(name, available_models())
    return known.host if known else external_host(name, application().settings)


def model_with_host(name: str) -> str:
    """Return a model's name, with icon and host if it runs elsewhere; safe Markdown."""
    host = model_host(name)
    mark = (
        labels.grey_text(
            _("{external_icon} runs at {host}").format(external_icon=EXTERNAL_ICON, host=markdown.escape_line(host, 60))
        )
        if host
        else ""
    )
    return f"{markdown.escape_line(translate_text(model_label(name)), 60)} {mark}".strip()


def _model_hosts(options: RunOptions) -> dict[str, bool]:
    """Return the external hosts of all model roles under these options, each with its permission to send."""
    app = application()
    try:
        assigned = app.engines.assign_roles(answering_model(options), options)
    except CragError:  # no model can answer under these options
        return {}
    hosts: dict[str, bool] = {}
    for role in (assigned.answering, assigned.grading, assigned.rewriting):
        if host := model_host(role.model):
            hosts[host] = hosts.get(host, True) and app.engines.may_send(role.model, host)
    return hosts


def draw_external_hosts(options: RunOptions) -> None:
    """Draw a permanent notice of external hosts; nothing if everything stays on this machine."""
    hosts = _model_hosts(options)
    if application().traces.on:
        hosts[application().settings.langsmith.host] = True
    if not hosts:
        return
    where = format_list([markdown.escape_line(host, 60) for host in hosts], "and")
    said = (
        _("go to {where}").format(where=where)
        if all(hosts.values())
        else _("would go to {where}; you are asked first").format(where=where)
    )
    st.caption(
        _(":orange[{external_icon}] Questions and passages {said}").format(external_icon=EXTERNAL_ICON, said=said),
        width="content",
    )
