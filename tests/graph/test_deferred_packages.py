"""Packages that LangGraph imports are loaded when they are used, and work then."""

import subprocess
import sys

import pytest

from crag.graph.deferred_packages import PACKAGES

HEAVY_CHILDREN = ["langgraph_sdk.client", "langgraph_sdk.auth.exceptions", "langsmith.types.rule"]


def run_python(script: str) -> str:
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout


def test_building_the_graph_leaves_them_out():
    script = "import sys, crag.graph.build; print(*sys.modules)"
    loaded = set(run_python(script).split())
    assert loaded >= PACKAGES
    assert not loaded & set(HEAVY_CHILDREN)


@pytest.mark.parametrize(
    ("package", "name"),
    [("langgraph_sdk", "get_client"), ("langgraph_sdk.auth", "Auth"), ("langsmith.types", "Rule")],
)
def test_a_name_of_the_package_loads_it(package, name):
    script = f"import crag.graph.build; from {package} import {name}; import {package} as it; print({name}, type(it))"
    assert run_python(script).endswith("<class 'module'>\n")


def test_a_name_that_does_not_exist_is_refused_as_ever():
    script = (
        "import crag.graph.build, langgraph_sdk\n"
        "try: langgraph_sdk.nothing\n"
        "except AttributeError: print(langgraph_sdk.get_client.__module__)"
    )
    assert run_python(script) == "langgraph_sdk._async.client\n"


def test_all_names_of_a_package_are_found():
    script = "import crag.graph.build; from langsmith.types import *; from langsmith import Client; print(Client, Rule)"
    assert "langsmith.client.Client" in run_python(script)
