"""The command line: the contract's commands over the same services that the pages use."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

from crag import reports
from crag.assembly import Application, open_application
from crag.errors import BadRequest, CragError
from crag.events import TokensWritten
from crag.graph.presets import PRESETS
from crag.runs import Trace
from crag.stopping import Stop
from crag.terminal import ask_consent, finish, prepare_output, print_json, progress_shower, report_failure, say
from crag.types import DEFAULT_COLLECTION, PolicyName, RunOptions, WebMode

OK, FAILED, USAGE = 0, 1, 2
Command = Callable[[Application, argparse.Namespace], int]


def main(arguments: Sequence[str]) -> int:
    """Runs one command; returns its exit code: 0 all done, 1 something was refused or failed, 2 usage."""
    as_json = "--json" in arguments
    prepare_output(as_json)
    try:
        options = _parser().parse_args(arguments)
    except SystemExit as usage:
        if usage.code in (0, None):
            return OK
        if as_json:
            print_json({"error": {"code": "usage", "message": "The command was not understood; see --help."}})
        return USAGE
    try:
        return _run(options)
    except CragError as error:
        report_failure(error.code, str(error), as_json)
        return FAILED
    except BrokenPipeError:  # whoever read our output has left; what is still held back must not be written either
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except Exception:  # the last line of defence: logged, and shown as a fault
        logging.getLogger(__name__).exception("A command failed in a way nobody foresaw")
        report_failure("bug", "Something went wrong inside the application. Try again.", as_json)
        return FAILED


def _run(options: argparse.Namespace) -> int:
    command: Command = options.command
    application = open_application(home=options.home)
    try:
        return command(application, options)
    finally:
        application.close()


def add(application: Application, options: argparse.Namespace) -> int:
    """Adds files, folders and web addresses."""
    results = []
    for spec in options.sources:
        progress = progress_shower(spec)
        for result in application.library.add(spec, collection=options.collection, progress=progress):
            results.append(result)
            if not options.json:
                say(reports.added_text(result))
    if options.json:
        print_json({"sources": [reports.added(result) for result in results]})
    return FAILED if any(result.error for result in results) or not results else OK


def list_sources(application: Application, options: argparse.Namespace) -> int:
    """Lists what was added."""
    _check_collection(application, options.collection)
    sources = application.library.sources(options.collection)
    if options.json:
        print_json({"sources": [reports.source(source) for source in sources]})
    for source in sources if not options.json else ():
        say(f"{source.id}  {source.title}  ({source.kind}, {source.collection}, {source.passages} passages)")
    return OK


def remove(application: Application, options: argparse.Namespace) -> int:
    """Removes documents by id; nothing is removed when one id is unknown."""
    _check_known(application, options.ids, "removed")
    application.library.remove(options.ids)
    finish(options.json, {"removed": options.ids}, f"Removed {len(options.ids)}.")
    return OK


def refresh(application: Application, options: argparse.Namespace) -> int:
    """Reads or fetches documents again and replaces those that changed."""
    _check_known(application, options.ids, "refreshed")
    results = application.library.refresh(options.ids or None)
    lines = "\n".join(reports.added_text(result) for result in results)
    finish(options.json, {"sources": [reports.added(result) for result in results]}, lines)
    return FAILED if any(result.error for result in results) else OK


def search(application: Application, options: argparse.Namespace) -> int:
    """Finds the nearest passages without asking a model."""
    _check_collection(application, options.collection)
    hits = application.library.search(options.query, options.k, options.collection)
    lines = (f"{hit.score:.3f}  {hit.title}{f', p. {hit.page}' if hit.page else ''}\n       {hit.text}" for hit in hits)
    finish(options.json, {"hits": [reports.hit(hit) for hit in hits]}, "\n".join(lines))
    return OK


def ask(application: Application, options: argparse.Namespace) -> int:
    """Answers one question; the answer streams, then come the sources."""
    _check_collection(application, options.collection)
    consent = ask_consent if sys.stdin and sys.stdin.isatty() else None
    run = application.runs.start(options.conversation, options.question, _run_options(options), consent)
    trace = Trace()
    try:
        for _, event in run.follow():
            trace.apply(event)
            if isinstance(event, TokensWritten) and not options.json:
                print(reports.printable(event.text), end="", flush=True)
    except KeyboardInterrupt:
        application.runs.stop(run.id)
        trace = Trace().apply_all(event for _, event in run.follow())
    if options.json:
        print_json(reports.answer(run.id, trace))
    else:
        say(f"\n\n{reports.sources_text(trace)}")
        if trace.error:
            print(reports.printable(f"{trace.error} {trace.remedy}"), file=sys.stderr)
    return OK if trace.state == "done" else FAILED


def grade(application: Application, options: argparse.Namespace) -> int:
    """Grades (question, passage) pairs of a JSON Lines file: the grader alone, for measuring it."""
    from crag.grading.batch import read_pairs
    from crag.scoring import CountedTerms

    questions = read_pairs(options.file)
    name = application.model_choice().name if options.model == "auto" else options.model
    texts = (passage.text for rows in questions.values() for _, passage in rows)
    grader = application.engines.grader(name, CountedTerms(texts))
    grades: list[Any] = [None] * sum(len(rows) for rows in questions.values())
    for question, rows in questions.items():
        for index, given in grader.grade(question, [passage for _, passage in rows], Stop()):
            grades[rows[index][0]] = reports.grade(given, grader.thresholds)
    finish(options.json, {"grades": grades}, "\n".join(f"{one['score']}  {one['verdict']}" for one in grades))
    return OK


def doctor(application: Application, options: argparse.Namespace) -> int:
    """Says what is set up, what is not, and what mends it."""
    checks = application.diagnose()
    document = {
        "checks": [
            {"name": check.name, "status": check.status, "detail": check.detail, "fix": check.fix} for check in checks
        ]
    }
    finish(options.json, document, "\n".join(reports.check_text(check) for check in checks))
    return FAILED if any(check.status == "fail" for check in checks) else OK


def _check_known(application: Application, ids: Sequence[str], deed: str) -> None:
    known = {source.id for source in application.library.sources()}
    if unknown := [given for given in ids if given not in known]:
        raise BadRequest(f"There is no document {', '.join(unknown)}; nothing was {deed}.", "See `list` for the ids.")


def _check_collection(application: Application, name: str) -> None:
    """A mistyped name must not look like a library that knows nothing."""
    if name and name not in {collection.name for collection in application.library.collections()}:
        raise BadRequest(f"There is no collection “{name}”.", "See `list` for the collections.")


def _run_options(options: argparse.Namespace) -> RunOptions:
    chosen = PRESETS.get(options.preset, RunOptions())
    given = {"model": options.model, "k": options.k, "policy": options.policy, "web": options.web}
    changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if options.no_refine:
        changes["refine"] = False
    return replace(chosen, **changes, collection=options.collection, preset=options.preset or "")


def _parser() -> argparse.ArgumentParser:
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument(
        "--home", type=_folder, help="the folder that holds everything (default: CRAG_HOME, else ./data)"
    )
    common.add_argument("--json", action="store_true", help="print exactly one JSON document")
    parser = argparse.ArgumentParser(prog="python -m crag", description="Ask your own documents.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, function: Command) -> argparse.ArgumentParser:
        made = commands.add_parser(name, parents=[common], help=function.__doc__, description=function.__doc__)
        made.set_defaults(command=function)
        return made

    adding = command("add", add)
    adding.add_argument("sources", nargs="+", metavar="SOURCE", help="a file, a folder or a web address")
    adding.add_argument("--collection", type=_text, default=DEFAULT_COLLECTION)
    command("list", list_sources).add_argument("--collection", type=_text, default="")
    command("remove", remove).add_argument("ids", type=_text, nargs="+", metavar="ID")
    command("refresh", refresh).add_argument("ids", type=_text, nargs="*", metavar="ID")
    searching = command("search", search)
    searching.add_argument("query", type=_text)
    searching.add_argument("-k", type=_count, default=4)
    searching.add_argument("--collection", type=_text, default="")
    _add_ask_arguments(command("ask", ask))
    grading = command("grade", grade)
    grading.add_argument("file", type=Path, metavar="FILE.jsonl")
    grading.add_argument("--model", type=_text, default="auto")
    command("doctor", doctor)
    return parser


def _add_ask_arguments(asking: argparse.ArgumentParser) -> None:
    asking.add_argument("question", type=_text)
    asking.add_argument("-k", type=_count, help="how many passages to retrieve (default: 4)")
    asking.add_argument("--model", type=_text, help="auto, builtin, ollama:NAME or PROVIDER:NAME")
    asking.add_argument("--policy", choices=get_args(PolicyName))
    asking.add_argument("--web", choices=get_args(WebMode), help="default: off")
    asking.add_argument("--no-refine", action="store_true", help="give whole passages to the model, not strips")
    asking.add_argument("--collection", type=_text, default="")
    asking.add_argument("--conversation", type=_text, metavar="ID")
    asking.add_argument("--preset", choices=sorted(PRESETS), help="the settings of a known variant; others override it")


def _text(given: str) -> str:
    """An argument without the bytes that are no UTF-8: no database can hold them, and no model read them."""
    return given.encode("utf-8", "ignore").decode()


def _folder(text: str) -> Path:
    if not text or "\0" in text:
        raise argparse.ArgumentTypeError("must name a folder")
    return Path(text)


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 100:
        raise argparse.ArgumentTypeError("must be a whole number from 1 to 100")
    return int(text)
