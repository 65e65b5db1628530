"""The commands that answer and judge: ask, grade."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any, get_args

from crag import reports
from crag.assembly import Application
from crag.commands.arguments import FAILED, OK, AddCommand, check_collection, count, text
from crag.errors import BadRequest
from crag.events import TokensWritten
from crag.graph.consent import NOBODY
from crag.options import Changes, GraderKind, PolicyName, RunOptions, WebMode, with_changes
from crag.runs import Trace
from crag.runs.run import Run
from crag.stopping import Stop
from crag.terminal import ask_consent, finish, print_json, say


def register(command: AddCommand) -> None:
    """Adds the parsers of these commands."""
    _add_ask_arguments(command("ask", ask))
    grading = command("grade", grade)
    grading.add_argument("file", type=Path, metavar="FILE.jsonl")
    grading.add_argument("--model", type=text, default="auto", help="the model that grades")
    grading.add_argument("--grader", choices=get_args(GraderKind), default="auto")


def ask(application: Application, options: argparse.Namespace) -> int:
    """Answers one question; the answer streams, then come the sources."""
    check_collection(application, options.collection)
    run = application.runs.start(options.conversation, options.question, _run_options(application, options))
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
    """The trace of a run at its end; whoever sits at the terminal is asked when it waits for consent."""
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


def _run_options(application: Application, options: argparse.Namespace) -> RunOptions:
    """What was given, over the preset, the conversation and what was saved; the web only where it was named here."""
    names = ("model", "k", "policy", "web", "grader", "grader_model", "rewriter_model")
    given = {name: getattr(options, name) for name in names}
    changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if options.no_refine:
        changes["refine"] = False
    if options.fetch_pages:
        changes["fetch_pages"] = True
    for name in ("model", "grader_model", "rewriter_model"):
        if given[name]:
            application.preferences.allow_model_here(given[name])
    kept = application.conversations.get(options.conversation).changes if options.conversation else {}
    chosen = application.preferences.options({**kept, "web": "off", **_preset(application, options.preset)})
    return with_changes(chosen, {**changes, "collection": options.collection})


def _preset(application: Application, name: str | None) -> Changes:
    if name is None:
        return {}
    presets = application.preferences.presets()
    if name not in presets:
        raise BadRequest(f"There is no preset called “{name}”.", f"There are: {', '.join(presets)}.")
    return {**presets[name], "preset": name}


def _add_ask_arguments(asking: argparse.ArgumentParser) -> None:
    asking.add_argument("question", type=text)
    asking.add_argument("-k", type=count, help="how many passages to retrieve (default: 4)")
    asking.add_argument("--model", type=text, help="auto, builtin, ollama:NAME or PROVIDER:NAME")
    asking.add_argument("--grader", choices=get_args(GraderKind), help="how passages are judged (default: auto)")
    asking.add_argument("--grader-model", type=text, help="what judges them (default: the model that answers)")
    asking.add_argument("--rewriter-model", type=text, help="what writes questions anew (default: as above)")
    asking.add_argument("--policy", choices=get_args(PolicyName))
    asking.add_argument("--web", choices=get_args(WebMode), help="default: off")
    asking.add_argument("--fetch-pages", action="store_true", help="read the pages that a web search found in full")
    asking.add_argument("--no-refine", action="store_true", help="give whole passages to the model, not strips")
    asking.add_argument("--collection", type=text, default="")
    asking.add_argument("--conversation", type=text, metavar="ID")
    asking.add_argument("--preset", type=text, metavar="NAME", help="a known variant, or settings that were saved")
