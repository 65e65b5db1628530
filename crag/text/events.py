"""Events: whether an English sentence states what a question says happened, and not only its words in another relation.

"When did the firm go public?" is not answered by what it sold to the public, "When did the ferry launch?" not by the
ferry that launched a boat, and "When is the fair?" not by the day on which the fair was announced.
"""

from __future__ import annotations

import re

from crag.text.language import extract_terms
from crag.text.patterns import lazy_regex
from crag.text.spelling import shares_root

_PHRASES = {  # an event named by a verb and a small word: the words that state it
    r"com(?:e|es|ing) out|came out": (
        r"\b(?:releas|premi|publish|debut|launch|issued|aired|unveil|available|introduc|came out|comes? out|coming out)"
        r"|\b\d{4} (?!(?:and|to|or|by|as)\b)[A-Za-z]|\bfrom \d{4}|\(\d{4}\)"
    ),
    r"(?:come|comes|coming|came) back": r"\b(?:return|resum|reviv|reopen|came back|comes? back|coming back)",
    r"(?:go|goes|going|went|gone) public": (
        r"\b(?:go|goes|going|went|gone) public\b|\bpublic offering|\bIPO\b|\bflotation|\b(?:listed|floated) on\b"
        r"|\bshares? (?:were|was) (?:first )?(?:sold|traded|offered)"
    ),
}
_EVENTS = tuple(
    (lazy_regex(rf"\b(?:{asked})\b", re.IGNORECASE), lazy_regex(said, re.IGNORECASE))
    for asked, said in _PHRASES.items()
)
_GOES = lazy_regex(
    r"\b(?:go|goes|going|went|gone) (live|online|offline|bankrupt|bust|missing|wrong|down|out|up)\b", re.IGNORECASE
)
_ANNOUNCED = lazy_regex(
    r"\b(?:announc|renewed|commissioned|proposed|approved|ordered|planned|revealed|confirmed)(?:ed|es|ing|ement)?\b",
    re.IGNORECASE,
)
_ASKS_WHEN = lazy_regex(r"\bwhen\b|\b(?:what|which) (?:year|date|day|month|time)\b", re.IGNORECASE)
_DID = lazy_regex(r"\bwhen did\b.*\b([a-z]+)\W*$", re.IGNORECASE)
_OBJECT = lazy_regex(r"\s+(?:an?|the|its|his|her|their|our|new)\s+([\w-]+)", re.IGNORECASE)
_WORD = lazy_regex(r"[\w-]+")
_PARENTHESIS = lazy_regex(r"\(([^()]*)\)")
_NAME_AT_END = lazy_regex(r"(?:[A-Z][\w’'.-]*[\s\"”]*(?:(?:of|the|and|de|van|von)\s)*)+$")
_WORDS_AT_END = lazy_regex(r"(?:[\w-]+\W+){1,4}$")


def states_event(question: str, sentence: str) -> bool:
    """Return whether a sentence speaks of the event that a question names, as far as its form tells."""
    for asked, said in _EVENTS:
        if asked.search(question) and not said.search(sentence):
            return False
    goes = _GOES.search(question)
    if goes and not re.search(rf"\b(?:go|goes|going|went|gone) (?:\w+ )?{goes[1]}\b", sentence, re.IGNORECASE):
        return False
    if not _ASKS_WHEN.search(question):
        return True
    if _ANNOUNCED.search(sentence) and not _ANNOUNCED.search(question):
        return False
    return not _acts_on_another(question, sentence)


def _acts_on_another(question: str, sentence: str) -> bool:
    """Return whether the verb that ends "When did the ferry launch?" has an object in the sentence: launched a boat."""
    if not (did := _DID.search(question)) or not (verb := "".join(extract_terms(did[1]))):
        return False
    asked = set(extract_terms(question))
    acts = [word for word in _WORD.finditer(sentence) if _is_form(verb, word[0])]
    objects = [_OBJECT.match(sentence, word.end()) for word in acts]
    return bool(acts) and all(found and asked.isdisjoint(extract_terms(found[1])) for found in objects)


def _is_form(verb: str, word: str) -> bool:
    return any(term == verb or shares_root(term, verb) for term in extract_terms(word))


def drop_asides_on_others(question: str, sentence: str) -> str:
    """Return a sentence without the parentheses that follow something the question does not name, as life dates do."""
    asked = set(extract_terms(question))

    def keep(found: re.Match[str]) -> str:
        text = sentence[: found.start()]
        before = _NAME_AT_END.search(text) or _WORDS_AT_END.search(text)
        return found[0] if before is None or not asked.isdisjoint(extract_terms(before[0])) else ""

    return _PARENTHESIS.sub(keep, sentence)
