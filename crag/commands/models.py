"""Commands for Ollama models: list, pull, remove, load, unload."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from crag import reports
from crag.amounts import size
from crag.assembly import Application
from crag.commands.arguments import FAILED, OK, AddCommand, text
from crag.commands.progress import progress_line
from crag.commands.tasks import stopped_by_signals
from crag.models.downloads import Download
from crag.models.ollama import ModelReport
from crag.terminal import finish
from crag.types import Progress

_LOOK_SECONDS = 0.2
_HEARD_SECONDS = 5.0  # until the downloading process notices the cancellation
_NAME = "as Ollama names it, such as llama3.2:3b"


def register(command: AddCommand) -> None:
    """Add the parsers of these commands."""
    command("models", list_models)
    command("models list", list_models)
    command("models pull", pull).add_argument(
        "name", type=_name, help=f"{_NAME}; or nomic: the weights that embed here"
    )
    command("models remove", remove).add_argument("name", type=_name, help=_NAME)
    command("models load", load).add_argument("name", type=_name, help=_NAME)
    command("models unload", unload).add_argument("name", type=_name, help=_NAME)


def list_models(application: Application, options: argparse.Namespace) -> int:
    """Lists the models of Ollama: size, context length, whether loaded and on what; and what is being fetched."""
    models, downloads = application.ollama.models(), application.downloads.all()
    name, amount = application.ollama.recommended()
    document = {
        "version": application.ollama.version(),
        "models": [asdict(model) for model in models],
        "downloads": [_entry(download) for download in downloads],
        "recommended": {"name": name, "bytes": amount},
    }
    lines = [_line(model) for model in models] + [_told(download) for download in downloads]
    empty_text = f"Ollama has no models yet. Get one with `models pull {name}` ({size(amount)})."
    finish(options.json, document, "\n".join(lines) or empty_text)
    return OK


def pull(application: Application, options: argparse.Namespace) -> int:
    """Gets a model. Stopped with Ctrl-C, it goes on from there the next time."""
    downloads, name = application.downloads, _full(options.name)
    downloads.start(name)
    with stopped_by_signals() as stop, progress_line(options.name, lambda _: _pace(downloads.get(name))) as report:
        while (seen := downloads.get(name)) and seen.state == "running" and not stop.wait(_LOOK_SECONDS):
            report(Progress(seen.stage, seen.done, seen.total))
        downloads.cancel(name)  # no effect if it has ended
    ended = downloads.wait(name, _HEARD_SECONDS) or Download(name, "cancelled")  # dismissed by another process
    finish(options.json, {"download": _entry(ended)}, _told(ended))
    return OK if ended.state == "done" else FAILED


def remove(application: Application, options: argparse.Namespace) -> int:
    """Deletes a model from the disk of Ollama."""
    application.ollama.delete(options.name)
    finish(options.json, {"removed": options.name}, f"Removed {options.name}.")
    return OK


def load(application: Application, options: argparse.Namespace) -> int:
    """Loads a model as questions use it, so that the first one need not wait."""
    with progress_line(options.name) as report:
        report(Progress("Loading"))
        application.load_model(options.name)
    model = application.ollama.model(options.name)
    finish(options.json, {"model": asdict(model)}, _line(model))
    return OK


def unload(application: Application, options: argparse.Namespace) -> int:
    """Frees the memory that a model takes."""
    application.ollama.unload(options.name)
    finish(options.json, {"unloaded": options.name}, f"Unloaded {options.name}.")
    return OK


def _name(given: str) -> str:
    """Return Ollama's name of a model, also if given with the prefix used in settings."""
    return text(given).removeprefix("ollama:")


def _full(name: str) -> str:
    """Return the name of the download."""
    return name if name == "nomic" else f"ollama:{name}"


def _line(model: ModelReport) -> str:
    context = f"{model.context_length:,} tokens" if model.context_length else ""
    facts = [size(model.size), model.family, model.parameters, model.quantization, context]
    kinds = ["embeds"] * model.embeds + ["thinks"] * model.thinks + [f"at {model.host}"] * bool(model.host)
    state = f"loaded on {model.processor}" if model.loaded else "not loaded"
    return reports.printable(f"{model.name}  {', '.join(filter(None, [*facts, *kinds, state]))}")


def _entry(download: Download) -> reports.Json:
    return asdict(download) | {"seconds_left": download.seconds_left}


def _told(download: Download) -> str:
    """Return one line about a download."""
    words = {"done": "is here", "failed": download.fault, "running": _pace(download)}
    more = f"not finished ({_amount(download)}); `models pull {download.name}` goes on from there"
    return reports.printable(f"{download.name}  {words.get(download.state, more)}")


def _pace(download: Download | None) -> str:
    """Return stage and progress: “Receiving 1.2 GB of 4.9 GB, 24 MB/s, 2:34 left”."""
    if download is None:
        return ""
    parts = [" ".join(filter(None, [download.stage, _amount(download)]))]
    if download.seconds_left is not None:
        minutes, seconds = divmod(round(download.seconds_left), 60)
        parts += [f"{size(round(download.rate))}/s", f"{minutes}:{seconds:02} left"]
    return ", ".join(parts)


def _amount(download: Download) -> str:
    return f"{size(download.done)} of {size(download.total)}" if download.total else ""
