"""Where questions and passages would go on other machines: said wherever that can happen."""

from __future__ import annotations

import streamlit as st

from crag.errors import CragError
from crag.models.choice import destination
from crag.options import RunOptions
from pages.parts import markdown
from pages.parts.resources import application, models

ICON = ":material/arrow_circle_up:"


def destinations(options: RunOptions) -> list[str]:
    """The hosts and providers of the models that play a role under these options; empty on this machine."""
    app = application()
    try:
        cast = app.engines.cast(app.answering(options), options)
    except CragError:  # such settings answer nothing
        return []
    known = {model.name: model.host for model in models()}
    names = dict.fromkeys(role.model for role in (cast.answering, cast.grading, cast.rewriting))
    hosts = (known.get(name) or destination(name, app.settings) for name in names)
    return [host for host in dict.fromkeys(hosts) if host]


def draw(options: RunOptions) -> None:
    """The standing sign; nothing where all stays on this machine."""
    if hosts := destinations(options):
        where = " and ".join(markdown.label(host, 60) for host in hosts)
        st.caption(f":orange[{ICON}] Questions and passages go to {where}", width="content")
