"""Words for the same: English forms that no ending explains, such as *led* for *leads*, and close synonyms.

Korean synonyms are those of `korean.toml`. A Korean word is several terms, which are paired from its end.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from itertools import chain

from crag.text.korean import NOUN_SYNONYMS
from crag.text.language import extract_terms
from crag.text.patterns import lazy_regex

_FORMS = """
    bear bore born borne; beat beaten; become became; begin began begun; bend bent; bind bound; bite bit bitten;
    bleed bled; blow blew blown; break broke broken; breed bred; bring brought; build built; burn burnt; buy bought;
    catch caught; choose chose chosen; cling clung; creep crept; deal dealt; dig dug; draw drew drawn;
    drink drank drunk; drive drove driven; eat ate eaten; fall fell fallen; feed fed; feel felt; fight fought;
    flee fled; fly flew flown; forbid forbade forbidden; forget forgot forgotten; freeze froze frozen;
    give gave given; grow grew grown; hang hung; hear heard; hide hid hidden; hold held; keep kept; kneel knelt;
    know knew known; lay laid; lead led; learn learnt; lend lent; lose lost; mean meant; meet met; overcome overcame;
    pay paid; ride rode ridden; rise rose risen; run ran; say said; see saw seen; seek sought; sell sold; send sent;
    shake shook shaken; shine shone; shoot shot; show shown; shrink shrank shrunk; sing sang sung; sink sank sunk;
    sit sat; sleep slept; slide slid; speak spoke spoken; spend spent; spin spun; stand stood; steal stole stolen;
    stick stuck; sting stung; strike struck; swear swore sworn; sweep swept; swim swam swum; swing swung;
    teach taught; tear tore torn; tell told; think thought; throw threw thrown; undergo underwent undergone;
    understand understood; wake woke woken; wear wore worn; win won; withdraw withdrew withdrawn; write wrote written
"""

_SYNONYMS = """
    population inhabitants; employees staff workforce; holidays vacation; kids children youngsters; doctor
    physician; warranty guarantee guaranteed; buy bought purchased; begin began begun started commenced; phone
    telephone ring; salary wages; cancel cancelled terminate; permitted allowed; car vehicle; illness
    sickness; laundry washing; price cost; expensive price; cheap cheaper cheapest price; heavy heavier heaviest
    weight weigh; tall taller tallest height; deep deeper deepest depth; wide wider widest width; loud louder
    loudest noise; quiet quieter quietest noise; fast faster fastest speed; big bigger biggest size; lose lost
    missing; fix repair mend; refund reimburse; delivery shipping; pay paid payable due owed; unpaid arrears overdue
    owing; annual yearly; daily day; drowsy sleepy; rooster cockerel; bike bicycle; lorry truck; petrol gasoline;
    luggage baggage suitcase; lift elevator; flat apartment; tenant renter; garbage rubbish trash; medicine
    medication; surgery operation; jab injection vaccination; baby infant; boss manager; lawyer solicitor attorney;
    quit resign; hire recruit employ; discard dispose; close shut; banned forbidden prohibited; required needed
    necessary; photo photograph picture; movie film; shop store; toilet restroom loo; pupil student; exam test;
    headteacher headmaster principal; die died death; married marriage wedding; customer client; supplier vendor;
    contract agreement; discount reduction; amount sum; journey trip; accommodation lodging; broken damaged faulty;
    fridge refrigerator; password passcode; clean wash; teacher instructor; chairman chair chairwoman chairperson;
    meal food eat ate eaten; smoking smoke cigarettes; permission consent approval; mail post; sofa couch; cash
    money; help assistance; choose select pick; injured injury hurt; error fault mistake; collect pick; forget
    forgot forgotten lost; bring return; spectacles glasses; trousers pants; motorway highway; rent rental hire;
    deadline due; expire expired expiry lapse end ends ended; temperature hot hotter hottest; child kid; cooker stove;
    pets animals; vomit sick; swelling swollen; payment pay paid; dosage dose; tablet pill; sunrise dawn; sunset dusk;
    midday noon; weekly week; monthly month
"""


_PAST_FORM = lazy_regex(r"\w+ed|set|put|cut|shut|read|located|called|worth|made|left|had|was|were")


@cache
def _index_forms() -> dict[str, frozenset[str]]:
    groups = [frozenset(extract_terms(group)) for group in (*_FORMS.split(";"), *_SYNONYMS.split(";"))]
    return {term: frozenset().union(*(group for group in groups if term in group)) for term in chain(*groups)}


def find_other_forms(term: str) -> frozenset[str]:
    """Return the terms of the other forms of an irregular verb, and of synonyms; mostly none."""
    return _index_forms().get(term, frozenset()) - {term}


def is_past_form(word: str) -> bool:
    """Return whether an English word may be a verb in the past: *opened*, *led*, *set*."""
    past = (form for group in _FORMS.split(";") for form in group.split()[1:])
    return bool(_PAST_FORM.fullmatch(word)) or word in past


def find_synonyms(word: str) -> tuple[str, ...]:
    """Return the everyday synonyms of a Korean noun; mostly none."""
    return tuple(other for group in NOUN_SYNONYMS if word in group for other in group if other != word)


def index_other_forms(terms: Collection[str]) -> dict[str, str]:
    """Map each other form and synonym of these terms to its term; forms that are among the terms are left out."""
    found = {form: term for term in sorted(terms) for form in find_other_forms(term)}
    held = frozenset(terms)
    for words in _split_korean_synonyms():
        for asked in words:
            if held >= {*asked}:
                others = (zip(reversed(other), reversed(asked), strict=False) for other in words if other != asked)
                found = dict(chain.from_iterable(others)) | found
    return {form: term for form, term in found.items() if form not in held}


@cache
def _split_korean_synonyms() -> tuple[tuple[tuple[str, ...], ...], ...]:
    return tuple(tuple(tuple(extract_terms(word)) for word in group) for group in NOUN_SYNONYMS)
