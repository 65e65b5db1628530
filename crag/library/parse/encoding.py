"""Text decoding: byte order mark first, then the declared encoding, then detection."""

from __future__ import annotations

import codecs
import re

from crag.library.parse.request import unsupported

_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Pages that declare the key are really in the wider encoding (WHATWG Encoding, section 4.2).
_WIDER = {
    "iso8859-1": "cp1252",
    "ascii": "cp1252",
    "euc_kr": "cp949",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "big5": "big5hkscs",
    "iso8859-9": "cp1254",
}
_DECLARED = re.compile(rb"""<(?:meta[^>]*?charset|\?xml[^>]*?encoding)\s*=\s*["']?\s*([\w:.-]+)""", re.IGNORECASE)
_GUESSES = ["cp949", "gb18030", "big5hkscs", "cp932", "euc_jp", "cp1252", "cp1250", "cp1251", "koi8_r", "cp1253"]
_GUESSES += ["cp1254", "cp1255", "cp1256", "iso8859_15"]
_SINGLE_LETTERS = re.compile("[\u3131-\u318e]")  # jamo; Korean uses syllables, so many jamo mean EUC-JP kana
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_SAMPLE = 65_536


def decode(data: bytes, charset: str | None, html: bool) -> str:
    """Decode `data` to text. Raises `SourceRefused` (`unsupported`) when no encoding yields text."""
    text = _by_mark(data) or _by_name(data, charset)
    if text is None and html and (declared := _DECLARED.search(data[:4096])):
        text = _by_name(data, declared[1].decode("ascii"))
    if text is None:
        text = _by_shape(data)
    if text is None:
        text = _by_guess(data)
    if text is None or len(_CONTROLS.findall(text[:_SAMPLE])) > 0.01 * len(text[:_SAMPLE]):
        raise unsupported("This file holds neither text nor a known format")
    return text


def _by_mark(data: bytes) -> str | None:
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data.decode(encoding, "replace")
    return None


def _by_name(data: bytes, name: str | None) -> str | None:
    """Decode with the named encoding, or return None.

    None means that the name is unknown or does not fit the bytes: servers and pages often declare the wrong encoding.
    """
    if not name:
        return None
    try:
        encoding = codecs.lookup(name).name
        text = data.decode(_WIDER.get(encoding, encoding))
    except (LookupError, ValueError):
        return None
    return None if "\0" in text else text


def _by_shape(data: bytes) -> str | None:
    """Decode encodings with a recognizable byte pattern: escape sequences, alternating zero bytes, valid UTF-8."""
    if b"\x1b$)C" in data[:_SAMPLE]:
        return data.decode("iso2022_kr", "replace")
    if b"\x1b$" in data[:_SAMPLE]:
        return data.decode("iso2022_jp_2", "replace")
    sample = data[:_SAMPLE]
    if sample[1::2].count(0) > 0.3 * len(sample) / 2 and sample[::2].count(0) == 0:
        return data.decode("utf-16-le", "replace")
    if sample[::2].count(0) > 0.3 * len(sample) / 2 and sample[1::2].count(0) == 0:
        return data.decode("utf-16-be", "replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        # A single damaged byte late in a long text must not discard UTF-8 for the whole text.
        return data.decode("utf-8", "replace") if error.start > _SAMPLE and error.start > 0.9 * len(data) else None


def _by_guess(data: bytes) -> str | None:
    from charset_normalizer import from_bytes

    if b"\0" in data[:_SAMPLE]:
        return None
    best = from_bytes(data[: 4 * _SAMPLE], cp_isolation=_GUESSES).best()
    if best is None:
        return None
    text = data.decode(best.encoding, "replace")
    if best.encoding == "cp949" and len(_SINGLE_LETTERS.findall(text)) > 0.05 * len(text):
        return data.decode("euc_jp", "replace")
    return text
