"""Tiny random weights of Nomic's architecture, which the real library loads and embeds with."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from gguf import GGUFWriter, PoolingType, TokenType

ARCHITECTURE = "nomic-bert"
WIDTH, LAYERS, HEADS, INNER, LONGEST = 768, 1, 12, 64, 512
_SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
# What is multiplied with may have half the precision.
_HALVED = ("qkv.weight", "output.weight", "up.weight", "gate.weight", "down.weight")
# Whole words and letters begin with ▁ in this format, what goes on within a word does not.
_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789:_.,?"
_WORDS = [
    "search",
    "document",
    "query",
    "bees",
    "dance",
    "to",
    "tell",
    "where",
    "the",
    "flowers",
    "are",
    "wasps",
    "build",
    "nests",
    "of",
    "paper",
    "do",
]


@cache
def nomic_weights(seed: int = 0, width: int = WIDTH) -> bytes:
    """A whole GGUF file; another seed makes another model of the same shape."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "weights.gguf"
        _write(path, np.random.default_rng(seed), width)
        return path.read_bytes()


def _write(path: Path, random: np.random.Generator, width: int) -> None:
    writer = GGUFWriter(path, ARCHITECTURE)
    writer.add_name("nomic-embed-text-v1.5")
    writer.add_context_length(LONGEST)
    writer.add_embedding_length(width)
    writer.add_block_count(LAYERS)
    writer.add_head_count(HEADS)
    writer.add_feed_forward_length(INNER)
    writer.add_layer_norm_eps(1e-12)
    writer.add_rope_freq_base(1000.0)
    writer.add_causal_attention(False)
    writer.add_pooling_type(PoolingType.MEAN)
    words = _add_words(writer)
    for name, shape in _shapes(words, width).items():
        values = np.ones(shape) if name.endswith("norm.weight") else random.normal(0, 0.3, shape)
        writer.add_tensor(name, values.astype(np.float16 if name.endswith(_HALVED) else np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _add_words(writer: GGUFWriter) -> int:
    words = [*_SPECIAL, *(f"▁{word}" for word in [*_LETTERS, *_WORDS]), *_LETTERS]
    types = [TokenType.CONTROL] * len(_SPECIAL) + [TokenType.NORMAL] * (len(words) - len(_SPECIAL))
    writer.add_tokenizer_model("bert")
    writer.add_token_list(words)
    writer.add_token_types(types)
    writer.add_token_type_count(2)
    writer.add_bos_token_id(2)
    writer.add_eos_token_id(3)
    writer.add_sep_token_id(3)
    writer.add_unk_token_id(1)
    writer.add_pad_token_id(0)
    writer.add_mask_token_id(4)
    return len(words)


def _shapes(words: int, width: int) -> dict[str, tuple[int, ...]]:
    """The tensors of the format, rows first."""
    block = {
        "attn_qkv.weight": (3 * width, width),
        "attn_output.weight": (width, width),
        "attn_output_norm.weight": (width,),
        "attn_output_norm.bias": (width,),
        "ffn_up.weight": (INNER, width),
        "ffn_gate.weight": (INNER, width),
        "ffn_down.weight": (width, INNER),
        "layer_output_norm.weight": (width,),
        "layer_output_norm.bias": (width,),
    }
    outside = {
        "token_embd.weight": (words, width),
        "token_types.weight": (2, width),
        "token_embd_norm.weight": (width,),
        "token_embd_norm.bias": (width,),
    }
    return outside | {f"blk.{layer}.{name}": shape for layer in range(LAYERS) for name, shape in block.items()}
