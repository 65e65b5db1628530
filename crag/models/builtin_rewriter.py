"""Rule-based question rewriter: follow-up questions in a conversation, and web queries, without a language model.

A question with a subject of its own stands alone. One that names none, or refers back, borrows words of the question
before it. Where that is unclear, the documents decide: the question goes with the earlier topic if they speak of both
together.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from crag.cancellation import Cancellation
from crag.options import RunOptions
from crag.protocols import MAX_QUERY_LENGTH, CondensedQuestion, PassageFinder, Rewriter
from crag.text import chinese, korean
from crag.text.language import detect_language, extract_key_words, extract_terms, extract_words
from crag.text.patterns import lazy_regex
from crag.text.questions import FRAME_TERMS, TermStatistics, drop_document_reference, find_name_terms, separate_words
from crag.text.small_talk import detect_small_talk, is_summary_request
from crag.types import Passage, Turn

KeyWord = tuple[str, tuple[str, ...]]  # as written, with its terms

_BORROWED = lazy_regex(r" \([^()]+\)$")  # words that were added to a follow-up
_MIN_KEY_WORDS = 2
_MAX_BORROWED_WORDS = 6
_MAX_KEYWORDS = 3
_TOGETHER = 0.6  # share of the words of both questions that one passage must hold; other topics reach 0.5
_HELD = 0.5  # share of the words of one question
_NEAR_BEST = 0.9
_REFERENCE = lazy_regex(
    r"\b(?:it|its|they|them|their|theirs|he|him|his|she|her|hers|this|that|these|those|(?<!is )(?<!are )(?<!was )"
    r"(?<!were )there|former|latter|ones?|both|the (?:other|two|three|four|five)"
    r"|er|sie|es|ihn|ihm|ihr|ihre[nrms]?|sein|seine[nrms]?"
    r"|diese[rsmn]?|dies|das(?=\W*$)|dessen|deren|davon|dazu|darin|damit|dort)\b"
    r"|그것|그거|그건|그게|이것|이거|이건|이게|거기|여기|그는|그녀|그들|그의|(?:^|\s)[그이저]\s"
    r"|它|(?<![吉其])他|她|其(?![他她它實实餘余])|這|这|那",
    re.IGNORECASE,
)
_LEAD_IN = lazy_regex(  # continues what was said before
    r"^(?:(?:and|but|so|or|then|also|what about|how about|und|aber|oder|nein|no|nope|sorry|actually|ok(?:ay)?)\b"
    r"[\s,.!–-]*)+(?:(?:i (?:just )?meant?|ich mein(?:t)?e|what about|how about)\s+(?:only\s+)?)?"
    r"|^(?:i meant?|ich mein(?:t)?e)\s+"
    r"|^(?:(?:그럼|그러면|그리고|그런데|근데|아니요?|아뇨)[,.\s]*)+"
    r"|^(?:(?:那么?|那麼|不是?|还有|還有)[，,。\s]*)+(?:我(?:是)?[说說](?:的是)?)?",
    re.IGNORECASE,
)
_MAX_FRAGMENT_WORDS = 4
_FRAGMENT = lazy_regex(  # a subject alone, set beside the one before it: "전기 요금은?", "磨豆机呢？"
    r"^\W*[가-힣\w]+(?:\s[가-힣\w]+){0,2}(?:은|는|도|요|말이야|말이에요|말입니다)\W*$|^.{1,10}呢\W*$",
    re.IGNORECASE,
)
_ADJUNCT = lazy_regex(  # says when, where or how of something: "In euros?"
    r"^(?:in|on|at|for|from|by|with|without|during|after|before|under|per|since)\s(?:[\w’'-]+\s?){1,4}\W*$",
    re.IGNORECASE,
)
_CLAUSE_BORDER = lazy_regex(r",|\b(?:and|but|or|if|when|than|because|while|und|oder|wenn|als)\b", re.IGNORECASE)
_LAST_REFERENCE = lazy_regex(
    r"\b(?:in|on|at|for|from|of|by|with|about|during|after|before|to|than)\s(?:it|this|that|them|these|those)\W*$",
    re.IGNORECASE,
)
_KOREAN_QUESTION_END = lazy_regex(r"(?:나요|가요|까요|니까|래요|어요|아요|해요|예요|에요|세요|죠|지요)\W*$")
_ASKS_EVENT = lazy_regex(r"(?:무슨|어떤) 일|(?:뭐가|무엇이|뭔가) 있었")  # of a year: "2015년에 무슨 일이 있었나요?"
_FIGURE_OR_NAME = lazy_regex(r"((?<![\w.-])\d[\d.,]*)(?:\s?[년월일호층차회기])?|[A-Za-z][\w-]*")
_CONTINUATION = lazy_regex(  # asks to go on, about nothing new
    r"\b(?:more|further|again|next|else|since|details?|detailed|elaborate|examples?|beispiele?|nenne|mehr|dann|genauer)\b"
    r"|더|자세히|자세하게|예를? ?들어?|그 ?다음|계속|다른 (?:것|거)|말이야|말이에요|(?<=[은는도])요(?=\W*$)"
    r"|再|更|[详詳][细細]|一[点點些]|然[后後]|[还還]有|[继繼][续續]|例子|例如|[举舉]例|另一?[个個]|其他",
    re.IGNORECASE,
)
_DEFINITION = lazy_regex(  # of one word, which is the topic: "What is a mutex?"
    r"^what(?:['’]s| is| are) (?:an? )?(?!(?:new|next|different|wrong|missing|left|best|worst|important)\b)"
    r"(?![\w-]+ed\b)[a-z][\w’'-]+\W*$"
    r"|^(?:was|wer) (?:ist|sind|bedeutet) (?:eine? )?(?!das\b|der\b|die\b|er\b|sie\b|es\b)[\w-]+\W*$"
    r"|^[가-힣]+란 (?:무엇|뭐|뭔)",
    re.IGNORECASE,
)
_LAST_VERB = lazy_regex(  # of a name: "How many people does Microsoft employ?", "When was it founded?"
    r"\b(?:do|does|did|is|are|was|were|has|have|had|will|can|could)\s(?:the\s)?"
    r"(?:it|he|she|they|[A-Z][\w’'-]*(?:\s(?:of\s|the\s)*[A-Z][\w’'-]*)*)\s([a-z]+)\W*$"
)
_FILLER = lazy_regex(
    r"^(?:(?:hi|hello|hey|ok|okay|so|well|thanks|please)\b[\s,.!]*)*"
    r"(?:(?:can|could|would|will) you (?:please )?(?:tell|explain to|show|give) me\s+"
    r"|(?:please )?tell me\s+(?:about\s+)?|i(?: would|'d)? (?:like|want) to know\s+|do you know\s+|i wonder\s+)?"
    r"(?:if you know\s+)?"
    r"|[\s,]*(?:please|thanks|thank you)[\s.!?]*$"
    r"|^(?:[你您]好[，,！!\s]*)?(?:[请請][问問]|(?:[请請]|能不能|可以)?告[诉訴]我|我想知道)[，,\s]*"
    r"|[，,\s]*(?:[谢謝]{2})[。！!\s]*$"
    r"|^(?:안녕하세요[\s,.!]*)?혹시\s+|^안녕하세요[\s,.!]*"
    r"|\s*(?:알려 ?줘|알려 ?주세요|말해 ?줘|설명해 ?줘|설명해 ?주세요)[.!?\s]*$",
    re.IGNORECASE,
)


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
        asked = drop_document_reference(question)
        if _has_own_subject(asked) or len(question) >= MAX_QUERY_LENGTH:
            return CondensedQuestion(question, "It names its own subject, so nothing was added.")
        own = _subject_words(asked)
        earlier = _pick_earlier_words(history, own, self._statistics)
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
        if _is_fragment(asked) and _has_figure(own) and _has_figure(_earlier_words(history)):
            return _borrow(question, earlier, "It gives another figure")
        found = find_passages(f"{asked} ({_join(earlier)})")
        shared = max(found, key=topics.joint_share, default=None)
        if shared is not None and topics.joint_share(shared) >= _TOGETHER:
            held = topics.held_words(shared)
            return _borrow(question, held, f"A passage speaks of {_quote(own)} together with {_quote(held)}")
        if _refers_back(asked):
            return _borrow(question, earlier, "It refers back")
        about = _best_documents(find_passages(asked), topics.own_share)
        if not about:
            return _borrow(question, earlier, f"Your documents say little about {_quote(own)} alone")
        if _is_fragment(asked) and about & _best_documents(found, topics.earlier_share):
            return _borrow(question, earlier, "It goes on with the same topic")
        return CondensedQuestion(
            question, f"No passage speaks of both {_quote(own)} and {_quote(earlier)}, so nothing was added."
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
        return self._share(self.own, passage)

    def earlier_share(self, passage: Passage) -> float:
        return self._share(self.earlier, passage)

    def joint_share(self, passage: Passage) -> float:
        return min(self.own_share(passage), self.earlier_share(passage))

    def held_words(self, passage: Passage) -> list[KeyWord]:
        """Return the earlier words that the passage holds; others would only be missed in the answer."""
        held = _passage_terms(passage)
        return [(word, parts) for word, parts in self.earlier if 2 * len(held.intersection(parts)) >= len(parts)]

    def _share(self, words: Sequence[KeyWord], passage: Passage) -> float:
        weights = self.statistics.idf([part for _, parts in words for part in parts])
        held = _passage_terms(passage)
        return sum(weight for term, weight in weights.items() if term in held) / (sum(weights.values()) or 1.0)


def _best_documents(passages: Sequence[Passage], share: Callable[[Passage], float]) -> set[str]:
    """Return the documents of the passages with the greatest share; none if it is small."""
    shares = {passage: share(passage) for passage in passages}
    best = max(shares.values(), default=0.0)
    return {passage.source_id for passage, held in shares.items() if held >= max(_HELD, _NEAR_BEST * best)}


def _passage_terms(passage: Passage) -> frozenset[str]:
    return frozenset(extract_terms(f"{passage.title} {passage.heading} {passage.text}"))


def _borrow(question: str, words: Sequence[KeyWord], why: str) -> CondensedQuestion:
    return CondensedQuestion(
        _cut_to_query_limit(f"{question} ({_join(words)})"),
        f"{why}, so {_quote(words)} was added from the question before.",
    )


def asks_for_more(question: str) -> bool:
    """Return whether a question, as condensed, only asks to go on: "Tell me more. (ChemCrow)"."""
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


def _has_own_subject(asked: str) -> bool:
    """Return whether a question names what it is about and does not refer back."""
    return not (_is_adjunct(asked) or _refers_back(asked) or _is_fragment(asked)) and _names_subject(asked)


def _is_adjunct(asked: str) -> bool:
    return bool(_ADJUNCT.match(_LEAD_IN.sub("", asked)))


def _names_subject(asked: str) -> bool:
    words = _subject_words(asked)
    is_event = _has_figure(words) and bool(_ASKS_EVENT.search(asked))
    return bool(words) and (is_event or _defines(asked) or bool(find_name_terms(asked)) or _has_enough(words))


def _defines(asked: str) -> bool:
    """Return whether the question, or the first of two, asks what a single word means."""
    return bool(_DEFINITION.search(re.split(r",? (?:and|but|or) ", asked, maxsplit=1)[0]))


def _refers_back(asked: str) -> bool:
    """Return whether a question refers to what was said before it.

    "it" after the question's own subject means that: "What is a mutex and how does it work?"
    """
    asked = _LEAD_IN.sub("", asked)
    reference = _REFERENCE.search(asked)
    if reference is None:
        return False
    before = asked[: reference.start()]
    if _LAST_REFERENCE.search(asked) and not _CLAUSE_BORDER.search(before):
        return True
    return not (find_name_terms(before) or _has_enough(_subject_words(before)) or _defines(before))


def _is_fragment(asked: str) -> bool:
    """Return whether the text is no sentence of its own: "And in 2023?", "No, I meant the TM-5.", "전기 요금은?"."""
    lead = _LEAD_IN.match(asked)
    if lead and lead.end():
        rest = asked[lead.end() :]
        return len(rest.split()) <= _MAX_FRAGMENT_WORDS and len(rest) <= 40
    return bool(_FRAGMENT.search(asked)) and not _KOREAN_QUESTION_END.search(asked)


def _subject_words(asked: str) -> list[KeyWord]:
    """Return the key words that name something, without words that frame a question or only ask to go on."""
    text = _CONTINUATION.sub(" ", _LEAD_IN.sub("", asked))
    if detect_language(text) == "ko":
        found = [(each[0], tuple(extract_terms(each[1] or each[0]))) for each in _FIGURE_OR_NAME.finditer(text)]
        return [*found, *((word, tuple(extract_terms(word))) for word in korean.find_content_words(text))]
    if detect_language(text) == "zh":
        text = chinese.drop_frame(text)
    return [(word, parts) for word, parts in extract_key_words(text) if not FRAME_TERMS.issuperset(parts)]


def _has_figure(words: Sequence[KeyWord]) -> bool:
    return any(word[0].isdigit() for word, _ in words)


def _has_enough(words: Sequence[KeyWord]) -> bool:
    """Return whether there are two key words; in Chinese, two characters count as a word."""
    return sum(-(-len(word) // 2) if detect_language(word) == "zh" else 1 for word, _ in words) >= _MIN_KEY_WORDS


def _pick_earlier_words(history: Sequence[Turn], own: Sequence[KeyWord], statistics: TermStatistics) -> list[KeyWord]:
    """Return the strongest words of the last question that had a subject of its own and of those after it.

    A new figure replaces the earlier ones: "And in 2023?"; a new verb, the one that was asked of a name.
    """
    known = {part for _, parts in own for part in parts}.union(_last_verb_terms(history) if own else ())
    words = [
        (word, parts)
        for word, parts in _earlier_words(history)
        if not known.issuperset(parts) and not (_has_figure(own) and word[0].isdigit())
    ]
    weights = statistics.idf([part for _, parts in words for part in parts])
    strongest = sorted(words, key=lambda one: -max(weights[part] for part in one[1]))[:_MAX_BORROWED_WORDS]
    return [one for one in words if one in strongest]


def _earlier_words(history: Sequence[Turn]) -> list[KeyWord]:
    """Return the key words of the last question as it was understood, or back to the last one that named a subject."""
    found: list[KeyWord] = []
    for turn in reversed(history):
        if turn.role == "user" and not (detect_small_talk(turn.text) or is_summary_request(turn.text)):
            meant = turn.meant or turn.text
            asked = drop_document_reference(_BORROWED.sub("", meant))
            words = [*_borrowed_words(meant), *_subject_words(asked)]
            found = words + found
            if turn.meant or (words and not (_is_adjunct(asked) or _refers_back(asked) or _is_fragment(asked))):
                break
    unique = {parts: word for word, parts in found}
    return [(word, parts) for parts, word in unique.items()]


def _last_verb_terms(history: Sequence[Turn]) -> list[str]:
    """Return the terms of the verb that ends the last question, if its subject is a name."""
    asked = next((turn.meant or turn.text for turn in reversed(history) if turn.role == "user"), "")
    verb = _LAST_VERB.search(_BORROWED.sub("", asked))
    return extract_terms(verb[1]) if verb else []


def _borrowed_words(meant: str) -> list[KeyWord]:
    """Return the words that were added to a follow-up, which have no particles left to strip."""
    added = _BORROWED.search(meant)
    return extract_words(added[0]) if added else []


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
