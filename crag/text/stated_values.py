"""Stated values: the names, dates and figures of a sentence that may answer a question."""

from __future__ import annotations

import re

from crag.text.language import extract_terms
from crag.text.patterns import MONTHS, lazy_regex
from crag.text.questions import AnalyzedQuestion

_MONTH = "|".join(MONTHS)
# Two capitalised words or a title with one; a single one only where it is neither a role nor part of an address.
_PERSON = lazy_regex(
    r"(?:\b(?:Mr|Mrs|Ms|Dr|Prof)\.? )?"
    r"[A-Z][\w’'-]+(?:(?: [A-Z]\.)* (?:(?:van|von|de|da|del|bin|al|of|the) )?[A-Z][\w’'-]+)+"
    r"|\b(?:Mr|Mrs|Ms|Dr|Prof)\.? [A-Z][\w’'-]+"
    r"|(?<![.!?:]\s)(?<!^)(?<!\b[Tt]he )(?<!\b[Aa]n )(?<!\b[Aa] )(?<!, )\b[A-Z][\w’'-]+"
)
_CALENDAR_TERMS = frozenset(
    extract_terms(
        f"{' '.join(MONTHS)} Monday Tuesday Wednesday Thursday Friday Saturday Sunday"
        " Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec"
    )
)
_NUMBER = lazy_regex(r"\d+(?:[.,:]\d+)*")
_DATE = lazy_regex(  # also a time of day
    rf"(?:{_MONTH})\s\d{{1,2}}(?:st|nd|rd|th)?(?:,\s\d{{4}})?|\d{{1,2}}(?:st|nd|rd|th)?\s(?:of\s)?(?:{_MONTH})(?:\s\d{{4}})?"
    r"|\d{1,2}:\d\d|\d{1,2}\s?[ap]\.?m\b|(?<![\d.,])(?:1\d|20)\d\d(?![\d.,]*\d)"
    r"|(?:\d{4}\s?[年년]\s?)?\d{1,2}\s?[月월]\s?\d{1,2}\s?[日号號일]|\d{4}\s?[年년]"
    r"|(?:오전|오후|上午|下午)?\s?\d{1,2}\s?[시点點時时](?:\s?\d{1,2}\s?[분分])?",
    re.IGNORECASE,
)


def find_values(question: AnalyzedQuestion, sentence: str) -> frozenset[str]:
    """Return the values of the kind asked for in a sentence that the question does not name.

    Figures of dates count only for a question about time. Korean and Chinese names are not recognized.
    """
    if question.answer_type in {"person", "place"}:
        names = (frozenset(extract_terms(found[0])) for found in _PERSON.finditer(sentence))
        return frozenset(" ".join(sorted(name)) for name in names if name - question.weights.keys() - _CALENDAR_TERMS)
    asked = set(_NUMBER.findall(question.text))
    new = _NUMBER.sub(lambda found: "" if found[0] in asked else found[0], sentence)
    spans = [found[0] for found in _DATE.finditer(new)]
    if question.answer_type == "time":
        return frozenset(" ".join(_NUMBER.findall(span)) for span in spans)
    return frozenset(_NUMBER.findall(_DATE.sub("", new)))
