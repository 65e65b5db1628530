"""Token counts without a network, equal to those of the original tokenizer."""

from __future__ import annotations

import hashlib
import random

import numpy as np
import pytest

from crag.concurrency import caches
from crag.models import builtin_embedder, token_counts
from crag.models.builtin_embedder import BUILTIN_DIMENSION, _wordllama_folder, embed_texts
from crag.models.token_counts import (
    LlamaTokenizer,
    count_passage_tokens,
    count_tokens,
    find_llama_tokenizer,
    load_llama_tokenizer,
    passage_counter_name,
    token_counter_name,
)

SIGNS = [*"abcdeTHE   \n\t.,<>s/▁é한국中𝔸🦙\u0301\u00a0\u3000\x00", "<s>", "</s>", "<unk>", "the", "ing", "  ", " and"]


@pytest.fixture(autouse=True)
def _fresh_counter(monkeypatch, tmp_path):
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    forget()
    yield
    forget()


def forget() -> None:
    token_counts._choose_counter.cache_clear()
    token_counts._open_counter.cache_clear()
    token_counts._open_passage_counter.cache_clear()


def test_the_llama_tokenizer_counts_where_there_is_no_other():
    assert token_counter_name() == "llama2"
    assert 8 <= count_tokens("The quick brown fox jumps over the lazy dog.") <= 16
    assert count_tokens("") == 0


def test_special_tokens_and_half_characters_are_plain_text():
    assert count_tokens("<|endoftext|> </s> \ud800") > 3


@pytest.mark.parametrize("text", ["臺灣最高的山是玉山", "천안함", "🦙🦙", "ﾊﾛｰ"])
def test_for_passages_no_character_counts_as_several(text):
    assert count_passage_tokens(text) <= len(text) + 1 < count_tokens(text)
    assert passage_counter_name() == "llama2-characters"


def test_for_passages_other_text_counts_as_ever():
    for text in ("The quick brown fox.", "déjà vu", "Größe über alles", ""):
        assert count_passage_tokens(text) == count_tokens(text)


def test_a_damaged_encoding_is_left_alone(tmp_path):
    name = hashlib.sha1(token_counts._CL100K_ADDRESS.encode()).hexdigest()  # noqa: S324 — tiktoken's own file name
    (tmp_path / name).write_bytes(b"half a download")
    assert token_counter_name() == "llama2"
    assert (tmp_path / name).read_bytes() == b"half a download"


def test_bytes_count_where_no_tokenizer_is_installed(monkeypatch):
    monkeypatch.setattr(token_counts, "find_llama_tokenizer", lambda: None)
    assert token_counter_name() == passage_counter_name() == "bytes"
    assert count_tokens("abcdef") == count_passage_tokens("abcdef") == 2


def drawn(count: int, longest: int) -> list[str]:
    chance = random.Random(1)
    return ["".join(chance.choices(SIGNS, k=chance.randint(0, longest))) for _ in range(count)]


@pytest.fixture(scope="module")
def original():
    """WordLlama as its package opens it."""
    from wordllama import WordLlama

    model = WordLlama.load(cache_dir=_wordllama_folder(), dim=BUILTIN_DIMENSION, disable_download=True)
    model.tokenizer.no_padding()
    return model


def test_tokens_are_those_of_the_tokenizer(original):
    for text in drawn(5_000, 30):
        expected = original.tokenizer.encode(text, add_special_tokens=False).ids
        assert np.frombuffer(load_llama_tokenizer().ids(text), dtype=np.uint16).tolist() == expected, repr(text)
        assert load_llama_tokenizer().count(text) == len(expected)


def test_words_of_the_vocabulary_are_one_token(original):
    words = [token[1:] for token in original.tokenizer.get_vocab() if token[:1] == "▁" and "▁" not in token[1:]]
    assert len(words) > 10_000
    assert all(len(original.tokenizer.encode(word, add_special_tokens=False).ids) == 1 for word in words if word)
    assert all(load_llama_tokenizer().count(word) == 1 for word in words if word)


def test_a_character_spelled_out_in_bytes_counts_once():
    assert (
        load_llama_tokenizer().count_characters_once("fox\n\n🦙 fox")
        == load_llama_tokenizer().count("fox\n\n🦙 fox") - 3
    )


def test_vectors_are_those_of_wordllama(original):
    texts = [text for text in drawn(300, 400) if text] + ["word " * 3_000]
    original.tokenizer.enable_truncation(max_length=2048)
    original.tokenizer.enable_padding()
    assert np.abs(embed_texts(texts) - original.embed(texts, batch_size=32)).max() < 1e-6


def test_what_is_remembered_is_bounded(monkeypatch):
    file = find_llama_tokenizer()
    assert file
    tokens = LlamaTokenizer(file)
    monkeypatch.setattr(caches, "_MAX_ENTRIES", 10)
    counts = [tokens.count(" ".join(f"word{n}" for n in range(start, start + 7))) for start in range(0, 70, 7)]
    assert tokens.count("x" * 10_000) > 1_000
    assert len(tokens._words) <= 10
    assert all(len(word) <= 64 for word in tokens._words)
    assert min(counts) >= 14


def test_vectors_do_not_change_when_all_are_converted():
    builtin_embedder._load_token_vectors.cache_clear()  # none is converted yet
    texts = ["TraceMonkey records a trace.", "주전자가 끓는다", "茶壺"]
    before = embed_texts(texts)
    embed_texts(["word " * 2_000] * 20)
    assert (embed_texts(texts) == before).all()
