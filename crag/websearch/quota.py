"""Monthly search quota: counted locally, or as reported by Tavily."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from crag.cancellation import Cancellation, call_cancellable
from crag.errors import WebSearchFailed
from crag.settings import url_host
from crag.storage.outbound_log import OutboundLog
from crag.websearch.tavily import fault_from_exception, fault_from_status

FREE_MONTHLY_CREDITS = 1_000  # per month in Tavily's free plan; a basic search costs one
_VALID_SECONDS = 3600.0
_TIMEOUT_SECONDS = 10.0
_MAX_COUNT = 1e12  # credits: no account has as many
_USAGE_REQUEST = "How much of the account is used (with the key, nothing else)"


@dataclass(frozen=True, slots=True)
class Quota:
    """Credits used of `limit` (0: no limit). `plan` is Tavily's name of the plan; it is empty for a local count."""

    used: int
    limit: int
    plan: str = ""


class SearchQuota:
    """Search quota of one account at Tavily, and the queries of this calendar month that this home sent anywhere."""

    def __init__(self, key: str, base_url: str, outbound_log: OutboundLog) -> None:
        self._key = key
        self._base_url = base_url
        self._outbound_log = outbound_log
        self._reported: tuple[float, Quota] | None = None

    def current(self) -> Quota:
        """Return Tavily's figures plus the queries sent since, for an hour after `fetch`; otherwise the local count."""
        if self._reported and time.time() - self._reported[0] < _VALID_SECONDS:
            asked_at, quota = self._reported
            since = self._outbound_log.count_since(asked_at, "web search", url_host(self._base_url))
            return replace(quota, used=quota.used + since)
        return replace(self.count(url_host(self._base_url)), limit=FREE_MONTHLY_CREDITS)

    def count(self, host: str) -> Quota:
        """Return the number of queries sent to this host this month, without a limit."""
        return Quota(self._outbound_log.count_since(_month_start(), "web search", host), 0)

    def fetch(self) -> Quota:
        """Ask Tavily (`GET /usage`). The request is logged like everything that leaves the machine.

        Raises `WebSearchFailed`, also without a key, and `HomeFault`.
        """
        if not self._key:
            raise WebSearchFailed.make("tavily.no_key")
        self._outbound_log.record(url_host(self._base_url), "account", _USAGE_REQUEST)
        asked_at = time.time()
        try:
            quota = parse_usage(call_cancellable(self._request, Cancellation(), _TIMEOUT_SECONDS))
        except TimeoutError as error:
            raise WebSearchFailed.make("tavily.timeout") from error
        self._reported = asked_at, quota
        return quota

    def _request(self) -> Any:
        import requests  # imported late because only a search needs it

        from crag.websearch.bounded_session import BoundedSession

        with BoundedSession() as session:
            try:
                headers = {"Authorization": f"Bearer {self._key}"}
                reply = session.get(f"{self._base_url}/usage", headers=headers, timeout=_TIMEOUT_SECONDS)
                if reply.status_code != 200:
                    raise fault_from_status(reply.status_code, reply.headers.get("Retry-After", ""))
                return reply.json()
            except requests.RequestException as error:
                raise fault_from_exception(error) from error


def parse_usage(reply: Any) -> Quota:
    """Return the usage of the key or of the account's plan, whichever has less left. Raises `WebSearchFailed`."""
    key, account = (reply.get(part) if isinstance(reply, dict) else None for part in ("key", "account"))
    plan = account.get("current_plan") if isinstance(account, dict) else None
    name = plan.strip()[:60] if isinstance(plan, str) and plan.strip() else "Tavily"
    quotas = [_parse_quota(key, "", name), _parse_quota(account, "plan_", name)]
    known = [quota for quota in quotas if quota]
    if not known:
        raise WebSearchFailed.make("tavily.bad_reply")
    return min(known, key=lambda quota: quota.limit - quota.used if quota.limit else math.inf)


def _parse_quota(figures: Any, prefix: str, plan: str) -> Quota | None:
    if not isinstance(figures, dict):
        return None
    used, limit = (_parse_count(figures.get(f"{prefix}{name}")) for name in ("usage", "limit"))
    return None if used is None else Quota(used, limit or 0, plan)


def _parse_count(value: Any) -> int | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return int(value) if is_number and 0 <= value < _MAX_COUNT else None


def _month_start() -> float:
    today = datetime.now(UTC).astimezone()
    return today.replace(day=1, hour=0, minute=0, second=0, microsecond=0).timestamp()
