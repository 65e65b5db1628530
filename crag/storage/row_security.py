"""Which rows a user of a home may read and change: as conditions of statements, and as policies of PostgreSQL.

Conversations, datasets, evaluations and outbound records name their owner: an account, or the key of a browser.
Documents belong to their collection, and a collection to an account or to everyone. Everything else that belongs to a
user leads to one of these through foreign keys.

Services add the conditions to their statements. The policies are made from the same conditions and apply to each
transaction that sets `crag.account`, even if a statement lacks its condition. After a change of the conditions, append
a step to `MIGRATIONS`, which may be empty: policies are made again whenever the version of the schema changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    ForeignKey,
    Select,
    Table,
    Text,
    case,
    false,
    func,
    literal_column,
    or_,
    select,
    true,
)
from sqlalchemy.dialects import postgresql

from crag.storage.tables import (
    calibrations,
    collection_members,
    collections,
    conversations,
    jobs,
    metadata,
    removed_sources,
    rulings,
    sources,
    users,
    watched_folders,
)
from crag.types import ACCOUNT_PREFIX, DEFAULT_COLLECTION, is_account

_OF_DOCUMENTS = (jobs, removed_sources, rulings, watched_folders)  # of an account, or of all browsers together

UserTerm = str | BindParameter[str] | ColumnElement[str]  # an id of a user, or SQL that yields one


def visible_rows(table: Table, user: UserTerm | None) -> ColumnElement[bool]:
    """Match the rows that a user (None: anyone) may read, including those of deleted conversations.

    Where the owner is empty, collections belong to everyone, conversations to nobody yet, and other rows to all
    browsers but to no account. Except where `changeable_rows` says otherwise, the user may change them, too.
    """
    if user is None:
        return true()
    condition = _visible_by_itself(table, user)
    if condition is not None:
        return condition
    return or_(false(), *(_leads_to(key, visible_rows(key.column.table, user)) for key in _parent_keys(table)))


def _visible_by_itself(table: Table, user: UserTerm) -> ColumnElement[bool] | None:
    """Return the condition on the rows that name their owner; None for rows that lead to others."""
    if table is users:
        return users.c.id == user
    if table is collections:
        return or_(collections.c.person.in_((user, "")), collections.c.public == 1, _is_shared_with(user))
    if table is calibrations:
        named = select(collections.c.name).where(visible_rows(collections, user))
        return or_(calibrations.c.collection == "", calibrations.c.collection.in_(named))
    if table in _OF_DOCUMENTS:
        owner = document_owner(user) if isinstance(user, str) else case((~_is_browser(user), user), else_="")
        return table.c.person == owner
    if "person" in table.c:
        shared = false() if table is conversations else (table.c.person == "") & _is_browser(user)
        return or_(table.c.person == user, shared)
    return None


def _parent_keys(table: Table) -> list[ForeignKey]:
    keys = sorted(table.foreign_keys, key=lambda key: key.parent.name)
    return [key for key in keys if key.column.table is not table]


def _leads_to(key: ForeignKey, condition: ColumnElement[bool]) -> ColumnElement[bool]:
    parent = key.column.table
    found = select(key.column).where(key.column == key.parent, condition)
    return found.correlate_except(parent).exists()


def document_owner(user: str | None) -> str:
    """Return the owner of what a user adds or removes: an account, or empty, since browsers share all documents."""
    return user if user is not None and is_account(user) else ""


def changeable_collections(user: UserTerm | None) -> ColumnElement[bool]:
    """Match the collections that a user (None: anyone) may rename, share and delete, and remove documents from.

    Of accounts, only administrators may change what belongs to everyone.
    """
    if user is None:
        return true()
    admin = select(users.c.id).where(users.c.id == user, users.c.role == "admin").exists()
    return or_(collections.c.person == user, (collections.c.person == "") & or_(_is_browser(user), admin))


def extensible_collections(user: UserTerm | None) -> ColumnElement[bool]:
    """Match the collections that a user (None: anyone) may add documents to."""
    if user is None:
        return true()
    return or_(changeable_collections(user), _is_shared_with(user, collection_members.c.may_add == 1))


def changeable_rows(table: Table, user: UserTerm) -> ColumnElement[bool]:
    """Match the rows that a user may add, change and delete. Adding a document includes replacing its old version."""
    changeable = select(collections.c.name).where(changeable_collections(user))
    if table is users:
        return false()
    if table is collections:
        return changeable_collections(user)
    if table is sources:
        return sources.c.collection.in_(select(collections.c.name).where(extensible_collections(user)))
    if table is calibrations:
        return func.coalesce(func.nullif(calibrations.c.collection, ""), DEFAULT_COLLECTION).in_(changeable)
    condition = _visible_by_itself(table, user)
    if condition is not None:
        return condition
    return or_(false(), *(_leads_to(key, changeable_rows(key.column.table, user)) for key in _parent_keys(table)))


def _is_browser(user: UserTerm) -> ColumnElement[bool]:
    if isinstance(user, str):
        return false() if is_account(user) else true()
    return ~user.startswith(ACCOUNT_PREFIX)


def _is_shared_with(user: UserTerm, *conditions: ColumnElement[bool]) -> ColumnElement[bool]:
    shared = select(collection_members.c.collection).join(users, users.c.email == collection_members.c.email)
    return collections.c.name.in_(shared.where(users.c.id == user, *conditions))


ACCOUNT_SETTING = "crag.account"
EVERYONE = "*"  # value of the setting with which nothing is hidden
_ACCOUNT = select(func.current_setting(ACCOUNT_SETTING, type_=Text)).scalar_subquery()  # evaluated once per statement
_DIALECT = postgresql.dialect(paramstyle="named")  # type: ignore[no-untyped-call]


def owned_tables() -> list[Table]:
    """Return the tables whose rows belong to users."""
    return [table for table in metadata.sorted_tables if _is_owned(table)]


def _is_owned(table: Table) -> bool:
    if _visible_by_itself(table, "") is not None:
        return True
    return any(_is_owned(key.column.table) for key in _parent_keys(table))


def policy_statements() -> Iterator[str]:
    """Yield the statements that replace all policies.

    Policies apply to their owner, too, whose connections therefore set `crag.account` to `EVERYONE`; an error says so
    if it was never set. The full-text index is the exception, because a policy keeps its owner from using its GIN
    index: it hides rows only from another role.
    """
    account = literal_column("account", Text)
    yield _name_collections("visible_collections", visible_rows(collections, account))
    yield _name_collections("changeable_collections", changeable_collections(account))
    for table in owned_tables():
        yield from _replace_policies(table.name, *_policies_of(table))
        yield f"ALTER TABLE {table.name} FORCE ROW LEVEL SECURITY"
    of_passage = "EXISTS (SELECT 1 FROM passages WHERE passages.id = passage_terms.rowid)"
    yield from _replace_policies("passage_terms", of_passage, of_passage)


def _replace_policies(table: str, visible: str, changeable: str) -> Iterator[str]:
    everyone = f"current_setting('{ACCOUNT_SETTING}') = '{EVERYONE}'"
    commands = {  # the first by name is evaluated first
        "everyone": f"FOR ALL USING ((SELECT {everyone}))",
        "user_reads": f"FOR SELECT USING ({visible})",
        "user_adds": f"FOR INSERT WITH CHECK ({changeable})",
        "user_changes": f"FOR UPDATE USING ({changeable})",
        "user_deletes": f"FOR DELETE USING ({changeable})",
    }
    for name, rule in commands.items():
        yield f"DROP POLICY IF EXISTS {name} ON {table}"
        yield f"CREATE POLICY {name} ON {table} {rule}"
    yield f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY"


def _policies_of(table: Table) -> tuple[str, str]:
    """Return the conditions for reading and for changing. Where rows lead to others, the policies of these decide."""
    if table is collection_members:  # the policy of collections reads this table, and must not lead back to itself
        named = "collection IN (SELECT {}_collections(current_setting('crag.account')))"
        return named.format("visible"), named.format("changeable")
    visible = _visible_by_itself(table, _ACCOUNT)
    if visible is None:
        visible = or_(*(_leads_to(key, true()) for key in _parent_keys(table) if _is_owned(key.column.table)))
    return _render(table, visible), _render(table, changeable_rows(table, _ACCOUNT))


def _render(table: Table, condition: ColumnElement[bool]) -> str:
    """Return a condition as SQL, taken from a statement that reads the table, so that its subqueries refer to it."""
    statement: Select[Any] = select(literal_column("1")).select_from(table).where(condition)
    written = str(statement.compile(dialect=_DIALECT, compile_kwargs={"literal_binds": True}))
    return written.partition("WHERE ")[2]


def _name_collections(function: str, condition: ColumnElement[bool]) -> str:
    """Return the statement that creates a function with the names of the collections that meet a condition."""
    return f"""
CREATE OR REPLACE FUNCTION {function}(account text) RETURNS SETOF text
STABLE SECURITY DEFINER SET search_path FROM CURRENT LANGUAGE plpgsql AS $$ BEGIN
    PERFORM set_config('{ACCOUNT_SETTING}', '{EVERYONE}', true);
    RETURN QUERY SELECT name FROM collections WHERE {_render(collections, condition)};
    PERFORM set_config('{ACCOUNT_SETTING}', account, true);
END $$"""  # noqa: S608 — made of constants
