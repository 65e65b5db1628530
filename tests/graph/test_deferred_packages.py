"""Modules that LangGraph imports are loaded when they are used, and work then."""

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


def run_python(script: str, **variables: str) -> str:
    environment = os.environ | variables
    return subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment
    ).stdout


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


def test_every_name_that_stands_in_exists():
    script = """
import crag.graph.build
from importlib import import_module
from crag.graph.deferred_packages import DEFERRED
for name, names in DEFERRED.items():
    module = import_module(name)
    assert not hasattr(module, "nothing")
    assert vars(module).keys() >= {*names}, name
"""
    run_python(script)


@pytest.mark.parametrize(
    ("script", "printed"),
    [
        ("from langgraph_sdk import get_client; print(get_client.__module__)", "langgraph_sdk._async.client"),
        ("from langgraph_sdk.auth import Auth; print(Auth.__name__)", "Auth"),
        ("from langsmith.schemas import *; print(Run.__module__)", "langsmith.schemas"),
        ("from langsmith import RunTree; print(type(RunTree(name='a')).__name__)", "RunTree"),
    ],
)
def test_what_is_used_is_loaded(script, printed):
    assert run_python(f"import crag.graph.build; {script}").strip() == printed


def test_a_class_that_stands_in_can_be_checked_and_subclassed():
    script = """
import crag.graph.build
from langsmith import RunTree
class Own(RunTree): pass
from langsmith.run_trees import RunTree as Real
print(isinstance(Real(name="a"), RunTree), isinstance("a", RunTree), issubclass(Own, RunTree), Own.__mro__[1] is Real)
"""
    assert run_python(script) == "True False True True\n"


def test_no_trace_is_under_way_before_the_module_that_starts_traces_has_run():
    from langsmith import run_helpers

    assert {name: getattr(run_helpers, name)() for name in UNTRACED} == UNTRACED


def test_a_trace_that_was_started_is_seen():
    script = """
import crag.graph.build
from langsmith import get_tracing_context
print(get_tracing_context()["project_name"])
from langsmith.run_helpers import tracing_context
with tracing_context(project_name="lifts"):
    print(get_tracing_context()["project_name"])
"""
    assert run_python(script) == "None\nlifts\n"


def test_a_name_that_does_not_exist_is_refused_as_ever():
    script = (
        "import crag.graph.build, langgraph_sdk\n"
        "try: langgraph_sdk.nothing\n"
        "except AttributeError: print(langgraph_sdk.get_client.__module__)"
    )
    assert run_python(script) == "langgraph_sdk._async.client\n"
