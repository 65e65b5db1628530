"""Numbers as people read them: with their noun, and with as many decimals as needed."""

from __future__ import annotations

_LONGEST_WAIT = 3600


def count(number: int, singular: str, plural: str = "") -> str:
    """Format a number with its noun: 1 passage, 1,284 passages."""
    return f"{number:,} {singular if number == 1 else plural or f'{singular}s'}"


def score(value: float) -> str:
    """Format a score or threshold with two decimals, or with more if two would round it, as in 0.999."""
    short = f"{value:.2f}"
    return short if float(short) == value else f"{value:g}"


def size(amount: int) -> str:
    """Format a number of bytes: 12 kB, 0.4 MB, 412 MB, 4.9 GB."""
    if amount < 100_000:
        return f"{max(1, round(amount / 1000))} kB" if amount else "0 kB"
    value, unit = (amount / 1e6, "MB") if amount < 999_500_000 else (amount / 1e9, "GB")
    return f"{value:.1f} {unit}" if value < 10 else f"{value:,.0f} {unit}"


def duration(seconds: float) -> str:
    """Format a duration: 18 ms, 1.9 s, 1 min 22 s."""
    if seconds < 0.1:
        return f"{max(1, round(seconds * 1000))} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"


def asked_wait(retry_after: str) -> str:
    """Format the delay of a Retry-After header (RFC 9110, section 10.2.3): 30 seconds, 5 minutes."""
    seconds = int(retry_after) if retry_after.isascii() and retry_after.isdecimal() else 0
    if not 0 < seconds <= _LONGEST_WAIT:
        return "a while"
    return f"{seconds} seconds" if seconds < 120 else f"{-(-seconds // 60)} minutes"
