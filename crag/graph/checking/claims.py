"""Facts of a sentence that shared words do not reveal: names, negations, directions.

Rules for English, Korean and Chinese, based on the text alone.
"""

from __future__ import annotations

import re

from crag.graph.checking.figures import MONTH_NAMES
from crag.language import CHARACTERS, HANGUL, terms
from crag.prompts.language import Language, detect
from crag.questions import names_in

# The first word of a sentence is capitalised anyway; before these words it can only be the subject.
_SUBJECT = re.compile(
    r"([A-Z][\w-]+)(?:[’']s\b| (?=(?:is|was|has|had|will|did|does|became|won|wrote|said|made|built|led|found|born|died"
    r"|[a-z]{2,}ed|[A-Z]\w+)\b))"
)
_OTHER_WORDS = frozenset(
    """
    der die das den dem des und ist ein eine einen nicht mit von für auf sich wird wurde sind im zu als auch
    le la les et est une dans pour que qui sur du au el los las del por con para y se en una il che di
    """.split()  # noqa: SIM905 — a list literal of this length would be harder to read
)
_ENGLISH_WORDS = frozenset(
    """
    the of and is in to a was for that with it as are by on from this be an at were has have or its their
    """.split()  # noqa: SIM905 — as above
)
_ENGLISH_NEGATION = re.compile(
    r"\b(?:not(?! only| just| merely)|never|no(?! doubt| longer than)|none|neither|nor|without|cannot|nobody|nothing"
    r"|hardly|(?:fails?|failed|refuses?|refused|unable) to)\b|n[’']t\b",
    re.IGNORECASE,
)
_MONTH_TERMS = frozenset(terms(MONTH_NAMES))
_KOREAN_NOUN = re.compile(f"[{HANGUL}]{{2,}}(?=(?:은|는|이|가|을|를|에서|에게|의|와|과)(?![{HANGUL}]))")
_NEGATED_TERMS = 2
_NEAR_TERMS = 3
_REACH = 40  # characters
_KOREAN_NEGATION = re.compile(r"지\s?(?:는|도|를)?\s?(?:않|못)|(?:^|\s)(?:안|못)\s|없|아니|아닌|아닙")
_KOREAN_MARK = "지 않다"
_CHINESE_NEGATION = re.compile(
    r"(?:不(?![僅仅只但過过同斷断論论管久])|[沒没]有?|[無无](?![論论線线數数])|未(?![來来])|非(?![常洲])|並非|并非)"
    rf"[有能會会可要被曾]?([{CHARACTERS}]{{1,4}})"
)
_DIRECTIONS: tuple[tuple[str, str], ...] = (
    (
        r"\b(?:increas|grew|grow|rose|rise|rising|climb|gain|improv|doubl)\w*|증가|상승|늘|올랐|增|升|涨|漲|提高",
        r"\b(?:decreas|shrank|shrink|fell|fall|drop|declin|lost|lose|worsen|halv)\w*|감소|하락|줄|내렸|減|减|降|跌",
    ),
    (
        r"\b(?:more|higher|above|over|exceed\w*)\b|이상|초과|高於|高于|多於|多于|超過|超过",
        r"\b(?:less|fewer|lower|below|under)\b|이하|미만|低於|低于|少於|少于",
    ),
    (r"\b(?:before|earlier|prior)\b|이전|전에|之前|以前", r"\b(?:after|later|since)\b|이후|후에|之後|之后|以後|以后"),
    (
        r"\b(?:max\w*|largest|biggest|highest|most|longest)\b|최대|최고|가장 큰|가장 높|最大|最高|最多|最長|最长",
        r"\b(?:min\w*|smallest|lowest|least|shortest)\b|최소|최저|가장 작|가장 낮|最小|最低|最少|最短",
    ),
    (
        r"\b(?:allow|permit|accept|include|enabl)\w*|허용|포함|允許|允许|包括|包含",
        r"\b(?:forbid|forbad|prohibit|reject|exclud|disabl|ban)\w*|금지|제외|禁止|不得|排除",
    ),
)
_OPPOSITES = [(re.compile(one, re.IGNORECASE), re.compile(other, re.IGNORECASE)) for one, other in _DIRECTIONS]


def language(text: str) -> Language | None:
    """Detect the language for comparing words; None for Latin script that is not English."""
    found = detect(text)
    if found != "en":
        return found
    words = re.findall(r"[^\W\d_]+", text.lower())
    other, english = (sum(word in known for word in words) for known in (_OTHER_WORDS, _ENGLISH_WORDS))
    return None if other > english else "en"


def names(text: str) -> frozenset[str]:
    """Return the terms that name a person, place or thing. Based on capitals, so English only. Months are left out."""
    if language(text) != "en":
        return frozenset()
    found = {term for term in names_in(text) if not term[0].isdigit()} - _MONTH_TERMS
    opening = _SUBJECT.match(text.lstrip('*_#>-•"“ '))
    return frozenset(found | set(terms(opening[1]) if opening else ()))


def subjects(text: str) -> frozenset[str]:
    """Return the terms that may name something: names and, in Korean, the nouns marked by particles."""
    return names(text) | {term for noun in _KOREAN_NOUN.findall(text) for term in terms(noun)}


def opening(text: str) -> frozenset[str]:
    """Return the first pair of characters of a Chinese sentence, usually its subject. Empty for other languages."""
    first = terms(text.lstrip("-*•# 《“「")[:4])[:1] if language(text) == "zh" else []
    return frozenset(term for term in first if not term[0].isdigit())


def contradicts(one: str, other: str) -> bool:
    """Return whether one of two similar sentences negates the other or reverses its direction."""
    by_one, by_other = _negated(one), _negated(other)
    if _denies(by_one, by_other, other) or _denies(by_other, by_one, one):
        return True
    return any(_turns(one, other, up, down) or _turns(one, other, down, up) for up, down in _OPPOSITES)


def _turns(one: str, other: str, way: re.Pattern[str], opposite: re.Pattern[str]) -> bool:
    """Return whether something that goes one way in the first sentence goes the opposite way in the second."""
    return any(
        _shared(near, opposite, other) > _shared(near, way, other)
        for near in (_near(one, match) for match in way.finditer(one))
    )


def _shared(near: set[str], way: re.Pattern[str], text: str) -> int:
    """Return the largest number of these terms near any one word of this direction."""
    return max((len(near & _near(text, match)) for match in way.finditer(text)), default=0)


def _near(text: str, match: re.Match[str]) -> set[str]:
    before = terms(text[max(0, match.start() - _REACH) : match.start()])
    return {*before[-_NEAR_TERMS:], *terms(text[match.end() : match.end() + _REACH])[:_NEAR_TERMS]}


def _denies(negated: list[set[str]], also_negated: list[set[str]], text: str) -> bool:
    """Return whether something negated here is stated without negation in the other text."""
    stated = {*terms(text), _KOREAN_MARK}
    return any(group & stated and all(group.isdisjoint(other) for other in also_negated) for group in negated)


def _negated(text: str) -> list[set[str]]:
    """Return the scope of each negation: the next terms; in Korean, where negation follows, a marker that it exists."""
    matches = [*_ENGLISH_NEGATION.finditer(text)]
    nexts = [match.start() for match in matches[1:]] + [len(text)]
    found = [
        set(terms(text[match.end() : min(following, match.end() + _REACH)])[:_NEGATED_TERMS])
        for match, following in zip(matches, nexts, strict=False)
    ]
    found += [set(terms(match[1])) for match in _CHINESE_NEGATION.finditer(text)]
    return found + ([{_KOREAN_MARK}] if _KOREAN_NEGATION.search(text) else [])
