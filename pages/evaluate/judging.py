"""Choice of the judge model, before an evaluation or for a finished one."""

from __future__ import annotations

import streamlit as st

from pages.parts import away, dialogs, markdown, refusals
from pages.parts.person import person
from pages.parts.resources import application, models

JUDGE = "have an evaluation judged"
WHAT_GOES = "To be judged, questions, references and answers go"
HELP = "A model that is shown the reference and says how right the answer is, and why."


def judges() -> dict[str, str]:
    """Return labels of the models that can judge now, by model name."""
    return {
        model.name: f"{model.label} (runs elsewhere)" if model.cloud else model.label
        for model in models()
        if not model.builtin
    }


def draw_dialog(evaluation_id: str) -> None:
    """Draw the dialog that has existing answers judged."""
    st.dialog("Have it judged", icon=":material/gavel:", on_dismiss=dialogs.close)(_draw)(evaluation_id)


def _draw(evaluation_id: str) -> None:
    found = judges()
    if not found:
        st.caption("Judging needs a language model: start Ollama, or name one under Settings, Models.")
        return
    model = st.selectbox("Judge", list(found), format_func=lambda name: found.get(name, name), help=HELP)
    if host := away.of_model(model):
        st.markdown(f":orange[{away.ICON}] {WHAT_GOES} to **{markdown.label(host, 60)}**.")
    if st.button("Allow and judge" if host else "Judge", icon=":material/gavel:", key="judge-evaluation"):
        if host:
            application().preferences.allow_model(model)
        with refusals.kept():
            application().evaluations.get(evaluation_id, person())
            application().evaluations.judge(evaluation_id, model)
        dialogs.close_and_redraw()
