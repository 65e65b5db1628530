"""Korean questions: their topics, the kind of value they ask for, and what a text lacks of both.

Words are compared without particles and endings, by the letters of their stems, because Korean writes a verb in many
forms: 태어났나요, 태어난 and 태어나 are one word. A few groups of synonyms help where another word is usual.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

from crag.text.patterns import lazy_regex

_HANGUL = lazy_regex("[가-힣]+")
_TOKEN = lazy_regex(r"[가-힣]+|[A-Za-z][A-Za-z\d.-]*|\d[\d,.]*\d|\d")
_PARTICLE = lazy_regex(
    "(?:에게서는|에게서|에서는|에서의|에서도|에서|에게는|에게|께서는|께서|한테|으로는|으로서|으로써|으로의|으로도|으로|로서|로써"
    "|로의|로는|까지의|까지는|까지|부터의|부터|처럼|만큼|보다|이라는|라는|이라고|라고|이란|과의|와의|과는|와는|이나|이며|이고|이자"
    "|이랑|하고|마다|들의|들이|들은|들을|들|랑|로|과|와|나|도|만|란|의|은|는|이|가|을|를|에|께)$"
)
_AFTER_ONE_SYLLABLE = ("은", "는", "을", "를", "의", "에", "이", "가", "에서", "으로", "부터", "까지")  # 책은, 병이
_BEFORE_CASE = ("만", "까지", "부터", "에서", "들")  # particles that 이, 가, 을 and 를 may follow
_COPULA = lazy_regex(
    "(?:이었습니까|였습니까|이었나요|였나요|이었는가|였는가|이었나|였나|입니까|인가요|인가|인지|일까요|일까|이에요|예요|에요|이야|야|이죠|죠)$"
)
_STATED = lazy_regex("(?<=[가-힣A-Za-z])(?:입니다|이었다|였다|이다)[.]?$")
_VERB_ENDING = lazy_regex(
    "(?:았습니까|었습니까|였습니까|습니까|니까|았나요|었나요|였나요|나요|았는가|었는가|는가|은가|ㄴ가|을까요|까요|을까|을지|는지|은지"
    "|려면|으면|면|려고|어야|아야|여야|야|어서|아서|여서|서|도록|어도|아도|여도|어요|아요|여요|어|아|여|고|며|지|게|기|던|는|은|을|요|나|니|죠|다)$"
)
_NOUN_VERB = lazy_regex(  # 제작했습니까, 안장된, 파손시킨: a noun with the verb that carries the ending
    "^([가-힣]{2,}?)(?:하|한|할|함|합|했|해|하였|되|된|될|됨|됩|됐|돼|되었|시키|시킨|시킬|시켰|시켜|당한|당하|당했|받은|받는|받았|받을|받아)"
    "(?:(?:였|었|시|셨|지|려)?(?:는가|는지|던가|을까|을까요|니까|나요|습니까|나|니|냐|죠|요|던|는|을|여|서|고|며|면|게|기|도|야|도록|어야|어서|기로|기에|ㄴ)*)$"
)
_AFTER_STEM = lazy_regex("습|는|은|을|음|고|지|기|게|던|자|다|으|아|어|았|었|도록|나|겠|더")
_NOUN_FINALS = "반관원판란권년월물술율률론편단"  # with ㄴ or ㄹ, but hardly ever of verbs: 로봇반, 도서관
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
_ASKS_WHY = lazy_regex(r"(?:^|\s)왜(?![가-힣])")
_REASON = lazy_regex(
    "때문|위[해하한]|므로|니까|[아어여해라]서(?=[ ,])|려고|도록|인[해한하]|탓|덕|이유|까닭|원인|결과|따[라른]"
    "|계기|여파|바람에|느라"
    "|(?:공사|사고|고장|화재|점검|보수|수리|지진|홍수|태풍|폭우|폭설|파업|행사|질병|질환|감염|부족|문제|사정|요청|반대|실패|전쟁|사망|교체|정전)(?:으로|로)(?![가-힣])"
)
_DATE_NOUN = lazy_regex("([가-힣]{2,})(?:일자|날짜|일|날)")  # 시행일: a text that dates what it names states it
_PHONE_NOUNS = frozenset({"전화번호", "연락처"})  # a text with a phone number needs no word for it
_DAY = lazy_regex(r"\d(?:일|월|년)|매월|매주|[월화수목금토일]요일|말일")
_MIN_LONG_WORD = 4  # syllables
_HELD_PAIRS = 0.75  # of the syllable pairs of a long word, which may be spelt in another way


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
def find_topics(question: str) -> tuple[str, ...]:
    """Return the nouns that a question is about, as in a search box."""
    return tuple(dict.fromkeys(_noun(topic) for topic in _read_topics(question) if not topic.is_verb))


@lru_cache(maxsize=2_000)
def find_content_words(question: str) -> tuple[str, ...]:
    """Return the nouns and verbs of a question, without particles and without words that only frame it."""
    return tuple(dict.fromkeys(map(_noun, _read_topics(question))))


def _noun(topic: _Topic) -> str:
    found = _NOUN_VERB.match(topic.base)
    return found[1] if found else topic.base


def find_missing_words(question: str, text: str, context: str = "") -> tuple[str, ...]:
    """Return the topics of a question that neither a text names in any form nor its context in the same words."""
    said, around = _read_text(text), _read_text(context)
    missing = (
        topic.base
        for topic in _read_topics(question)
        if not (
            topic.is_class
            or _is_held(topic, said)
            or (_is_held(topic, around, with_synonyms=False) if topic.is_verb else names_word(topic.base, context))
            or _holds_halves(topic, said, around)
        )
    )
    return tuple(dict.fromkeys(missing))


def lacks_reason(question: str, text: str) -> bool:
    """Return whether a question asks why and a text gives no reason, in Korean words for one."""
    return bool(_ASKS_WHY.search(question)) and not _REASON.search(text)


_COUNTER = (
    "정(?!도)|알|캡슐|잔|포|컵|벌|켤레|봉지|상자"
    "|석|명|개|대|권|층|회|번|분|시간|개월|년|살|세|마리|병|장|곳|가지|인분|원|퍼센트|과목|학점|점|쪽|페이지|채|그루"
)
_COUNTED = lazy_regex(rf"몇 ?({_COUNTER})(?![가-힣]{{0,1}}에서)")
_SAME_COUNTERS = (
    "명 인 사람 분",
    "정 알",
    "개 가지 곳",
    "회 번 차례",
    "살 세",
    "퍼센트 %",
    "분 시간",
    "년 개월",
    "쪽 페이지",
    "점 학점",
)
_NUMERAL = (
    r"(?:\d[\d,.]* ?[십백천만억조]*|[한두세네]|서너|다섯|여섯|일곱|여덟|아홉|열|스[무물]|[일이삼사오육칠팔구십백천만]+)"
)
_BEFORE_COUNTER = lazy_regex(r"(?<![A-Za-z\d])\d[\d,.]* ?")
_ASKS_FORBIDDEN = lazy_regex("면 ?안 ?[되돼]는|[가-힣]지 ?말아야")  # 복용하면 안 되는 사람
_FORBIDS = lazy_regex(
    "지 ?[말마]|지 ?[않못]|금지|금[하한합]|안 ?[되된됩돼]|없[다습는으]|불가|제외|삼[가갈]|피[하해할]|아니"
)
_ASKS_AMOUNT = lazy_regex("^(?!.*(?:율|퍼센트|%|할인|이자|인상)).*얼마(?![나큼간])")
_PERCENTAGE, _MONEY = lazy_regex(r"\d ?(?:%|퍼센트)"), lazy_regex("원|달러|유로|위안|엔")
_ASKS_PHONE = lazy_regex(r"(?:전화 ?번호|연락처)(?:[은는이가를]? ?(?:뭐|무엇|어떻|알려|좀|몇).*)?\W*$")
_PHONE = lazy_regex(r"(?<![\d-])(?:\d{2,4}-)?\d{3,4}-\d{4}(?!\d)|내선")
_ASKS_COLOUR = lazy_regex("(?:무슨|어떤|어느) ?색|색깔?[은이]? ?(?:뭐|무엇)")
_ASKS_NAME = lazy_regex(
    r"((?:담임|(?<![가-힣])[가-힣]*(?:선생|교수|과장|부장|팀장|사장|대표|원장|관장|회장|위원장|소장|이사|의사|간호사|강사|감독"
    r"|담당자|총무))(?: 선생)?)"
    r"(?:님)?의? ?(?:이름|성함|성명)[은이]? ?(?:뭐|무엇|어떻게)"
)


def states_value(question: str, text: str) -> bool:
    """Return whether a text counts with the word that a question counts with, or states the colour or name asked for.

    What must not be done is stated by a text that forbids, a price by none that holds only a percentage.

    True if the question asks for something else, and of a table row, whose column may name what is counted.
    """
    if "|" in text:
        return True
    if counted := _COUNTED.search(question):
        same = {counted[1]}.union(*(group.split() for group in _SAME_COUNTERS if counted[1] in group.split()))
        return bool(re.search(rf"{_NUMERAL} ?(?:여 ?)?(?:{'|'.join(sorted(same, key=len, reverse=True))})", text))
    if _ASKS_FORBIDDEN.search(question) and not _FORBIDS.search(text):
        return False
    if _ASKS_AMOUNT.search(question) and _PERCENTAGE.search(text) and not _MONEY.search(text):
        return False
    if _ASKS_PHONE.search(question) and not _PHONE.search(text):
        return False
    if _ASKS_COLOUR.search(question):
        return "색" in text
    if named := _ASKS_NAME.search(question):
        title = re.escape(named[1].split()[-1].removesuffix("님"))
        return bool(re.search(rf"{title}(?:님)?[은는이]? ?[:：]? ?[가-힣]{{3}}(?![가-힣])|[가-힣]{{3}} {title}", text))
    return True


def names_word(word: str, text: str) -> bool:
    """Return whether a text holds a noun itself, be it in a compound, or an everyday synonym."""
    said = _read_text(text)
    is_held = _is_held(_Topic(word, is_verb=False), said, with_synonyms=False)
    return is_held or any(_begins_word(other, said) for other in _STRICT_SYNONYMS.get(word, ()))


def _read_topics(question: str) -> list[_Topic]:
    """Return the words of a question that an answer must name, in order."""
    found: list[_Topic] = []
    words: list[str] = _TOKEN.findall(question)
    after_numbers = [match.end() for match in _BEFORE_COUNTER.finditer(question)]
    last = max((at for at, word in enumerate(words) if not _is_frame(word)), default=0)
    for at, word in enumerate(words):
        if not _HANGUL.match(word) or any(question.startswith(word, end) for end in after_numbers):
            continue
        if _QUESTION_WORD.match(word):
            continue
        before = words[at - 1] if at else ""
        base = _strip(word)
        if not base or base in _FRAME or (len(base) == 1 and base in "의은는이가을를에도로와과서"):
            continue
        if before in _SELECTING or (before.startswith("몇") and len(before) == 1):
            continue
        is_last = at >= last
        is_topic = word.removesuffix("요")[-1:] in ("은", "는") and (
            is_last or len(base) > 1 or bool(_QUESTION_WORD.match(words[at + 1]))
        )
        is_verb = not is_topic and _may_be_verb(word, base, words[at + 1] if at + 1 < len(words) else "")
        if is_verb and _LIGHT_VERB.match(word) and not _NOUN_VERB.match(word):
            continue
        is_class = is_last and not is_verb and bool(before) and _is_adnominal(before)
        found.append(_Topic(base, is_verb, is_class))
    return found


def _is_frame(word: str) -> bool:
    return bool(_QUESTION_WORD.match(word)) or _strip(word) in _FRAME


def _strip(word: str) -> str:
    """Return a word without the copula, question endings and particles at its end."""
    base = re.sub("(?<=[은는이가을를에도로만])요$", "", word)
    base = _COPULA.sub("", base) or base
    for _ in range(2):
        found = _PARTICLE.search(base)
        if not found or not found.start():
            break
        noun = base[: found.start()]
        if ends_as_noun(base):
            break
        is_short = len(noun) == 1 and (found[0] not in _AFTER_ONE_SYLLABLE or base != word)
        is_last = base != word and word[-1] in "이가을를" and found[0] not in _BEFORE_CASE
        if is_short or is_last or not fits_particle(noun, found[0]):
            break
        base = noun
    return base


def ends_as_noun(word: str) -> bool:
    """Return whether a word ends in a noun whose last syllable only looks like a particle: 출산휴가, 회의."""
    return word in _PARTICLE_LIKE or word.endswith(_PARTICLE_LIKE_ENDINGS)


def fits_particle(noun: str, particle: str) -> bool:
    """Return whether a particle may follow a noun: 이, 은, 을 and 과 follow consonants, 가, 는, 를 and 와 vowels."""
    coda = _coda(noun)
    if re.match("이|은|을|과|으", particle):
        return bool(coda)
    return not (coda and re.match("가|는|를|와|나|란|라|랑", particle))


def ends_in_consonant(word: str) -> bool:
    """Return whether a word ends in a consonant, which decides between 은 and 는."""
    return "가" <= word[-1:] <= "힣" and bool(_coda(word))


def strip_particles(word: str) -> str:
    """Return a word without the copula and the particles at its end."""
    return _strip(_STATED.sub("", word) or word)


def _coda(word: str) -> int:
    """Return the number of the final consonant of the last syllable, 0 if it ends in a vowel."""
    return (ord(word[-1]) - ord("가")) % 28


def _may_be_verb(word: str, base: str, after: str) -> bool:
    """Return whether a word may be a verb form without a noun in it: 태어난, 벌어진, 앓은, 말려야.

    One that modifies, such as 태어난, is none before a question word `after` it.
    """
    if _NOUN_VERB.match(word):
        return False
    if (
        not after
        and re.search("(?:나요|습니까|니까|는가|은가|나|니|냐|죠|요|까|[았었났했됐갔왔렸졌켰]어|돼)$", word)
        and not _COPULA.search(word)
    ):
        return True
    if not after or _QUESTION_WORD.match(after):
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
    if base in said.bare or (with_synonyms and any(_begins_word(word, said) for word in _alternatives(topic))):
        return True
    if found := _NOUN_VERB.match(base):
        return _is_held(_Topic(found[1], is_verb=False), said, with_synonyms=with_synonyms)
    if base in _PHONE_NOUNS and _PHONE.search(said.bare):
        return True
    if (dated := _DATE_NOUN.fullmatch(base)) and not topic.is_verb and _DAY.search(said.bare):
        return _is_held(_Topic(dated[1], is_verb=False), said, with_synonyms=with_synonyms)
    if topic.is_verb:
        return any(stem in said.letters for stem in _letter_stems(base)) or _begins_verb(_bare_stem(base), said)
    pairs = ["".join(pair) for pair in pairwise(base)]
    return len(base) >= _MIN_LONG_WORD and sum(pair in said.bare for pair in pairs) >= _HELD_PAIRS * len(pairs)


def _holds_halves(topic: _Topic, said: _Said, around: _Said) -> bool:
    """Return whether a text holds one half of a long noun, and its context the other: 출산 below 경조휴가."""
    if topic.is_verb or len(topic.base) < _MIN_LONG_WORD:
        return False
    halves = ((topic.base[:at], topic.base[at:]) for at in range(2, len(topic.base) - 1))
    return any(
        (first in said.bare and second in around.bare) or (second in said.bare and first in around.bare)
        for first, second in halves
    )


@lru_cache(maxsize=500)
def _read_text(text: str) -> _Said:
    words = text.split()
    starts = accumulate(map(len, words), initial=0)
    bare = "".join(words)
    return _Said(bare, frozenset(starts), unicodedata.normalize("NFD", bare))


def _begins_word(term: str, said: _Said) -> bool:
    """Return whether a word of a text begins with a term: 휴가 is no synonym of 연차 in 출산휴가."""
    return any(said.bare.startswith(term, start) for start in said.starts)


def _begins_verb(stem: str, said: _Said) -> bool:
    """Return whether a word of a text is a form of a verb whose stem is one closed syllable: 닫습니다 of 닫."""
    if len(stem) != 1 or _coda(stem) in (0, 4, 8, 16, 17, 20):  # none, or one that may belong to the ending
        return False
    return any(_AFTER_STEM.match(said.bare, start + 1) for start in said.starts if said.bare.startswith(stem, start))


def _index_synonyms(groups: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the synonyms of each word; a group is a text of words that mean the same."""
    found: dict[str, tuple[str, ...]] = {}
    for group in groups:
        words = tuple(group.split())
        for word in words:
            found[word] = (*found.get(word, ()), *words)
    return found


NOUN_SYNONYMS: tuple[tuple[str, ...], ...] = tuple(tuple(group.split()) for group in _WORDS["nouns"])
"""Everyday nouns for the same thing: 집주인 and 임대인."""
_SYNONYMS = _index_synonyms([*_WORDS["synonyms"], *_WORDS["nouns"]])
_STRICT_SYNONYMS = _index_synonyms(_WORDS["nouns"])
_PARTICLE_LIKE = frozenset(_WORDS["particle_like"].split())
_PARTICLE_LIKE_ENDINGS = tuple(_WORDS["particle_like_ending"].split())


def _alternatives(topic: _Topic) -> tuple[str, ...]:
    """Return synonyms of a word; of a verb, those of the stem it begins with."""
    word = topic.base
    stems = (word[:length] for length in range(len(word), 1 if len(word) > 2 else 0, -1)) if topic.is_verb else (word,)
    found = next((_SYNONYMS[stem] for stem in stems if stem in _SYNONYMS), ())
    return found if topic.is_verb else tuple(other for other in found if other != word)


def _bare_stem(word: str) -> str:
    """Return a verb without its endings: 닫나요 → 닫."""
    stem = word
    for _ in range(3):
        shorter = _VERB_ENDING.sub("", stem)
        if not shorter or shorter == stem:
            break
        stem = shorter
    return stem


@lru_cache(maxsize=5_000)
def _letter_stems(word: str) -> tuple[str, ...]:
    """Return the letters with which every form of a verb may begin: 말려야 → 말리, 태어났나요 → 태어나."""
    letters = unicodedata.normalize("NFD", _bare_stem(word))
    if letters[-1] >= "\u11a8":  # a final consonant belongs to the ending: 태어난, 벌어진
        letters = letters[:-1] if letters[-1] in "\u11ab\u11af\u11b7\u11b8\u11bb" else letters
    found = {letters}
    for short, full in (("ᅧ", "ᅵ"), ("ᅪ", "ᅩ"), ("ᅯ", "ᅮ"), ("ᅢ", "ᅡ"), ("ᅫ", "ᅬ")):
        if letters.endswith(short):
            found.add(letters[:-1] + full)
    return tuple(one for one in found if len(unicodedata.normalize("NFC", one)) > 1)  # one syllable is in other words
