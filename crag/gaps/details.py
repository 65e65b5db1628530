"""Details of runs that their summaries lack: the standalone question, and the web pages that the answer cites."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, or_, select

from crag.database.tables import events
from crag.events import AnswerWritten, QuestionCondensed, decode
from crag.foreign_text import is_web_address
from crag.gaps.values import GapPage
from crag.runs.trace import Trace

_AT_ONCE = 500
_READ = or_(*(events.c.body.like(f'%"type":"{kind}"%') for kind in ("question_condensed", "answer_written")))


@dataclass(frozen=True, slots=True)
class Details:
    """Details of one run: `meant` is the standalone question, empty if the question stood alone from the start."""

    meant: str = ""
    pages: tuple[GapPage, ...] = ()


def read_details(connection: Connection, run_ids: Sequence[str]) -> dict[str, Details]:
    """Read the details of these runs, from only two events of each."""
    traces = {run_id: Trace() for run_id in run_ids}
    for start in range(0, len(run_ids), _AT_ONCE):
        chosen = events.c.run_id.in_(run_ids[start : start + _AT_ONCE])
        for row in connection.execute(select(events.c.run_id, events.c.body).where(chosen, _READ)):
            event = decode(row.body)
            if isinstance(event, AnswerWritten | QuestionCondensed):
                traces[row.run_id].apply(event)
    return {run_id: Details(trace.condensed, _pages(trace)) for run_id, trace in traces.items()}


def _pages(trace: Trace) -> tuple[GapPage, ...]:
    cited = [cited for cited in trace.citations if cited.origin == "web" and is_web_address(cited.location)]
    return tuple(GapPage(*page) for page in dict.fromkeys((one.title, one.location) for one in cited))
