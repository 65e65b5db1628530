"""Questions of an evaluation as the report draws them: plain sanitized values that the template escapes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from crag.amounts import count, duration, score
from crag.evaluate.datasets.examples import Example
from crag.evaluate.figures.verdicts import verdict
from crag.evaluate.signs import VERDICTS
from crag.evaluate.values import Cutoffs, Evaluation, Result
from crag.foreign_text import one_line, visible
from crag.inspection.badges import OUTCOMES, Badge


@dataclass(frozen=True, slots=True)
class AnswerView:
    """One answer to a question, or several identical repetitions, with its scores and judgement."""

    under: str
    badge: Badge
    text: str
    facts: str
    reason: str
    error: str
    run_ids: Sequence[str]


@dataclass(frozen=True, slots=True)
class QuestionView:
    """A question with what is known about its right answer, and all its answers."""

    number: int
    question: str
    badges: Sequence[Badge]
    expected: Sequence[tuple[str, str]]
    answers: Sequence[AnswerView]


def view_questions(evaluation: Evaluation, results: Sequence[Result], cutoffs: Cutoffs) -> list[QuestionView]:
    """Return all questions in order, each with its answers by variant and repetition."""
    ordered = sorted(results, key=lambda one: (one.number, one.variant, one.repetition))
    return [
        _view_question(evaluation, list(answers), cutoffs) for _, answers in groupby(ordered, lambda one: one.number)
    ]


def _view_question(evaluation: Evaluation, answers: Sequence[Result], cutoffs: Cutoffs) -> QuestionView:
    example = answers[0].example
    counted = Counter(VERDICTS[verdict(answer, cutoffs)] for answer in answers)
    badges = [
        replace(one, number=f"{n} of {len(answers)}" if len(answers) > 1 else "") for one, n in counted.most_common()
    ]
    same = groupby(sorted(answers, key=_came_to), _came_to)
    views = [_view_answers(evaluation, list(alike), cutoffs) for _, alike in same]
    return QuestionView(answers[0].number + 1, visible(example.question), badges, _expected(example), views)


def _came_to(result: Result) -> tuple[object, ...]:
    """Return the grouping key of answers: equal repetitions are shown once."""
    judged = (str(result.judged.score), result.judged.reason) if result.judged else ()
    said = (result.scored.answer, result.scored.steps, result.scored.action or "", result.scored.outcome or "")
    return result.variant, result.state, result.error, said, judged, str(result.label)


def _view_answers(evaluation: Evaluation, alike: Sequence[Result], cutoffs: Cutoffs) -> AnswerView:
    """Convert one answer or several equal repetitions; the facts are those of the first."""
    result, judged = alike[0], alike[0].judged
    several = [evaluation.variants[result.variant].name] if len(evaluation.variants) > 1 else []
    if evaluation.repetitions > 1:
        noun = "repetition" if len(alike) == 1 else "repetitions"
        several.append(f"{noun} {', '.join(str(one.repetition) for one in alike)}")
    return AnswerView(
        under=one_line(", ".join(several)),
        badge=VERDICTS[verdict(result, cutoffs)],
        text=visible(result.scored.answer).strip(),
        facts=" · ".join(_facts(result)),
        reason=f"{one_line(judged.model.partition('@')[0])}: {one_line(judged.reason)}" if judged else "",
        error=one_line(result.error),
        run_ids=[one_line(one.run_id) for one in alike if one.run_id],
    )


def _facts(result: Result) -> list[str]:
    scored = result.scored
    told = [OUTCOMES[scored.outcome].word] if scored.outcome else []
    told += [f"retrieval {scored.action}"] if scored.action else []
    if scored.grades:
        relevant = sum(grade.relevant for grade in scored.grades)
        told.append(f"{relevant} of {count(len(scored.grades), 'passage')} graded relevant")
    if result.example.names_passages:
        told.append(f"{sum(grade.right for grade in scored.grades)} of them right ones")
    told += [f"best score {score(round(scored.best, 3))}"] if scored.best is not None else []
    told += [f"text score {scored.text_score:.2f}"] if scored.text_score is not None else []
    if result.judged and result.judged.score is not None:
        told.append(f"judged {result.judged.score:.2f}")
    if result.label is not None:
        told.append(f"a person says {'right' if result.label else 'wrong'}")
    told += [", ".join(scored.steps), duration(scored.seconds)] if scored.steps else []
    told += [count(scored.tokens, "token")] if scored.tokens else []
    return [one_line(fact) for fact in told]


def _expected(example: Example) -> list[tuple[str, str]]:
    known = (
        ("Right answer", " · ".join(example.references)),
        ("Must mention", " · ".join(example.must_mention)),
        ("Must not mention", " · ".join(example.must_not_mention)),
        ("Right passages", " · ".join((*example.sources, *example.phrases))),
        ("Right steps", " · or · ".join(map(", ".join, example.steps))),
        ("Right action", example.action or ""),
        ("Can be answered", {None: "", True: "yes", False: "no"}[example.answerable]),
    )
    return [(title, visible(value)) for title, value in known if value]
