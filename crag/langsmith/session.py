"""HTTP session for LangSmith's client: whatever the client does, nothing is sent without permission."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import requests

from crag.errors import Stopped
from crag.following import follow
from crag.stopping import Stop, deadline


class GuardedSession(requests.Session):
    """Session in which `before` permits and records each request, `stop` ends it, and no redirect is followed.

    `status`, `retry_after` and `text` describe the last reply; 0 and empty if there was none.
    """

    status = 0
    retry_after = ""
    text = ""

    def __init__(self, before: Callable[[], None], stop: Stop, seconds: float) -> None:
        """Create the session. `before` raises to forbid a request; `seconds` limits a request including its reply."""
        super().__init__()
        self._before = before
        self._stop = stop
        self._seconds = seconds
        self.max_redirects = 0  # the key is sent only to the address that was shown

    def send(self, request: requests.PreparedRequest, **kwargs: Any) -> requests.Response:
        """Send a request. Raises what `before` raises, `Stopped`, and the errors of `requests`."""
        self.status, self.retry_after, self.text = 0, "", ""
        self._stop.check()
        self._before()
        send = super().send
        with deadline(self._seconds, self._stop) as own:
            try:
                (reply,) = follow(lambda: [send(request, **kwargs)], own)
            except Stopped:
                self._stop.check()
                raise requests.Timeout from None
        self.status, self.text = reply.status_code, reply.text[:1000] if reply.status_code >= 400 else ""
        self.retry_after = reply.headers.get("Retry-After", "")
        return reply
