"""The preferences of a home: values with their origin, presets, and permitted remote models."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import insert, text

from crag.conversations.conversations import Conversations
from crag.errors import BadRequest, NotFound
from crag.options import (
    SAVED_OPTIONS,
    ModelParameters,
    RunOptions,
    diff_options,
    get_option,
    list_option_names,
    load_changes,
)
from crag.reference_systems import REFERENCE_SYSTEMS
from crag.settings import Settings
from crag.storage.engine import Database
from crag.storage.preferences import EffectiveValue, Preferences
from crag.storage.tables import preferences as table
from crag.types import Thresholds


@pytest.fixture
def preferences(database):
    return Preferences(database, Settings())


def test_without_a_word_from_anybody_everything_is_the_default(preferences):
    assert preferences.options() == RunOptions()
    assert {preferences.effective(name).origin for name in SAVED_OPTIONS} == {"default"}


def test_each_layer_stands_above_the_one_below(database):
    named = Preferences(database, Settings(chat_model="ollama:llama3.1:8b"))
    named.save("model", "builtin")
    named.save("k", 6)
    assert named.effective("model") == EffectiveValue("ollama:llama3.1:8b", "environment")
    assert named.effective("model", {"model": "openai:x"}) == EffectiveValue("openai:x", "conversation")
    assert named.effective("k") == EffectiveValue(6, "saved")
    assert named.options({"answering.window": 4096}) == RunOptions(
        model="ollama:llama3.1:8b", k=6, answering=ModelParameters(window=4096)
    )
    assert Preferences(database, Settings()).effective("model") == EffectiveValue("builtin", "saved")


def test_the_web_is_offered_where_it_is_set_up(database):
    assert Preferences(database, Settings(tavily_api_key="tvly-x")).options().web == "ask"


def test_saved_values_are_shared_and_outlast_the_process(tmp_path, database, preferences):
    preferences.save("grading.temperature", 0.5)
    preferences.allow_model("openai:gpt-4o")
    other = Preferences(Database(tmp_path), Settings())
    assert other.saved() == {"grading.temperature": 0.5}
    assert other.may_send_to("openai:gpt-4o")
    other.reset("grading.temperature")
    assert preferences.options() == RunOptions()


def test_the_default_is_not_kept_as_a_choice(preferences):
    preferences.save("k", 7)
    preferences.save("k", 4)
    assert preferences.effective("k") == EffectiveValue(4, "default")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("k", 0),
        ("k", 21),
        ("k", 4.5),
        ("k", True),
        ("k", "4"),
        ("policy", "bold"),
        ("refine", 1),
        ("model", "x" * 201),
        ("model", " builtin"),
        ("answering.temperature", float("nan")),
        ("answering.window", 100),
    ],
)
def test_what_a_setting_cannot_be_is_refused_with_what_it_can(preferences, name, value):
    with pytest.raises(BadRequest) as refused:
        preferences.save(name, value)
    assert refused.value.remedy
    assert preferences.saved() == {}


def test_a_setting_that_is_none_is_refused(preferences):
    with pytest.raises(NotFound):
        preferences.save("collection", "Papers")


def test_values_of_another_time_are_left_out(database, preferences):
    rows = {"k": 99, "gone": 1, "policy": "any"}
    with database.write() as connection:
        connection.execute(insert(table), [{"name": name, "value": json.dumps(value)} for name, value in rows.items()])
    assert preferences.saved() == {"policy": "any"}


def test_values_that_a_restored_home_nests_too_deeply_are_left_out(database, preferences):
    with database.write() as connection:
        connection.execute(insert(table), [{"name": "k", "value": "[" * 100_000}])
    assert preferences.saved() == {}
    assert load_changes("[" * 100_000) == {}


def test_every_setting_is_an_option_and_takes_its_own_default():
    for setting in SAVED_OPTIONS.values():
        setting.check(get_option(RunOptions(), setting.name))
        assert setting.title
        assert setting.help.endswith(".")


def test_a_preset_means_the_same_whatever_the_home_has_saved(preferences):
    for name, value in {"k": 9, "refine": False, "web_results": 7}.items():
        preferences.save(name, value)
    for name, system in REFERENCE_SYSTEMS.items():
        assert preferences.options({**preferences.presets()[name], "preset": name}) == system.options
    preferences.save("model", "builtin")
    assert preferences.options(preferences.presets()["paper"]).model == "builtin", "models are left as they are"


def test_own_presets_are_kept_replaced_and_deleted(preferences):
    preferences.save_preset(" Careful ", RunOptions(k=8, collection="Papers", thresholds=Thresholds(0.2, 0.8)))
    kept = preferences.options(preferences.presets()["Careful"])
    assert (kept.k, kept.collection, kept.thresholds) == (8, "", None)
    preferences.save_preset("Careful", RunOptions(k=9))
    assert preferences.options(preferences.presets()["Careful"]).k == 9
    preferences.delete_preset("Careful")
    assert set(preferences.presets()) == set(REFERENCE_SYSTEMS)
    with pytest.raises(NotFound):
        preferences.delete_preset("Careful")
    for name in ("", "paper", "CRAG paper"):
        with pytest.raises(BadRequest):
            preferences.save_preset(name, RunOptions())


def test_a_remote_model_needs_permission(database):
    preferences = Preferences(database, Settings(chat_model="openai:a", grader_model="openai:b"))
    assert [preferences.may_send_to(f"openai:{name}") for name in "abcd"] == [True, True, False, False]
    preferences.allow_model("openai:c")
    preferences.allow_model_for_process("openai:d")
    assert preferences.may_send_to("openai:c")
    assert preferences.may_send_to("openai:d")
    preferences.forbid_model("openai:c")
    assert preferences.allowed_models() == []
    assert not preferences.may_send_to("openai:c")


def test_changes_are_what_is_between_two_options():
    other = RunOptions(k=7, grading=ModelParameters(temperature=0.1), source_ids=("a",))
    assert diff_options(RunOptions(), other) == {"k": 7, "grading.temperature": 0.1, "source_ids": ("a",)}
    assert len(set(list_option_names())) == len(list_option_names())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("k", 99),
        ("k", "4"),
        ("k", True),
        ("policy", "newest"),
        ("answering.window", 1),
        ("answering.window", "x"),
        ("grading.temperature", None),
        ("model", ["a"]),
        ("thinking", 1),
        ("join_web", "yes"),
        ("thresholds", [0.1]),
        ("thresholds", {"lower": "a", "upper": 1}),
        ("source_ids", 3),
        ("collection", 7),
        ("of another version", 1),
    ],
)
def test_changes_that_are_none_any_longer_do_no_harm(database, preferences, name, value):
    """Whatever another version kept, or was kept before a setting was narrowed."""
    conversations = Conversations(database)
    kept = conversations.create().id
    with database.write() as connection:
        connection.execute(text("UPDATE conversations SET options = :it"), {"it": json.dumps({name: value})})
        connection.execute(text("INSERT INTO presets VALUES ('p', :it, 1)"), {"it": json.dumps({name: value})})
        connection.execute(insert(table).values(name=name, value=json.dumps(value)))
    assert preferences.options(conversations.get(kept).changes) == RunOptions()
    assert preferences.options(preferences.presets()["p"]) == RunOptions()
    if name in SAVED_OPTIONS:
        assert preferences.effective(name, conversations.get(kept).changes).origin == "default"
    conversations.rename_collection("a", "b")


def test_what_is_no_json_does_no_harm(database, preferences):
    with database.write() as connection:
        connection.execute(insert(table), [{"name": name, "value": "{"} for name in ("k", "allowed_models")])
        connection.execute(text("INSERT INTO presets VALUES ('p', '[', 1)"))
    assert (preferences.options(), preferences.presets()["p"], preferences.allowed_models()) == (RunOptions(), {}, [])


def test_two_that_allow_models_at_once_lose_none(tmp_path, database, preferences):
    others = [Preferences(Database(tmp_path), Settings()) for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        for number, other in enumerate(others):
            pool.submit(lambda other, number: [other.allow_model(f"x:{number}-{n}") for n in range(10)], other, number)
    assert len(preferences.allowed_models()) == 40


def test_leave_of_the_command_line_can_be_taken_back_too(preferences):
    preferences.allow_model_for_process("openai:d")
    preferences.forbid_model("openai:d")
    assert not preferences.may_send_to("openai:d")


def test_no_address_is_saved_or_used_where_everyone_may_change_settings(database):
    Preferences(database, Settings()).save_mcp_search("http://10.0.0.1/mcp#find")
    opened = Preferences(database, Settings(open=True))
    with pytest.raises(BadRequest, match="open to everyone"):
        opened.save_mcp_search("http://10.0.0.1/mcp#find")
    assert opened.search_settings().mcp_search == ""
    named = Preferences(database, Settings(open=True, mcp_search="https://mcp.example/mcp"))
    assert named.search_settings().web_search_provider == "mcp"
