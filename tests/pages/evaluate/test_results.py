"""Cached comparisons and rankings, and when they are computed again."""

from __future__ import annotations

from crag.evaluation.evaluations import Evaluations
from crag.evaluation.types import Cutoffs
from pages.evaluate import results as page_results
from tests.belongings import ANN, BEN
from tests.evaluation.sample import evaluation, judged, results


def _sides(one, answers):
    return [
        page_results.ComparedVariant(one, number, [each for each in answers if each.variant == number])
        for number in (0, 1)
    ]


def _by_judge(score):
    """The same answers with the word of a judge on each, of the first variant the same, of the second this score."""
    return [judged(one, score if one.variant else 0.0, "") for one in results()]


def test_a_comparison_follows_a_judge_who_has_spoken_since(monkeypatch):
    monkeypatch.setattr(page_results, "load_cutoffs", Cutoffs)
    before = page_results.load_comparison(*_sides(evaluation(id="judged"), results()))
    after = page_results.load_comparison(
        *_sides(evaluation(id="judged", judge="ollama:judge", judgements=12), _by_judge(0.0))
    )
    assert {one.example.key for one in before.changed} == {"mayor"}
    assert not after.changed


def test_a_comparison_counts_as_right_what_does_for_who_looks(monkeypatch):
    both = _sides(evaluation(id="cutoffs", judge="ollama:judge", judgements=12), _by_judge(0.6))
    monkeypatch.setattr(page_results, "load_cutoffs", lambda: Cutoffs(judge=0.5))
    assert {one.example.key for one in page_results.load_comparison(*both).changed} == {"bridge", "mayor"}
    monkeypatch.setattr(page_results, "load_cutoffs", lambda: Cutoffs(judge=0.7))
    assert not page_results.load_comparison(*both).changed


def test_the_best_variant_follows_another_judge():
    first = evaluation(id="ranked", judge="ollama:judge", judgements=12)
    assert page_results.load_ranking(first, _by_judge(1.0), Cutoffs())[0].number == 1
    other = evaluation(id="ranked", judge="ollama:another", judgements=12)
    reversed_ = [judged(one, 0.0 if one.variant else 1.0, "") for one in results()]
    assert page_results.load_ranking(other, reversed_, Cutoffs())[0].number == 0


def test_each_user_gets_their_own_datasets_and_cutoffs(monkeypatch, services):
    """Within the time for which both are cached."""
    monkeypatch.setattr(Evaluations, "cutoffs", lambda self: Cutoffs(judge={ANN: 0.2, BEN: 0.8}[self._user]))
    services.for_user(ANN).datasets.add("Hers", b'{"question": "Why?"}')

    def seen_by(user):
        monkeypatch.setattr(page_results, "current_owner", lambda: user)
        monkeypatch.setattr(page_results, "application", lambda: services.for_user(user))
        uploaded = [one.name for one in page_results.load_datasets() if one.kind == "uploaded"]
        return uploaded, page_results.load_cutoffs().judge

    assert (seen_by(ANN), seen_by(BEN)) == ((["Hers"], 0.2), ([], 0.8))


def test_a_summary_dropped_from_the_cache_is_not_cached(monkeypatch, services):
    monkeypatch.setattr(services.evaluations, "results", lambda *_: results())
    monkeypatch.setattr(page_results, "_MAX_SUMMARIES", 2)
    summarized = [evaluation(id=f"summary-{number}") for number in range(3)]
    for one in summarized:
        page_results.load_summary(one, 0)
    assert [page_results.has_cached_summary(one) for one in summarized] == [False, True, True]
