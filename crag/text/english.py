"""Questions in languages that write spaces between words: the names, figures and other words that a text lacks."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from crag.protocols import Embedder, Quotation
from crag.text.definitions import defines, find_term
from crag.text.language import extract_terms, extract_words, find_tokens, is_table_row, split_sentences
from crag.text.measures import MONEY_UNIT
from crag.text.patterns import COUNT_WORDS, MONTHS, SEVERAL, lazy_regex
from crag.text.questions import CLASS_NOUN, FRAME_TERMS, SINGLE_VALUE_TYPES, AnalyzedQuestion
from crag.text.spelling import is_certain, shares_root

_SIMILAR = 0.58
"""Cosine from which one word stands for another: *founded*, *established* 0.60; *created*, *founded* 0.54."""
_NEAR_KIND = 0.35
"""Cosine from which a text without a name may tell which one of a kind: *metal*, *copper*."""
_REMOTE = 0.2
"""Cosine below which a text does not even speak of a kind of thing: *award*, *medal* 0.40; *church*, *schools* 0.07."""
_DEGREE = lazy_regex(r"\bhow (big|large)\b", re.IGNORECASE)
_COST_TERMS = frozenset(extract_terms("cost costs price charge charged"))
_CURRENCY = lazy_regex(rf"[$€£¥₩]\s?\d|\d\s?{MONEY_UNIT}\b", re.IGNORECASE)
_OWN_PRICE = lazy_regex(  # "the emergency fee", but not "the annual fee"
    r"\b(?!(?:an?|the|this|that|no|any|each|every|its|their|our|your|his|her|my|annual|yearly|monthly|weekly|daily|total"
    r"|full|basic|base|regular|standard|normal|usual|current|new|old|fixed|flat|average|only|and|or|of|in|by|for|to"
    r"|with|is|are|was|were)\b)([a-z]+)"
    r" (?:fee|charge|surcharge|price|cost|fare|rate|deposit|premium|penalty|fine)s?\b",
    re.IGNORECASE,
)
_ASKS_PRICE = lazy_regex(r"\bhow much\b|\b(?:price|cost)s?\b", re.IGNORECASE)
_SUPERLATIVE = (
    r"(?<!\bat )\b(?:most|least|best|worst|(?:high|low|larg|bigg|great|small|tall|long|short|old|young|earli|lat|near"
    r"|fast|slow|strong|weak|rich|poor|cheap|new|deep|wid|heavi|light|hott|cold|few|clos|busi)est)\b"
)
_SWITCH = r"\b(?:switch|turn|put|power|log|sign)(?:ed|ing|s|ting)?\b[^?.]{0,40}"
_QUALIFIERS = tuple(  # words that change what is asked: the answer must hold one of the same kind, or of these others
    (lazy_regex(asks, re.IGNORECASE), lazy_regex(asks + others, re.IGNORECASE))
    for asks, others in (
        (r"\b(?:not|never|no|none|without|cannot)\b|n[’']t\b", ""),
        (r"\b(?:only|sole|single)\b", ""),
        (
            r"\b(?:an?|the|my|your|our) (?:normal|regular|ordinary|standard)\b",
            r"|\b(?:normal|regular|ordinar|standard|usual)",
        ),
        (r"\b(?:before|prior|earlier|previous\w*|former\w*)\b", ""),
        (r"\b(?:after|afterwards|later|following|since|once|upon|subsequent\w*)\b", ""),
        (
            r"\b(?:instead|rather than)\b",
            r"|\b(?:replac|substitut|swap|stand(?:s|ing)? in|in place of|in lieu|takes? over)\w*",
        ),
        (rf"{_SWITCH}\boff\b", r"|\boff\b|\b(?:deactivat|disabl|stop)\w*"),
        (rf"{_SWITCH}\bon\b", r"|\bon\b|\b(?:activat|enabl|start)\w*"),
        (_SUPERLATIVE, r"|\b(?:top|main\w*|primar\w+|chief\w*|maxim\w+|minim\w+|more \w+ than any)\b"),
    )
)
_CAPITAL = rf"(?!(?:{'|'.join(MONTHS)})\b)(?-i:[A-Z])"
_LOCATIVE = (
    "(?:in|at|near|on|from|inside|outside|within|between|beside|behind|opposite|off|around|across|along|under|through)"
)
_VALUES = tuple(  # what a question asks, and what its answer must hold that the question does not
    (lazy_regex(asks, re.IGNORECASE), lazy_regex(value, re.IGNORECASE))
    for asks, value in (
        (
            r"\bwhat time (?!of|period|zone|frame)",
            (
                r"\d[:.]\d\d|\d ?[ap]\.?m\b|\d ?[h시点點]|\bo[’']clock\b"
                r"|\b(?:noon|midday|midnight|dawn|dusk|sunrise|sunset)\b"
                r"|\b(?:at|from|by|until|till|before|after) (?:half past |quarter (?:past|to) )?(?:\d{1,2}|one|two"
                r"|three|four|five|six|seven|eight|nine|ten|eleven|twelve)\b(?! (?:days?|weeks?|months?|years?))"
            ),
        ),
        (
            r"\bwhat (?:did|do|does|will|must|should|would) .{1,30}\b(?:pay|spend|charge)\b",
            rf"{_CURRENCY.pattern}|\((?:[$€£¥₩]|EUR|USD|GBP|CHF)\): ?\d|\b(?:CHF|EUR|USD|GBP) ?\d|\b(?:free|nothing)\b",
        ),
        (r"\bwhat number\b.*\b(?:ring|call|phone|dial|text)\b", r"\d(?:[ ()/.-]{0,2}\d){4}"),
        (
            (
                r"\b(?:what|which) (?:dos(?:e|age)|amount|fee|price|percentage|temperature|speed|distance|weight|height"
                r"|length|deposit|fine|discount|salary|wage|allowance|voltage|pressure)\b"
            ),
            rf"\d|\b(?:{SEVERAL}|one|half|none|free)\b",
        ),
        (
            r"\bcolou?rs?\b",
            (
                r"\b(?:colou?r|red|blue|green|yellow|white|black|gr[ea]y|orange|purple|violet|pink|brown|gold|silver|beige"
                r"|cream|turquoise|amber|scarlet|crimson|navy)"
            ),
        ),
        (r"\b(?:(?:tele)?phone|fax|mobile) numbers?\b", r"\d(?:[ ()/.-]{0,2}\d){4}"),
        (r"\be-?mail(?: address(?:es)?)?\W*$", r"\w@\w"),
        (
            r"\bwhat (?:is|are|was|were) .*\bperiods?\W*$",
            r"\b(?:years?|quarters?|months?|weeks?|fortnights?|days?|hours?|minutes?|until|from .+ to)\b|\d{4}",
        ),
        (
            r"^\W*where\b",
            rf"\b{_LOCATIVE} (?:[a-z-]+ ){{0,3}}{_CAPITAL}|\b(?:to|via) (?:the )?{_CAPITAL}|[:|—] ?\w|\d {_CAPITAL}",
        ),
    )
)
_FORMS = tuple(  # what a question asks, and what its answer must hold, perhaps in the words of the question
    (lazy_regex(asks, re.IGNORECASE), lazy_regex(needed, re.IGNORECASE))
    for asks, needed in (
        (
            r"\b(?:another|other|alternative) (?:name|term|word)s?\b|\balso (?:called|known|named)\b",
            r"\b(?:call|nam|known|term|refer|alias|aka|dub|abbrev|nick|or\b|i\.?e\b)|[(“\"‘—]",
        ),
        (
            r"\bexamples? of\b(?! (?:what|which)|\W*$)",
            r"\b(?:such as|examples?|instances?|includ\w*|like|e\.g|among|one (?:is|was|kind|type))\b|:",
        ),
        (
            r"\bwhat (?:is|was|are|were) the meaning of\b",
            r"\b(?:mean\w*|signif\w+|symboli[sz]\w+|stands? for|denot\w+|defin\w+|refers?|deriv\w+)\b|[\"“‘]",
        ),
        (
            r"\bwhat (?:is|are|was|were) .*\bmade (?:of|from|out of|up of)\b",
            r"\b(?:made|consist\w*|compos\w+|contain\w*|compris\w+|form\w*|built|construct\w*|alloy|mix\w*)\b",
        ),
        (
            r"\b(?:take[ns]?|taking|took) over\b|\bsucceed(?:s|ed)?\b",
            r"\b(?:(?:take[ns]?|taking|took|hand(?:s|ed)?) over|succe|replac|follow|new)",
        ),
        (
            r"\bhow many (?:people|persons|participants)\b",
            (
                r"\b(?:people|persons?|participants?|members?|guests?|children|pupils|students?|adults?|men|women|players?"
                r"|visitors?|passengers?|residents?|inhabitants?|population|lives?|lived|dead|deaths?|died|killed|injured"
                r"|wounded|casualties|employ\w*|workers|staff|soldiers|troops|crowd|audience|capacity|seats?|spectators"
                r"|fans|refugees|citizens|immigrants|speak\w*|victims|households|families|attend\w*|up to)\b"
            ),
        ),
        (
            r"\bhow long (?:does|do|did|will|would)\b.*\btake\b",
            r"\b(?:tak(?:es?|ing)|took|needs?|requires?|within|after|until|completed?|is|are|was|were)\b|[:|—]",
        ),
        # Light verbs, whose meaning depends on another word: "get back", "come out"
        (r"\b(?:get|got|have|give|pay|hand|bring)\b.*\bback\b", r"\b(?:return|refund|repa|reimburs|releas|back\b)"),
        (
            r"\bc[oa]mes? (?:out|on)\b|\bcoming out\b",
            (
                r"\b(?:releas|premier|publish|launch|debut|issu|air(?:s|ed|ing)?\b|on sale|c[oa]mes? (?:out|on)\b"
                r"|an? [12]\d{3}\b)"  # "is a 1985 film"
            ),
        ),
        (r"\bwhere\b.*\bc[oa]mes? from\b", r"\b(?:from|origin|deriv|invent|native|introduc|descend)"),
        (
            r"\b(?:go(?:es)?|gone|going|went) up\b|\bis .*\b(?:raised|increased)\b",
            r"\b(?:increas|ris(?:e|es|en|ing)\b|rose\b|rais|climb|(?:go(?:es)?|gone|going|went) up\b|higher\b|new\b)",
        ),
        (r"\bput\b.*\bup\b", r"\b(?:put|set up|erect|install|rais|build|built)"),
    )
)
_ASKS_WHY = lazy_regex(r"\bwhy\b", re.IGNORECASE)
_REASON = lazy_regex(  # case counts: "to reduce costs" is a reason, "to Dunmore Holdings" is none
    rf"(?i:\b(?:because|since(?! (?:the )?(?:[12]\d{{3}}|then|beginning|start|{'|'.join(MONTHS)})\b)|due|owing"
    r"|as (?:it|he|she|they|we|you|there|this|these|the|an?|no|its|their)"
    r"|so(?! (?:far|called|many|much)\b)|therefore|thus|hence|reasons?(?! (?:why|that|for which)\b)|caus\w+"
    r"|result(?:s|ed|ing)? (?:of|in|from)|as a result|for (?:fear|lack|want|the (?:sake|purpose|reason))"
    r"|(?:led|leads?|leading) to|thanks to|prevent\w*|enabl\w+|allow\w*|mak(?:es?|ing)|in order|response|by \w+ing"
    r"|means that|given (?:that|the|its|their)|too)\b)"
    r"|\bto (?!(?:the|an?|his|her|its|their|our|my|your|this|that|these|those|all|any|be)\b)[a-z]+"
)
_NO_PURPOSE = lazy_regex(
    r"\b(?:had|has|have|began|start(?:s|ed)|continue[sd]?|used|able|years|months|agree[sd]?|decide[sd]?|plan(?:s|ned)|want(?:s|ed)"
    r"|tr(?:y|ies|ied)|fail(?:s|ed)|refuse[sd]?|likely|need(?:s|ed)?|going|seem(?:s|ed)|came|according|up|close) to \w+"
)
_ASKS_FOR_COUNTED = lazy_regex(rf"\s*(?:(?:what|which) (?:are|were) |name |list )the ({SEVERAL})\b", re.IGNORECASE)
_ASKS_WHICH = lazy_regex(r"\W*(?:which|what) ([a-z]{3,}s) (?:are|were|have|had|do|did|can|may|must)\b", re.IGNORECASE)
_WHICH_ONE = lazy_regex(r"\W*which (?:of (?:the|my|our|your|these|those) )?([a-z]{3,})\b", re.IGNORECASE)
_ASKS_COMPANY = lazy_regex(
    r"\b(?:which|what) (?:[a-z]+ )?(?:company|firm|bank|insurer|supplier|manufacturer|contractor|agency|brand)\b",
    re.IGNORECASE,
)
_ASKS_NAME = lazy_regex(
    r"\bname of\b|[’']s name\b|\bwhat (?:is|was|are|were) .{1,60} (?:called|named)\W*$", re.IGNORECASE
)
_ASKS_KIND = lazy_regex(
    r"\b(?:what|which) [a-z]{3,} (?:is|are|was|were|do|does|did|has|have|had|can|may|must|should|will)\b", re.IGNORECASE
)
_HOW_TO = lazy_regex(r"\bhow (?:do|can|should|must) (?:i|we|you|one|people) ([a-z]{3,})", re.IGNORECASE)
_WHAT_DID = lazy_regex(r"\b(?:what|which) ([a-z]{3,}) (?:did|does|do|has|have|had|will)\b", re.IGNORECASE)
_NAMES = lazy_regex(r"\b[A-Z][\w’'&-]*(?: [A-Z][\w’'&-]*)*")
_PLACE = lazy_regex(r"\b(?:in|at|near|to) (?:the )?[A-Z][\w’'-]*(?: [A-Z][\w’'-]*)*")
_CALENDAR = lazy_regex(rf"\b(?:{'|'.join(MONTHS)}|(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?)\b")
_NAMELESS = lazy_regex(r"\W*(?:we|you|i|they|he|she|it)\b", re.IGNORECASE)
_SEPARATOR = lazy_regex(r"[;,•]|\b(?:and|or)\b")
_NAME_PAIR = lazy_regex(r"(?<![.!?:]\s)(?<!^)\b([A-Z][\w’'-]*) ([A-Z][\w’'-]*)")
_FIRST_NAME_PAIR = lazy_regex(
    r"^\W*(?!(?:The|A|An|In|On|At|Mr|Mrs|Ms|Dr|Prof)\b)([A-Z][\w’'-]*) ([A-Z][\w’'-]*)", re.MULTILINE
)
_PASSIVE = lazy_regex(r"\b(?:is|are|was|were) (?:the )?(?:[A-Z][\w’'-]* )*?([A-Z][\w’'-]*) ([a-z]+)\W*$")
_BE = r"(?:is|are|was|were|be|been|being)"
_WHO_DID = lazy_regex(  # "Who founded Orbel in 1990?": the verb and what follows it
    rf"\W*who (?:(?:first|originally|really|actually|also) )?(?!{_BE}\b|(?:will|would|can|could|may|might|must|should"
    r"|shall|do|does|did|has|have|had|else)\b)([a-z]+) (.+)",
    re.IGNORECASE,
)
_PREPOSITION = lazy_regex(
    r"\b(?:in|on|at|of|for|from|to|with|by|as|into|about|over|under|during|after|before|since|when|while)\b"
)
_CLAUSE_BORDER = lazy_regex(
    r"[;:]|\b(?:which|who|whom|whose|that|when|where|while|although|but|because|whereas)\b"
    r"|\b(?:and|or) (?:\w+ly )?\w+ed\b",
    re.IGNORECASE,
)
_SUBJECT_RELATIVE = lazy_regex(rf"\b(?:which|that|who) (?:(?:{_BE}|ha[sd]|have|\w+ly) )*$", re.IGNORECASE)
_CODE = lazy_regex(r"\b([A-Za-z]{1,4})-?(\d{1,4}[a-z]?)\b")
_POSSESSIVE = lazy_regex(r"\w[’']s? ")
_NON = lazy_regex(r"\bnon-?[a-z]{3,}", re.IGNORECASE)
_ACRONYM = lazy_regex(r"\b[A-Z]{2,5}\b")
_PERIODICAL = lazy_regex(r"(?:hour|dai|week|month|quarter|year)ly", re.IGNORECASE)
_PERIOD_WORD = lazy_regex(
    r"(?:hour|day|dai|week|month|quarter|year)(?:s|ly)?|annual(?:ly)?|fortnight(?:s|ly)?", re.IGNORECASE
)
_YEAR = lazy_regex(r"(?<!\d)(?:1[89]|20)\d\d(?!\d)")


def lacks_reason(question: AnalyzedQuestion, text: str) -> bool:
    """Return whether a question asks why and a text gives no reason, in English words for one.

    "It agreed to buy" gives none, nor does "to buy" where the question is why it bought.
    """
    if not _ASKS_WHY.search(question.text):
        return False
    reasons = (found[0] for found in _REASON.finditer(_NO_PURPOSE.sub(" ", text)))
    verbs = (reason.removeprefix("to ") for reason in reasons)
    return all(question.weights.keys() & question.add_forms(extract_terms(verb)) for verb in verbs)


def find_missing_words(
    question: AnalyzedQuestion, quoted: str, context: str, embedder: Embedder | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the missing names and figures, and the other missing key words."""
    if not _NON.search(question.text):
        quoted = _NON.sub(" ", quoted)
    text = f"{quoted} {context}"
    held = question.add_forms(extract_terms(text))
    words = list({word.lower() for word, _ in extract_words(text) if word.isalpha()})
    missing, unlike = [], []
    unneeded = FRAME_TERMS | _find_class_terms(question) | (_COST_TERMS if _CURRENCY.search(quoted) else set())
    for word, parts in dict(question.words).items():
        if held.issuperset(parts):
            continue
        if word[0].isdigit():
            missing.append(word)
        elif question.names.intersection(parts):
            if not any(_is_form_of_name(part, term) for part in parts for term in held):
                missing.append(word)
        elif (_PERIODICAL.fullmatch(word) or not unneeded.issuperset(parts)) and not any(
            shares_root(part, term) or is_certain(part, term) for part in parts for term in held
        ):
            unlike.append(word)
    nearest = _find_similarities(unlike, words, embedder)
    unlike = [word for word in unlike if nearest[word] < _SIMILAR]
    others = _find_first_names_of_others(question.text, quoted)
    names = tuple(
        dict.fromkeys(
            [
                *missing,
                *others,
                *_missing_years(quoted, question.text),
                *_missing_codes(text, question.text),
                *_missing_acronyms(text, question.text),
            ]
        )
    )
    unlike += _find_words_of_other_names(question, quoted, held=frozenset(extract_terms(context)))
    unlike += _find_verbs_of_others(question, quoted)
    qualifiers = ((asks.search(question.text), holds) for asks, holds in _QUALIFIERS)
    unlike += [found[0] for found, holds in qualifiers if found and not holds.search(text)]
    return names, tuple(unlike)


def _find_first_names_of_others(question: str, quoted: str) -> list[str]:
    """Return *Clara* if the question asks about Clara Moor, and a text names only other people called Moor."""
    named = _NAME_PAIR.findall(quoted) + _FIRST_NAME_PAIR.findall(quoted)
    return [
        first
        for first, last in _NAME_PAIR.findall(question)
        if (first, last) not in named and any(other == last for _, other in named)
    ]


def _find_words_of_other_names(question: AnalyzedQuestion, quoted: str, *, held: frozenset[str]) -> list[str]:
    """Return the words that stand only at the end of a name that is not asked about: *go* in "the Surface Go"."""
    asked = question.weights.keys()
    named = set[str]()

    def drop_end(found: re.Match[str]) -> str:
        if not asked.isdisjoint(extract_terms(found[1])):
            return found[0]
        named.update(extract_terms(found[2]))
        return found[1]

    named -= held.union(extract_terms(_NAME_PAIR.sub(drop_end, quoted)))
    return [
        word for word, parts in dict(question.words).items() if word.islower() and parts and named.issuperset(parts)
    ]


def _find_verbs_of_others(question: AnalyzedQuestion, quoted: str) -> list[str]:
    """Return the verb of the question if a text says it of others only: "Who founded Orbel?", "When was Otto born?"."""
    verbs = []
    if passive := _PASSIVE.search(question.text):
        subject, verb = passive.groups()
        if _is_active_only(subject, verb, quoted) or _befalls_another(question, verb, quoted):
            verbs.append(verb)
    if (done := _WHO_DID.match(question.text)) and _is_done_to_others(question, done[1], done[2], quoted):
        verbs.append(done[1])
    return verbs


def _is_active_only(subject: str, verb: str, quoted: str) -> bool:
    """Return whether the verb is only active in a text, as in "Orbel sold 40 looms", never done to the subject."""
    before = re.findall(rf"(\w+) {re.escape(verb)}\b", quoted, re.IGNORECASE)
    return bool(before) and all(word.casefold() == subject.casefold() for word in before)


def _befalls_another(question: AnalyzedQuestion, verb: str, quoted: str) -> bool:
    """Return whether a text says something of other names only: "Edmund, born in 1908", if it is asked of Otto."""
    before = re.findall(rf"\b([A-Z][\w’'-]*),? (?:(?i:is|are|was|were) )?(?i:{re.escape(verb)})\b", quoted)
    named = [terms for name in before if (terms := extract_terms(name))]  # "She" has none
    return bool(named) and all(question.weights.keys().isdisjoint(terms) for terms in named)


def _is_done_to_others(question: AnalyzedQuestion, verb: str, rest: str, quoted: str) -> bool:
    """Return whether sentences use the verb of "Who founded Orbel?", but none of Orbel."""
    object_, _, _ = _PREPOSITION.sub("\n", rest).partition("\n")
    terms = [term for term in extract_terms(object_) if term not in FRAME_TERMS]
    objects = question.names.intersection(terms) or set(terms[-1:])
    found = [_relate(question, verb, objects, sentence) for sentence in split_sentences(quoted)] if objects else []
    return False in found and True not in found


def _relate(question: AnalyzedQuestion, verb: str, objects: Collection[str], sentence: str) -> bool | None:
    """Return whether the verb has one of the objects in a sentence; None if the sentence does not show it."""
    asked = next(iter(extract_terms(verb)), "")
    agent = re.compile(rf"{asked}\w?(?:er|or)")  # "founder", "winner"
    tokens = list(find_tokens(sentence))
    terms = [question.add_forms(extract_terms(token)) for _, token in tokens]
    verbs = [at for at, own in enumerate(terms) if asked in own or any(map(agent.fullmatch, own))]
    named = [at for at, own in enumerate(terms) if not own.isdisjoint(objects)]
    if not (asked and verbs):
        return None
    if named:
        return any(_is_object(sentence, tokens, verb_at, at) for verb_at in verbs for at in named if at != verb_at)
    following = (tokens[at + 1][1] for at in verbs if at + 1 < len(tokens))
    is_of_others = any(
        word[0].isupper() and question.weights.keys().isdisjoint(extract_terms(word)) for word in following
    )
    return False if is_of_others else None


def _is_object(sentence: str, tokens: Sequence[tuple[int, str]], verb_at: int, at: int) -> bool:
    """Return whether the token at an index may be what the verb is done to: "founded Orbel", "Orbel was founded"."""
    first, last = sorted((verb_at, at))
    between = sentence[tokens[first][0] + len(tokens[first][1]) : tokens[last][0]]
    words = [word.lower() for _, word in tokens]
    verb, before, after = words[verb_at], words[max(0, verb_at - 3) : verb_at], words[verb_at + 1 : verb_at + 5]
    is_apart = bool(_CLAUSE_BORDER.search(between))
    if re.search("(?:er|or)s?$", verb):  # "the founder of Orbel", "Orbel's founder"
        return not is_apart
    if not verb.endswith("ing") and ("by" in after or any(re.fullmatch(_BE, word) for word in before)):
        return (at < verb_at and (not is_apart or bool(_SUBJECT_RELATIVE.search(between)))) or verb_at == 0
    return not is_apart if at > verb_at else after[:1] in (["it"], ["them"], ["him"], ["her"])


def _find_class_terms(question: AnalyzedQuestion) -> set[str]:
    """Return the terms of "which award" or "how big", which need not be repeated if the question says more."""
    asked = (*CLASS_NOUN.findall(question.text), *_DEGREE.findall(question.text))
    classes = {term for word in asked for term in extract_terms(word)}
    others = [word for word, parts in question.words if not (FRAME_TERMS | classes).issuperset(parts)]
    return classes if len(others) > 1 else set()


def _find_similarities(words: Sequence[str], held: Sequence[str], embedder: Embedder | None) -> dict[str, float]:
    """Return for each word its similarity in meaning to the most similar of the words `held`."""
    if not words or not held or embedder is None:
        return dict.fromkeys(words, 0.0)
    similarities = embedder.embed_documents([word.lower() for word in words]) @ embedder.embed_documents(held).T
    for at, word in enumerate(words):
        if _PERIOD_WORD.fullmatch(word):  # as similar as days and months are, one is not the other
            similarities[at, [bool(_PERIOD_WORD.fullmatch(other)) for other in held]] = 0.0
    return dict(zip(words, map(float, similarities.max(axis=1)), strict=True))


def _missing_years(quoted: str, question: str) -> list[str]:
    """Return the years asked for, if the sentences name only other ones."""
    asked, said = set(_YEAR.findall(question)), set(_YEAR.findall(quoted))
    return sorted(asked - said) if said and not asked & said else []


def _missing_codes(text: str, question: str) -> list[str]:
    """Return the codes asked for, such as E3 or V60, that a text does not hold as one word: "edition 3" is no E3."""
    return [
        f"{letters}{digits}"
        for letters, digits in _CODE.findall(question)
        if not re.search(rf"\b{letters}[ -]?{digits}\b", text, re.IGNORECASE)
    ]


def _missing_acronyms(text: str, question: str) -> list[str]:
    """Return the acronyms asked for that are ordinary words otherwise, as WHO and US, and that a text does not hold."""
    if question.isupper():
        return []
    found = (word for word in _ACRONYM.findall(question) if not extract_terms(word))
    return [word for word in found if not re.search(r"\b" + r"\.?".join(word) + r"\b", text)]


def _is_form_of_name(name: str, term: str) -> bool:
    """Return whether a term is a name in another form, as *Swedish* of *Sweden*; *Aalta* is not *Aalto*."""
    return shares_root(name, term) and len(name) != len(term)


def has_form(question: AnalyzedQuestion, quoted: Quotation, embedder: Embedder) -> bool:
    """Return whether a quotation has the form that is asked for: a definition, a material, as many items.

    It must also speak of the kind of thing that is asked for.
    """
    asked, text = question.text, quoted.text
    is_kind_open = question.answer_type not in SINGLE_VALUE_TYPES
    if any(asks.search(asked) and not needed.search(text) for asks, needed in _FORMS):
        return False
    if any(asks.search(asked) and not _holds_new(value, question, text) for asks, value in _VALUES):
        return False
    term = find_term(asked)
    is_cell = bool(_POSSESSIVE.search(term)) and is_table_row(text)  # "What is Ada Moor's phone number?"
    if term and not (is_cell or defines(term, text)):
        return False
    if wanted := _ASKS_FOR_COUNTED.match(asked):
        items = max(quoted.items, len(_SEPARATOR.findall(text)) + 1)
        if items <= COUNT_WORDS.index(wanted[1].lower()):
            return False
    if (deed := _HOW_TO.search(asked)) and _names_deed_only(deed[1].lower(), text):
        return False
    if _leaves_unnamed(question, quoted, is_kind_open=is_kind_open):
        return False
    if _ASKS_PRICE.search(asked) and _prices_something_else(question, quoted):
        return False
    return not is_kind_open or _names_kind(question, quoted, embedder)


def _names_deed_only(verb: str, text: str) -> bool:
    """Return whether a text speaks of a deed and does not say how it is done: "Each booking is held until six"."""
    stem = re.escape(verb.removesuffix("e"))
    forms = re.findall(rf"\b(?:(an?|the|each|every|any|all|no|your|our|this) )?({stem}[a-z]*)", text, re.IGNORECASE)
    return bool(forms) and all(
        before and form.lower().endswith(("ing", "ings", "ion", "ions")) for before, form in forms
    )


def _leaves_unnamed(question: AnalyzedQuestion, quoted: Quotation, *, is_kind_open: bool) -> bool:
    """Return whether a quotation speaks of what it is asked to name, without naming it."""
    asked, text = question.text, quoted.text
    if (kind := _ASKS_WHICH.match(asked)) and (
        _counts_only(kind[1], quoted) or _refers_only(kind[1], question, quoted)
    ):
        return True
    if (_ASKS_COMPANY.search(asked) or _ASKS_NAME.search(asked)) and not _names_other(question, text):
        return True
    if is_kind_open and (kind := _WHAT_DID.search(asked)) and _leaves_unspecified(kind[1], text):
        return True
    kind = _WHICH_ONE.match(asked)
    return bool(kind and _NAMELESS.match(text) and kind[1] not in text)


def _holds_new(value: re.Pattern[str], question: AnalyzedQuestion, text: str) -> bool:
    """Return whether a text holds a value that the question does not: *midday* is no time of "the midday visit"."""
    return any(found[0].casefold() not in question.text.casefold() for found in value.finditer(text))


def _names_other(question: AnalyzedQuestion, text: str) -> bool:
    """Return whether a text has a name, other than of a place or at its start, without a word of the question.

    Words in a row are one name: the Moor Trust is no one but Moor.
    """
    names = _CALENDAR.sub(" ", _PLACE.sub(" ", text))
    found = (one[0] for one in _NAMES.finditer(names) if one.start() and names[one.start() - 2] not in ".!?")
    terms = (set(extract_terms(name)) for name in found)
    return any(named and question.weights.keys().isdisjoint(named) for named in terms)


def _leaves_unspecified(noun: str, text: str) -> bool:
    """Return whether a text mentions an operation, say, without telling which one it is."""
    mention = rf"\b(?:an?|the|his|her|its|their|our|your|my|some|any) {noun}\b"
    told = r"(?! (?:called|named|of|for|is|was|in|on|to)\b|[:(])"
    return bool(re.search(mention + told, text, re.IGNORECASE))


def _counts_only(kind: str, quoted: Quotation) -> bool:
    """Return whether a quotation says how many there are, "Four flats are empty", where it is asked which ones."""
    counted = rf"\b(?:\d+|one|{SEVERAL}|several|many|most|some) {kind}\b(?![^.|]*:)"
    return quoted.items < 2 and bool(re.search(counted, quoted.text, re.IGNORECASE))


def _refers_only(kind: str, question: AnalyzedQuestion, quoted: Quotation) -> bool:
    """Return whether a quotation speaks of "the countries in Annex 2" and lists none, where it is asked which ones."""
    is_referred = re.search(rf"\b(?:the|these|those|all|any|such) {kind}\b", quoted.text, re.IGNORECASE)
    is_list = quoted.items >= 2 or ":" in quoted.text or len(_SEPARATOR.findall(quoted.text)) > 2
    return bool(is_referred) and not (is_list or _names_other(question, quoted.text))


def _prices_something_else(question: AnalyzedQuestion, quoted: Quotation) -> bool:
    """Return whether a price is that of a thing which neither the question nor a heading names: "the emergency fee"."""
    known = question.weights.keys() | set(extract_terms(quoted.context))
    own = question.add_forms(extract_terms(quoted.text))
    things = {term for noun in _OWN_PRICE.findall(quoted.text) for term in extract_terms(noun)}
    return bool(things) and not things & known and own.isdisjoint(question.weights.keys() - FRAME_TERMS - _COST_TERMS)


def _names_kind(question: AnalyzedQuestion, quoted: Quotation, embedder: Embedder) -> bool:
    """Return whether a quotation speaks of the kind of thing that "which award" asks for, or may name one."""
    kinds = [noun for noun in CLASS_NOUN.findall(question.text) if not FRAME_TERMS.issuperset(extract_terms(noun))]
    others = {word.lower() for word, _ in question.words} - {noun.lower() for noun in kinds}
    is_strict = _ASKS_KIND.search(question.text) and not _names_other(question, quoted.text)
    text, least = (quoted.text, _NEAR_KIND) if is_strict else (f"{quoted.text} {quoted.context}", _REMOTE)
    held = {word.lower() for word, _ in extract_words(text) if word.isalpha()}
    nearest = _find_similarities(kinds, sorted(held - others), embedder)
    return all(similarity >= least for similarity in nearest.values())
