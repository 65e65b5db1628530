"""Run options as command arguments, for `ask` and every other command that asks questions."""

from __future__ import annotations

import argparse
from types import MappingProxyType
from typing import Any, get_args

from crag.assembly import Application
from crag.commands.arguments import count, text
from crag.errors import BadRequest
from crag.options import Changes, GraderKind, PolicyName, RunOptions, WebMode, with_changes

MODEL_OPTIONS = ("model", "grader_model", "rewriter_model")
_NONE: Changes = MappingProxyType({})


def add_run_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that `build_run_options` reads."""
    parser.add_argument("-k", type=count, help="how many passages to retrieve (default: what is saved, else 4)")
    parser.add_argument("--model", type=text, help="auto, builtin, ollama:NAME or PROVIDER:NAME")
    parser.add_argument("--grader", choices=get_args(GraderKind), help="how passages are judged (default: auto)")
    parser.add_argument("--grader-model", type=text, help="what judges them (default: the model that answers)")
    parser.add_argument("--rewriter-model", type=text, help="what writes questions anew (default: as above)")
    parser.add_argument("--policy", choices=get_args(PolicyName))
    parser.add_argument("--web", choices=get_args(WebMode), help="default: off")
    parser.add_argument("--fetch-pages", action="store_true", help="read the pages that a web search found in full")
    parser.add_argument("--no-refine", action="store_true", help="give whole passages to the model, not strips")
    parser.add_argument("--collection", type=text, default="")
    parser.add_argument("--preset", type=text, metavar="NAME", help="a known variant, or settings that were saved")


def run_options(application: Application, options: argparse.Namespace, kept: Changes = _NONE) -> RunOptions:
    """Build the options of a run.

    The arguments override the preset, which overrides the options `kept` by a conversation, which override saved ones.
    The web is off unless an argument or a preset enables it.
    """
    names = (*MODEL_OPTIONS, "k", "policy", "web", "grader")
    given = {name: getattr(options, name) for name in names}
    changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if options.no_refine:
        changes["refine"] = False
    if options.fetch_pages:
        changes["fetch_pages"] = True
    for name in MODEL_OPTIONS:
        if given[name]:
            application.preferences.allow_model_here(given[name])
    chosen = application.preferences.options({**kept, "web": "off", **_preset(application, options.preset)})
    return with_changes(chosen, {**changes, "collection": options.collection})


def _preset(application: Application, name: str | None) -> Changes:
    if name is None:
        return {}
    presets = application.preferences.presets()
    if name not in presets:
        raise BadRequest(f"There is no preset called “{name}”.", f"There are: {', '.join(presets)}.")
    return {**presets[name], "preset": name}
