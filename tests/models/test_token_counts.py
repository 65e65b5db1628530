"""Tokens are counted without a network, and the counter says who it is."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from crag.models import token_counts
from crag.models.token_counts import count_passage_tokens, count_tokens, passage_counter_name, token_counter_name


@pytest.fixture(autouse=True)
def _fresh_counter(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    forget()
    yield
    forget()


def forget() -> None:
    token_counts._choose_counter.cache_clear()
    token_counts._open_counter.cache_clear()
    token_counts._open_passage_counter.cache_clear()


def test_the_llama_tokenizer_counts_where_there_is_no_other() -> None:
    assert token_counter_name() == "llama2"
    assert 8 <= count_tokens("The quick brown fox jumps over the lazy dog.") <= 16
    assert count_tokens("") == 0


def test_special_tokens_and_half_characters_are_plain_text() -> None:
    assert count_tokens("<|endoftext|> </s> \ud800") > 3


@pytest.mark.parametrize("text", ["臺灣最高的山是玉山", "천안함", "🦙🦙", "ﾊﾛｰ"])
def test_for_passages_no_character_counts_as_several(text: str) -> None:
    assert count_passage_tokens(text) <= len(text) + 1 < count_tokens(text)
    assert passage_counter_name() == "llama2-characters"


def test_for_passages_other_text_counts_as_ever() -> None:
    for text in ("The quick brown fox.", "déjà vu", "Größe über alles", ""):
        assert count_passage_tokens(text) == count_tokens(text)


def test_a_damaged_encoding_is_left_alone(tmp_path: Path) -> None:
    name = hashlib.sha1(token_counts._CL100K_ADDRESS.encode()).hexdigest()  # noqa: S324 — tiktoken's own file name
    (tmp_path / name).write_bytes(b"half a download")
    assert token_counter_name() == "llama2"
    assert (tmp_path / name).read_bytes() == b"half a download"


def test_bytes_count_where_no_tokenizer_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_counts, "find_llama_tokenizer", lambda: None)
    assert token_counter_name() == passage_counter_name() == "bytes"
    assert count_tokens("abcdef") == count_passage_tokens("abcdef") == 2
