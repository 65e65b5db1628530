"""Contrasts between a question and a sentence: opposite words, negation, and facts of the past."""

from __future__ import annotations

import re

from crag.text.language import extract_terms
from crag.text.patterns import SEVERAL, lazy_regex

_SEASON = "(?:month|week|winter|summer|spring|autumn|fall|season|term|quarter|semester)"
_OPPOSITES = tuple(
    (lazy_regex(one, re.IGNORECASE), lazy_regex(other, re.IGNORECASE))
    for one, other in (
        (r"\bupper\b", r"\blower\b"),
        (r"\bhigh(?:er|est)?\b", r"\blow(?:er|est)?\b"),
        (r"\bearl(?:y|ier|iest)\b", r"\b(?:late|later|latest|recent)\b"),
        (r"\b(?:increas|ris[ei]|rose\b|grow|grew\b)", r"\b(?:decreas|fall|fell\b|declin|shr[iu]nk)"),
        (r"\b(?:over|above|more than|at least|exceed\w*)\b", r"\b(?:under|below|less than|fewer than|at most|up to)\b"),
        (r"\b(?:before|until)\b", r"\b(?:after|since)\b"),
        (r"\bduring\b", r"\b(?:before|after)\b"),
        (r"\b(?:large|larger|largest|big|bigger|biggest)\b", r"\b(?:small|smaller|smallest)\b"),
        (r"\bfirst\b", r"\b(?:second|third|fourth|fifth|last|final)\b"),
        (r"\bsecond\b", r"\b(?:first|third|fourth|fifth|last|final)\b"),
        (r"\bmost\b", r"\bleast\b"),
        (r"\bmax(?:imum)?\b", r"\bmin(?:imum)?\b"),
        (r"\b(?:altogether|in (?:total|all)|overall)\b", r"\bfor (?:every|each)\b|\b(?:each|apiece|per (?!cent))"),
        (r"\b(?:adults?)\b", r"\b(?:child(?:ren)?)\b"),
        (r"\bupload\w*", r"\bdownload\w*"),
        (r"\bimport(?:s|ed|ing|ers?)?\b", r"\bexport(?:s|ed|ing|ers?)?\b"),
        (r"\bindoors?\b", r"\boutdoors?\b"),
        (r"\b(?:inbound|incoming|arrivals?)\b", r"\b(?:outbound|outgoing|departures?)\b"),
        (r"\binternal(?:ly)?\b", r"\bexternal(?:ly)?\b"),
        (r"\bweekdays?\b", r"\bweekends?\b"),
        ("이상|초과", "이하|미만"),
        ("이전", "이후"),
        ("최[고대다]", "최[저소]"),
        ("증가|늘", "감소|줄"),
        (rf"\bthis {_SEASON}\b", rf"\b(?:last|next|previous) {_SEASON}\b"),
        (r"\blast year\b|작년|지난해|去年", r"\b(?:this|next) year\b|올해|내년|前年|재작년|今年|明年"),
        (r"\bthis year\b|올해|今年", r"\b(?:last|next) year\b|작년|지난해|내년|去年|前年|明年"),
        (r"\bnext year\b|내년|明年", r"\b(?:last|this) year\b|작년|지난해|올해|去年|前年|今年"),
        ("재작년|前年(?!底)", "작년|지난해|去年|올해|今年"),
        ("성인|어른", "어린이|아동"),
        ("以上|超[过過]", "以下|不足|未[满滿]"),
        ("之前|以前", "之[后後]|以[后後]"),
        ("[没沒]有|不[带帶]|未[带帶持]", "[凭憑]|持有?"),
        (r"\bcosts?\b", r"\b(?:paid back|refund\w*|reimburs\w*|discount\w*)\b"),
        ("最[高大多]", "最[低小少]"),
        ("增加|上升", "[减減]少|下降"),
        ("成人", "[儿兒]童"),
        ("현재|지금|현직", "전임|이전|옛|퇴임|퇴사"),
        ("[现現]在|[现現]任|目前|如今", "原[^因则則来來]|前任|曾任|[调調][离離]|[离離]任|卸任"),
    )
)
_ASKS_PRESENT = lazy_regex(  # of what changes: "How many people does it employ?", "Who is its CEO?", "Who leads it?"
    r"^(?!.*\b(?:was|were|did|had|ever)\b)"
    r".*\b(?:how (?:many|much)\b.*\b(?:is|are|do|does|has|have)|who(?:['’]s| is| are| has"
    r"| (?:leads|holds|runs|owns|heads|chairs|manages|directs|governs|rules)))\b",
    re.IGNORECASE,
)
_UNTIL = r"\b(?:until|till|up to|before) (?:last|the end of|then|\d{4}|(?-i:[A-Z])[a-z]+ \d{4})\b"
_ASKS_NOW = tuple(  # a question in the present, what used to be, and what is now: "until last year it was four weeks"
    (lazy_regex(asks, re.IGNORECASE), lazy_regex(former, re.IGNORECASE), lazy_regex(now, re.IGNORECASE))
    for asks, former, now in (
        (
            (
                r"^(?!.*\b(?:was|were|did|had|ever|until|before|last|former\w*|previous\w*|used to|old)\b)"
                r".*\b(?:is|are|do|does|can|may|must|has|have)\b"
            ),
            (
                rf"{_UNTIL}.*\b(?:was|were|had|could)\b|\b(?:was|were|had|could)\b.*{_UNTIL}"
                rf"|\blast (?:year|{_SEASON})\b.*\b(?:was|were|had)\b|\b(?:formerly|previously|used to|had been)\b"
            ),
            r"\b(?:is|are|has|have|now|current\w*|today|since|will|can|may|must|need|do|does)\b",
        ),
        (
            r"^(?!.*(?:[았었였했]|작년|지난|예전|이전|종전)).*[가-힣]",
            r"(?:까지는|이전에는|전에는|작년|지난해|종전|예전|기존에는?).*[았었였했](?:습니다|다|어요|고)",
            r"지금|현재|부터는?|올해|바뀌|변경",
        ),
        (
            r"^(?!.*(?:以前|之前|原[来來先]|[过過]去|去年|此前|曾|旧|舊)).*[\u4e00-\u9fff]",
            r"^[^，。；]{0,10}(?:以前|之前|原[来來先]|[过過]去|去年|此前)[^，。；]{0,20}(?:[为為是收]|\d)",
            r"[现現]在|目前|[现現]行|如今|起|改[为為]|今年",
        ),
    )
)
_DEGREE = lazy_regex(r"\b(very|extremely|highly|(?<!at )least|less(?! than\b)) ([a-z]+)")
_YEAR = lazy_regex(r"(?<!\d)(?:1[5-9]|20)\d\d(?!\d)")
_PAST_TIME = lazy_regex(rf"{_YEAR.pattern}|\b(?:before|previously|formerly|until|till|once)\b", re.IGNORECASE)
_PAST = lazy_regex(r"\b(?:was|were|had|became|led|held|ran|wrote|kept|\w{2,}ed)\b", re.IGNORECASE)
_PRESENT = lazy_regex(r"\b(?:is|are|has|have|now|current(?:ly)?|today|still|since)\b", re.IGNORECASE)
_ASKS_DONE = lazy_regex(r"\b(?:was|were|did|has|have|had|(?:is|are) \w+ing)\b", re.IGNORECASE)
_ASKS_PLAN = lazy_regex(r"\b(?:plan|intend|intention|hop[ei]|propos|going to|will|expect)", re.IGNORECASE)
_INTENDED = lazy_regex(
    r"^[^,;]{0,40}\b(?:(?:plan|intend|hope|propose|aim|expect)s?|(?:is|are) (?:planning|hoping|going|due)) to\b",
    re.IGNORECASE,
)
_DESIGNATION = lazy_regex(  # Corbel 3, house A
    r"((?<![A-Za-z])[A-Za-z]{2,}|(?<![가-힣])[가-힣]{2,}|[\u4e00-\u9fff]{2})[ -]?"
    r"(\d+(?![\d.,:%]*\d|%)|(?<=[a-z] )[A-HJ-Z](?![\w.'’]))"
)
_NUMBERED_PLACE = lazy_regex(
    r"(\d+) ?(학년|반|층|동|호선|호|조|과|관|[楼樓層层栋棟班級级])(?![가-힣\d])"
    r"|(\d+)(동|호|층|반)(?=[은는이가의에과와])"
)
_COUNT = lazy_regex(  # "three major cities"
    rf"\b(\d+|{SEVERAL}) (?:[a-z-]+ )?([a-z]{{3,}}s)\b", re.IGNORECASE
)
_NEGATION = lazy_regex(
    r"\b(?:not(?! (?:only|until|least)\b)|never|no|none|neither|nor|cannot|without|unlike|lack(?:s|ed|ing)?"
    r"|fail(?:s|ed)? to|refused?)\b|n[’']t\b"
    r"|실패|지 (?:않|못)|없[다었습]|[아안]니[다라]|거부|거절"
    r"|[没沒]有|不[是能得再会會可予]|未[能曾]|[并並]未|失[败敗]|拒[绝絕]",
    re.IGNORECASE,
)
_ASKS_NEGATIVE = lazy_regex(
    rf"{_NEGATION.pattern}|안 |못|금지|불가|不|[没沒]|未|禁|\b(?:prohibit|forbid|refus|except|avoid|ban)", re.IGNORECASE
)
_ASKS_WHETHER = lazy_regex(  # "no" is an answer to it
    r"\W*(?:is|are|was|were|do|does|did|can|could|may|must|should|will|would|has|have|had)\b(?!.*\b(?:or|who|what|when)\b)"
    r"|(?!.*(?:누[구가]|언제|어디|무[엇슨]|뭐|뭘|몇|얼마|어떻|어느|어떤|왜)).*[가-힣](?:나요|가요|까요?|어요|아요|냐|니)\W*$"
    r"|.*[吗嗎]\W*$",
    re.IGNORECASE,
)
_CLAUSE_BORDER = lazy_regex(
    r"(?<!\d),|,(?!\d)|[;:()—“”\"，；：、。（）「」『』]|\b(?:but|and|which|although|while|whereas|because|so)\b|(?<=지만)\s|(?<=으나)\s|(?<=는데)\s|(?<=[고며])\s"
)
_HAN = lazy_regex("[\u4e00-\u9fff]")
_OBJECT_VERB = lazy_regex(r"(?<![가-힣])(?!무엇|누구|어[떤느디]|무슨|얼마|몇)([가-힣]{2,}?)(?:을|를) ([가-힣]{2,})")
_VERB_STEM = 2  # syllables
_MIN_SHARED_LETTERS = 2  # of Chinese words, which one letter may part: 得了奖, 得奖


def is_contrary(question: str, sentence: str, context: str = "") -> bool:
    """Return whether a sentence says the opposite of what the question presumes, in words that both share.

    A sentence that names none of the numbered or lettered things that the question is about is about the one that its
    `context` names: the title, headings and the sentence before.
    """
    for pair in _OPPOSITES:
        for asked, other in (pair, pair[::-1]):
            if asked.search(question) and other.search(sentence) and not asked.search(sentence):
                return True
    if _names_another(question, sentence, context) or _is_done_to_another(question, sentence):
        return True
    if _is_past(question, sentence) or _is_only_planned(question, sentence) or _is_milder(question, sentence):
        return True
    return not (_ASKS_NEGATIVE.search(question) or _ASKS_WHETHER.match(question)) and _denies(question, sentence)


def _names_another(question: str, sentence: str, context: str) -> bool:
    """Return whether a sentence is about "Corbel 5" or two cities, and the question about "Corbel 3" or three."""
    asked = _find_numbered(question)
    named, around = (_find_numbered(text) if asked else set() for text in (sentence, context))
    nouns = {noun for noun, _ in named}
    named |= {one for one in around if one[0] not in nouns}
    return any(one not in named and any(one[0] == other[0] for other in named) for one in asked)


def _is_past(question: str, sentence: str) -> bool:
    """Return whether a sentence only says how something was in some year or before, and the question asks how it is."""
    for asks, former, now in _ASKS_NOW:
        if asks.search(question) and former.search(sentence):
            return not now.search(sentence)
    if not _ASKS_PRESENT.search(question) or _YEAR.search(question):
        return False
    return all(sign.search(sentence) for sign in (_PAST_TIME, _PAST)) and not _PRESENT.search(sentence)


def _is_only_planned(question: str, sentence: str) -> bool:
    """Return whether a question asks what was done or is being done, and a sentence only says what is intended."""
    return bool(_ASKS_DONE.search(question) and _INTENDED.search(sentence)) and not _ASKS_PLAN.search(question)


def _is_done_to_another(question: str, sentence: str) -> bool:
    """Return whether a Korean sentence does to another thing what is asked of one: 사원증을 잃다, 노트북을 잃다."""
    done = {(noun, verb[:_VERB_STEM]) for noun, verb in _OBJECT_VERB.findall(sentence)}
    return any(
        noun not in sentence and any(verb[:_VERB_STEM] == other for _, other in done)
        for noun, verb in _OBJECT_VERB.findall(question)
    )


def _is_milder(question: str, sentence: str) -> bool:
    """Return whether a question asks for what is very common, and a sentence states only what is common."""
    low = sentence.casefold()
    return any(f"{degree} {word}" not in low and word in low for degree, word in _DEGREE.findall(question.casefold()))


def _find_numbered(text: str) -> set[tuple[str, str]]:
    """Return names and things with the number that belongs to them."""
    counts = ((noun.casefold(), count.casefold()) for count, noun in _COUNT.findall(text))
    places = ((found[2] or found[4], found[1] or found[3]) for found in _NUMBERED_PLACE.finditer(text))
    return {*counts, *places, *((name.casefold(), number) for name, number in _DESIGNATION.findall(text))}


def _denies(question: str, sentence: str) -> bool:
    """Return whether a clause of the sentence that shares a word with the question is negated."""
    asked, letters = set(extract_terms(question)), set(_HAN.findall("".join(extract_terms(question))))
    negated = (clause for clause in _CLAUSE_BORDER.split(sentence) if _NEGATION.search(clause))
    return any(
        not asked.isdisjoint(extract_terms(clause)) or len(letters.intersection(clause)) >= _MIN_SHARED_LETTERS
        for clause in negated
    )
