"""Chinese rules, for both scripts."""

from __future__ import annotations

import re
from collections.abc import Iterator

from crag.library.questions.surroundings import MIN_MENTIONS, DerivedQuestion, Surroundings
from crag.text.language import detect_written_language
from crag.text.patterns import lazy_regex

_NAME = (
    r"^(?P<name>[^\s，。、；：？！“”「」《》的是了在於于與与和及他她它其這这此該该又也而但並并年月日有為为不就被將将把从從以到說说後后前時时\d]{2,12}?)"
    r"(?P<gloss>（[^）]{1,60}）)?"
)
_PERSON = lazy_regex(
    r"(?:[學学術术]家|作家|[畫画]家|政治家|企[業业]家|音[樂乐]家|[詩诗]人|[軍军]人|商人|歌手|演[員员]|教授|皇帝|[國国]王|[將将][領领]|[導导]演|[總总][統统]"
    r"|[運运][動动][員员]|球[員员]|人物|律[師师]|工程[師师])$"
)
_THING = lazy_regex(
    "[術术法學学論论制度統统機机器件物質质語语病症藥药酒茶菜節节會会團团織织司校院台臺站網网路橋桥寺塔書书報报刊誌志片劇剧曲歌樂乐戲戏隊队黨党派教種种類类型式象程念具架構构框品牌業业"
    "圈帶带線线牆墙殿宮宫像畫画粒體体素元率權权稅税約约利貨货幣币務务策規规則则識识]$"
)
_DEFINITION = lazy_regex(
    rf"{_NAME}是(?P<what>(?:指|一[種种個个座所部家款項项套類类條条]|[^，。；]{{2,}}的|[^，。；]{{4,}}之一)[^，。；]*)"
)
_EVENT = lazy_regex(
    rf"{_NAME}，?(?:(?P<verb>成立|創立|创立|創辦|创办|創建|创建|建立|開通|开通|通車|通车|建成|落成)[於于]\s?(?:公元|西元)?\d{{3,4}}年"
    r"|[於于在]\s?(?:公元|西元)?\d{3,4}年(?:\d{1,2}月)?(?:\d{1,2}日)?(?:正式)?(?P<late>成立|創立|创立|創辦|创办|創建|创建|建成|落成|通車|通车|開通|开通))"
)
_PLACE = lazy_regex(rf"{_NAME}，?(?:主要)?(?:位於|位于|坐落於|坐落于)[^，。；]{{2,}}")
_QUOTED_EVENT = lazy_regex(
    r"^[^，。；“\"「]{0,10}[“\"「](?P<name>[^”\"」]{2,10})[”\"」](?P<verb>成立|創立|创立|創辦|创办|創建|创建|建立)[於于]\s?\d{3,4}年"
)
_BUILT = lazy_regex(r"建[於于]\s?(?:公元|西元)?\d{3,4}年的(?P<name>[^，。、的]{2,8})[，。]")
_BEST_TIME = lazy_regex(r"是(?P<name>[^，。]{2,10}的最佳(?:季节|季節|时间|時間))[，。]")
_BECAUSE = lazy_regex(
    r"^(?P<name>(?=[^，。]*(?:不可|不能|不得|禁止|必須|必须|須|须|需要|應該|应该|被視|被视|被稱|被称))[^，。；、\d但]{5,22})，因[为為]\S"
)
_FACTS = (
    (_QUOTED_EVENT, "{name}是什么时候{verb}的？", "{name}是什麼時候{verb}的？"),
    (_BUILT, "{name}是什么时候建的？", "{name}是什麼時候建的？"),
    (_BEST_TIME, "{name}是什么时候？", "{name}是什麼時候？"),
    (_BECAUSE, "为什么{name}？", "為什麼{name}？"),
)
_PARTS = lazy_regex(
    r"^(?P<what>.{2,14}?)的?(?P<part>類型|类型|種類|种类|優點|优点|缺點|缺点|特點|特点|作用|目的|原因|流程|步驟|步骤|條件|条件|要求|範圍|范围)$"
)
_MIN_NAME_CHARACTERS = 3
_REFERRING = lazy_regex(
    "^[這这那該该此本其他她它我你您]|^(?:因|因此|所以|目前|現在|现在|當|当|雖|虽|由|對|对|如|若|一|兩|两|三|第|另|同|某|各|每|最|主要|公司|學校|学校|全)"
)


def ask_about_sentence(sentence: str, heading: str, around: Surroundings) -> Iterator[DerivedQuestion]:
    """Yield the question that a sentence answers, if a rule fits it."""
    traditional = detect_written_language(around.text) == "zh-Hant"
    for rule, simplified_words, traditional_words in _FACTS:
        if (found := rule.search(sentence)) and not _REFERRING.search(found["name"]):
            words = traditional_words if traditional else simplified_words
            yield DerivedQuestion(words.format(**found.groupdict()), found["name"])
            return
    for rule, kind in ((_EVENT, "when"), (_PLACE, "where"), (_DEFINITION, "what")):
        if (found := rule.match(sentence)) and _is_name(found, heading, around):
            if question := _ask_what(found, kind, traditional=traditional):
                yield DerivedQuestion(question, found["name"])
            return


def _is_name(found: re.Match[str], heading: str, around: Surroundings) -> bool:
    name = found["name"]
    if _REFERRING.search(name):
        return False
    known = name in heading or name in around.title or bool(found["gloss"])
    return known or (len(name) >= _MIN_NAME_CHARACTERS and around.count(name) > MIN_MENTIONS)


def _ask_what(found: re.Match[str], kind: str, *, traditional: bool) -> str:
    name = found["name"]
    if kind == "when":
        verb = found["verb"] or found["late"]
        return f"{name}是什麼時候{verb}的？" if traditional else f"{name}是什么时候{verb}的？"
    if kind == "where":
        return f"{name}位於哪裡？" if traditional else f"{name}位于哪里？"
    if re.match(r"[因由以在從从最不非很第唯被為为\d]", found["what"]) or found["what"].endswith("的"):
        return ""
    if _PERSON.search(found["what"]):
        return f"{name}是誰？" if traditional else f"{name}是谁？"
    if not _THING.search(found["what"]):
        return ""
    return f"{name}是什麼？" if traditional else f"{name}是什么？"


def ask_about_heading(heading: str, around: Surroundings) -> Iterator[DerivedQuestion]:
    """Yield the question that the text under a heading answers, if a rule fits the heading."""
    traditional = detect_written_language(around.text) == "zh-Hant"
    if heading.endswith(("？", "?")):
        if len(heading) >= 6 and not _REFERRING.search(heading):
            yield DerivedQuestion(heading, heading)
    elif re.match(r"^(?:如何|怎样|怎樣|怎么|怎麼)\S{3,}$", heading):
        yield DerivedQuestion(f"{heading}？", heading)
    elif found := _PARTS.match(heading):
        what, part = found["what"], found["part"]
        if part in ("類型", "类型", "種類", "种类"):
            yield DerivedQuestion(f"{what}有哪些{part}？", heading)
        else:
            yield DerivedQuestion(f"{what}的{part}是{'什麼' if traditional else '什么'}？", heading)
