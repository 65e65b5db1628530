"""Log messages: exceptions with and without a traceback."""

import logging

import pytest

from crag.text.log_format import PlainLogFormatter


def raised() -> ValueError:
    try:
        raise ValueError("/home/ann/key")
    except ValueError as error:
        return error


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (raised(), "It failed\nValueError in test_log_format.py, line 12"),
        (ValueError("/home/ann/key"), "It failed\nValueError"),  # set on a future, never raised
        (None, "It failed"),  # logged where nothing is being handled
    ],
)
def test_an_exception_is_logged_by_its_kind_and_place_if_it_has_one(error, said):
    known = (type(error), error, error.__traceback__) if error else (None, None, None)
    record = logging.LogRecord("crag", logging.ERROR, "", 1, "It failed", (), known)
    assert PlainLogFormatter("%(message)s").format(record) == said
