"""Nomic in this process: random weights of its architecture, loaded and run by gpt4all."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256

import numpy as np
import pytest

from crag.errors import ModelFault
from crag.models import nomic_weights as nomic_weights_module
from crag.models.embedders import open_embedder
from crag.models.model_choice import choose_embedder
from crag.models.nomic_weights import is_nomic_usable, nomic_embedder_name
from crag.settings import Settings
from tests.doubles.nomic_weights import nomic_weights

pytest.importorskip("gpt4all", reason="gpt4all has no wheel for this machine")
TEXTS = ["Bees dance to tell where the flowers are.", "Wasps build nests of paper.", "카나리아가 노래한다."]


@pytest.fixture
def weights(no_weights):
    """Whole weights in their place."""
    no_weights.parent.mkdir(parents=True)
    no_weights.write_bytes(nomic_weights())
    return no_weights


def test_the_real_library_embeds_with_the_prefix_of_each_task(weights):
    embedder = open_embedder("nomic", Settings())
    rows = embedder.embed_documents(TEXTS)
    query = embedder.embed_query(TEXTS[0])
    assert (rows.shape, query.shape, rows.dtype) == ((3, 768), (768,), np.float32)
    assert np.allclose(np.linalg.norm([*rows, query], axis=1), 1, atol=1e-5)
    assert np.allclose(embedder.embed_documents(TEXTS[:1])[0], rows[0], atol=1e-5)
    assert float(query @ rows[0]) < 0.999, "the same text as question and as document"
    assert float(rows[0] @ rows[1]) < 0.99


def test_odd_texts_have_vectors_or_words(weights):
    embedder = open_embedder("nomic", Settings())
    odd = ["", "   ", "<|endoftext|> [CLS] {user} %s", "bees " * 600]  # the last is longer than the model takes at once
    assert np.allclose(np.linalg.norm(embedder.embed_documents(odd), axis=1), 1, atol=1e-5)
    with pytest.raises(ModelFault) as fault:
        embedder.embed_query("\ud800 half a pair")
    assert fault.value.code == "embedding_failed"


def test_its_space_is_that_of_the_very_file(weights):
    first = open_embedder("nomic", Settings())
    assert first.space.digest == sha256(nomic_weights()).hexdigest()
    before = first.embed_query("bees")
    weights.write_bytes(nomic_weights(seed=1))
    second = open_embedder("nomic", Settings())
    assert second.space.id != first.space.id
    assert float(before @ second.embed_query("bees")) < 0.99


def test_several_threads_get_the_same_vectors(weights):
    embedder = open_embedder("nomic", Settings())
    texts = [f"bees dance {n}" for n in range(8)]
    together = embedder.embed_documents(texts)
    with ThreadPoolExecutor(6) as pool:
        alone = np.stack(list(pool.map(lambda text: embedder.embed_documents([text])[0], texts)))
    assert np.allclose(together, alone, atol=1e-4)


def test_a_question_does_not_wait_for_all_that_is_being_embedded(weights):
    embedder = open_embedder("nomic", Settings())
    passages = [f"bees dance {n} " * 4 for n in range(24)]
    with ThreadPoolExecutor(1) as pool:
        adding = pool.submit(embedder.embed_documents, passages)
        embedder.embed_query("Where are the flowers?")
        assert not adding.done()


def _flipped(body: bytes, sign: bytes, value: int) -> bytes:
    place = body.index(sign) + len(sign)
    return body[:place] + bytes([value]) + body[place + 1 :]


@pytest.mark.parametrize(
    "damage",
    [
        lambda body: b"",
        lambda body: b"<html>Please sign in</html>" * 100,
        lambda body: body[:2_000],
        lambda body: body[:-1],
        lambda body: body[: len(body) // 2],
        lambda body: body.replace(b"nomic-bert", b"other-bert"),
        lambda body: _flipped(body, b"tokenizer.ggml.token_type", 11),
    ],
    ids=["empty", "a page", "only the beginning", "a byte short", "half", "another architecture", "a damaged header"],
)
def test_damaged_weights_are_told_and_end_nothing(no_weights, damage):
    no_weights.parent.mkdir(parents=True)
    no_weights.write_bytes(damage(nomic_weights()))
    with pytest.raises(ModelFault) as fault:
        open_embedder("nomic", Settings()).embed_query("bees")
    assert fault.value.code == "weights_damaged"
    assert "damaged" in fault.value.message
    assert "Download them again" in fault.value.remedy
    assert not is_nomic_usable(), "so that they are offered to be fetched, and nobody chooses them"
    no_weights.write_bytes(nomic_weights())
    assert is_nomic_usable()


def test_damaged_numbers_give_no_vectors(weights):
    body = nomic_weights()
    half = len(body) // 2
    weights.write_bytes(body[:half] + bytes(len(body) - half))
    with pytest.raises(ModelFault, match="all zeros") as fault:
        open_embedder("nomic", Settings()).embed_query("bees")
    assert fault.value.code == "embedding_failed"


def test_weights_of_another_size_are_refused(weights):
    weights.write_bytes(nomic_weights(width=744))
    with pytest.raises(ModelFault, match="do not have 768 dimensions"):
        open_embedder("nomic", Settings()).embed_documents(TEXTS)


def test_weights_are_tried_once_in_a_child(weights, monkeypatch):
    tried = []
    run = subprocess.run
    monkeypatch.setattr(nomic_weights_module.subprocess, "run", lambda *a, **k: tried.append(a) or run(*a, **k))
    weights.write_bytes(nomic_weights(seed=2))
    for _ in range(3):
        open_embedder("nomic", Settings()).embed_query("bees")
    assert len(tried) == 1


def test_a_machine_without_room_is_told_from_damage(weights, monkeypatch):
    killed = ["-c", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"]
    run = subprocess.run
    monkeypatch.setattr(
        nomic_weights_module.subprocess, "run", lambda command, **how: run([command[0], *killed], **how)
    )
    weights.write_bytes(nomic_weights(seed=5))
    with pytest.raises(ModelFault, match="too little memory"):
        open_embedder("nomic", Settings()).embed_query("bees")
    assert is_nomic_usable()


def test_where_gpt4all_has_no_wheel_nomic_is_that_of_ollama(weights, monkeypatch):
    monkeypatch.setitem(sys.modules, "gpt4all", None)
    weights.write_bytes(nomic_weights(seed=3))
    assert nomic_embedder_name() == "ollama:nomic-embed-text"
    assert not is_nomic_usable()
    assert choose_embedder(Settings()).name == "builtin"
    with pytest.raises(ModelFault) as fault:
        open_embedder("nomic", Settings()).embed_query("bees")
    assert fault.value.code == "package_missing"
    assert fault.value.model == "ollama:nomic-embed-text"
    assert "ollama:nomic-embed-text" in fault.value.remedy
