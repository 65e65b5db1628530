"""The colours of the theme against WCAG 2.2: contrast 4.5 for text and 3 for icons, on every background."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

CONFIGURATION = tomllib.loads((Path(__file__).parents[2] / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
MODES = ("light", "dark")
HUES = ("green", "orange", "red", "blue", "violet", "yellow", "gray")
TEXT, SIGN = 4.5, 3.0

Colour = tuple[float, float, float]


def colour(text: str) -> Colour:
    red, green, blue = (int(text[start : start + 2], 16) for start in (1, 3, 5))
    return red, green, blue


def over(front: Colour, ground: Colour, share: float) -> Colour:
    """What a half transparent colour looks like on its ground."""
    mixed = [share * one + (1 - share) * other for one, other in zip(front, ground, strict=True)]
    return mixed[0], mixed[1], mixed[2]


def luminance(of: Colour) -> float:
    """Relative luminance as WCAG defines it."""
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in (c / 255 for c in of)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: Colour, other: Colour) -> float:
    bright, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


def theme(mode: str, name: str) -> Colour:
    return colour(CONFIGURATION["theme"][mode][name])


def grounds(mode: str) -> list[Colour]:
    return [theme(mode, "backgroundColor"), colour(CONFIGURATION["theme"][mode]["sidebar"]["backgroundColor"])]


def test_the_measure_itself():
    assert contrast((0, 0, 0), (255, 255, 255)) == pytest.approx(21)


@pytest.mark.parametrize("mode", MODES)
def test_text_links_and_captions_can_be_read(mode):
    text = theme(mode, "textColor")
    for ground in [*grounds(mode), theme(mode, "secondaryBackgroundColor")]:
        assert contrast(text, ground) >= 7
        assert contrast(over(text, ground, 0.6), ground) >= TEXT
    assert contrast(theme(mode, "linkColor"), theme(mode, "backgroundColor")) >= TEXT


@pytest.mark.parametrize("mode", MODES)
def test_code_in_a_caption_can_be_read(mode):
    text, ground = theme(mode, "codeTextColor"), theme(mode, "secondaryBackgroundColor")
    assert contrast(over(text, ground, 0.6), ground) >= TEXT


@pytest.mark.parametrize("mode", MODES)
def test_what_is_selected_can_be_read(mode):
    primary = theme(mode, "primaryColor")
    for ground in grounds(mode):
        assert contrast(primary, ground) >= TEXT
        assert contrast(primary, over(primary, ground, 0.1)) >= TEXT


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("hue", HUES)
def test_badges_and_coloured_text_can_be_read(mode, hue):
    text = theme(mode, f"{hue}TextColor")
    assert contrast(text, theme(mode, f"{hue}BackgroundColor")) >= TEXT
    for ground in grounds(mode):
        assert contrast(text, ground) >= TEXT


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("hue", HUES)
def test_signs_can_be_told_from_their_ground(mode, hue):
    assert contrast(theme(mode, f"{hue}Color"), theme(mode, "backgroundColor")) >= SIGN
