"""Support of each answer sentence by the strips it rests on, judged in code by comparing words.

A sentence is *supported* under four conditions. Most of its words, inflected or in another order, occur close together
in the text it cites. Every figure and name occurs there too, and none replaces another one. Neither side negates the
other. The cited text is not an instruction to the model. Otherwise the sentence is *weak* (part of it is there) or
*unsupported*. A sentence in another language than its source cannot be compared by words: it is weak when it cites
something, never supported.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from crag.graph.checking.citations import answer_sentences, cited_numbers, without_citations
from crag.graph.checking.claims import contradicts, names, opening, subjects
from crag.graph.checking.figures import allowed_figures, figures, months
from crag.graph.checking.instructions import instructs
from crag.graph.checking.readings import Alike, Source, Statement, Unit, read_source, read_statement
from crag.graph.checking.talk import claims_something, is_yes_or_no
from crag.types import Knowledge, Outcome, Strength, Support

_SUPPORTED = 0.6
_WEAK = 0.3
_NEAR_COPY = 0.5
_COPY = 0.85
_SHORTEST_ROOT = 5
_WORSE: dict[Strength, Strength] = {"supported": "weak", "weak": "unsupported", "unsupported": "unsupported"}


def check_sentences(text: str, knowledge: Sequence[Knowledge]) -> tuple[Support, ...]:
    """Return each sentence that makes a claim, with how well the knowledge supports it and which parts do."""
    sources = {item.n: read_source(item) for item in knowledge}
    alike = Alike(frozenset[str]().union(*(source.held for source in sources.values())))
    return tuple(_support(sentence, sources, alike) for sentence in _claims(answer_sentences(text)))


def _claims(said: Sequence[str]) -> Iterable[str]:
    for place, sentence in enumerate(said, start=1):
        explained = is_yes_or_no(sentence) and place < len(said)
        if claims_something(sentence) and not explained:
            yield sentence


def outcome(text: str, knowledge: Sequence[Knowledge]) -> Outcome:
    """Return where the answer comes from; `not_answered` when nothing is cited or, without citations, supported."""
    used = set(cited_numbers(text)) or {n for one in check_sentences(text, knowledge) for n in one.citations}
    origins = {item.passage.origin for item in knowledge if item.n in used}
    if not origins:
        return "not_answered"
    if origins == {"library", "web"}:
        return "documents_and_web"
    return "documents" if "library" in origins else "web"


def _support(sentence: str, sources: dict[int, Source], alike: Alike) -> Support:
    cited = [sources[n] for n in cited_numbers(sentence) if n in sources]
    stated = read_statement(without_citations(sentence), alike)
    if not stated.words:
        return Support(sentence, "weak" if cited else "unsupported", tuple(source.n for source in cited))
    if cited:
        strength = _strength(stated, cited)
        return Support(sentence, strength, tuple(source.n for source in cited), _quote(stated, cited, strength))
    likely = (source for source in sources.values() if stated.covered(source.held) >= _SUPPORTED)
    carrying = [source for source in likely if _strength(stated, [source]) == "supported"]
    if not carrying:
        return Support(sentence, "unsupported")
    return Support(sentence, "supported", tuple(one.n for one in carrying), _quote(stated, carrying, "supported"))


def _strength(stated: Statement, sources: Sequence[Source]) -> Strength:
    if all(_foreign(stated, source) for source in sources):
        return "weak"
    coverage, nearest = _best_cover(stated, sources), _nearest(stated, sources)
    if coverage < _WEAK:
        return "unsupported"
    strength: Strength = "supported" if coverage >= _SUPPORTED else "weak"
    if contradicts(stated.text, nearest.text):
        return _WORSE[strength]
    doubtful = instructs(nearest.text) or _invents(stated, sources) or _exchanges(stated, nearest)
    return "weak" if doubtful else strength


def _foreign(stated: Statement, source: Source) -> bool:
    return stated.language != source.language


def _best_cover(stated: Statement, sources: Sequence[Source]) -> float:
    """Return the share covered by a few places: one more than there are sources, each of two adjacent sentences."""
    windows = [window for source in sources for window in source.windows]
    held = frozenset[str]()
    for _ in range(len(sources) + 1):
        held |= max(windows, key=lambda window: stated.covered(held | window))
    return stated.covered(held)


def _nearest(stated: Statement, sources: Iterable[Source]) -> Unit:
    """Return the sentence that covers most of the statement; the shortest one on a tie."""
    units = (unit for source in sources for unit in source.units)
    return max(units, key=lambda unit: (stated.covered(unit.held), -len(unit.terms)))


def _invents(stated: Statement, sources: Sequence[Source]) -> bool:
    """Return whether the sentence states a figure, month or name that its sources do not contain."""
    known = frozenset[str]().union(*(source.figures for source in sources))
    known_months = frozenset[str]().union(*(months(source.text) for source in sources)) or known
    if figures(stated.text) - known or months(stated.text) - known_months:
        return True
    held = frozenset[str]().union(*(source.held for source in sources))
    return any(not _named(name, held) for name in names(stated.text))


def _named(name: str, held: frozenset[str]) -> bool:
    """Return whether a name occurs, as it is or in a derived form (*Europe*, *European*)."""
    return name in held or any(
        min(len(name), len(other)) >= _SHORTEST_ROOT and (other.startswith(name) or name.startswith(other))
        for other in held
    )


def _exchanges(stated: Statement, unit: Unit) -> bool:
    """Return whether a figure or name replaces another one in an otherwise similar sentence of the source."""
    from rapidfuzz.distance import Levenshtein

    if stated.covered(unit.held) < _NEAR_COPY:
        return False
    own = tuple(term for parts in stated.words for term in parts)
    named, also_named = subjects(stated.text), subjects(unit.text)
    if opening(stated.text) - unit.held or _misplaces(stated, unit):
        return True
    for change in Levenshtein.opcodes(own, unit.terms):
        said, instead = own[change.src_start : change.src_end], unit.terms[change.dest_start : change.dest_end]
        if change.tag != "replace":
            continue
        if _one_figure(said) and _one_figure(instead) and instead[0] not in own:
            return True
        if named.intersection(said) - unit.held and also_named.intersection(instead) - set(own):
            return True
    return False


def _misplaces(stated: Statement, unit: Unit) -> bool:
    """Return whether the sentence matches the source except for a figure, which the source uses for something else."""
    figureless = replace(stated, words=tuple(parts for parts in stated.words if not parts[0][0].isdigit()))
    return figureless.covered(unit.held) >= _COPY and bool(figures(stated.text) - allowed_figures(unit.text))


def _one_figure(block: Sequence[str]) -> bool:
    return len(block) == 1 and block[0][0].isdigit()


def _quote(stated: Statement, sources: Sequence[Source], strength: Strength) -> str:
    nearest = _nearest(stated, sources)
    return "" if strength == "unsupported" or not stated.covered(nearest.held) else nearest.text
