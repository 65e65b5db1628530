"""Language of a text: script, sentences, terms and key words. Pure functions without a model or data files."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache

from crag.text.patterns import lazy_regex
from crag.types import Language, WrittenLanguage

HAN_KANA_RANGES = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
HANGUL_RANGES = "\u1100-\u11ff\uac00-\ud7af"
_CJK = lazy_regex(f"[{HAN_KANA_RANGES}{HANGUL_RANGES}]")
_HANGUL_START = lazy_regex(f"[{HANGUL_RANGES}]")
_TOKEN = lazy_regex(
    rf"[{HAN_KANA_RANGES}]+|[{HANGUL_RANGES}]+|\d+(?:[.,]\d+)*|[^\W\d_{HAN_KANA_RANGES}{HANGUL_RANGES}]+"
)
_NUMBER = r"\(?(?:\d{1,2}|[가나다라마바사아자차카타파하])[.)]"
_LIST_ITEM = lazy_regex(rf"\s*(?:[-*+•·‣▪–]\s+|{_NUMBER}\s+|\(?[a-zA-Z][)]\s+|[①-⑳])")
_ITEM_LABEL = lazy_regex(r"[^\W\d_][\w’'-]*(?: [\w’'-]+){0,2}[:：] ?\S")  # "- Kitchen: food. Speaker: Ada Moor"
_LIST_MARK = lazy_regex(rf"^\s*(?:[-*+•·‣▪–]|{_NUMBER}|[①-⑳])\s+")
_SECTION_NUMBER = lazy_regex(
    rf"(?:{_NUMBER}|\(?[a-zA-Z][)]|(?:\d{{1,2}}(?:\.\d{{1,2}}){{1,3}}|[IVX]{{1,5}}|[Ⅰ-Ⅿⅰ-ⅿ])\.)\s+"
)
_BOLD_START = lazy_regex(r"(?:[-*]\s+)?\*\*")
_TABLE_ROW = lazy_regex(r"\s*\|.*\||.*\S\s*\|\s+\S.*\|?\s*$")
_MAX_LABELLED_LINE = 60  # characters; a longer one may have been wrapped
_MAX_NUMBER_LENGTH = 12  # characters, as in `10.10.2.10.`
_LABELLED_LINE = lazy_regex(
    rf"(?:[A-Z][^\W\d_]*(?: [^\W\d_]+){{0,2}}|[{HAN_KANA_RANGES}{HANGUL_RANGES}·/ ]{{2,12}}(?:\([^()]{{1,12}}\))?)"
    r"\s?(?::\s+|：\s*)\S"
)
_LABEL_WITHOUT_COLON = (  # few words without an article, a verb or a particle, which are part of a sentence
    r"(?:[A-Z][^\W\d_]*(?: (?!(?:is|are|was|were|the|an?|of|in|on|at|to|for|by|with|within|after|before|and|or|than"
    r"|first|last|next|has|have|had)\b)[^\W\d_][\w-]*){0,3}(?<!The)(?<!Top)"
    r"|[가-힣]+(?<![은는을를에의])(?:[ ·][가-힣]+(?<![은는을를에의])){0,3}(?:\([^()]{1,12}\))?"
    r"|[\u4e00-\u9fff]{2,10}(?: [\u4e00-\u9fff]{2,4})?)"
)
_AMOUNT = (
    r"(?:[$€£¥₩]\s?\d[\d.,]*|(?!(?:19|20)\d\d$)\d[\d-]+\d"
    r"|\d[\d.,]*\s?(?:days?|weeks?|months?|hours?|minutes?|euros?|pounds?|dollars?|people|km|kg|m|㎡|%"
    r"|[백천만억]?\s?(?:원|명|인|개|대|건|회|부|곳|주|개월|시간|분|박|평|권)|일"
    r"|[万萬亿億]?[元圆圓]|[天间間台人名次件份個个]|[平公][里斤方米]{1,2}|[個个]月|小[时時]|分[钟鐘]))"
)
_STATED_AMOUNT = lazy_regex(
    rf"{_LABEL_WITHOUT_COLON}\s(?:(?:약|최대|연|월|约|約|最多|up to)\s?)?{_AMOUNT}"
)  # "病假 60天"
_HEADING = lazy_regex(r"\s*#{1,6}\s+\S")
_MARKED_LINE = lazy_regex(rf"{_LIST_ITEM.pattern}|{_HEADING.pattern}|```|>\s|{_TABLE_ROW.pattern}")
_OPEN_END = lazy_regex(  # of a line that a sentence goes on after; "What we are made of" is a heading
    r"(?:\b(?:the|an?|and|or|by|must|whose|their|its|every)"
    r"|^(?!(?:What|Who|Where|How|Which|When|Why|Things?)\b).*\bof|[,，、]|\w[-‐\ufffe])\s*$"
)
_BARE_NUMBER = r"(?<!\S)[-−–]?\d+(?:[.,]\d+)*%?(?:\s+|$)"
_AXIS = lazy_regex(f"(?:{_BARE_NUMBER}){{5}}")
_SHORT_AXIS = lazy_regex(f"(?:{_BARE_NUMBER}){{3}}")
_SENTENCE_END = lazy_regex(r"[.!?:;|。！？：；…]['\"”’」』)\]）*_]*\s*$")
_MAX_JOINED_LINES = 10_000  # characters; without end, each of a million lines would be compared with all before it
_MAX_CJK_HEADING = 25  # characters
_MAX_ABBREVIATION = 8  # characters
_MAX_ENDING = 16  # characters: "in hepatitis B."
_SENTENCE_BOUNDARY = lazy_regex(  # starts with a single character class because the engine can search for that quickly
    r"[.!?…。！？](?:(?<=[.!?…])['\"”’)\]*_]*(?:\[\d{1,3}\])*\s+(?=[^\sa-z])|(?<=[。！？])[。！？”’」』）]*\s*(?=\S))"
)
_ABBREVIATION = lazy_regex(
    r"(?:\b(?:mr|mrs|ms|dr|prof|st|sr|jr|vs|al|fig|figs|eq|eqs|sec|no|nos|vol|pp?|ed|eds|cf|ca|approx|inc|ltd|co|corp"
    r"|gen|col|capt|sgt|rev|hon|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec|e\.g|i\.e|u\.s|u\.k|ph\.d|a\.m|p\.m)"
    r"|(?:^|[\s(.])[A-Z])\.$",
    re.IGNORECASE,
)
_NAMED_BY_LETTER = lazy_regex(  # "in Group B. Nobody died": no initial of a name
    r"\b(?:group|class|type|room|hall|house|block|building|unit|flat|part|section|schedule|annex|appendix|zone|level"
    r"|stage|phase|plan|option|team|vitamin|hepatitis|grade|category|site|gate|terminal|pitch|wing|band|list) [A-Z]\.$",
    re.IGNORECASE,
)
_STOP_WORDS = frozenset(
    """
    a an and are as at be been being but by can could did do does doing done for from had has have having he her
    hers him his how i if in into is it its itself me my no not of off on one or our out she should so some such
    than that the their them then there these they this those to too up us use used uses using was we were what
    when where which while who whom whose why will with would you your s t also about please tell explain describe
    give name many much may might must shall any each other more most very just only own same both between during
    before after because until again once here all over under re ve ll d m don doesn didn isn aren wasn weren mean
    am im ive dont doesnt didnt cant couldnt wont wouldnt shouldnt isnt arent wasnt werent havent hasnt whats thats
    hows wheres whos lets theres youre theyre oh hey anything something anyone someone whether
    happen happens happened occur occurs occurred arise arises exist exists exactly kind sort like called known
    aber als auch auf aus bei bis das dass dem denn der des dich diese diesem diesen dieser dieses durch ein
    eine einem einen einer eines für gibt haben ich ihr ihre im ist kann können mein mich mir nach nicht noch nur
    oder ohne sehr sein sich sie sind über um und uns unter viel viele vom von wann warum welche welchem welchen
    welcher welches wem wen wenn wer werden wessen wie wieso wird wo wurde wurden zu zum zur zwischen
    """.split()  # noqa: SIM905 — a list literal would be unreadable
)
_KOREAN_QUESTION = lazy_regex(
    "^(?:무엇|무슨|누구|누가|언제|어디|어느|어떤|어떻게|얼마|얼마나|몇|왜|뭐|뭔|있는|있던|있다|있었|하는|되는|대한|위한|통해"
    "|것|것은|그|이|저|수|때|중|및|또는|그리고|알려|설명|말해|하나|하였|했던|했는|된|한|할|그건|그게|이건|이게)"
    "(?:인가요?|인지|일까요?|입니까|이었나요?|였나요?|이야|야|니|은|는|이|가|을|를|에|에서|의|로|으로|와|과|나|며|고|지)?"
    "(?:줘|주세요|하나요?|했나요?|하는가|했는가|한가요?|인가요?|인가|되나요?|됐나요?|되었나요?|요)?$"
    "|^(?:언제|어디|누구|얼마|무엇|뭐|며칠)(?:까지|부터|에서|에게|서)?(?:인가요?|입니까|일까요?|이?에요|예요|이?죠)?$"
    "|^(?:세|살|명|개|년|일|월|시|분|초|번|권|층|점|대|원|회|호|쪽|도|주|달|개월|미터|시간)"
    "(?:인가요?|입니까|일까요?|이었나요?|였나요?|이에요|예요|이나|이야|되나요?|하나요?)$"
)
_KOREAN_ENDING = lazy_regex(
    "(?:이라는|라는|이라고|라고|에서는|에게서|으로는|에서|에게|으로|까지|부터|처럼|보다|이나|하고|인가요|인가|이었나|였나|입니까|"
    "했나요|했는가|하였는가|했나|하나요|하는가|한가|되었나|됐나|었나요|었는가|었나|았나|은|는|이|가|을|를|의|에|로|와|과|도|만)$"
)
# Excludes particles that are also endings of many nouns: 고양이, 제주도, 결과, 민주주의, 작가.
_KOREAN_PARTICLE = lazy_regex(
    "(?:이라는|라는|이라고|라고|에서는|에게서|으로는|에서|에게|으로|까지|부터|처럼|보다|인가요|인가|이었나|였나|입니까|했나요|했는가|하였는가|했나"
    "|하나요|하는가|한가|되었나|됐나|었나요|었는가|었나|았나|은|는|을|를|에)$"
)
_CHINESE_QUESTION = lazy_regex(
    "[什甚][麼么]|[誰谁]|哪(?:一?[個个種种]|一|些|[裡里]|位|[兒儿]|年)?|[何][時时處处人]|[為为]何|如何|怎[麼么]?[樣样]?|多少"
    "|[幾几][個个]?|是否|[請请][問问]|[為为]什[麼么]|[的了嗎吗呢在是被與与和及於于為为個个有由也將将]"
)


def is_cjk(text: str) -> bool:
    """Return whether most letters of `text` are Chinese, Japanese or Korean."""
    letters = sum(character.isalpha() for character in text)
    return 2 * len(_CJK.findall(text)) > letters


def is_list_item(line: str) -> bool:
    """Return whether the line is a list item or a table row."""
    return bool(_LIST_ITEM.match(line)) or is_table_row(line)


def is_labelled_line(line: str) -> bool:
    """Return whether a line states a value after a label, as in "Venue: Hall 3", "담당자: 김민수" or "病假 60天"."""
    return bool(_LABELLED_LINE.match(line)) or (
        len(line) <= _MAX_LABELLED_LINE and bool(_STATED_AMOUNT.fullmatch(line))
    )


def read_label(line: str) -> str:
    """Return the label of a line or list item that states a value after a colon; empty if there is none."""
    text = strip_list_mark(line)
    return re.split("[:：]", text, maxsplit=1)[0] if _LABELLED_LINE.match(text) else ""


def is_label_border(before: str, line: str) -> bool:
    """Return whether one of two lines in a row states a value after a label, so that they are not one sentence."""
    return is_labelled_line(line) or (is_labelled_line(before) and len(before) <= _MAX_LABELLED_LINE)


def continues_item(sentences: Sequence[str], at: int) -> bool:
    """Return whether the sentence at an index belongs to the list item before it: another item follows it."""
    return (
        0 < at < len(sentences) - 1
        and is_list_item(sentences[at - 1])
        and is_list_item(sentences[at + 1])
        and not is_table_row(sentences[at - 1])
        and not is_list_item(sentences[at])
        and not is_heading(sentences[at])
        and not sentences[at].endswith((":", "："))
    )


def strip_list_mark(line: str) -> str:
    """Return a list item without its bullet or number."""
    return _LIST_MARK.sub("", line).strip()


def read_mark_style(line: str) -> str:
    """Return the bullet or the form of the number of a list item, alike for items of one list: `1.` for "2. Rent"."""
    mark = _LIST_MARK.match(line)
    return re.sub(r"[\d가-힣①-⑳]+", "1", mark[0].strip()) if mark else ""


_RESTRICTION = lazy_regex(
    r"(?:however|but|except|unless|exceptions?:|provided that|notwithstanding)\b"
    r"|(?:this|that|these|it)\b[^.]{0,30} (?:does|do|shall|will) not apply\b"
    r"|(?:he|she|it|they) (?:did|does|do|was|were|is|are) not(?=[:;,.—])|(?:in (?:fact|truth|reality)|actually),"
    r"|(?:this|that|it) (?:is|was) (?:(?:not|un)\s?(?:so|true|the case)|wrong|false|a (?:myth|mistake|legend))\b"
    r"|(?:(?:it|they|we) (?:is|are) )?closed (?:on|every|all|for|during)\b"
    r"|[^.。]{0,15}(?:휴무|쉽니다|쉬어요|不[营營][业業]|公休|店休)"
    r"|(?:다만|단[,，]|예외)|(?:그러나|하지만).*(?:제외|예외|제한|한하|아니|않|없|못)"
    r"|(?:이는 |그것은 )?사실이 아니|실제로는|사실은"
    r"|但|惟|唯(?!一)|不[過过][，,]|然而|例外|除(?![了夕])[^，。]{1,30}外|(?:上述|前[項项述]|本[條条]).*不[適适]用"
    r"|其[實实]|事[實实]上|[實实][際际]上|[這这此]?[並并]非(?:如此|事[實实])",
    re.IGNORECASE,
)


def restricts_previous(sentence: str) -> bool:
    """Return whether a sentence limits or denies the one before: "However, …", "It is closed on …", "다만, …"."""
    text = strip_list_mark(sentence)
    is_item = text != sentence.strip()
    return bool(_RESTRICTION.match(text.lstrip("※*( "))) or (text.startswith("Only ") and not is_item)


def is_table_row(line: str) -> bool:
    """Return whether the line is a table row, with cells between bars."""
    return "|" in line and bool(_TABLE_ROW.match(line))


def is_heading(line: str) -> bool:
    """Return whether the line is a heading: marked as in Markdown, or short and without end punctuation.

    A line that breaks off within a sentence is none, and neither are the numbers along the axis of a figure.
    """
    if _HEADING.match(line):
        return True
    return (
        len(line) <= 60
        and not is_list_item(line)
        and not is_labelled_line(line)
        and not _SENTENCE_END.search(line)
        and not line[:1].islower()
        and not breaks_off(line)
        and not _SHORT_AXIS.search(line)
    )


def breaks_off(line: str) -> bool:
    """Return whether a line ends within a sentence: in a word such as *the* or *of*, a comma or a hyphen."""
    return bool(_OPEN_END.search(line))


def has_axis(line: str) -> bool:
    """Return whether a line has many numbers with nothing but spaces between them, as the axis of a figure."""
    return bool(_AXIS.search(line))


def is_heading_above(line: str, below: str) -> bool:
    """Return whether a line is a heading of the one below; "3. Rent" is one, and no list item, above a sentence."""
    if line[:1].isdigit() and is_list_item(line):
        return bool(below) and not (is_list_item(below) or is_heading(below)) and is_heading(strip_list_mark(line))
    return is_heading(line)


def split_sentences(text: str) -> list[str]:
    """Return the sentences, headings, list items and table rows of `text` in order, stripped and non-empty.

    Lines wrapped at the page width are joined first.
    """
    return [sentence for paragraph in split_paragraphs(text) for sentence in paragraph]


def split_paragraphs(text: str) -> list[list[str]]:
    """Return what `split_sentences` does, by paragraphs: a list item is one, a heading or table row as well."""
    return [_split_line(line) for line in _join_wrapped_lines(text)]


def join_sentences(parts: Sequence[str]) -> str:
    """Join sentences into readable text.

    List items and headings get lines of their own, apart from the text where they would be read as its beginning; prose
    is joined by spaces, Chinese without.
    """
    text = ""
    for part in parts:
        before = text[text.rfind("\n") + 1 :]
        if not text:
            text = part
        elif _stands_alone(part) or _stands_alone(before):
            is_apart = _continues_line(before, part) and not continues_sentence(before, part)
            text += ("\n\n" if is_apart else "\n") + part
        else:
            text += ("" if re.search("[。！？”」』]$", text) else " ") + part
    return text


def _stands_alone(line: str) -> bool:
    return bool(_MARKED_LINE.match(line)) or is_heading(line) or not _ends_sentence(line)


def _ends_sentence(line: str) -> bool:
    return bool(_SENTENCE_END.search(line[-20:]))


def extract_terms(text: str) -> list[str]:
    """Return the search terms of `text` in order: stemmed words, numbers, and character bigrams of Chinese and Korean.

    Stop words and question words are left out.
    """
    return [term for token in _TOKEN.findall(text) for term in _token_terms(token)]


def find_tokens(text: str) -> Iterator[tuple[int, str]]:
    """Yield (start offset, token) for every word, number and run of Chinese or Korean characters, as written."""
    return ((found.start(), found.group()) for found in _TOKEN.finditer(text))


def extract_words(text: str) -> list[tuple[str, tuple[str, ...]]]:
    """Return (word, its terms) for each content word of `text`, as written and in order."""
    return [(token, found) for token in _TOKEN.findall(text) if (found := _token_terms(token))]


def extract_key_words(text: str) -> list[tuple[str, tuple[str, ...]]]:
    """Return (word, its terms) as `extract_words` does, with words in the form used in a search box.

    Korean words lose their particles. Chinese is split at question words and particles.
    """
    bare = (word for token in _TOKEN.findall(text) for word in _strip_particles(token))
    return [(word, found) for word in bare if (found := _token_terms(word))]


def _strip_particles(token: str) -> list[str]:
    if token.isascii():
        return [token]
    if _HANGUL_START.match(token):
        shorter = _KOREAN_PARTICLE.sub("", token)
        return [shorter if len(shorter) >= 2 and not _KOREAN_QUESTION.match(token) else token]
    if _CJK.match(token):
        return [run for run in _CHINESE_QUESTION.split(token) if run]
    return [token]


def _join_wrapped_lines(text: str) -> list[str]:
    lines: list[str] = []
    for raw in text.splitlines():
        line = raw.strip()
        if not line:
            lines.append("")
        elif lines and 0 < len(lines[-1]) < _MAX_JOINED_LINES and _continues_line(lines[-1], line):
            lines[-1] += " " + line
        else:
            lines.append(line)
    return [line for line in lines if line]


def _continues_line(before: str, line: str) -> bool:
    """Return whether `line` continues `before`, which was wrapped at the page width."""
    if _MARKED_LINE.match(line) or _HEADING.match(before) or is_table_row(before) or _ends_sentence(before):
        return False
    if is_label_border(before, line):
        return False
    return (len(before) > 60 and not before.isupper()) or continues_sentence(before, line)


def continues_sentence(before: str, text: str) -> bool:
    """Return whether the sentence that is open at the end of `before` certainly goes on with `text`.

    In Chinese and Korean, which have no capitals, its length tells it from a heading.
    """
    return not _ends_sentence(before) and (text[:1].islower() or (len(before) > _MAX_CJK_HEADING and is_cjk(before)))


def _split_line(line: str) -> list[str]:
    if is_table_row(line):
        return [line]
    parts: list[str] = []
    start = 0
    is_item = bool(_LIST_ITEM.match(line))
    for border in _SENTENCE_BOUNDARY.finditer(line):
        sign, end = border.start() + 1, border.end()
        if is_item and _ITEM_LABEL.match(line, end):
            continue
        if line[sign - 1] == "." and _ends_in_abbreviation(line[max(start, sign - _MAX_ENDING) : sign]):
            continue
        if sign - start <= _MAX_NUMBER_LENGTH and _SECTION_NUMBER.fullmatch(line, _skip_bold(line, start), end):
            continue
        parts.append(line[start:end].strip())
        start = end
    parts.append(line[start:].strip())
    return [part for part in parts if part]


def _skip_bold(line: str, start: int) -> int:
    """Return where the text begins that a line sets in bold, perhaps as a list item; else `start`."""
    mark = _BOLD_START.match(line, start)
    return mark.end() if mark else start


def _ends_in_abbreviation(text: str) -> bool:
    return _is_abbreviation(text[-_MAX_ABBREVIATION:].split()[-1]) and not _NAMED_BY_LETTER.search(text)


@lru_cache(maxsize=10_000)
def _is_abbreviation(word: str) -> bool:
    return bool(_ABBREVIATION.search(word))


def _stem_word(word: str) -> str:
    """Return a light English stem without plural, -ing, -ed or -ly, at least three letters long."""
    if len(word) < 4 or not word.isalpha():
        return word.replace(",", "")
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zes", "ases")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is", "ias")):
        word = word[:-1]
    for ending in ("ing", "ed", "ly"):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and re.search("[aeiouy]", word[: -len(ending)]):
            return _tidy_stem(word[: -len(ending)])
    return word[:-1] if word.endswith("e") and len(word) > 4 else word


def _tidy_stem(stem: str) -> str:
    if len(stem) > 3 and stem[-1] == stem[-2] and stem[-1] not in "lsz":
        return stem[:-1]
    return stem[:-1] if stem.endswith("e") and len(stem) > 4 else stem


@lru_cache(maxsize=50_000)
def _token_terms(token: str) -> tuple[str, ...]:
    word = token.lower()
    if token.isascii():
        return () if word in _STOP_WORDS else (_stem_word(word),)
    if _HANGUL_START.match(token):
        if _KOREAN_QUESTION.match(token):
            return ()
        shorter = _KOREAN_ENDING.sub("", token)
        return _character_pairs(shorter if len(shorter) >= 2 else token)
    if _CJK.match(token):
        return tuple(pair for run in _CHINESE_QUESTION.split(token) for pair in _character_pairs(run))
    return () if word in _STOP_WORDS else (word,)


def _character_pairs(run: str) -> tuple[str, ...]:
    if len(run) < 2:
        return (run,) if run else ()
    return tuple(run[index : index + 2] for index in range(len(run) - 1))


_MIN_SCRIPT_SHARE = 0.2
# Common characters that simplified Chinese writes in another way
_TRADITIONAL_CHINESE = frozenset(
    "並亞來倉個們備傳債傷價億優儲兒內別則剎創劃劑動務勝勞勵區員問啟喪單嗎嚴囉囑國園圓圖團執報場壓夠夢婦嬰孫學"
    "實審寫寬寵寶專對導屆層屬嶺嶼帥師帳帶幣幫幹幾庫廟廠廣廳張強彈彎彙後徑從徵態慣憂憶應懷戰戶撥擁擇擊擋擔據擴"
    "擾攔攝敵數斷於時暫書會東條業極榮構樂樓標樣樹橋機橫檔檢權歐歡歲歷歸殘殺殼毀氣決沒況涼淚淨淺減測湯準溝溫滅"
    "滿漁漢漲潔潛潤澤濁濕濟灑灣為無煙熱燈燒爐爭爾牆獎獨獲獵獻現環產畝畢畫異療發盡監盤眾睜確碼礦禍禮稅種稱穀積"
    "穩窮竊競筆節築簡簽籃紀約紅純紗紙級紛細終組結絕絡給統經綜綠維綱網緊線緣編緩練縣縮縱總織繩繪繳繼續罰羅義習"
    "聖聞聯聲職聽肅脈脫腦腳臉臨臺與舉舊艦艱萬藍藝藥蘇處虛號蝦蟲術衛衝裏裝裡製褲襲見規視覺觀觸訂計訊討訓託記訪"
    "設許訴診註評詞詢試詩話該詳誇誌認誘語誤說誰課調談請論諸謀謝謹證識譜譯議護讀變讓讚豐豬貝負財貢貧貨販貫責貴"
    "買貸費貼貿賀資賊賓賞賠賢賣質賬賴購賽贈趕跡踐蹤車軌軍軟較載輕輛輝輩輪輯輸轄轉辦辭農這連週運過達遙遞遠適遲"
    "遷選遺還邊郵鄉醜醫釋針鈔銀銅銳銷鋁鋪鋼錄錢錦錯鍋鍵鎖鎮鏈鏡鐘鐵鑽長門閃閉開閒間閱闊關陣陰陳陸陽隊際隨險隱"
    "雖雙雜雞離難雲電霧靈靜響頁頂項順須預頓頗領頭頻題額願顛類顧顯風飛飯飲飾餅館馬驅驕驗驚體髮鬆鬥鬧魚魯鮮鳥鳴"
    "鴨麗麥麵麼黃點齊齒龍龜"
)
_HANGUL = lazy_regex(f"[{HANGUL_RANGES}]")
_HAN_KANA = lazy_regex(f"[{HAN_KANA_RANGES}]")


def detect_language(text: str) -> Language:
    """Return Korean or Chinese if at least a fifth of the letters belong to its script, else English."""
    if text.isascii():
        return "en"
    letters = sum(character.isalpha() for character in text)
    if not letters:
        return "en"
    if len(_HANGUL.findall(text)) >= _MIN_SCRIPT_SHARE * letters:
        return "ko"
    return "zh" if len(_HAN_KANA.findall(text)) >= _MIN_SCRIPT_SHARE * letters else "en"


def detect_written_language(text: str) -> WrittenLanguage:
    """Detect the language as `detect_language` does, with traditional Chinese separate. Used for fixed messages."""
    language = detect_language(text)
    return "zh-Hant" if language == "zh" and not _TRADITIONAL_CHINESE.isdisjoint(text) else language


def is_in_language_of(text: str, question: str) -> bool:
    """Return whether `text` is in the language of the question, judged by script.

    Names from the question may stand alone: *GPT-4o, MMLU* is a valid answer in both Korean and English.
    """
    scripts = _count_scripts(text)
    if not scripts:
        return True
    if max(scripts, key=lambda script: scripts[script]) not in _count_scripts(question):
        return False
    asked = {token.lower() for _, token in find_tokens(question)}
    return detect_language(text) == detect_language(question) or all(
        token.lower() in asked for _, token in find_tokens(text)
    )


def _count_scripts(text: str) -> Counter[str]:
    """Count letters by script: the first word of their Unicode names, such as LATIN, HANGUL or CJK."""
    return Counter(unicodedata.name(letter, "?").split()[0] for letter in text if letter.isalpha())
