"""Checks of language models: whether Ollama is present and recent enough, and the model of each role."""

from __future__ import annotations

import re

import psutil

from crag.amounts import size
from crag.checks import commands
from crag.checks.facts import Facts
from crag.checks.values import Check, CheckAction
from crag.models.choice import model_label
from crag.models.faults import host_label
from crag.models.providers import providers

LLAMA = "Llama 3 on Ollama"
_PREFIX = "ollama:"
_AUTO = ("", "auto", "builtin")
# Before these versions, Ollama supports no JSON schema and no log-probabilities (its release notes).
_SCHEMAS, _PROBABILITIES = (0, 5), (0, 12, 11)
_MEMORY_SHARE = 0.9  # of total memory; a larger model is read from disk again for every token


def llama_check(facts: Facts) -> Check:
    """Check whether a Llama 3 answers; if not, name what is missing first: the server or a model."""
    server, begun = facts.server, facts.begun
    if not server.version and begun and begun.state != "cancelled":  # the download's own message explains it
        return Check(LLAMA, "warn", _absence(facts), begun.fault, get_model(begun.name.removeprefix(_PREFIX)))
    if not server.version:
        return _no_server(facts)
    if any(model.name.startswith("llama3") and not model.cloud for model in server.installed):
        best = facts.model.label if facts.model.name.startswith("ollama:llama3") else "Llama 3"
        return Check(LLAMA, "ok", f"{best} on Ollama {server.version} at {host_label(facts.settings)}")
    others = sum(not model.only_embeds for model in server.installed)
    has = f"no Llama 3, {others} other{'s' * (others > 1)}" if others else "no model to chat with yet"
    action = get_model(begun.name.removeprefix(_PREFIX)) if begun else get_model(*facts.llama)
    return Check(LLAMA, "warn", f"Ollama {server.version} is there, {has}", how_to_get(action), action)


def get_model(name: str, amount: int = 0) -> CheckAction:
    """Return the action that downloads an Ollama model of `amount` bytes (0: unknown)."""
    known = f" · {size(amount)}" if amount else ""
    label = f"Get {model_label(_PREFIX + name)}{known}"
    return CheckAction("download", label, _PREFIX + name, f"ollama pull {name}")


def how_to_get(action: CheckAction) -> str:
    """Describe how to download: in the application or by command."""
    return f"Get it in the application, or with `{action.commands}`."


def version_check(facts: Facts) -> list[Check]:
    """Check whether the server is recent enough for grading; no check if its version is unreadable."""
    found = re.match(r"\d+(\.\d+)+", facts.server.version)
    version = tuple(int(part) for part in found.group().split(".")) if found else ()
    if not any(version):  # self-built servers report 0.0.0
        return []
    if version >= _PROBABILITIES:
        return [Check("Ollama's version", "ok", facts.server.version)]
    missing = "grades with a plain yes or no; 0.12.11 and later give scores"
    if version < _SCHEMAS:
        missing = "cannot be held to a form, so that grades may be unreadable; 0.5 and later can"
    action = CheckAction("command", "How to update", commands=commands.update_ollama())
    return [Check("Ollama's version", "warn", f"{facts.server.version} {missing}", "Update Ollama.", action)]


def chosen_checks(facts: Facts) -> list[Check]:
    """Check that the models named in the options are installed; unknown while Ollama is absent."""
    options = facts.options
    named = {"Answering": options.model, "Grading": options.grader_model, "Rewriting": options.rewriter_model}
    checks = (_chosen(facts, f"{role} model", name) for role, name in named.items() if name not in _AUTO)
    return [check for check in checks if check]


def memory_check(facts: Facts) -> list[Check]:
    """Check that the answering model fits the memory of this machine, if it runs here."""
    model = facts.server.find(facts.answering.removeprefix(_PREFIX))
    if model is None or model.cloud or not facts.server_is_here:
        return []
    label, memory = model_label(facts.answering), psutil.virtual_memory().total
    detail = f"{label} takes {size(model.size)}, this machine has {size(memory)}"
    if model.size < _MEMORY_SHARE * memory:
        return [Check("Memory", "ok", detail)]
    fix = "Choose a smaller model: this one is read from the disk again and again, and very slow, or does not load."
    return [Check("Memory", "warn", detail, fix, _smaller(facts))]


def _no_server(facts: Facts) -> Check:
    fault = facts.server.fault
    if fault is not None and fault.code != "unreachable":  # something responds
        return Check(LLAMA, "warn", _absence(facts), fault.remedy)
    if not facts.server_is_here:
        where = host_label(facts.settings)
        fix = f"Start Ollama at {where}, or name another address as OLLAMA_HOST in the file `.env` and start again."
        action = CheckAction("key", "How to reach it", commands="OLLAMA_HOST=http://127.0.0.1:11434")
    elif start := commands.start_ollama():
        fix = "Start Ollama, which is installed."
        action = CheckAction("command", "How to start", commands=start)
    else:
        fix = f"Install Ollama, then get a model: in the application, or with `ollama pull {facts.llama[0]}`."
        action = CheckAction("command", "How to install", commands=commands.install_ollama())
    return Check(LLAMA, "warn", _absence(facts), fix, action)


def _absence(facts: Facts) -> str:
    """Say why there is no server: nothing responds, or something other than Ollama does."""
    fault, where = facts.server.fault, host_label(facts.settings)
    if fault is None or fault.code == "unreachable":
        return f"not reachable at {where}"
    return f"silent at {where}" if fault.code == "silent" else fault.message.rstrip(".")


def _chosen(facts: Facts, role: str, name: str) -> Check | None:
    provider, _, model = name.partition(":")
    if provider != "ollama":
        return _hosted(facts, role, provider)
    if not facts.server.version:
        return None
    if facts.server.find(model):
        return Check(role, "ok", f"{model_label(name)} is there")
    action = get_model(model)
    return Check(role, "fail", f"Ollama has no model called {model}", how_to_get(action), action)


def _hosted(facts: Facts, role: str, name: str) -> Check | None:
    """Check the package and key of a hosted provider; None for an unknown provider."""
    provider = next((known for known in providers(facts.settings) if known.name == name), None)
    if provider is None:
        return None
    if not provider.installed:
        action = CheckAction("command", "How to install", commands=f"python -m pip install {provider.package}")
        detail = f"{provider.label} needs the package {provider.package}"
        return Check(role, "fail", detail, "Install it, then start again.", action)
    if not provider.key_present:
        action = CheckAction("key", "Add a key", commands=f"{provider.key_variable}=YOUR-KEY")
        detail = f"{provider.label} needs a key, {provider.key_variable}"
        return Check(role, "fail", detail, "Put it into the file `.env` and start again.", action)
    return Check(role, "ok", f"{provider.label}: package and key are there")


def _smaller(facts: Facts) -> CheckAction:
    """Return the action for the recommended model: choose it if installed, else download it."""
    name, amount = facts.llama
    if facts.server.find(name):
        return CheckAction("open", "Choose another", "settings")
    return get_model(name, amount)
