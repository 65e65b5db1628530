"""Commands for Ollama models, downloads and embedding spaces."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from crag.app import reports
from crag.app.application import Application
from crag.cancellation import Cancellation
from crag.cli.arguments import FAILED, OK, AddCommand, parse_text
from crag.cli.tasks import cancel_on_signals
from crag.cli.terminal import print_result, progress_line
from crag.errors import BadRequest
from crag.models.downloads import Download
from crag.models.evaluator_weights import DOWNLOAD_PREFIX, name_choices
from crag.models.ollama_server import ModelReport
from crag.retrieval.ranking import WEIGHT_ORIGINS
from crag.retrieval.space_switch import SpaceStatus
from crag.text.formatting import format_size
from crag.translation import N_, _, translate_text
from crag.types import Progress

_POLL_SECONDS = 0.2
_CANCEL_WAIT_SECONDS = 5.0  # until the downloading process notices the cancellation
_NAME_HELP = N_("name of the model in Ollama, such as llama3.2:3b")


def register(command: AddCommand) -> None:
    """Add the parsers of these commands."""
    command("models", list_models)
    command("models list", list_models)
    command("models pull", pull_model).add_argument(
        "name",
        type=_parse_model_name,
        help=f"name of a model in Ollama; or nomic, the weights of the local embedder; or {name_choices()}, a grader",
    )
    command("models remove", remove_model).add_argument("name", type=_parse_model_name, help=_NAME_HELP)
    command("models load", load_model).add_argument("name", type=_parse_model_name, help=_NAME_HELP)
    command("models unload", unload_model).add_argument("name", type=_parse_model_name, help=_NAME_HELP)
    command("spaces", list_spaces)
    using = command("spaces use", use_space)
    using.add_argument("name", type=parse_text, help="embedder: builtin, nomic, ollama:NAME or PROVIDER:NAME")
    command("spaces rollback", roll_back_space)
    command("spaces drop", drop_space).add_argument("id", type=parse_text, help="id of embeddings, or its beginning")


def list_models(application: Application, options: argparse.Namespace) -> int:
    """List the models of Ollama with size and context length, whether they are loaded, and running downloads."""
    models, downloads = application.ollama.models(), application.downloads.all()
    name, amount = application.ollama.recommended()
    document = {
        "version": application.ollama.version(),
        "models": [asdict(model) for model in models],
        "downloads": [_download_json(download) for download in downloads],
        "recommended": {"name": name, "bytes": amount},
    }
    lines = [_model_line(model) for model in models] + [_download_line(download) for download in downloads]
    empty_text = _("Ollama has no models yet. Get one with `models pull {name}` ({amount}).").format(
        name=name, amount=format_size(amount)
    )
    print_result(options.json, document, "\n".join(lines) or empty_text)
    return OK


def pull_model(application: Application, options: argparse.Namespace) -> int:
    """Download a model. After Ctrl-C, run it again to continue."""
    downloads, name = application.downloads, _download_name(options.name)
    downloads.start(name)
    with (
        cancel_on_signals() as stop,
        progress_line(options.name, lambda _progress: _download_progress(downloads.get(name))) as report,
    ):
        while (seen := downloads.get(name)) and seen.state == "running" and not stop.wait(_POLL_SECONDS):
            report(Progress(seen.stage, seen.done, seen.total))
        downloads.cancel(name)  # no effect if it has ended
    ended = downloads.wait(name, _CANCEL_WAIT_SECONDS) or Download(name, "cancelled")  # dismissed by another process
    print_result(options.json, {"download": _download_json(ended)}, _download_line(ended))
    return OK if ended.state == "done" else FAILED


def remove_model(application: Application, options: argparse.Namespace) -> int:
    """Delete a model from Ollama, or an evaluator."""
    if options.name.startswith(DOWNLOAD_PREFIX):
        application.evaluator.remove(options.name.removeprefix(DOWNLOAD_PREFIX))
    else:
        application.ollama.delete(options.name)
    print_result(options.json, {"removed": options.name}, _("Removed {name}.").format(name=options.name))
    return OK


def load_model(application: Application, options: argparse.Namespace) -> int:
    """Load a model with the options that questions use, so that the first question does not wait."""
    with progress_line(options.name) as report:
        report(Progress(N_("Loading")))
        application.load_model(options.name)
    model = application.ollama.model(options.name)
    print_result(options.json, {"model": asdict(model)}, _model_line(model))
    return OK


def unload_model(application: Application, options: argparse.Namespace) -> int:
    """Unload a model from memory."""
    application.ollama.unload(options.name)
    print_result(options.json, {"unloaded": options.name}, _("Unloaded {name}.").format(name=options.name))
    return OK


def _parse_model_name(given: str) -> str:
    """Return Ollama's name of a model, also if given with the prefix used in settings."""
    return parse_text(given).removeprefix("ollama:")


def _download_name(name: str) -> str:
    """Return the name of the download."""
    return name if name == "nomic" or name.startswith(DOWNLOAD_PREFIX) else f"ollama:{name}"


def _model_line(model: ModelReport) -> str:
    context = _("{count:,} tokens").format(count=model.context_length) if model.context_length else ""
    facts = [format_size(model.size), model.family, model.parameters, model.quantization, context]
    kinds = (
        [_("embeds")] * model.embeds
        + [_("thinks")] * model.thinks
        + [_("at {host}").format(host=model.host)] * bool(model.host)
    )
    state = _("loaded on {processor}").format(processor=model.processor) if model.loaded else _("not loaded")
    return reports.printable(f"{model.name}  {', '.join(filter(None, [*facts, *kinds, state]))}")


def _download_json(download: Download) -> reports.Json:
    return asdict(download) | {"seconds_left": download.seconds_left}


def _download_line(download: Download) -> str:
    """Return one line about a download."""
    words = {"done": _("downloaded"), "failed": translate_text(download.fault), "running": _download_progress(download)}
    more = _("not finished ({download}); `models pull {name}` resumes it").format(
        download=_received_amount(download), name=download.name
    )
    return reports.printable(f"{download.name}  {words.get(download.state, more)}")


def _download_progress(download: Download | None) -> str:
    """Return stage and progress: “Receiving 1.2 GB of 4.9 GB, 24 MB/s, 2:34 left”."""
    if download is None:
        return ""
    parts = [" ".join(filter(None, [translate_text(download.stage), _received_amount(download)]))]
    if download.seconds_left is not None:
        minutes, seconds = divmod(round(download.seconds_left), 60)
        parts += [
            f"{format_size(round(download.rate))}/s",
            _("{left} left").format(left=f"{minutes}:{seconds:02}"),
        ]
    return ", ".join(parts)


def _received_amount(download: Download) -> str:
    return (
        _("{done} of {total}").format(done=format_size(download.done), total=format_size(download.total))
        if download.total
        else ""
    )


_SPACE_STATES = {"answering": N_("in use"), "building": N_("being made"), "kept": N_("kept")}


def list_spaces(application: Application, options: argparse.Namespace) -> int:
    """List the embeddings of your documents: those in use and those kept. Actions switch between them."""
    spaces = application.library.spaces
    found, fault = spaces.statuses(), spaces.active_embedder.check()
    overruled = spaces.active_embedder.overruled()
    lines = [_space_line(report) for report in found]
    if overruled:
        lines.append(
            _(
                "The settings name {overruled}, but you switched away from it. To use it, run `spaces use {overruled}`."
            ).format(overruled=overruled)
        )
    lines += [translate_text(str(fault))] if fault else []
    document = {
        "spaces": [reports.space_json(report) for report in found],
        "wanted": spaces.active_embedder.wanted(),
        "overruled": overruled or None,
        "fault": str(fault) if fault else None,
    }
    print_result(options.json, document, "\n".join(lines) or _("No documents are embedded yet."))
    return OK


def use_space(application: Application, options: argparse.Namespace) -> int:
    """Switch to an embedder, after embedding all passages that lack its vectors. It continues after an interruption."""
    with progress_line(options.name) as report:
        application.library.spaces.use(options.name, report, Cancellation())
    return _print_spaces(application, options)


def roll_back_space(application: Application, options: argparse.Namespace) -> int:
    """Go back to the previous embeddings. Run it again to undo."""
    with progress_line(_("Going back")) as report:
        application.library.spaces.go_back(report, Cancellation())
    return _print_spaces(application, options)


def drop_space(application: Application, options: argparse.Namespace) -> int:
    """Delete embeddings that are not in use."""
    spaces = application.library.spaces
    ids = [report.space.id for report in spaces.statuses() if report.space.id.startswith(options.id)]
    if len(ids) > 1 and options.id not in ids:
        raise BadRequest(f"Several embeddings begin with “{options.id}”.", "Type more of the id.")
    space = spaces.drop(ids[0] if ids else options.id)
    print_result(
        options.json,
        {"dropped": space.id},
        _("Removed {label}. Its disk space will be reused.").format(label=space.label),
    )
    return OK


def _print_spaces(application: Application, options: argparse.Namespace) -> int:
    found = application.library.spaces.statuses()
    document = {"spaces": [reports.space_json(report) for report in found]}
    print_result(options.json, document, "\n".join(_space_line(report) for report in found))
    return OK


def _space_line(report: SpaceStatus) -> str:
    space = report.space
    coverage = _("{vectors:,} of {passages:,} passages").format(vectors=report.vectors, passages=report.passages)
    weight = _("meaning weighs {share:.0%}, {weight_origins}").format(
        share=report.weight.share, weight_origins=_(WEIGHT_ORIGINS[report.weight.origin])
    )
    facts = _("{dimension} dimensions, {coverage}, {weight}, digest {digest}").format(
        dimension=space.dimension, coverage=coverage, weight=weight, digest=space.digest[:12]
    )
    return f"{space.id}  {_(_SPACE_STATES[report.state])}: {space.name}  ({facts})"
