"""What is said when Ollama could not pull a model. Its own words hold addresses and paths: they are read, not shown."""

from __future__ import annotations

from crag.amounts import size
from crag.errors import ModelFault

_KEPT = "What has come is kept: try again, and it goes on from there."
_UNREACHABLE = ("no such host", "dial tcp", "network is", "connection re", "i/o timeout", "tls:", "max retries", "eof")


def no_room(name: str, needed: int, free: int) -> ModelFault:
    """It cannot be stored whole; in bytes."""
    return ModelFault(
        "disk_full",
        f"There is no room for {name}: {size(needed)} more are needed, and {size(free)} are free.",
        f"Free some space where Ollama keeps its models, or get a smaller one. {_KEPT}",
    )


def pull_broken() -> ModelFault:
    """The connection to the server itself broke off, as often as it was made anew."""
    return ModelFault("incomplete", "Ollama broke off the download again and again.", f"See that it runs. {_KEPT}")


def pull_failed(name: str, words: str) -> ModelFault:
    """What Ollama says in a stream that had begun well (status 200)."""
    said = words.lower()
    if "file does not exist" in said or "not found" in said or "invalid model name" in said:
        return ModelFault(
            "unknown_model",
            f"Ollama's registry has no model called {name}.",
            "Check its name on ollama.com/library.",
        )
    if "no space left" in said or "not enough space" in said:
        return ModelFault(
            "disk_full",
            f"The disk is full where Ollama keeps its models, so {name} could not be stored.",
            f"Free some space there. {_KEPT}",
        )
    if "newer version" in said:
        return ModelFault("outdated", f"{name} needs a newer Ollama than the one here.", "Update Ollama, then retry.")
    if "permission denied" in said or "read-only" in said:
        return ModelFault(
            "not_writable",
            "Ollama cannot write to the folder where it keeps its models.",
            "See that it can, then try again.",
        )
    if "unauthorized" in said or "denied" in said:
        return ModelFault(
            "no_access", f"Ollama's registry does not give {name} to just anyone.", "Run `ollama signin`."
        )
    if any(sign in said for sign in _UNREACHABLE):
        return ModelFault(
            "unreachable_registry",
            "Ollama cannot reach its registry, registry.ollama.ai.",
            f"Check the connection of the machine that Ollama runs on. {_KEPT}",
            "passing",
        )
    return ModelFault("pull_failed", f"Ollama could not get {name}.", f"Look at its log. {_KEPT}", "passing")
