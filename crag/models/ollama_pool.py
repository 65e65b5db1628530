"""Pool of Ollama hosts: which of them gets a request, and where the request goes on if that one fails."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import TypeVar

from crag.concurrency.caches import TTLCache
from crag.errors import ModelFault
from crag.models.faults import unreachable_fault
from crag.models.ollama_api import (
    PROBE_SECONDS,
    InstalledModel,
    LoadedModel,
    ModelFacts,
    fetch_ollama_version,
    find_by_name,
    list_installed_models,
    list_loaded_models,
    load_model_facts,
)
from crag.settings import Settings

LEFT_OUT_SECONDS = 15.0
_FRESH_SECONDS = 2.0
# Faults of the request itself: every other host would refuse it, too.
_REQUEST_FAULTS = ("refused", "prompt_too_long", "consent_needed")
_DEFAULT_PARALLELISM = 4
Reply = TypeVar("Reply")


@dataclass(frozen=True, slots=True)
class HostStatus:
    """The last answer of a host, or the `fault` that leaves it out at present; `label` is its host and port."""

    label: str
    version: str = ""
    installed: tuple[InstalledModel, ...] = ()
    loaded: Mapping[str, LoadedModel] = field(default_factory=dict)
    fault: ModelFault | None = None

    def has(self, model: InstalledModel) -> bool:
        """Whether the host has these weights; others of the same name would embed and answer differently."""
        found = find_by_name(model.name, self.installed)
        return found is not None and found.digest == model.digest


class _Host:
    """One host, and the number of our requests that are under way there."""

    def __init__(self, address: str) -> None:
        self.settings = Settings(ollama_host=address)
        self.active = 0
        self._status = TTLCache(self._look, lambda status: LEFT_OUT_SECONDS if status.fault else _FRESH_SECONDS)

    def status(self, seconds: float) -> HostStatus:
        """Return the latest status; wait `seconds` at most if it is out of date."""
        silent = ModelFault.make("model.silent", server="Ollama")
        return self._status.get_within(seconds) or HostStatus(self.settings.ollama_host_label, fault=silent)

    def recheck(self) -> None:
        """Ask again before the next request."""
        self._status.forget()

    def _look(self) -> HostStatus:
        host, label = self.settings, self.settings.ollama_host_label
        try:
            installed, loaded = tuple(list_installed_models(host)), list_loaded_models(host)
        except ModelFault as fault:
            return HostStatus(label, fault=fault)
        return HostStatus(label, fetch_ollama_version(host) or "", installed, loaded)


class OllamaPool:
    """The hosts that OLLAMA_HOST names. Thread-safe.

    A host that does not answer is left out for `LEFT_OUT_SECONDS`. If there is only one host, it gets every request.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._hosts = [_Host(address) for address in settings.ollama_hosts]
        self._lock = threading.Lock()

    def statuses(self) -> list[HostStatus]:
        """Ask each host for its status, and return them in their order; nothing if there is only one."""
        if self._is_only:
            return []
        self._recheck()
        return list(self._look().values())

    def list_models(self, *, is_probe: bool = False) -> list[InstalledModel]:
        """List the models of all hosts, each as the first host has it. Raises `ModelFault` if none answers.

        A probe waits half a second at most for each host.
        """
        timeout = PROBE_SECONDS if is_probe else None
        found = dict[str, InstalledModel]()
        for models in self._ask_each(lambda host: list_installed_models(host, timeout)):
            found = {model.name: model for model in models if model.name not in found} | found
        return list(found.values())

    def list_loaded(self) -> dict[str, LoadedModel]:
        """Return the models in the memory of any host by name. Raises `ModelFault` if no host answers."""
        listed = self._ask_each(list_loaded_models)
        return {name: model for models in reversed(listed) for name, model in models.items()}

    def version(self) -> str | None:
        """Return the version of the first host that answers, or None."""
        try:
            return next(filter(None, self._ask_each(fetch_ollama_version)), None)
        except ModelFault:
            return None

    def find_model(self, name: str) -> InstalledModel:
        """Return the model called `name`; a missing tag means `latest`. Raises `ModelFault`."""
        found = find_by_name(name, self.list_models())
        if found is None:
            raise ModelFault.make("ollama.model_missing", model=name)
        return found

    def load_facts(self, model: InstalledModel) -> ModelFacts:
        """Return the facts on a model from a host that has it. Raises `ModelFault`."""
        return self.call(model, lambda host: load_model_facts(host, model))

    def first_host(self) -> Settings:
        """Return the settings for the first host that answers. Raises `ModelFault`."""
        return next(iter(self._answering())).settings

    def hosts_with(self, name: str) -> list[Settings]:
        """Return the settings for each host that has a model of this name now. Raises `ModelFault` if none has."""
        self._recheck()
        statuses = self._answering()
        found = [one.settings for one in statuses if self._is_only or find_by_name(name, statuses[one].installed)]
        if not found:
            raise ModelFault.make("ollama.model_missing", model=name)
        return found

    def count_hosts(self, model: InstalledModel) -> int:
        """Return how many hosts can work on requests to this model at the same time, at least one."""
        return max(1, sum(status.has(model) for status in self._look().values()))

    def call(self, model: InstalledModel, request: Callable[[Settings], Reply]) -> Reply:
        """Call `request` with the best host, and with the next best if that fails. Raises `ModelFault`."""

        def reply(host: Settings) -> Generator[Reply, None, None]:
            yield request(host)

        with closing(self.stream(model, server_parallelism(), reply)) as replies:
            return next(replies)

    def stream(
        self, model: InstalledModel, slots: int, request: Callable[[Settings], Generator[Reply, None, None]]
    ) -> Generator[Reply, None, None]:
        """Stream a request from the best host, and from the next best if that fails before the first item.

        The best has the model in memory and fewer of our requests than its `slots`. Raises `ModelFault`.
        """
        tried, faults = list[_Host](), list[ModelFault]()
        while (host := self._take(model, slots, tried)) is not None:
            tried.append(host)
            has_begun = False
            try:
                with closing(request(host.settings)) as items:
                    for item in items:
                        has_begun = True
                        yield item
                return
            except ModelFault as fault:
                if has_begun or fault.code in _REQUEST_FAULTS:
                    raise
                faults.append(fault)
            finally:
                self._release(host)
        if not faults:
            raise ModelFault.make("ollama.model_missing", model=model.name)
        raise min(faults, key=lambda fault: fault.fault != "passing")  # the caller tries again after one that passes

    def _take(self, model: InstalledModel, slots: int, tried: Sequence[_Host]) -> _Host | None:
        """Count a request to the best host that was not tried, and return the host."""
        statuses = self._look()
        if not (self._is_only or tried or any(status.has(model) for status in statuses.values())):
            self._recheck()  # it may have been pulled a moment ago
            statuses = self._look()
        statuses = {host: status for host, status in statuses.items() if host not in tried}
        able = [host for host, status in statuses.items() if self._is_only or status.has(model)]
        able = able or [host for host, status in statuses.items() if status.fault]  # it may have the model
        with self._lock:
            best = min(
                able,
                key=lambda host: (host.active >= slots, model.name not in statuses[host].loaded, host.active),
                default=None,
            )
            if best is not None:
                best.active += 1
        return best

    def _release(self, host: _Host) -> None:
        with self._lock:
            host.active -= 1

    def _look(self) -> dict[_Host, HostStatus]:
        """Return the status of each host, asked at the same time; nothing is asked of an only one."""
        if self._is_only:
            return {host: HostStatus(host.settings.ollama_host_label) for host in self._hosts}
        for host in self._hosts:
            host.status(0.0)  # begins to ask
        return {host: host.status(PROBE_SECONDS) for host in self._hosts}

    def _recheck(self) -> None:
        for host in self._hosts:
            host.recheck()

    def _answering(self) -> dict[_Host, HostStatus]:
        """Return the hosts that answer. If none does, all are asked again first. Raises `ModelFault`."""
        if all(status.fault for status in self._look().values()):
            self._recheck()
        statuses = self._look()
        if answering := {host: status for host, status in statuses.items() if status.fault is None}:
            return answering
        faults = [status.fault for status in statuses.values() if status.fault is not None]
        raise next((fault for fault in faults if fault.code != "unreachable"), unreachable_fault(self._settings))

    def _ask_each(self, request: Callable[[Settings], Reply]) -> list[Reply]:
        """Return the replies of all hosts that give one. Raises the first `ModelFault` if none does."""
        replies, faults = list[Reply](), list[ModelFault]()
        for host in self._answering():
            try:
                replies.append(request(host.settings))
            except ModelFault as fault:
                faults.append(fault)
        if faults and not replies:
            raise faults[0]
        return replies

    @property
    def _is_only(self) -> bool:
        return len(self._hosts) == 1


def server_parallelism() -> int:
    """Return the number of parallel slots of a host. It does not report it; its variable may be set here too."""
    value = os.environ.get("OLLAMA_NUM_PARALLEL", "")
    return (int(value) if value.isdecimal() else 0) or _DEFAULT_PARALLELISM


def ollama_pool(settings: Settings) -> OllamaPool:
    """Return the pool of these hosts, shared by the whole process, so that it counts all requests."""
    with _pools_lock:
        return _pools.setdefault(settings.ollama_host, OllamaPool(settings))


_pools_lock = threading.Lock()
_pools: dict[str, OllamaPool] = {}
