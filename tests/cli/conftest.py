"""Homes that other suites prepare, for the commands that read them."""

from tests.evaluation.conftest import filled  # noqa: F401 — a fixture
from tests.inspection.conftest import home, world  # noqa: F401 — fixtures
