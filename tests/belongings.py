"""One of everything that a user can own, made through the services; each text of theirs contains one word."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace

from sqlalchemy import update

from crag.app.application import Application
from crag.evaluation.types import Dataset, Evaluation, EvaluationPlan, EvaluationResult, Variant
from crag.options import RunOptions
from crag.runs.run import Run
from crag.sharing.notes import Note
from crag.storage.api_tokens import ApiToken
from crag.storage.outbound_log import on_behalf_of
from crag.storage.tables import sources
from crag.types import Conversation
from tests.waiting import PATIENCE, wait_until

WORD = "zanzibar"
ANN, BEN = "a" * 64, "b" * 64
OFF = RunOptions(web="off")
NOTES = b"The grinder is cleaned on Fridays. Beans are ordered from Lisbon on the first Monday of each month.\n"
PAGE = {
    "title": "The ferry",
    "url": "http://127.0.0.1:9/ferry",
    "content": f"The {WORD} ferry leaves from pier nine.",
    "score": 0.9,
}
"""What a web search must find; nothing answers at this address."""


@dataclass(frozen=True)
class Belongings:
    """`conversation` has an edited question and an answer with several `versions`, `run` being the first.

    `pending` has a run that waits for consent, and two queued questions. `deleted` can still be restored.
    """

    conversation: Conversation
    run: Run
    versions: tuple[str, ...]
    question_id: int
    passage_id: int
    unanswered: Run
    closed: Run
    searched: Run
    pending: Conversation
    waiting: Run
    queued_id: int
    deleted: Conversation
    dataset: Dataset
    evaluation: Evaluation
    result: EvaluationResult
    note: Note
    link_id: str
    token: ApiToken


def make_belongings(app: Application, user: str) -> Belongings:
    """Make one of everything. The web search must be a double that finds `PAGE`."""
    for text in (NOTES, NOTES[::-1]):
        app.library.pipeline.add_bytes("notes.md", text)
    own = app.for_user(user)
    asked = _ask_in_versions(own)
    others = [_ask(own, f"Who {did} the {WORD} bridge?") for did in ("painted", "sold", "left")]
    closed, unanswered = others[0][1], others[1][1]
    own.gaps.close([closed.id])
    own.conversations.delete(others[2][0].id)
    _, searched = _ask(own, f"Where is the {WORD} ferry?", RunOptions(web="auto"))
    with app.database.write() as connection:
        connection.execute(update(sources).values(found_by=f"Where is the {WORD} ferry?"))
    pending, waiting = _ask(own, f"When is the {WORD} ferry?", RunOptions(web="ask"))
    for question in (f"Why {WORD}?", f"Why not {WORD}?"):
        own.queue.submit(pending.id, question)
    own.datasets.pins.pin_answer(asked.run.id, f"On {WORD} Friday")
    own.datasets.pins.pin_passage(asked.run.id, asked.passage_id)
    dataset = own.datasets.add(f"{WORD} set", f'{{"question": "When is the {WORD} grinder cleaned?"}}'.encode())
    for _ in range(2):
        own.evaluations.rename(own.regression.run().id, f"{WORD} test questions")
        wait_until_done(own)
    evaluation = own.evaluations.begin(EvaluationPlan(dataset, (Variant("as it is", OFF),)))
    wait_until_done(own)
    (result,) = own.evaluations.results(evaluation.id)
    own.evaluations.label(evaluation.id, result, True)
    note = own.notes.keep_answer(asked.run.id)
    link_id = own.sharing.create_link(asked.conversation.id)
    token, _ = own.api_tokens.make(f"{WORD} editor", ["read"])
    with on_behalf_of(user):
        app.outbound_log.record("example.org", "model", f"About {WORD}")
    return Belongings(
        **vars(asked),
        unanswered=unanswered,
        closed=closed,
        searched=searched,
        pending=pending,
        waiting=waiting,
        queued_id=own.queue.questions(pending.id)[-1].id,
        deleted=others[2][0],
        dataset=dataset,
        note=note,
        link_id=link_id,
        token=token,
        evaluation=own.evaluations.get(evaluation.id),
        result=own.evaluations.results(evaluation.id)[0],
    )


def wait_until_done(app: Application) -> None:
    """Wait for the documents and the latest evaluation under way."""
    wait_until(lambda: not app.jobs.active and not any(one.is_active for one in app.evaluations.list(1)))


def finish(run: Run | None) -> Run | None:
    """Wait until the run has ended or waits for the user."""
    if run is not None:
        list(run.follow(seconds=PATIENCE))
    return run


def _ask(own: Application, question: str, options: RunOptions = OFF) -> tuple[Conversation, Run]:
    conversation = own.conversations.create()
    run = own.runs.start(conversation.id, question, options)
    finish(run)
    return own.conversations.get(conversation.id), run


def _ask_in_versions(own: Application) -> SimpleNamespace:
    conversation, run = _ask(own, f"When is the {WORD} grinder cleaned?")
    question_id = own.conversations.messages(conversation.id)[0].id
    other = own.runs.regenerate(run.id, RunOptions(web="off", k=2))
    finish(other)
    passage_id = next(iter(own.runs.trace(other.id).verdicts))
    finish(own.runs.overrule(other.id, {passage_id: "drop"}))
    finish(own.runs.edit(question_id, f"When is the {WORD} grinder cleaned again?", OFF))
    own.conversations.give_feedback(run.id, helpful=False, reason=f"No {WORD}")
    versions = tuple(one.run_id for one in own.runs.versions(run.id))
    return SimpleNamespace(
        conversation=conversation, run=run, versions=versions, question_id=question_id, passage_id=passage_id
    )
