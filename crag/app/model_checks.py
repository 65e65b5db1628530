"""Checks of language models and embedders."""

from __future__ import annotations

import re

import psutil

from crag.app import checklist_facts
from crag.app.checklist_facts import Check, CheckAction, ChecklistFacts
from crag.models.evaluator_weights import DOWNLOAD_PREFIX, KNOWN_EVALUATORS
from crag.models.model_choice import embedder_label, model_label
from crag.models.nomic_weights import NOMIC, NOMIC_ON_OLLAMA, is_nomic_usable, nomic_embedder_name, weights_path
from crag.models.ollama_api import InstalledModel, find_by_name
from crag.models.ollama_pool import HostStatus
from crag.models.providers import list_providers
from crag.options import MODEL_OPTIONS, OPTIONS, get_option
from crag.settings import format_command
from crag.text.formatting import format_count, format_size

LLAMA_CHECK = "Llama 3 on Ollama"
_OLLAMA_PREFIX = "ollama:"
_BUILTIN_OR_AUTO = ("", "auto", "builtin")
# Before these versions, Ollama supports no JSON schema and no log-probabilities (its release notes).
_SCHEMAS, _PROBABILITIES = (0, 5), (0, 12, 11)
_MAX_MEMORY_SHARE = 0.9  # of total memory; a larger model is read from disk again for every token


def check_llama(facts: ChecklistFacts) -> Check:
    """Check whether a Llama 3 answers; if not, name what is missing first: the server or a model."""
    server, begun = facts.server, facts.begun
    if not server.version and begun and begun.state != "cancelled":  # the download's own message explains it
        return Check(
            LLAMA_CHECK,
            "warn",
            _absence_reason(facts),
            begun.fault,
            download_action(begun.name.removeprefix(_OLLAMA_PREFIX)),
        )
    if not server.version:
        return _check_absent_server(facts)
    if any(model.name.startswith("llama3") and not model.cloud for model in server.installed):
        best = facts.model.label if facts.model.name.startswith("ollama:llama3") else "Llama 3"
        return Check(LLAMA_CHECK, "ok", f"{best} on Ollama {server.version} at {facts.settings.ollama_host_label}")
    others = sum(not model.only_embeds for model in server.installed)
    has = f"no Llama 3, {format_count(others, 'other model')}" if others else "no chat model yet"
    action = download_action(begun.name.removeprefix(_OLLAMA_PREFIX)) if begun else download_action(*facts.llama)
    return Check(LLAMA_CHECK, "warn", f"Ollama {server.version} is running, {has}", download_hint(action), action)


def download_action(name: str, amount: int = 0) -> CheckAction:
    """Return the action that downloads an Ollama model of `amount` bytes (0: unknown)."""
    known = f" · {format_size(amount)}" if amount else ""
    label = f"Get {model_label(_OLLAMA_PREFIX + name)}{known}"
    return CheckAction("download", label, _OLLAMA_PREFIX + name, f"ollama pull {name}")


def download_hint(action: CheckAction) -> str:
    """Describe how to download: in the application or by command."""
    return f"Download it in the app, or with `{action.commands}`."


def check_ollama_version(facts: ChecklistFacts) -> list[Check]:
    """Check whether the server is recent enough for grading; no check if its version is unreadable."""
    found = re.match(r"\d+(\.\d+)+", facts.server.version)
    version = tuple(int(part) for part in found.group().split(".")) if found else ()
    if not any(version):  # self-built servers report 0.0.0
        return []
    if version >= _PROBABILITIES:
        return [Check("Ollama's version", "ok", facts.server.version)]
    missing = "grades only yes or no; 0.12.11 and later give scores"
    if version < _SCHEMAS:
        missing = "may give unreadable grades; 0.5 and later do not"
    action = CheckAction("command", "How to update", commands=checklist_facts.ollama_update_command())
    return [Check("Ollama's version", "warn", f"{facts.server.version} {missing}", "Update Ollama.", action)]


def check_hosts(facts: ChecklistFacts) -> list[Check]:
    """Check that every host of Ollama answers and can stand in for the others, where there are several."""
    model = facts.server.find(facts.answering.removeprefix(_OLLAMA_PREFIX))
    return [_check_host(host, model) for host in facts.server.hosts]


def _check_host(host: HostStatus, model: InstalledModel | None) -> Check:
    name, state = f"Ollama at {host.label}", describe_host(host)
    if host.fault:
        return Check(name, "warn", state, host.fault.remedy)
    if model is None or host.has(model):
        return Check(name, "ok", state)
    has_other = find_by_name(model.name, host.installed) is not None
    lacks = f"It has another version of {model.name}" if has_other else f"It does not have {model.name}"
    fix = f"Run `OLLAMA_HOST={host.label} ollama pull {model.name}`, so that it answers, too."
    return Check(name, "warn", f"{state}. {lacks}", fix)


def describe_host(host: HostStatus) -> str:
    """Describe the state of a host of Ollama."""
    if host.fault:
        reason = "does not answer" if host.fault.code == "unreachable" else host.fault.message.rstrip(".")
        return f"{reason}; left out for now, and tried again soon"
    loaded = f"Loaded: {', '.join(host.loaded)}" if host.loaded else "Nothing is loaded"
    return ". ".join((f"{format_count(len(host.installed), 'model')} in Ollama {host.version}", loaded))


def check_chosen_models(facts: ChecklistFacts) -> list[Check]:
    """Check that the models named in the options are installed; unknown while Ollama is absent."""
    options = facts.options
    named = {OPTIONS[name].title: get_option(options, name) for name in MODEL_OPTIONS}
    checks = (_check_chosen_model(facts, title, name) for title, name in named.items() if name not in _BUILTIN_OR_AUTO)
    return [check for check in checks if check]


def check_memory(facts: ChecklistFacts) -> list[Check]:
    """Check that the answering model fits the memory of this machine, if it runs here."""
    model = facts.server.find(facts.answering.removeprefix(_OLLAMA_PREFIX))
    if model is None or model.cloud or not facts.server_is_here:
        return []
    label, memory = model_label(facts.answering), psutil.virtual_memory().total
    detail = f"{label} needs {format_size(model.size)}, this machine has {format_size(memory)}"
    if model.size < _MAX_MEMORY_SHARE * memory:
        return [Check("Memory", "ok", detail)]
    fix = "Choose a smaller model: this one will be very slow or not load at all."
    return [Check("Memory", "warn", detail, fix, _smaller_model_action(facts))]


def _check_absent_server(facts: ChecklistFacts) -> Check:
    fault = facts.server.fault
    if fault is not None and fault.code != "unreachable":  # something responds
        return Check(LLAMA_CHECK, "warn", _absence_reason(facts), fault.remedy)
    if not facts.server_is_here:
        where = facts.settings.ollama_host_label
        fix = f"Start Ollama at {where}, or set OLLAMA_HOST to another address in the file `.env`, then restart."
        action = CheckAction("key", "How to reach it", commands="OLLAMA_HOST=http://127.0.0.1:11434")
    elif start := checklist_facts.ollama_start_command():
        fix = "Start Ollama."
        action = CheckAction("command", "How to start Ollama", commands=start)
    else:
        fix = f"Install Ollama, then download a model in the app or with `ollama pull {facts.llama[0]}`."
        action = CheckAction("command", "How to install Ollama", commands=checklist_facts.ollama_install_command())
    return Check(LLAMA_CHECK, "warn", _absence_reason(facts), fix, action)


def _absence_reason(facts: ChecklistFacts) -> str:
    """Say why there is no server: nothing responds, or something other than Ollama does."""
    fault, where = facts.server.fault, facts.settings.ollama_host_label
    if fault is None or fault.code == "unreachable":
        return f"not reachable at {where}"
    return f"no response at {where}" if fault.code == "silent" else fault.message.rstrip(".")


def _check_chosen_model(facts: ChecklistFacts, role: str, name: str) -> Check | None:
    provider, _, model = name.partition(":")
    if provider != "ollama":
        return _check_hosted_model(facts, role, provider)
    if not facts.server.version:
        return None
    if facts.server.find(model):
        return Check(role, "ok", f"{model_label(name)} is ready")
    action = download_action(model)
    return Check(role, "fail", f"Ollama has no model called {model}", download_hint(action), action)


def _check_hosted_model(facts: ChecklistFacts, role: str, name: str) -> Check | None:
    """Check the package and key of a hosted provider; None for an unknown provider."""
    provider = next((known for known in list_providers(facts.settings) if known.name == name), None)
    if provider is None:
        return None
    if not provider.installed:
        action = CheckAction("command", "How to install", commands=f"python -m pip install {provider.package}")
        detail = f"{provider.label} needs the package {provider.package}"
        return Check(role, "fail", detail, "Install it, then restart.", action)
    if not provider.key_present:
        action = CheckAction("key", "Add a key", commands=f"{provider.key_variable}=YOUR-KEY")
        detail = f"{provider.label} needs a key, {provider.key_variable}"
        return Check(role, "fail", detail, "Add it to the file `.env`, then restart.", action)
    return Check(role, "ok", f"{provider.label}: package and key found")


def _smaller_model_action(facts: ChecklistFacts) -> CheckAction:
    """Return the action for the recommended model: choose it if installed, else download it."""
    name, amount = facts.llama
    if facts.server.find(name):
        return CheckAction("open", "Choose another", "settings")
    return download_action(name, amount)


def check_evaluator(facts: ChecklistFacts) -> Check:
    """Check that the evaluator can be opened, if there is one; none is needed."""
    report = facts.evaluator
    if report.fault is None:
        detail = f"{report.label} grades passages and orders those found" if report.name else "none, and none is needed"
        return Check("Evaluator", "ok", detail)
    known, action = KNOWN_EVALUATORS.get(report.name), None
    if known:
        target = f"{DOWNLOAD_PREFIX}{known.name}"
        label = f"Download · {format_size(known.size)}"
        action = CheckAction("download", label, target, format_command(f"models pull {target}", facts.settings.home))
    return Check("Evaluator", "fail", report.fault.message.rstrip("."), report.fault.remedy, action)


NOMIC_BYTES = 274_000_000  # size of the weights, here and in Ollama
NOMIC_CHECK = "Nomic embeddings"


def check_nomic(facts: ChecklistFacts) -> Check:
    """Check that Nomic's weights are present, undamaged as far as known, and used for the documents."""
    if facts.embedder.name == NOMIC_ON_OLLAMA:
        return Check(NOMIC_CHECK, "ok", "in use, through Ollama")
    if nomic_embedder_name() == NOMIC_ON_OLLAMA:
        return _check_nomic_on_ollama(facts)
    if not is_nomic_usable():
        detail = (
            "damaged: they could not be loaded" if weights_path().is_file() else "274 MB download, then works offline"
        )
        action = CheckAction(
            "download", "Download · 274 MB", NOMIC, format_command(f"models pull {NOMIC}", facts.settings.home)
        )
        return Check(NOMIC_CHECK, "warn", detail, download_hint(action), action)
    if facts.movable:
        passages = format_count(facts.movable, "passage")
        action = CheckAction(
            "move", f"Move {passages}", NOMIC, format_command(f"spaces use {NOMIC}", facts.settings.home)
        )
        detail = "downloaded, but not used for your documents"
        return Check(NOMIC_CHECK, "warn", detail, f"Embed {passages} with it, in the background.", action)
    return Check(NOMIC_CHECK, "ok", "in use" if facts.embedder.name == NOMIC else "on this machine")


def check_embedder(facts: ChecklistFacts) -> list[Check]:
    """Check that the chosen embedder is installed, if it is an Ollama model."""
    provider, _, model = facts.embedder.name.partition(":")
    if provider != "ollama" or not facts.server.version:
        return []
    if facts.server.find(model):
        return [Check("Embedding model", "ok", f"{facts.embedder.label} is ready")]
    action = download_action(model)
    return [Check("Embedding model", "fail", f"Ollama has no model called {model}", download_hint(action), action)]


def _check_nomic_on_ollama(facts: ChecklistFacts) -> Check:
    """Check Nomic where gpt4all has no wheel, as on ARM, and Ollama runs the model."""
    model = NOMIC_ON_OLLAMA.partition(":")[2]
    detail = "only through Ollama on this kind of machine"
    if not facts.server.version:
        return Check(NOMIC_CHECK, "warn", detail, "Install Ollama first.")
    if not facts.server.find(model):
        action = download_action(model, NOMIC_BYTES)
        return Check(NOMIC_CHECK, "warn", detail, download_hint(action), action)
    action = CheckAction(
        "move", "Use it", NOMIC_ON_OLLAMA, format_command(f"spaces use {NOMIC_ON_OLLAMA}", facts.settings.home)
    )
    return Check(NOMIC_CHECK, "warn", detail, f"Choose {embedder_label(NOMIC_ON_OLLAMA)}.", action)
