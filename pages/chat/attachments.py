"""Files attached to a question: their names and ingest results below it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st

from crag.types import Message
from pages.parts import markdown
from pages.parts.resources import application
from pages.parts.results import became


@dataclass(slots=True)
class _File:
    job_id: str
    name: str
    became: str = ""


def keep(conversation_id: str, question: str, jobs: Mapping[str, str]) -> None:
    """Remember in this session the ingest jobs of a question's files; `jobs` maps job ids to file names."""
    if jobs:
        _kept()[conversation_id, question.strip()] = [_File(job_id, name) for job_id, name in jobs.items()]


def draw(question: Message) -> None:
    """Draw one line per file; results stay visible after their job was dismissed."""
    draw_of(question.conversation_id, question.text)


def draw_of(conversation_id: str, question: str) -> None:
    """Draw the files of a question that is not a message yet."""
    files = _kept().get((conversation_id, question.strip()), [])
    unfinished = {file.job_id: file for file in files if not file.became}
    for job in application().jobs.jobs() if unfinished else []:
        if job.id in unfinished and job.finished:
            unfinished[job.id].became = became(job.result) if job.result else f":gray[{job.state}]"
    for file in files:
        outcome = file.became or ":gray[is being read]"
        st.markdown(f":small[:gray[:material/attach_file: {markdown.label(file.name, 80)} ·] {outcome}]")


def _kept() -> dict[tuple[str, str], list[_File]]:
    kept: dict[tuple[str, str], list[_File]] = st.session_state.setdefault("attached", {})
    return kept
