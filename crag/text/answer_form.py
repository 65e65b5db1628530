"""Form of an answer: whether a quotation has the shape that its question asks for, whatever words it holds.

A bare phrase asks for a definition or a labelled value, "How do I …" for instructions, "the five …" for five items,
"the difference between …" for both sides.
"""

from __future__ import annotations

import re

from crag.protocols import Quotation
from crag.text.language import extract_terms, split_sentences
from crag.text.patterns import lazy_regex
from crag.text.question_forms import detect_question_form, states_phrase
from crag.text.questions import announces_more, detect_answer_type
from crag.text.spelling import shares_root

_COUNTS = ("", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_COUNT = lazy_regex(rf"\b({'|'.join(_COUNTS[2:])})\s+(?:[\w-]+\s+){{0,3}}?\w+s\b", re.IGNORECASE)
_ASKS_FOR_COUNTED = lazy_regex(
    rf"\s*(?:(?:what|which) (?:are|were) |name |list )the (?:{'|'.join(_COUNTS[2:])})\b", re.IGNORECASE
)
_SEPARATOR = lazy_regex(r"[;,•]|\b(?:and|or)\b")
_CUT_LIST = lazy_regex(  # ends with the number of the next item, not with a figure as in "under 18."
    r"(?:^|[.:;!?…]\s|\n|[\u3131-\u9fff\uac00-\ud7af]\s?)\s*\d{1,2}[.)]\s*$"
)
_PARTIAL_LIST = lazy_regex(
    r"\b(?:among other (?:things|\w+s)|such as|for example|e\.g\.|including)(?!\w)", re.IGNORECASE
)
# An item without a verb or value says nothing without what leads to it, such as "Not covered:".
_STATEMENT = lazy_regex(
    r"\d|[:|—]|n['’]t\b|[^\x00-\u024f\u2000-\u206f]"
    r"|\b(?:is|are|was|were|be|has|have|had|do|does|did|can|could|may|might|must|shall|should|will|would|cannot)\b",
    re.IGNORECASE,
)
_ASKS_HOW = lazy_regex(
    r"\b(?:steps|procedure|instructions)\b|\bhow (?:do|can|should|must) (?:I|we|you|one|people)\b|\bhow to\b"
    r"|\bhow\W*$",
    re.IGNORECASE,
)
_INSTRUCTION = lazy_regex(  # with the verb that says what to do
    r"\b(?:must|should|shall|needs? to|ha(?:s|ve) to|please|you (?:can|may|will|first))\s+"
    r"(?:(?:be|first|then|also|always|either)\s+)*([a-z]+)"
    r"|\bby (\w+ing) (?=(?:the|an?|your|it|them|this|to|in|on|with|at|for|from|out|off|up|down|via)\b|(?-i:[A-Z])|\d)"
    r"|(?:^|[.:;]\s)to [^,.;]{1,60}, ([a-z]+)\b"
    r"|(?:^|[.:;,—]\s|\bthen |\band )(?!\w+ing\b|(?:in|on|at|for|of|to|by|from|with|under|is|are|was|were|during"
    r"|after|before|when|if|and|or|as|that|which|all|both|per|into|over|until|since|like|once|twice|only|not|every|just|even)\b)"
    r"([A-Za-z]+) (?:the|an?|your|it|them)\b",
    re.IGNORECASE | re.MULTILINE,
)
_ASKS_HOW_KOREAN = lazy_regex(
    r"어떻게 ?(?:하[나면죠여]|해|합|신청|쓰|써|바꾸|켜|끄)|(?:방법|절차)[은이]?\s?(?:\W|무엇|뭐|알려|$)"
)
_INSTRUCTS_KOREAN = lazy_regex(
    r"으로|로 |에서 |에게 |통해|통하여|이용[해하]|사용[해하]|거쳐|눌러|[은한 ][후뒤]|다음|먼저"
    r"|주세요|[시십]시오|(?:야|여야) (?:한다|합니다|해요)"
)
_ASKS_HOW_CHINESE = lazy_regex(r"怎[樣样麼么]|如何")
_INSTRUCTS_CHINESE = lazy_regex(r"[請请將将把先再按可應应需須须要]")
_PURPOSE = lazy_regex(  # "To cancel, write …": instructions for one thing, not for another
    r"(?:^|[.!?;:]\s)(?:in order )?to ([a-z]+)\b[^.;]*?,"
    r"|(?:如[需要果]|若[需要]?|[想要]要?)([\u4e00-\u9fff]{2})[^，。]*，"
    r"|([가-힣]{2})[가-힣]*려면",
    re.IGNORECASE,
)
_PERMISSIONS = (  # what asks whether something is allowed: what tells so
    (
        lazy_regex(r"^\W*(?:(?:and|so|but) )?(?:can|may|must|am i allowed|are \w+ allowed)\b", re.IGNORECASE),
        lazy_regex(
            r"\b(?:can|may|must|should|shall|might|need|have to|has to|only|not|no|never|without|free|unless|except"
            r"|(?:dis)?allow\w*|permit\w*|permission|forbid\w*|forbidden|prohibit\w*|bann?ed|require\w*|possible|entitled)\b"
            r"|\b\w*n[’']t\b",
            re.IGNORECASE,
        ),
    ),
    (
        lazy_regex(
            r"^(?!.*(?:며칠|몇|얼마|언제|어디|누[구가]|무엇|뭐|어떻게|어떤|어느))"  # asks for a value and not whether
            r".*(?:(?:도|면|수) ?(?:되나요|돼요|될까요|됩니까|되죠|있나요|있어요|있습니까|안 ?되나요)\W*$"
            r"|가능한가요|가능해요)"
        ),
        lazy_regex("수 (?:있|없)|된다|됩니다|돼요|되며|안 |가능|금지|불가|허용|허가|않|못|없|아니"),
    ),
    (lazy_regex("(?:可以|能|可).*[吗嗎]|[能可][否不]"), lazy_regex("可|能|不|禁|允[许許]|[请請]勿|[须須]|[应應]")),
)
_ASKS_WHY = lazy_regex(r"\bwhy\b", re.IGNORECASE)
_REASON = lazy_regex(
    r"\b(?:because|since|due|owing|as (?:it|he|she|they|we|you|there|this|these|the|an?|no|its|their)|so"
    r"|therefore|thus|hence|reasons?|for (?:fear|lack|want|the (?:sake|purpose|reason))"
    r"|caus\w+|result\w*|led|leads?|thanks to|prevent\w*"
    r"|enabl\w+|allow\w*|mak(?:e|es|ing)|in order|to [a-z]+(?<!to the)|response|by \w+ing|means|given)\b",
    re.IGNORECASE,
)
_ASKS_CAUSE = lazy_regex(r"\bwhat (?:\w+ )?(?:causes?|caused)\b|\bcauses? of\b", re.IGNORECASE)
_CAUSE = lazy_regex(  # not "died of other causes"
    r"\b(?:caused?|because|due to|owing to|led to|leads to|brought about|triggered|blamed on)\b"
    r"|\bresult(?:s|ed)? (?:of|from)\b"
    r"|(?<!other )\bcauses (?:an?|the|it|its|their|this|these|many|most|more|less)\b|\bstarted (?:by|when|with)\b",
    re.IGNORECASE,
)
_ASKS_FREQUENCY = lazy_regex(
    r"\bhow (?:often|frequently|regularly|many times (?:an?|per))\b|얼마나 자주|몇 ?(?:일|주|달|개월|년)마다"
    r"|多久[^，。？]{0,4}[一1]次|多久.{1,2}[？?]?$|[幾几]次",
    re.IGNORECASE,
)
_FREQUENCY = lazy_regex(
    r"\b(?:every|each|per|once|twice|times|daily|nightly|weekly|fortnightly|monthly|quarterly|yearly|annual(?:ly)?|hourly"
    r"|regularly|rarely|seldom|never|always|intervals?|(?:second|minute|hour|day|week|month|year)s? apart"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun|week)days)\b"
    r"|마다|매[일주월년달시]|에 ?(?:한|두|세|네|다섯|\d+) ?[번차회]|[번회] |수시|정기|간격|주기|격[일주월년]"
    r"|每|[一二兩两三四五六七八九十\d]次|定期|隔",
    re.IGNORECASE,
)
_ASKS_DEGREE = lazy_regex(
    r"\bhow (?:fast|tall|high|deep|heavy|wide|hot|cold|far|big|large|long|old|thick|loud)\b(?! ago)", re.IGNORECASE
)
_FIGURE = lazy_regex(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|twelve|hundred|thousand|half|twice)\b", re.IGNORECASE
)
_ASKS_MEANING = lazy_regex(r"\bwhat (?:is|was|are|were) the meaning of\b", re.IGNORECASE)
_MEANING = lazy_regex(
    r"\b(?:mean\w*|signif\w+|symboli[sz]\w+|stands? for|denot\w+|defin\w+|refers?|deriv\w+|translat\w+|represent\w*"
    r"|commemorat\w+)\b|[\"“‘]",
    re.IGNORECASE,
)
_ASKS_MATERIAL = lazy_regex(
    r"\bwhat (?:is|are|was|were) .*\bmade (?:of|from|out of|up of)\b|\bmade of what\b", re.IGNORECASE
)
_MATERIAL = lazy_regex(
    r"\b(?:made|consist\w*|compos\w+|contain\w*|compris\w+|form\w*|built|constructed|construction|alloy|mix\w*)\b",
    re.IGNORECASE,
)
_NEEDED = (  # what a question asks, and what its answer must hold
    (_ASKS_DEGREE, _FIGURE),
    (_ASKS_HOW_CHINESE, _INSTRUCTS_CHINESE),
    (_ASKS_HOW_KOREAN, _INSTRUCTS_KOREAN),
    (_ASKS_WHY, _REASON),
    (_ASKS_CAUSE, _CAUSE),
    (_ASKS_MEANING, _MEANING),
    (_ASKS_MATERIAL, _MATERIAL),
    (_ASKS_FREQUENCY, _FREQUENCY),
    *_PERMISSIONS,
)
_BOTH_SIDES = lazy_regex(
    r"\bdifferences? between (?:(?:the|an?) )?([\w-]+)\b.*? and (?:(?:the|an?) )?([\w-]+)", re.IGNORECASE
)
_OTHER_LANGUAGE = lazy_regex(  # German, French, Spanish: no rules tell what such a question asks for
    r"\W*(?:was (?:ist|sind|war|waren|bedeutet|kostet|macht|sagt)|wer|wie|wo|wann|warum|wieviel|welche[rsmn]?"
    r"|où|comment|pourquoi|quand|combien|quel(?:le)?s?|qu’est|qu'est"
    r"|¿.*|qué|quién|cómo|dónde|cuándo|cuánt[oa]s?)\b",
    re.IGNORECASE,
)


def has_form(question: str, quoted: Quotation) -> bool:
    """Return whether a quotation is an answer in form. Always False for questions in languages without rules."""
    if _OTHER_LANGUAGE.match(question) or announces_more(quoted.text) or _CUT_LIST.search(quoted.text):
        return False
    if quoted.items == 1 and not _STATEMENT.search(quoted.text):
        return False
    form = detect_question_form(question)
    if form == "statement" or (
        form == "phrase" and not any(states_phrase(question, each) for each in split_sentences(quoted.text))
    ):
        return False
    if any(asks.search(question) and not needed.search(quoted.text) for asks, needed in _NEEDED):
        return False
    if _asks_how(question) and not _serves_purpose(question, quoted.text):
        return False
    if sides := _BOTH_SIDES.search(question):
        return set(extract_terms(f"{sides[1]} {sides[2]}")) <= set(extract_terms(quoted.text))
    if _ASKS_HOW.search(question) and quoted.items < 2 and (quoted.items or not _instructs(question, quoted.text)):
        return False
    return _has_all_items(question, quoted)


def _asks_how(question: str) -> bool:
    return any(asks.search(question) for asks in (_ASKS_HOW, _ASKS_HOW_CHINESE, _ASKS_HOW_KOREAN))


def _serves_purpose(question: str, text: str) -> bool:
    """Return whether instructions that name what they are for name something in the question."""
    purposes = [next(filter(None, found.groups())) for found in _PURPOSE.finditer(text)]
    asked = extract_terms(question)
    terms = (term for purpose in purposes for term in extract_terms(purpose))
    return (
        not purposes
        or any(purpose in question for purpose in purposes)
        or any(term == other or shares_root(term, other) for term in terms for other in asked)
    )


def _instructs(question: str, text: str) -> bool:
    """Return whether a text tells to do something that the question does not already name."""
    verbs = (next(filter(None, found.groups())) for found in _INSTRUCTION.finditer(text))
    return any(not set(extract_terms(verb)) <= set(extract_terms(question)) for verb in verbs)


def _has_all_items(question: str, quoted: Quotation) -> bool:
    """Return whether a list holds as many items as the question asks for, or else does not break off."""
    wanted = _COUNT.search(question)
    if quoted.items >= 2:
        return quoted.items >= _COUNTS.index(wanted[1].lower()) if wanted else not quoted.is_cut
    asks_for_counted = wanted is not None and bool(_ASKS_FOR_COUNTED.match(question))
    if (asks_for_counted or detect_answer_type(question) == "list") and _PARTIAL_LIST.search(quoted.text):
        return False
    if wanted is None or not asks_for_counted:
        return True
    return len(_SEPARATOR.findall(quoted.text)) + 1 >= _COUNTS.index(wanted[1].lower())
