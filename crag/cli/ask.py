"""Commands that answer and grade: ask, grade."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from crag.app import reports
from crag.app.application import Application
from crag.cancellation import Cancellation
from crag.cli.arguments import (
    FAILED,
    OK,
    AddCommand,
    add_run_arguments,
    build_run_options,
    parse_text,
)
from crag.cli.terminal import ask_consent, print_json, print_result, print_text
from crag.errors import BadRequest
from crag.events import TokensWritten
from crag.graph.policy import NOBODY_TO_ASK
from crag.options import GRADERS, RunOptions
from crag.runs.run import Run
from crag.runs.trace import Trace
from crag.text.jsonl import read_json_lines
from crag.translation import _, translate_text
from crag.types import Conversation, Passage

_NEW = "new"  # a conversation id that stands for one to be started


def register(command: AddCommand) -> None:
    """Add the parsers of these commands."""
    asking = command("ask", ask_question)
    asking.add_argument("question", type=parse_text, help="question to answer")
    add_run_arguments(asking)
    asking.add_argument(
        "--conversation", type=parse_text, metavar="ID", help="conversation to continue, or new to start one"
    )
    grading = command("grade", grade_pairs)
    grading.add_argument("file", type=Path, metavar="FILE.jsonl", help='one {"question", "passage"} per line')
    grading.add_argument("--model", type=parse_text, default="auto", help="model that grades (default: %(default)s)")
    grading.add_argument(
        "--grader", choices=GRADERS, default="auto", help="how passages are graded (default: %(default)s)"
    )


def ask_question(application: Application, options: argparse.Namespace) -> int:
    """Answer a question, then list the sources."""
    application.library.check_collection(options.collection)
    wanted = options.conversation
    if wanted is None and options.account:
        wanted = _NEW  # what a person asks is in a conversation of theirs
    conversation = _open_conversation(application, wanted)
    conversation_id = conversation.id if conversation else None
    run_options = build_run_options(application, options, conversation.changes if conversation else {})
    run = application.runs.start(conversation_id, options.question, run_options)
    try:
        trace = _follow_run(application, run, options.json)
    except KeyboardInterrupt:
        application.runs.stop(run.id)
        trace = Trace().apply_all(event for _number, event in application.runs.attach(run.id).follow())
    if options.json:
        print_json(reports.answer_json(run.id, trace) | {"conversation_id": conversation_id})
    else:
        if trace.text:
            print_text("")
        if listed := reports.sources_text(trace):
            print_text(f"\n{listed}")
        if options.conversation == _NEW:
            print(
                _("Continue with: --conversation {conversation_id}").format(conversation_id=conversation_id),
                file=sys.stderr,
            )
        if trace.outcome == "not_answered" and not trace.searched:
            print(_("To add a document here: python -m crag add FILE"), file=sys.stderr)
        if trace.error:
            print(reports.printable(translate_text(f"{trace.error} {trace.remedy}")), file=sys.stderr)
    return OK if trace.state == "done" else FAILED


def _open_conversation(application: Application, wanted: str | None) -> Conversation | None:
    """Return the conversation with this id, a new one, or None for a question on its own. Raises `NotFound`."""
    if wanted is None:
        return None
    return application.conversations.create() if wanted == _NEW else application.conversations.get(wanted)


def _follow_run(application: Application, run: Run, as_json: bool) -> Trace:
    """Return the trace of a finished run; prompt the user if it waits for consent."""
    trace, seen = Trace(), 0
    while True:
        for number, event in run.follow(after=seen):
            seen = number
            trace.apply(event)
            if isinstance(event, TokensWritten) and not as_json:
                print(reports.printable(event.text), end="", flush=True)
        if trace.waiting is None:
            return trace
        run = _answer_consent(application, run.id, trace.waiting.query)


def _answer_consent(application: Application, run_id: str, query: str) -> Run:
    if sys.stdin and sys.stdin.isatty():
        return application.runs.answer_consent(run_id, ask_consent(query))
    return application.runs.answer_consent(run_id, None, NOBODY_TO_ASK)


def grade_pairs(application: Application, options: argparse.Namespace) -> int:
    """Grade the (question, passage) pairs of a JSON Lines file, to measure a grader."""
    from crag.text.relevance_scores import CountedTermStatistics

    questions = read_question_passage_pairs(options.file)
    name = application.answering(RunOptions(model=options.model))
    application.preferences.allow_model_for_process(name)
    texts = (passage.text for rows in questions.values() for _index, passage in rows)
    grader = application.engines.grader(name, CountedTermStatistics(texts), options.grader)
    grades: list[Any] = [None] * sum(len(rows) for rows in questions.values())
    for question, rows in questions.items():
        for index, given in grader.grade(question, [passage for _index, passage in rows], Cancellation()):
            grades[rows[index][0]] = reports.grade_json(given, grader.thresholds)
    print_result(options.json, {"grades": grades}, "\n".join(f"{one['score']}  {one['verdict']}" for one in grades))
    return OK


NumberedPassage = tuple[int, Passage]


def read_question_passage_pairs(file: Path) -> dict[str, list[NumberedPassage]]:
    """Read the lines `{"question", "passage"}` of a JSON Lines file by question, each with its index from 0.

    Raises `BadRequest`, which names the line, if one cannot be read.
    """
    questions: dict[str, list[NumberedPassage]] = {}
    for index, (number, row) in enumerate(read_json_lines(file)):
        question, text = row.get("question"), row.get("passage")
        if not isinstance(question, str) or not isinstance(text, str):
            raise BadRequest(f"Line {number}: question and passage must be text.", "Fix it and try again.")
        passage = Passage(id=index + 1, source_id="", title="", location="", text=text, context=text)
        questions.setdefault(question, []).append((index, passage))
    return questions
