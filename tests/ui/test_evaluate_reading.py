"""What the page Evaluate keeps of what it worked out, and when it is worked out anew."""

from __future__ import annotations

from crag.evaluate.values import Cutoffs
from pages.evaluate import reading
from pages.evaluate.comparison import sides
from pages.evaluate.grids import ranking
from tests.evaluate.sample import evaluation, judged, results


def _sides(one, answers):
    return [sides.Side(one, number, [each for each in answers if each.variant == number]) for number in (0, 1)]


def _by_judge(score):
    """The same answers with the word of a judge on each, of the first variant the same, of the second this score."""
    return [judged(one, score if one.variant else 0.0, "") for one in results()]


def test_a_comparison_follows_a_judge_who_has_spoken_since(monkeypatch):
    monkeypatch.setattr(reading, "cutoffs", Cutoffs)
    before = sides.comparison(*_sides(evaluation(id="judged"), results()))
    after = sides.comparison(*_sides(evaluation(id="judged", judge="ollama:judge", judgements=12), _by_judge(0.0)))
    assert {one.example.key for one in before.changed} == {"mayor"}
    assert not after.changed


def test_a_comparison_counts_as_right_what_does_for_who_looks(monkeypatch):
    both = _sides(evaluation(id="cutoffs", judge="ollama:judge", judgements=12), _by_judge(0.6))
    monkeypatch.setattr(reading, "cutoffs", lambda: Cutoffs(judge=0.5))
    assert {one.example.key for one in sides.comparison(*both).changed} == {"bridge", "mayor"}
    monkeypatch.setattr(reading, "cutoffs", lambda: Cutoffs(judge=0.7))
    assert not sides.comparison(*both).changed


def test_the_best_variant_follows_another_judge():
    first = evaluation(id="ranked", judge="ollama:judge", judgements=12)
    assert ranking.ranked(first, _by_judge(1.0), Cutoffs())[0].number == 1
    other = evaluation(id="ranked", judge="ollama:another", judgements=12)
    reversed_ = [judged(one, 0.0 if one.variant else 1.0, "") for one in results()]
    assert ranking.ranked(other, reversed_, Cutoffs())[0].number == 0
