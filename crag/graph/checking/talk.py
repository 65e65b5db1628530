"""Sentences of an answer that make no claim and so need no source.

Recognised by closed lists and by form, never by the lack of a source: greetings and closings (the whole sentence is on
the list); lead-ins to a list (ending with a colon and containing *following*, *here* or similar); questions; marked
headings of at most four content words; and statements that the documents do not say something, without a `but`.
"""

from __future__ import annotations

import re

from crag.graph.checking.citations import without_citations
from crag.language import words

_HEADING_WORDS = 4
_POLITE = re.compile(
    r"(?:hi|hello|hey|sure|certainly|of course|absolutely|okay|ok|great question|good question|thanks|thank you"
    r"|you(?:'|’)?re welcome|(?:i )?hope (?:this|that) helps|let me know if{rest}|feel free to{rest}"
    r"|(?:please )?ask (?:me )?(?:again|if){rest}|here is (?:the|my|a|an) (?:short |brief )?(?:answer|summary)"
    r"|안녕하세요|물론입니다|물론이죠|감사합니다|도움이 되(?:었으면|셨기를|길){rest}|궁금한 점이{rest}"
    r"|你好|您好|当然|當然|好的|谢谢|謝謝|希望.{0,8}(?:帮助|幫助)|如果您?(?:还|還)?有.{0,12}(?:问题|問題){rest})".replace(
        "{rest}", "[^,;:—–，；]{0,60}"
    ),
    re.IGNORECASE,
)
_YES_OR_NO = re.compile(r"yes|no|네|예|아니요|아닙니다|是的?|不是|对|對|不", re.IGNORECASE)
_LEAD_IN = re.compile(
    r"\b(?:here|below|following|follows|these|this)\b|다음|아래|이렇습니다|같습니다|如下|以下|下面|下列", re.IGNORECASE
)
_SOURCES = r"(?:documents?|knowledge|passages?|sources?|text|context|materials?|information|excerpts?|results?)"
_TELL = (
    r"(?:say|state|mention|contain|provide|answer|specify|include|give|describe|explain|address|cover|discuss|tell"
    r"|hold|indicate|name|list|define|show)"
)
_SILENT = re.compile(
    rf"\b{_SOURCES}\b[^,.;]{{0,40}}\b(?:do(?:es)?|did|could|can)(?: not|n[’']t|not)\b (?:\w+ )?{_TELL}\b"
    rf"|\bnot (?:\w+ )?{_TELL}\w*\b[^,.;]{{0,30}}\b(?:in|by) (?:the|these|your)\b[^,.;]{{0,20}}\b{_SOURCES}\b"
    rf"|\b(?:I|we) (?:could(?: not|n[’']t)|cannot|can[’']t|did(?: not|n[’']t)) find\b"
    rf"|\b(?:there is|found|have|has) (?:no|nothing|neither)\b[^,.;]{{0,30}}\b(?:in|about|on)\b"
    r"[^,.;]{0,40}\b(?:documents?|knowledge|passages?|sources?|context|excerpts?)\b"
    r"|(?:자료|문서|문맥|구절|지식)(?:에|에는|에서|에서는|는|은|만으로는)\s.{0,60}(?:없습니다|없다|않습니다|않는다|않았습니다)"
    r"|(?:资料|資料|文件|文档|文檔|段落|知识|知識)(?:中|里|裡)?.{0,8}"
    r"(?:(?:没有|沒有|并未|並未|未)(?:提到|提及|说明|說明|提供|回答|涉及|给出|給出|包含|相关|相關|答案)|无法回答|無法回答)",
    re.IGNORECASE,
)
_HOWEVER = re.compile(
    r"\b(?:but|however|though|although|yet|instead|still|nevertheless|because|since"
    r"|and (?:the|it|this|that|he|she|they|you|there|so))\b"
    r"|[;:—]|지만|그러나|하지만|는데|但|不过|不過|然而|而是",
    re.IGNORECASE,
)
_MARKED_HEADING = re.compile(r"\s*(?:#{1,6}\s+.*|\*\*[^*]+\*\*:?|__[^_]+__:?)\s*")


def is_yes_or_no(sentence: str) -> bool:
    """Return whether a sentence only says yes or no; its support is that of the next sentence."""
    return bool(_YES_OR_NO.fullmatch(without_citations(sentence).strip(" *_.,!。，！")))


def claims_something(sentence: str) -> bool:
    """Return whether a sentence makes a claim that needs a source."""
    bare = without_citations(sentence).strip()
    plain = bare.strip(" \t*_#>-.!。！~,，")
    if not re.search(r"\w", plain) or _POLITE.fullmatch(plain):
        return False
    if bare.endswith(("?", "？")):
        return False
    if bare.rstrip("*_ ").endswith((":", "：")) and _LEAD_IN.search(bare):
        return False
    if _SILENT.search(bare) and not _HOWEVER.search(bare):
        return False
    return not (_MARKED_HEADING.fullmatch(bare) and len(words(bare)) <= _HEADING_WORDS)
