"""Two users of one home: whatever method one calls with what belongs to the other, nothing is shown or changed."""

from __future__ import annotations

import inspect
import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import insert, select

from crag.app.application import Application
from crag.errors import CragError, NotFound
from crag.evaluation.datasets import RunPins
from crag.evaluation.records import EvaluationRows
from crag.evaluation.types import Dataset, EvaluationPlan, Example, Variant
from crag.inspection.run_archive import SummaryBackfill
from crag.library.library import Library
from crag.runs.revisions import Revision
from crag.runs.run import LiveRun, LoggedRun
from crag.storage.api_tokens import ApiReplies
from crag.storage.row_security import visible_rows
from crag.storage.tables import metadata, model_calls, queued_questions
from crag.storage.user_scope import DeferredPart, UserScoped
from crag.types import Passage, Thresholds
from tests.applications import opened_with
from tests.belongings import ANN, BEN, OFF, PAGE, WORD, Belongings, finish, make_belongings, wait_until_done
from tests.doubles.tavily import TavilyServer
from tests.test_structure import CRAG, imports

SHARED = {
    *("active_spaces", "calibrations", "collections", "downloads", "embedder_choices", "epochs", "jobs", "passages"),
    *("preferences", "presets", "removed_passages", "removed_sources", "removed_vectors", "rulings", "sources"),
    *("collection_members", "file_pieces", "spaces", "summary_parts", "users", "vectors", "watched_folders"),
}
"""Tables without an owner: documents, models, settings, and what is measured about all of them."""
COMMON = {
    "ApiTokens.find",  # who has the secret is whose it is
    *("Calibrator.run", "Calibrator.save", "Library.discard", "Library.purge_removed", "Library.remove"),
    "ConversationOwners.adopt",  # everything of a former key, whoever asks
    "ConversationExchange.read_link",  # who has the link may read
    "ConversationOwners.claim_unowned",  # what belongs to nobody goes to the first visitor
    "Conversations.rename_collection",
    *("Evaluations.close", "Evaluations.close_orphans"),
    "OutboundLog.record",
    "PassageExchange.import_passages",
    *("QuestionQueue.begin", "QuestionQueue.close", "QuestionQueue.unread_files", "QuestionQueue.wake"),
    "RegressionMonitor.run_if_due",
    *("RunService.busy", "RunService.close", "RunService.count_question", "RunService.delete_orphaned_data"),
}
"""Methods that do not depend on the user: they run the process, or change only what is shared."""
SHARED_SERVICES = {
    *("CalibrationJob", "CalibrationRows", "HybridSearch", "IngestJobs", "IngestPipeline", "Preferences"),
    *("RechunkedLibraries", "WatchedFolders"),
}
"""Services of what all browsers share; `test_accounts` is about people who do not."""
IDS = {
    *("conversation_id", "conversation_ids", "dataset_id", "edited", "evaluation_id", "found_by", "message_id"),
    *("note_id", "question_id", "queued", "result", "run_id", "run_ids", "token_id"),
}
"""Parameters that name something of a user."""


@dataclass(frozen=True)
class Home:
    """A home in which Ann owns one of everything, and Ben a conversation with one answer.

    `rows` are all of them by table, and `anns_rows` hers. `restore` brings everything back to that state. `has_changed`
    says whether anything was written since it was last asked.
    """

    application: Application
    anns: Belongings
    bens: Mapping[str, Any]
    rows: Mapping[str, set[Any]]
    anns_rows: Mapping[str, set[Any]]
    restore: Callable[[], None]
    has_changed: Callable[[], bool]

    @cached_property
    def values(self) -> dict[str, Any]:
        return values_of_ann(self)

    @cached_property
    def special_values(self) -> dict[str, dict[str, Any]]:
        return special_values(self)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shared") / "home"
    with (
        TavilyServer(results=[PAGE]) as tavily,
        closing(sqlite3.connect(folder.with_name("saved"))) as saved,
        opened_with(folder, tavily_api_key="tvly-x", tavily_url=tavily.url) as application,
    ):
        anns = make_belongings(application, ANN)
        with application.database.write() as connection:  # a question that nothing holds up, and a call of a model
            called = {"run_id": anns.closed.id, "number": 1, "node": "generate", "model": "m", "at": 0.0}
            connection.execute(insert(model_calls).values(body=b"", seconds=0.0, **called))
            place = {"conversation_id": anns.conversation.id, "position": 1}
            connection.execute(insert(queued_questions).values(text=f"Which {WORD}?", **place))
        ApiReplies(application.database).claim(anns.token.id, "key", "request")
        anns_rows = read_rows(application)
        ben = application.for_user(BEN)
        conversation = ben.conversations.create()
        finish(ben.runs.start(conversation.id, "When are beans ordered?", OFF))
        asked, answer = ben.conversations.messages(conversation.id)
        with closing(sqlite3.connect(folder / "crag.sqlite")) as live:
            live.backup(saved)

        def restore() -> None:
            with closing(sqlite3.connect(folder / "crag.sqlite")) as live:
                saved.backup(live)
            has_changed()

        watching = sqlite3.connect(folder / "crag.sqlite")
        versions = [0]

        def has_changed() -> bool:
            (version,) = watching.execute("PRAGMA data_version").fetchone()
            versions.append(version)
            return versions[-2] != version

        bens = {"conversation_id": conversation.id, "run_id": answer.run_id, "message_id": asked.id, "user": BEN}
        yield Home(application, anns, bens, read_rows(application), anns_rows, restore, has_changed)
        watching.close()


def read_rows(application: Application) -> dict[str, set[Any]]:
    """Every row of the tables that are not shared."""
    with application.database.read() as connection:
        return {
            name: {tuple(row) for row in connection.execute(select(table))}
            for name, table in metadata.tables.items()
            if name not in SHARED
        }


def public_parts(service: object) -> list[Any]:
    """What a service holds under public names, also what it builds when it is first read."""
    deferred = {name for name, one in vars(type(service)).items() if isinstance(one, DeferredPart)}
    return [getattr(service, name) for name in {*vars(service), *deferred} if not name.startswith("_")]


def limited_services(service: UserScoped) -> Iterator[UserScoped]:
    """The service, and what can be reached from it by public names."""
    yield service
    for part in public_parts(service):
        if isinstance(part, UserScoped):
            yield from limited_services(part)


def public_methods(kind: type[UserScoped]) -> Iterator[str]:
    """Its methods and properties that depend on the user, if most do; else those that take or return what is theirs."""
    if kind.__name__ in SHARED_SERVICES:
        return
    for name, _ in inspect.getmembers(kind, lambda one: inspect.isfunction(one) or isinstance(one, property)):
        is_inherited = name.startswith("_") or hasattr(UserScoped, name)
        is_common = f"{kind.__name__}.{name}" in COMMON
        if kind in (Application, Library):
            member = getattr(kind, name)
            returned = str(inspect.signature(getattr(member, "fget", member)).return_annotation)
            is_common |= not IDS & {*parameters(kind, name)} and not re.search(r"\bSource\b", returned)
        if not (is_inherited or is_common):
            yield name


def parameters(kind: type, name: str) -> Mapping[str, inspect.Parameter]:
    member = getattr(kind, name)
    return {} if isinstance(member, property) else {**inspect.signature(member).parameters}


def values_of_ann(home: Home) -> dict[str, Any]:
    """What Ann passes to methods, by parameter."""
    anns = home.anns
    return {
        "changes": {"k": 3},
        "collection": "Documents",
        "conversation_id": anns.conversation.id,
        "conversation_ids": [anns.conversation.id],
        "data": b'{"question": "Why?"}',
        "destination": home.application.database.home.with_name("export"),
        "dataset_id": anns.dataset.id,
        "edited": anns.question_id,
        "evaluation_id": anns.evaluation.id,
        "format_": "jsonl",
        "found_by": anns.searched.id,
        "grader": "builtin",
        "helpful": True,
        "key": anns.dataset.examples[0].key,
        "limit": 50,
        "location": PAGE["url"],
        "locations": [home.application.library.sources()[0].location],
        "message_id": anns.question_id,
        "model": "builtin",
        "name": "Another name",
        "node": "decide",
        "note": anns.note,
        "note_id": anns.note.id,
        "on": True,
        "options": OFF,
        "passage": runs_passage(home),
        "passage_id": anns.passage_id,
        "path": Path(home.application.library.sources()[0].location),
        "pinned": True,
        "plan": EvaluationPlan(Dataset("", "Other", "uploaded", (Example("1", "Why?"),)), (Variant("as it is", OFF),)),
        "query": f"{WORD} ferry",
        "question": "And on Mondays?",
        "question_id": anns.question_id,
        "queued": anns.queued_id,
        "result": anns.result,
        "revision": Revision({anns.passage_id: "use"}),
        "right": False,
        "rulings": {anns.passage_id: "use"},
        "run_id": anns.run.id,
        "run_ids": [anns.run.id],
        "scopes": ["read"],
        "search": WORD,
        "sentence": f"{WORD} ferry",
        "since": 0.0,
        "source_id": home.application.library.sources()[0].id,
        "text": "Again",
        "thresholds": Thresholds(0.3, 0.7),
        "title": "Another title",
        "token_id": anns.token.id,
        "up": True,
        "user": "c" * 64,
    }


def runs_passage(home: Home) -> Passage:
    return home.application.runs.trace(home.anns.run.id).passages[home.anns.passage_id]


def special_values(home: Home) -> dict[str, dict[str, Any]]:
    """What Ann passes to a method that needs something in a certain state."""
    anns, runs = home.anns, home.application.runs
    waiting = {"run_id": anns.waiting.id}
    pending = {"conversation_id": anns.pending.id}
    queued = {"question_id": anns.queued_id}
    return {
        **dict.fromkeys((f"RunService.{name}" for name in ("answer_consent", "draft", "save_draft", "stop")), waiting),
        **dict.fromkeys((f"QuestionQueue.{name}" for name in ("hold", "move", "release", "remove")), queued),
        **dict.fromkeys(("QuestionQueue.questions", "QuestionQueue.submit", "RunService.active"), pending),
        "Calibrator.replay_past_runs": {"collection": "", "grader": runs.trace(anns.run.id).grader},
        "ConversationExchange.import_json": {"data": home.application.sharing.json(home.bens["conversation_id"])},
        "Conversations.restore": {"conversation_id": anns.deleted.id},
        "CoverageGaps.close": {"run_ids": [anns.unanswered.id]},
        "CoverageGaps.reopen": {"run_ids": [anns.closed.id]},
        "Notes.restore": {"note": replace(anns.note, id="removed")},
        "RunService.start queued": pending,
    }


def calls(home: Home, kind: type, name: str) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """The arguments of Ben and of Ann: hers for all ids, then for one id each beside his own, as far as he has one."""
    given = {key: one for key, one in parameters(kind, name).items() if key != "self"}
    required = [key for key, one in given.items() if one.default is one.empty and one.kind is not one.VAR_KEYWORD]
    ids = [key for key in given if key in IDS]
    for chosen in ({*ids} & {*required}, *({one} for one in ids)):
        label = " ".join([f"{kind.__name__}.{name}", *(chosen - {*required})])
        values = home.values | home.special_values.get(label, {})
        anns = {key: values[key] for key in given if key in required or key in chosen}
        yield {key: one if key in chosen else home.bens.get(key, one) for key, one in anns.items()}, anns


@dataclass(frozen=True)
class Outcome:
    """What a call returned or raised, and the rows that it removed or changed, and those it added or changed."""

    shown: str
    lost: Mapping[str, set[Any]]
    added: Mapping[str, set[Any]]

    @property
    def has_effect(self) -> bool:
        return any(self.lost.values()) or any(self.added.values())


def call(home: Home, service: UserScoped, name: str, arguments: Mapping[str, Any]) -> Outcome:
    try:
        member = getattr(service, name)
        result = member(**arguments) if callable(member) else member
        shown = [finish(result).id, result.question] if isinstance(result, LiveRun | LoggedRun) else result
        shown = repr([*shown] if isinstance(shown, Iterator) else shown)
    except CragError as error:
        shown = f"{type(error).__name__}: {error}"
    after = home.rows
    if home.has_changed():
        wait_until_done(home.application)
        after = read_rows(home.application)
    return Outcome(
        shown,
        {table: rows - after[table] for table, rows in home.rows.items()},
        {table: rows - home.rows[table] for table, rows in after.items()},
    )


def wrongs_of_ben(home: Home, outcome: Outcome) -> Iterator[str]:
    """What a call of his showed or changed of hers."""
    if WORD in outcome.shown or ANN in outcome.shown:
        yield f"shows {outcome.shown[:200]}"
    for name, rows in outcome.lost.items():
        if rows & home.anns_rows[name]:
            yield f"changes {name}"
    for name, rows in outcome.added.items():
        columns = [*metadata.tables[name].c]
        for column, value in ((column, value) for row in rows for column, value in zip(columns, row, strict=True)):
            if column.name == "person" and value != BEN:
                yield f"adds to {name} for {value!r}"
            for key in column.foreign_keys:
                table, place = key.column.table, [*key.column.table.c].index(key.column)
                if table.name not in SHARED and value in {row[place] for row in home.anns_rows[table.name]}:
                    yield f"adds to {name} under her {table.name}"


SAME_FOR_BOTH = {
    "RunService.count_live",  # counts of the whole process, for its metrics
    "ConversationOwners.has_others",  # each is another one to the other
    "Evaluations.cutoffs",  # too few labels to fit any
    "PassageExchange.backup_bytes",
    "PassageExchange.export",  # its file is what `export_bytes` returns
    "RegressionMonitor.set_automatic",  # shown by `state`
}


def test_nothing_of_another_user_is_shown_or_changed_whatever_is_called(home):
    wrong: dict[str, list[str]] = {}
    ann, ben = (limited_services(home.application.for_user(user)) for user in (ANN, BEN))
    for anns_service, bens_service in zip(ann, ben, strict=True):
        kind = type(bens_service)
        for name in public_methods(kind):
            for bens, anns in calls(home, kind, name):
                his = call(home, bens_service, name, bens)
                found = wrong.setdefault(f"{kind.__name__}.{name}({', '.join(bens)})", [])
                found += wrongs_of_ben(home, his)
                if his.has_effect:
                    home.restore()
                hers = call(home, anns_service, name, anns)
                if hers == his and f"{kind.__name__}.{name}" not in SAME_FOR_BOTH:
                    found.append(f"is the same for the owner: {his.shown[:200]}")
                if hers.has_effect:
                    home.restore()
    assert {label: found for label, found in wrong.items() if found} == {}
    assert len(wrong) > 90


def test_a_run_outside_of_conversations_is_found_by_its_owner_alone(home):
    ann, ben = (home.application.for_user(user).conversations for user in (ANN, BEN))
    assert ann.find_by_run(home.anns.result.run_id) is None
    with pytest.raises(NotFound):
        ben.find_by_run(home.anns.result.run_id)


def test_a_question_that_another_user_has_pinned_is_pinned_for_oneself(home):
    ben = home.application.for_user(BEN)
    run = finish(ben.runs.start(home.bens["conversation_id"], f"When is the {WORD} grinder cleaned?", OFF))
    assert ben.datasets.pins.get_pins(run.id) == RunPins()
    ben.datasets.pins.pin_answer(run.id, "On Sunday.")
    assert ben.datasets.pins.get_pins(run.id).reference == "On Sunday."
    assert home.anns_rows["examples"] <= read_rows(home.application)["examples"]
    home.restore()


def test_each_dataset_in_the_list_of_a_user_is_found_again(home):
    home.application.datasets.pins.pin_answer(home.bens["run_id"], "In Lisbon.")  # as before users had keys
    for user in (ANN, BEN):
        own = home.application.for_user(user).datasets
        assert [own.get(one.id) for one in own.all()] == own.all()
    home.restore()


def test_what_one_user_does_to_a_dataset_leaves_those_of_others_alone(home):
    """Of the same name, and with the same question pinned."""
    ben = home.application.for_user(BEN)
    run = finish(ben.runs.start(home.bens["conversation_id"], f"When is the {WORD} grinder cleaned?", OFF))
    ben.datasets.pins.pin_answer(run.id, "On Sunday.")
    pinned = ben.datasets.pinned()
    ben.datasets.remove_example(pinned.id, pinned.examples[0].key)
    ben.datasets.pins.pin_answer(run.id, "On Sunday.")
    ben.datasets.delete(pinned.id)
    for question in ("Why?", "Who?"):
        added = ben.datasets.add(home.anns.dataset.name, f'{{"question": "{question}"}}'.encode())
    assert [one for one in ben.datasets.all() if one.kind == "uploaded"] == [added]
    rows = read_rows(home.application)
    assert all(home.anns_rows[table] <= rows[table] for table in ("datasets", "examples"))
    home.restore()


def test_the_labels_of_another_user_fit_nobody_elses_cutoffs(home):
    rows = EvaluationRows(home.application.database)
    assert [len(rows.for_user(user).labelled_results()) for user in (ANN, BEN)] == [1, 0]


def test_each_user_switches_automatic_test_runs_for_themselves(home):
    ann, ben = (home.application.for_user(user).regression for user in (ANN, BEN))
    ann.set_automatic(True)
    ben.set_automatic(False)
    assert (ann.state().automatic, ben.state().automatic) == (True, False)
    ann.set_automatic(False)
    ben.set_automatic(True)
    assert (ann.state().automatic, ben.state().automatic) == (False, True)


def test_a_limit_cannot_be_taken_off(home):
    ben = home.application.for_user(BEN)
    assert ben.for_user(BEN) is ben
    for user in (ANN, None):
        with pytest.raises(ValueError, match="another user"):
            ben.runs.for_user(user)


def test_what_is_built_when_first_read_is_one_for_all_users_and_limited_to_each(tmp_path):
    with opened_with(tmp_path / "home") as application:
        ann, ben = (application.for_user(user) for user in (ANN, BEN))
        pinned = ann.datasets.pinned()
        assert ann.datasets is ann.datasets
        assert [one.datasets.pinned().owner_id for one in (ann, ben)] == [ANN, BEN]
        assert application.for_user(ANN).datasets.pinned() == pinned
        assert ann.calibration is ann.calibration
        assert ann.calibration._runs is not ben.calibration._runs
        assert ann.calibration.job._last is ben.calibration.job._last is application.calibration.job._last


@pytest.mark.parametrize("name", sorted(metadata.tables.keys() - SHARED))
def test_each_row_is_visible_to_its_owner_alone(home, name):
    table = metadata.tables[name]
    assert home.anns_rows[name], "she owns none: this would prove nothing"
    with home.application.database.read() as connection:
        hers, his = (
            {tuple(row) for row in connection.execute(select(table).where(visible_rows(table, user)))}
            for user in (ANN, BEN)
        )
    assert hers == home.anns_rows[name]
    assert not hers & his


def test_what_no_user_limits_reads_no_table_of_theirs(home):
    """What pages can reach by public names; whatever starts to read such a table must be limited to a user, too."""
    owned = {f"crag.storage.tables.{name}" for name in metadata.tables.keys() - SHARED}
    reached = list(reachable(home.application.for_user(BEN)))
    found = {kind for kind in reached if imports(CRAG[kind.__module__]) & owned}
    assert found == {SummaryBackfill}  # it completes the rows of everyone, and shows how far it is
    assert len(reached) > 15


def reachable(service: object) -> Iterator[type]:
    """The classes of what is no limited service, but reached from this one by public names."""
    for part in public_parts(service):
        if type(part).__module__ in CRAG:
            if not isinstance(part, UserScoped):
                yield type(part)
            if hasattr(part, "__dict__"):
                yield from reachable(part)
