"""Kinds of question by their wording: how many are right, by language and kind, and how many a model is asked about.

Run with `python -m benchmarks.routes FILE...`; each line of a file is a JSON object with a `question` and, if known,
the accepted `routes`, best first, and its `language`. Lines without `routes` are facts, such as those of the folders of
questions. Tables are taken to be there: without any, no question is calculated. *Beside tables* also counts
calculations that a model is asked about if a table holds one of their words and the patterns cannot answer.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path

from benchmarks.grader_data import read_lines
from crag.tables.question_kinds import is_plain_calculation, is_table_question
from crag.text.routes import choose_route
from crag.text.small_talk import detect_small_talk


def main(file: Path) -> None:
    """Print what goes astray, then the shares of each group."""
    groups: defaultdict[str, list[tuple[bool, bool, bool]]] = defaultdict(list)
    for row in read_lines(file):
        question, accepted = row["question"], row.get("routes", ["fact"])
        route = find_route(question)
        is_right, is_asked = route in accepted, route != "talk" and not choose_route(question).is_clear
        may_be_asked = is_asked or (route == "table" and not is_plain_calculation(question))
        if not is_right and "routes" in row:
            print(f"{'/'.join(accepted)}, but {route}{' (asked)' if is_asked else ''}: {question}")
        for group in ("all", row.get("language", ""), accepted[0]):
            groups[group].append((is_right, is_asked, may_be_asked))
    print(f"\n{file}\n{'':10}{'number':>8}{'right':>8}{'asked':>8}{'beside tables':>15}")
    for group, figures in sorted(groups.items()):
        shares = [sum(column) / len(figures) for column in zip(*figures, strict=True)]
        if group:
            print(f"{group:10}{len(figures):>8}{shares[0]:>8.3f}{shares[1]:>8.3f}{shares[2]:>15.3f}")


def find_route(question: str) -> str:
    """Return the kind of a question by its wording alone, beside documents with tables."""
    if detect_small_talk(question):
        return "talk"
    route = choose_route(question).route
    return "table" if route == "fact" and is_table_question(question) else route


if __name__ == "__main__":
    for name in sys.argv[1:]:
        main(Path(name))
