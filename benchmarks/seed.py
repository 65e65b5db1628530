"""Evaluate the current engine on the five questions and three posts of the LangGraph notebook on local models.

Run with `python -m benchmarks.seed [--documents FOLDER] [options of evaluate]`. FOLDER holds copies of the posts;
without it, the posts are fetched once and added to a separate collection.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from crag.app.application import EXAMPLE_URLS, open_application
from crag.cli.main import main as run_command
from crag.library.library import Library

COLLECTION = "Three posts"
_TO_DO = "Connect to the internet, or save the three pages to a folder and run `make eval-seed DOCUMENTS=folder`."


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the evaluation; return the exit code of `evaluate`, or 1 if a post cannot be fetched."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.seed", description=__doc__)
    parser.add_argument("--home", type=Path, help="the folder that holds everything (default: CRAG_HOME, else ./data)")
    parser.add_argument(
        "--documents", type=Path, metavar="FOLDER", help="copies of the posts, instead of fetching them"
    )
    options, rest = parser.parse_known_args(arguments)
    command = ["evaluate", "seed", "--repetitions", "3", *rest]
    if options.home:
        command += ["--home", str(options.home)]
    if options.documents:
        return run_command([*command, "--documents", str(options.documents)])
    with closing(open_application(home=options.home)) as application:
        missing = fetch_posts(application.library, EXAMPLE_URLS)
    if missing:
        print("The posts that the questions are about are not all here, so nothing was asked.", file=sys.stderr)
        print("\n".join([*missing, _TO_DO]), file=sys.stderr)
        return 1
    return run_command([*command, "--collection", COLLECTION])


def fetch_posts(library: Library, addresses: Sequence[str]) -> list[str]:
    """Add missing posts; return address and reason of each that cannot be fetched."""
    present = {source.location for source in library.sources(COLLECTION)}
    missing: list[str] = []
    for address in addresses:
        if address not in present:
            print(f"Fetching {address}", file=sys.stderr)
            added = library.pipeline.add_address(address, collection=COLLECTION)
            missing += [f"{address}: {one.error.message}" for one in added if one.error]
    return missing


if __name__ == "__main__":
    sys.exit(main())
