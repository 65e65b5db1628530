"""The HTTP session that LangSmith's client is given: whatever that client does, nothing passes here unasked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import requests

from crag.errors import Stopped
from crag.following import follow
from crag.stopping import Stop, deadline


class GuardedSession(requests.Session):
    """Each request is asked for and written down by `before`, ends with `stop`, and goes nowhere but where it was sent.

    `status`, `retry_after` and `text` are those of the last reply, 0 and empty where none came.
    """

    status = 0
    retry_after = ""
    text = ""

    def __init__(self, before: Callable[[], None], stop: Stop, seconds: float) -> None:
        """`before` raises what forbids a request; `seconds` is how long one may take, its reply included."""
        super().__init__()
        self._before = before
        self._stop = stop
        self._seconds = seconds
        self.max_redirects = 0  # the key goes to the address that was shown, and nowhere else

    def send(self, request: requests.PreparedRequest, **kwargs: Any) -> requests.Response:
        """Raises what `before` raises, `Stopped`, and the errors of `requests`."""
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
