"""Generated English-looking prose of a given size, identical in every run.

Half of the words are the most common of the language; the others are built from them with common endings. Each text has
names and numbers of its own, so that the vocabulary keeps growing with the size.
"""

from __future__ import annotations

import random
from pathlib import Path

COMMON = """
the of and a to in is was that it for on with as he his be at by had from this are or an not have her which were but
their one has they all been there who when will would more if out so said what up its about into than them can only
other new some could time these two may then do first any my now such like our over man me even most made after also
did many before must through back years where much your way well down should because each just those people how too
little state good very make world still own see men work long get here between both life being under never day same
another know while last might us great old year off come since against go came right used take three states himself
few house use during without again place around however home small found thought went say part once general high upon
school every water number body light side land form fact city point night water order power system group child public
street word record letter company market paper office table island river mountain garden window summer winter village
church bridge harbour railway engine captain teacher doctor farmer soldier sailor writer painter law court army field
method measure result theory cause effect change growth trade price value cost labour season storm forest animal plant
stone metal glass wood oil coal gas heat sound colour shape line figure story song game dance prize member leader
build carry begin keep hold bring write read learn teach grow move turn open close follow lead reach remain return
receive require produce provide support allow include contain consider expect describe report suggest develop increase
reduce improve protect discover explain compare connect collect deliver design direct divide enter establish examine
early late young large short clear strong simple certain common local foreign modern ancient quiet heavy gentle narrow
""".split()  # noqa: SIM905 — a list this long would hide the words
ENDINGS = ("s", "ed", "er", "ing", "ly", "ment", "ness", "ful", "less", "able", "ation", "ist", "ward", "like", "ship")
BEGINNINGS = ("", "un", "re", "over", "under", "out", "fore", "mis", "counter", "inter", "non", "semi")
SYLLABLES = ("al", "an", "bel", "bor", "bri", "cor", "den", "dor", "fal", "gar", "han", "lor", "mar", "mel", "per")
SECTION_WORDS = 400


def write_corpus(folder: Path, files: int, file_size: int) -> None:
    """Fill `folder` with text files of about `file_size` bytes each."""
    chance = random.Random(1)
    built = [before + word + ending for ending in ENDINGS for before in BEGINNINGS for word in COMMON[60:]]
    words = COMMON + sorted(built, key=len)  # shorter words are more frequent, as in every language
    weights = [1 / (rank + 2.7) ** 1.2 for rank in range(len(words))]
    totals = [weights[0]]
    for weight in weights[1:]:
        totals.append(totals[-1] + weight)
    for number in range(files):
        (folder / f"text {number:04}.txt").write_text(_text(chance, words, totals, file_size), encoding="utf-8")


def _text(chance: random.Random, words: list[str], totals: list[float], size: int) -> str:
    names = ["".join(chance.choices(SYLLABLES, k=chance.randint(2, 4))).capitalize() for _ in range(40)]
    paragraphs: list[str] = []
    length = 0
    while length < size:
        drawn = chance.choices(words, cum_weights=totals, k=SECTION_WORDS)
        for place in range(7, SECTION_WORDS, 31):
            drawn[place] = chance.choice(names) if chance.random() < 0.7 else str(chance.randint(2, 2400))
        for paragraph in _paragraphs(chance, drawn):
            paragraphs.append(paragraph)
            length += len(paragraph) + 2
    return "\n\n".join(paragraphs)


def _paragraphs(chance: random.Random, words: list[str]) -> list[str]:
    sentences = []
    start = 0
    while start < len(words):
        end = start + chance.randint(8, 24)
        sentence = " ".join(words[start : (start + end) // 2]) + ", " + " ".join(words[(start + end) // 2 : end])
        sentences.append(sentence[0].upper() + sentence[1:].rstrip(" ,") + ".")
        start = end
    return [" ".join(sentences[n : n + 5]) for n in range(0, len(sentences), 5)]
