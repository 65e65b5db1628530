"""Rule-based question rewriter: follow-up questions in a conversation, and web queries, without a language model.

A question with a subject of its own stands alone. One that names none, or refers back, borrows words of the question
before it. Where that is unclear, the documents decide: the question goes with the earlier topic if a sentence speaks of
both. The patterns are in `builtin_rewriter.toml`, by language.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from crag.cancellation import Cancellation
from crag.options import RunOptions
from crag.protocols import MAX_QUERY_LENGTH, CondensedQuestion, PassageFinder, Rewriter
from crag.text import chinese, korean
from crag.text.language import detect_language, extract_key_words, extract_terms, split_sentences
from crag.text.patterns import lazy_regex
from crag.text.questions import (
    FRAME_TERMS,
    UNSEEN_TERM,
    TermStatistics,
    drop_document_reference,
    find_name_terms,
    separate_words,
)
from crag.text.small_talk import detect_small_talk, is_summary_request, strip_small_talk
from crag.types import HEADING_SEPARATOR, Passage, Turn

KeyWord = tuple[str, tuple[str, ...]]  # as written, with its terms

_RULES: dict[str, dict[str, list[str]]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def _read_rule(name: str) -> re.Pattern[str]:
    return lazy_regex("|".join(chain(*_RULES[name].values())), re.IGNORECASE)


_REACTION, _LEAD_IN = _read_rule("reaction"), _read_rule("lead_in")
_REFERENCE, _LAST_REFERENCE = _read_rule("reference"), _read_rule("last_reference")
_CLAUSE_BORDER, _SPECIFIED = _read_rule("clause_border"), _read_rule("specified")
_FRAGMENT, _SENTENCE_END = _read_rule("fragment"), _read_rule("sentence_end")
_ADJUNCT, _CONTINUATION = _read_rule("adjunct"), _read_rule("continuation")
_DEFINITION, _ASKS_EVENT = _read_rule("definition"), _read_rule("event")
_FILLER = _read_rule("filler")
_NO_SUBJECT = FRAME_TERMS.union(extract_terms(" ".join(chain(*_RULES["no_subject"].values()))))
_BORROWED = lazy_regex(r" \([^()]+\)$")  # words that were added to a follow-up
_FIGURE_OR_NAME = lazy_regex(r"((?<![\w.-])\d[\d.,]*)(?:\s?[년월일호층차회기])?|[A-Za-z](?:(?![가-힣])[\w-])*")
_BARE_TOPIC = lazy_regex(r"[은는도]\W*$")  # "가격은?": a word that elsewhere frames a question
_LAST_VERB = lazy_regex(  # of a name: "How many people does Microsoft employ?", "When was it founded?"
    r"\b(?:do|does|did|is|are|was|were|has|have|had|will|can|could)\s(?:the\s)?"
    r"(?:it|he|she|they|[A-Z][\w’'-]*(?:\s(?:of\s|the\s)*[A-Z][\w’'-]*)*)\s([a-z]+)\W*$"
)
_CHINESE_EDGE = lazy_regex("^[要会會能可得须須还還也都就才]+(?=..)|(?<=..)[一每][天年月周週次]$")
_MIN_KEY_WORDS = 2
_MAX_BORROWED_WORDS = 6
_MAX_KEYWORDS = 3
_MAX_FRAGMENT_WORDS = 4
_TOGETHER = 0.6  # share of a question's own words that a sentence must hold beside the earlier ones
_HELD = 0.5  # share of the words of one question
_NEAR_BEST = 0.9


class BuiltinRewriter(Rewriter):
    """Rule-based `Rewriter` that keeps the words and the language of the questions."""

    def __init__(self, statistics: TermStatistics) -> None:
        self._statistics = statistics

    def condense(
        self, question: str, history: Sequence[Turn], find_passages: PassageFinder, stop: Cancellation
    ) -> CondensedQuestion:
        """Append key words of earlier questions if the question does not stand alone."""
        stop.check()
        question = separate_words(question, self._statistics)
        asked = _read_asked(question)
        if _has_own_subject(asked) or len(question) >= MAX_QUERY_LENGTH:
            return CondensedQuestion(question, "It names its own subject, so nothing was added.")
        own = _subject_words(asked)
        earlier = _pick_earlier_words(history, asked, own, self._statistics)
        if not earlier:
            return CondensedQuestion(question, "")
        if not own or _is_adjunct(asked):
            return _borrow(question, earlier, "It names no subject")
        return self._decide(question, asked, history, _Topics(own, earlier, self._statistics), find_passages)

    def _decide(
        self, question: str, asked: str, history: Sequence[Turn], topics: _Topics, find_passages: PassageFinder
    ) -> CondensedQuestion:
        """Let the documents say whether the question goes with the earlier topic."""
        own, earlier = topics.own, topics.earlier
        if _is_fragment(asked) and _figure_kinds(own) & _figure_kinds(_earlier_words(history, asked, own)):
            return _borrow(question, earlier, "It gives another figure")
        if _names_subject(asked) and topics.have_section(find_passages(asked)):
            return CondensedQuestion(question, "It names its own subject, so nothing was added.")
        found = find_passages(f"{asked} ({_join(earlier)})")
        if held := topics.find_held_together(found, is_fragment=_is_fragment(asked)):
            return _borrow(question, held, f"A passage mentions {_quote(own)} together with {_quote(held)}")
        if _refers_back(asked):
            return _borrow(question, earlier, "It refers back")
        about = _best_documents(find_passages(asked), topics.own_share)
        if not about:
            return _borrow(question, earlier, f"Your documents say little about {_quote(own)} alone")
        if _is_fragment(asked) and about & _best_documents(found, topics.earlier_share):
            return _borrow(question, earlier, "It continues the same topic")
        return CondensedQuestion(
            question, f"No passage mentions both {_quote(own)} and {_quote(earlier)}, so nothing was added."
        )

    def rewrite(self, question: str, options: RunOptions, stop: Cancellation) -> str:
        """Return a web query: the question unchanged, without filler, or its three strongest key words."""
        stop.check()
        if options.rewrite == "none":
            return _cut_to_query_limit(question)
        cleaned = " ".join(_FILLER.sub("", question).split()) or question
        if options.rewrite == "question":
            return _cut_to_query_limit(cleaned)
        return _cut_to_query_limit(" ".join(pick_strongest_words(cleaned)) or cleaned)


@dataclass(frozen=True, slots=True)
class _Topics:
    """The key words of a question and those of the earlier topic, and how much of them a passage holds."""

    own: Sequence[KeyWord]
    earlier: Sequence[KeyWord]
    statistics: TermStatistics

    def own_share(self, passage: Passage) -> float:
        return self._share(self.own, _passage_terms(passage))

    def earlier_share(self, passage: Passage) -> float:
        return self._share(self.earlier, _passage_terms(passage))

    def have_section(self, passages: Sequence[Passage]) -> bool:
        """Return whether a heading names all the words of the question itself, and none of the earlier ones."""
        own = {part for _, parts in self.own for part in parts}
        earlier = {part for _, parts in self.earlier for part in parts} - own
        headings = ({*extract_terms(one.heading.rpartition(HEADING_SEPARATOR)[2])} for one in passages)
        return any(own <= heading and earlier.isdisjoint(heading) for heading in headings)

    def find_held_together(self, passages: Sequence[Passage], *, is_fragment: bool) -> list[KeyWord]:
        """Return the earlier words that occur in a sentence together with the question's own, if there is one.

        A fragment replaces part of the earlier question, so one sentence decides: "해외는요?" after "국내 출장 숙박비".
        The question's own words must not stand in the title alone: that says the same of every sentence.
        """
        texts = (text for passage in passages for text in _read_statements(passage, alone=is_fragment))
        said, held = max(texts, key=self._joint_share, default=(frozenset[str](), frozenset[str]()))
        if self._share(self.own, said) < _TOGETHER or self._share(self.earlier, held) < _HELD:
            return []
        return [one for one in self.earlier if 2 * len(held.intersection(one[1])) >= len(one[1])]

    def _joint_share(self, statement: _Statement) -> float:
        said, held = statement
        return min(self._share(self.own, said), self._share(self.earlier, held))

    def _share(self, words: Sequence[KeyWord], held: frozenset[str]) -> float:
        weights = self.statistics.idf([part for _, parts in words for part in parts])
        unseen = self.statistics.idf([UNSEEN_TERM])[UNSEEN_TERM]
        known = {term: weight for term, weight in weights.items() if weight < unseen} or weights
        return sum(weight for term, weight in known.items() if term in held) / (sum(known.values()) or 1.0)


def _best_documents(passages: Sequence[Passage], share: Callable[[Passage], float]) -> set[str]:
    """Return the documents of the passages with the greatest share; none if it is small."""
    shares = {passage: share(passage) for passage in passages}
    best = max(shares.values(), default=0.0)
    return {passage.source_id for passage, held in shares.items() if held >= max(_HELD, _NEAR_BEST * best)}


_Statement = tuple[frozenset[str], frozenset[str]]  # terms of a sentence; the same with those of title and heading


def _read_statements(passage: Passage, *, alone: bool) -> Iterator[_Statement]:
    """Yield the terms of each sentence, without and with those of the title and the heading.

    Unless `alone`, a sentence that refers back has the terms of the one before it: "It was closed in 1932."
    """
    before, above = frozenset[str](), frozenset(extract_terms(passage.subject))
    for sentence in split_sentences(passage.text):
        terms = frozenset(extract_terms(sentence))
        terms_here = terms | before if _REFERENCE.search(sentence) and not alone else terms
        yield terms_here, terms_here | above
        before = terms


def _passage_terms(passage: Passage) -> frozenset[str]:
    return frozenset(extract_terms(f"{passage.subject} {passage.text}"))


def _borrow(question: str, words: Sequence[KeyWord], why: str) -> CondensedQuestion:
    return CondensedQuestion(
        _cut_to_query_limit(f"{question} ({_join(words)})"),
        f"{why}, so {_quote(words)} was added from the previous question.",
    )


def asks_for_more(question: str) -> bool:
    """Return whether a condensed question only asks for more: "Tell me more. (ChemCrow)"."""
    own = _BORROWED.sub("", question)
    return bool(_CONTINUATION.search(own)) and not _subject_words(own)


def is_new_in(question: str, said: str) -> bool:
    """Return whether a follow-up, as condensed, asks for something that `said` does not mention."""
    if not _BORROWED.search(question):
        return False
    held = frozenset(extract_terms(said))
    return not any(held.intersection(parts) for _, parts in _subject_words(_BORROWED.sub("", question)))


def names_no_subject(question: str) -> bool:
    """Return whether a follow-up, as condensed, has no subject of its own: "When is it? (summer party)"."""
    return bool(_BORROWED.search(question)) and not _subject_words(_BORROWED.sub("", question))


def _join(words: Sequence[KeyWord]) -> str:
    return " ".join(word for word, _ in words)


def _quote(words: Sequence[KeyWord]) -> str:
    return f"“{_join(words)}”"


def _read_asked(question: str) -> str:
    """Return a question without greetings, reactions to the last answer, and “does it say”."""
    asked = strip_small_talk(question)
    return drop_document_reference(_REACTION.sub("", asked) or asked)


def _has_own_subject(asked: str) -> bool:
    """Return whether a question names its subject and does not refer back."""
    return not (_is_adjunct(asked) or _refers_back(asked) or _is_fragment(asked)) and _names_subject(asked)


def _is_adjunct(asked: str) -> bool:
    return bool(_ADJUNCT.match(_LEAD_IN.sub("", asked)))


def _names_subject(asked: str) -> bool:
    words = _subject_words(asked)
    is_event = bool(_figure_kinds(words)) and bool(_ASKS_EVENT.search(asked))
    return bool(words) and (is_event or _defines(asked) or bool(find_name_terms(asked)) or _has_enough(words))


def _defines(asked: str) -> bool:
    """Return whether the question, or the first of two, asks what a single word means."""
    return bool(_DEFINITION.search(re.split(r",? (?:and|but|or) ", asked, maxsplit=1)[0]))


def _refers_back(asked: str) -> bool:
    """Return whether a question refers to earlier turns.

    "it" after the question's own subject means that: "What is a mutex and how does it work?" A noun with a name of its
    own refers to no other: "the five pillars of the Strategy", "this research on Orbel".
    """
    asked = _LEAD_IN.sub("", asked)
    reference = _REFERENCE.search(asked)
    if reference is None:
        return False
    before, after = asked[: reference.start()], asked[reference.start() :]
    if _SPECIFIED.match(after) and find_name_terms(after):
        return False
    if _LAST_REFERENCE.search(asked) and not _CLAUSE_BORDER.search(before):
        return True
    return not (find_name_terms(before) or _has_enough(_subject_words(before)) or _defines(before))


def _is_fragment(asked: str) -> bool:
    """Return whether the text is no sentence of its own: "And in 2023?", "No, I meant the TM-5.", "전기 요금은?"."""
    lead = _LEAD_IN.match(asked)
    if lead and lead.end():
        rest = asked[lead.end() :]
        return len(rest.split()) <= _MAX_FRAGMENT_WORDS and len(rest) <= 40
    return bool(_FRAGMENT.search(asked)) and not _SENTENCE_END.search(asked)


def _subject_words(asked: str) -> list[KeyWord]:
    """Return the key words that name something, without those that frame a question or only ask for more."""
    text = _CONTINUATION.sub(" ", _LEAD_IN.sub("", asked))
    if detect_language(text) == "ko":
        found = [(each[0], tuple(extract_terms(each[1] or each[0]))) for each in _FIGURE_OR_NAME.finditer(text)]
        found += [(word, tuple(extract_terms(word))) for word in korean.find_content_words(text)]
        return found or (extract_key_words(text) if _BARE_TOPIC.search(text) else [])
    words = extract_key_words(chinese.drop_frame(text) if detect_language(text) == "zh" else text)
    bare = ((word, parts) if word.isascii() else _strip_edges(word, parts) for word, parts in words)
    return [(word, parts) for word, parts in bare if not _NO_SUBJECT.issuperset(parts)]


def _strip_edges(word: str, parts: tuple[str, ...]) -> KeyWord:
    """Return a Chinese word without a modal verb before it and a period after it: 要登记, 導覽一天."""
    bare = _CHINESE_EDGE.sub("", word)
    return (word, parts) if bare == word else (bare, tuple(extract_terms(bare)))


def _figure_kinds(words: Sequence[KeyWord]) -> set[str]:
    return {kind for word, _ in words if (kind := _figure_kind(word))}


def _figure_kind(word: str) -> str:
    """Return "number" for words such as 2024 and 3월, "code" for product codes such as A300, else an empty text."""
    if not re.search(r"\d", word):
        return ""
    return "code" if re.search("[A-Za-z]", word) else "number"


def _has_enough(words: Sequence[KeyWord]) -> bool:
    """Return whether there are two key words; in Chinese, two characters count as a word."""
    return sum(-(-len(word) // 2) if detect_language(word) == "zh" else 1 for word, _ in words) >= _MIN_KEY_WORDS


def _pick_earlier_words(
    history: Sequence[Turn], asked: str, own: Sequence[KeyWord], statistics: TermStatistics
) -> list[KeyWord]:
    """Return the strongest words of the last question that had a subject of its own and of those after it.

    A new figure replaces the earlier ones: "And in 2023?"; a new verb, the one that was asked of a name.
    """
    known = {part for _, parts in own for part in parts}.union(_last_verb_terms(history) if own else ())
    kinds = _figure_kinds(own)
    words = [
        (word, parts)
        for word, parts in _earlier_words(history, asked, own)
        if not known.issuperset(parts) and _figure_kind(word) not in kinds
    ]
    weights = statistics.idf([part for _, parts in words for part in parts])
    strongest = sorted(words, key=lambda one: -max(weights[part] for part in one[1]))[:_MAX_BORROWED_WORDS]
    return [one for one in words if one in strongest]


def _earlier_words(history: Sequence[Turn], asked: str, own: Sequence[KeyWord]) -> list[KeyWord]:
    """Return the key words of the last question as it was understood, or back to the last one that named a subject.

    A fragment takes the place of the one before it, a figure that of a figure: "And the costs?", "And in 2023?".
    """
    found: list[KeyWord] = []
    for turn in reversed(history):
        if turn.role == "user" and not (detect_small_talk(turn.text) or is_summary_request(turn.text)):
            meant = turn.meant or turn.text
            before, borrowed = _read_asked(_BORROWED.sub("", meant)), _borrowed_words(meant)
            named = _subject_words(before)
            is_replaced = bool(own and borrowed) and not found and _is_fragment(asked) and _is_fragment(before)
            if is_replaced and _are_figures(own) == _are_figures(named):
                named = []
            found = [*borrowed, *named, *found]
            if turn.meant or (found and not (_is_adjunct(before) or _refers_back(before) or _is_fragment(before))):
                break
    unique = {parts: word for word, parts in found}
    return [(word, parts) for parts, word in unique.items()]


def _are_figures(words: Sequence[KeyWord]) -> bool:
    return all(_figure_kind(word) for word, _ in words)


def _last_verb_terms(history: Sequence[Turn]) -> list[str]:
    """Return the terms of the verb that ends the last question, if its subject is a name."""
    asked = next((turn.meant or turn.text for turn in reversed(history) if turn.role == "user"), "")
    verb = _LAST_VERB.search(_BORROWED.sub("", asked))
    return extract_terms(verb[1]) if verb else []


def _borrowed_words(meant: str) -> list[KeyWord]:
    """Return the words that were added to a follow-up, which have no particles left to strip."""
    added = _BORROWED.search(meant)
    words = added[0].strip(" ()").split() if added else []
    return [(word, tuple(extract_terms(word))) for word in words]


def pick_strongest_words(question: str) -> list[str]:
    """Return the three strongest key words in question order: names and numbers first, then long words.

    Multi-word names are kept whole.
    """
    phrases = re.findall(r"[A-Z][\w’'-]*(?: (?:of |the )?[A-Z][\w’'-]*)+", question.partition(" ")[2])
    rest = question
    for phrase in phrases:
        rest = rest.replace(phrase, " ")
    candidates = phrases + [word for word, _ in extract_key_words(rest)]
    unique = list(dict.fromkeys(candidates))
    strongest = sorted(unique, key=lambda word: (not (word[0].isupper() or word[0].isdigit()), -len(word)))[
        :_MAX_KEYWORDS
    ]
    return sorted(strongest, key=question.find)


def _cut_to_query_limit(text: str) -> str:
    """Cut to `MAX_QUERY_LENGTH` characters, between words if possible."""
    if len(text) <= MAX_QUERY_LENGTH:
        return text
    return text[:MAX_QUERY_LENGTH].rsplit(" ", 1)[0]
