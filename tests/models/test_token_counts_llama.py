"""The memory for words changes no token and no vector."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from crag.concurrency import caches
from crag.models.builtin_embedder import BUILTIN_DIMENSION, _wordllama_folder, embed_texts
from crag.models.token_counts import LlamaTokenizer, find_llama_tokenizer, load_llama_tokenizer

SIGNS = [*"abcdeTHE   \n\t.,<>s/▁é한국中𝔸🦙\u0301\u00a0\u3000\x00", "<s>", "</s>", "<unk>", "the", "ing", "  ", " and"]


def drawn(count: int, longest: int) -> list[str]:
    chance = random.Random(1)
    return ["".join(chance.choices(SIGNS, k=chance.randint(0, longest))) for _ in range(count)]


@pytest.fixture(scope="module")
def original() -> Any:
    """WordLlama as its package opens it."""
    from wordllama import WordLlama

    model = WordLlama.load(cache_dir=_wordllama_folder(), dim=BUILTIN_DIMENSION, disable_download=True)
    model.tokenizer.no_padding()
    return model


def test_tokens_are_those_of_the_tokenizer(original: Any) -> None:
    for text in drawn(5_000, 30):
        expected = original.tokenizer.encode(text, add_special_tokens=False).ids
        assert np.frombuffer(load_llama_tokenizer().ids(text), dtype=np.uint16).tolist() == expected, repr(text)
        assert load_llama_tokenizer().count(text) == len(expected)


def test_the_words_known_from_the_start_are_tokens_of_their_own(original: Any) -> None:
    words = [token[1:] for token in original.tokenizer.get_vocab() if token[:1] == "▁" and "▁" not in token[1:]]
    assert len(words) > 10_000
    assert all(len(original.tokenizer.encode(word, add_special_tokens=False).ids) == 1 for word in words if word)
    assert all(load_llama_tokenizer().count(word) == 1 for word in words if word)


def test_a_character_spelled_out_in_bytes_counts_once() -> None:
    assert (
        load_llama_tokenizer().count_characters_once("fox\n\n🦙 fox")
        == load_llama_tokenizer().count("fox\n\n🦙 fox") - 3
    )


def test_vectors_are_those_of_wordllama(original: Any) -> None:
    texts = [text for text in drawn(300, 400) if text] + ["word " * 3_000]
    original.tokenizer.enable_truncation(max_length=2048)
    original.tokenizer.enable_padding()
    assert np.abs(embed_texts(texts) - original.embed(texts, batch_size=32)).max() < 1e-6


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    file = find_llama_tokenizer()
    assert file
    tokens = LlamaTokenizer(file)
    monkeypatch.setattr(caches, "_MAX_ENTRIES", 10)
    counts = [tokens.count(" ".join(f"word{n}" for n in range(start, start + 7))) for start in range(0, 70, 7)]
    assert tokens.count("x" * 10_000) > 1_000
    assert len(tokens._words) <= 10
    assert all(len(word) <= 64 for word in tokens._words)
    assert min(counts) >= 14
