"""Scripted web servers; one has an address of its own, so that others on this machine stay forbidden."""

from __future__ import annotations

import pytest

from tests.doubles.web import serving


@pytest.fixture
def web():
    with serving() as server:
        yield server


@pytest.fixture
def guarded_web():
    try:
        with serving(host="127.0.0.77") as server:
            yield server
    except OSError:
        pytest.skip("this system gives loopback one address only")
