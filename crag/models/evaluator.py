"""Evaluator: a cross-encoder in ONNX that scores questions with passages on the processor of this machine."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from crag.cancellation import Cancellation
from crag.concurrency.caches import LRUCache
from crag.errors import ModelFault
from crag.models.token_counts import replace_surrogates
from crag.text.formatting import format_size
from crag.text.language import detect_language
from crag.types import Language

MODEL_FILE, TOKENIZER_FILE = "model.onnx", "tokenizer.json"
_MAX_BYTES = {MODEL_FILE: 2_000_000_000, TOKENIZER_FILE: 64_000_000}
_MAX_PAIR_TOKENS = 512
_MAX_QUESTION_TOKENS = 384
_MAX_TEXT_CHARS = 16 * _MAX_PAIR_TOKENS  # hardly a token is longer
# Padding included: larger batches are no faster, but need more memory.
_TOKENS_PER_BATCH = _MAX_PAIR_TOKENS
_MAX_THREADS = 2  # more would slow down the pages, and other runs
_MAX_CACHED_SCORES = 20_000
_INPUTS = ("input_ids", "attention_mask", "token_type_ids")
_PADDING_TOKENS = ("[PAD]", "<pad>")
_BLOCK_BYTES = 1 << 20
# Begins the entry of a tensor whose values are in a third file. The library maps such a file into memory: if it was
# replaced meanwhile, the system would end the process.
_EXTERNAL_DATA = b"\x0a\x08location\x12"
_QUIET = 4  # log level of onnxruntime: only what ends the process
# Questions, each with a text that answers it and one that does not. Hardly an evaluator reads all three languages.
_TRIALS = (
    ("Who built the lighthouse?", ("Clara Moor built the lighthouse in 1874.", "Bread is baked before dawn.")),
    ("등대는 누가 지었나요?", ("등대는 1874년에 김민수가 지었다.", "빵은 새벽에 굽는다.")),
    ("谁建造了灯塔？", ("灯塔由陈明于1874年建造。", "面包在黎明前烘烤。")),
)


class OnnxEvaluator:
    """`Evaluator` over a folder with `model.onnx` and `tokenizer.json`. Thread-safe.

    The model has one output: a logit, or two of which the second stands for *relevant*. Scores are cached by question
    and text, so that no pair is scored twice, and are not calibrated.
    """

    def __init__(self, folder: Path, name: str = "", only: Language | None = None) -> None:
        """Open the folder and score trial pairs. `only` is the one language that it was trained on, if there is one.

        Raises `ModelFault` for files that are missing, damaged, foreign or too big.
        """
        self._folder = folder
        self._name = name or folder.name
        self._only = only
        digest = self._digest_files()
        self._tokenizer = self._load_tokenizer()
        self._padding = next(filter(None, map(self._tokenizer.token_to_id, _PADDING_TOKENS)), 0)
        self._session, inputs = self._load_session()
        self._inputs = self._check_inputs(inputs)
        self._fingerprint = f"{self._name}@{digest[:12]}"
        self._scores: LRUCache[tuple[str, bytes], float] = LRUCache(_MAX_CACHED_SCORES)
        self._try_out()

    @property
    def name(self) -> str:
        """Name of a known evaluator, else of its folder."""
        return self._name

    @property
    def fingerprint(self) -> str:
        """Name and digest of both files, such as `minilm@1f0a93c24d5e`."""
        return self._fingerprint

    def reads(self, question: str) -> bool:
        """Return whether it was trained on the language of this question."""
        return reads_language(self._only, question)

    def score(self, question: str, texts: Sequence[str], stop: Cancellation) -> list[float | None]:
        """Return how likely each text answers the question, in 0..1; None if the model gives no number for it.

        Raises `ModelFault`, and `Stopped` also while the model computes.

        Pairs are shortened to 512 tokens by cutting the text; pairs of similar length are scored together.
        """
        keys = [(question, hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).digest()) for text in texts]
        known: dict[tuple[str, bytes], float | None] = {
            key: score for key in keys if (score := self._scores.get(key)) is not None
        }
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        pairs = self._tokenize(question, list(missing.values()))
        missing_keys = list(missing)
        for batch in _plan_batches([len(pair.ids) for pair in pairs]):
            stop.check()
            for index, score in zip(batch, self._score_batch([pairs[index] for index in batch], stop), strict=True):
                known[missing_keys[index]] = score
                if score is not None:
                    self._scores.put(missing_keys[index], score)
        return [known[key] for key in keys]

    def _digest_files(self) -> str:
        """Return the digest of both files, after checking that they are there, not too big, and all there is."""
        digest = hashlib.sha256()
        for name, most in _MAX_BYTES.items():
            try:
                if not (self._folder / name).is_file():  # a device or a pipe may have no end
                    raise self._fault("evaluator.missing", file=name)
                with (self._folder / name).open("rb") as file:
                    if os.fstat(file.fileno()).st_size > most:
                        raise self._fault("evaluator.too_large", file=name, most=format_size(most))
                    digest.update(self._digest_file(file))
            except OSError as error:
                raise self._fault("evaluator.missing", file=name) from error
        return digest.hexdigest()

    def _digest_file(self, file: IO[bytes]) -> bytes:
        digest, before = hashlib.sha256(), b""
        while block := file.read(_BLOCK_BYTES):
            if _EXTERNAL_DATA in before + block:
                raise self._fault("evaluator.foreign", defect=f"some of its weights are not in {MODEL_FILE}")
            digest.update(block)
            before = block[-len(_EXTERNAL_DATA) :]
        return digest.digest()

    def _load_tokenizer(self) -> Any:
        from tokenizers import Tokenizer

        with self._translate_tokenizer_errors():
            tokenizer = Tokenizer.from_file(str(self._folder / TOKENIZER_FILE))
        tokenizer.no_padding()
        tokenizer.no_truncation()
        return tokenizer

    def _load_session(self) -> tuple[Any, dict[str, str]]:
        """Return the session, and the types of its inputs by name."""
        try:
            import onnxruntime
        except (ImportError, OSError) as error:  # the native library may not load on this machine
            raise ModelFault.make("evaluator.package_missing") from error
        onnxruntime.set_default_logger_severity(_QUIET)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = min(_MAX_THREADS, os.cpu_count() or 1)
        options.inter_op_num_threads = 1
        options.log_severity_level = _QUIET
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # waiting threads leave the processor
        try:
            session = onnxruntime.InferenceSession(
                str(self._folder / MODEL_FILE), options, providers=["CPUExecutionProvider"], enable_fallback=0
            )
            return session, {given.name: given.type for given in session.get_inputs()}
        except Exception as error:  # each kind of damage has an exception of its own
            raise self._fault("evaluator.damaged", file=MODEL_FILE) from error

    def _check_inputs(self, inputs: dict[str, str]) -> list[str]:
        """Return the names of the model's inputs, given with their types."""
        unknown = inputs.keys() - set(_INPUTS)
        if unknown or not inputs.keys() >= {"input_ids", "attention_mask"}:
            raise self._fault("evaluator.foreign", defect=f"its inputs are {', '.join(sorted(inputs))}")
        if set(inputs.values()) != {"tensor(int64)"}:
            raise self._fault("evaluator.foreign", defect="its inputs are not 64-bit integers")
        return list(inputs)

    def _try_out(self) -> None:
        """Check that answers score better, and that the last token of the vocabulary is known.

        The model may not know that of another tokenizer.
        """
        import numpy as np

        if not self._tokenizer.num_special_tokens_to_add(is_pair=True):
            raise self._fault("evaluator.foreign", defect="its tokenizer does not separate the question from the text")
        stop = Cancellation()
        scores = [self._score_batch(self._tokenize(question, texts), stop) for question, texts in _TRIALS]
        answers, others = zip(*scores, strict=True)
        if None in answers + others:
            raise self._fault("evaluator.foreign", defect="its scores are not numbers")
        if sum(answers) <= sum(others):
            raise self._fault("evaluator.foreign", defect="an answer scores no better than an unrelated text")
        last = np.full((1, 2), self._tokenizer.get_vocab_size() - 1, dtype=np.int64)
        ones = np.ones_like(last)
        self._run(dict(zip(_INPUTS, (last, ones, 0 * ones), strict=True)), stop)

    def _tokenize(self, question: str, texts: Sequence[str]) -> list[Any]:
        """Return the tokens of each pair. A long question leaves a quarter of them to the text."""
        with self._translate_tokenizer_errors():  # one by one: a batch would use threads, which do not survive a fork
            asked = self._tokenizer.encode(replace_surrogates(question), add_special_tokens=False)
            asked.truncate(_MAX_QUESTION_TOKENS)
            room = _MAX_PAIR_TOKENS - len(asked.ids) - self._tokenizer.num_special_tokens_to_add(True)
            return [self._join(asked, replace_surrogates(text[:_MAX_TEXT_CHARS]), room) for text in texts]

    @contextmanager
    def _translate_tokenizer_errors(self) -> Iterator[None]:
        """Translate errors of the library: plain `Exception`, and panics, which are none."""
        try:
            yield
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            raise self._fault("evaluator.damaged", file=TOKENIZER_FILE) from error

    def _join(self, asked: Any, text: str, room: int) -> Any:
        encoded = self._tokenizer.encode(text, add_special_tokens=False)
        encoded.truncate(room)
        return self._tokenizer.post_process(asked, encoded)

    def _score_batch(self, pairs: Sequence[Any], stop: Cancellation) -> list[float | None]:
        import numpy as np

        length = max(len(pair.ids) for pair in pairs)
        arrays = {name: np.zeros((len(pairs), length), dtype=np.int64) for name in _INPUTS}
        arrays["input_ids"][:] = self._padding
        for row, pair in enumerate(pairs):
            for name, values in zip(_INPUTS, (pair.ids, pair.attention_mask, pair.type_ids), strict=True):
                arrays[name][row, : len(values)] = values
        return self._run(arrays, stop)

    def _run(self, arrays: dict[str, Any], stop: Cancellation) -> list[float | None]:
        """Return the score of each row. Raises `Stopped`, and `ModelFault` if the model fails or returns no scores."""
        import numpy as np
        from onnxruntime import RunOptions

        options = RunOptions()
        try:
            with stop.on_cancel(lambda: setattr(options, "terminate", True)):
                output = self._session.run(None, {name: arrays[name] for name in self._inputs}, options)[0]
        except Exception as error:
            stop.check()
            raise self._fault("evaluator.foreign", defect="it cannot read the tokens of this tokenizer") from error
        rows = len(arrays["input_ids"])
        logits = np.asarray(output)
        if logits.shape not in ((rows,), (rows, 1), (rows, 2)) or not np.issubdtype(logits.dtype, np.floating):
            raise self._fault("evaluator.foreign", defect="its output is not one score for each pair")
        logits = logits.reshape(rows, -1).astype(np.float64)
        with np.errstate(invalid="ignore"):
            odds = logits[:, 1] - logits[:, 0] if logits.shape[1] == 2 else logits[:, 0]
        scores = 1 / (1 + np.exp(-np.clip(odds, -500, 500)))
        return [float(score) if np.isfinite(odd) else None for score, odd in zip(scores, odds, strict=True)]

    def _fault(self, key: str, **values: str) -> ModelFault:
        return ModelFault.make(key, name=self._name, **values)


def reads_language(only: Language | None, question: str) -> bool:
    """Return whether an evaluator that was trained on one language only, if on one, reads this question."""
    return only is None or detect_language(question) == only


def _plan_batches(lengths: Sequence[int]) -> list[list[int]]:
    """Return the indices of pairs with these lengths in batches, shortest first, so that little is padded."""
    batches: list[list[int]] = []
    for index in sorted(range(len(lengths)), key=lambda index: lengths[index]):
        if batches and (len(batches[-1]) + 1) * lengths[index] <= _TOKENS_PER_BATCH:
            batches[-1].append(index)
        else:
            batches.append([index])
    return batches
