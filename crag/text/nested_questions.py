"""Questions about something that they describe instead of naming it: "When does the pool opened by Hall close?".

They are answered in two steps: what is described, and what is asked about it. In the second, `[1]` stands for the
answer to the first.
"""

from __future__ import annotations

import re
from functools import lru_cache

from crag.text import korean
from crag.text.language import detect_language, detect_written_language, extract_terms
from crag.text.patterns import lazy_regex
from crag.text.word_forms import is_past_form

_REFERENCE = lazy_regex(r"\[(\d)\]")
_ROLE = (
    r"(?:founder|director|manager|head|author|owner|architect|teacher|instructor|leader|captain|chair\w*|president"
    r"|mayor|editor|designer|inventor|builder|maker|supplier|landlord|landlady|tenant|deputy|boss|coach|curator|head"
    r"teacher|painter|composer|secretary|treasurer|caretaker|organi[sz]er|winner|translator|publisher)"
)
_PERSON = lazy_regex(rf"(?:person|man|woman|one|people|someone|somebody|anyone|employee|member|{_ROLE})s?$")
_DEED = lazy_regex(r"founder|author|architect|designer|inventor|builder|maker|painter|composer|winner|translator")
_ANYBODY = lazy_regex(r"(?:person|man|woman|one|people|someone|somebody|anyone)$")
_NO_NOUN = r"(?!(?:of|in|on|at|and|or|to|for|from|with|by|that|is|are|was|were|do|does|did|has|have|most|\w+ly)\b)"
_NOUN = rf"(?P<noun>(?:{_NO_NOUN}[\w’'-]+ ){{0,2}}?{_NO_NOUN}[a-z][\w’'-]*?)"
_PLURAL = lazy_regex("(?<![su])s$")
_ASKS = lazy_regex(r"\b(?:who|whom|whose|what|when|where|why|how|which)\b", re.IGNORECASE)
_BEGINS_ASKING = lazy_regex(
    r"\W*(?:(?:in|at|on|from|to|for|since|until|by|with|under|after) )?(?=wh|how)", re.IGNORECASE
)
_ASKS_ITSELF = lazy_regex(r"\b(?:what|who|which) (?:is|are|was|were) $", re.IGNORECASE)
_DESCRIPTIONS = (
    lazy_regex(
        rf"\b(?:the|an?) {_NOUN},? (?P<link>that|who|which|where|(?:in|at|on|for|from|with) (?:which|whom)) "
        r"(?P<said>.+)"
    ),
    lazy_regex(
        rf"\b(?:the|an?) (?!\w+ (?:is|are|was|were)\b){_NOUN} (?P<said>(?P<done>[a-z]+) (?:by|in|at|on|for|from) .+)"
    ),
    lazy_regex(rf"\bthe (?P<noun>{_ROLE}) of (?P<said>.+)"),
    lazy_regex(
        r"\b(?P<owner>(?:(?:the|our|my|your) (?:[\w-]+ ){0,2}?[\w-]+|[A-Z][\w-]*(?: [A-Z][\w-]*)*)['’]s)"
        rf" (?P<noun>{_ROLE})\b(?P<said>)"
    ),
)
_FRONTED = lazy_regex(r"\b(do|does|did|is|are|was|were|has|have|had|can|could|will|would|must|should|may) $")
_OWN_SUBJECT = lazy_regex(r"(?:the|an?|my|our|your|we|they|he|she|it|I|you|this|each|[A-Z]\w*)\b")
_BASE_VERB = lazy_regex(
    r"close|open|start|begin|end|finish|cost|weigh|last|live|work|study|stay|stand|meet|take|hold|have|earn|pay|belong"
    r"|come|go|lie|need|use|sell|make|offer|charge|serve|teach|play|run|die|retire|join|move|arrive|leave|happen"
    r"|collect|include|employ|own|measure|reach|apply|expire|travel|train|graduate|speak|mean|contain"
)
_NOTHING_ASKED = frozenset(extract_terms("name names called mean"))
_KOREAN_ENDED = lazy_regex("(?P<noun>[가-힣A-Za-z\\d·-]+?)(?P<particle>은|는|이|가|을|를|의|에서|에게|에)")
_KOREAN_MODIFIER = lazy_regex(  # ends in a verb that modifies a noun: 개장한, 운영하는, 맡은
    "^(?!(?:한|[가-힣]*(?:기본|일본|대한|관한|위한|의한|인한))$).*(?:(?:하|되|있|없|치|르|끄|드|쓰|맡|키|모이|(?:걸|열|팔|불|올|달)리)는|[한된난낸킨친린든쓴운본온준진긴뜬뀐던할될]"
    "|(?:맡|받|지|읽|찍|심|찾|얻|닦|놓|뽑|묻|엮)은)$"
)
_KOREAN_ROLE = (
    "(?:책임자|담당자|(?:관|소|원|회|사|교|반|팀|부|과|점|국|센터)장|대표|감독|저자|작가|설립자|창립자|건축가|강사|교사|주인|소유자"
    "|지배인|코치)"
)
_KOREAN_PERSON = lazy_regex(
    rf"(?:사람|분|직원|회원|선생님?|의사|기사|화가|학생|[가-힣]자(?<!의자|상자)|{_KOREAN_ROLE})$"
)
_KOREAN_OFFICE = lazy_regex(rf"{_KOREAN_ROLE}$")
_KOREAN_ANYTHING = frozenset(["것", "곳", "때", "점", "수", "이유", "경우", "이후", "이전", "중", "해", "등"])
_KOREAN_ASKS = lazy_regex(r"(?<![가-힣])(?:무엇|무슨|누구|누가|언제|어디|어느|어떤|얼마|몇|왜|뭐)")
_KOREAN_NOTHING_ASKED = frozenset(["이름", "명칭"])
_CHINESE_ROLE = "(?:[组組馆館校院部班社店站会會][長长]|主任|[经經]理|[负負][责責]人|作者|[创創]始人|[设設][计計][师師])"
_CHINESE_PERSON = lazy_regex(rf"(?:人|[师師员員家者士生]|{_CHINESE_ROLE})$")
_CHINESE_NOUN = (
    "(?P<noun>[^的，。？?什哪谁誰几幾多何怎是在由]{0,5}"
    "(?:[人师師员員家者士生池馆館楼樓厅廳室店园園院校社司厂廠站城市县縣镇鎮村桥橋路街课課班书書画畫歌剧劇"
    "表件备備机機器具车車船品药藥材奖獎队隊组組门門]|公司|(?:基金|[协協学學]|委[员員])[会會]))"
    "(?!以及|[和与與国國们們口分地])(?=[的是在由有被何什哪几幾多每]|星期|[周週]|[\u4e00-\u9fff]{1,2}[于於了過过哪什多几幾])"
)
_CHINESE_NOTHING_ASKED = lazy_regex(
    "[的是在由有于於被与與吗嗎呢]|什[么麼]|[谁誰]|哪(?:一?[个個里裡年天家位所])?|多少|[几幾][个個点點]?|名字|名[称稱]"
)
_CHINESE_DESCRIPTION = lazy_regex(
    rf"(?P<said>[^，。？?的哪什谁誰何]{{2,}}?)(?P<link>所在的|的){_CHINESE_NOUN}(?P<rest>.+)"
)
_CHINESE_OFFICE = lazy_regex(rf"(?P<said>[^，。？?的]{{1,10}}?)(?P<link>)(?P<noun>{_CHINESE_ROLE})(?P<rest>.+)")


@lru_cache(maxsize=1000)
def split_description(question: str) -> tuple[str, ...]:
    """Return both steps of a question about something that it describes; nothing if it describes nothing."""
    asked = question.strip(" ?？。.")
    language = detect_language(question)
    if language == "ko":
        return _split_korean(asked)
    return _split_chinese(asked) if language == "zh" else _split_english(asked)


def joins_steps(question: str, sentence: str) -> bool:
    """Return whether a sentence has words of both steps of a question, or the question has no steps."""
    steps = [set(extract_terms(step)) for step in split_description(question)]
    held = set(extract_terms(sentence)) - set[str]().union(*steps[:1]).intersection(*steps[1:])
    return all(step & held for step in steps)


def depends_on(part: str) -> int:
    """Return the number of the part whose answer a part needs; 0 if it needs none."""
    found = _REFERENCE.search(part)
    return int(found[1]) if found else 0


def name_answer(part: str, answer: str) -> str:
    """Return a part with an answer where it refers to one, in Korean with the particle that fits."""

    def fit_particle(found: re.Match[str]) -> str:
        pair = next((pair for pair in ("은는", "이가", "을를", "과와") if found[1] in pair), "")
        return answer + (pair[not korean.ends_in_consonant(answer)] if pair else found[1])

    return _REFERENCE.sub(lambda _: answer, re.sub(r"\[\d\](은|는|이|가|을|를|과|와)(?![가-힣])", fit_particle, part))


def _split_english(asked: str) -> tuple[str, ...]:
    for pattern in _DESCRIPTIONS if _BEGINS_ASKING.match(asked) else ():
        for found in pattern.finditer(asked):
            given = found.groupdict()
            is_other = "done" in given and not is_past_form(found["done"])
            is_other |= " " in (given.get("link") or "") and not _OWN_SUBJECT.match(found["said"])
            if is_other or _ASKS_ITSELF.search(asked, 0, found.start()) or _ASKS.search(found["said"]):
                continue
            end = found.end()
            if (fronted := _FRONTED.search(asked, 0, found.start())) and "owner" not in given:
                end = found.start("said") + _find_predicate(found["said"], fronted[1])
            before, said, after = asked[: found.start()], asked[found.start("said") : end].strip(), asked[end:].strip()
            first = _ask_described(found, said)
            rest = f"{before}[1] {after}".strip()
            is_split = extract_terms(said or given.get("owner") or "") and _asks_something(f"{before} {after}")
            if is_split and extract_terms(said) != extract_terms(rest):
                return first, f"{rest}?"
    return ()


def _asks_something(text: str) -> bool:
    return bool(set(extract_terms(text)) - _NOTHING_ASKED)


def _ask_described(found: re.Match[str], said: str) -> str:
    """Return the question for what an English description means."""
    given, noun = found.groupdict(), found["noun"]
    asks = "Who" if _PERSON.search(noun) else "What"
    if owner := given.get("owner"):
        return f"{asks} is {owner} {noun}?"
    if "done" in given:
        return f"Which {noun} {'were' if _PLURAL.search(noun) else 'was'} {said}?"
    if not (link := given.get("link")):
        return f"{asks} {'was' if _DEED.fullmatch(noun) else 'is'} the {noun} of {said}?"
    own_subject = _OWN_SUBJECT.match(said) or (_PLURAL.search(noun) and said.split()[0].endswith("s"))
    if link not in ("that", "who", "which") or own_subject:
        return f"{asks} {'are' if _PLURAL.search(noun) else 'is'} the {noun} {link} {said}?"
    if _ANYBODY.fullmatch(noun) or noun in ("thing", "something"):
        return f"{asks} {said}?"
    return f"Which {noun} {said}?"


def _find_predicate(said: str, fronted: str) -> int:
    """Return where the predicate after a fronted verb begins: at "close" in "opened by Hall close on Sundays".

    The end if there is none: "Where is the company that built the jetty?".
    """
    words = list(re.finditer(r"\S+", said))
    is_verb = is_past_form if fronted in ("is", "are", "was", "were", "has", "have", "had") else _BASE_VERB.fullmatch
    verbs = [word.start() for word in words[2:] if is_verb(word[0].lower())]
    if verbs:
        return verbs[-1]
    return len(said) if is_verb is is_past_form or len(words) < 3 else words[-1].start()


def _split_korean(asked: str) -> tuple[str, ...]:
    words = asked.split()
    for at in range(1, len(words) - 1):
        ended = _KOREAN_ENDED.fullmatch(words[at])
        before = [word for word in words[max(1, at - 2) : at] if _KOREAN_MODIFIER.search(word)]
        if ended is None or _KOREAN_MODIFIER.search(words[at]) or not (before or _KOREAN_OFFICE.search(ended["noun"])):
            continue
        rest = " ".join(words[at + 1 :])
        described = " ".join([*words[:at], ended["noun"]])
        if ended["noun"] in _KOREAN_ANYTHING or _KOREAN_ASKS.search(described):
            return ()
        if any(map(_KOREAN_MODIFIER.search, words[at + 1 : -1])):
            return ()  # what is asked for is described by this
        if not set(korean.find_content_words(rest)) - _KOREAN_NOTHING_ASKED:
            return ()
        topic = "은" if korean.ends_in_consonant(described) else "는"
        asks = "누구" if _KOREAN_PERSON.search(described) else "무엇"
        return f"{described}{topic} {asks}인가요?", f"[1]{ended['particle']} {rest}?"
    return ()


def _split_chinese(asked: str) -> tuple[str, ...]:
    who, which = ("誰", "哪個") if detect_written_language(asked) == "zh-Hant" else ("谁", "哪个")
    for pattern in (_CHINESE_DESCRIPTION, _CHINESE_OFFICE):
        if not (found := pattern.match(asked)):
            continue
        described, said, noun = asked[: found.start("rest")], found["said"], found["noun"]
        wanted = _CHINESE_NOTHING_ASKED.sub(" ", found["rest"]).split()
        if not any(len(word) > 1 and word not in described for word in wanted):
            continue
        if noun == "人" and found["link"] == "的":
            first = f"{who}{said}？"
        else:
            first = f"{described}是{who if _CHINESE_PERSON.search(noun) else which}？"
        return first, f"[1]{found['rest']}？"
    return ()
