"""Loads and fills prompt files; reads JSON out of a reply."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from string import Template
from typing import Any

from crag.types import Knowledge, Language, Prompt, Turn, WrittenLanguage

HISTORY_TURNS = 4
"""How many earlier messages of a conversation the answering model is shown."""

_KNOWLEDGE_TAG = re.compile(r"<(?=/?knowledge\b)", re.IGNORECASE)
_CONTEXT_TAG = re.compile(r"<(?=/?context\b)", re.IGNORECASE)
# Citation numbers of an earlier answer refer to other sources than those of this one.
_CITATION = re.compile(r"\s?(?<!\\)\[\d+\]")
_SOURCE_NUMBER = re.compile(r"^([^\S\n]*)\[(?=\d+\])", re.MULTILINE)

_SEARCHED: dict[WrittenLanguage, tuple[str, str, str]] = {
    "en": ("your documents", "the document searched", "the documents searched"),
    "ko": ("문서", "찾아본 문서", "찾아본 문서"),
    "zh": ("您的文档", "所查找的文档", "所查找的文档"),
    "zh-Hant": ("您的文件", "所查找的文件", "所查找的文件"),
}


def name_searched(language: WrittenLanguage, *, limited: bool, count: int) -> str:
    """Return what a refusal calls the documents: all of them or, if the search was `limited`, those searched."""
    every, one, some = _SEARCHED[language]
    return (one if count == 1 else some) if limited else every


@cache
def load_prompt(name: str, language: WrittenLanguage = "en") -> str:
    """Return the text of a prompt file, in English if there is no translation. Raises `FileNotFoundError`."""
    folder = Path(__file__).parent
    path = folder / f"{name}.{language}.md"
    return (path if path.exists() else folder / f"{name}.en.md").read_text(encoding="utf-8").strip()


def fill_template(template: str, **values: str) -> str:
    """Replace each `$name` in `template` once. The values are inserted verbatim, including `$` and braces."""
    return Template(template).substitute(values)


def compose_prompt(name: str, language: Language = "en", **values: str) -> tuple[Prompt, Prompt]:
    """Return the system and the user message of a prompt file, whose two parts are separated by a line of `---`.

    The value `question` also becomes part of `Prompt.about`.
    """
    system, _, user = load_prompt(name, language).partition("\n---\n")
    about = f"{name.partition('_')[0]}: {values['question']}" if "question" in values else ""
    return Prompt("system", fill_template(system.strip(), **values)), Prompt(
        "user", fill_template(user.strip(), **values), about
    )


def compose_answer_prompts(
    question: str,
    knowledge: Sequence[Knowledge],
    history: Sequence[Turn],
    language: Language = "en",
    prompt: str = "answer",
) -> tuple[Prompt, ...]:
    """Return the messages that ask for an answer from the knowledge, after earlier ones of the conversation.

    The prompt file `answer` asks for citations by number; other files get the texts alone.
    """
    texts = format_knowledge(knowledge) if prompt == "answer" else join_texts(knowledge)
    system, user = compose_prompt(prompt, language, question=question, knowledge=texts)
    return system, *(Prompt(turn.role, _CITATION.sub("", turn.text)) for turn in history), user


def format_knowledge(knowledge: Sequence[Knowledge]) -> str:
    """Format each piece of knowledge under its number, escaped so that it cannot forge a tag or another number."""
    return "\n\n".join(map(_format_item, knowledge))


def join_texts(knowledge: Sequence[Knowledge]) -> str:
    """Join the texts of the knowledge, escaped so that they cannot end the tags around them."""
    return _CONTEXT_TAG.sub("‹", "\n\n".join(item.text.strip() for item in knowledge))


def _format_item(item: Knowledge) -> str:
    title = " ".join(item.passage.title.split())
    text = _SOURCE_NUMBER.sub(r"\1‹", item.text.strip())
    return _KNOWLEDGE_TAG.sub("‹", f"[{item.n}] {title}\n{text}")


def strip_thoughts(reply: str) -> str:
    """Remove the reasoning of a reasoning model from its reply."""
    return re.sub(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|$)", "", reply, flags=re.DOTALL).strip()


def find_json_object(text: str) -> dict[str, Any] | None:
    """Return the first JSON object in a text, bare or inside prose or a code block, or None."""
    if text.startswith("["):
        return None
    decoder = json.JSONDecoder()
    for brace in re.finditer(r"\{", text[:20_000]):
        try:
            found, _ = decoder.raw_decode(text, brace.start())
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            return found
    return None
