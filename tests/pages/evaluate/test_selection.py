"""Cached comparisons and rankings, and when they are computed again."""

from __future__ import annotations

from crag.evaluation.types import Cutoffs
from pages.evaluate import grid, selection
from tests.evaluation.sample import evaluation, judged, results


def _sides(one, answers):
    return [
        selection.ComparedVariant(one, number, [each for each in answers if each.variant == number])
        for number in (0, 1)
    ]


def _by_judge(score):
    """The same answers with the word of a judge on each, of the first variant the same, of the second this score."""
    return [judged(one, score if one.variant else 0.0, "") for one in results()]


def test_a_comparison_follows_a_judge_who_has_spoken_since(monkeypatch):
    monkeypatch.setattr(selection, "load_cutoffs", Cutoffs)
    before = selection.load_comparison(*_sides(evaluation(id="judged"), results()))
    after = selection.load_comparison(
        *_sides(evaluation(id="judged", judge="ollama:judge", judgements=12), _by_judge(0.0))
    )
    assert {one.example.key for one in before.changed} == {"mayor"}
    assert not after.changed


def test_a_comparison_counts_as_right_what_does_for_who_looks(monkeypatch):
    both = _sides(evaluation(id="cutoffs", judge="ollama:judge", judgements=12), _by_judge(0.6))
    monkeypatch.setattr(selection, "load_cutoffs", lambda: Cutoffs(judge=0.5))
    assert {one.example.key for one in selection.load_comparison(*both).changed} == {"bridge", "mayor"}
    monkeypatch.setattr(selection, "load_cutoffs", lambda: Cutoffs(judge=0.7))
    assert not selection.load_comparison(*both).changed


def test_the_best_variant_follows_another_judge():
    first = evaluation(id="ranked", judge="ollama:judge", judgements=12)
    assert grid.load_ranking(first, _by_judge(1.0), Cutoffs())[0].number == 1
    other = evaluation(id="ranked", judge="ollama:another", judgements=12)
    reversed_ = [judged(one, 0.0 if one.variant else 1.0, "") for one in results()]
    assert grid.load_ranking(other, reversed_, Cutoffs())[0].number == 0
