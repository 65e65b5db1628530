"""Times as people read them, in the local time zone. Input is seconds since the epoch."""

from __future__ import annotations

from datetime import UTC, date, datetime


def local(moment: float) -> datetime:
    """Convert to the local time of this machine."""
    return datetime.fromtimestamp(moment, UTC).astimezone()


def today() -> date:
    """Return today's date in the local time zone."""
    return datetime.now(UTC).astimezone().date()


def day(moment: float) -> str:
    """Format as 21 Nov 2026."""
    return f"{local(moment).day} {local(moment):%b %Y}"


def day_and_minute(moment: float) -> str:
    """Format as 21 Nov 2026, 14:03."""
    return f"{day(moment)}, {local(moment):%H:%M}"


def exact(moment: float) -> str:
    """Format to the second, for lists and tables: 2026-11-21 14:03:09."""
    return f"{local(moment):%Y-%m-%d %H:%M:%S}"
