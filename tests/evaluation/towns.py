"""A small library to make questions from: forty towns, one document each."""

from __future__ import annotations

import random

from crag.library.library import Library

TOWNS = """
    Alder Birch Cedar Dogwood Elm Fir Ginkgo Hazel Ivy Juniper Katsura Laurel Maple Nutmeg Oak Pine Quince Rowan
    Spruce Teak Umbra Viburnum Willow Yew Zelkova Acacia Balsa Cypress Date Ebony Fig Guava Hemlock Ilex Jasmine
    Kapok Larch Mango Neem Olive
    """.split()  # noqa: SIM905 — a list of so many would hide the words
_THINGS = ("bridge", "harbour", "library", "market", "museum", "railway", "theatre", "tower")
_MAKERS = ("engineer", "merchant", "baker", "captain", "teacher", "painter", "weaver", "doctor")
_SEASONS = ("spring", "summer", "autumn", "winter")


def add_facts(library: Library, collection: str = "Documents", towns: int = 40) -> None:
    """Adds one document a town; what each says is the same at every run."""
    chance = random.Random(7)
    for number, town in enumerate(TOWNS[:towns]):
        thing, maker = _THINGS[number % 8], _MAKERS[(number * 3) % 8]
        year, people = 1700 + chance.randrange(250), 1000 + chance.randrange(90_000)
        text = (
            f"The {thing} of {town} was opened in {year} by the {maker} Edward {town}son after a long quarrel. "
            f"{town} paid {chance.randrange(100, 900)} silver crowns for it from a tax on salted fish. "
            f"Today {people} people live near the {thing} of {town}, descended from immigrant glass workers. "
            f"Every {_SEASONS[number % 4]} the citizens of {town} hold a boat race there."
        )
        result = library.pipeline.add_bytes(f"{town}.txt", text.encode(), collection=collection)
        assert result.id is not None, result.error
