"""Defers what LangGraph and LangSmith import but this application never uses: clients of servers, generated types.

They make up half of the time that importing LangGraph takes. The `__init__` of a deferred package runs when an
attribute that only it defines is read; its submodules are imported as ever. `importlib.util.LazyLoader` does not help:
it loads a package as soon as a submodule is imported.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

PACKAGES = frozenset({"langgraph_sdk", "langgraph_sdk.auth", "langsmith.types"})

_lock = threading.RLock()


class _DeferredPackage(ModuleType):
    """Package whose `__init__` has not run."""

    def __getattr__(self, name: str) -> Any:
        with _lock:
            if loader := self.__dict__.pop("__deferred__", None):  # none in the names that the package reads meanwhile
                loader.exec_module(self)
                self.__class__ = ModuleType  # type: ignore[assignment]
        return ModuleType.__getattribute__(self, name)


class _DeferringLoader(Loader):
    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _DeferredPackage(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        spec: Any = module.__spec__
        module.__loader__ = spec.loader = self._loader
        module.__dict__["__deferred__"] = self._loader


class _DeferringFinder(MetaPathFinder):
    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        found = PathFinder.find_spec(name, path, target) if name in PACKAGES else None
        if found is not None and found.loader is not None:
            found.loader = _DeferringLoader(found.loader)
        return found


def defer_packages() -> None:
    """Defer these packages unless they are loaded already; calling this again changes nothing."""
    if not any(isinstance(finder, _DeferringFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _DeferringFinder())
