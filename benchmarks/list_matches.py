"""Recall and precision of the places that "list all" questions list, over made documents of about 1,000 passages.

The documents are added to an application with the built-in engine and the questions are asked of it, each once. A
listed text is right if it stands in a sentence, list item or table row that answers the question. Run with
`python -m benchmarks.list_matches [SEED …]`; `--wrong` also prints what is missing and what should not be listed.
"""

from __future__ import annotations

import re
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from benchmarks.list_corpus import Corpus, make_corpus
from crag.app.application import Application, open_application
from crag.options import RunOptions
from crag.runs.trace import Trace
from crag.settings import Settings

SEEDS = (0, 1, 2)
_LONGEST_EXTRA = 60  # characters around a unit: names of columns, but no second sentence


@dataclass(frozen=True, slots=True)
class Score:
    """How many of the places are listed (`found`) and how many of the listed texts are right."""

    places: int
    found: int
    listed: int
    right: int

    def __add__(self, other: Score) -> Score:
        return Score(
            *(self.places + other.places, self.found + other.found),
            *(self.listed + other.listed, self.right + other.right),
        )

    def __str__(self) -> str:
        recall = self.found / self.places if self.places else 0.0
        precision = self.right / self.listed if self.listed else 0.0
        return f"{self.places:>8}{self.listed:>8}{recall:>8.3f}{precision:>11.3f}"


def main(seeds: Sequence[int] = SEEDS, *, print_wrong: bool = False) -> None:
    """Measure a corpus for each seed and print recall and precision by kind of thing asked for."""
    totals: defaultdict[str, Score] = defaultdict(lambda: Score(0, 0, 0, 0))
    for seed in seeds:
        corpus = make_corpus(seed)
        with tempfile.TemporaryDirectory() as home:
            settings = Settings(home=Path(home), chat_model="builtin", embedder="builtin")
            with closing(open_application(settings)) as application:
                _add(application, corpus)
                for question in corpus.questions:
                    began = time.perf_counter()
                    listed = _ask(application, question.text)
                    seconds = time.perf_counter() - began
                    score, missing, wrong = _compare(corpus.places(question.kind), listed)
                    totals[question.kind] += score
                    print(f"{question.text:58}{score}{seconds:>8.2f} s", flush=True)
                    if print_wrong:
                        print(*(f"    missing: {text}" for text in missing), sep="\n")
                        print(*(f"    wrong: {text}" for text in wrong), sep="\n", flush=True)
    print(f"\n{'':58}{'places':>8}{'listed':>8}{'recall':>8}{'precision':>11}")
    for kind, score in totals.items():
        print(f"{kind:58}{score}")
    print(f"{'all':58}{sum(totals.values(), Score(0, 0, 0, 0))}")


def _add(application: Application, corpus: Corpus) -> None:
    for name, text in corpus.files.items():
        result = application.library.pipeline.add_bytes(name, text.encode())
        if result.error:
            raise SystemExit(result.error.message)
    sources, passages, _ = application.library.counts()
    print(f"\n{passages:,} passages in {sources} documents")


def _ask(application: Application, question: str) -> list[tuple[str, str]]:
    """Return file name and text of each place listed, or nothing if the question was answered in another way."""
    run = application.runs.start(None, question, RunOptions(model="builtin"))
    trace = Trace().apply_all(event for _, event in run.follow())
    if trace.listed is None:
        print(f"answered as {trace.route}: {question}")
        return []
    names = {source.id: Path(source.location).name for source in application.library.sources()}
    found = []
    for match in trace.listed.matches:
        passage = application.library.passage(match.passage_id)
        found.append((names[passage.source_id] if passage else "", match.text))
    return found


def _compare(
    places: Sequence[tuple[str, str]], listed: Sequence[tuple[str, str]]
) -> tuple[Score, list[str], list[str]]:
    """Return the score, the texts of the places that are missing, and the listed texts that answer nothing."""
    matched: set[int] = set()
    wrong = []
    for name, text in listed:
        stands_in = [at for at, (file, unit) in enumerate(places) if file == name and _is_same_place(unit, text)]
        matched |= set(stands_in)
        if not stands_in:
            wrong.append(f"{name}: {text}")
    missing = [f"{name}: {unit}" for at, (name, unit) in enumerate(places) if at not in matched]
    return Score(len(places), len(matched), len(listed), len(listed) - len(wrong)), missing, wrong


def _is_same_place(unit: str, text: str) -> bool:
    """Return whether a listed text is a unit, a value in it, or its cells with the names of their columns."""
    known, given = (" ".join(one.casefold().split()).strip(" .-") for one in (unit, text))
    if re.search(rf"(?<!\w){re.escape(given)}(?!\w)", known):
        return True
    return all(cell in given for cell in known.split(" | ")) and len(given) <= len(known) + _LONGEST_EXTRA


if __name__ == "__main__":
    given = [argument for argument in sys.argv[1:] if argument != "--wrong"]
    main([int(seed) for seed in given] or SEEDS, print_wrong="--wrong" in sys.argv)
