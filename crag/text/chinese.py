"""Chinese questions: their topics, the kind of value they ask for, and what a text lacks of both.

Chinese does not separate words. A character of the question counts as held if it stands in a pair of characters that
the text has too; what is left, without the words that only frame a question, are the words that the text lacks.
Traditional and simplified characters are compared as written: a question has been read in those of the documents before
(`chinese_scripts.py`).
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise

from crag.text.patterns import lazy_regex

_HAN = lazy_regex("[\u3400-\u4dbf\u4e00-\u9fff]+")
_FIGURE = lazy_regex(r"\d[\d,.]*\d|\d")
_LATIN = lazy_regex(r"[A-Za-z][A-Za-z\d-]*")
_CLASSIFIER = (
    "[个個名位种種家座条條所間间次部本屆届只隻些顆颗箱班样樣门門項项句段场場件张張辆輛艘層层棟栋号號歲岁"
    "年月天日点點級级度成倍]"
)
_QUESTION_WORD = lazy_regex(
    rf"[什甚][麼么][時时]候|[什甚][麼么]地方|[為为]什[麼么]|[為为]何|什[麼么][樣样]?|甚[麼么]|哪一?{_CLASSIFIER}|哪[幾几兩两]{_CLASSIFIER}|哪[裡里兒儿]|哪"
    rf"|何[時时處处人種种]|何|[誰谁]|多少{_CLASSIFIER}?|[幾几]{_CLASSIFIER}?|如何|怎[麼么][樣样辦办]?|怎|是否|[多有][長长久大高遠远重深厚寬宽快]"
)
_FRAME = lazy_regex(
    "[請请][問问]|告[訴诉]我|我想知道|名字|名[稱称]|[稱称][為为]|被[稱称]|[叫稱称]做|叫作|[時时][候間间]|地[方點点]|原因|理由|意思|[應应][該该當当]|需要|可以|能[夠够]|必[須须]"
    "|是[誰谁]|星期|[禮礼]拜|情[況况形]|方面|一共|[總总]共|大[約约]|其中|之[間间後后前中]|目前|[現现]在|[當当][時时]|[這这][個个些樣样款台]?|那[個个些]?|[進进]行|[發发]生|出[現现]"
    "|哪些|包括|[內内]容|[關关]於|[關关]于|[對对]於|[對对]于|[屬属]於|[屬属]于|位[於于]|由於|由于|因[為为]|具[體体]|分[別别]|主要|[認认][為为]|知道|[覺觉]得"
    "|方式|方法|人物|人士|[個个]人|一[個个位座種种家]|[結结]果|[導导]致|造成|作[為为]|成[為为]|[參参][與与]|年份|日期|[錢钱]|[電电]?[話话][號号]碼|事情|東西|东西|收[費费]"
)
_WHERE_OR_WHEN = lazy_regex("(?:哪[裡里兒儿]|何[處处时時]|[么麼][时時]候)$")
_FUNCTION = (
    "的了嗎吗呢吧啊是在被與与和及於于為为有由也就都還还把將将給给對对向跟同用得過过著着或以之而且但並并要會会能不到去來来從从坐往"
    "可等及所其此該该那這这哪何誰谁什麼么多少幾几最更很太可應当時间候中上下前後后內内外起止讓让叫做稱称因此則则一二兩两個个名位"
    "请請休座家種种次隻只顆颗條条間间號号第每各共約约開开段點点款台"
)
_ASKED_NOUN = lazy_regex(
    rf"(?:(?![的在是被與与和於于了])[\u4e00-\u9fff]){{3,6}}[是為为]?(?:{_QUESTION_WORD.pattern}|[？?]|$)"
)
_CLASS_LENGTH = 4
"""Characters after 什麼 or 哪個 that may name a kind of thing and need not be in the answer: 哪個大學, 什麼獎."""
_NUMERAL = "[一二三四五六七八九十百千萬万億亿兩两半数數]"
_NUMBER = rf"(?:\d[,.]*\s?|{_NUMERAL})"  # its end: searching for whole numbers takes quadratic time on long ones
_DATE = lazy_regex(
    r"\d\s?[年月日號号]|[〇零一二三四五六七八九十][年月日]|世[紀纪]|年代|星期|[週周][一二三四五六日末]|[禮礼]拜|每[日天週周月年]|期[間间]|季|時期|时期|朝"
    r"|\d\s?[點点時时]|[前後后]|上午|下午|晚上|清晨"
)
_MONEY = lazy_regex(r"[元圓圆塊块鎊镑]|美金|免[費费]|NT|[$€£¥]|半[價价]|[\d萬万億亿]\s?[萬万億亿]|法郎|盧布")
_REASON = lazy_regex(
    "因|由[於于]|以免|以便|為了|为了|否[則则]|[導导]致|使|故|所以|以致|避免|防止|[緣缘]|受|[讓让]|之後|以後|鑑於|鉴于|出[於于]|基[於于]|容易|[會会]"
)
_TITLES = "(?:医生|醫生|大夫|[护護][士师師]|[药藥][师師]|老[师師]|教[练練]|律[师師]|主任|[经經]理)"
_COLOUR = (lazy_regex("[颜顏]色|什[么麼]色"), lazy_regex("色|[红紅黄黃蓝藍绿綠白黑灰紫橙棕金银銀]"))
_VALUE_PATTERNS: tuple[tuple[re.Pattern[str], re.Pattern[str]], ...] = (
    _COLOUR,
    (  # a name before the title, not a kind such as 全科医生
        lazy_regex(rf"哪[位个個名]{_TITLES}|{_TITLES}是[谁誰]"),
        lazy_regex(
            rf"(?<![\u4e00-\u9fff])[\u4e00-\u9fff]{{2,3}}{_TITLES}|(?:由|是|[为為]|科)[\u4e00-\u9fff]{{2,3}}{_TITLES}"
        ),
    ),
    (lazy_regex("[电電][话話](?:[号號][码碼])?(?:是|[为為])?(?:多少|[什甚][么麼])"), lazy_regex(r"\d(?:[ -]?\d){4}")),
    (lazy_regex("(?:星期|[週周]|[禮礼]拜)[幾几]"), lazy_regex("星期|[週周][一二三四五六日末]|[禮礼]拜|每[日天]|平日")),
    (
        lazy_regex("哪一?年|何年|[幾几]年(?![級级])(?=出|建|成|开|開|發|发|被|正|改|去|逝|過|过)"),
        lazy_regex(rf"\d\s?年|[〇零一二三四五六七八九十]年|年代|元年|{_NUMERAL}年"),
    ),
    (lazy_regex("[幾几][點点]"), lazy_regex(r"[\d一二三四五六七八九十兩两]\s?[點点時时]|\d:\d\d")),
    (
        lazy_regex(
            "多久|多[長长][時时][間间]|期.{0,2}多[長长]|[幾几多][少]?[年天日週周]|[幾几多]少?[個个](?:月|小[時时]|星期)|多少[個个]?小[時时]|[幾几]分[鐘钟]"
        ),
        lazy_regex(
            rf"{_NUMBER}\s?[個个]?(?:年|月|天|日|小[時时]|分[鐘钟]|[週周]|星期|世紀|秒)|每[日天週周月年]|終身|半[年天]"
        ),
    ),
    (
        lazy_regex(
            "多少[錢钱]|收[费費].{0,3}多少|[费費]用?(?:要|得)?多少|[價价]格|[費费]用是|票[價价]|[經经][費费]是|工[資资]是多少|月薪|租金|[幾几]元|[幾几][塊块]"
        ),
        _MONEY,
    ),
    (lazy_regex("百分之[幾几多]|比例|多少成|[幾几]成|百分比"), lazy_regex("[%％成]|百分之|分之|一半")),
    (
        lazy_regex("多少|[幾几]|[為为]多少|多[高大重遠远深寬宽快](?:[？?]|$)|[數数率量](?:是|為|为)?(?:[？?]|$)"),
        lazy_regex(rf"\d|{_NUMERAL}[\u4e00-\u9fff]"),
    ),
    (lazy_regex("何[時时]|[時时]候|日期|哪[一]?[天日月]|[幾几]月|[幾几][號号]|年份"), _DATE),
    (
        lazy_regex("哪[裡里兒儿]|在哪|何[處处地]|[什甚][麼么]地方|地[點点](?:是|在)"),
        lazy_regex(
            r"[在到至往](?!\d)|[於于](?!\d)|地址|[省市縣县區区鎮镇村路街道巷樓楼層层室廳厅館馆站門门園园場场山河湖島岛國国州院校]"
        ),
    ),
    (lazy_regex("[為为]什[麼么]|[為为]何|原因|理由|怎[麼么][會会]"), _REASON),
)
_OTHER_HOLDER = lazy_regex("上一任|上任|前任|下一任|下任|前一|上一|下一|副")


@lru_cache(maxsize=2_000)
def find_topics(question: str) -> tuple[str, ...]:
    """Return the topics of a question, without question words and words that only frame it."""
    bare = drop_frame(question)
    runs = (run.strip(_FUNCTION) for run in re.split("[的了嗎吗呢在是與与和]", bare) for run in _HAN.findall(run))
    return tuple(dict.fromkeys([run for run in runs if len(run) > 1] + _LATIN.findall(question)))


def drop_frame(question: str) -> str:
    """Return a question with spaces in place of its question words and the words that frame it."""
    return _FRAME.sub(" ", _QUESTION_WORD.sub(" ", question))


def find_missing_words(question: str, text: str) -> tuple[str, ...]:
    """Return the words of a question that a text does not hold."""
    others = (word for word in _OTHER_HOLDER.findall(question) if word not in text)
    return (*others, *(word for _, word in _find_missing(question, text)))


def find_missing_letters(question: str, text: str) -> tuple[str, ...]:
    """Return the first letters that a text lacks of what is asked about, as 急 of 急診掛號費 beside 專家門診掛號費."""
    return tuple(
        found[0][at]
        for found in _HAN.finditer(question)
        for at, marks in enumerate(pairwise(mark_held(found[0], text)))
        if marks == ("", "held")
        and found[0][at] not in text + _FUNCTION + _CLASSIFIER
        and _ASKED_NOUN.match(question, found.start() + at)
    )


def holds_focus(question: str, text: str) -> bool:
    """Return whether a text names the requested property of the subject: the word beside the question word."""
    return not any(_is_focus(question, at, word) for at, word in _find_missing(question, text))


def _find_missing(question: str, text: str) -> list[tuple[int, str]]:
    """Return the missing words with their places in the question."""
    missing: list[tuple[int, str]] = []
    for found in _HAN.finditer(question):
        run, start = found[0], found.start()
        signs = "".join(" " if mark else "-" for mark in mark_held(run, text))
        for gap in re.finditer("-+", signs):
            word = run[gap.start() : gap.end()].strip(_FUNCTION)
            at = start + run.index(word, gap.start())
            if len(word) > 1 or (word and word not in text and _is_focus(question, at, word)):
                missing.append((at, word))
    return missing


def mark_held(run: str, text: str) -> list[str]:
    """Return for each character whether the text holds it, whether it frames the question, or neither."""
    marks = [""] * len(run)
    for at in range(len(run) - 1):
        if run[at : at + 2] in text:
            marks[at] = marks[at + 1] = "held"
    for found in _QUESTION_WORD.finditer(run):
        marks[found.start() : found.end()] = ["frame"] * len(found[0])
        if re.match("[什甚哪何]", found[0]) and not _WHERE_OR_WHEN.search(found[0]):
            end = found.end()
            while end < min(len(run), found.end() + _CLASS_LENGTH) and marks[end] == "":
                marks[end] = "frame"
                end += 1
    for found in _FRAME.finditer(run):
        for at in range(found.start(), found.end()):
            marks[at] = marks[at] or "frame"
    return marks


def _is_focus(question: str, at: int, word: str) -> bool:
    """Return whether a word is the subject of the question: at its end, or right before the question word.

    Before "when" or "where" with a verb after it, that verb is: 出發 in 這趟旅行什麼時候出發？
    """
    rest = question[at + len(word) :].lstrip("的是為为有叫")
    if (asking := _QUESTION_WORD.match(rest)) and _WHERE_OR_WHEN.search(asking[0]):
        return not rest[asking.end() :].strip("？? 。呢")
    return bool(asking) or not rest.strip("？? 。")


_SAME_CLASSIFIERS = ("个個名位人口", "辆輛台臺部", "间間所家个個", "次回场場", "本册冊部", "元块塊")
_COUNTED = lazy_regex(rf"(?:多少|[幾几])({_CLASSIFIER})(?=[\u4e00-\u9fff？?]|$)")


def _counts_in(question: str, text: str) -> bool:
    """Return whether a text counts with the classifier that a question asks with: 36个 for 几个."""
    counted = _COUNTED.search(question)
    if not counted:
        return True
    same = {counted[1], *next((group for group in _SAME_CLASSIFIERS if counted[1] in group), "")}
    return bool(re.search(rf"{_NUMBER}\s?[余餘多]?[{''.join(sorted(same))}]", text))


def states_value(question: str, text: str) -> bool:
    """Return whether a text holds a value of the kind that the question asks for."""
    if not _counts_in(question, text):
        return False
    asked = set(_FIGURE.findall(question))
    bare = _FIGURE.sub(lambda found: "" if found[0] in asked else found[0], text)
    kind = next((value for asking, value in _VALUE_PATTERNS if asking.search(question)), None)
    return kind is None or bool(kind.search(bare))
