"""Two people with accounts: whatever one calls or asks, nothing is found or changed that the other keeps private."""

from __future__ import annotations

import inspect
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import insert, select, update

from crag.app.application import Application, open_application
from crag.cancellation import Cancellation
from crag.concurrency.rate_limits import RateLimits
from crag.errors import BadRequest, CragError, NotFound, SourceRefused
from crag.evaluation.calibrator import CalibrationPlan
from crag.evaluation.types import EvaluationPlan, Variant
from crag.ingest.site import SiteLimits
from crag.library.job_queue import new_job
from crag.library.suggestions import suggest_questions
from crag.options import RunOptions
from crag.settings import Settings
from crag.storage.sources import ensure_collection
from crag.storage.tables import collections, jobs, metadata, rulings, sources
from crag.storage.user_scope import UserScoped
from crag.types import Account, CollectionSharing, Identity, Source, Thresholds
from tests.belongings import BEN as BROWSER
from tests.belongings import finish, wait_until_done
from tests.doubles.ollama import closed_address
from tests.storage.test_user_scope import SHARED_SERVICES, limited_services
from tests.waiting import wait_until

SECRET = "quetzal"
NOTES = f"""# The {SECRET}

The {SECRET} migration begins on the third of March each year. It ends in April.

| {SECRET} | count |
| --- | --- |
| north | 41 |
| south | 12 |

# Cages
The {SECRET} cage is cleaned every six weeks with citric acid.
# Eggs
The {SECRET} incubator is checked every Friday with a dry brush.
"""
QUESTION = "When does the migration begin?"
OFF = RunOptions(web="off", model="builtin", grader="builtin")


@dataclass(frozen=True)
class People:
    """A home in which Ann keeps a document to herself, in *ann/Birds*; `restore` brings everything back."""

    application: Application
    ann: Account
    ben: Account
    admin: Account
    source: Source
    passage_id: int
    restore: Callable[[], None]

    def of(self, account: Account | str) -> Application:
        return self.application.for_user(account if isinstance(account, str) else account.id)

    def ask(self, account: Account, options: RunOptions = OFF, question: str = QUESTION) -> str:
        """Everything that a run finds and says."""
        own = self.of(account)
        run = finish(own.runs.start(own.conversations.create().id, question, options))
        return found_by(own, run.id)


def found_by(own: Application, run_id: str) -> str:
    return repr([event for _, event in own.runs.attach(run_id).follow(seconds=0)])


def open_home(folder: Any) -> Application:
    settings = Settings(folder, "builtin", embedder="builtin", ollama_host=closed_address(), people="accounts")
    return open_application(replace(settings, admins=("Root@example.org",)))


@pytest.fixture(scope="module")
def shared_people(tmp_path_factory: pytest.TempPathFactory) -> Iterator[People]:
    folder = tmp_path_factory.mktemp("accounts") / "home"
    application = open_home(folder)
    names = ("ann", "ben", "root")
    ann, ben, admin = (application.accounts.log_in(Identity("idp", one, f"{one}@example.org")) for one in names)
    own = application.for_user(ann.id)
    own.library.pipeline.add_bytes(f"{SECRET}.md", NOTES.encode(), collection="Birds")
    removed = own.library.pipeline.add_bytes(f"{SECRET}-old.md", f"Old {SECRET} notes.".encode(), collection="Birds")
    own.library.discard([removed.id])
    (source,) = own.library.sources()
    own.jobs.submit_bytes(f"{SECRET}.bin", b"", "Birds")
    wait_until(lambda: not own.jobs.active)
    run = finish(
        own.runs.start(own.conversations.create().id, f"Where is the {SECRET}?", replace(OFF, collection="ann/Birds"))
    )
    passage_id = next(iter(own.runs.trace(run.id).verdicts))
    finish(own.runs.overrule(run.id, {passage_id: "use"}))
    library = application.for_user(ben.id).library
    library.pipeline.add_bytes("ben.md", b"Beans are ordered on Mondays. The grinder is cleaned on Fridays.")
    application.library.pipeline.add_bytes("public.md", b"The office opens at nine o'clock on weekdays.")
    with closing(sqlite3.connect(folder.with_name("saved"))) as saved:
        with closing(sqlite3.connect(folder / "crag.sqlite")) as live:
            live.backup(saved)

        def restore() -> None:
            with closing(sqlite3.connect(folder / "crag.sqlite")) as live:
                saved.backup(live)

        yield People(application, ann, ben, admin, source, passage_id, restore)
        application.close()


@pytest.fixture
def people(shared_people: People) -> Iterator[People]:
    yield shared_people
    wait_until_done(shared_people.application)
    shared_people.restore()


def rows_of_ann(people: People) -> dict[str, set[Any]]:
    """What holds anything of hers, by table."""
    with people.application.database.read() as connection:
        every = {name: connection.execute(select(table)).all() for name, table in metadata.tables.items()}
    told = (SECRET, people.ann.id, "ann/", people.source.id)
    return {
        name: {tuple(row) for row in rows if any(word in repr(row) for word in told)} for name, rows in every.items()
    }


RUNS_THE_PROCESS = {
    *("Application.close", "Application.warm_up", "Application.diagnose", "Application.checks", "Library.close"),
    *("Library.warm", "Library.save", "Library.fill_page_starts", "Library.fill_vectors", "Library.purge_removed"),
    *("CalibrationJob.close", "CalibrationJob.begin", "Evaluations.close", "Evaluations.close_orphans"),
    *("HybridSearch.close", "HybridSearch.save", "HybridSearch.warm", "HybridSearch.weigh", "HybridSearch.open_index"),
    *("IngestJobs.close", "IngestJobs.resume", "IngestJobs.notify_on_end", "QuestionQueue.begin"),
    *("QuestionQueue.close", "QuestionQueue.wake", "RechunkedLibraries.close", "RechunkedLibraries.remove_stale"),
    *("RegressionMonitor.run_if_due", "RunService.close", "RunService.delete_orphaned_data"),
    *("Application.load_model", "Application.models", "OutboundLog.record", "Conversations.rename_collection"),
    "CalibrationRows.rename_collection",
    "CalibrationRows.delete_collection",
}
"""What no page calls for a user, or what asks model servers."""


def values(people: People) -> dict[str, Any]:
    """Arguments that name what is Ann's, by parameter."""
    named = replace(OFF, collection="ann/Birds")
    return {
        "answer": "It begins in March.",
        "calibration": SimpleNamespace(collection="ann/Birds", grader="builtin", scored=[], proposal=None),
        "cited_ids": [people.passage_id],
        "collection": "ann/Birds",
        "data": b"Some text.",
        "destination": people.application.database.home.with_name("export"),
        "format_": "jsonl",
        "grader": "builtin",
        "id": people.source.id,
        "ids": [people.source.id],
        "incoming": None,
        "job_id": job_of(people),
        "job_ids": [job_of(people)],
        "k": 4,
        "limits": SiteLimits(),
        "locations": [people.source.location],
        "name": "ann/Birds",
        "new_name": "Fish",
        "options": named,
        "part": 1,
        "passage_id": people.passage_id,
        "path": people.application.database.home.with_name("missing"),
        "plan": CalibrationPlan(count=2),
        "query": QUESTION,
        "question": "When does the quetzel migration begin?",
        "sharing": CollectionSharing(public=True),
        "source": people.source,
        "source_id": people.source.id,
        "source_ids": (people.source.id,),
        "spec": str(people.application.database.home.with_name("missing")),
        "terms": ["march"],
        "thresholds": Thresholds(0.2, 0.8),
        "url": "http://127.0.0.1:9/page",
    }


def job_of(people: People) -> str:
    with people.application.database.read() as connection:
        return connection.scalar(select(jobs.c.id).where(jobs.c.person == people.ann.id))


DOCUMENT_SERVICES = SHARED_SERVICES | {"Application", "Calibrator", "Library", "PassageExchange"}


def methods(service: UserScoped) -> Iterator[str]:
    kind = type(service)
    for name, _ in inspect.getmembers(kind, lambda one: inspect.isfunction(one) or isinstance(one, property)):
        is_inherited = name.startswith("_") or hasattr(UserScoped, name)
        if not is_inherited and f"{kind.__name__}.{name}" not in RUNS_THE_PROCESS:
            yield name


def call(service: UserScoped, name: str, given: dict[str, Any]) -> str | None:
    """What a call returns or raises, with every argument that is known; None if it needs another one."""
    member = getattr(type(service), name)
    try:
        if isinstance(member, property):
            return repr(getattr(service, name))
        wanted = [one for one in inspect.signature(member).parameters.values() if one.name != "self"]
        if any(
            one.default is one.empty and one.name not in given and one.kind is not one.VAR_KEYWORD for one in wanted
        ):
            return None
        arguments = {one.name: given[one.name] for one in wanted if one.name in given}
        result = getattr(service, name)(**arguments)
        return repr(list(result) if isinstance(result, Iterator) else result)
    except (CragError, AttributeError) as error:
        return f"{type(error).__name__}: {error}"


def test_no_service_shows_or_changes_the_documents_of_somebody_else(people):
    given = values(people)
    hers = rows_of_ann(people)
    wrong, showing = {}, set()
    for service in limited_services(people.of(people.ben)):
        kind = type(service).__name__
        if kind not in DOCUMENT_SERVICES:
            continue
        for name in methods(service):
            shown = call(service, name, given)
            wait_until_done(people.application)
            if shown is not None and SECRET in shown:
                wrong[f"{kind}.{name}"] = shown[:200]
            after = rows_of_ann(people)
            lost = [table for table, rows in hers.items() if rows - after[table]]
            if lost:
                wrong[f"{kind}.{name} changes"] = str(lost)
                people.restore()
    assert wrong == {}
    for service in limited_services(people.of(people.ann)):
        kind = type(service).__name__
        if kind in DOCUMENT_SERVICES:
            for name in methods(service):
                if SECRET in (call(service, name, given) or ""):
                    showing.add(f"{kind}.{name}")
                wait_until_done(people.application)
                people.restore()
    assert showing >= {
        *("HybridSearch.read_all", "HybridSearch.retrieve", "HybridSearch.search", "HybridSearch.titles"),
        *("IngestJobs.jobs", "Library.explain", "Library.find_corrections", "Library.passage", "Library.read_part"),
        *("Library.remove", "Library.removed", "Library.search", "Library.source", "Library.sources"),
        *("Library.sources_at", "Library.suggest_follow_ups", "Library.suggest_questions", "Library.move"),
        *("PassageExchange.export_bytes", "CalibrationRows.labels", "Calibrator.run"),
    }, "what she does not see herself proves nothing"


SCOPES = {
    "everything": OFF,
    "her collection": replace(OFF, collection="ann/Birds"),
    "other passages": replace(OFF, passage_size=128),
    "a list": replace(OFF, route="list"),
    "a summary": replace(OFF, route="document"),
    "a table": replace(OFF, route="table"),
}


@pytest.mark.parametrize("options", SCOPES.values(), ids=SCOPES)
def test_a_question_is_answered_from_what_its_user_may_read(people, options):
    assert SECRET in people.ask(people.ann, options)
    for other in (people.ben, people.admin):
        assert SECRET not in people.ask(other, options)


def test_an_evaluation_finds_what_its_user_may_read(people):
    for account, expected in ((people.ann, True), (people.ben, False)):
        own = people.of(account)
        dataset = own.datasets.add("Mine", f'{{"question": "{QUESTION}"}}'.encode())
        evaluation = own.evaluations.begin(EvaluationPlan(dataset, (Variant("as it is", OFF),), owner_id=account.id))
        wait_until_done(own)
        (result,) = own.evaluations.results(evaluation.id)
        assert (SECRET in found_by(own, result.run_id)) is expected


def test_the_question_of_the_owner_of_the_home_searches_everything(people):
    run = finish(people.application.runs.start(None, QUESTION, OFF))
    assert SECRET in found_by(people.application, run.id)


def test_what_the_owner_of_the_home_measures_is_shown_to_browsers_and_to_no_account(people):
    whole = people.application
    dataset = whole.datasets.add("Of the home", f'{{"question": "{QUESTION}"}}'.encode())
    evaluation = whole.evaluations.begin(EvaluationPlan(dataset, (Variant("as it is", OFF),)))
    wait_until_done(whole)
    (result,) = whole.evaluations.results(evaluation.id)
    assert SECRET in found_by(whole, result.run_id)
    for user, seen in ((people.ben.id, False), (people.admin.id, False), (BROWSER, True)):
        own = people.of(user)
        assert (evaluation.id in {one.id for one in own.evaluations.list()}) is seen
        assert (dataset.id in {one.id for one in own.datasets.all()}) is seen
    with pytest.raises(NotFound):
        people.of(people.ben).evaluations.results(evaluation.id)
    with pytest.raises(NotFound):
        people.of(people.ben).runs.trace(result.run_id)


def test_a_collection_is_for_its_owner_alone_until_it_is_shared(people):
    ann, ben = people.of(people.ann).library, people.of(people.ben).library
    assert [one.name for one in ann.collections()] == ["ann/Documents", "Documents", "ann/Birds"]
    assert [one.name for one in ben.collections()] == ["ben/Documents", "Documents"]
    assert ben.default_collection == "ben/Documents"
    ann.share_collection("ann/Birds", CollectionSharing(members={" Ben@Example.org ": False}))
    assert [one.name for one in ben.collections()] == ["ben/Documents", "Documents", "ann/Birds"]
    assert ben.access("ann/Birds") == "read"
    with pytest.raises(BadRequest):  # it names others
        ben.sharing("ann/Birds")
    assert SECRET in people.ask(people.ben)
    assert SECRET not in people.ask(people.admin)
    ann.share_collection("ann/Birds", CollectionSharing())
    assert SECRET not in people.ask(people.ben)
    with pytest.raises(NotFound):
        ben.access("ann/Birds")
    ann.delete_collection("ann/Birds")
    assert people.source.id in {one.id for one in ann.removed()}
    assert people.of(people.admin).library.removed() == []


def test_a_public_collection_is_read_by_everyone_and_changed_by_its_owner(people):
    people.of(people.ann).library.share_collection("ann/Birds", CollectionSharing(public=True))
    for other in (people.ben, people.admin):
        library = people.of(other).library
        assert SECRET in people.ask(other)
        assert library.access("ann/Birds") == "read"
        for change in (
            lambda library=library: library.rename_collection("ann/Birds", "Fish"),
            lambda library=library: library.delete_collection("ann/Birds"),
            lambda library=library: library.discard([people.source.id]),
            lambda library=library: library.remove([people.source.id]),
            lambda library=library: library.move([people.source.id], "Fish"),
            lambda library=library: library.share_collection("ann/Birds", CollectionSharing()),
            lambda library=library: library.pipeline.add_bytes("a.md", b"Text.", collection="ann/Birds"),
        ):
            with pytest.raises(BadRequest):
                change()


def test_who_may_add_may_add_and_nothing_else(people):
    ann, ben = people.of(people.ann), people.of(people.ben)
    ann.library.share_collection("ann/Birds", CollectionSharing(members={"ben@example.org": True}))
    assert ben.library.access("ann/Birds") == "add"
    ben.jobs.submit_bytes("owl.md", b"The owl hunts at night.", "ann/Birds")
    wait_until(lambda: not ben.jobs.active)
    assert {one.title for one in ann.library.sources("ann/Birds")} == {"owl.md", people.source.title}
    with pytest.raises(BadRequest):
        ben.library.discard([people.source.id])


def test_an_upload_waits_for_nobody_elses_eyes_and_fails_once_the_share_ends(people):
    ann, ben = people.of(people.ann), people.of(people.ben)
    ann.library.share_collection("ann/Birds", CollectionSharing(members={"ben@example.org": True}))
    with people.application.database.write() as connection:
        waiting = {"id": "f00d", "kind": "files", "spec": "/nowhere", "name": "x", "collection": "ann/Birds"}
        connection.execute(insert(jobs), waiting | {"state": "cancelled", "submitted_at": 0.0, "person": people.ben.id})
    assert "f00d" in {job.id for job in ben.jobs.jobs()}
    assert "f00d" not in {job.id for job in ann.jobs.jobs()}
    ann.library.share_collection("ann/Birds", CollectionSharing())
    result = ben.library.pipeline.add_bytes("late.md", b"Late.", collection="ben/Birds")
    assert result.error is None
    with people.application.database.write() as connection, pytest.raises(SourceRefused):
        ensure_collection(connection, "ann/Birds", people.ben.id)


def test_two_people_may_choose_the_same_name(people):
    ann, ben = people.of(people.ann), people.of(people.ben)
    assert (ann.library.create_collection("Papers"), ben.library.create_collection("Papers")) == (
        "ann/Papers",
        "ben/Papers",
    )
    assert ben.library.find_target("Birds") == "ben/Birds"  # nothing tells that Ann has one
    for name in ("ann/Birds", "nobody/Birds"):
        with pytest.raises(BadRequest, match="cannot contain"):
            ben.library.find_target(name)
    assert ann.rename_collection("ann/Papers", "Theses") == "ann/Theses"
    assert ann.rename_collection("ann/Theses", "ann/Papers") == "ann/Papers"


def test_only_administrators_change_what_belongs_to_everyone(people):
    ben, admin = people.of(people.ben).library, people.of(people.admin).library
    (public,) = ben.sources("Documents")
    assert (ben.access("Documents"), admin.access("Documents")) == ("read", "change")
    with pytest.raises(BadRequest):
        ben.discard([public.id])
    admin.discard([public.id])
    assert ben.removed() == []
    with pytest.raises(NotFound):
        ben.restore([public.id])
    admin.restore([public.id])
    with pytest.raises(BadRequest, match="belongs to everyone"):
        admin.share_collection("Documents", CollectionSharing())


def test_roles_follow_the_settings_when_the_server_starts(people):
    assert [one.role for one in (people.ann, people.admin)] == ["member", "admin"]
    with people.application.database.write() as connection:
        connection.execute(update(metadata.tables["users"]).values(role="admin"))
    people.application.accounts.apply_roles()
    assert [people.application.accounts.get(one.id).role for one in (people.ann, people.admin)] == ["member", "admin"]


def test_an_account_is_known_by_its_subject_and_shared_with_by_its_email(people):
    accounts = people.application.accounts
    people.of(people.ann).library.share_collection("ann/Birds", CollectionSharing(members={"eve@example.org": False}))
    eve = accounts.log_in(Identity("idp", "eve", "Eve@example.org", "Eve"))
    assert (eve.handle, eve.email) == ("eve", "eve@example.org")
    assert SECRET in people.ask(eve)
    moved = accounts.log_in(Identity("idp", "eve", "eve@elsewhere.org", "Eve"))
    assert moved.id == eve.id
    assert SECRET not in people.ask(eve)
    assert accounts.find("EVE@elsewhere.org").id == eve.id
    with pytest.raises(NotFound):
        accounts.find("eve@example.org")
    assert accounts.log_in(Identity("idp", "other root", "ROOT@EXAMPLE.ORG")).is_admin
    kelvin = accounts.log_in(Identity("idp", "marcus", "mar\u212a@example.org"))
    assert kelvin.email != accounts.log_in(Identity("idp", "mark", "mark@example.org")).email
    other = accounts.log_in(Identity("idp", "ann again", "ann@elsewhere.org"))
    assert other.handle == "ann-2"


def test_a_browser_without_an_account_sees_what_belongs_to_everyone(people):
    library = people.of(BROWSER).library
    assert [one.name for one in library.collections()] == ["Documents"]
    assert library.access("Documents") == "change"
    assert library.removed() == [] == people.of(BROWSER).jobs.jobs()


def test_a_handle_never_takes_over_a_collection_that_is_named_like_it(people):
    people.application.library.create_collection("zoe/Papers")
    assert people.application.accounts.log_in(Identity("idp", "zoe", "zoe@example.org")).handle == "zoe-2"


def test_what_one_account_overrules_calibrates_nothing_of_another(people):
    with people.application.database.read() as connection:
        assert set(connection.scalars(select(rulings.c.person))) == {people.ann.id}
        assert connection.scalar(select(collections.c.person).where(collections.c.name == "ann/Birds")) == people.ann.id
        assert connection.scalar(select(sources.c.id).where(sources.c.collection == "ann/Birds")) == people.source.id
    assert people.of(people.ben).calibration.saved.labels("") == {}
    with pytest.raises(BadRequest):
        people.of(people.ben).calibration.saved.forget("", "builtin")
    assert people.of(people.admin).calibration.saved.forget("", "builtin") is False


def test_only_administrators_change_settings_and_download_everything(people):
    ben, admin = people.of(people.ben), people.of(people.admin)
    for change in (
        lambda: ben.preferences.save("k", 7),
        lambda: ben.preferences.reset("k"),
        lambda: ben.preferences.save_preset("Mine", OFF),
        lambda: ben.preferences.delete_preset("Mine"),
        lambda: ben.preferences.allow_model("openai:gpt"),
        lambda: ben.preferences.forbid_model("openai:gpt"),
        lambda: ben.preferences.allow_traces(True),
        lambda: ben.preferences.choose_web_search("auto"),
        lambda: ben.preferences.save_mcp_search("https://mcp.example/mcp"),
        ben.exchange.backup_bytes,
    ):
        with pytest.raises(BadRequest, match="Only administrators"):
            change()
    admin.preferences.save("k", 7)
    assert ben.preferences.options().k == 7
    people.of(BROWSER).preferences.reset("k")


def test_who_asks_too_much_waits_and_nobody_else_does(people, monkeypatch):
    limits = RateLimits({"questions": 2, "additions": 1, "web searches": 1})
    monkeypatch.setattr(people.application.runs, "check_limit", partial(limits.take, "questions"))
    monkeypatch.setattr(people.application.jobs, "check_limit", partial(limits.take, "additions"))
    ben = people.application.for_user(people.ben.id)
    conversation = ben.conversations.create().id
    for _ in range(2):
        answered = finish(ben.queue.submit(conversation, QUESTION))
    with pytest.raises(BadRequest, match="2 questions an hour"):
        ben.runs.regenerate(answered.id, OFF)
    with pytest.raises(BadRequest, match="2 questions an hour"):
        ben.queue.submit(conversation, QUESTION)
    asked = ben.conversations.messages(conversation)[0].id
    with pytest.raises(BadRequest, match="2 questions an hour"):
        ben.runs.edit(asked, QUESTION, OFF)
    ben.jobs.submit_bytes("one.md", b"One.")
    with pytest.raises(BadRequest, match="1 added documents an hour"):
        ben.jobs.submit_bytes("two.md", b"Two.")
    ann = people.application.for_user(people.ann.id)
    assert finish(ann.queue.submit(ann.conversations.create().id, QUESTION))


def test_words_are_corrected_by_documents_of_the_user_alone(people):
    misspelled = "When does the quetzel migration begin?"
    assert SECRET in people.ask(people.ann, OFF, misspelled)
    assert SECRET not in people.ask(people.ben, OFF, misspelled)


def test_a_calibration_reads_and_is_shown_to_who_began_it(people):
    ann, ben = people.of(people.ann).calibration, people.of(people.ben).calibration
    plan = CalibrationPlan(count=8)
    assert SECRET in repr(ann.run(OFF, plan))
    assert SECRET not in repr(ben.run(OFF, plan))
    with pytest.raises(BadRequest, match="no documents"):
        ben.run(replace(OFF, collection="ann/Birds"), plan)
    begun = threading.Event()

    def measure(_report: object, stop: Cancellation) -> Any:
        begun.set()
        stop.wait(0.2)
        stop.check()
        return SECRET

    assert ann.job.begin(measure)
    begun.wait()
    ben.job.cancel()
    wait_until(lambda: ann.job.result)
    assert (ben.job.result, ben.job.fault, ann.job.result) == (None, "", SECRET)


def test_a_job_adds_only_what_who_submitted_it_may_add(people):
    ben, before = people.of(people.ben), people.of(people.ann).library.sources()
    ben.jobs._spool.put("ab12", b"Slipped in.")
    ben.jobs._rows.add(new_job("ab12", "upload", "", "slipped.md", "ann/Birds"))
    ben.jobs._workers.wake()
    wait_until(lambda: not ben.jobs.active)
    assert next(job for job in ben.jobs.jobs() if job.id == "ab12").state == "failed"
    assert people.of(people.ann).library.sources() == before


def test_what_is_counted_and_suggested_is_what_the_user_may_read(people):
    for account in (people.ann, people.ben):
        own = people.of(account)
        documents = own.library.sources()
        assert own.library.counts()[:2] == (len(documents), sum(one.passages for one in documents))
        assert people.application.environments.look_up(OFF, account.id).documents == len(documents)
    assert SECRET in repr(people.of(people.ann).library.suggest_questions())
    assert SECRET not in repr(people.of(people.ben).library.suggest_questions())
    for account, is_shown in ((people.ann, True), (people.ben, False)):  # also where the search finds everything
        offered = suggest_questions(people.application.database, lambda _: [*range(1000)], 9, account.id)
        assert (SECRET in repr(offered)) == is_shown


def test_questions_are_suggested_about_the_newest_documents_of_the_user(people, monkeypatch):
    monkeypatch.setattr("crag.library.suggestions._NEWEST_SOURCES", 1)
    for account, animal in ((people.ben, "parrot"), (people.ann, SECRET)):
        text = f"# Cages\n\nThe {animal} cage is cleaned every six weeks with citric acid.\n"
        people.of(account).library.pipeline.add_bytes(f"{animal} cages.md", text.encode())
    assert "parrot" in repr(people.of(people.ben).library.suggest_questions())


def test_only_administrators_watch_folders_of_the_machine(people, tmp_path):
    with pytest.raises(BadRequest):
        people.of(people.ben).watched_folders.add(str(tmp_path))
    admin = people.of(people.admin).watched_folders
    assert (admin.is_offered, people.of(people.ben).watched_folders.is_offered) == (True, False)
    folder_id = admin.add(str(tmp_path))
    assert [one.id for one in admin.list()] == [folder_id]
    assert people.of(people.ben).watched_folders.list() == []
    with pytest.raises(NotFound):
        people.of(people.ben).watched_folders.remove(folder_id)
    admin.remove(folder_id)
