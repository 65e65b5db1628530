"""Faults of pulling a model with Ollama. Its own messages contain addresses and paths, so they are never shown."""

from __future__ import annotations

from crag.amounts import size
from crag.errors import FaultClass, ModelFault

_KEPT = "What has come is kept: try again, and it goes on from there."
# Parts of Ollama's message (any of them), code, message template, remedy, fault class.
_MEANINGS: tuple[tuple[tuple[str, ...], str, str, str, FaultClass], ...] = (
    (
        ("file does not exist", "not found", "invalid model name"),
        "unknown_model",
        "Ollama's registry has no model called {}.",
        "Check its name on ollama.com/library.",
        "yours",
    ),
    (
        ("no space left", "not enough space"),
        "disk_full",
        "The disk is full where Ollama keeps its models, so {} could not be stored.",
        f"Free some space there. {_KEPT}",
        "yours",
    ),
    (
        ("newer version",),
        "outdated",
        "{} needs a newer Ollama than the one here.",
        "Update Ollama, then retry.",
        "yours",
    ),
    (
        ("permission denied", "read-only"),
        "not_writable",
        "Ollama cannot write to the folder where it keeps its models.",
        "See that it can, then try again.",
        "yours",
    ),
    (
        ("unauthorized", "denied"),
        "no_access",
        "Ollama's registry does not give {} to just anyone.",
        "Run `ollama signin`.",
        "yours",
    ),
    (
        ("no such host", "dial tcp", "network is", "connection re", "i/o timeout", "tls:", "max retries", "eof"),
        "unreachable_registry",
        "Ollama cannot reach its registry, registry.ollama.ai.",
        f"Check the connection of the machine that Ollama runs on. {_KEPT}",
        "passing",
    ),
)


def no_room(name: str, needed: int, free: int) -> ModelFault:
    """Build the fault for too little disk space; sizes in bytes."""
    return ModelFault(
        "disk_full",
        f"There is no room for {name}: {size(needed)} more are needed, and {size(free)} are free.",
        f"Free some space where Ollama keeps its models, or get a smaller one. {_KEPT}",
    )


def pull_broken() -> ModelFault:
    """Build the fault for a connection to the Ollama server that broke on every attempt."""
    return ModelFault("incomplete", "Ollama broke off the download again and again.", f"See that it runs. {_KEPT}")


def pull_failed(name: str, words: str) -> ModelFault:
    """Build the fault for an error inside a stream that began with status 200."""
    said = words.lower()
    for signs, code, message, remedy, fault in _MEANINGS:
        if any(sign in said for sign in signs):
            return ModelFault(code, message.format(name), remedy, fault)
    return ModelFault("pull_failed", f"Ollama could not get {name}.", f"Look at its log. {_KEPT}", "passing")
