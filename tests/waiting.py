"""Wait for another thread or process without a sleep of fixed length."""

import time
from collections.abc import Callable


def wait_until(condition: Callable[[], object], seconds: float = 30.0) -> None:
    """Returns as soon as it is true; fails the test when it does not become so."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.005)
