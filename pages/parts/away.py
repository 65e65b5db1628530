"""Hosts outside this machine that questions and passages would go to."""

from __future__ import annotations

import streamlit as st

from crag.errors import CragError
from crag.models.choice import destination, model_label
from crag.models.ollama.administration import named
from crag.options import RunOptions
from pages.parts import markdown, words
from pages.parts.resources import answering, application, models

ICON = ":material/cloud_upload:"


def of_model(name: str) -> str:
    """Return the host or provider that receives this model's prompts; empty on this machine."""
    if name in ("", "auto"):
        return ""
    known = named(name, models())
    return known.host if known else destination(name, application().settings)


def marked(name: str) -> str:
    """Return a model's name, with icon and host if it runs elsewhere; safe Markdown."""
    host = of_model(name)
    mark = words.grey(f"{ICON} runs at {markdown.label(host, 60)}") if host else ""
    return f"{markdown.label(model_label(name), 60)} {mark}".strip()


def destinations(options: RunOptions) -> dict[str, bool]:
    """Return the external hosts of all model roles under these options, each with its permission to send."""
    app = application()
    try:
        cast = app.engines.cast(answering(options), options)
    except CragError:  # no model can answer under these options
        return {}
    hosts: dict[str, bool] = {}
    for role in (cast.answering, cast.grading, cast.rewriting):
        if host := of_model(role.model):
            hosts[host] = hosts.get(host, True) and app.engines.may_send(role.model, host)
    return hosts


def draw(options: RunOptions) -> None:
    """Draw a permanent notice of external hosts; nothing if everything stays on this machine."""
    hosts = destinations(options)
    if application().traces.on:
        hosts[application().settings.langsmith.host] = True
    if not hosts:
        return
    where = " and ".join(markdown.label(host, 60) for host in hosts)
    said = f"go to {where}" if all(hosts.values()) else f"would go to {where}: you are asked first"
    st.caption(f":orange[{ICON}] Questions and passages {said}", width="content")
