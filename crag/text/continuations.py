"""Follow-ups that continue a list or a summary: the earlier request with the part that they change."""

from __future__ import annotations

from crag.text.language import detect_language
from crag.text.patterns import lazy_regex
from crag.text.routes import choose_route, parse_summary_request

_MAX_FRAGMENT_CHARACTERS = 60
_FRAGMENTS = {
    "en": lazy_regex(
        r"(?i)\s*(?:(?:and|but|or|so|then|now|ok|okay|same)\b[\s,]*)*(?:(?:what|how) about\b)?\s*"
        r"(?P<part>(?:(?!\b(?:is|are|was|were|do|does|did|has|have|can|could|will|would|who|what|which|when|where|why|how|please)\b)"
        r"[^?.!]){2,}?)\s*[?.!]*\s*"
    ),
    "ko": lazy_regex(
        r"(?!.*(?:누구|누가|무엇|무슨|뭐|뭔|뭘|언제|어디|얼마|왜|어떻|어떤|어느|며칠|(?<![가-힣])몇))"
        r"(?!.*(?:나요|가요|까요|니까|래요|[어아해돼워]요|예요|에요|[줘죠]|지요|주세요|주십시오|[나냐니까야]|[어아해돼])[\s?？.!]*$)"
        r"\s*(?:그럼|그러면|그리고|또|아니)?\s*,?\s*(?P<part>[^?？!.]{1,20}?)(?:에서)?(?:은|는|이|가|도)?\s*(?:요)?\s*[?？.!]*\s*"
    ),
    "zh": lazy_regex(
        r"\s*(?:那么|那麼|那|还有|還有|再|和)?(?P<part>[^?？!。]{1,16}?)(?:呢|怎么样|怎麼樣)?\s*[?？。!]*\s*"
    ),
}
_LIST_REQUESTS = {"en": "List all {part}", "ko": "{part} 모두 나열해 줘", "zh": "列出所有{part}"}
_ARTICLE = lazy_regex(r"(?i)^(?:all|the|their|its|every|each)\s+(?:of the\s+)?")
_SHORTER = lazy_regex(
    r"(?i)\b(?:shorte[rn]|short|briefer)\b|\bmore (?:briefly|concise)|짧게|간단히|[短简簡]一?[点點些]|更[短简簡]"
)
_IN_THREE = {"en": "in three sentences", "ko": "세 문장으로", "zh": "用三句话"}


def read_fragment(question: str) -> str:
    """Return the words of an incomplete follow-up such as “And in the North?”; empty for a complete question."""
    words = " ".join(question.split())  # the patterns take long for many spaces
    if len(words) > _MAX_FRAGMENT_CHARACTERS:
        return ""
    found = _FRAGMENTS[detect_language(words)].fullmatch(words)
    return found["part"].strip(" ,") if found else ""


def continue_list(previous: str, question: str) -> str:
    """Return a request to list what a follow-up names, after a request for another list; empty if it is none."""
    part = _ARTICLE.sub("", read_fragment(question))
    if not part or choose_route(previous).route != "list":
        return ""
    request = _LIST_REQUESTS[detect_language(question)].format(part=part)
    return request if choose_route(request).route == "list" else ""


def continue_summary(previous: str, question: str) -> str:
    """Return the earlier request for a summary in the length or form that a follow-up wants; empty if it is none."""
    if choose_route(previous).route != "document" or len(question) > _MAX_FRAGMENT_CHARACTERS:
        return ""
    wanted = _IN_THREE[detect_language(question)] if _SHORTER.search(question) else question.strip(" ?.!。？")
    before, after = parse_summary_request(previous), parse_summary_request(f"{previous.rstrip(' .?!。？')}, {wanted}")
    if before is None or after is None or before == after or before.scope != after.scope:
        return ""
    return f"{previous.rstrip(' .?!。？')}, {wanted}"
