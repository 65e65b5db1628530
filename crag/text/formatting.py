"""Numbers, sizes, durations, dates and file names as people read them. Times are seconds since the epoch."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import Literal

from crag.text.sanitization import to_one_line
from crag.translation import ENGLISH, _, current_language, ngettext
from crag.types import PRESENTATION_KIND, Thresholds

_MAX_RETRY_SECONDS = 3600


def format_number(number: float) -> str:
    """Format a number with thousands separators: 1,284."""
    if current_language() == ENGLISH:
        return f"{number:,}"
    from babel.numbers import format_decimal

    return str(format_decimal(number, locale=current_language()))


def format_count(number: int, singular: str, plural: str = "") -> str:
    """Format a number with its English noun in the user's language: 1 passage, 1,284 passages."""
    one, many = f"{{count}} {singular}", f"{{count}} {plural or f'{singular}s'}"
    return ngettext(one, many, number).format(count=format_number(number))


def format_done(done: int, total: int) -> str:
    """Format how many of several are done: 3 of 1,284."""
    return _("{done} of {total}").format(done=format_number(done), total=format_number(total))


def format_pages(number: int, kind: str) -> str:
    """Format the number of pages of a document of this kind; of a presentation, of its slides."""
    return format_count(number, "slide") if kind == PRESENTATION_KIND else format_count(number, "page")


def format_score(value: float) -> str:
    """Format a score or threshold with two decimals, or with more if two would round it, as in 0.999."""
    short = f"{value:.2f}"
    return short if float(short) == value else f"{value:g}"


def format_best_score(best: float, thresholds: Thresholds) -> str:
    """Format a score with the fewest decimals, at least two, that keep it on its side of the thresholds."""
    rounded = (f"{best:.{decimals}f}" for decimals in (2, 3, 4))
    return next(
        (shown for shown in rounded if thresholds.verdict_for(float(shown)) == thresholds.verdict_for(best)),
        f"{best:g}",
    )


def describe_best_score(best: float, thresholds: Thresholds) -> str:
    """Return the best score with the threshold it is above or below, as in “best 0.94 ≥ 0.59”."""
    shown, lower, upper = format_best_score(best, thresholds), thresholds.lower, thresholds.upper
    if best >= upper:
        return _("best {shown} ≥ {upper}").format(shown=shown, upper=format_score(upper))
    if best < lower:
        return _("best {shown} < {lower}").format(shown=shown, lower=format_score(lower))
    return _("best {shown}, between {lower} and {upper}").format(
        shown=shown, lower=format_score(lower), upper=format_score(upper)
    )


def format_size(amount: int) -> str:
    """Format a number of bytes: 12 kB, 0.4 MB, 412 MB, 4.9 GB."""
    if amount < 100_000:
        return f"{max(1, round(amount / 1000))} kB" if amount else "0 kB"
    value, unit = (amount / 1e6, "MB") if amount < 999_500_000 else (amount / 1e9, "GB")
    return f"{value:.1f} {unit}" if value < 10 else f"{value:,.0f} {unit}"


def format_duration(seconds: float) -> str:
    """Format a duration: 18 ms, 1.9 s, 1 min 22 s."""
    if seconds < 0.1:
        return _("{count} ms").format(count=max(1, round(seconds * 1000)))
    if seconds < 60:
        return _("{seconds:.1f} s").format(seconds=seconds)
    minutes, rest = divmod(round(seconds), 60)
    return _("{minutes} min {rest} s").format(minutes=minutes, rest=rest)


def format_retry_after(retry_after: str) -> str:
    """Format the delay of a Retry-After header (RFC 9110, section 10.2.3): 30 seconds, 5 minutes."""
    is_number = retry_after.isascii() and retry_after.isdecimal() and len(retry_after) < 10
    seconds = int(retry_after) if is_number else 0
    if not 0 < seconds <= _MAX_RETRY_SECONDS:
        return "a while"
    return f"{seconds} seconds" if seconds < 120 else f"{-(-seconds // 60)} minutes"


def format_place(title: str, locator: str, *, locator_first: bool = False) -> str:
    """Return a title and where in the document, as in `Passage.locator`.

    `locator_first` suits lists that cut long lines at the end, where the page would be.
    """
    return " · ".join(filter(None, (locator, title) if locator_first else (title, locator)))


def format_location(location: str) -> str:
    """Return the name of a file, with its archive if it is in one, or a web address without scheme."""
    whole = location.replace("!/", "/")
    if "://" in whole:
        return whole.partition("://")[2].rstrip("/")
    folder = max(location.partition("!/")[0].rfind(separator) for separator in "/\\")
    return whole[folder + 1 :]


def to_local_time(moment: float) -> datetime:
    """Convert to the local time of this machine."""
    return datetime.fromtimestamp(moment, UTC).astimezone()


def current_date() -> date:
    """Return today's date in the local time zone."""
    return datetime.now(UTC).astimezone().date()


def format_date(moment: float) -> str:
    """Format as 21 Nov 2026, or as usual in the user's language."""
    if current_language() != ENGLISH:
        from babel.dates import format_date as format_local_date

        return str(format_local_date(to_local_time(moment), "medium", locale=current_language()))
    return f"{to_local_time(moment).day} {to_local_time(moment):%b %Y}"


def format_day(day: date) -> str:
    """Format as 21 Nov, or as usual in the user's language."""
    if current_language() != ENGLISH:
        from babel.dates import format_skeleton

        return str(format_skeleton("MMMd", day, locale=current_language()))
    return f"{day.day} {day:%b}"


def format_date_time(moment: float) -> str:
    """Format as 21 Nov 2026, 14:03."""
    return f"{format_date(moment)}, {format_time(moment)}"


def format_time(moment: float) -> str:
    """Format as 14:03."""
    return f"{to_local_time(moment):%H:%M}"


def format_timestamp(moment: float) -> str:
    """Format to the second, for lists and tables: 2026-11-21 14:03:09."""
    return f"{to_local_time(moment):%Y-%m-%d %H:%M:%S}"


_MAX_NAME_LENGTH = 60  # characters; at most 240 bytes, below the usual limit of 255
_FORBIDDEN_IN_FILE_NAMES = re.compile(r"[^\w\s().,-]+")
_WINDOWS_DEVICE = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
_DEFAULT_FILE_NAME = "conversation"


def export_file_name(title: str, ending: str) -> str:
    """Return a file name such as `When does TraceMonkey give up.html`, valid on every file system.

    The result is never a path, a hidden file or a reserved device name of Windows.
    """
    words = " ".join(_FORBIDDEN_IN_FILE_NAMES.sub(" ", to_one_line(title)).split())
    name = words[:_MAX_NAME_LENGTH].strip(" .,-") or _DEFAULT_FILE_NAME
    return f"{f'{_DEFAULT_FILE_NAME} {name}' if _WINDOWS_DEVICE.fullmatch(name) else name}.{ending}"


def quote_words(words: Sequence[str], conjunction: Literal["and", "or"]) -> str:
    """Return words in quotation marks, as in “built”, “Halden” and “lighthouse”."""
    *others, last = [f"“{word}”" for word in words] or [""]
    return f"{', '.join(others)} {conjunction} {last}" if others else last
