"""Bottom of the page: chips, Stop during a run, and the question box."""

from __future__ import annotations

from typing import Literal

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from crag.runs import QUESTION_LIMIT
from crag.runs.run import Run
from pages.chat import chips, state
from pages.chat.questions import BOX, stop, submitted
from pages.parts import away
from pages.parts.adding import UPLOAD_TYPES
from pages.parts.device import is_phone
from pages.parts.resources import application


def draw(active: Run | None, *, waits: bool) -> DeltaGenerator:
    """Draw the bottom bar and return the row of chips, where invisible elements take no space.

    On a phone the chips wrap, since a clipped row would hide the last ones, and Stop has no Esc shortcut. `waits`
    means that the active run waits for consent: further questions are asked after it.
    """
    options = state.options()
    with st.bottom:
        away.draw(options)
        with st.container(horizontal=True, vertical_alignment="center", wrap=False):
            gap: Literal["xsmall", "small"] = "xsmall" if is_phone() else "small"
            row = st.container(horizontal=True, wrap=is_phone(), vertical_alignment="center", gap=gap)
            with row:
                chips.draw(options)
            if active is not None:
                icon = ":material/stop_circle:"
                shortcut = None if is_phone() else "Esc"
                st.button("Stop", icon=icon, shortcut=shortcut, key="stop", on_click=stop, args=(active.id,))
        st.chat_input(
            "Decide about the web search first" if waits else "Ask your documents",
            key=BOX,
            accept_file="multiple",
            file_type=UPLOAD_TYPES,
            max_upload_size=application().settings.max_upload_mb,
            submit_mode="submit",
            max_chars=QUESTION_LIMIT,
            on_submit=submitted,
        )
    return row
