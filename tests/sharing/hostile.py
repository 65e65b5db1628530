"""A conversation in which every text is hostile, as from files, pages and models."""

from __future__ import annotations

from typing import Any

# Values of these are one of a few words, or numbers of runs.
_WORDS = {"format", "type", "role", "state", "word", "strength", "action", "outcome", "origin", "ruling", "node"}
_WORDS |= {"policy", "route", "web", "rewrite", "grader", "finish_reason", "parent", "options", "changes"}


def payloads(canary: str) -> str:
    """Everything that could load, run, link, hide or be filled in; `canary` must never be asked for anything."""
    return "\n\n".join(
        (
            f"![a]({canary}/1.png) ![b][r] ![r] [![c]({canary}/2.png)]({canary}/3) ![d](data:image/svg+xml,<svg/>)",
            f"[r]: {canary}/4.png",
            f"[^1] [^1]: {canary}/5 ![[{canary}/6.png]] <{canary}/7> {canary}/8 www.canary.test a@canary.test",
            f"<img src='{canary}/9'> <img src=x onerror=\"fetch('{canary}/10');alert(1)\"> <script>alert(1)</script>",
            f"<iframe srcdoc='<script>parent.alert(1)</script>'></iframe> <style>@import '{canary}/11';</style>",
            f"</style></title></script></textarea><svg onload=alert(1)><link rel=stylesheet href={canary}/12>",
            f"<meta http-equiv=refresh content='0;url={canary}/13'><base href={canary}/><form action={canary}></form>",
            "[bank](javascript:alert(1)) [x](data:text/html,<script>alert(1)</script>) javascript:alert(1)",
            f"$\\includegraphics{{{canary}/14.png}}$ $$\\href{{javascript:alert(1)}}{{x}}$$",
            "gpj.\u202eexe \u2066x\u2069 z\u200bz \U000e0041 \x1b[31mred\x1b[0m \x9b31m e" + "\u0301" * 50,
            "{user} {0.__class__} %s {{1111*1111}} {% include 'page.css' %} ${1111*1111} #{1111*1111}",
            ':red[x] :material/home: :streamlit: -> <!-- comment -->" onclick="alert(1)" x=\'',
            "```html\n<b>not closed</b>",
        )
    )


def hostile(value: Any, text: str, name: str = "") -> Any:
    """The same document with this text in place of each that is free."""
    if isinstance(value, dict):
        return {key: hostile(held, text, key) for key, held in value.items() if key != "options"} | {
            key: held for key, held in value.items() if key == "options"
        }
    if isinstance(value, list):
        return [hostile(held, text, name) for held in value]
    if not isinstance(value, str) or name in _WORDS:
        return value
    return text[:2_000] if name in ("reason", "change", "title") else text
