"""Modules that LangGraph imports are loaded when they are used, and work then."""

import json
import os
import subprocess
import sys

import pytest

from crag.graph.deferred_packages import DEFERRED, UNTRACED

HEAVY = {
    *("rich", "pygments", "langgraph_sdk.client", "langsmith._client", "requests_toolbelt", "streamlit", "torch"),
    *("pandas", "tiktoken", "transformers", "crag.sharing", "crag.inspection.coverage_gaps"),
    *("crag.evaluation.evaluations", "crag.evaluation.langsmith_upload"),
}
"""What deferred modules and other commands need."""


def run_python(script: str, *arguments: str, **variables: str) -> str:
    environment = os.environ | variables
    command = [sys.executable, "-c", script, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout


def test_a_question_leaves_them_out(tmp_path):
    (tmp_path / "lift.md").write_text("# Lift\n\nThe lift is inspected every 12 months.", encoding="utf-8")
    script = f"""
import sys
from crag.__main__ import run
from crag.graph.deferred_packages import DEFERRED
assert run(["add", {str(tmp_path / "lift.md")!r}]) == 0
assert run(["ask", "How often is the lift inspected?"]) == 0
print("deferred:", *(name for name in DEFERRED if "__deferred__" in vars(sys.modules[name])))
print("loaded:", *sys.modules)
"""
    *_, deferred, loaded = run_python(
        script, CRAG_HOME=str(tmp_path / "home"), OLLAMA_HOST="127.0.0.1:9", CRAG_MODEL="builtin"
    ).splitlines()
    assert deferred.split()[1:] == list(DEFERRED)
    assert not HEAVY & set(loaded.split())


CLASS = """
from langsmith import RunTree
class Own(RunTree): pass
from langsmith.run_trees import RunTree as Real
print(isinstance(Real(name="a"), RunTree), isinstance("a", RunTree), issubclass(Own, RunTree), Own.__mro__[1] is Real)
"""
TRACE = """
from langsmith import get_tracing_context
print(get_tracing_context()["project_name"])
from langsmith.run_helpers import tracing_context
with tracing_context(project_name="lifts"):
    print(get_tracing_context()["project_name"])
"""
UNKNOWN = """
import langgraph_sdk
try: langgraph_sdk.nothing
except AttributeError: print(langgraph_sdk.get_client.__module__)
"""
EVERY_NAME = """
from importlib import import_module
from crag.graph.deferred_packages import DEFERRED
for name, names in DEFERRED.items():
    module = import_module(name)
    print(hasattr(module, "nothing"), {*names} - vars(module).keys() or "")
"""
USES = {
    "a function": ("from langgraph_sdk import get_client; print(get_client.__module__)", "langgraph_sdk._async.client"),
    "a submodule": ("from langgraph_sdk.auth import Auth; print(Auth.__name__)", "Auth"),
    "all names": ("from langsmith.schemas import *; print(Run.__module__)", "langsmith.schemas"),
    "a class": ("from langsmith import RunTree; print(type(RunTree(name='a')).__name__)", "RunTree"),
    "a base class": (CLASS, "True False True True"),
    "a trace": (TRACE, "None\nlifts"),
    "an unknown name": (UNKNOWN, "langgraph_sdk._async.client"),
    "every name": (EVERY_NAME, "\n".join(["False "] * len(DEFERRED))),
}
"""What somebody does with the modules, and what is printed then."""
IN_FORKS = """
import json, os, sys, traceback
import crag.graph.build
sys.stderr = sys.stdout
for script in json.loads(sys.argv[1]):
    if os.fork() == 0:
        try:
            exec(script, {})
        except Exception:
            traceback.print_exc()
        sys.stdout.flush()
        os._exit(0)
    os.wait()
    print("====", flush=True)
"""


@pytest.fixture(scope="module")
def printed() -> dict[str, str]:
    """What each use prints in a process where nothing was used before."""
    texts = run_python(IN_FORKS, json.dumps([script for script, _ in USES.values()])).split("====")
    return dict(zip(USES, map(str.strip, texts), strict=False))


@pytest.mark.parametrize("use", USES)
def test_what_is_used_is_loaded(printed, use):
    assert printed[use] == USES[use][1].strip()


def test_no_trace_is_under_way_before_the_module_that_starts_traces_has_run():
    from langsmith import run_helpers

    assert {name: getattr(run_helpers, name)() for name in UNTRACED} == UNTRACED
