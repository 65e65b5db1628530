"""Commands that answer and grade: ask, grade."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any, get_args

from crag import reports
from crag.assembly import Application
from crag.commands.arguments import FAILED, OK, AddCommand, check_collection, text
from crag.commands.run_options import add_run_arguments, run_options
from crag.events import TokensWritten
from crag.graph.consent import NOBODY
from crag.options import GraderKind, RunOptions
from crag.runs import Trace
from crag.runs.run import Run
from crag.stopping import Stop
from crag.terminal import ask_consent, finish, print_json, say


def register(command: AddCommand) -> None:
    """Add the parsers of these commands."""
    asking = command("ask", ask)
    asking.add_argument("question", type=text)
    add_run_arguments(asking)
    asking.add_argument("--conversation", type=text, metavar="ID")
    grading = command("grade", grade)
    grading.add_argument("file", type=Path, metavar="FILE.jsonl")
    grading.add_argument("--model", type=text, default="auto", help="the model that grades")
    grading.add_argument("--grader", choices=get_args(GraderKind), default="auto")


def ask(application: Application, options: argparse.Namespace) -> int:
    """Answers one question; the answer streams, then come the sources."""
    check_collection(application, options.collection)
    kept = application.conversations.get(options.conversation).changes if options.conversation else {}
    run = application.runs.start(options.conversation, options.question, run_options(application, options, kept))
    try:
        trace = _follow(application, run, options.json)
    except KeyboardInterrupt:
        application.runs.stop(run.id)
        trace = Trace().apply_all(event for _, event in application.runs.attach(run.id).follow())
    if options.json:
        print_json(reports.answer(run.id, trace))
    else:
        say(f"\n\n{reports.sources_text(trace)}")
        if trace.error:
            print(reports.printable(f"{trace.error} {trace.remedy}"), file=sys.stderr)
    return OK if trace.state == "done" else FAILED


def _follow(application: Application, run: Run, as_json: bool) -> Trace:
    """Return the trace of a finished run; prompt the user if it waits for consent."""
    trace, seen = Trace(), 0
    while not run.ended:
        for number, event in run.follow(after=seen):
            seen = number
            trace.apply(event)
            if isinstance(event, TokensWritten) and not as_json:
                print(reports.printable(event.text), end="", flush=True)
        if trace.waiting:
            run = _decide(application, run.id, trace.waiting.query)
    return trace


def _decide(application: Application, run_id: str, query: str) -> Run:
    if sys.stdin and sys.stdin.isatty():
        return application.runs.answer_consent(run_id, ask_consent(query))
    return application.runs.answer_consent(run_id, None, NOBODY)


def grade(application: Application, options: argparse.Namespace) -> int:
    """Grades (question, passage) pairs of a JSON Lines file: the grader alone, for measuring it."""
    from crag.grading.batch import read_pairs
    from crag.scoring import CountedTerms

    questions = read_pairs(options.file)
    name = application.answering(RunOptions(model=options.model))
    application.preferences.allow_model_here(name)
    texts = (passage.text for rows in questions.values() for _, passage in rows)
    grader = application.engines.grader(name, CountedTerms(texts), options.grader)
    grades: list[Any] = [None] * sum(len(rows) for rows in questions.values())
    for question, rows in questions.items():
        for index, given in grader.grade(question, [passage for _, passage in rows], Stop()):
            grades[rows[index][0]] = reports.grade(given, grader.thresholds)
    finish(options.json, {"grades": grades}, "\n".join(f"{one['score']}  {one['verdict']}" for one in grades))
    return OK
