"""Measures: the kind of quantity that a question asks for, and where a text states one.

"How long …?" needs a duration or a length, not just any figure. Chinese measures are in `chinese.py`.
"""

from __future__ import annotations

import re

from crag.text.patterns import MONTHS, SEVERAL, lazy_regex

_TIME_UNIT = (
    r"(?:seconds?|minutes?|hours?|days?|nights?|weeks?|weekends?|fortnights?|months?|quarters?|semesters?|seasons?"
    r"|years?|decades?|centur(?:y|ies)|generations?|millenni(?:um|a))"
)
_LENGTH_UNIT = (
    r"(?:[mck]?m|(?:kilo|centi|milli)?met(?:er|re)s?|light[- ]years?|mi(?:les?)?|yards?|f(?:ee|oo)t|ft|inch(?:es)?"
    r"|stor(?:ey|y|eys|ies)|blocks?|degrees?)"
)
_COUNT = (
    rf"(?:(?<![\d.,])\d[\d.,]*|\b(?:one|{SEVERAL}|fifteen|twenty|thirty|forty|fifty"
    r"|sixty|ninety|hundred|thousand|million|billion|half|several|many|few|couple of))"
    r"(?: (?:thousand|million|billion))?(?: and a half)?"
)
_AMOUNT = r"\d++(?:[.,]\d++)*+"


def _below(unit: str) -> str:
    """Return a pattern for figures of a column with this unit, as in "Weight (kg): 13.9"."""
    return rf"\b{unit}\)?: ?{_AMOUNT}"


_DATE = rf"(?:[12]\d{{3}}|{'|'.join(MONTHS)}|(?:mon|tues|wednes|thurs|fri|satur|sun)day)"
_SPAN = (  # "from 2011 to 2013", "2011–13", "until 5 May", "since 1990"
    rf"\b(?:from|between) (?:[\w.,]+ ){{1,4}}(?:to|until|till|and|through) (?:[\w.,]+ ){{0,3}}{_DATE}\b"
    r"|\b[12]\d{3}\s?[-–—]\s?(?:[12]\d{3}|\d\d\b|present)"
    rf"|\b(?:since|until|till) (?:the )?(?:[\w.,]+ ){{0,3}}(?:{_DATE}|end|age|death)\b"
)
_TIME = (
    rf"{_COUNT}[ -](?:(?:calendar|working|business|full|consecutive|additional|more|whole|or more) )?{_TIME_UNIT}\b"
    r"|\b(?:for|takes?|took|lasts?|lasted|about|around|approximately|within|of|over|than|nearly|almost|half|is|was) an?"
    rf" {_TIME_UNIT}\b|{_below(_TIME_UNIT)}"
)
_DURATION = (
    rf"(?:{_TIME})(?! (?:ago|prior|earlier|previously)\b)|{_SPAN}"
    r"|\b(?:for (?:life|good)|forever|indefinite(?:ly)?|permanent(?:ly)?|unlimited|lifelong|overnight)\b"
)
_RELATIVE_TIME = lazy_regex(  # "after 10 to 14 days", "30 days before the start", "at the end of the month"
    rf"\b(?:after|within|in|every|at least|(?:no|not) (?:later|earlier) than) (?:the (?:first|next|last) )?{_COUNT}"
    rf"(?:(?: to | or | ?[-–] ?){_COUNT})?[ -](?:(?:calendar|working|business|full) )?{_TIME_UNIT}\b"
    rf"|{_COUNT} (?:(?:calendar|working|business|full) )?{_TIME_UNIT} (?:before|after|later|prior|in advance|from)\b"
    rf"|\b(?:at|by|before|from|until) the (?:end|beginning|start|middle) of\b"
    rf"|\bthe (?:first|second|third|fourth|last) \w+ (?:of|in) (?:each|every|the|a)\b",
    re.IGNORECASE,
)
_LENGTH = (
    rf"{_COUNT}[ -]?(?:(?:nautical|square|statute) )?{_LENGTH_UNIT}\b|{_below(_LENGTH_UNIT)}"
    r"|(?<!\d)\d{1,3}['′’] ?\d{1,2}\b"  # 5′11″
)
_AGE = rf"{_TIME}|\bage[ds]?\b\D{{0,20}}\d+|(?-i:[A-Z])\w+, \d{{1,2}},| at \d{{2}}(?=[,.]|$)"
_FREQUENCY = (
    r"\b(?:once|twice|\w+ times|every|each|(?:bi|semi)?-?(?:hour|dai|night|week|month|year|quarter|annual)ly|annual"
    r"|continuous(?:ly)?|always|never|rarely|seldom|sometimes|usually|regularly|frequently|occasionally)\b"
    rf"|\b(?:an?|per) {_TIME_UNIT}\b"
)
MONEY_UNIT = r"(?:euros?|pounds?|dollars?|cents?|EUR|GBP|USD)"
_MONEY = rf"[$€£¥₩]\s?{_AMOUNT}|(?<![\d.,]){_AMOUNT}(?: (?:thousand|million|billion))? {MONEY_UNIT}\b"
_PRICED = (
    r"(?:costs?|price[ds]?|paid|pay|charge[ds]?|fees?|fines?|salar(?:y|ies)|wages?|bonus|deposit|rent|worth|spen[dt]"
    r"|earn)"
)
_PRICE = (
    rf"{_MONEY}|\b(?:EUR|GBP|USD|CHF|CAD|AUD|Rs)\.?\)?:? ?{_AMOUNT}|{_below(MONEY_UNIT)}"
    r"|\bno (?:extra )?(?:charge|cost|fee)\b|\bnothing\b(?! off\b)"
    r"|\bfree\b(?! (?:on|of(?! charge)|from|up|the|an?|your|space|slots?|places?|seats?|choice|time|day|hand)\b)"
    rf"|(?<![\w.,]){_AMOUNT} ?(?:[€£]|(?:p|kr|CHF|yen|yuan|rupees?|francs?|crowns?)\b)"
    r"|(?<![\d.,:])\d+[.,]\d\d(?![\d.,:]| ?(?:times\b|[x×%]|[ckm]?m\b|k?g\b|l\b|hours?\b))"
    rf"|\b(?:prices?|costs?|fees?|amount|rates?|total)\b[^.;:|]{{0,12}}: ?{_AMOUNT}"
)
_PERCENT = rf"{_AMOUNT} ?(?:%|per ?cent\b)"
_WEIGHT_UNIT = r"(?:[kmµ]?g|lbs?|oz|t|(?:kilo|milli)?gram(?:me)?s?|pounds?|ounces?|tons?|tonnes?|stone)"
_WEIGHT = rf"{_COUNT}[ -]?{_WEIGHT_UNIT}\b|{_below(_WEIGHT_UNIT)}"
_VOLUME = (
    rf"{_COUNT}[ -]?(?:[mcd]?l|litres?|liters?|pints?|gallons?|cups?|tbsps?|tsps?|(?:table|tea)spoon(?:ful)?s?"
    r"|drops?|tablets?|pills?|pinch(?:es)?)\b"
)
_AREA = rf"{_COUNT}[ -]?(?:m²|m2|sq\.? ?(?:m|ft|km)|square \w+|acres?|hectares?|ha)(?!\w)"
_KOREAN_COUNT = r"(?<![\d.,])(?:\d{1,3}(?:[.,]\d+)*|[한두세네]|열|반|몇|수)\s?"
_KOREAN_DURATION = (
    rf"{_KOREAN_COUNT}(?:년|개월|달|주|일|시간|분|초)(?!에)|부터[^.]{{0,20}}까지|\d\s?[~–-]\s?\d|평생|무기한"
    r"|[반매][년일주월]"
)
_KOREAN_MONEY = (
    r"(?<![\d.,])\d[\d.,]*\s?[천백만억조]*\s?(?:원|달러|유로|엔|위안|%|퍼센트|배)|[$€£₩]\s?\d[\d.,]*|무료"
    r"|[일이삼사오육칠팔구십백천만억조]+\s?원"
)
_CHINESE_MONEY = (
    r"[\d一二三四五六七八九十百千万萬億亿兩两半,.]+\s?[元圆圓塊块鎊镑]|[$€£¥]\s?\d[\d,.]*|NT\$?\s?\d[\d,.]*|美金|法郎|[盧卢]布"
    r"|免[費费]|半[價价]"
)
_MEASURES = tuple(  # what a question asks, and the quantities that answer it
    (lazy_regex(asks, re.IGNORECASE), lazy_regex(holds, re.IGNORECASE))
    for asks, holds in (
        (r"\bhow (?:long|many \w+) (?:ago|before|earlier|prior)\b", rf"{_TIME}|{_SPAN}"),
        (r"\bhow long (?:is|are|was|were)\b", rf"{_DURATION}|{_LENGTH}"),
        (rf"\bhow long\b|\bhow (?:many (?:\w+ )?{_TIME_UNIT}(?<=s)|much (?:longer|(?:more )?time))\b", _DURATION),
        (r"\bhow old\b", _AGE),
        (r"\bhow (?:tall|deep|wide)\b", _LENGTH),
        (r"\bhow far\b", rf"{_LENGTH}|{_DURATION}"),
        (r"\bhow often\b", _FREQUENCY),
        (
            (
                r"\bhow much (?!more|less|longer)(?!.*\bhow\b).*\b(?:costs?|prices?)\W*$"
                r"|\bwhat\b[^?]{0,60}\bcosts?\W*$|\bprice of\b"
            ),
            _PRICE,
        ),
        (rf"(?<!by )\bhow much (?!more|less|longer)(?!.*\bhow\b).*\b{_PRICED}\b", rf"{_PRICE}|{_PERCENT}"),
        (
            r"\bhow much (?:is|are|was|were) (?:an?|the|my|your|our|this|one)\b",
            rf"{_PRICE}|{_PERCENT}|{_WEIGHT}|{_VOLUME}|{_AREA}|\b(?:half|(?:a|one|two) (?:third|quarter)s?|percent)\b",
        ),
        (r"\bhow heavy\b|\bhow much\b.*\bweigh", _WEIGHT),
        (r"\bhow loud\b", rf"{_COUNT} ?(?:dB|decibels?)\b"),
        (r"\bin (?:square (?:met(?:er|re)s?|feet)|m²|sqm)", _AREA),
        (
            (
                r"기간[은이]? .*(?:얼마|몇|며칠)|(?:휴직|휴가)[은는]? (?:얼마나 되|며칠)"
                r"|얼마(?:나 오래| ?동안|나 걸)|몇 ?(?:개월|달|주|시간|분)(?![에째])"
            ),
            _KOREAN_DURATION,
        ),
        (
            r"(?:높이|길이|거리|깊이|너비|폭|키)[은는이가]? (?:얼마|몇)",
            r"(?<![\d.,])\d[\d.,]*\s?[천만]?\s?(?:미터|킬로|센티|밀리|[ckm]?m|피트|마일|해리|[리척자층])",
        ),
        (
            (
                r"(?:비용?|요금|가격|금액|값|임대료|월세|보증금|연봉|월급|급여|수당|벌금|과태료)[은는이가]?"
                r"(?: [^?]{1,15})? 얼마|얼마에 (?:[살사팔]|구입|구매)"
            ),
            _KOREAN_MONEY,
        ),
        (r"多少[钱錢]", _CHINESE_MONEY),
    )
)
_CLOCK = (
    r"\b(?:[01]?\d|2[0-3]):[0-5]\d\b"
    r"|\b\d{1,2}(?:[:.]\d\d)? ?(?:[ap]\.?m\b|o[’']clock|(?:in the (?:morning|afternoon|evening)|at night)\b)"
)
_ADDRESS = (  # 3 Weir Lane
    r"\b\d{1,4}[a-z]? (?-i:[A-Z]\w+ ){1,3}(?-i:Lane|Street|St|Road|Rd|Avenue|Ave|Drive|Close|Way|Square|Hill|Court|Row"
    r"|Terrace|Place|Gardens)\b"
)
_PERIOD = rf"(?:{_COUNT}(?: to | or | ?[-–] ?))?(?:{_TIME})"
_OTHERS = tuple(  # what a question asks, and the quantities that do not answer it
    (lazy_regex(asks, re.IGNORECASE), lazy_regex(holds, re.IGNORECASE))
    for asks, holds in (
        (
            rf"\bhow many (?!(?:\w+ )?(?:{_LENGTH_UNIT}|{MONEY_UNIT})\b)",
            (
                rf"{_CLOCK}|{_PERIOD}|{_MONEY}|{_ADDRESS}|{_COUNT} {_LENGTH_UNIT}\b"
                r"|(?<![\d.,])\d[\d.,]*(?!(?:k|m|bn)\b)[a-z]+\b"
            ),
        ),
        (
            r"\bhow much (?:is|are|was|were|do|does|did|will|would|must|can|should|money|has|have)\b",
            rf"{_CLOCK}|{_PERIOD}|{_COUNT} {_LENGTH_UNIT}\b",
        ),
        (r"\bhow much (?!more|less|longer|time)", rf"{_CLOCK}|\b(?:before|after|until) \d{{1,2}}\b"),
        (
            r"\bhow (?:big|large)\b(?!.*\b(?:budget|loan|funds?|debt|deficit|deal|grant|bonus|income)\b)",
            rf"{_CLOCK}|{_PERIOD}|{_MONEY}|\bhalf (?!of|an?|the)",
        ),
    )
)
_CHANGE_LENGTH = 100  # characters
_CHANGED_BY = lazy_regex(
    r"\b(?:shorten|reduc|extend|prolong|lengthen|increas|decreas|rais|lower|cut)\w*\b[^.;]{0,40}\bby (?:\w+ ){0,2}$",
    re.IGNORECASE,
)
_ASKS_LENGTH = lazy_regex(r"\bhow long (?:does|do|did|will)\b.*\b(?:take|last)\b", re.IGNORECASE)
_DEADLINE = lazy_regex(rf"{_CHANGED_BY.pattern}|\b(?:within|every|after|before) (?:\w+ ){{0,2}}$", re.IGNORECASE)
_COUNTED = lazy_regex(r"\bhow many (?:\w+ ){0,2}?([a-z]{3,}s)\b(?! [a-z]{3,}s\b)", re.IGNORECASE)


def find_quantities(question: str, text: str) -> list[re.Match[str]] | None:
    """Return the quantities of the kind asked for in a text; None if the question may mean any figure.

    "Shortens it by 30 minutes" does not say how long it takes, nor does "within 21 days".
    """
    holds = next((holds for asks, holds in _MEASURES if asks.search(question)), None)
    if holds is None:
        return None
    other = _DEADLINE if _ASKS_LENGTH.search(question) else _CHANGED_BY
    return [
        found
        for found in holds.finditer(text)
        if not other.search(text, max(0, found.start() - _CHANGE_LENGTH), found.start())
    ]


def drop_other_quantities(question: str, text: str) -> str:
    """Return a text without the quantities that cannot answer: no days where "how many boats" is asked.

    If the text names boats, it loses what it counts of others, too: "12 helpers".
    """
    holds = next((holds for asks, holds in _OTHERS if asks.search(question)), None)
    text = text if holds is None else holds.sub(" ", text)
    counted = _COUNTED.search(question)
    noun = rf"\b{counted[1].removesuffix('s')}" if counted else ""
    if not (noun and re.search(noun, text, re.IGNORECASE)):
        return text
    is_other = rf"(?!(?:[\w-]+ ){{0,4}}{noun})(?!(?:was|has|its|his|this|plus|across|always|less|does)\b)[a-z]{{2,}}s\b"
    return re.sub(rf"(?i:{_COUNT}) {is_other}", " ", text)


def find_relative_times(text: str) -> list[str]:
    """Return the times that a text states by another, as in "after 10 to 14 days", in lower case."""
    return [found[0].lower() for found in _RELATIVE_TIME.finditer(text)]
