"""JSON format of a shared conversation: all branches, versions and events, under file-local numbers.

It holds nothing that belongs to one machine or one user: no ids, no browser keys, no folders.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from crag.events import Event
from crag.runs import QUESTION_LIMIT
from crag.types import RunState

FORMAT = "crag-conversation"
VERSION = 1
_MOST_RUNS = 20_000
_MOST_EVENTS = 50_000
_LONGEST_LINE = 2_000
LATEST = 4_102_444_800.0  # the year 2100

Number = Annotated[int, Field(ge=1, le=10**9)]
Moment = Annotated[float, Field(ge=0, le=LATEST)]  # seconds since the epoch


class _Part(BaseModel):
    """Base of all parts: strict types, no extra fields, no infinite numbers."""

    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False, frozen=True)


class SharedFeedback(_Part):
    """Feedback on an answer."""

    helpful: bool
    reason: Annotated[str, Field(max_length=_LONGEST_LINE)]
    given_at: Moment


class SharedRun(_Part):
    """One version of an answer with all of its events.

    `version_of` is the number of the first answer to the same question.
    """

    id: Number
    question: Annotated[str, Field(min_length=1, max_length=QUESTION_LIMIT)]
    state: RunState
    started_at: Moment
    version_of: Number | None
    change: Annotated[str, Field(max_length=_LONGEST_LINE)]
    gap_closed: bool
    events: Annotated[list[Annotated[Event, Field(discriminator="type")]], Field(max_length=_MOST_EVENTS)]
    feedback: SharedFeedback | None


class SharedMessage(_Part):
    """A question or an answer.

    An answer holds the text of the displayed version, `run`. `parent` is the message it follows.
    """

    id: Number
    parent: Number | None
    role: Literal["user", "assistant"]
    text: str
    created_at: Moment
    run: Number | None


class SharedConversation(_Part):
    """The whole file. `head` is the last message of the displayed branch; parents precede their children."""

    format: Literal["crag-conversation"] = "crag-conversation"
    version: Literal[1] = 1
    exported_at: Moment
    title: Annotated[str, Field(max_length=_LONGEST_LINE)]
    created_at: Moment
    updated_at: Moment
    changes: dict[str, Any]
    head: Number | None
    messages: Annotated[list[SharedMessage], Field(max_length=2 * _MOST_RUNS)]
    runs: Annotated[list[SharedRun], Field(max_length=_MOST_RUNS)]

    def shown(self) -> list[SharedMessage]:
        """Return the messages of the displayed branch, oldest first."""
        by_id = {message.id: message for message in self.messages}
        branch: list[SharedMessage] = []
        at = self.head
        while at is not None and at in by_id:
            branch.append(by_id[at])
            at = by_id[at].parent
        return branch[::-1]

    def versions(self, run: SharedRun) -> list[SharedRun]:
        """Return all versions of the answer that this run belongs to, oldest first."""
        root = run.version_of or run.id
        return [one for one in self.runs if root in (one.id, one.version_of)]
