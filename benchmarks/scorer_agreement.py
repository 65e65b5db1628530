"""Agreement of answer scorers with answers labelled by hand: `python -m benchmarks.scorer_agreement [MODEL]`.

There are two sets of sixty answers: hard ones, known when text comparison was last changed, and everyday ones, labelled
without looking at any scorer. Texts are compared as in an evaluation. MODEL, such as `ollama:llama3.1:8b`, is asked as
a judge, too, if it is available on this machine. Every answer is marked as coming from documents, so a scorer must
recognize a refusal by its text.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from crag.cancellation import Cancellation
from crag.errors import ModelFault
from crag.evaluation.agreement import Agreement, measure_agreement
from crag.evaluation.metrics import is_answer_right
from crag.evaluation.runner import Judge
from crag.evaluation.scorers import score_run
from crag.evaluation.statistics import auc
from crag.evaluation.types import Cutoffs, EvaluationResult, Example
from crag.models.chat_models import open_chat_model
from crag.runs.trace import Trace
from crag.settings import load_settings
from crag.text.jsonl import read_json_lines

LABELLED = {
    "hard answers": Path(__file__).parent / "labelled_answers.jsonl",
    "everyday answers, blind": Path(__file__).parent / "labelled_answers_blind.jsonl",
}


@dataclass(frozen=True, slots=True)
class Labelled:
    """A scored and labelled answer with its kind and language."""

    result: EvaluationResult
    kind: str
    language: str

    @property
    def score(self) -> float:
        """Score of the judge if there is one, else of the text comparison."""
        judged = self.result.judged
        return (judged.score if judged else self.result.scored.text_score) or 0.0

    @property
    def verdict(self) -> bool:
        """Whether the scorer counts the answer as right at the default cutoff."""
        return bool(is_answer_right(self.result, Cutoffs()))

    @property
    def agrees(self) -> bool:
        """Whether the label equals the verdict of the scorer."""
        return self.verdict == self.result.label


def main(model: str = "") -> None:
    """Print the agreement of text comparison and of the judge for each set."""
    for name, path in LABELLED.items():
        rows = list(_score_texts(path))
        _print(f"Comparing texts, {name}", rows)
        if model:
            try:
                _print(f"Judge {model}, {name}", list(_score_with_judge(rows, model)))
            except ModelFault as fault:
                print(f"\nNo judge: {fault.message} {fault.remedy}")


def _score_texts(path: Path) -> Iterator[Labelled]:
    for number, row in read_json_lines(path):
        example = Example(str(number), row["question"], tuple(row["references"]), answerable=True)
        trace = Trace(question=example.question, text=row["answer"], action="correct", outcome="documents")
        result = EvaluationResult(
            0, number, 1, example, "", "done", scored=score_run(example, trace), label=row["right"]
        )
        yield Labelled(result, row["kind"], row["language"])


def _score_with_judge(rows: Sequence[Labelled], model: str) -> Iterator[Labelled]:
    judge = Judge(open_chat_model(model, load_settings()))
    for row in rows:
        judgement = judge.judge(row.result.example, row.result.scored.answer, Cancellation())
        if judgement.score is None:
            print(f"Not judged: {row.result.scored.answer} ({judgement.reason})")
        else:
            yield replace(row, result=replace(row.result, judged=judgement))


def _print(title: str, rows: Sequence[Labelled]) -> None:
    labels = [bool(row.result.label) for row in rows]
    print(f"\n{title}: area under the curve {auc([row.score for row in rows], labels) or 0:.2f}")
    _print_confusion(rows)
    for name, own in {"all": rows, **_group_rows(rows, lambda row: row.language)}.items():
        agreement = measure_agreement([row.result for row in own], Cutoffs())[0]
        print(f"{_agreement_row(name, own)}   {_format_kappa(agreement)}")
    for name, own in _group_rows(rows, lambda row: row.kind).items():
        print(_agreement_row(name, own))
    for row in rows:
        if not row.agrees:
            said = "right" if row.verdict else "wrong"
            print(f"  {row.kind}: {said} by the scorer ({row.score:.2f}): {row.result.scored.answer[:90]}")


def _print_confusion(rows: Sequence[Labelled]) -> None:
    for label in (True, False):
        said = [row.verdict for row in rows if row.result.label is label]
        word = "right" if label else "wrong"
        print(f"  labelled {word}: {sum(said)} right and {len(said) - sum(said)} wrong by the scorer")


def _group_rows(rows: Sequence[Labelled], group: Callable[[Labelled], str]) -> dict[str, list[Labelled]]:
    return {name: [row for row in rows if group(row) == name] for name in dict.fromkeys(map(group, rows))}


def _agreement_row(name: str, rows: Sequence[Labelled]) -> str:
    return f"  {name:16} {sum(row.agrees for row in rows):3} of {len(rows):3} as labelled"


def _format_kappa(found: Agreement) -> str:
    return "" if found.kappa is None else f"kappa {found.kappa:5.2f} ({found.low:.2f} to {found.high:.2f})"


if __name__ == "__main__":
    main(*sys.argv[1:2])
