"""Badges, icons and words of the screen: verdicts, nodes, counts, durations. Colour is never the only signal."""

from __future__ import annotations

from dataclasses import replace

from crag.amounts import count as count
from crag.amounts import duration as duration
from crag.amounts import score as score
from crag.amounts import size as size
from crag.events import Node
from crag.foreign_text import JOINER
from crag.inspection import badges
from crag.inspection.facts import NODES as NODES
from crag.inspection.names import GRADERS as GRADERS
from crag.inspection.names import POLICIES as POLICIES
from crag.inspection.names import change_in_words, grader_in_words
from crag.moments import day as day
from crag.options import RewriteStyle, RunOptions, WebMode
from crag.types import Action, Outcome, Strength, Verdict, Version
from pages.parts import markdown

DOING: dict[Node, str] = {
    "condense_question": "Reading the conversation",
    "retrieve": "Searching your documents",
    "grade_documents": "Grading passages",
    "decide": "Deciding",
    "transform_query": "Rewriting the question",
    "web_search": "Searching the web",
    "refine_knowledge": "Keeping the strips that matter",
    "generate": "Writing the answer",
    "check_answer": "Checking the answer",
}
LEGEND: dict[Node, str] = {
    "retrieve": "the nearest passages",
    "grade_documents": "each gets a verdict",
    "decide": "do they answer?",
    "transform_query": "if they do not answer",
    "web_search": "only when you allow it",
    "refine_knowledge": "keep the strips that matter",
    "generate": "with citations you can open",
    "check_answer": "against its sources",
}
ROLES = {"answering": "Answering", "grading": "Grading", "rewriting": "Rewriting"}
REWRITES: dict[RewriteStyle, tuple[str, str]] = {
    "question": ("Question", "a better question"),
    "keywords": ("Keywords", "three at most, as in the paper"),
    "none": ("None", "the question as you wrote it"),
}
WEB_MODES: dict[WebMode, tuple[str, str]] = {
    "off": ("Off", "only your documents are used"),
    "ask": ("Ask first", "you see and edit each query"),
    "auto": ("On", "when the documents do not answer, the rewritten question goes to Tavily"),
}
KINDS = {
    "pdf": "PDF",
    "docx": "Word",
    "pptx": "PowerPoint",
    "xlsx": "Excel",
    "odt": "OpenDocument",
    "epub": "E-book",
    "eml": "E-mail",
    "csv": "Table",
    "json": "JSON",
    "html": "HTML",
    "web": "Web page",
    "markdown": "Markdown",
    "md": "Markdown",
    "text": "Text",
    "image": "Picture",
    "txt": "Text",
}


def badge(sign: badges.Badge) -> str:
    """Return a badge as Markdown."""
    number = f" {sign.number}" if sign.number else ""
    return f":{sign.colour}-badge[:material/{sign.icon}: {sign.word}{number}]"


def verdict_badge(verdict: Verdict | None) -> str:
    """Return the badge of a verdict with its score.

    An overridden verdict shows the user's word, with the grader's score in grey after it.
    """
    sign = badges.of_verdict(verdict)
    if verdict is None or verdict.ruling is None:
        return badge(sign)
    return f"{badge(replace(sign, number=''))}{grey(f' {sign.number}' if sign.number else '')}"


def strength_badge(strength: Strength) -> str:
    """Return the badge for how well a sentence of an answer is supported by its sources."""
    return badge(badges.STRENGTHS[strength])


def action_badge(action: Action | None) -> str:
    """Return the badge of an action, for the trace."""
    return badge(badges.ACTIONS[action])


def outcome_badge(outcome: Outcome) -> str:
    """Return the badge for the origin of an answer."""
    return badge(badges.OUTCOMES[outcome])


def outcome_word(outcome: Outcome) -> str:
    """Return the origin of an answer in words, without a badge."""
    return badges.OUTCOMES[outcome].word


def version_change(change: str) -> str:
    """Return how a version differs, with policies and graders as named on screen; safe Markdown."""
    return markdown.label(change_in_words(change), 80)


def version_name(version: Version) -> str:
    """Return a version as a menu entry: its number and how it differs."""
    return f"Version {version.number} {grey(version_change(version.change))}"


def version_caption(version: Version, total: int) -> str:
    """Return "Version 2 of 3" and how the version differs."""
    return f"Version {version.number} of {total} · {version_change(version.change)}"


def grader_label(name: str) -> str:
    """Return a grader's screen name with its model, such as *One-token score, llama3.1:8b*; safe Markdown."""
    kind, model = grader_in_words(name)
    shown = markdown.label(name, 60) if kind == name else kind
    return f"{shown}, {markdown.label(model, 60)}" if model else shown


def threshold_origin(options: RunOptions, *, calibrated: bool) -> str:
    """Return where the thresholds come from; safe Markdown."""
    if options.thresholds is not None:
        return "set by you"
    if calibrated:
        return f"calibrated for {markdown.label(options.collection, 40) or 'all documents'}"
    return "the grader's own thresholds"


def grey(text: str) -> str:
    """Return secondary text in small grey type; `text` must be safe Markdown."""
    return f":small[:gray[{text}]]" if text else ""


def small(text: str) -> str:
    """Return secondary text in small type, for captions and folded rows that are pale already.

    Grey on pale text would be unreadable.
    """
    return f":small[{text}]" if text else ""


def unbroken(text: str) -> str:
    """Return text that never wraps at a space or dash, for table cells."""
    return text.replace(" ", "\u00a0").replace("–", f"{JOINER}–{JOINER}")
