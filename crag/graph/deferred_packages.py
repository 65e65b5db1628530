"""Defers modules that LangGraph, LangSmith and HTTPX import but a question does not use, such as API clients.

They take half of the time of importing LangGraph. A deferred module runs when an attribute that only it defines is
read; its submodules are imported normally. Classes and functions that others import from it are replaced by proxies
until they are used. `importlib.util.LazyLoader` does not help: it loads a package as soon as a submodule is imported.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

DEFERRED: Mapping[str, tuple[str, ...]] = {
    "httpx._main": ("main",),
    "langchain_core.tracers._compat": ("pydantic_to_dict", "run_construct", "run_copy", "run_to_dict"),
    "langgraph_sdk": (),
    "langgraph_sdk.auth": (),
    "langsmith.address": (),
    "langsmith.client": ("Client",),
    "langsmith.run_helpers": ("get_current_run_tree", "get_tracing_context"),
    "langsmith.run_trees": ("RunTree",),
    "langsmith.schemas": (),
}
"""Deferred modules, each with the names that others import from it but use late or only in annotations."""

_TRACING_CONTEXT = (
    *("parent", "project_name", "address", "tags", "metadata"),
    *("enabled", "client", "replicas", "distributed_parent_id"),
)
UNTRACED: Mapping[str, Any] = {"get_current_run_tree": None, "get_tracing_context": dict.fromkeys(_TRACING_CONTEXT)}
"""Results of functions before their module has run: until then no trace can have been started."""

_lock = threading.RLock()


class _DeferredModule(ModuleType):
    """Module that has not run."""

    def __getattr__(self, name: str) -> Any:
        if "__deferred__" in self.__dict__ and name in DEFERRED[self.__name__]:
            return _DeferredName(self, name)
        if name != "__path__":  # which each `from … import` looks for, and only packages have
            _run_module(self)
        return ModuleType.__getattribute__(self, name)


def _run_module(module: ModuleType) -> None:
    with _lock:
        if loader := module.__dict__.pop("__deferred__", None):  # none in the names that the module reads meanwhile
            loader.exec_module(module)
            module.__class__ = ModuleType


class _DeferredName:
    """Proxy of a class or function of a deferred module, which runs on a call, attribute, subclass or type check."""

    def __init__(self, module: ModuleType, name: str) -> None:
        self._where = module, name

    def _resolve(self) -> Any:
        module, name = self._where
        _run_module(module)
        return getattr(module, name)

    def __call__(self, *values: Any, **named: Any) -> Any:
        module, name = self._where
        if name in UNTRACED and "__deferred__" in module.__dict__:
            return UNTRACED[name]
        return self._resolve()(*values, **named)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._resolve(), name)

    def __instancecheck__(self, value: object) -> bool:
        return isinstance(value, self._resolve())

    def __subclasscheck__(self, value: type) -> bool:
        return issubclass(value, self._resolve())

    def __mro_entries__(self, _bases: tuple[Any, ...]) -> tuple[type, ...]:
        return (self._resolve(),)


class _DeferringLoader(Loader):
    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _DeferredModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        spec: Any = module.__spec__
        module.__loader__ = spec.loader = self._loader
        module.__dict__["__deferred__"] = self._loader


class _DeferringFinder(MetaPathFinder):
    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        found = PathFinder.find_spec(name, path, target) if name in DEFERRED else None
        if found is not None and found.loader is not None:
            found.loader = _DeferringLoader(found.loader)
        return found


def defer_packages() -> None:
    """Defer these modules unless they are loaded already; calling this again changes nothing."""
    if not any(isinstance(finder, _DeferringFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _DeferringFinder())
