"""Spaces that the writer of a Korean question left out: 단체버스는몇시에출발해요 is 단체 버스는 몇 시에 출발해요.

A word ends before and after a question word, after a particle that follows a word of the documents, and between two
words of the documents whose meeting syllables the documents never hold together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from crag.text.korean import fits_particle
from crag.text.patterns import lazy_regex

_MIN_LENGTH = 5  # characters; from `_LONG` a piece is split even if no question word is inside
_LONG = 8
_PIECE = lazy_regex(rf"\S{{{_MIN_LENGTH},}}")
_RUN = lazy_regex("[가-힣]+")
_ASKING = lazy_regex(
    "(?:몇(?:명|사람|세|살|번|회|차례|개월|개|가지|곳|년도|년|시간|시|분|일|월|주|달|층|도|퍼센트|프로|원|호|권|대|장)?"
    "|며칠|언제|어디|어느|어떤|어떻게|누구|누가|얼마나|얼마|무엇|무슨|뭐|뭘|(?<=[은는이가을를])왜)"
    "(?:까지|부터|에서|에게|서|에|을|를|으로|로|와|과|도|동안|간|마다|만에)?"
)
_COPULA = lazy_regex("이?(?:인[가지]|였|었|예요|에요|야|죠|지요)|입니|일까")
_PARTICLE = lazy_regex("(?:에서|까지|부터|으로|에|로)는|에서|에게|까지|부터|으로|은|는|이|가|을|를|에|의|와|과|로")
_AUXILIARY = lazy_regex(  # 쓸 수 있나요, 정산해야 하나요
    "(?<=[야도게고])(?=[하해합한할되됩돼된있없않안][가-힣]{0,6}$)|(?=수[있없][가-힣]*$)|(?<=수)(?=[있없][가-힣]*$)"
    "|(?<=[가-힣]{2})(?=[것곳](?:은|는|이|을)$)"
)
_UNIT = lazy_regex(
    "(?:년(?:도(?=[에의는]))?|월|일|시|분|명|개|원|층|호|회|번|대|살|세|점|퍼센트|미터)(?:에는|에|까지|부터|의)?"
)
_ENDING = lazy_regex("[가-힣]{0,4}(?:요|까|나|니|냐|죠|다|지)$")


def restore_spaces(question: str, select_known: Callable[[Sequence[str]], set[str]]) -> str:
    """Return a question with the spaces between Korean words that its writer left out.

    `select_known` returns those of the given pairs of syllables that words of the documents hold.
    """
    pieces = [found[0] for found in _PIECE.finditer(question) if _lacks_spaces(found[0])]
    if not pieces:
        return question
    known = select_known([f"{a}{b}" for piece in pieces for run in _RUN.findall(piece) for a, b in pairwise(run)])
    return _PIECE.sub(lambda found: _split_piece(found[0], known) if _lacks_spaces(found[0]) else found[0], question)


def _lacks_spaces(piece: str) -> bool:
    runs = list(_RUN.finditer(piece))
    return any(len(run[0]) >= _LONG or (len(piece) >= _LONG and run.start()) for run in runs) or any(
        asking.start() for run in runs for asking in _ASKING.finditer(run[0])
    )


def _split_piece(piece: str, known: set[str]) -> str:
    return _RUN.sub(lambda run: _split_run(run[0], known, piece[run.start() - 1 : run.start()]), piece)


def _split_run(run: str, known: set[str], before: str) -> str:
    """Return a run of syllables as words; the first may belong to the digit or letter `before` it."""
    first = (_UNIT if before.isdigit() else _PARTICLE).match(run) if before.isalnum() else None
    parts = [first[0]] if first else []
    end = len(parts[0]) if parts else 0
    for asking in _ASKING.finditer(run, end):
        parts += [*_split_words(run[end : asking.start()], known), asking[0]]
        end = asking.end()
        if _COPULA.match(run, end):
            parts[-1] += run[end:]
            end = len(run)
            break
    return " ".join(filter(None, [*parts, *_split_words(run[end:], known)]))


def _split_words(text: str, known: set[str]) -> list[str]:
    borders = sorted({*_word_borders(text, known), *(found.start() for found in _AUXILIARY.finditer(text))} - {0})
    return [text[start:end] for start, end in zip([0, *borders], [*borders, len(text)], strict=True)]


def _word_borders(text: str, known: set[str]) -> Iterator[int]:
    start = 0
    for at in range(2, len(text) - 1):
        if at - start < 2:
            continue
        if (end := _end_of_particle(text, start, at, known)) or _is_border(text, at, known):
            start = end or at
            yield start


def _end_of_particle(text: str, start: int, at: int, known: set[str]) -> int:
    """Return where a particle at an offset ends, 0 if there is none behind a word of the documents."""
    particle = _PARTICLE.match(text, at)
    if particle is None or particle.end() == len(text) or not fits_particle(text[start:at], particle[0]):
        return 0
    if any(text[place : place + 2] not in known for place in range(start, at - 1)):
        return 0
    is_certain = particle[0][-1] in "을를는" or len(particle[0]) > 1  # no noun begins so
    across, after = (text[place : place + 2] for place in (particle.end() - 1, particle.end()))
    return particle.end() if across not in known or (is_certain and after in known) else 0


def _is_border(text: str, at: int, known: set[str]) -> bool:
    """Return whether two words of the documents meet at an offset."""
    particle = _PARTICLE.match(text, at)
    if (particle and fits_particle(text[:at], particle[0])) or _ENDING.match(text, at):
        return False
    before, across, after = (text[at + shift : at + shift + 2] for shift in (-2, -1, 0))
    return before in known and across not in known and after in known
