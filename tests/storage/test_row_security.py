"""Policies of PostgreSQL hide and protect the rows of others, also where a service forgets its conditions."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from hashlib import sha256
from types import ModuleType
from typing import Any

import psycopg
import pytest
from sqlalchemy import Connection, Table, func, insert, select, text, true, update
from sqlalchemy.exc import DatabaseError, ProgrammingError

from crag.app.application import Application
from crag.app.checklist import check_row_security
from crag.errors import NotFound
from crag.storage.engine import Database, see_everything
from crag.storage.migrations import SCHEMA_VERSION
from crag.storage.row_security import changeable_rows, owned_tables, policy_statements, visible_rows
from crag.storage.tables import collections, conversations, jobs, messages, passages, rulings, runs, sources, users
from crag.types import CollectionSharing, Identity
from tests.applications import opened_with
from tests.belongings import OFF, PAGE, WORD, make_belongings, wait_until_done
from tests.doubles.postgres import home_url
from tests.doubles.tavily import TavilyServer

pytestmark = pytest.mark.postgres
SUPERUSER, OWNER = "", "owner"
SECRET = f"The {WORD} grinder is cleaned on Fridays, and the {WORD} scales on Mondays.\n".encode()
BROWSER = "c" * 64


class Home:
    """A home on PostgreSQL in which Ann owns one of everything, and Ben nothing but what every account has."""

    def __init__(self, application: Application) -> None:
        self.application, self.database = application, application.database
        self.ann, self.ben, self.eve = (
            application.accounts.log_in(Identity("idp", name, f"{name}@example.org")) for name in ("ann", "ben", "eve")
        )
        self.anns = application.for_user(self.ann.id)
        self.bens = application.for_user(self.ben.id)

    def count(self, connection: Connection, table: Table, *conditions: Any) -> int:
        return connection.scalar(select(func.count()).select_from(table).where(*conditions)) or 0


@pytest.fixture(scope="module", params=[SUPERUSER, OWNER], ids=["superuser", "owner"])
def home(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("home")
    server = request.getfixturevalue("postgres")
    with TavilyServer(results=[PAGE]) as tavily:
        given = {"tavily_api_key": "tvly-x", "tavily_url": tavily.url}
        with opened_with(folder, database_url=home_url(server, folder, request.param), **given) as application:
            yield fill(Home(application))


def fill(home: Home) -> Home:
    """Make one of everything for Ann, and share one of her collections with Eve."""
    make_belongings(home.application, home.ann.id)
    library = home.anns.library
    kept, gone = (next(iter(library.pipeline.add_upload(f"{n}.md", SECRET * n))) for n in (1, 2))
    assert (kept.status, gone.status) == ("added", "added")
    library.discard([gone.id])
    library.pipeline.add_bytes("shared.md", b"Tea is shared.\n", collection="Tea")
    library.share_collection("ann/Tea", CollectionSharing(members={"eve@example.org": True}))
    home.anns.jobs.submit_bytes("more.md", b"Nothing new.\n")
    wait_until_done(home.application)
    with home.database.write() as connection:
        called = {"number": 1, "node": "generate", "model": "m", "at": 0.0, "seconds": 0.0, "body": b""}
        run_id = connection.scalar(select(runs.c.id).limit(1))
        connection.execute(insert(metadata_table("model_calls")), {"run_id": run_id, **called})
        token = connection.scalar(select(metadata_table("api_tokens").c.id))
        reply = {"token_id": token, "key": "k", "request": "", "reply": "", "at": 0.0}
        connection.execute(insert(metadata_table("api_replies")), reply)
        watched = {"id": "w", "person": home.ann.id, "path": "/", "collection": "ann/Tea", "created_at": 0.0}
        connection.execute(insert(metadata_table("watched_folders")), watched)
        fitted = {"collection": "ann/Tea", "grader": "builtin", "lower": 0.2, "upper": 0.6, "made_at": 0.0}
        connection.execute(insert(metadata_table("calibrations")), fitted)
    return home


def metadata_table(name: str) -> Table:
    return next(table for table in owned_tables() if table.name == name)


def test_there_is_something_of_ann_in_every_table(home):
    with home.database.read() as connection:
        empty = [one.name for one in owned_tables() if not home.count(connection, one, visible_rows(one, home.ann.id))]
    assert empty == []


@pytest.mark.parametrize("who", ["ann", "ben", "eve", "browser"])
def test_statements_without_conditions_reach_what_the_conditions_match_and_nothing_else(home, who):
    user = BROWSER if who == "browser" else getattr(home, who).id
    reached, meant = {}, {}
    for table in owned_tables():
        with home.database.read() as connection:
            meant[table.name] = [
                home.count(connection, table, rule(table, user)) for rule in (visible_rows, changeable_rows)
            ]
        column = next(one for one in table.c if not one.primary_key)
        with home.database.for_user(user).write() as connection:
            changed = connection.execute(update(table).values({column: column})).rowcount
            reached[table.name] = [home.count(connection, table), changed]
    assert reached == meant


def test_another_account_deletes_nothing(home):
    """In all tables but those in which everyone has rows of their own."""
    for table in (one for one in owned_tables() if one not in (collections, users)):
        with home.database.for_user(home.ben.id).write() as connection:
            assert connection.execute(table.delete()).rowcount == 0, table.name


@pytest.mark.parametrize(
    "table", [conversations, collections, jobs, rulings, messages, runs, sources, passages], ids=str
)
def test_another_account_adds_nothing_to_what_belongs_to_ann(home, table):
    with home.database.read() as connection:
        row = connection.execute(select(table).where(visible_rows(table, home.ann.id)).limit(1)).one()._asdict()
    (key,) = table.primary_key
    row[key.name] = "new" if isinstance(row[key.name], str) else 10**9
    with (
        pytest.raises(ProgrammingError, match="row-level security"),
        home.database.for_user(home.ben.id).write() as own,
    ):
        own.execute(insert(table), {"ordinal": 0, **row, "id": row.get("id", "new")} if table is passages else row)


def test_the_terms_of_documents_are_hidden_from_another_role(home):
    with home.database.for_user(home.ben.id).read() as connection:
        is_other_role = connection.scalar(text("SELECT current_user <> session_user"))
        found = connection.scalar(
            text("SELECT count(*) FROM passage_terms WHERE strpos(terms, :word) > 0"), {"word": WORD}
        )
    assert (found == 0) == is_other_role


@pytest.fixture
def switched_off(monkeypatch):
    """No statement of any service has a condition on its owner."""
    modules = [module for name, module in [*sys.modules.items()] if name.startswith("crag.")]
    for module in modules:
        for rule in ("visible_rows", "changeable_collections", "extensible_collections", "visible_to"):
            if hasattr(module, rule):
                monkeypatch.setattr(module, rule, lambda *_: true())
        if hasattr(module, "check_visible"):
            monkeypatch.setattr(module, "check_visible", lambda *_: None)
    forget_statements(modules)
    yield
    forget_statements(modules)  # the ones without conditions


def forget_statements(modules: Sequence[ModuleType]) -> None:
    """Have the statements that are built once built again."""
    for module in modules:
        for cached in (one for one in vars(module).values() if hasattr(one, "cache_clear")):
            if cached.__module__ == module.__name__:
                cached.cache_clear()


def test_services_that_forget_their_conditions_show_nothing_of_others(home, switched_off):
    bens, anns = (home.application.for_user(user.id) for user in (home.ben, home.ann))
    shown = select(runs.c.conversation_id, runs.c.id).join(conversations).where(conversations.c.deleted_at.is_(None))
    with home.database.read() as connection:
        conversation_id, run_id = connection.execute(shown.limit(1)).one()
    assert anns.conversations.get(conversation_id).id == conversation_id
    assert anns.runs.trace(run_id).text
    for refused in (
        partial(bens.conversations.get, conversation_id),
        partial(bens.conversations.rename, conversation_id, "Mine"),
        partial(bens.conversations.give_feedback, run_id, True),
        partial(bens.runs.attach, run_id),
        partial(bens.runs.regenerate, run_id, OFF),
        partial(bens.sharing.html, conversation_id),
        partial(bens.library.sharing, "ann/Tea"),
    ):
        with pytest.raises(NotFound):
            refused()
    assert {one.collection for one in anns.library.sources()} >= {"ann/Documents", "ann/Tea"}
    assert {one.collection for one in bens.library.sources()} == {"Documents"}
    assert WORD not in repr([bens.library.search(f"{WORD} scales"), bens.conversations.list(), bens.notes.list()])
    assert bens.library.removed() == bens.jobs.jobs() == bens.outbound_log.entries() == bens.api_tokens.list() == []
    bens.conversations.delete(conversation_id)  # ignores what it does not find
    with home.database.read() as connection:
        found = select(conversations.c.deleted_at).where(conversations.c.id == conversation_id)
        assert connection.scalars(found).all() == [None]


def test_what_depends_on_all_users_is_seen_until_the_limit_is_back(home):
    with home.database.for_user(home.ben.id).read() as connection:
        seen = [home.count(connection, conversations)]
        with see_everything(connection):
            seen.append(home.count(connection, conversations))
        seen.append(home.count(connection, conversations))
    assert seen[0] == seen[2] == 0 < seen[1]


def test_a_limit_ends_with_its_transaction_even_if_that_fails(home):
    def fail() -> None:
        with home.database.for_user(home.ben.id).write() as connection, see_everything(connection):
            connection.execute(text("SELECT 1 / 0"))

    with pytest.raises(DatabaseError):
        fail()
    for _ in range(3):  # more connections than one may be in use
        with home.database.write() as connection:
            assert connection.scalar(text("SELECT current_setting('crag.account')")) == "*"
            assert connection.scalar(text("SELECT current_user = session_user"))


def test_a_connection_that_says_nothing_is_told_so_if_policies_apply_to_it(postgres, tmp_path):
    url = home_url(postgres, tmp_path, OWNER)
    with closing(Database(tmp_path, url)) as database, database.write() as connection:
        row = {"id": "a", "title": "t", "created_at": 0.0, "updated_at": 0.0, "options": "{}"}
        connection.execute(insert(conversations), row)
    with psycopg.connect(url) as connection, pytest.raises(psycopg.errors.UndefinedObject, match="crag\\.account"):
        connection.execute("SELECT * FROM conversations")


def test_a_home_of_an_earlier_version_gets_its_policies_when_it_is_opened(postgres, tmp_path):
    url = home_url(postgres, tmp_path, OWNER)
    with closing(Database(tmp_path, url)) as database, database.write() as connection:
        new = read_policies(connection)
        for table in owned_tables():
            connection.execute(text(f"ALTER TABLE {table.name} DISABLE ROW LEVEL SECURITY"))
        connection.execute(text("DROP POLICY user_reads ON conversations"))
        connection.execute(text("UPDATE schema_version SET version = version - 1"))
    with closing(Database(tmp_path, url)) as database, database.read() as connection:
        assert read_policies(connection) == new
    assert len(new) > len(owned_tables())


def read_policies(connection: Connection) -> list[Any]:
    """Every policy of the home, with whether it applies to the owner of its table, too."""
    found = "SELECT relname, relrowsecurity, relforcerowsecurity, p.* FROM pg_class c JOIN pg_policies p"
    here = "ON relname = tablename WHERE relnamespace = current_schema()::regnamespace"
    return connection.execute(text(f"{found} {here} AND p.schemaname = current_schema() ORDER BY 1, policyname")).all()


def test_a_role_that_ignores_policies_and_may_make_no_other_is_named(postgres, tmp_path, caplog):
    Database(tmp_path, home_url(postgres, tmp_path / "other")).close()  # a superuser makes it
    url = home_url(postgres, tmp_path, "bypassing BYPASSRLS")
    with closing(Database(tmp_path, url)) as database:
        assert [one.status for one in check_row_security(database)] == ["warn"]
        with database.read() as connection:
            role = connection.scalar(text("SELECT current_user"))
    assert "Row-level security has no effect" in caplog.text
    with psycopg.connect(postgres) as connection:
        connection.execute(f"GRANT crag_limited TO {role}")
    with closing(Database(tmp_path, url)) as database:
        assert [one.status for one in check_row_security(database)] == ["ok"]
        with database.for_user(BROWSER).read() as connection:
            assert connection.scalar(text("SELECT current_user")) == "crag_limited"


def test_policies_are_those_of_the_version_of_the_schema():
    """If this fails, append a step to `MIGRATIONS`, so that existing homes get the new policies, and note both here."""
    assert (SCHEMA_VERSION, sha256("\n".join(policy_statements()).encode()).hexdigest()[:12]) == (18, "87f41cd5aa5e")
