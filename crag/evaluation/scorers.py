"""Scores of one finished run against its example, computed without a model."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from crag.evaluation.types import Example, GradedPassage, NodeCost, ScoredAnswer
from crag.graph.answer_support import check_sentences
from crag.graph.citations import cited_numbers
from crag.runs.trace import Trace
from crag.text.citation_marks import strip_bold, strip_citations
from crag.text.dates import find_dates, parse_date, rewrite_dates, states_date
from crag.text.figures import normalize_figures
from crag.text.language import HAN_KANA_RANGES, HANGUL_RANGES
from crag.types import Knowledge, ModelCall, Passage

_UNSPACED_SCRIPTS = (
    f"{HAN_KANA_RANGES}{HANGUL_RANGES}\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # and Thai, Lao, Burmese, Khmer
)
_NUMERALS = "〇零一二三四五六七八九十百千萬万億亿兩两"  # one word, so that 二 is not found in 十二, as 5 is not in 15
_WORD = re.compile(
    rf"[{_NUMERALS}]+|[{_UNSPACED_SCRIPTS}]"
    r"|(?:(?<![\w)\]])-(?=\d))?\d+(?:[.,]\d+)*"
    rf"|[^\W\d_{_UNSPACED_SCRIPTS}][^\W_{_UNSPACED_SCRIPTS}]*(?:\+\+|#)?"
)
_INITIALS = re.compile(r"\b(?:[^\W\d_]\.){2,}")
# The A in vitamin A, hepatitis A or a grade is not an article.
_ARTICLE = re.compile(r"(?<![\w'’.-])(?:[Tt]he|THE|an?|An)(?=\s)|(?:^|(?<=[.!?:;\"“(\n]))[^\S\n]*A(?=\s)")
_SHORT_KOREAN = re.compile(f"[{HANGUL_RANGES}]{{1,2}}")


def comparable_words(text: str) -> list[str]:
    """Return the words of a text for comparison: in NFKC form, without case, punctuation and English articles.

    Numbers are words, with their sign and in any notation (12, twelve, 十二個), and dates are written in one way. In a
    script without spaces each character is a word. In Korean each syllable is one, since Korean words carry particles
    (as in KorQuAD's evaluation, arXiv 1909.07005). `[1]` is a citation, not a word.
    """
    return _words_as_written(rewrite_dates(unicodedata.normalize("NFKC", strip_citations(text))))


def _words_as_written(text: str) -> list[str]:
    """Return the comparable words with each date in its own notation."""
    plain = _ARTICLE.sub(" ", _strip_combining_marks(unicodedata.normalize("NFKC", strip_citations(text))))
    plain = _INITIALS.sub(lambda found: found.group().replace(".", ""), plain)
    return _WORD.findall(normalize_figures(plain).casefold())


def contains_phrase(text: str, phrase: str) -> bool:
    """Return whether the words of `phrase` occur in `text` in sequence; 5 is not in 15, nor art in party.

    A date counts in any notation. Negation is ignored: "not Paris" contains "Paris". A phrase without words is searched
    for literally.
    """
    wanted = _words_as_written(phrase)
    if not wanted:
        return bool(phrase.strip()) and phrase.strip() in text
    is_there = _contains_words(_words_as_written(text), wanted)
    if not is_there and not (states_date(phrase) and _contains_words(comparable_words(text), comparable_words(phrase))):
        return False
    return not _SHORT_KOREAN.fullmatch(phrase.strip()) or _starts_korean_word(text, phrase.strip())


def _contains_words(text: Sequence[str], wanted: Sequence[str]) -> bool:
    return f" {' '.join(wanted)} " in f" {' '.join(text)} "


def token_f1(first: Sequence[str], second: Sequence[str]) -> float:
    """Return the F1 of the words two texts share, with multiplicity (SQuAD, arXiv 1606.05250); 0 if one is empty.

    Unlike SQuAD's own script, which joins hyphenated words, this splits them.
    """
    shared = sum((Counter(first) & Counter(second)).values())
    return 2 * shared / (len(first) + len(second)) if shared else 0.0


def _starts_korean_word(text: str, phrase: str) -> bool:
    """Return whether the phrase starts a Korean word: a particle may follow it, but no syllable may precede it."""
    return bool(re.search(f"(?<![{HANGUL_RANGES}]){phrase}", unicodedata.normalize("NFKC", text)))


def _strip_combining_marks(text: str) -> str:
    """Remove combining marks, such as vowel signs of Arabic, Hebrew, Hindi and Thai, which would split words."""
    if text.isascii():
        return text
    return "".join(sign for sign in text if not unicodedata.category(sign).startswith("M"))


_YES_NO_WORDS = frozenset("yes no true false 예 네 아니요 아니오 是 是的 否 不是 はい いいえ ja nein".split())  # noqa: SIM905
_MIN_STATEMENT_WORDS = 5  # words; shorter references are names or figures


def score_answer(example: Example, trace: Trace) -> dict[str, float]:
    """Return those of `contained`, `token_f1`, `mentions` and `avoids` that apply, each in 0..1."""
    text = answer_text(trace)
    scores: dict[str, float] = {}
    if example.has_reference:
        scores["contained"] = float(
            any(_contains_reference(text, one) or _date_share(example, one, text) == 1.0 for one in example.references)
        )
        scores["token_f1"] = max(
            token_f1(comparable_words(text), comparable_words(reference)) for reference in example.references
        )
    if example.must_mention and example.answerable is not False:
        there = sum(contains_phrase(text, phrase) for phrase in example.must_mention)
        scores["mentions"] = there / len(example.must_mention)
    if example.must_not_mention:
        scores["avoids"] = float(not any(contains_phrase(text, phrase) for phrase in example.must_not_mention))
    return scores


def score_text_agreement(example: Example, trace: Trace, scores: Mapping[str, float]) -> float | None:
    """Return how far an answer with these scores agrees with the known right one, in 0..1.

    If required phrases are known, they alone decide: the share that is mentioned, halved unless all are. Otherwise 1 if
    the answer contains a reference, else the greatest F1 with one, halved unless the answer supports that reference; a
    date instead agrees by the parts that the answer states. 0 if it mentions a forbidden phrase. None if neither
    references nor required phrases are known.
    """
    if not example.has_known_answer:
        return None
    if (mentions := scores.get("mentions")) is not None:
        agrees = mentions if mentions == 1.0 else mentions / 2
    else:
        text = answer_text(trace)
        agrees = scores["contained"] or max(_reference_agreement(example, one, text) for one in example.references)
    return agrees * scores.get("avoids", 1.0)


def answer_text(trace: Trace) -> str:
    """Return the answer of a run without bold marks; empty for a refusal, even if it quotes passages."""
    return "" if trace.outcome == "not_answered" else strip_bold(trace.text)


def _reference_agreement(example: Example, reference: str, text: str) -> float:
    """Return the share of a date that the text states, else the F1, halved if the text does not support the reference.

    An answer that changes a figure, a name or a "not" shares nearly all words of a reference and is still wrong.
    """
    if (share := _date_share(example, reference, text)) is not None:
        return share
    supported = _supports_reference(rewrite_dates(text), rewrite_dates(reference))
    return token_f1(comparable_words(text), comparable_words(reference)) * (1.0 if supported else 0.5)


def _date_share(example: Example, reference: str, text: str) -> float | None:
    """Return how much of a reference that is a date the text states; None if the reference or the text has no date."""
    expected, stated = parse_date(reference), find_dates(text)
    if expected is None or not stated:
        return None
    asked = find_dates(example.question)
    return max(expected.share_stated(one, asked) for one in stated)


def _supports_reference(text: str, reference: str) -> bool:
    """Return whether the text supports the reference, by the check that compares sentences with their sources.

    A bare name states nothing: Grace Hopper is as good as Grace Brewster Hopper.
    """
    if len(comparable_words(reference)) < _MIN_STATEMENT_WORDS:
        return True
    source = Passage(1, "", "", "", text, text)
    stated = check_sentences(f"{strip_citations(reference)} [1]", [Knowledge(1, source, strip_citations(text))])
    return all(one.strength == "supported" for one in stated)


def _contains_reference(text: str, reference: str) -> bool:
    """Return whether the text contains the reference; a yes or no counts only as its first word."""
    wanted = "".join(comparable_words(reference))
    if wanted in _YES_NO_WORDS:
        opening = comparable_words(text)[: len(comparable_words(reference))]
        return "".join(opening) == wanted
    return contains_phrase(text, reference)


def node_costs(trace: Trace, calls: Iterable[ModelCall]) -> dict[str, NodeCost]:
    """Return seconds and tokens of each node over all its executions, in order of their first execution.

    Tokens include those of failed model calls. If no calls were stored, the token usage of the answer is taken.
    """
    seconds: dict[str, float] = defaultdict(float)
    for step in trace.steps:
        seconds[step.node] += step.seconds or 0.0
    read: dict[str, int] = defaultdict(int)
    written: dict[str, int] = defaultdict(int)
    for call in list(calls) or [_usage_as_call(trace)]:
        read[call.node] += call.prompt_tokens or 0
        written[call.node] += call.answer_tokens or 0
    nodes = [*seconds, *(node for node in read if node not in seconds and read[node] + written[node])]
    return {node: NodeCost(seconds[node], read[node], written[node]) for node in nodes}


def total_tokens(costs: Mapping[str, NodeCost]) -> int:
    """Return the tokens read and written by all nodes."""
    return sum(cost.prompt_tokens + cost.answer_tokens for cost in costs.values())


def _usage_as_call(trace: Trace) -> ModelCall:
    usage = trace.usage
    return ModelCall(
        "generate", trace.model, 0.0, 0.0, (), prompt_tokens=usage.prompt_tokens, answer_tokens=usage.answer_tokens
    )


def library_passages(trace: Trace) -> list[Passage]:
    """Return the passages retrieved from the library, best first."""
    return [trace.passages[found] for found in trace.found.get("library", ())]


def score_retrieval(example: Example, trace: Trace) -> dict[str, float]:
    """Return `recall`, the share of sources and phrases found, and `reciprocal_rank`, if these are known."""
    wanted = len(example.sources) + len(example.phrases)
    if not wanted or example.answerable is False:
        return {}
    passages = library_passages(trace)
    found = sum(any(is_from_source(one, source) for one in passages) for source in example.sources)
    found += sum(any(contains_phrase(one.text, phrase) for one in passages) for phrase in example.phrases)
    return {"recall": found / wanted, "reciprocal_rank": _reciprocal_rank(example, passages)}


def is_right_passage(example: Example, passage: Passage) -> bool:
    """Return whether this is one of the right passages; an unanswerable question has none."""
    if example.answerable is False:
        return False
    return any(is_from_source(passage, source) for source in example.sources) or any(
        contains_phrase(passage.text, phrase) for phrase in example.phrases
    )


def is_from_source(passage: Passage, source: str) -> bool:
    """Return whether `source` is the id, title or location of the passage's document, or a whole word in one.

    So `set-7` matches `Victoria set-7.txt` but not `Victoria set-71.txt`. A duplicate document left out in favour of
    this one also matches.
    """
    names = (passage.source_id, passage.title, passage.location, *passage.also_in)
    wanted = _normalize_name(source)
    whole = re.compile(rf"(?<![\w-])(?<!\d\.){re.escape(wanted)}(?![\w-]|\.\d)")
    return bool(wanted) and any(
        _normalize_name(name) == wanted or whole.search(_normalize_name(name)) for name in names
    )


def _normalize_name(name: str) -> str:
    """Normalize a file name; some systems store accents and Korean syllables decomposed."""
    return unicodedata.normalize("NFC", name).strip().casefold()


def _reciprocal_rank(example: Example, passages: Sequence[Passage]) -> float:
    for rank, passage in enumerate(passages, start=1):
        if is_right_passage(example, passage):
            return 1 / rank
    return 0.0


def graded_passages(example: Example, trace: Trace) -> tuple[GradedPassage, ...]:
    """Return the passages with a verdict, in retrieval order; none if the right passages are unknown.

    A passage that could not be graded has no score and counts as not relevant.
    """
    if not example.has_known_passages:
        return ()
    return tuple(
        GradedPassage(verdict.score, verdict.word == "relevant", is_right_passage(example, passage))
        for passage in library_passages(trace)
        if (verdict := trace.verdicts.get(passage.id))
    )


def best_score(trace: Trace) -> float | None:
    """Return the grader's highest score among library passages, which decides the route."""
    verdicts = (trace.verdicts.get(passage.id) for passage in library_passages(trace))
    return max((one.score for one in verdicts if one and one.score is not None), default=None)


def score_route(example: Example, trace: Trace) -> dict[str, float]:
    """Return `steps_match` (equal to an accepted trajectory), `action_match` and `route_match`.

    No grading means no action, and a trace without a route answered a fact.
    """
    scores: dict[str, float] = {}
    if example.steps:
        scores["steps_match"] = float(tuple(trace.trajectory) in example.steps)
    if example.action and trace.action:
        scores["action_match"] = float(trace.action == example.action)
    if example.route:
        scores["route_match"] = float((trace.route or "fact") == example.route)
    return scores


def score_refusal(example: Example, trace: Trace) -> dict[str, float]:
    """Return `refusal_right`, and `answered` or `refused`, if it is known whether the question is answerable."""
    answerable = example.can_be_answered
    if answerable is None:
        return {}
    refused = trace.outcome == "not_answered"
    kind, done = ("answered", not refused) if answerable else ("refused", refused)
    return {"refusal_right": float(refused != answerable), kind: float(done)}


def score_citations(example: Example, trace: Trace) -> dict[str, float]:
    """Return `supported`, over the sentences that cite, and `cited`, for a right passage; neither for a refusal."""
    if trace.outcome == "not_answered":
        return {}
    scores: dict[str, float] = {}
    citing = [one for one in trace.sentences if cited_numbers(one.sentence)]
    if citing:
        scores["supported"] = sum(one.strength == "supported" for one in citing) / len(citing)
    if (example.sources or example.phrases) and example.answerable is not False:
        cited = [trace.passages[one.passage_id] for one in trace.citations if one.passage_id in trace.passages]
        scores["cited"] = float(any(is_right_passage(example, passage) for passage in cited))
    return scores


_SCORERS = (score_route, score_refusal, score_answer, score_retrieval, score_citations)


def score_run(example: Example, trace: Trace, calls: Sequence[ModelCall] = ()) -> ScoredAnswer:
    """Measure everything about a finished run; `calls` are its model calls, none for built-in models.

    Values that need the other answers (right by a cutoff, pooled over passages) are left to `summarise_results`.
    """
    scores: dict[str, float] = {}
    for scorer in _SCORERS:
        scores |= scorer(example, trace)
    costs = node_costs(trace, calls)
    return ScoredAnswer(
        answer=trace.text,
        action=trace.action,
        outcome=trace.outcome,
        sufficiency=trace.sufficiency,
        steps=tuple(trace.trajectory),
        best=best_score(trace),
        text_score=score_text_agreement(example, trace, scores),
        scores=scores,
        grades=graded_passages(example, trace),
        nodes=costs,
        seconds=trace.seconds or 0.0,
        tokens=total_tokens(costs),
    )
