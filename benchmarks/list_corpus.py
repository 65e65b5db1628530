"""Made documents for "list all" questions, with every sentence, list item and row that answers each question known.

A corpus has about 1,000 passages of the usual size: reports, contracts, minutes and letters as Markdown and plain text.
What is asked for stands in chapters named after it, in lists, in single sentences elsewhere and in tables. Distractors
use the same words in another sense, or figures that only look like the values asked for.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

DOCUMENTS = 12
CHAPTERS = 18
FILLER_PARAGRAPHS = 6
FILLER_SENTENCES = 8
"""Chapters of a document, paragraphs of a chapter and sentences of a paragraph, for about 1,000 passages."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A sentence, list item or table row with the kinds of thing it states; none for filler and distractors."""

    text: str
    kinds: frozenset[str] = frozenset()


@dataclass(slots=True)
class Chapter:
    """A chapter: its title, its paragraphs, its list and perhaps a table with a row of column names."""

    title: str
    paragraphs: list[list[Unit]] = field(default_factory=list)
    items: list[Unit] = field(default_factory=list)
    columns: str = ""
    rows: list[Unit] = field(default_factory=list)
    level: int = 1

    def units(self) -> Iterator[Unit]:
        """Yield all units in order."""
        yield from (unit for paragraph in self.paragraphs for unit in paragraph)
        yield from self.items
        yield from self.rows


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the kind of thing that it asks for."""

    text: str
    kind: str


@dataclass(frozen=True, slots=True)
class Corpus:
    """Documents by file name, and the questions to ask."""

    files: dict[str, str]
    units: dict[str, list[Unit]]
    questions: list[Question]

    def places(self, kind: str) -> list[tuple[str, str]]:
        """Return file name and text of each unit of a kind."""
        return [(name, unit.text) for name, units in self.units.items() for unit in units if kind in unit.kinds]


class Words:
    """Draws words and values for templates, and never makes the same sentence twice."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self._made: set[str] = set()

    def fill(self, templates: Sequence[str]) -> str:
        """Return one of the templates with its slots filled. Raises ValueError if all sentences are used up."""
        for _ in range(1000):
            text = self.rng.choice(templates)
            while "{" in text:
                start, end = text.index("{"), text.index("}")
                text = text[:start] + self._slot(text[start + 1 : end]) + text[end + 1 :]
            text = text[:1].upper() + text[1:]
            if text not in self._made:
                self._made.add(text)
                return text
        raise ValueError(f"Too few words for {templates}")

    def _slot(self, name: str) -> str:
        made = _VALUES.get(name)
        return made(self.rng) if made else self.rng.choice(_SLOTS[name])


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _phrases(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(","))


_SLOTS: dict[str, tuple[str, ...]] = {
    "adj": _words("tall new wide narrow quiet bright sturdy wooden northern southern small later plain modern spare"),
    "thing": _words(
        "bridge library garden workshop ferry tower kitchen harbour meadow gallery storehouse lantern orchard archive "
        "corridor staircase courtyard greenhouse quay barn"
    ),
    "group": _phrases(
        "the gardeners, the volunteers, the neighbours, the carpenters, the painters, the visitors, the teachers, "
        "the musicians, the librarians, the students, the fishermen, the cooks"
    ),
    "did": _words("visited repaired admired photographed sketched cleaned measured painted opened closed inspected"),
    "when": _phrases(
        "in the afternoon, after breakfast, before the rain, on a quiet morning, during the holidays, "
        "without any hurry, for the second time, with great care, as in other years, to everybody's delight"
    ),
    "first": _words("Anna Boris Clara David Edith Felix Grete Henry Irene Jonas Karla Louis Marta Nils Olga Paul Rosa"),
    "last": _words("Alder Birk Carver Dunne Ekholm Farrow Gold Holm Ivers Jansen Kerr Lund Moss Norton Ostrow Pike"),
    "dept": _phrases(
        "the press office, the front desk, customer care, the accounts team, the night shift, the museum shop, "
        "technical support, the warehouse, the ticket office, the training centre, the legal team"
    ),
    "goods": _phrases(
        "the roof tiles, the boiler, the printing press, the delivery van, the window frames, the servers, "
        "the conveyor belt, the fire doors, the lifts, the water tank, the solar panels, the crane"
    ),
    "event": _phrases(
        "the audit, the annual report, the harvest fair, the kick-off meeting, the site inspection, the book launch, "
        "the fire drill, the exhibition, the open day, the trade fair, the migration, the handover"
    ),
    "mishap": _phrases(
        "a supplier goes bankrupt, the cellar is flooded, key staff leave, the harbour freezes over, "
        "the software is not ready in time, steel becomes scarce, the permit is refused, a virus shuts the office, "
        "the old wiring catches fire, demand falls short of the forecast, the ground turns out to be unstable, "
        "customs hold back a shipment, a strike stops the trains, the lenders withdraw, insects damage the beams"
    ),
    "deed": _phrases(
        "move the archive to the annex, hire two apprentices, repaint the lobby, sell the old ferry, "
        "close the west gate at night, publish the minutes, replace the boiler, extend the opening hours, "
        "found a second choir, plant forty lime trees, rent a larger store, change the insurer, print new maps, "
        "train the guards, lower the speed limit, merge the two funds, buy a tractor, digitize the card index"
    ),
    "deeding": _phrases(
        "moving the archive, hiring apprentices, repainting the lobby, selling the ferry, closing the west gate, "
        "publishing the minutes, replacing the boiler, extending the opening hours, founding a second choir, "
        "planting lime trees, renting a larger store, changing the insurer, printing new maps, training the guards"
    ),
    "manner": _phrases(
        "at once, in two stages, before winter, with local firms, at low cost, under supervision, on weekdays only, "
        "without outside help, as a trial, in the annex, for five years, together with the town"
    ),
    "because": _phrases(
        "because of the frost, owing to the narrow street, as in the previous winter, given the age of the building, "
        "since there is only one crane, with little warning, despite all checks, in the busiest weeks, "
        "for the third year running, while the gate is shut"
    ),
    "part": _phrases(
        "the main hall, the north wing, the boathouse, the control room, block C, the test rig, the basement, "
        "the loading bay, the pilot plant, line 4, the turbine house, the annex"
    ),
    "state": _phrases(
        "was serviced, runs quietly, had to be switched off, was moved, shows some wear, is insured separately, "
        "was delivered late, needs a new seal, passed every test, stands on rubber feet, was lent to a school"
    ),
    "city": _words(
        "Lisbon Oslo Graz Turin Leeds Ghent Malmo Basel Cork Porto Riga Gdansk Bergen Utrecht Dundee Aarhus"
    ),
    "number": _words("40 75 120 180 260 310 450 520 640 780 910"),
}


def _email(rng: random.Random) -> str:
    name = rng.choice(_SLOTS["first"]).lower() + rng.choice((".", "_", "-", "")) + rng.choice(_SLOTS["last"]).lower()
    return f"{name}{rng.choice(('', '', str(rng.randint(2, 99))))}@{rng.choice(_DOMAINS)}"


_DOMAINS = ("harbour-trust.org", "mail.example.com", "lindenhof.de", "northgate.co.uk", "ateliers.fr", "example.net")


def _digits(rng: random.Random, count: int) -> str:
    return "".join(str(rng.randint(0, 9)) for _ in range(count))


def _phone(rng: random.Random) -> str:
    kind = rng.randrange(5)
    if kind == 0:
        return f"+44 20 79{_digits(rng, 2)} {_digits(rng, 4)}"
    if kind == 1:
        return f"(0{rng.randint(20, 89)}) {rng.randint(2, 9)}{_digits(rng, 5)}"
    if kind == 2:
        return f"+49 {rng.randint(151, 179)} {rng.randint(2, 9)}{_digits(rng, 6)}"
    if kind == 3:
        return f"({rng.randint(201, 989)}) 555-01{_digits(rng, 2)}"
    return f"0{rng.randint(20, 89)}-{rng.randint(2, 9)}{_digits(rng, 3)}-{_digits(rng, 4)}"


_MONTHS = _words("January February March April May June July August September October November December")


def _date(rng: random.Random) -> str:
    day, month, year = rng.randint(1, 28), rng.randint(1, 12), rng.randint(2017, 2026)
    name = _MONTHS[month - 1]
    return rng.choice(
        (
            *(f"{day} {name} {year}", f"{name} {day}, {year}", f"{year}-{month:02}-{day:02}"),
            *(f"{day}.{month}.{year}", f"{day} {name[:3]} {year}"),
        )
    )


def _amount(rng: random.Random) -> str:
    whole = rng.randint(3, 990) * rng.choice((1, 5, 100, 1000))
    return rng.choice(
        (
            *(f"EUR {whole:,}", f"${whole:,}", f"£{whole:,}.50", f"{whole:,} euros", f"€{whole:,}"),
            *(f"{whole:,} dollars", f"{rng.randint(1, 90)}.{rng.randint(1, 9)} million euros", f"CHF {whole:,}.00"),
        )
    )


_VALUES: dict[str, Callable[[random.Random], str]] = {
    "email": _email,
    "phone": _phone,
    "date": _date,
    "amount": _amount,
    "iban": lambda rng: f"DE{_digits(rng, 2)} {_digits(rng, 4)} {_digits(rng, 4)} {_digits(rng, 4)} {_digits(rng, 2)}",
    "isbn": lambda rng: f"978-{_digits(rng, 1)}-{_digits(rng, 2)}-{_digits(rng, 6)}-{_digits(rng, 1)}",
    "serial": lambda rng: _digits(rng, 8),
    "version": lambda rng: f"{rng.randint(1, 30)}.{rng.randint(1, 12)}.{rng.randint(0, 9)}",
    "year": lambda rng: str(rng.randint(1950, 2026)),
}

FILLER = (
    "{group} {did} the {adj} {thing} {when}.",
    "The {adj} {thing} beside the {thing} was {did} {when}.",
    "A {adj} {thing} in {city} reminded {group} of the {thing}.",
    "{first} {last} and {group} {did} a {adj} {thing} {when}.",
    "Between the {thing} and the {adj} {thing} {group} rested {when}.",
    "Nobody {did} the {thing} in {city} {when}, although it looked {adj}.",
    "From the {adj} {thing} one could see the {thing} of {city}.",
    "The {thing} in {part} is {adj}, and {group} like it.",
)
TITLES = (
    "The {adj} {thing}",
    "{city} and its {thing}",
    "A visit to the {adj} {thing}",
    "Notes on the {thing} in {city}",
    "How {group} {did} the {thing}",
)


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of thing that can be asked for, and the texts that state it or only seem to.

    `chapters` are titles of chapters that hold nothing else, of `items`; `sentences` state it anywhere. `extra` names
    further kinds that the same texts state.
    """

    name: str
    questions: tuple[str, ...]
    sentences: tuple[str, ...]
    distractors: tuple[str, ...]
    chapters: tuple[str, ...] = ()
    items: tuple[str, ...] = ()
    misleading_titles: tuple[str, ...] = ()
    extra: frozenset[str] = frozenset()


KINDS = (
    Kind(
        "email",
        ("List all e-mail addresses.", "Which email addresses occur in the documents?", "Find every email address."),
        (
            "Questions about {event} go to {email}.",
            "{first} {last} answers at {email} {when}.",
            "Send drawings of {goods} to {email}, not to {dept}.",
            "You can reach {dept} under {email}.",
        ),
        (
            "In the chat, @{first} asked {dept} about {event}.",
            "{dept} sends no e-mail about {event} to {group}.",
            "Six lamps @ {number} watts light {part} {when}.",
        ),
        ("Contacts",),
        ("{dept}: {email}", "{first} {last}, {email}", "{event}: {first} {last} <{email}>"),
    ),
    Kind(
        "phone",
        ("List all phone numbers.", "Which telephone numbers are given?", "Give me all phone numbers."),
        (
            "Call {phone} if {goods} fail.",
            "{first} {last} can be reached at {phone} {when}.",
            "The emergency line of {part} is {phone}.",
            "Tel. {phone} puts you through to {dept}.",
        ),
        (
            "The invoice for {goods} bears the number {serial}.",
            "The guide to {city} has the ISBN {isbn}.",
            "Payments for {event} go to account {iban}.",
            "{first} {last} phoned {dept} about {goods} {when}.",
        ),
        (),
        ("{dept}: {phone}", "{part}, {first} {last}: {phone}"),
    ),
    Kind(
        "date",
        ("List all dates.", "Which dates are mentioned in the documents?", "List every date that occurs."),
        (
            "On {date} {group} {did} {goods}.",
            "{event} took place on {date} in {city}.",
            "The lease of {part} began on {date}.",
            "Since {date}, {dept} has looked after {goods}.",
        ),
        (
            "{goods} may take {group} a while to see.",
            "{dept} installed version {version} of the software for {part}.",
            "The march to {city} took {group} past the {thing}.",
            "A dated design gives {part} of {city} its charm.",
        ),
    ),
    Kind(
        "amount",
        ("List all amounts of money.", "Which sums of money are mentioned?", "List every amount of money."),
        (
            "{goods} cost {amount} in {city}.",
            "{dept} paid {amount} for {event}.",
            "A grant of {amount} went to {part}.",
            "Renting {part} brings in {amount} a year.",
        ),
        (
            "{city} has {number} houses near the {thing}.",
            "The catalogue of {dept} runs to {number} pages about {goods}.",
            "A considerable amount of snow lay on {part} {when}.",
            "Some {number},000 people saw {event} in {city}.",
        ),
    ),
    Kind(
        "risk",
        ("List all risks.", "What risks are mentioned in the documents?", "Which risks are there? List all of them."),
        (
            "There is a risk that {mishap} {because}.",
            "One risk in {part} is that {mishap}.",
            "For {part}, the greatest risk is that {mishap}.",
        ),
        (
            "At the risk of boring {group}, {first} {last} described the {thing} of {city}.",
            "{first} {last} played Risk, the board game, with {group} {when}.",
            "The brisk walk to the {thing} in {city} pleased {group} {when}.",
        ),
        ("Risks", "Main risks", "Risks of the project"),
        ("{mishap} {because}", "In {part}, {mishap}", "{mishap}, which would delay {event}"),
        ("The frisky {thing}", "Asterisks in old maps of {city}"),
    ),
    Kind(
        "decision",
        ("List all decisions.", "Which decisions were made? List all.", "What decisions are in the documents?"),
        (
            "The board decided to {deed} {manner}.",
            "It was decided to {deed} {manner}.",
            "The council took the decision to {deed} {manner}.",
        ),
        (
            "The {adj} {thing} gives {city} a decided charm {when}.",
            "{first} {last} was undecided about the {thing} in {city}.",
            "{group} saw the decisive goal in {city} {when}.",
        ),
        ("Decisions", "Decisions of the meeting"),
        ("{deed} {manner}", "{dept} will {deed} {manner}"),
        ("Before anything was decided in {city}",),
    ),
    Kind(
        "recommendation",
        ("List all recommendations.", "What recommendations are made?", "Find all recommendations in the documents."),
        (
            "We recommend to {deed} {manner}.",
            "The authors recommend {deeding} {manner}.",
            "It is recommended that {dept} {deed} {manner}.",
        ),
        (
            "{first} {last} came with a letter of recommendation from the {thing} in {city}.",
            "The {thing} in {city} comes highly recommended by {group}.",
        ),
        ("Recommendations", "Our recommendations"),
        ("{deed} {manner}", "{deeding} {manner}, as soon as money allows"),
    ),
    Kind(
        "deadline",
        ("List all deadlines.", "Which deadlines are there?", "Give me a list of all deadlines."),
        (
            "The deadline for {event} is {date}.",
            "For {goods}, the deadline was moved to {date}.",
            "The deadline to apply for {event} ends on {date}.",
        ),
        (
            "The band Deadline played in {city} {when}.",
            "{first} {last} works well without deadlines, says {dept}.",
        ),
        ("Deadlines",),
        ("{event}: {date}", "{goods} for {part}: {date}", "{dept}, report on {event}: {date}"),
        extra=frozenset({"date"}),
    ),
    Kind(
        "cooling pump",
        (
            "List all mentions of the cooling pump.",
            "Where is the cooling pump mentioned? List every place.",
            "Find every sentence about the cooling pump.",
        ),
        (
            "The cooling pump in {part} {state} {when}.",
            "In {city}, the cooling pump {state}.",
            "{first} {last} checked both cooling pumps of {part} {when}.",
            "Without its cooling pump, {part} stands still {when}.",
        ),
        (
            "The heat pump in {part} {state} {when}.",
            "The cooling tower near {part} {state}.",
            "{first} {last} sat by the village pump of {city}, cooling {when}.",
            "A bicycle pump hangs in {part} {when}.",
        ),
    ),
    Kind(
        "Marchetti",
        (
            "List all mentions of Lucia Marchetti.",
            "Where is Lucia Marchetti mentioned?",
            "List every place that names Lucia Marchetti.",
        ),
        (
            "Lucia Marchetti {did} the {thing} in {city} {when}.",
            "{dept} thanked Lucia Marchetti for {event}.",
            "With Ms Marchetti, {group} {did} {goods}.",
            "Marchetti spoke about {part} {when}.",
        ),
        (
            "Lucia {last} {did} the {thing} in {city} {when}.",
            "On St Lucia's day {group} {did} {goods}.",
        ),
    ),
)  # fmt: skip

SENTENCES, DISTRACTORS = 14, 6
"""Single sentences of each kind in a corpus, and distractors."""
CHAPTER_ITEMS = (4, 9)
_INTRODUCTIONS = (
    "{group} collected the following at {event} in {city}.",
    "This chapter was last read by {first} {last} in {city}.",
)


def make_corpus(seed: int) -> Corpus:
    """Return a corpus; the same one for the same seed."""
    words = Words(seed)
    books = [_filler_chapters(words) for _ in range(DOCUMENTS)]
    for kind in KINDS:
        _add_chapters(kind, books, words)
        singles = [_unit(kind, words.fill(kind.sentences)) for _ in range(SENTENCES)]
        singles += [Unit(words.fill(kind.distractors)) for _ in range(DISTRACTORS)]
        for unit in singles:
            _insert(unit, books, words.rng)
    _add_contact_table(words.rng.choice(books), words)
    files, units = {}, {}
    for at, chapters in enumerate(books):
        name = f"report {at + 1}." + ("md" if at % 2 else "txt")
        files[name] = (_as_markdown if at % 2 else _as_plain_text)(name.partition(".")[0], chapters)
        units[name] = [unit for chapter in chapters for unit in chapter.units()]
    return Corpus(files, units, [Question(words.rng.choice(kind.questions), kind.name) for kind in KINDS])


def _filler_chapters(words: Words) -> list[Chapter]:
    return [
        Chapter(
            words.fill(TITLES),
            [[Unit(words.fill(FILLER)) for _ in range(FILLER_SENTENCES)] for _ in range(FILLER_PARAGRAPHS)],
        )
        for _ in range(CHAPTERS)
    ]


def _unit(kind: Kind, text: str) -> Unit:
    return Unit(text, kind.extra | {kind.name})


def _insert(unit: Unit, books: list[list[Chapter]], rng: random.Random) -> None:
    """Put a sentence between the filler sentences of any ordinary chapter."""
    chapter = rng.choice([chapter for book in books for chapter in book if len(chapter.paragraphs) > 1])
    paragraph = rng.choice(chapter.paragraphs)
    paragraph.insert(rng.randint(0, len(paragraph)), unit)


def _add_chapters(kind: Kind, books: list[list[Chapter]], words: Words) -> None:
    """Add chapters named after the kind: lists, sentences, and one with two sections; and chapters that mislead."""
    rng = words.rng
    for at, title in enumerate(kind.chapters):
        chapter = Chapter(title)
        if rng.random() < 0.3:
            chapter.paragraphs.append([Unit(words.fill(_INTRODUCTIONS))])
        made = [_unit(kind, words.fill(kind.items)) for _ in range(rng.randint(*CHAPTER_ITEMS))]
        book = rng.choice(books)
        place = rng.choice([at for at in range(1, len(book)) if book[at].level == 1])
        added = [chapter]
        if at == 1:
            chapter.paragraphs.append([Unit(f"{unit.text}.", unit.kinds) for unit in made])
        elif at == 2:
            half = len(made) // 2
            added += [Chapter("In the first year", items=made[:half], level=2)]
            added += [Chapter("In later years", items=made[half:], level=2)]
        else:
            chapter.items = made
        book[place:place] = added
    for title in kind.misleading_titles:
        book = rng.choice(books)
        sentences = [Unit(words.fill(FILLER)) for _ in range(FILLER_SENTENCES)]
        place = rng.choice([at for at in range(1, len(book)) if book[at].level == 1])
        book.insert(place, Chapter(words.fill((title,)), [sentences]))


def _add_contact_table(book: list[Chapter], words: Words) -> None:
    rows = [Unit(words.fill(("{first} {last} | {phone} | {email}",)), frozenset({"email", "phone"})) for _ in range(8)]
    book.append(Chapter("People", columns="Name | Phone | E-mail", rows=rows))


def _as_markdown(title: str, chapters: Sequence[Chapter]) -> str:
    parts = [f"# {title.capitalize()}"]
    for chapter in chapters:
        parts.append(f"{'#' * (chapter.level + 1)} {chapter.title}")
        parts += [" ".join(unit.text for unit in paragraph) for paragraph in chapter.paragraphs]
        if chapter.items:
            parts.append("\n".join(f"- {unit.text}" for unit in chapter.items))
        if chapter.rows:
            border = " | ".join("---" for _ in chapter.columns.split("|"))
            lines = [chapter.columns, border, *(unit.text for unit in chapter.rows)]
            parts.append("\n".join(f"| {line} |" for line in lines))
    return "\n\n".join(parts) + "\n"


def _as_plain_text(title: str, chapters: Sequence[Chapter]) -> str:
    """Return the text with numbered headings, each on its own line directly above the text."""
    parts, number, section = [title.upper()], 0, 0
    for chapter in chapters:
        number, section = (number + 1, 0) if chapter.level == 1 else (number, section + 1)
        heading = f"{number}. {chapter.title}" if chapter.level == 1 else f"{number}.{section} {chapter.title}"
        body = ["\n".join(_wrap(" ".join(unit.text for unit in one))) for one in chapter.paragraphs]
        if chapter.items:
            body.append("\n".join(f"- {unit.text}" for unit in chapter.items))
        if chapter.rows:
            body.append("\n".join([chapter.columns, *(unit.text for unit in chapter.rows)]))
        parts.append("\n".join([heading, "\n\n".join(body)]).strip())
    return "\n\n".join(parts) + "\n"


def _wrap(text: str) -> list[str]:
    from textwrap import wrap

    return wrap(text, 80, break_on_hyphens=False, break_long_words=False)
