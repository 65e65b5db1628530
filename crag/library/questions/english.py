"""English rules."""

from __future__ import annotations

import re
from collections.abc import Iterator

from crag.library.questions.surroundings import (
    MIN_MENTIONS,
    UNUSUAL_CASE,
    DerivedQuestion,
    SentenceAsk,
    Surroundings,
    fill_question,
)
from crag.text.language import extract_terms
from crag.text.patterns import MONTHS, SEVERAL, lazy_regex

_NOT_A_NAME = frozenset(  # refers to something mentioned before, or begins a clause, so it names nothing by itself
    """this that these those it its he his she her hers they them their we us our you your i my mine one ones some many
    most each any both every such another other others same much several few there here what which who whom whose when
    where while if although however moreover furthermore then thus therefore also finally later next instead given let
    because since after before during under over only even not no yes as but so or from with to at on into until without
    within about between is are was were be been being has have had do does did can could may might must shall should
    will would today now currently recently often usually sometimes generally similarly additionally specifically
    first second third last former latter following above below everything everyone people way ways thing things lot
    number part example examples fig figure table section chapter note see like rather than more less fewer least very
    all none according despite due unlike whether how why key main new""".split()  # noqa: SIM905
)
_GENERIC_NOUNS = frozenset(
    """company product products team teams problem method methods model models goal result results page person user
    users system process project program task tasks data paper work author authors group study idea approach text
    document documents chapter book name value values question answer information member members office service
    services agent agents algorithm function code file files list type types set point case time year years day days
    week month place area field step steps term terms order use rule rules form level change state version list line
    world country city region university school government report plan department staff employee employees customer
    customers client clients event events item items topic topics content title slide test introduction overview
    conversation example sample experiment image sentence token figure column row""".split()  # noqa: SIM905
)
_NOT_FIRST = frozenset("the a an of and or in for by near around north south east west".split())  # noqa: SIM905
_ACRONYM_CHARS = range(4, 7)  # shorter ones have too many meanings, longer ones are shouted words
_NP_WORD = r"[A-Za-z][\w’'./+-]*"
_NP = (
    rf"(?P<det>(?:The|A|An|Each|Every|All|Your) )?(?P<np>{_NP_WORD}(?: (?:&|{_NP_WORD})){{0,5}}?)"
    r"(?: ?\([^)]{1,60}\))?"
)
_DATE = (
    rf"(?:(?:early|late|mid-?) ?)?(?:(?:\d{{1,2}} )?(?:{'|'.join(MONTHS)})\b(?: \d{{1,2}})?,? ?)?"
    r"(?:(?:1[0-9]|20)\d\d)\b"
)
_NUMBER = rf"(?:[£$€]\s?)?(?:\d[\d,.]*|{SEVERAL}|(?:\w+teen|twenty|thirty|forty|fifty|sixty|ninety)(?:-\w+)?)"
_NOT_TELLING = (
    r"(?!most\b|more\b|same\b|good|great|best|worst|only|lot|bit|matter|case\b|key|big|small|result|reason|problem"
    r"|challenge|must\b|number|subject|choice|preferred|main\b|next|last|first|second|third|following|other|another"
    r"|better|simpler|similar|different|part\b|major|important|popular|example|special case|few|little|list\b|crucial"
    r"|useful|natural|common|perfect|powerful|critical|essential|question|fact|way\b|member\b|long\b|new\b)"
)
_PERSON = (
    r"(?:\w+(?:ist|ian)|actor|actress|author|writer|singer|poet|painter|composer|professor|teacher|lawyer|engineer"
    r"|entrepreneur|businessman|businesswoman|politician|officer|soldier|player|footballer|king|queen|emperor"
    r"|president"
    r"|minister|philosopher|researcher|abolitionist|director|founder|leader|woman|man|person|developer|investor)"
)
_DEFINITION = lazy_regex(
    rf"^{_NP},? (?P<be>is|are|was|were) (?:(?P<article>an?|the|any|one of) {_NOT_TELLING}(?P<what>\w.*)"
    rf"|defined as (?P<defined>.+))"
)
_REFERS = lazy_regex(rf"^{_NP} (?:refers? to|means) (?P<what>.+)")
_EVENT = lazy_regex(
    rf"^{_NP},? (?P<be>was|were) (?:\w+ly )?(?P<verb>founded|established|created|launched|released|introduced"
    rf"|published"
    r"|opened|built|completed|invented|developed|formed|incorporated|discovered|adopted|signed|born|ratified|renamed"
    rf"|started|closed|dissolved|acquired)\b[^.;]{{0,60}}?(?: in| on)(?: the)? (?P<when>{_DATE})"
)
_BY_WHOM = lazy_regex(
    rf"^{_NP},? (?:was|were) (?P<verb>founded|established|created|written|invented|designed|developed"
    rf"|discovered|built"
    r"|painted|composed|directed|introduced)\b[^.;,]{0,40}? by (?P<who>[A-Z][\w.’'-]+(?: (?:and |de |van "
    r"|von )?[A-Z])?)"
)
_COST = lazy_regex(rf"^{_NP} (?P<verb>costs?) (?:about |around |at least |only )?{_NUMBER}")
_DURATION = lazy_regex(
    rf"^{_NP} (?P<verb>lasts?|takes?) (?:about |around |up to |at least |at most |between )?{_NUMBER}"
    r"(?:[–-]\d+| to \w+| and \w+)? (?:seconds|minutes|hours|(?:working |business )?days|weeks|months"
    r"|years)\b(?=[.,;]| on average| and )"
)
_INTERVAL = lazy_regex(
    rf"^{_NP} (?P<be>is|are) (?P<what>\w+(?:ed|en|wn|pt|ut|un|ld|aid)) (?:every \w+|once a \w+|twice a \w+"
    r"|daily|weekly|monthly|yearly|annually|quarterly)"
)
_UNIT = r"(?:minutes|hours|(?:working |business |calendar )?days|weeks|months|years)"
_MONEY = rf"(?:[£$€] ?\d[\d,.]*|{_NUMBER} (?:pounds|euros|dollars|kroner|francs|yen|won|EUR|USD|GBP))"
_OPEN = lazy_regex(
    rf"^{_NP} (?P<be>is|are) (?P<what>open|staffed|due|payable)(?: to [a-z]+)? (?:from |on |at |between |in "
    rf"|daily ?|Mon).*\d"
)
_PRICE = lazy_regex(rf"^{_NP} (?P<be>is|are) (?:{_MONEY}|{_NUMBER} {_UNIT}[’'] (?:rent|pay|salary|wages)\b)")
_LENGTH = lazy_regex(rf"^{_NP} is {_NUMBER} {_UNIT}(?=[.,;]| (?:long|from|after|before|and|or)\b|$)")
_SIZE_OF_SUM = lazy_regex(
    r"\ban? (?P<np>(?:[a-z-]+ ){0,2}(?:fee|deposit|budget|surcharge|allowance|contribution|discount|fine"
    r"|penalty|bonus|grant"
    rf"|premium|subsidy)) of (?:up to )?{_MONEY}(?P<det>)"
)
_DEADLINE = lazy_regex(
    rf"^{_NP} (?P<modal>must|has to|have to) be (?P<what>\w+(?:ed|en|wn|pt|ut|un|ld|aid|ent|ade)) (?:in \w+ )?"
    rf"(?:within {_NUMBER} (?:{_UNIT}|of )|by \d|by (?:the )?(?:{_DATE}|[A-Z]))"
)
_AT_LEAST = lazy_regex(
    rf"^{_NP} must (?P<verb>have|contain|include) (?:at least |exactly |no more than "
    rf"|at most )?{_NUMBER} (?P<noun>(?:[a-z]+ )?[a-z]+s)\b(?! of\b)"
)
_TO_DO = lazy_regex(
    r"^To (?P<np>[a-z]+ (?:an?|the|your|my) [^,.;:]{3,50}), (?:please )?(?:first )?(?:follow|open|ask|go"
    r"|click|press|enter|choose|select"
    r"|write|send|call|use|contact|fill|sign|log|turn|visit|submit|run|hold|remove|install|type|apply"
    r"|complete|bring)\b(?P<det>)"
)
_WEEKDAY = lazy_regex(
    rf"^{_NP} (?P<be>is|are) (?P<what>\w+(?:ed|en|wn|pt|ut|un|ld|aid)) on"
    r" (?:weekdays|(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?)\b"
)
_CLOCK = lazy_regex(
    rf"^{_NP} (?P<verb>starts?|begins?|ends?|opens?|closes?|expires?) (?:on|at|in|from|after) (?:the )?"
    r"(?:\d|noon|midnight|Mon|Tue|Wed|Thu|Fri|Sat|Sun|Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec|first|last)"
)
_PLACE = lazy_regex(
    rf"^{_NP},? (?P<be>is|are) (?P<what>located|headquartered|based|held|situated|stored) (?:in|at|on|near) "
    r"(?!\d|the (?:presence|absence|event|case|course|form|name|hands|interest)\b)"
)
_AMOUNT = lazy_regex(
    rf"^{_NP} (?P<verb>receives?|gets?|has|have|contains?|employs?|consists? of|covers?|operates?|holds?"
    rf"|comprises?|uses?"
    rf"|offers?) (?:a total of |about |around |at least |up to |more than |over )?{_NUMBER} "
    r"(?P<noun>(?:[a-z][a-z-]+ ){0,2}[a-z]+s(?: of (?:[a-z]+ )?[a-z]+(?= (?:per|an?|each|every|in|during"
    r"|for) |[.,;]))?)\b(?! of\b)"
)
_BECAUSE = lazy_regex(
    rf"^{_NP} (?P<be>is|are|was|were|must|cannot|can|should) (?P<what>(?:not )?\w[^,.;:()]{{2,50}}?),? because \w"
)
_DEFINING = (_DEFINITION, _REFERS)
_HISTORICAL = (*_DEFINING, _EVENT, _BY_WHOM, _PLACE)  # ask about one thing in the world, so it must be named


def ask_about_sentence(sentence: str, heading: str, around: Surroundings) -> Iterator[DerivedQuestion]:
    """Yield the question that a sentence answers, if a rule fits it."""
    if found := _TO_DO.match(sentence):
        yield DerivedQuestion("How do I " + _as_mine(found["np"]) + "?", found["np"])
    elif found := _SIZE_OF_SUM.search(sentence):
        yield DerivedQuestion(f"How much is the {found['np']}?", found["np"])
    for rule, ask in _SENTENCES:
        if (found := rule.match(sentence)) and (name := _name_subject(found, heading, around, rule)):
            if question := fill_question(ask, found, name):
                yield DerivedQuestion(question, found["np"])
            return


def _name_subject(found: re.Match[str], heading: str, around: Surroundings, rule: re.Pattern[str]) -> str:
    """Return the subject as it is written within a sentence; empty if it is not clear what it names."""
    np, words = found["np"], found["np"].split()
    lowered = [word.lower() for word in words]
    det = (found["det"] or "").strip().lower()
    if not _may_name(words) or not extract_terms(np):
        return ""
    is_name = any(around.is_proper(word) for word in words) or (np.istitle() and around.is_written_inside(np))
    if not is_name and lowered[-1] in _GENERIC_NOUNS and (len(words) == 1 or (det == "the" and rule in _DEFINING)):
        return ""
    titles = heading if rule in _HISTORICAL and not is_name else f"{heading} {around.title}"
    named_above = set(extract_terms(np)) <= set(extract_terms(titles)) or around.is_heading_line(np)
    if det == "the" and len(words) == 1 and not is_name and not named_above:
        return ""
    if len(words) == 1 and not named_above and not UNUSUAL_CASE.search(np):
        needed = MIN_MENTIONS + 1
    else:
        needed = 1 if (rule not in _DEFINING or named_above) else MIN_MENTIONS + (not is_name and det != "the")
    if around.count(np) < needed or (is_name and det == "the" and len(words) == 1 and not named_above):
        return ""
    det = {"all": "", "your": "my"}.get(det, det)
    return f"{det} {_write_inside(np, det, around)}".strip()


def _may_name(words: list[str]) -> bool:
    """Return whether these words can be a name or a term: no pronouns, adverbs, possessives or shouted words."""
    lowered = [word.lower() for word in words]
    return not (
        _NOT_A_NAME.intersection(lowered)
        or lowered[0] in _NOT_FIRST
        or lowered[-1] in _NOT_FIRST
        or any(re.search(r"(?:(?<!month)(?<!week)(?<!year)(?<!dai)ly|\.|[’']s|s[’'])$", word) for word in lowered)
        or any(word.isalpha() and word.isupper() and len(word) not in _ACRONYM_CHARS for word in words)
        or any(word.islower() and word.endswith("ed") for word in words[1:])
    )


def _write_inside(phrase: str, det: str, around: Surroundings) -> str:
    """Return a phrase from the start of a sentence as it is written within one."""
    first, _, rest = phrase.partition(" ")
    keeps = bool(det) or around.is_proper(first) or (" " in phrase and around.is_written_inside(phrase))
    keeps = keeps or bool(re.match("[A-Z][a-z]", rest))
    return phrase if keeps else first[0].lower() + phrase[1:]


def _ask_what(found: re.Match[str], name: str) -> str:
    groups = found.groupdict()
    be = groups.get("be") or ("are" if _is_plural(name) and re.search(r" (?:refer|mean) ", found.string) else "is")
    what = (groups.get("what") or groups.get("defined") or "")[:60]
    if (
        found["det"] in ("Each ", "Every ", "All ", "Your ")
        or len(what.split()) < _MIN_DEFINITION_WORDS
        or _JOINED.search(name)
    ):
        return ""
    if found["det"] is None and name.islower() and not _is_plural(name) and not _MASS_NOUN.search(name):
        return ""  # a countable noun without its article
    if _PLACE_NOUN.search(what):
        is_where = be in ("is", "are") and " in " in what and (name[:1].isupper() or name.startswith("the "))
        return f"Where {be} {name}?" if is_where else ""
    if be in ("is", "was") and re.match(rf"(?:[\w-]+,? ){{0,5}}?{_PERSON}\b", what) and name[:1].isupper():
        return f"Who {be} {name}?" if " " in name and not _is_organization(found.string) else ""
    if be in ("was", "were"):
        return ""
    return f"What {be} {name}?"


_MIN_DEFINITION_WORDS = 2
_JOINED = lazy_regex(r"(?i) (?:and|or|in|on|at|for|of|by|from|with|around|near|to) |\bname\b")
_MASS_NOUN = lazy_regex(
    r"(?:tion|sion|ing|ity|ism|ness|ment|ics|ogy|phy|sis|ance|ence|care|ure|ery|learning"
    r"|theory)$"
)
_PLACE_NOUN = lazy_regex(
    r"^(?:[\w-]+,? ){0,4}?(?:city|town|county|state|country|province|region|village|district|river|island|suburb"
    r"|municipality|borough|mountains?|lake|capital|republic|neighbou?rhood|area|port|hub|gateway|center"
    r"|centre|peninsula)\b"
)


def _is_organization(sentence: str) -> bool:
    return bool(re.search(r"\b(?:company|corporation|organi[sz]ation|software|manager|system|tool)\b", sentence))


def _is_plural(name: str) -> bool:
    return name.endswith("s") and not name.endswith(("ss", "is", "us"))


def _ask_by_whom(found: re.Match[str], name: str) -> str:
    active = {"written": "wrote", "built": "built"}.get(found["verb"], found["verb"])
    return f"Who {active} {name}?"


def _ask_cost(found: re.Match[str], name: str) -> str:
    if found["det"] in ("Each ", "Every "):
        return ""
    return f"How much {'does' if found['verb'].endswith('s') else 'do'} {name} cost?"


def _ask_duration(found: re.Match[str], name: str) -> str:
    return f"How long {'does' if found['verb'].endswith('s') else 'do'} {name} {found['verb'].rstrip('s')}?"


def _ask_clock(found: re.Match[str], name: str) -> str:
    verb = found["verb"]
    return f"When {'does' if verb.endswith('s') else 'do'} {name} {verb.removesuffix('s')}?"


_ABSTRACT_NOUNS = frozenset("advantages disadvantages benefits drawbacks goals limitations problems reasons".split())  # noqa: SIM905


def _ask_how_many(found: re.Match[str], name: str) -> str:
    verb, _, of = found["verb"].partition(" ")
    does = "does" if verb.endswith("s") else "do"
    base = "have" if verb in ("has", "have") else verb.removesuffix("s")
    noun = found["noun"]
    if noun.split()[-1] in _ABSTRACT_NOUNS:
        return f"What {noun} {does} {name} {base}{' of' if of else ''}?"
    noun, _, what = noun.partition(" of ")
    if noun.split()[-1] in ("percent", "times", "is", "was", "has", "less", "this") or re.search(
        r"\b(?:and|or|to)\b", noun
    ):
        return ""
    noun = f"{noun} of {what}" if what else noun
    return f"How many {noun} {does} {name} {base}{' of' if of else ''}?"


def _ask_why(found: re.Match[str], name: str) -> str:
    be, what = found["be"], found["what"]
    if _NOT_A_NAME.intersection(what.split()) - {"not", "only", "more", "less", "be", "been", "to", "with", "on", "at"}:
        return ""
    if be == "cannot":
        return f"Why can’t {name} {what}?"
    return f"Why {be} {name} {what}?"


def _ask_deadline(found: re.Match[str], name: str) -> str:
    if found["modal"] == "must":
        return f"When must {name} be {found['what']}?"
    return f"When {'does' if found['modal'] == 'has to' else 'do'} {name} have to be {found['what']}?"


_SENTENCES: tuple[tuple[re.Pattern[str], SentenceAsk], ...] = (
    (_BECAUSE, _ask_why),
    (_EVENT, "When {be} {name} {verb}?"),
    (_BY_WHOM, _ask_by_whom),
    (_COST, _ask_cost),
    (_DURATION, _ask_duration),
    (_INTERVAL, "How often {be} {name} {what}?"),
    (_CLOCK, _ask_clock),
    (_WEEKDAY, "When {be} {name} {what}?"),
    (_OPEN, "When {be} {name} {what}?"),
    (_PRICE, "How much {be} {name}?"),
    (_LENGTH, "How long is {name}?"),
    (_DEADLINE, _ask_deadline),
    (_AT_LEAST, "How many {noun} must {name} {verb}?"),
    (_PLACE, "Where {be} {name} {what}?"),
    (_AMOUNT, _ask_how_many),
    (_DEFINITION, _ask_what),
    (_REFERS, _ask_what),
)

_HEADING_QUESTION = lazy_regex(
    r"(?i)^(?:what|how|why|when|where|who|which|is|are|can|do|does|should|will|may)\b.+ .+\?$"
)
_UNCLEAR = lazy_regex(r"(?i)\b(?:it|its|this|that|these|those|they|them|he|she|we|our|us|here|there)\b")
_HOW_TO = lazy_regex(r"(?i)^how to (?P<what>[a-z]+ .+)$")
_PARTS = lazy_regex(
    r"(?i)^(?P<part>types|kinds|tips|advantages|disadvantages|benefits|drawbacks|limitations|limits|challenges"
    r"|requirements|rules|steps|causes|effects|symptoms|applications|components|principles|risks|stages|phases|goals"
    r"|properties|uses|methods|sources|conditions|costs) (?P<link>of|for) (?P<what>(?:the )?\w.+)$"
)
_SINGULAR_PART = lazy_regex(
    r"(?i)^(?P<part>history|role|purpose|cost|structure|definition) of (?P<what>(?:the )?\w.+)$"
)
_VERSUS = lazy_regex(r"^(?P<one>[\w-]+(?: [\w-]+)?) (?:vs\.?|versus) (?P<other>[\w-]+(?: [\w-]+)?)$")
_PROCESS = lazy_regex(r"(?i)^(?:[\w’-]+ ){1,3}\w{3,}(?P<end>ation|ition|uction|ection|ing|thesis|ption)$")
_HAS_CLAUSE = lazy_regex(
    r"^(?:basic|general|further|other|additional|common|simple|related|more) |(?:s|ed) \w+$|\b(?:and|or|of"
    r"|for|in|to|with|on|a|the|from|by|using)\b"
)
_NO_PROCESS = frozenset(
    """information introduction section meeting building accommodation education organisation organization application
    documentation question location position description conclusion discussion population equation condition notation
    definition motivation evaluation implementation edition mission vision permission pension version session dimension
    extension expression setting pricing heading meaning rating listing funding working reading thing king ring spring
    evening morning corporation association publication foundation collection relation recognition option station nation
    consideration direction situation generation presentation limitation observation proposition election tradition
    understanding beginning engineering marketing reasoning thinking acquisition interaction""".split()  # noqa: SIM905
)


_AT_A_TIME = re.compile(r"(?:before|after|during|while|when|until|if|in case|on|at|from)\b", re.IGNORECASE)


def ask_about_heading(heading: str, around: Surroundings) -> Iterator[DerivedQuestion]:
    """Yield the question that the text under a heading answers, if a rule fits the heading."""
    if _HEADING_QUESTION.match(heading):
        if not _UNCLEAR.search(heading):
            yield DerivedQuestion(heading, heading)
        return
    if (
        _UNCLEAR.search(heading)
        or _AT_A_TIME.match(heading)
        or heading.isupper()
        or re.search(r"[\d;:!?/&“”\"()]", heading)
    ):
        return
    if question := _ask_about_topic(around.lower_ordinary(heading)):
        yield DerivedQuestion(question, heading)


def _as_mine(text: str) -> str:
    return re.sub(r"\byour\b", "my", text)


def _ask_about_topic(lowered: str) -> str:
    if found := _HOW_TO.match(lowered):
        return "How do I " + _as_mine(found["what"]) + "?"
    if found := _PARTS.match(lowered):
        part = found["part"].lower()
        if part in ("types", "kinds"):
            return f"What {part} of {found['what']} are there?"
        return f"What are the {part} {found['link']} {found['what']}?"
    if found := _SINGULAR_PART.match(lowered):
        part = found["part"].lower()
        return f"What is {found['what']}?" if part == "definition" else f"What is the {part} of {found['what']}?"
    if found := _VERSUS.match(lowered):
        return f"What is the difference between {found['one']} and {found['other']}?"
    last = lowered.split()[-1].lower()
    if _PROCESS.match(lowered) and last not in _NO_PROCESS and not _HAS_CLAUSE.search(lowered):
        return f"How does {lowered} work?"
    return ""
