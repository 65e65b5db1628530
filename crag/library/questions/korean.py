"""Korean rules."""

from __future__ import annotations

import re
from collections.abc import Iterator

from crag.library.questions.surroundings import MIN_MENTIONS, DerivedQuestion, SentenceAsk, Surroundings, fill_question
from crag.text.patterns import lazy_regex

_WORD = r"[^\s,.()「」\"'“”‘’]"
_SUBJECT = rf"^[\"'“‘]?(?P<name>{_WORD}{{2,}}(?: {_WORD}+){{0,2}}?)[\"'”’]?(?P<gloss>\([^)]{{1,60}}\))?"
_NAME = rf"{_SUBJECT}(?P<topic>은|는) "
_REFERRING = lazy_regex(
    r"^(?:그|이|저|그녀|그들|그들의|이들|이들이|이것|이것이|그것|또한|하지만|그러나"
    r"|그러자|그래서|따라서|결국|대개|때때로|이러한|이와|반면에|오늘날"
    r"|현재|당시|여기|우리|나|것|이후|한편|또|다른|대부분|일부|가장|모든|첫째|둘째"
    r"|셋째|이름|사람|회사|방법|문제|결과|이유|목적|원인|내용"
    r"|자신|자기|해당|관련|처음|마지막|실제로|특히|\d+\S*)(?:\s|$)"
    r"|(?:에|서|하|되|있|없|으로|부터|까지|라|에게|때|적|던|한|된|할|을|를|의|이|(?<![휴국평허증물])가|도|만|와|과|고|며|면)$"
    r"|(?:을|를|이|가|의|에|에서|와|과|한|된|하는|되는|있는|없는|던|도) "
)
_MIN_NAME_SYLLABLES = 4
_PERSON = (
    r"(?:작가|가수|배우|선수|감독|학자|정치인|군인|왕|황제|화가|시인|작곡가|교수"
    r"|의사|목사|소설가|사람|인물|여왕|장군|기업인|언론인|변호사"
    r"|아나운서|코미디언|대통령|총리|장관|혁명가|운동가|건축가|사업가|무신|문신|귀족|황후|왕자|공주|후궁|제독|이론가)"
)
_THING = lazy_regex(
    "(?:기술|이론|학문|제도|법|법률|언어|프로그램|소프트웨어|시스템|게임|영화|소설|작품|음악"
    "|장르|단체|조직|기관|회사|기업|대학|대학교|학교|사건|전쟁|전투|현상|과정"
    "|개념|질병|질환|동물|식물|물질|약물|약|음식|요리|음료|축제|대회|조약|협약|종교|교파|사상"
    "|정책|서비스|도구|장치|기계|건물|건축물|다리|악기|화폐|통화|방식|형태"
    "|분야|모델|알고리즘|책|잡지|신문|드라마|앨범|노래|그룹|밴드|기법|성당|탑|박물관|공원"
    "|항공사|문서|시설|절차|계약|위원회|연구소|협회|재단|은행|시리즈|자동차"
    "|항공기|전투기|로봇|바이러스|세균|원소|화합물|단백질|세포|행성|위성|은하|규칙|사업"
    "|제품|브랜드|플랫폼|포털|사이트|휴가|수당|보험|혜택|내각|정당|정부"
    "|광장|도로|철도|노선|스포츠|경기|무술|의식|명절|용어|작업|예술|장비|프로젝트"
    "|지표|단위)(?:들)?(?:이다|이었다|입니다)\\.?$"
)
_DEFINITION = lazy_regex(rf"{_NAME}(?P<what>.{{8,}}?)(?:이다|이었다|였다|다|입니다|이며.*|으로.*|로, .*)\.?$")
_NOUN_END = lazy_regex(r"(?:이다|이었다|입니다)\.?$")
_EVENT = lazy_regex(
    rf"{_NAME}(?:[^.]{{0,60}}?)\d{{3,4}}년[^.]{{0,60}}?(?P<verb>설립|창립|창설|창단|건국|개봉|발표|출시|발매|출간|개통|완공|개교|개최|체결"
    rf"|제정|건설|발명|발견|도입|제작)"
    r"되(?:었|어|었으|었고|었으며|었다)"
)
_MEANS = lazy_regex(
    rf"{_SUBJECT}(?P<topic>이란|란) .{{8,}}(?:말한다|뜻한다|의미한다|가리킨다|말합니다|뜻합니다|의미합니다)\.?$"
)
_DAYS = lazy_regex(rf"{_NAME}[^.]{{0,50}}?\d+일을 (?:부여|지급|제공)(?:한다|합니다)")
_EVERY = lazy_regex(
    rf"{_NAME}(?:[^.]{{0,20}} )?\d+(?:일|주|개월|달"
    rf"|년)마다 (?P<verb>[가-힣]{{2,4}}?)(?:한다|합니다|하여야 한다|해야 한다|해야 합니다)"
)
_HOURS = lazy_regex(
    rf"{_NAME}[^.]{{0,30}}?\d+시[^.]{{0,8}}부터[^.]{{0,12}}\d+시[^.]{{0,8}}까지(?:이다|입니다|이며|로 한다|운영)"
)
_WON = lazy_regex(rf"{_NAME}[^.]{{0,30}}?\d[\d,만천 ]*원(?:이다|입니다|으로 한다)\.?$")
_PLACE = lazy_regex(
    rf"{_NAME}[^.]{{0,80}}?에 (?:위치하고 있다|위치해 있다|위치한다|자리 ?잡고 있다|위치합니다|있습니다)\.?$"
)
_PRICED = lazy_regex("(?:료|비|금|값|액|세|가격|요금|비용|수당|연봉|급여|월급|가|권|장|세트|이용|대여|발급|주차)$")
_TAIL = lazy_regex(
    r"^(?P<what>\S+(?: \S+){0,4}?)(?:의)? (?P<part>종류|유형|장점|단점"
    r"|특징|원인|목적|역할|기능|증상|효과|조건|절차|방법|기간|요금|비용|시간|일정"
    r"|자격|기준|한도|원칙|규칙|금액|요건)$"
)


def ask_about_sentence(sentence: str, heading: str, around: Surroundings) -> Iterator[DerivedQuestion]:
    """Yield the question that a sentence answers, if a rule fits it."""
    for rule, ask in _SENTENCES:
        if (found := rule.match(sentence)) and _is_name(found, heading, around):
            if question := fill_question(ask, found, f"{found['name']}{found['topic']}"):
                yield DerivedQuestion(question, found["name"])
            return


def _is_name(found: re.Match[str], heading: str, around: Surroundings) -> bool:
    name = found["name"]
    if _REFERRING.search(name) or not re.search("[가-힣A-Za-z]{2}", name):
        return False
    known = name in heading or name in around.title or bool(found["gloss"]) or found["topic"] in ("이란", "란")
    return known or around.count(name) > (MIN_MENTIONS if len(name) >= _MIN_NAME_SYLLABLES else 2 * MIN_MENTIONS)


def _ask_price(found: re.Match[str], name: str) -> str:
    """Ask for the price of what has one by its name: not of 회원 in “회원은 10분에 300원입니다”."""
    return f"{name} 얼마인가요?" if _PRICED.search(found["name"]) else ""


def _ask_what(found: re.Match[str], name: str) -> str:
    if not _NOUN_END.search(found.string) or re.search(
        r"(?:때문|것|정도|편|뿐|듯|중|수|하나|바|곳|점|때|명|개|년|원|일|월)(?:이다|이었다|입니다)\.?$", found.string
    ):
        return ""
    if re.search(
        r"(?:도시|나라|국가|섬|강|산|호수|시|군|구|마을|지역|역|현|성|주|도|반도|대륙)(?:이다|이었다|입니다)\.?$",
        found.string,
    ):
        return f"{name} 어디에 있나요?" if re.search(r"에 (?:있는|위치한)", found.string) else ""
    if re.search(rf"{_PERSON}(?:이다|이었다|입니다)\.?$", found.string):
        return f"{name} 누구인가요?"
    return f"{name} 무엇인가요?" if _THING.search(found.string) else ""


_SENTENCES: tuple[tuple[re.Pattern[str], SentenceAsk], ...] = (
    (_MEANS, "{name} 무엇인가요?"),
    (_DAYS, "{name} 며칠인가요?"),
    (_EVERY, "{name} 얼마나 자주 {verb}하나요?"),
    (_HOURS, "{name} 몇 시부터 몇 시까지인가요?"),
    (_WON, _ask_price),
    (_EVENT, "{name} 언제 {verb}되었나요?"),
    (_PLACE, "{name} 어디에 있나요?"),
    (_DEFINITION, _ask_what),
)


def ask_about_heading(heading: str, _around: Surroundings) -> Iterator[DerivedQuestion]:
    """Yield the question that the text under a heading answers, if a rule fits the heading."""
    if (
        re.search(r"(?:까|요|나|가|죠)\?$", heading)
        and len(heading) >= 8
        and not re.match(r"(?:이|그|저)(?:것|거|게|는|건)? ", heading)
    ):
        yield DerivedQuestion(heading, heading)
    elif found := re.match(
        r"^(?P<what>\S+(?: \S+){0,2}?)(?:의)? (?P<part>신청|예약|취소|변경|등록|해지|환불|갱신|발급)$", heading
    ):
        what = found["what"].removesuffix("의")
        yield DerivedQuestion(f"{what}{_particle(what, '은', '는')} 어떻게 {found['part']}하나요?", heading)
    elif found := _TAIL.match(heading):
        part, what = found["part"], f"{found['what']} {found['part']}"
        if part in ("종류", "유형"):
            yield DerivedQuestion(f"{found['what']}에는 어떤 {part}{_particle(part, '이', '가')} 있나요?", heading)
        elif part in ("장점", "단점", "특징", "원인", "목적", "역할", "기능", "증상", "효과", "원칙", "규칙", "방법"):
            yield DerivedQuestion(f"{what}{_particle(part, '은', '는')} 무엇인가요?", heading)
        else:
            yield DerivedQuestion(f"{what}{_particle(part, '은', '는')} 어떻게 되나요?", heading)


def _particle(word: str, after_consonant: str, after_vowel: str) -> str:
    """Return the particle that fits the last syllable of a Korean word."""
    return after_consonant if (ord(word[-1]) - ord("가")) % 28 else after_vowel
