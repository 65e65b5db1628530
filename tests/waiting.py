"""Wait for another thread or process without a sleep of fixed length."""

import time
from collections.abc import Callable

PATIENCE = 100.0  # seconds; a test that waits in vain still fails before pytest ends it, and says what it waited for


def wait_until(condition: Callable[[], object]) -> None:
    """Returns as soon as it is true; in vain until pytest ends the test, as no time is enough for a busy machine."""
    pause = 0.005
    while not condition():
        time.sleep(pause)
        pause = min(2 * pause, 0.05)  # asking a database is work, too
