"""The built-in embedder, opened once."""

from __future__ import annotations

import pytest

from crag.models.embedders import open_embedder
from crag.protocols import Embedder
from crag.settings import Settings


@pytest.fixture(scope="session")
def embedder() -> Embedder:
    return open_embedder("builtin", Settings())
