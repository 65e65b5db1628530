"""A limit counts for each account and each kind, and within an hour only."""

import pytest

from crag.concurrency.rate_limits import RateLimits
from crag.errors import BadRequest

ANN, BEN, BROWSER = "account:ann", "account:ben", "b" * 64


def test_each_account_has_its_own_limit_and_room_again_after_an_hour():
    now = [0.0]
    limits = RateLimits({"questions": 2, "additions": 1}, lambda: now[0])
    limits.take("questions", ANN)
    now[0] = 600.0
    limits.take("questions", ANN)
    limits.take("additions", ANN)
    limits.take("questions", BEN)
    with pytest.raises(BadRequest, match=r"2 questions an hour\. Wait 51 minutes"):
        limits.take("questions", ANN)
    now[0] = 3600.0
    limits.take("questions", ANN)
    with pytest.raises(BadRequest):
        limits.take("questions", ANN)


@pytest.mark.parametrize("user", [None, BROWSER])
def test_without_accounts_nothing_is_limited(user):
    limits = RateLimits({"questions": 1})
    for _ in range(3):
        limits.take("questions", user)
