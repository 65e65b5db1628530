"""Runs for callers of the API: started with what they ask for, and described in JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from crag.api.access import Caller
from crag.app import reports
from crag.errors import BadRequest
from crag.options import RouteName, RunOptions, WebMode
from crag.runs.run import Run
from crag.runs.trace import Trace
from crag.text.sanitization import normalize_question
from crag.types import Turn, strip_unstorable

_MAX_TEXT = 200_000  # characters of one message
Text = Annotated[str, Field(max_length=_MAX_TEXT)]


class RequestBody(BaseModel):
    """Body of a request. Its texts lose characters that not every database stores; unknown fields are refused."""

    model_config = ConfigDict(extra="forbid")

    @field_validator("*")
    @classmethod
    def _strip(cls, value: Any) -> Any:
        return strip_unstorable(value) if isinstance(value, str) else value


class AnswerOptions(RequestBody):
    """How to answer; what is left out is as saved in the settings, but the web is off."""

    collection: Annotated[str, Field(max_length=200, description="Only this collection")] = ""
    route: RouteName = "auto"
    passages: Annotated[int | None, Field(ge=1, le=50, description="How many passages to grade")] = None
    preset: Annotated[str, Field(max_length=200, description="A preset or reference system by name")] = ""


class AskOptions(AnswerOptions):
    """How to answer a question, and whether the web may be searched for it."""

    web: Annotated[Literal["off", "ask"], Field(description="ask: a query for the web waits for leave")] = "off"


def start_run(
    caller: Caller, question: str, options: AskOptions, *, conversation: str = "", history: Sequence[Turn] = ()
) -> tuple[Run, str | None]:
    """Start to answer; return the run and its conversation's id. Raises `CragError`."""
    application = caller.application
    application.library.check_collection(options.collection)
    application.runs.count_question()
    # Before a conversation is made: a refused question must not leave an empty one.
    question, chosen = normalize_question(question), build_options(caller, options, options.web)
    conversation_id = conversation or None
    if conversation == "new" or (not conversation and caller.owns_conversations):
        conversation_id = application.conversations.create().id
    run = application.runs.start(conversation_id, question, chosen, history=history)
    return run, conversation_id


def build_options(caller: Caller, options: AnswerOptions, web: WebMode = "off") -> RunOptions:
    """Return the options of a run. Raises `BadRequest` for an unknown preset."""
    preferences = caller.application.preferences
    changes: dict[str, Any] = {}
    if options.preset:
        presets = preferences.presets()
        if options.preset not in presets:
            raise BadRequest(f"There is no preset “{options.preset}”.", f"Presets: {', '.join(presets)}.")
        changes |= {**presets[options.preset], "preset": options.preset}
    chosen = replace(preferences.options(changes), web=web, collection=options.collection)
    if options.route != "auto":
        chosen = replace(chosen, route=options.route)
    return replace(chosen, k=options.passages) if options.passages else chosen


def run_json(run_id: str, trace: Trace, conversation_id: str | None = None) -> dict[str, Any]:
    """Return a run as `ask --json` prints it, with its status and, while it waits for leave, the query."""
    waiting = trace.waiting and {"query": trace.waiting.query, "host": trace.waiting.host}
    document = {"status": trace.state, "waiting": waiting, "conversation_id": conversation_id}
    return document | reports.answer_json(run_id, trace)
