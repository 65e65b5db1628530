"""A conversation as it stands in a file: all branches, versions and events, under numbers that mean nothing elsewhere.

What belongs to one machine or one person (ids, keys of browsers, folders) is not in it.
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
    """Nothing is guessed: a value of another type, a field too many and an infinite number are refused."""

    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False, frozen=True)


class SharedFeedback(_Part):
    """What was said of an answer."""

    helpful: bool
    reason: Annotated[str, Field(max_length=_LONGEST_LINE)]
    given_at: Moment


class SharedRun(_Part):
    """One version of an answer, with all that happened in it. `version_of` is the first answer to the same question."""

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
    """A question, or the answer to it: the text of the version that is shown, `run`. `parent` is what it follows."""

    id: Number
    parent: Number | None
    role: Literal["user", "assistant"]
    text: str
    created_at: Moment
    run: Number | None


class SharedConversation(_Part):
    """The whole file. `head` is the last message of the branch that is shown; parents come before what follows them."""

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
        """The messages of the branch that is shown, the first first."""
        by_id = {message.id: message for message in self.messages}
        branch: list[SharedMessage] = []
        at = self.head
        while at is not None and at in by_id:
            branch.append(by_id[at])
            at = by_id[at].parent
        return branch[::-1]

    def versions(self, run: SharedRun) -> list[SharedRun]:
        """Every version of the answer that this run is one of, the first first."""
        root = run.version_of or run.id
        return [one for one in self.runs if root in (one.id, one.version_of)]
