"""Display names of policies, graders and models."""

from __future__ import annotations

from crag.models.choice import model_label
from crag.options import GraderKind, PolicyName

POLICIES: dict[PolicyName, tuple[str, str]] = {
    "paper": ("Paper", "the web when no passage is surely relevant"),
    "any": ("Strict", "the web as soon as one passage is not relevant"),
    "none": ("Lenient", "the web only when no passage is relevant"),
    "off": ("No grading", "every passage is used, never the web"),
}
GRADERS: dict[GraderKind, tuple[str, str]] = {
    "auto": ("Automatic", "a cascade with a language model, else built-in"),
    "builtin": ("Built-in", "no model is asked: milliseconds for all passages"),
    "score": ("One-token score", "one short call for each passage, one token each"),
    "explained": ("Explained", "one call for each passage, with the reason in words: the slowest"),
    "listwise": ("All in one call", "one call for all passages together"),
    "cascade": ("Cascade", "built-in first, a model only for what it leaves open"),
}
_CHANGES = (
    {"same settings": "asked again", "model builtin": "model Built-in engine"}
    | {f"policy {name}": f"policy {shown}" for name, (shown, _) in POLICIES.items()}
    | {f"grader {kind}": f"grader {shown}" for kind, (shown, _) in GRADERS.items()}
)


def change_in_words(change: str) -> str:
    """Describe a version's change with the display names of policies, graders and models."""
    return ", ".join(_CHANGES.get(part) or _with_label(part) for part in change.split(", "))


def grader_in_words(name: str) -> tuple[str, str]:
    """Return the display name of a grader's kind, and its model; an unknown name is returned as the kind."""
    kind, _, rest = name.partition(":")
    if kind not in GRADERS:
        return name, ""
    last = rest.rpartition("+")[2]  # in a cascade: the grader for passages that the built-in one leaves open
    model = last.partition("@")[0].rpartition("ollama:")[2]
    return GRADERS[kind][0], "" if kind == "builtin" else model


def _with_label(change: str) -> str:
    """Replace the name of a model in a change by its display name."""
    role, found, name = change.partition("model ")
    return f"{role}model {model_label(name)}" if found and ":" in name else change
