"""The embedding model: normalized vectors of one size, different for documents and questions."""

from __future__ import annotations

import numpy as np
import pytest

from crag.models.embedders import open_embedder

pytestmark = pytest.mark.live

TEXTS = ["Paris is the capital of France.", "Bees dance to tell where flowers are.", "한국의 수도는 서울이다."]


def test_vectors(settings, embedder_name):
    embedder = open_embedder(f"ollama:{embedder_name}", settings)
    vectors = embedder.embed_documents(TEXTS)
    assert vectors.shape == (len(TEXTS), embedder.space.dimension)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-3)
    assert not np.allclose(vectors[0], vectors[1], atol=1e-3)
    assert np.allclose(embedder.embed_documents(TEXTS[:1])[0], vectors[0], atol=1e-2)


def test_prefixes(settings, embedder_name):
    """A model that was trained with prefixes makes another vector of a question than of the same text in a document."""
    embedder = open_embedder(f"ollama:{embedder_name}", settings)
    document, query = embedder.embed_documents(TEXTS[:1])[0], embedder.embed_query(TEXTS[0])
    prefixed = bool(embedder.space.document_prefix or embedder.space.query_prefix)
    assert np.allclose(document, query, atol=1e-3) != prefixed
