"""Topics of a text, found by rules: subjects of sentences and names of list items."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from crag.language import sentences, terms
from crag.prompts.language import detect, detect_written

_OFTEN, _SHORT, _LONGEST = 2, 3, 48
_NAME = re.compile(r"^[\w-]*(?:[A-Z]{2}|[a-z][A-Z]|[A-Z]\w*-?\d)|^[A-Z][\w-]+(?: [A-Z][\w-]+)+$")
_POINTS = frozenset(  # refers to something mentioned before, so it names nothing by itself
    """a an the this that these those it its he she they we you i his her their our your my one some many most all each
    any both every such another other others same much most several few there here what which who when where while if
    although however moreover furthermore then thus therefore also finally later first second next instead note given
    assume let for in
    on at by from with to as and or but so because since after before during under over only even not no yes fig figure
    table section chapter example examples see recall similarly additionally specifically may once sometimes
    how changing make variation nothing everything people way ways lot""".split()  # noqa: SIM905
)
_DEFINES = r"(?:is|are) (?:a|an|the|one)\b|(?:refers?|means?)\b"
_VERB = (
    r"(?:is|are|was|were|can|has|have|had|does|uses?|used|provides?|allows?|consists?|refers?|means?|works?|proposed?s?"
    r"|introduce[sd]?|defines?d?|generates?|combines?|adds?|enables?|aims?|involves?|requires?|contains?|includes?"
    r"|follow(?:s|ed)|became|began|won|received|served|led|trains?|learns?|shows?|focus(?:es|ed)?|extends?|improve[sd]?)"
)
_ITEM = re.compile(r"^\s*[-*+•]\s+(?P<name>[A-Z][^:.,;()]{2,44}?)(?: \([^)]{1,30}\))?:\s+\S")
_SUBJECT = re.compile(
    r"^(?:[-*+•]\s+)?(?P<article>(?:The|A|An) )?(?P<name>[A-Za-z][\w’'-]*(?: [\w’'-]+){0,4}?)"
    rf"(?: ?\([^)]{{1,60}}\)){{0,2}},? (?P<verb>{_VERB})\b"
)
_DEFINITION = re.compile(_DEFINES)
_KOREAN = re.compile(
    r"^[\"'“‘]?(?P<name>[^\s,.()「」\"'“”‘’]{2,}(?: [^\s,.()「」\"'“”‘’]+){0,2}?)[\"'”’]?(?:\([^)]{1,40}\))?(?:은|는) "
)
_KOREAN_POINTS = re.compile(
    r"^(?:그|이|저|그녀|그들|그들의|이들|이들이|이것|이것이|그것|또한|하지만|그러나|그러자|그래서|따라서|결국|대개|때때로|이러한|이와|반면에|오늘날"
    r"|현재|당시|여기|우리|나|것|이후|한편|또|다른|대부분|일부|가장|모든|첫째|둘째|셋째|\d+년\S*)(?:\s|$)|(?:에|서|하|되|있|없|으로|부터|까지|라)$"
)
_CHINESE = re.compile(
    r"^(?P<name>[^\s，。、；：？！的是了在於于與与和及他她它其這这此該该又也而但並并年月日\d]{2,12}?)(?:（[^）]{1,30}）)?"
    r"(?:一直|曾經|曾经|曾|就|也|都|通常|主要|則|则)?(?P<verb>是|為|为|位於|位于|指)"
)
_CHINESE_PERSON = re.compile(  # for a person the question would be "who"
    r"^[^，。]*[家人者員员師师將将王帝手星后妃][，。]"
)
_TITLED = re.compile(r"[《「](?P<name>[^》」]{2,16})[》」]")


@dataclass(frozen=True, slots=True)
class Topic:
    """A subject of a text, and the question what it is, if the text answers that."""

    name: str
    question: str = ""


def topics_of(text: str, around: str = "") -> Iterator[Topic]:
    """Yield the subjects of a text in order: sentence subjects and names of list items, found by rules.

    A topic without a question must be written as a proper name or be mentioned again, in the text or in `around`.
    """
    for sentence in sentences(text):
        for topic in _of_sentence(sentence, text):
            if topic.question or _NAME.search(topic.name) or (around or text).count(topic.name) >= _OFTEN:
                yield topic


def _of_sentence(sentence: str, text: str) -> Iterator[Topic]:
    match detect(sentence):
        case "ko":
            return _korean(sentence)
        case "zh":
            return _chinese(sentence, text)
        case _:
            return _english(sentence)


def _english(sentence: str) -> Iterator[Topic]:
    if found := _ITEM.match(sentence):
        name = found["name"].strip()
        has_question = len(name.split()) <= _SHORT
        are = name.endswith("s") and not name.endswith(("ss", "is", "us"))
    elif found := _SUBJECT.match(sentence):
        name = found["name"].strip()
        has_question = not found["article"] and bool(_DEFINITION.match(sentence, found.start("verb")))
        are = found["verb"] == "are"
    else:
        return
    words = name.lower().split()
    if not _POINTS & {words[0], words[-1]} and len(name) <= _LONGEST and terms(name):
        yield Topic(name, f"What {'are' if are else 'is'} {name}?" if has_question else "")


def _korean(sentence: str) -> Iterator[Topic]:
    found = _KOREAN.match(sentence)
    if found and not _KOREAN_POINTS.search(found["name"]):
        yield Topic(found["name"])


def _chinese(sentence: str, text: str) -> Iterator[Topic]:
    if found := _CHINESE.match(sentence):
        what = "什么" if detect_written(text) == "zh" else "什麼"
        defined = found["verb"] == "是" and not _CHINESE_PERSON.search(sentence)
        yield Topic(found["name"], f"{found['name']}是{what}？" if defined else "")
    yield from (Topic(found["name"]) for found in _TITLED.finditer(sentence))
