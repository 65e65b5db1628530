"""Texts of the screen in the user's language.

English texts in the code are the keys. `_` translates where a text is drawn; `N_` marks a text that is translated
later. What is stored stays English: `translate_text` translates such a text when it is drawn, values included.
A language is one file, `translations/<language>/LC_MESSAGES/crag.po`.
"""

from __future__ import annotations

import gettext
import io
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, lru_cache, reduce
from operator import itemgetter
from pathlib import Path
from typing import Literal, TypeVar

from crag.particles import KoreanText

ENGLISH = "en"
FOLDER = Path(__file__).parent / "translations"
_FILE = "LC_MESSAGES/crag.po"
_PLACEHOLDER = re.compile(r"\{(\w+)[^{}]*\}")
_SENTENCE_END = re.compile(r"[.!?:;,] ")
_QUOTED = re.compile(r"“([^“”]+)”")
_QUOTED_LIST = re.compile(r"“[^“”]+”(?:, “[^“”]+”)*(?: (?P<conjunction>and|or) “[^“”]+”)?")
_WIDE_ENDS = ("。", "！", "？", "，", "；", "：")
_WIDE_FORMS = {".": "。", ",": "，", ":": "：", ";": "；"}
_MIN_LITERAL_LETTERS = 4  # a pattern with fewer letters outside of its placeholders would match other texts

_T = TypeVar("_T")
_ENGLISH_LOCALE = re.compile(r"(C|POSIX|en)(?![a-zA-Z])")

_language: ContextVar[str | None] = ContextVar("language", default=None)


class _LanguageSource:
    """Finds the language where none is set, for example that of the browser session that a callback runs for."""

    find: Callable[[], str | None] = staticmethod(lambda: None)


def set_language_source(find: Callable[[], str | None]) -> None:
    """Ask `find` for the language wherever `use_language` was not called, in threads of fragments and callbacks."""
    _LanguageSource.find = staticmethod(find)


def set_language(language: str) -> None:
    """Use this language in the current context: the thread, or the task."""
    _language.set(language)


@contextmanager
def use_language(language: str) -> Iterator[None]:
    """Use this language within the block."""
    token = _language.set(language)
    try:
        yield
    finally:
        _language.reset(token)


def bind_language(make: Callable[[], _T]) -> Callable[[], _T]:
    """Bind the current language to what is called later in a thread without one, such as the making of a download."""
    language = current_language()

    def make_in_language() -> _T:
        with use_language(language):
            return make()

    return make_in_language


def current_language() -> str:
    """Return the language of the current context, such as `zh_Hant`; English if none was set."""
    if (language := _language.get()) is None:
        _language.set(ENGLISH)  # meanwhile, so that what finds it may use texts
        language = _LanguageSource.find()
        _language.set(language)
    return language or ENGLISH


def _(message: str) -> str:
    """Translate a text. Values are filled in afterwards, by `str.format`."""
    return load_catalogue(current_language()).gettext(message) if message else ""


def ngettext(singular: str, plural: str, number: int) -> str:
    """Translate a text that depends on a number."""
    return load_catalogue(current_language()).ngettext(singular, plural, number)


def N_(message: str) -> str:  # noqa: N802 — the usual name
    """Mark a text to translate where it is drawn, and return it unchanged; its values may be filled in already."""
    return message


def format_list(words: Sequence[str], conjunction: Literal["and", "or"]) -> str:
    """Return words as the current language lists them, as in “built, Halden and lighthouse”."""
    from babel.lists import format_list as format_words

    return str(format_words(list(words), "or" if conjunction == "or" else "standard", locale=current_language()))


def join_texts(*sentences: str) -> str:
    """Join translated sentences as the language does it, with a space or without; empty ones are left out."""
    form = _(N_("{sentence} {next}"))
    return reduce(lambda text, following: form.format(sentence=text, next=following), filter(None, sentences), "")


def translate_text(text: str) -> str:
    """Translate a text that was composed in English, such as one of a stored event; unknown texts stay as they are.

    Its values are found by comparing it with the English texts that have placeholders.
    """
    if not text or current_language() == ENGLISH:
        return text
    return _translate_composed(current_language(), text)


@cache
def load_catalogue(language: str) -> gettext.NullTranslations:
    """Return the translations of a language; English, and a language without a file, translate to themselves."""
    file = FOLDER / language / _FILE
    if language == ENGLISH or not file.is_file():
        return gettext.NullTranslations()
    from babel.messages.mofile import write_mo
    from babel.messages.pofile import read_po

    with file.open("rb") as source:
        catalogue = read_po(source, locale=language)
    for message in [one for one in catalogue if one.id and one.pluralizable]:
        catalogue.add(
            tuple(message.id)[1], tuple(message.string or ())[-1]
        )  # by itself, for texts that were composed in English
    compiled = io.BytesIO()
    write_mo(compiled, catalogue)
    compiled.seek(0)
    return (_KoreanTranslations if language == "ko" else gettext.GNUTranslations)(compiled)


class _KoreanTranslations(gettext.GNUTranslations):
    """Translations whose particles follow the values that are filled in."""

    def gettext(self, message: str) -> str:
        return KoreanText(super().gettext(message))

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        return KoreanText(super().ngettext(msgid1, msgid2, n))


@cache
def list_languages() -> dict[str, str]:
    """Return the languages with their names in the languages themselves, English first."""
    from babel import Locale

    codes = [ENGLISH, *sorted(file.parent.parent.name for file in FOLDER.glob(f"*/{_FILE}"))]
    locales = {code: Locale.parse(code) for code in codes}
    return {code: str(locale.languages.get(code) or locale.display_name) for code, locale in locales.items()}


def match_language(tags: Iterable[str]) -> str:
    """Return the language of the first of these tags that there is one for.

    A tag is one such as `ko-KR` or `en_US.UTF-8`.
    """
    known = list_languages()
    for tag in tags:
        for candidate in _candidates(tag):
            if candidate in known:
                return candidate
    return ENGLISH


def find_terminal_language(saved: str = "") -> str:
    """Return the language of `CRAG_LANGUAGE`, else the `saved` one, else that of the locale (POSIX, 8.2)."""
    variables = [os.environ.get(name) for name in ("CRAG_LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG")]
    chosen = next(filter(None, (variables[0], saved, *variables[1:])), "")
    if not chosen or _ENGLISH_LOCALE.match(chosen):  # without loading what matches languages
        return ENGLISH
    return match_language([chosen])


def _candidates(tag: str) -> tuple[str, ...]:
    from babel import Locale, UnknownLocaleError

    try:
        locale = Locale.parse(tag.partition(".")[0].strip().replace("-", "_"))
    except (ValueError, UnknownLocaleError):
        return ()
    script = locale.script or (locale.language == "zh" and "Hans") or ""
    return f"{locale.language}_{script}", locale.language


@dataclass(frozen=True, slots=True)
class _Pattern:
    """A text with placeholders. In the strict expression no value goes beyond the end of a sentence or a colon."""

    message: str
    letters: int
    strict: re.Pattern[str]
    loose: re.Pattern[str]


@cache
def _patterns(language: str) -> dict[str, list[_Pattern]]:
    """Return the English texts with placeholders by their first word, or by "" if that holds a value."""
    found: dict[str, list[_Pattern]] = {}
    messages = (key[0] if isinstance(key, tuple) else key for key in vars(load_catalogue(language)).get("_catalog", {}))
    for message in {one for one in messages if _PLACEHOLDER.search(one)}:
        letters = sum(map(str.isalpha, _PLACEHOLDER.sub("", message)))
        if letters >= _MIN_LITERAL_LETTERS:
            first = message.split()[0]
            known = _Pattern(message, letters, _compile(message, r"(?:(?![.!?:] ).)+?"), _compile(message, ".+?"))
            found.setdefault("" if "{" in first else first, []).append(known)
    return found


def _compile(message: str, any_value: str) -> re.Pattern[str]:
    """Return the expression for a text, with a group for the first occurrence of each placeholder."""
    parts, seen, end = list[str](), set[str](), 0
    for found in _PLACEHOLDER.finditer(message):
        name = found[1]
        value = r"\S+" if name == "count" else any_value  # “{count} documents” matches no sentence that ends so
        parts += [re.escape(message[end : found.start()]), f"(?P={name})" if name in seen else f"(?P<{name}>{value})"]
        seen.add(name)
        end = found.end()
    return re.compile("".join([*parts, re.escape(message[end:])]), re.DOTALL)


@lru_cache(maxsize=2_000)
def _translate_composed(language: str, text: str) -> str:
    """Translate a text of one or several known sentences; the longest known beginning counts."""
    if (translated := _translate_part(language, text, ".")) is not None:
        return translated
    for end in reversed([found.end() for found in _SENTENCE_END.finditer(text)]):
        if (translated := _translate_part(language, text[:end].rstrip(), ".,:;")) is not None:
            rest = _translate_composed(language, text[end:])
            return join_texts(translated, rest) if translated.endswith(_WIDE_ENDS) else f"{translated} {rest}"
    whole = _translate_known(language, text, strict=False)
    return text if whole is None else whole


def _translate_part(language: str, text: str, endings: str) -> str | None:
    """Translate a known text, or one that is known without its last character if that is one of `endings`."""
    translated = _translate_known(language, text)
    if translated is None and text.endswith(tuple(endings)):
        shorter = _translate_known(language, text[:-1])
        end = _WIDE_FORMS[text[-1]] if language.startswith("zh") else text[-1]
        translated = shorter and shorter + end
    return translated


def _translate_known(language: str, text: str, *, strict: bool = True) -> str | None:
    """Translate a text of the catalogue with its values filled in; of several that fit, the one that says most."""
    catalogue = load_catalogue(language)
    if (translated := catalogue.gettext(text)) != text:
        return translated
    patterns, words = _patterns(language), text.split()
    fitting = (
        (pattern.letters, pattern.message, found.groupdict())
        for pattern in (*patterns.get(words[0] if words else "", ()), *patterns.get("", ()))
        if (found := (pattern.strict if strict else pattern.loose).fullmatch(text))
    )
    _letters, message, values = max(fitting, key=itemgetter(0), default=(0, "", {}))
    if not message:
        return None
    filled = {name: _translate_value(language, value) for name, value in values.items()}
    translated = catalogue.gettext(message)
    return type(translated)(_PLACEHOLDER.sub(lambda hole: f"{{{hole[1]}}}", translated)).format(**filled)


def _translate_value(language: str, value: str) -> str:
    """Translate a value of several words, which may be a sentence without its full stop; never a name of one word.

    Words in quotation marks are listed as the language does it.
    """
    if listed := _QUOTED_LIST.fullmatch(value):
        form = load_catalogue(language).gettext(N_("“{word}”"))
        return format_list(
            [form.format(word=word) for word in _QUOTED.findall(value)],
            "or" if listed["conjunction"] == "or" else "and",
        )
    if " " not in value:
        return value
    uncapitalized = value[:1].lower() + value[1:]
    translated = _translate_known(language, value) or _translate_known(language, uncapitalized)
    if translated is None and not value.endswith("."):
        translated = (_translate_known(language, f"{value}.") or "").rstrip(".。") or None
    return value if translated is None else translated
