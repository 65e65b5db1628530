"""A limit counts for each account and each kind, and within an hour only."""

import pytest

from crag.concurrency.rate_limits import RateLimits
from crag.errors import BadRequest, LimitReached

ANN, BEN, BROWSER = "account:ann", "account:ben", "b" * 64


def test_each_account_has_its_own_limit_and_room_again_after_an_hour():
    now = [0.0]
    limits = RateLimits({"questions": 2, "additions": 1}, lambda: now[0])
    limits.take("questions", ANN)
    now[0] = 600.0
    limits.take("questions", ANN)
    limits.take("additions", ANN)
    limits.take("questions", BEN)
    with pytest.raises(BadRequest, match=r"2 questions an hour\. Try again in 50 min"):
        limits.take("questions", ANN)
    now[0] = 3600.0
    limits.take("questions", ANN)
    with pytest.raises(BadRequest):
        limits.take("questions", ANN)


def test_several_at_once_count_each_and_wait_for_room_for_all_of_them():
    now = [0.0]
    limits = RateLimits({"evaluations": 10}, lambda: now[0])
    limits.take("evaluations", ANN, 4)
    now[0] = 600.0
    limits.take("evaluations", ANN, 5)
    limits.take("evaluations", ANN)
    with pytest.raises(LimitReached, match="Try again in 50 min"):
        limits.take("evaluations", ANN, 3)
    with pytest.raises(LimitReached, match="Try again in 60 min"):
        limits.take("evaluations", ANN, 5)
    with pytest.raises(BadRequest, match=r"10 questions in evaluations an hour\. Choose fewer"):
        limits.take("evaluations", ANN, 11)
    now[0] = 3600.0
    limits.take("evaluations", ANN, 4)


@pytest.mark.parametrize("user", [None, BROWSER])
def test_without_accounts_nothing_is_limited(user):
    limits = RateLimits({"questions": 1})
    for _ in range(3):
        limits.take("questions", user)
