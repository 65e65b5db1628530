"""Prompts and replies of model graders: passages in prompts, token budget, verdicts and reasons."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from crag.cancellation import Cancellation, cancel_after
from crag.concurrency.workers import map_parallel
from crag.errors import ModelFault, Stopped
from crag.options import GraderKind
from crag.prompts import find_json_object, strip_thoughts
from crag.protocols import ChatModel, Reply, TokenChoice
from crag.text.language import extract_terms, split_sentences
from crag.text.questions import AnalyzedQuestion
from crag.translation import N_
from crag.types import Grade, Passage, Prompt, Thresholds, Usage, strip_unstorable

T = TypeVar("T")
_QUOTED_REPLY_CHARS = 500  # characters of an unreadable reply that are quoted to the model


class ModelGrader:
    """What the graders that ask a language model share: a name with the model, and thresholds until calibrated."""

    kind: GraderKind
    thresholds: Thresholds

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    @property
    def name(self) -> str:
        """Name with the model, such as `score:ollama:llama3.1:8b@365c0bd3c000`."""
        return f"{self.kind}:{self._model.fingerprint}"


def question_block(question: str) -> str:
    """Return the question for a prompt. It comes first, so that the server's prompt cache serves all passages."""
    return f"Question: {question}"


def passage_block(question: str, passage: Passage, text: str) -> str:
    """Return the passage with its title and heading, between delimiters that it cannot forge."""
    over = " / ".join(part for part in (passage.title, passage.heading) if part)
    return fence_text("passage", f"{over}\n\n{text}", question)


def fence_text(what: str, text: str, question: str) -> str:
    """Enclose untrusted text in delimiters that it cannot forge: their name is a digest prefix that is not in the text.

    The prefix is as short as possible, because its tokens are paid for with every passage.
    """
    digest = hashlib.sha256(f"{question}\x1f{text}".encode("utf-8", "surrogatepass")).hexdigest()
    mark = next(name for length in range(2, 65) if (name := f"{what}-{digest[:length]}") not in text)
    return f"<{mark}>\n{text}\n</{mark}>"


def grading_prompts(purpose: str, system: str, question: str, *blocks: str) -> list[Prompt]:
    """Return the messages that ask about `blocks` of text, labelled with purpose and question."""
    text = "\n\n".join([question_block(question), *blocks])
    return [Prompt("system", system), Prompt("user", text, about=f"{purpose}: {question}")]


def ask_with_retry(
    model: ChatModel,
    prompts: Sequence[Prompt],
    schema: dict[str, Any],
    read: Callable[[str], T | None],
    stop: Cancellation,
    *,
    example: str = "",
) -> tuple[T | None, Usage]:
    """Parse the reply with `read`; if that fails, ask once more for the required format, with an `example` if given.

    Returns the parsed value and the tokens of both calls. Raises `ModelFault`, `Stopped`.
    """
    reply = model.complete(prompts, stop, schema=schema)
    found = read(reply.text)
    if found is not None:
        return found, reply.usage
    again = ask_again(model, prompts, reply.text, schema, stop, example=example)
    return read(again.text), reply.usage + again.usage


def ask_again(
    model: ChatModel,
    prompts: Sequence[Prompt],
    reply: str,
    schema: dict[str, Any],
    stop: Cancellation,
    *,
    example: str = "",
) -> Reply:
    """Ask for a reply in the required format, quoting the unreadable one. Raises `ModelFault`, `Stopped`."""
    return model.complete(prompts_for_retry(prompts, reply, example or json.dumps(schema)), stop, schema=schema)


def prompts_for_retry(prompts: Sequence[Prompt], reply: str, wanted: str) -> list[Prompt]:
    """Return the prompts that ask again for a JSON object, quoting the unreadable reply."""
    request = f"That could not be read. Reply with one JSON object only, as in: {wanted}"
    return [*prompts, Prompt("assistant", reply.strip()[:_QUOTED_REPLY_CHARS] or "-"), Prompt("user", request)]


_OVERHEAD_TOKENS = 400  # tokens for titles, delimiters, the chat format, and one retry
_MIN_TEXT_TOKENS = 100


def remaining_tokens(model: ChatModel, *around: str) -> int:
    """Return the tokens left for passages, besides the texts `around` them and the reply.

    Servers truncate an overlong prompt from its start, which would drop the instructions.
    """
    taken = sum(model.count_tokens(text) for text in around)
    return max(_MIN_TEXT_TOKENS, model.window - model.answer_limit - taken - _OVERHEAD_TOKENS)


def truncate_to_tokens(text: str, tokens: int, model: ChatModel) -> str:
    """Truncate a text to at most this many tokens."""
    while len(text.encode("utf-8", "replace")) > tokens and (count := model.count_tokens(text)) > tokens:
        text = text[: int(0.95 * len(text) * tokens / count)]
    return text


_MAX_REASON_CHARS = 200  # characters
_MIN_SIMILARITY = 85  # rapidfuzz ratio of 100 that tolerates a slip or two in a copied sentence
UNREADABLE = Grade(None, N_("The grader's reply could not be read; counts as partly relevant."))
"""The grade for a model whose reply was unreadable twice."""


def failed_grade(_index: int, fault: ModelFault) -> Grade:
    """Return the grade of a passage after a transient model fault."""
    return Grade(None, f"Could not be judged: {fault.message}")


def raise_unless_transient(fault: ModelFault) -> None:
    """Raise a fault that requires the user to act; a transient one costs a verdict, not the run."""
    if fault.fault != "passing":
        raise fault


GRADING_SECONDS = 60.0
"""Time for grading all passages of a question once the model is loaded: nobody waits longer for an answer to begin."""


def ask_in_parallel(
    model: ChatModel,
    ask: Callable[[int, Cancellation], T],
    count: int,
    give_up: Callable[[int, ModelFault], T],
    stop: Cancellation,
    *,
    workers: int = 0,
) -> Iterator[tuple[int, T]]:
    """Yield (index, `ask(index, stop)`) for `count` indexes as the replies arrive; `workers` 0 means the model's.

    `give_up` is called instead with a transient fault, also for all that have no reply after `GRADING_SECONDS`. Raises
    any other fault, and `Stopped`.
    """

    def ask_or_give_up(index: int) -> T:
        try:
            return ask(index, limited)
        except ModelFault as fault:
            raise_unless_transient(fault)
            return give_up(index, fault)

    workers = workers or model.concurrency
    left = set(range(count))

    def is_loading(calls: Cancellation) -> bool:  # the writer would have to load an interrupted model again
        return len(left) == count and len(calls.list_waits()) >= min(count, workers)

    with cancel_after(GRADING_SECONDS, stop, postpone=is_loading) as limited:
        try:
            for index, result in map_parallel(ask_or_give_up, count, workers, limited):
                left.discard(index)
                yield index, result
        except Stopped:
            stop.check()
    for index in sorted(left):
        yield index, give_up(index, ModelFault.make("model.grading_too_slow", seconds=GRADING_SECONDS))


def certainty_reason(said: YesOrNo, sentence: str) -> str:
    """Return a reason with the model's confidence in yes or no, if known, and the sentence nearest to the question."""
    score = said.score or 0.0
    if said.is_measured:
        sure = N_("{percent}% sure that this does not answer; nearest"), N_("{percent}% sure that this answers")
    else:
        sure = N_("Judged not to answer, certainty unknown; nearest"), N_("Judged to answer, certainty unknown")
    return quote_sentence(sure[score >= 0.5].format(percent=round(100 * max(score, 1 - score))), sentence)


def points_reason(score: float, sentence: str) -> str:
    """Return a reason with the points given, and the sentence nearest to the question."""
    return quote_sentence(N_("{points} of 9 points; nearest").format(points=round(9 * score)), sentence)


def quote_sentence(reason: str, sentence: str) -> str:
    """Append the sentence that the reason rests on, if any."""
    return f"{reason.rstrip('.。')}: “{shorten_reason(sentence)}”" if sentence else reason


def shorten_reason(text: str) -> str:
    """Return the text on one line of at most 200 characters that a database can store."""
    line = " ".join(strip_unstorable(text).split())
    return line if len(line) <= _MAX_REASON_CHARS else line[: _MAX_REASON_CHARS - 1].rsplit(" ", 1)[0] + "…"


def nearest_sentence(question: AnalyzedQuestion, text: str) -> str:
    """Return the sentence that covers most of the question; empty if there is none."""
    return max(split_sentences(text), key=lambda sentence: question.covered_share(extract_terms(sentence)), default="")


def find_sentence(quoted: str, text: str) -> str:
    """Return the sentence of `text` that a model meant to copy, as written in the text; empty if none is similar."""
    from rapidfuzz import fuzz, process, utils

    found = process.extractOne(
        quoted, split_sentences(text), scorer=fuzz.ratio, processor=utils.default_process, score_cutoff=_MIN_SIMILARITY
    )
    return str(found[0]) if found else _find_partial_copy(quoted, text)


def _find_partial_copy(quoted: str, text: str) -> str:
    """Return a sentence that was partly copied, at least a third of it."""
    from rapidfuzz import fuzz, utils

    for sentence in split_sentences(text):
        enough = len(sentence) <= 3 * len(quoted) and len(quoted) <= 3 * len(sentence)
        if enough and fuzz.partial_ratio(quoted, sentence, processor=utils.default_process) >= _MIN_SIMILARITY:
            return sentence
    return ""


_WORD_SCORES = {
    "yes": 1.0, "relevant": 1.0, "true": 1.0, "correct": 1.0, "예": 1.0, "네": 1.0, "是": 1.0, "是的": 1.0,
    "对": 1.0, "對": 1.0, "相关": 1.0, "相關": 1.0,
    "partly": 0.5, "partially": 0.5, "partial": 0.5, "ambiguous": 0.5, "일부": 0.5, "部分": 0.5,
    "no": 0.0, "irrelevant": 0.0, "not": 0.0, "false": 0.0, "incorrect": 0.0, "아니": 0.0, "아니요": 0.0, "아니오": 0.0,
    "否": 0.0, "不": 0.0, "不是": 0.0,
}  # fmt: skip
YES_WORDS = frozenset(word for word, score in _WORD_SCORES.items() if score == 1.0)
NO_WORDS = frozenset(word for word, score in _WORD_SCORES.items() if score == 0.0)
_VERDICT_KEYS = ("verdict", "score", "binary_score", "relevant", "relevance", "grade")
_STRIPPED_CHARS = " \n\"'*.,!。{}:"
# With less probability on yes and no together, the model was about to say something else.
MIN_VERDICT_MASS = 0.1


@dataclass(frozen=True, slots=True)
class YesOrNo:
    """Reply to a yes-or-no question: the score is the probability of yes if `is_measured`, else 1 or 0 for the word.

    The score is None if the reply is neither.
    """

    score: float | None
    is_measured: bool
    usage: Usage


def read_yes_or_no(choice: TokenChoice) -> YesOrNo:
    """Read P(yes) / (P(yes) + P(no)) over all spellings in three languages; without probabilities, the text.

    A word that is not among the candidates is taken to be as likely as the least likely of them.
    """
    yes, no = (_probability_mass(choice, words) for words in (YES_WORDS, NO_WORDS))
    if yes + no < MIN_VERDICT_MASS:
        return YesOrNo(read_score(choice.text), is_measured=False, usage=choice.usage)
    listed = [math.exp(value) for value in choice.alternatives.values()]
    unlisted = max(0.0, min(*listed, 1 - sum(listed)))
    yes, no = yes or unlisted, no or unlisted
    return YesOrNo(yes / (yes + no), is_measured=True, usage=choice.usage)


def read_score(reply: str) -> float | None:
    """Return the verdict in a reply, in JSON or as its first word; None if there is none."""
    text = strip_thoughts(reply)
    found = find_json_object(text)
    if found is None:
        return None if text.startswith(("[", "{")) else _word_score(text)
    return _word_score(str(next((found[key] for key in _VERDICT_KEYS if key in found), "")))


def read_likeliest(choice: TokenChoice, read_word: Callable[[str], T | None]) -> tuple[T | None, float | None]:
    """Return the most probable meaning with its share of the probability of all; without a share if read from the text.

    `read_word` returns what a token or word in lower case means. The meaning is None if the reply holds none.
    """
    masses: dict[T, float] = {}
    for token, value in choice.alternatives.items():
        if (meant := read_word(normalize_token(token))) is not None:
            masses[meant] = masses.get(meant, 0.0) + math.exp(value)
    if sum(masses.values()) >= MIN_VERDICT_MASS:
        likeliest = max(masses, key=lambda meant: masses[meant])
        return likeliest, masses[likeliest] / sum(masses.values())
    text = strip_thoughts(choice.text)
    found = find_json_object(text)
    word = re.match(r"[\s\"'*`(]*([^\W\d_]+)", str(found.get("verdict", "")) if found else text)
    return (read_word(word[1].lower()) if word else None), None


def _probability_mass(choice: TokenChoice, words: frozenset[str]) -> float:
    return sum(math.exp(value) for token, value in choice.alternatives.items() if normalize_token(token) in words)


def normalize_token(token: str) -> str:
    """Return a token in lower case, without spaces and punctuation around it."""
    return token.strip(_STRIPPED_CHARS).lower()


def _word_score(text: str) -> float | None:
    match = re.match(r"[\s\"'*`(]*([^\W\d_]+)", text)
    return _WORD_SCORES.get(match[1].lower()) if match else None
