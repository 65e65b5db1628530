"""Summary by a language model: notes on each part of the documents, then one text from all notes."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from crag.cancellation import Cancellation
from crag.models.prompt_fit import TOKENS_PER_MESSAGE
from crag.prompts import compose_prompt, format_knowledge
from crag.protocols import ChatModel, PromptFit, ReadingProgress, ReplyPiece, SummarySources
from crag.storage.summary_parts import SummaryParts
from crag.text.citation_marks import CITATION
from crag.text.language import detect_language
from crag.types import Knowledge, Passage, Prompt

_WINDOW_SHARE = 0.9  # of what is left beside the reply: token counts are estimates


class ModelSummarizer:
    """`Summarizer` over a chat model. Parts that were read before, also by another process, are not read again."""

    def __init__(self, model: ChatModel, parts: SummaryParts) -> None:
        self._model = model
        self._parts = parts

    def summarize(
        self, question: str, passages: Sequence[Passage], stop: Cancellation
    ) -> Iterator[ReadingProgress | SummarySources | PromptFit | ReplyPiece]:
        """See `Summarizer`."""
        knowledge = [Knowledge(n, passage, passage.text) for n, passage in enumerate(passages, start=1)]
        read = 0
        while len(parts := self._divide(question, knowledge)) > 1:
            noted: list[Knowledge] = []
            for part in parts:
                stop.check()
                noted += self._take_notes(question, part, stop)
                read += len(part)
                yield ReadingProgress(min(read, len(passages)))
            if not noted or len(noted) >= len(knowledge):  # the model wrote no usable notes: the beginnings must do
                noted = [item for part in self._divide(question, noted or knowledge)[:1] for item in part]
            knowledge = [replace(item, n=n) for n, item in enumerate(noted, start=1)]
        yield ReadingProgress(len(passages))
        yield SummarySources(tuple(item.passage for item in knowledge))
        prompts = self._prompts("summarize", question, knowledge)
        tokens = sum(self._model.count_tokens(one.text) + TOKENS_PER_MESSAGE for one in prompts)
        yield PromptFit(tokens, self._model.window, 0)
        yield from self._model.stream(prompts, stop)

    def _divide(self, question: str, knowledge: Sequence[Knowledge]) -> list[list[Knowledge]]:
        """Divide the knowledge into consecutive parts that fit the window."""
        frame = sum(self._model.count_tokens(one.text) for one in self._prompts("summarize_part", question, ()))
        room = int((self._model.window - self._model.answer_limit - frame) * _WINDOW_SHARE)
        parts: list[list[Knowledge]] = [[]]
        used = 0
        for item in knowledge:
            tokens = self._model.count_tokens(format_knowledge([item]))
            if parts[-1] and used + tokens > room:
                parts.append([])
                used = 0
            parts[-1].append(item)
            used += tokens
        return parts

    def _take_notes(self, question: str, part: Sequence[Knowledge], stop: Cancellation) -> list[Knowledge]:
        """Return the model's notes on a part, each line with the passage that it cites; others are dropped."""
        numbered = [replace(item, n=n) for n, item in enumerate(part, start=1)]
        prompts = self._prompts("summarize_part", "", numbered, language_of=question)
        key = self._model.fingerprint, hashlib.sha256("\0".join(one.text for one in prompts).encode()).hexdigest()
        if (written := self._parts.get(*key)) is None:
            written = self._model.complete(prompts, stop).text
            self._parts.put(*key, written, (item.passage.source_id for item in part))
        by_number = {item.n: item for item in numbered}
        notes: dict[int, list[str]] = {}
        for line in written.splitlines():
            cited = [int(n) for group in CITATION.findall(line) for n in re.findall(r"\d+", group)]
            if known := [n for n in cited if n in by_number]:
                notes.setdefault(known[0], []).append(CITATION.sub("", line).strip(" -*•"))
        return [replace(by_number[n], text="\n".join(lines)) for n, lines in sorted(notes.items())]

    @staticmethod
    def _prompts(
        name: str, question: str, knowledge: Sequence[Knowledge], language_of: str = ""
    ) -> tuple[Prompt, Prompt]:
        language = detect_language(language_of or question)
        return compose_prompt(name, language, question=question, knowledge=format_knowledge(knowledge))
