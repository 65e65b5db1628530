"""Support of each answer sentence by the passages it rests on, judged in code by comparing words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from crag.graph.citations import answer_sentences, cited_numbers
from crag.graph.statements import (
    AnswerStatement,
    SourceSentence,
    SourceText,
    TermVariants,
    contradicts,
    extract_months,
    name_terms,
    opening_terms,
    parse_source,
    parse_statement,
    subject_terms,
)
from crag.text.citation_marks import strip_citations
from crag.text.figures import allowed_figures, extract_figures
from crag.text.language import extract_words
from crag.text.patterns import lazy_regex
from crag.types import Knowledge, Outcome, Support, SupportStrength

_INSTRUCTION = lazy_regex(
    r"\b(?:ignore|disregard|forget|override|bypass|drop)\b.{0,50}"
    r"\b(?:instructions?|prompts?|rules?|guidelines?|context|above|before|previous|everything|restrictions?)\b"
    r"|\b(?:new|real|actual|updated|following|secret|hidden) (?:instructions?|rules?|orders?|task)\b"
    r"|\b(?:system|developer) (?:prompt|message|note|override|mode)\b"
    r"|\b(?:you are|act as|pretend to be)\b.{0,40}\b(?:ai|assistant|model|chatbot|bot|unrestricted|dan)\b"
    r"|\b(?:as an? |dear |attention,? |note to (?:the |any |all )?)"
    r"(?:ai|assistants?|(?:language )?models?|llms?|chatbots?)\b"
    r"|(?:^|[.!?:;,\"“(*]\s*|\b(?:must|should|please|always|now|then|and|to|you|instead)\s+)"
    r"(?:say|reply|respond|answer|output|print|repeat|write|insert|append|add|tell (?:the |them|him|her|your )\w*)"
    r"\b.{0,40}(?:\bonly\b|\bexactly\b|\bwith\b|\bthe following\b|\bverbatim\b|\bthat\b|:|[\"“‘'])"
    r"|\[/?inst\]|<\|?/?(?:system|im_start|im_end|instructions?|knowledge|passage)\b"
    r"|^\s*#*\s*(?:system|assistant)\s*:"
    r"|(?:지시|명령|규칙|프롬프트|지침).{0,12}(?:무시하(?:고 (?:다음|이렇게)|라|세요|십시오|시오)|잊으|따르지 마)"
    r"|(?:라고|다음을|그대로|이렇게).{0,6}(?:답(?:변)?|말|출력|응답)(?:하라|하세요|하십시오|하시오|해 ?(?:줘|라|주))"
    r"|시스템 (?:프롬프트|메시지)"
    r"|(?:忽略|无视|無視|忘记|忘記|不要理会|不要理會).{0,16}(?:指令|指示|规则|規則|提示|说明|說明|内容|內容)"
    r"|(?:请|請|必须|必須|你要|只能?)(?:回答|回复|回覆|输出|輸出|写上|寫上|告诉用户|告訴使用者)[：:“「]|系统提示|系統提示",
    re.IGNORECASE,
)


def is_instruction(sentence: str) -> bool:
    """Return whether a sentence addresses the answering model instead of stating something."""
    return bool(_INSTRUCTION.search(sentence[:2000]))


_MAX_HEADING_WORDS = 4
_COURTESY = lazy_regex(
    r"(?:hi|hello|hey|sure|certainly|of course|absolutely|okay|ok|great question|good question|thanks|thank you"
    r"|you(?:'|’)?re welcome|(?:i )?hope (?:this|that) helps|let me know if{rest}|feel free to{rest}"
    r"|(?:please )?ask (?:me )?(?:again|if){rest}|here is (?:the|my|a|an) (?:short |brief )?(?:answer|summary)"
    r"|안녕하세요|물론입니다|물론이죠|감사합니다|도움이 되(?:었으면|셨기를|길){rest}|궁금한 점이{rest}"
    r"|你好|您好|当然|當然|好的|谢谢|謝謝|希望.{0,8}(?:帮助|幫助)|如果您?(?:还|還)?有.{0,12}(?:问题|問題){rest})".replace(
        "{rest}", "[^,;:—–，；]{0,60}"
    ),
    re.IGNORECASE,
)
_YES_OR_NO = lazy_regex(r"yes|no|네|예|아니요|아닙니다|是的?|不是|对|對|不", re.IGNORECASE)
_LEAD_IN = lazy_regex(
    r"\b(?:here|below|following|follows|these|this)\b|다음|아래|이렇습니다|같습니다|如下|以下|下面|下列", re.IGNORECASE
)
_SOURCE_NOUNS = r"(?:documents?|knowledge|passages?|sources?|text|context|materials?|information|excerpts?|results?)"
_STATING_VERBS = (
    r"(?:say|state|mention|contain|provide|answer|specify|include|give|describe|explain|address|cover|discuss|tell"
    r"|hold|indicate|name|list|define|show)"
)
_SOURCES_ARE_SILENT = lazy_regex(
    rf"\b{_SOURCE_NOUNS}\b[^,.;]{{0,40}}\b(?:do(?:es)?|did|could|can)(?: not|n[’']t|not)\b (?:\w+ )?{_STATING_VERBS}\b"
    rf"|\bnot (?:\w+ )?{_STATING_VERBS}\w*\b[^,.;]{{0,30}}"
    rf"\b(?:in|by) (?:the|these|your)\b[^,.;]{{0,20}}\b{_SOURCE_NOUNS}\b"
    rf"|\b(?:I|we) (?:could(?: not|n[’']t)|cannot|can[’']t|did(?: not|n[’']t)) find\b"
    rf"|\b(?:there is|found|have|has) (?:no|nothing|neither)\b[^,.;]{{0,30}}\b(?:in|about|on)\b"
    r"[^,.;]{0,40}\b(?:documents?|knowledge|passages?|sources?|context|excerpts?)\b"
    r"|(?:자료|문서|문맥|구절|문단|지식)(?:에|에는|에서|에서는|는|은|만으로는)\s.{0,60}"
    r"(?:없습니다|없다|않습니다|않는다|않았습니다|찾지 못했습니다)"
    r"|(?:资料|資料|文件|文档|文檔|段落|知识|知識)(?:中|里|裡)?.{0,8}"
    r"(?:(?:没有|沒有|并未|並未|未)(?:提到|提及|说明|說明|提供|回答|涉及|给出|給出|包含|相关|相關|答案|找到)|无法回答|無法回答)",
    re.IGNORECASE,
)
_CONTRAST = lazy_regex(
    r"\b(?:but|however|though|although|yet|instead|still|nevertheless|because|since"
    r"|and (?:the|it|this|that|he|she|they|you|there|so))\b"
    r"|[;:—]|지만|그러나|하지만|는데|但|不过|不過|然而|而是",
    re.IGNORECASE,
)
_MARKED_HEADING = lazy_regex(r"\s*(?:#{1,6}\s+.*|\*\*[^*]+\*\*:?|__[^_]+__:?)\s*")


def is_yes_or_no(sentence: str) -> bool:
    """Return whether a sentence only says yes or no; its support is that of the next sentence."""
    return bool(_YES_OR_NO.fullmatch(strip_citations(sentence).strip(" *_.,!。，！")))


def makes_claim(sentence: str) -> bool:
    """Return whether a sentence makes a claim that needs a source."""
    bare = strip_citations(sentence).strip()
    plain = bare.strip(" \t*_#>-.!。！~,，")
    if not re.search(r"\w", plain) or _COURTESY.fullmatch(plain):
        return False
    if bare.endswith(("?", "？")):
        return False
    if bare.rstrip("*_ ").endswith((":", "：")) and _LEAD_IN.search(bare):
        return False
    if _SOURCES_ARE_SILENT.search(bare) and not _CONTRAST.search(bare):
        return False
    return not (_MARKED_HEADING.fullmatch(bare) and len(extract_words(bare)) <= _MAX_HEADING_WORDS)


_SUPPORTED_COVERAGE = 0.6
_WEAK_COVERAGE = 0.3
_NEAR_COPY_COVERAGE = 0.5
_COPY_COVERAGE = 0.85
_MIN_ROOT_LENGTH = 5
_WEAKENED_STRENGTH: dict[SupportStrength, SupportStrength] = {
    "supported": "weak",
    "weak": "unsupported",
    "unsupported": "unsupported",
}


def check_sentences(text: str, knowledge: Sequence[Knowledge]) -> tuple[Support, ...]:
    """Return the support of each sentence that makes a claim: its strength and the supporting knowledge."""
    sources = {item.n: parse_source(item) for item in knowledge}
    variants = TermVariants(frozenset[str]().union(*(source.all_terms for source in sources.values())))
    titles = {item.passage.title for item in knowledge}
    claims = [
        sentence
        for sentence in _claiming_sentences(answer_sentences(text))
        if not (_MARKED_HEADING.fullmatch(sentence) and sentence.strip().strip("#*: ") in titles)
    ]
    support = {sentence: _sentence_support(sentence, sources, variants) for sentence in dict.fromkeys(claims)}
    return tuple(support[sentence] for sentence in claims)


def _claiming_sentences(said: Sequence[str]) -> Iterable[str]:
    for place, sentence in enumerate(said, start=1):
        explained = is_yes_or_no(sentence) and place < len(said)
        if makes_claim(sentence) and not explained:
            yield sentence


def used_knowledge(text: str, support: Sequence[Support], knowledge: Sequence[Knowledge]) -> list[Knowledge]:
    """Return the knowledge that an answer cites or, if it cites nothing, that supports its sentences."""
    used = set(cited_numbers(text)) or {n for one in support for n in one.citations}
    return [item for item in knowledge if item.n in used]


def is_supported(text: str, support: Sequence[Support]) -> bool:
    """Return whether every claim has a source, and the answer does not say that its sources are silent."""
    silent = any(_SOURCES_ARE_SILENT.search(strip_citations(sentence)) for sentence in answer_sentences(text))
    return not silent and all(one.strength != "unsupported" for one in support)


def answer_outcome(
    text: str,
    support: Sequence[Support],
    knowledge: Sequence[Knowledge],
    *,
    is_covered: bool = True,
    is_quoted: bool = False,
) -> Outcome:
    """Return where the answer comes from; `not_answered` when it claims nothing or rests on nothing.

    `is_covered` tells whether what it uses states everything that the question asks for, `is_quoted` whether it was
    found by comparing words rather than written by a model.
    """
    origins = {item.passage.origin for item in used_knowledge(text, support, knowledge)}
    if not origins or not support:
        return "not_answered"
    if origins == {"library", "web"}:
        return "documents_and_web"
    if "web" in origins:
        return "web"
    if not is_covered:
        return "possible" if is_quoted else "documents_partly"
    return "quoted" if is_quoted else "documents"


def _sentence_support(sentence: str, sources: dict[int, SourceText], variants: TermVariants) -> Support:
    cited = [sources[n] for n in cited_numbers(sentence) if n in sources]
    statement = parse_statement(strip_citations(sentence), variants)
    if quoted := [source for source in cited if source.is_quoted_by(statement.text)]:
        quote = _supporting_quote(statement, quoted, "supported")
        return Support(sentence, "supported", tuple(source.n for source in cited), quote)
    if not statement.words:
        return Support(sentence, "weak" if cited else "unsupported", tuple(source.n for source in cited))
    if cited:
        strength = _support_strength(statement, cited)
        return Support(
            sentence, strength, tuple(source.n for source in cited), _supporting_quote(statement, cited, strength)
        )
    likely = (source for source in sources.values() if statement.covered_share(source.all_terms) >= _SUPPORTED_COVERAGE)
    supporting = [source for source in likely if _support_strength(statement, [source]) == "supported"]
    if not supporting:
        return Support(sentence, "unsupported")
    return Support(
        sentence, "supported", tuple(one.n for one in supporting), _supporting_quote(statement, supporting, "supported")
    )


def _support_strength(statement: AnswerStatement, sources: Sequence[SourceText]) -> SupportStrength:
    if all(statement.language != source.language for source in sources):
        return "weak"
    coverage, nearest = _best_coverage(statement, sources), _nearest_sentence(statement, sources)
    if coverage < _WEAK_COVERAGE:
        return "unsupported"
    strength: SupportStrength = "supported" if coverage >= _SUPPORTED_COVERAGE else "weak"
    if contradicts(statement.text, nearest.text):
        return _WEAKENED_STRENGTH[strength]
    doubtful = (
        is_instruction(nearest.text) or _states_unknown_fact(statement, sources) or _swaps_fact(statement, nearest)
    )
    return "weak" if doubtful else strength


def _best_coverage(statement: AnswerStatement, sources: Sequence[SourceText]) -> float:
    """Return the share covered by a few places: one more than there are sources, each of two adjacent sentences."""
    held = frozenset[str]()
    for _ in range(len(sources) + 1):
        found = (statement.best_place(source.window_bits, besides=held)[1] for source in sources)
        held |= max(found, key=statement.weigh)
    return statement.weigh(held)


def _nearest_sentence(statement: AnswerStatement, sources: Iterable[SourceText]) -> SourceSentence:
    """Return the sentence that covers most of the statement; the shortest one on a tie."""
    found = [(source, *statement.best_place(source.sentence_bits)) for source in sources]
    nearest = ((source.by_length[place], statement.weigh(covered)) for source, place, covered in found)
    return max(nearest, key=lambda one: (one[1], -len(one[0].terms)))[0]


def _states_unknown_fact(statement: AnswerStatement, sources: Sequence[SourceText]) -> bool:
    """Return whether the sentence states a figure, month or name that its sources do not contain."""
    known = frozenset[str]().union(*(source.figures for source in sources))
    known_months = frozenset[str]().union(*(source.months for source in sources)) or known
    if extract_figures(statement.text) - known or extract_months(statement.text) - known_months:
        return True
    held = frozenset[str]().union(*(source.all_terms for source in sources))
    return any(not _contains_name(name, held) for name in name_terms(statement.text))


def _contains_name(name: str, terms: frozenset[str]) -> bool:
    """Return whether a name occurs, unchanged or in a derived form (*Europe*, *European*)."""
    return name in terms or any(
        min(len(name), len(other)) >= _MIN_ROOT_LENGTH and (other.startswith(name) or name.startswith(other))
        for other in terms
    )


def _swaps_fact(statement: AnswerStatement, source_sentence: SourceSentence) -> bool:
    """Return whether a figure or name replaces another one in an otherwise similar sentence of the source."""
    from rapidfuzz.distance import Levenshtein

    if statement.covered_share(source_sentence.term_set) < _NEAR_COPY_COVERAGE:
        return False
    own = tuple(term for parts in statement.words for term in parts)
    named, also_named = subject_terms(statement.text), subject_terms(source_sentence.text)
    if opening_terms(statement.text) - source_sentence.term_set or _misplaces_figure(statement, source_sentence):
        return True
    for change in Levenshtein.opcodes(own, source_sentence.terms):
        said, instead = (
            own[change.src_start : change.src_end],
            source_sentence.terms[change.dest_start : change.dest_end],
        )
        if change.tag != "replace":
            continue
        if _is_single_figure(said) and _is_single_figure(instead) and instead[0] not in own:
            return True
        if named.intersection(said) - source_sentence.term_set and also_named.intersection(instead) - set(own):
            return True
    return False


def _misplaces_figure(statement: AnswerStatement, source_sentence: SourceSentence) -> bool:
    """Return whether the sentence matches the source except for a figure, which the source uses for something else."""
    figureless = replace(statement, words=tuple(parts for parts in statement.words if not parts[0][0].isdigit()))
    return figureless.covered_share(source_sentence.term_set) >= _COPY_COVERAGE and bool(
        extract_figures(statement.text) - allowed_figures(source_sentence.text)
    )


def _is_single_figure(block: Sequence[str]) -> bool:
    return len(block) == 1 and block[0][0].isdigit()


def _supporting_quote(statement: AnswerStatement, sources: Sequence[SourceText], strength: SupportStrength) -> str:
    nearest = _nearest_sentence(statement, sources)
    return "" if strength == "unsupported" or not statement.covered_share(nearest.term_set) else nearest.quote
