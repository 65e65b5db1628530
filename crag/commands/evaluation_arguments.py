"""Arguments of `evaluate`: questions, documents, settings, and outputs."""

from __future__ import annotations

import argparse
from pathlib import Path

from crag.assembly import Application
from crag.commands.arguments import count, place, positive, text
from crag.commands.files import check_new
from crag.commands.run_options import add_run_arguments
from crag.errors import BadRequest
from crag.evaluate.datasets.examples import Dataset
from crag.evaluate.datasets.portions import first, sample
from crag.evaluate.datasets.reading import read_dataset
from crag.evaluate.datasets.seed import SEED
from crag.preferences.preferences import preset_name

FORMATS = ("csv", "json", "html")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `evaluate`."""
    parser.add_argument("dataset", type=text, help="a JSON Lines file, seed, pinned, or the name of a dataset")
    parser.add_argument("--repetitions", type=count, default=1, metavar="N", help="ask each question so often")
    some = parser.add_mutually_exclusive_group()
    some.add_argument("--limit", type=positive, metavar="N", help="only the first N questions")
    some.add_argument("--sample", type=positive, metavar="N", help="only N questions, drawn at random")
    parser.add_argument("--seed", type=int, default=0, help="with --sample: another seed draws others (default: 0)")
    documents = parser.add_mutually_exclusive_group()
    documents.add_argument(
        "--corpus", type=place, metavar="FILE", help='passages, {"id", "title", "text"} a line, as a collection'
    )
    documents.add_argument("--documents", type=place, metavar="FOLDER", help="files to be added first, as a collection")
    add_run_arguments(parser)
    parser.add_argument(
        "--grid", action="append", default=[], type=text, metavar="NAME=V1,V2", help="values to try; once a setting"
    )
    parser.add_argument("--save-preset", type=text, metavar="NAME", help="with --grid: keep the best under this name")
    parser.add_argument("--judge", type=text, default="", metavar="MODEL", help="a model that says what is right")
    parser.add_argument("--parallel", type=count, default=0, metavar="N", help="questions at once (default: automatic)")
    parser.add_argument("--name", type=text, default="", help="what the evaluation is called")
    parser.add_argument("--output", type=place, metavar="FILE", help="a new file: .csv, .json or .html")
    parser.add_argument("--langsmith", action="store_true", help="upload it when it is done, by LANGSMITH_API_KEY")


def check(application: Application, options: argparse.Namespace) -> None:
    """Check early what would otherwise fail at the end of an evaluation. Raises `BadRequest`."""
    if options.output:
        output_format(options.output)
        check_new(options.output)
    if options.save_preset is not None:
        preset_name(options.save_preset)
        if not options.grid:
            raise BadRequest("--save-preset keeps the best of a grid.", "Say with --grid what is to be tried.")
    if options.langsmith and not application.uploads.available:
        raise BadRequest("There is no key for LangSmith.", "Set LANGSMITH_API_KEY, or leave --langsmith out.")


def output_format(path: Path) -> str:
    """Return the format of an output file by its suffix. Raises `BadRequest`."""
    ending = path.suffix.lower().removeprefix(".")
    if ending not in FORMATS:
        raise BadRequest(f"{path.name} could hold anything.", "End its name in .csv, .json or .html.")
    return ending


def chosen_dataset(application: Application, options: argparse.Namespace) -> Dataset:
    """Return the dataset, reduced by `--limit` or `--sample`. Raises `BadRequest`."""
    dataset = named_dataset(application, options.dataset)
    if options.limit:
        return first(dataset, options.limit)
    return sample(dataset, options.sample, options.seed) if options.sample else dataset


def named_dataset(application: Application, given: str) -> Dataset:
    """Find a dataset by name or id, or read one from a file. Raises `BadRequest`."""
    if given == SEED.id:
        return SEED
    if given == "pinned":
        return application.datasets.pinned()
    known = application.datasets.all()
    found = [one for one in known if given in (one.id, one.name)]
    if len(found) > 1:
        raise BadRequest(f"Several datasets are called “{given}”.", "Name it by its id; see `datasets`.")
    if found:
        return found[0]
    file = place(given)
    if file.exists() or file.suffix:
        return read_dataset(file)
    raise BadRequest(f"There is neither a dataset nor a file “{given}”.", "See `datasets` for what there is.")
