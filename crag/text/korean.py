"""Korean questions: their topics, the kind of value they ask for, and what a text lacks of both.

Words are compared without particles and endings, by the letters of their stems, because Korean writes a verb in many
forms: 태어났나요, 태어난 and 태어나 are one word. A few groups of synonyms help where another word is usual.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

from crag.text.patterns import lazy_regex
from crag.text.synonyms import index_synonyms

_HANGUL = lazy_regex("[가-힣]+")
_TOKEN = lazy_regex(r"[가-힣]+|[A-Za-z][A-Za-z\d.-]*|\d[\d,.]*\d|\d")
_FIGURE = lazy_regex(r"(?<![A-Za-z\d.-])(제\s?)?(\d[\d,.]*\d|\d)\s?(회|번째|번|호|차|조|층|동|급|항|장|기)?")
_ORDINALS = {"두": "2", "세": "3", "네": "4", "다섯": "5"}
_ORDINAL = lazy_regex(rf"({'|'.join(_ORDINALS)}) ?번째")
_PARTICLE = lazy_regex(
    "(?:에게서는|에게서|에서는|에서의|에서도|에서|에게는|에게|께서는|께서|한테|으로는|으로서|으로써|으로의|으로도|으로|로서|로써"
    "|로의|로는|까지의|까지는|까지|부터의|부터|처럼|만큼|보다|이라는|라는|이라고|라고|이란|과의|와의|과는|와는|이나|이며|이고|이자"
    "|이랑|하고|마다|들의|들이|들은|들을|들|랑|로|과|와|나|도|만|란|의|은|는|이|가|을|를|에|께)$"
)
_AFTER_ONE_SYLLABLE = ("은", "는", "을", "를", "의", "에", "이", "가", "에서", "으로", "부터", "까지")  # 책은, 병이
_BEFORE_CASE = ("만", "까지", "부터", "에서", "들")  # particles that 이, 가, 을 and 를 may follow
_NOUN_ENDING = lazy_regex(
    "(?:어린|젊은|늙은|고양|호랑|원숭|쌍둥|달팽|놀|높|길|넓|깊|종|아|나|차|사|목걸|귀걸|손잡|옷걸|떡볶|물놀|우리말풀)이$|(?:(?<!연)휴|허)가$|논의$"
)
_NOUN_LIKE_PARTICLE = lazy_regex(  # two syllables that would leave one without what looks like a particle
    "(?:[회합협동주정건결거]의|[휴병평작국물단원정추증참허인]가|나이|종이|차이|사이|도로|[경진]로|[결효성통]과)"
)
_COPULA = lazy_regex(
    "(?:이었습니까|였습니까|이었나요|였나요|이었는가|였는가|이었나|였나|입니까|인가요|인가|인지|일까요|일까|이에요|예요|에요|이야|야|이죠|죠)$"
)
_VERB_ENDING = lazy_regex(
    "(?:았습니까|었습니까|였습니까|습니까|니까|았나요|었나요|였나요|나요|았는가|었는가|는가|은가|ㄴ가|을까요|까요|을까|을지|는지|은지"
    "|려면|으면|면|려고|어야|아야|여야|야|어서|아서|여서|서|도록|어도|아도|여도|어요|아요|여요|어|아|여|고|며|지|게|기|던|는|은|을|요|나|니|죠|다)$"
)
_CONNECTED_VERB = lazy_regex(
    "(?:려면|으면|면|[어아워와여려져켜쳐]도|[어아여려워써내줘둬봐해돼와]야|어서|아서|려고|도록|으려)$"
)
_NOUN_VERB = lazy_regex(  # 제작했습니까, 안장된, 파손시킨: a noun with the verb that carries the ending
    "^([가-힣]{2,}?)(?:하|한|할|함|합|했|해|하였|되|된|될|됨|됩|됐|돼|되었|시키|시킨|시킬|시켰|시켜|당한|당하|당했|받은|받는|받았|받을|받아)"
    "(?:(?:였|었|시|셨|지|려)?(?:는가|는지|던가|을까|을까요|니까|나요|습니까|나|니|냐|죠|요|던|는|을|여|서|고|며|면|게|기|도|야|도록|어야|어서|기로|기에|ㄴ)*)$"
)
_NOUN_FINALS = "반관원판란권년월물술율률론편단"  # with ㄴ or ㄹ, but hardly ever of verbs: 로봇반, 도서관
_DERIVED = lazy_regex(  # after a noun: its plural, copula and verb, and bound nouns often written without a space
    "(?:[들적별형님씨째쯤씩시후전중때]|하|한|할|함|합|했|해|되|된|될|됨|됩|됐|돼|인|임|이[다며고자란라]|이었|였|다|며|고|예요|에요|이에요|입니다|야|죠)+"
)
_DETERMINERS = frozenset("총각매본당현첫새")  # one syllable before a noun that leaves it the same word
_DOCUMENT_NOUN = lazy_regex("(?<=[가-힣]{2})[록서표문집](?![가-힣])")  # 회의록 is about 회의
_QUESTION_WORD = lazy_regex(
    "^(?:무엇|무슨|무어|누구|누가|뉘|언제|어디|어느|어떤|어떻게|어떠|어떡|얼마|몇|며칠|왜|뭐|뭔|뭘)"
)
_SELECTING = frozenset({"어느", "어떤", "무슨", "몇"})
_WORDS: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_FRAME = frozenset(_WORDS["frame"].split())
"""Words that frame a question and need not occur in its answer."""
_LIGHT_VERB = lazy_regex(
    "^(?:있|없|하|했|한|할|해|합|되|된|될|됐|돼|됩|이루어지|이루어진|이루어졌|이뤄지|이뤄진|이뤄졌|보|본|볼|봤|쓰|써|쓴|썼|쓸|주|준|줄|줘|받|얻|가|간|갈|갔|오|온|올|왔"
    "|나오|나온|나왔|들|든|두|둔|놓|알|안|싶|않|못하|못한|못했|모르|내|낸|지|졌|이|인|일|였|나타나|나타난|나타났|나타내|가지|가진|가졌|불리|불린|불렸"
    "|부르|부른|일컫|알려지|알려진|알려졌|따르|따른|걸리|걸린|걸렸|어떠|생기|생긴|생겼|갖)"
    "(?:어|아|여|었|았|였|시|셨|지|고|는|은|을|겠|습니|니|까|나|요|려|면|던|냐|죠|야|도|서|게|기|며|다|음|것|하|한|할|해|되|된)*$"
)
_VERB_GOES_ON = lazy_regex("[다고는며면서지아어여요니기게려을은음습러던도야]|[^가-힣]|$")
_MIN_STEM_LETTERS = 3
_HELD_PAIRS = 0.75  # of the syllable pairs of a long word, which may be spelt in another way
_SYNONYMS = index_synonyms(_WORDS["synonyms"])
_NUMERAL = "하나|한|두|세|네|다섯|여섯|일곱|여덟|아홉|열|열한|열두|열세|스무|스물|서른|마흔|쉰|석|넉|여러"
_NUMBER = rf"(?:\d[\d,.]*|{_NUMERAL}|[일이삼사오육칠팔구십백천만억]+)\s?"
_UNITS = {  # what is counted: how a text may count it
    "명": "명|인|사람|분|가구|세대",
    "사람": "명|인|사람",
    "세": "세|살",
    "살": "세|살",
    "번": "번|회|차례|차",
    "회": "번|회|차례|차",
    "차례": "번|회|차례",
    "개": "개|곳|가지|관|대|채|전시실|칸|항목|실|곡|편|종|석|량|동|[가-힣]",
    "가지": "개|가지|종",
    "곳": "개|곳|군데",
    "년": "년|해|개월",
    "시간": "시간|분|일|시",
    "시": r"시|:\d\d|정오|자정",
    "분": "분",
    "일": "일|날|주|주일|개월|달",
    "월": "월",
    "주": "주|일",
    "개월": "개월|달|년",
    "달": "개월|달",
    "층": "층",
    "도": "도|℃|°",
    "퍼센트": "%|퍼센트|％|할|분의",
    "프로": "%|퍼센트|％",
}
_COUNTED = lazy_regex(r"몇\s?(?:퍼센트|프로|개월|시간|사람|차례|가지|미터|킬로그램|킬로미터|[가-힣])")
_MONEY = lazy_regex(
    r"\d[\d,.]*\s?(?:[만천백억조]\s?)*(?:\d+\s?[만천백]?\s?)*(?:원|달러|엔|유로|위안|프랑|파운드)|\((?:원|달러|엔|유로|위안)\)\s?[:：]\s?\d|무료|[$€£¥₩]|\d\s?[만억]|%"
)
_DAY = lazy_regex(
    r"\d+\s?(?:년|월|일|시|세기)|세기|[월화수목금토일]요일|[월화수목금토]·|매일|매주|매달|매월|매년|평일|주말|연중|(?:봄|여름|가을|겨울)철?에"
    r"|(?:새벽|아침|오전|정오|오후|저녁|밤)(?:에|부터|까지)|\d+\s?(?:일|주|개월|시간|분)|설날|추석|이내|즉시|직후|당일|초하루|보름"
)
_PLACE = lazy_regex(
    "장소|위치|소재|[가-힣]{2,}(?:에서|시|군|구|읍|면|동|리|역|관|당|실|층|홀|센터|공원|광장|학교|회관|청|장|터)(?:에|에서|이다|이며|입니다|이고|의|으로|로|$|\\W)"
)
_DURATION_LIMIT = lazy_regex(
    r"\d+\s?(?:일|주|개월|년|시간|분)[을를]?\s?(?:초과|이상|이하|미만|동안|넘)"
)  # says how long
_LOCATION = lazy_regex(
    r"(?<![\d가-힣])[가-힣A-Za-z\d)]{2,}(?<!\d[년월일시분])(?:에서|에게|에|으로|로)(?:는|도|만|의)?(?![가-힣])"
    r"|(?:장소|위치|소재지?|주소)\s?[:：는은가이]"
)
_ASKS_RANGE = lazy_regex("(?:언제|몇 ?[가-힣]{1,2})부터 ?(?:언제|몇 ?[가-힣]{1,2})까지")
_RANGE = lazy_regex(r"\d\S*\s?[~～∼–-]\s?\S*\d|(?:에서|부터).{1,20}까지")
_REASON = lazy_regex(
    "때문|므로|으로인|로인|위해|위하|위한|여서|해서|아서|어서|워서|니까|까닭|이유|탓|덕분|도록|혐의|바람에|따라|인해|려고|고자|자[,\\s]|면서|기에|로(?=\\s)|여[,\\s]|어[,\\s]|아[,\\s]|돼[,\\s]|해[,\\s]|다고|라고"
)
_QUANTITY = lazy_regex(rf"\d|(?:{_NUMERAL})\s?[가-힣]|무료|[이삼사오육칠팔구십백천만억]+\s?[가-힣]")
_SPAN = lazy_regex(
    rf"(?:{_NUMBER})(?:년|개월|달|주|일|시간|분|초|동안|박|세기)|[하이사나]?루|이틀|사흘|나흘|열흘|보름|부터|까지"
)
_VALUE_PATTERNS: tuple[tuple[re.Pattern[str], re.Pattern[str]], ...] = (
    (lazy_regex(r"언제|며칠|날짜|일자|일시|무슨 ?요일|시기(?:는|가)|개봉일|(?<![가-힣])날은|기념일은"), _DAY),
    (
        lazy_regex(r"(?:^|\s)(?:해|연도|년도)(?:는|가)|몇 ?년도|몇 ?년(?:에|인가|이었|의)"),
        lazy_regex(r"\d+\s?년|\d{4}"),
    ),
    (lazy_regex(r"요일"), lazy_regex("요일|[월화수목금토일](?:·|,|과|와)|매일|평일|주말")),
    (
        lazy_regex(
            r"기간(?:은|이)|얼마나 (?:오래|걸)|얼마 ?동안|얼마 ?만에|몇 ?(?:년|달|개월|시간|분|일|주)(?:간|동안| ?만에)"
        ),
        _SPAN,
    ),
    (
        lazy_regex(
            r"(?:가격|비용|요금|금액|값|예산|매출\w*|보증금|월세|연봉|월급|급여|수당|상금|벌금|과태료|제작비|공사비|[가-힣]료|[가-힣]비)(?:은|는|이|가)?"
            r"\s?(?:[가-힣]+에 |[가-힣]+당 )?(?:얼마|몇 ?원|\?|$)|얼마(?:예요|에요|야|죠|입니까|를|인지)|돈"
        ),
        _MONEY,
    ),
    (
        lazy_regex(
            r"얼마(?!나 자주)|비율은|(?:수|숫자|횟수|무게|높이|길이|면적|크기|거리|속도|온도|나이)(?:는|은)\s?(?:\?|$)"
        ),
        _QUANTITY,
    ),
    (lazy_regex("(?:장소|위치|주소)[는가] ?어디"), _PLACE),
    (lazy_regex("어디(?:에서|서|에|로)(?![가-힣])"), _LOCATION),
    (lazy_regex(r"퍼센트|비율"), lazy_regex("%|％|퍼센트|할|분의|절반")),
    (lazy_regex(r"(?:^|\s)왜(?![가-힣]{2})|이유|까닭|원인"), _REASON),
)
_ASKS_PERSON = lazy_regex("누구|누가|(?:사람|인물|작가|저자|감독|배우|화가|왕|장군|학자|선수|가수)[은는]\\s?[?？]?$")
_ASKS_ROLE = lazy_regex("([가-힣]{2,}?)(?:은|는|이|가)? ?(?:누구(?!를|와|랑|의|에게|한테)|누가)")
_ASKS_DOER = lazy_regex("누가(?! ?(?:맡|되|됐|돼|임명|취임|선출|뽑))")  # 구성안은 누가 내나요
_HOLDS_ROLE = "(?:맡|임명|취임|선임|선출|되|지내|역임|뽑|추대|이다|이며|이었|였|입니다)"
_SURNAME = (
    "[김이박최정강조윤장임한오서신권황안송류전홍고문양손배백허유남심노하곽성차주우구민진나지엄채원천방공현함변염여추도소석선설마길연위표명기반"
    "왕금옥육인맹제모탁국어은편용예경봉사부]"
)
_TITLE = (
    "(?:인턴|사원|주임|대리|과장|차장|부장|팀장|실장|소장|본부장|이사|상무|전무|사장|회장|대표|원장|교장|교사|교수|박사"
    "|선생|의원|위원장|위원|장관|감독|코치|기자|작가|선수|변호사|연구원|매니저|주무관|간사|총무|님|씨)"
)
_PERSON = lazy_regex(
    rf"(?<![가-힣]){_SURNAME}[가-힣]?[가-힣](?<![상군관회국당품물권법액])"  # no 은곰상, 조선군
    r"(?:이|가|은|는|을|를|의|에게|와|과|이다|이며|이고|이었|였|으로|로|도|[,()]|(?<!다)(?:\.|$)"
    r"| ?씨| ?님|[가-힣]{2,3}원)"
    rf"|(?<![가-힣]){_SURNAME}[가-힣]{{1,2}} ?{_TITLE}(?![가-힣]{{2}})"
    r"|(?:[가-힣]+[가자사장인원관수왕]|감독|교수|배우|박사|선생|형제|왕|님) "
    rf"(?:{_SURNAME}[가-힣]{{1,2}}|[가-힣]{{2,}} [가-힣]{{2,}})"
    r"|[가-힣]+(?:왕|스님|대사|선사|여사|부인|장군|[가-힣]종|[태정세인영선]조)"
    r"(?:이|가|은|는|을|를|의|과|와|에게|,)"
    r"|[가-힣]*[르츠프크즈슈브흐렌린빈힌쉬쇼렐콜텔펠몬][가-힣]+(?:이|가|은|는|을|를|의|에게|와|과)"
    r"|[A-Z][a-z]+|주무관|담당자|갑|을(?=[은이의])"
)


@dataclass(frozen=True, slots=True)
class _Said:
    """A text without spaces, the offsets at which its words began, and its letters."""

    bare: str
    starts: frozenset[int]
    letters: str


@dataclass(frozen=True, slots=True)
class _Topic:
    """A word of a question: `base` without particles, `is_verb` if it may be a verb form."""

    base: str
    is_verb: bool
    is_class: bool = False


@lru_cache(maxsize=2_000)
def find_topics(question: str, endings: frozenset[str] = frozenset()) -> tuple[str, ...]:
    """Return the nouns that a question is about, as in a search box; `endings` as for `find_missing_words`."""
    return tuple(dict.fromkeys(_noun(topic) for topic in _read_topics(question, endings) if not topic.is_verb))


@lru_cache(maxsize=2_000)
def find_content_words(question: str) -> tuple[str, ...]:
    """Return the nouns and verbs of a question, without particles and without words that only frame it."""
    return tuple(dict.fromkeys(map(_noun, _read_topics(question))))


def _noun(topic: _Topic) -> str:
    found = _NOUN_VERB.match(topic.base)
    return found[1] if found else topic.base


def find_missing_figures(question: str, text: str) -> tuple[str, ...]:
    """Return the numbers, codes and names in Latin letters of a question that a text does not hold."""
    bare = text.casefold()
    missing = []
    for found in _FIGURE.finditer(question):
        unit = rf"\s?{found[3]}" if found[3] else ""
        if not re.search(rf"(?<![\d.,]){re.escape(found[2])}(?!\d|[.,]\d){unit}", bare):
            missing.append(found[0].strip())
    missing += [
        found[0]
        for found in _ORDINAL.finditer(question)
        if not re.search(rf"(?:{found[1]} ?번째|(?<!\d){_ORDINALS[found[1]]} ?(?:번째|회|차|호))", bare)
    ]
    latin = re.findall(r"[A-Za-z][A-Za-z\d-]*", question)
    return (*missing, *(word for word in latin if word.casefold() not in bare))


def find_missing_words(
    question: str, text: str, context: str = "", endings: frozenset[str] = frozenset()
) -> tuple[str, ...]:
    """Return the topics of a question that neither a text names in any form nor its context in the same words.

    `endings` are runs of three syllables whose last one is no particle.
    """
    said, around = _read_text(text), _read_text(_DOCUMENT_NOUN.sub("", context))
    missing = (
        topic.base
        for topic in _read_topics(question, endings)
        if not (topic.is_class or _is_held(topic, said) or _is_held(topic, around, with_synonyms=False))
    )
    return tuple(dict.fromkeys(missing))


def names_word(word: str, text: str) -> bool:
    """Return whether a text holds a noun itself, be it in a compound."""
    return _is_held(_Topic(word, is_verb=False), _read_text(text), with_synonyms=False)


def holds_focus(question: str, text: str, endings: frozenset[str] = frozenset()) -> bool:
    """Return whether a text names what is asked of the subject, which is the last word before the question word."""
    topics = [topic for topic in _read_topics(question, endings) if not topic.is_class]
    return not topics or _is_held(topics[-1], _read_text(text))


def states_value(question: str, text: str) -> bool:
    """Return whether a text holds a value of every kind that the question asks for."""
    if _ASKS_RANGE.search(question):
        return bool(_RANGE.search(text))
    if counted := _COUNTED.search(question):
        unit = _UNITS.get(noun := counted[0][1:].strip(), re.escape(noun))
        limit = "(?!까지|씩)" if re.search("모두|전부|총", question) else ""
        return bool(re.search(rf"(?:{_NUMBER})(?:{unit}){limit}", _without_asked_figures(question, text)))
    if _ASKS_PERSON.search(question):
        return _names_person(question, text)
    if "언제" in question:
        text = _DURATION_LIMIT.sub("", text)
    kind = next((value for asking, value in _VALUE_PATTERNS if asking.search(question)), None)
    return kind is None or bool(kind.search(_without_asked_figures(question, text)))


def _names_person(question: str, text: str) -> bool:
    """Return whether a text names a person, for a role in the place where such a person is named: 감독은 윤재희."""
    if found := _ASKS_ROLE.search(question):
        role = found[1]
        if role in text:
            named = rf"{role}(?:은|는|인|으로는|로는|에는|:|이|가|에)?[ :(](?!아직|미정|공석|없)[가-힣A-Z]"
            holds_role = re.search(rf"{named}|{role}[가-힣]{{0,3}} ?{_HOLDS_ROLE}", text)
            if holds_role or not _ASKS_DOER.search(question):
                return bool(holds_role)
    return any(_strip(found[0].split()[-1].rstrip(",.()")) not in question for found in _PERSON.finditer(text))


def _without_asked_figures(question: str, text: str) -> str:
    """Return the text without the figures that the question already names: 2022년 is no answer to 2022년에 얼마."""
    asked = {found[0] for found in re.finditer(r"\d[\d,.]*\d|\d", question)}
    return re.sub(r"\d[\d,.]*\d|\d", lambda found: "" if found[0] in asked else found[0], text)


def _read_topics(question: str, endings: frozenset[str] = frozenset()) -> list[_Topic]:
    """Return the words of a question that an answer must name, in order."""
    found: list[_Topic] = []
    words: list[str] = _TOKEN.findall(question)
    for at, word in enumerate(words):
        if not _HANGUL.match(word) or re.search(rf"\d ?{word}", question):
            continue
        if _QUESTION_WORD.match(word):
            continue
        before = words[at - 1] if at else ""
        base = _strip(word, endings)
        if not base or base in _FRAME or (len(base) == 1 and base in "의은는이가을를에도로와과서"):
            continue
        if before in _SELECTING or (before.startswith("몇") and len(before) == 1):
            continue
        is_last = all(_QUESTION_WORD.match(rest) or _strip(rest) in _FRAME for rest in words[at + 1 :])
        is_topic = word.removesuffix("요")[-1:] in ("은", "는") and (
            is_last or len(base) > 1 or bool(_QUESTION_WORD.match(words[at + 1]))
        )
        is_verb = not is_topic and _may_be_verb(word, base, words[at + 1] if at + 1 < len(words) else "")
        if is_verb and _LIGHT_VERB.match(word) and not _NOUN_VERB.match(word):
            continue
        is_class = is_last and not is_verb and bool(before) and _is_adnominal(before)
        found.append(_Topic(base, is_verb, is_class))
    return found


def _strip(word: str, endings: frozenset[str] = frozenset()) -> str:
    """Return a word without the copula, question endings and particles at its end.

    `endings` are runs of three syllables whose last one is no particle: 산휴가 of 출산휴가.
    """
    base = re.sub("(?<=[은는이가을를에도로만])요$", "", word)
    base = _COPULA.sub("", base) or base
    for _ in range(2):
        found = _PARTICLE.search(base)
        if not found or not found.start() or _NOUN_ENDING.search(base) or _NOUN_LIKE_PARTICLE.fullmatch(base):
            break
        noun = base[: found.start()]
        is_short = len(noun) == 1 and (found[0] not in _AFTER_ONE_SYLLABLE or base != word)
        is_in_noun = base[max(0, len(noun) - 2) : len(noun) + 1] in endings
        is_last = base != word and word[-1] in "이가을를" and found[0] not in _BEFORE_CASE
        if is_short or is_in_noun or is_last or not fits_particle(noun, found[0]):
            break
        base = noun
    return base


def fits_particle(noun: str, particle: str) -> bool:
    """Return whether a particle may follow a noun: 이, 은, 을 and 과 follow consonants, 가, 는, 를 and 와 vowels."""
    coda = _coda(noun)
    if re.match("이|은|을|과|으", particle):
        return bool(coda)
    return not (coda and re.match("가|는|를|와|나|란|라|랑", particle))


def _coda(word: str) -> int:
    """Return the number of the final consonant of the last syllable, 0 if it ends in a vowel."""
    return (ord(word[-1]) - ord("가")) % 28


def _may_be_verb(word: str, base: str, after: str) -> bool:
    """Return whether a word may be a verb form without a noun in it: 태어난, 벌어진, 앓은, 말려야.

    One that modifies, such as 태어난, is none before a question word or a verb `after` it.
    """
    if _NOUN_VERB.match(word):
        return False
    if (
        not after
        and re.search("(?:나요|습니까|니까|는가|은가|나|니|냐|죠|요|까|[았었났했됐갔왔렸졌켰]어|돼)$", word)
        and not _COPULA.search(word)
    ):
        return True
    if _CONNECTED_VERB.search(word):
        return True
    if not after or _QUESTION_WORD.match(after) or _CONNECTED_VERB.search(after):
        return False
    return _is_adnominal(word) and not re.search("(?:에는|에서는|로는|까지는|부터는)$", word) and len(base) <= 4


def _is_adnominal(word: str) -> bool:
    """Return whether a word may modify a noun as verbs do: it ends in ㄴ, ㄹ or 던, and in no particle."""
    if len(word) > 1 and word[-1] == "던":
        return True
    if len(word) > 1 and word[-1] in _NOUN_FINALS:
        return False
    return word[-1] not in "는을를" and _coda(word) in (4, 8)


def _is_held(topic: _Topic, said: _Said, *, with_synonyms: bool = True) -> bool:
    base = topic.base
    if (base in said.bare) if topic.is_verb else _occurs(base, said):
        return True
    if with_synonyms and any(_begins_word(word, said) for word in _alternatives(topic)):
        return True
    if found := _NOUN_VERB.match(base):
        return _is_held(_Topic(found[1], is_verb=False), said, with_synonyms=with_synonyms)
    if topic.is_verb and any(_begins_verb(stem, said) for stem in _letter_stems(base)):
        return True
    if len(base) >= 4 and not topic.is_verb:
        pairs = ["".join(pair) for pair in pairwise(base)]
        return sum(pair in said.bare for pair in pairs) >= _HELD_PAIRS * len(pairs)
    return len(base) == 3 and base[2] in "자인비료값일률율지법수량" and _occurs(base[:2], said)


def _begins_verb(stem: str, said: _Said) -> bool:
    """Return whether a text holds a verb of this stem; a single syllable, as 자, must begin a word: 잔다, not 가장."""
    if len(unicodedata.normalize("NFC", stem)) > 1:
        return stem in said.letters
    final = "" if stem[-1] >= "\u11a8" else "[\u11ab\u11af\u11b7\u11b8\u11bb]?"
    syllable = re.compile(f"{stem}{final}(?![\u1161-\u11ff])")
    words = (unicodedata.normalize("NFD", said.bare[start : start + 3]) for start in said.starts)
    rests = (word[found.end() :] for word in words if (found := syllable.match(word)))
    return any(_VERB_GOES_ON.match(unicodedata.normalize("NFC", rest)) for rest in rests)


@lru_cache(maxsize=500)
def _read_text(text: str) -> _Said:
    words = text.split()
    starts = accumulate(map(len, words), initial=0)
    bare = "".join(words)
    return _Said(bare, frozenset(starts), unicodedata.normalize("NFD", bare))


def _occurs(term: str, said: _Said) -> bool:
    """Return whether a text holds a term as a word or in a compound: 연차 in 연차휴가, but 회식 not in 개회식.

    What a compound adds has two syllables or more; a single one that is no particle or ending makes another word.
    """
    at = said.bare.find(term)
    while at >= 0:
        end = at + len(term)
        if _may_begin_word(said, at) and _may_end_word(said, end):
            return True
        at = said.bare.find(term, at + 1)
    return False


def _begins_word(term: str, said: _Said) -> bool:
    """Return whether a word of a text begins with a term: 휴가 is no synonym of 연차 in 출산휴가."""
    return any(said.bare.startswith(term, start) for start in said.starts)


def _may_begin_word(said: _Said, at: int) -> bool:
    """Return whether a word starts at an offset, or goes on there after a determiner or two syllables or more."""
    start = at
    while start not in said.starts and _HANGUL.match(said.bare, start - 1):
        start -= 1
    is_counted = said.bare[start - 1 : start].isdigit() and start not in said.starts  # 5월매출
    return at - start != 1 or is_counted or said.bare[start] in _DETERMINERS


def _may_end_word(said: _Said, end: int) -> bool:
    """Return whether a word ends at an offset, but for particles, endings and another noun."""
    stop = end
    while stop not in said.starts and _HANGUL.match(said.bare, stop):
        stop += 1
    rest = said.bare[end:stop]
    while not _NOUN_ENDING.search(rest) and (found := _DERIVED.fullmatch(rest) or _PARTICLE.search(rest)):
        rest = rest[: found.start()]
    return len(rest) != 1


def _alternatives(topic: _Topic) -> tuple[str, ...]:
    """Return synonyms of a word; of a verb, those of the stem it begins with."""
    word = topic.base
    stems = (word[:length] for length in range(len(word), 1 if len(word) > 2 else 0, -1)) if topic.is_verb else (word,)
    found = next((_SYNONYMS[stem] for stem in stems if stem in _SYNONYMS), ())
    return found if topic.is_verb else tuple(other for other in found if other != word)


@lru_cache(maxsize=5_000)
def _letter_stems(word: str) -> tuple[str, ...]:
    """Return the letters with which every form of a verb may begin: 말려야 → 말리, 태어났나요 → 태어나."""
    stem = word
    for _ in range(3):
        shorter = _VERB_ENDING.sub("", stem)
        if not shorter or shorter == stem:
            break
        stem = shorter
    letters = unicodedata.normalize("NFD", stem)
    if letters[-1] >= "\u11a8":  # a final consonant belongs to the ending: 태어난, 벌어진
        letters = letters[:-1] if letters[-1] in "\u11ab\u11af\u11b7\u11b8\u11bb" else letters
    found = {letters}
    for short, full in (("ᅧ", "ᅵ"), ("ᅪ", "ᅩ"), ("ᅯ", "ᅮ"), ("ᅢ", "ᅡ"), ("ᅫ", "ᅬ")):
        if letters.endswith(short):
            found.add(letters[:-1] + full)
    return tuple(one for one in found if len(one) >= min(_MIN_STEM_LETTERS, len(unicodedata.normalize("NFD", stem))))
