"""The commands for documents and collections, export, import, backup and restore."""

from contextlib import closing

import pytest

from crag.storage.accounts import Accounts
from crag.storage.engine import Database
from crag.types import Identity
from tests.cli.conftest import QUESTION


def test_add_list_search_remove(crag, notes):
    code, added = crag("add", notes, notes)
    first, second = added["sources"]
    assert (code, first["status"], second["status"], first["error"]) == (0, "added", "unchanged", None)
    _, listed = crag("list")
    assert [(one["id"], one["title"], one["collection"]) for one in listed["sources"]] == [
        (first["id"], first["title"], "Documents")
    ]
    _, found = crag("search", "side exit interpreter", "-k", "1")
    assert "side exit" in found["hits"][0]["text"]
    assert crag("remove", first["id"])[0] == 0
    assert crag("list")[1] == {"sources": []}
    assert crag("search", "side exit")[1] == {"hits": []}


def test_a_document_is_renamed(crag, notes):
    _, added = crag("add", notes)
    id_, title = added["sources"][0]["id"], added["sources"][0]["title"]
    code, renamed = crag("rename", id_, "Side exits")
    assert (code, renamed) == (0, {"renamed": {"id": id_, "from": title, "to": "Side exits"}})
    (listed,) = crag("list")[1]["sources"]
    assert (listed["title"], listed["own_title"], listed["location"]) == ("Side exits", title, notes)
    assert crag("rename", id_, "")[1]["renamed"]["to"] == title
    assert crag("rename", "unknown", "Side exits")[0] == 1


def test_collections_are_renamed_filled_and_deleted(crag, notes):
    _, added = crag("add", notes)
    id_ = added["sources"][0]["id"]
    assert crag("collections", "move", "Drinks", id_)[1]["moved"][0]["status"] == "moved"
    assert crag("collections", "rename", "Drinks", "Hot drinks")[1]["renamed"]["to"] == "Hot drinks"
    _, listed = crag("collections")
    assert [(one["name"], one["sources"]) for one in listed["collections"]] == [("Documents", 0), ("Hot drinks", 1)]
    assert crag("search", QUESTION, "--collection", "Hot drinks")[1]["hits"]
    code, refused = crag("collections", "delete", "Hot drinks")
    assert (code, refused["error"]["code"]) == (1, "bad_request")
    assert crag("collections", "delete", "Hot drinks", "--with-documents")[0] == 0
    assert crag("list")[1]["sources"] == []
    assert crag("collections", "move", "Drinks", "unknown")[0] == 1
    assert crag("collections", "rename", "Gone", "New")[1]["error"]["code"] == "not_found"


def test_removing_an_unknown_document_removes_nothing(crag, notes):
    _, added = crag("add", notes)
    assert crag("remove", added["sources"][0]["id"], "unknown")[0] == 1
    assert len(crag("list")[1]["sources"]) == 1


@pytest.mark.parametrize("command", [("list",), ("search", "loop"), ("ask", QUESTION)])
def test_an_unknown_collection_is_no_empty_one(crag, notes, command):
    crag("add", notes)
    code, document = crag(*command, "--collection", "Dokuments")
    assert (code, document["error"]["code"]) == (1, "bad_request")
    assert "Dokuments" in document["error"]["message"]


def test_a_collection_goes_out_and_comes_in_again(crag, notes, tmp_path):
    crag("add", notes)
    code, exported = crag("export", str(tmp_path / "out"), "--format", "langchain")
    assert (code, exported) == (0, {"exported": exported["exported"], "path": str(tmp_path / "out")})
    assert exported["exported"] > 0
    code, refused = crag("export", str(tmp_path / "out"), "--format", "langchain")
    assert (code, refused["error"]["code"]) == (1, "bad_request")
    code, imported = crag("import", str(tmp_path / "out"), "--collection", "Back")
    assert (code, [one["status"] for one in imported["sources"]]) == (0, ["added"])
    assert imported["sources"][0]["passages"] == exported["exported"]
    code, failed = crag("import", str(tmp_path / "nowhere"))
    assert (code, failed["sources"][0]["error"]["code"]) == (1, "unreachable")


def test_a_home_is_saved_and_put_back(crag, notes, tmp_path):
    file = str(tmp_path / "saved.backup")
    code, refused = crag("backup", file)
    assert (code, refused["error"]["code"]) == (1, "bad_request")
    assert not (tmp_path / "home").exists()  # asking for a backup makes no library
    crag("add", notes)
    code, saved = crag("backup", file)
    assert (code, saved["backup"], saved["sources"], saved["missing"]) == (0, file, 1, [])
    assert saved["bytes"] > 0
    code, refused = crag("restore", file)
    assert (code, refused["error"]["code"]) == (1, "bad_request")
    crag("remove", crag("list")[1]["sources"][0]["id"])
    code, restored = crag("restore", file, "--replace")
    assert (code, restored["restored"], restored["sources"]) == (0, str(tmp_path / "home"), 1)
    assert restored["moved_aside"].startswith(str(tmp_path / "home-before-"))
    assert "side exit" in crag("search", "side exit interpreter", "-k", "1")[1]["hits"][0]["text"]


def test_as_somebody_else_a_command_sees_and_does_no_more_than_they_may(crag, notes, tmp_path):
    with closing(Database(tmp_path / "home")) as database:
        for name in ("ann", "ben"):
            Accounts(database).log_in(Identity("idp", name, f"{name}@example.org"))
    ann, ben = (("--as", f"{name}@example.org") for name in ("ann", "ben"))
    assert crag("add", notes, "--collection", "Papers", *ann)[1]["sources"][0]["status"] == "added"
    assert [one["collection"] for one in crag("list", *ann)[1]["sources"]] == ["ann/Papers"]
    assert crag("list", *ben)[1]["sources"] == []
    assert crag("search", QUESTION, *ben)[1]["hits"] == []
    assert crag("search", QUESTION)[1]["hits"] == crag("search", QUESTION, *ann)[1]["hits"] != []
    assert "blacklisted" not in crag("ask", QUESTION, *ben)[1]["answer"]
    assert "blacklisted" in crag("ask", QUESTION, *ann)[1]["answer"]
    assert crag("add", notes, "--collection", "ann/Papers", *ben)[0] == 1
    assert (
        crag("settings", "set", "k", "7", *ben)[1]["error"]["message"]
        == "Only administrators may change this. Ask one of them."
    )
    assert crag("backup", str(tmp_path / "file"), *ann)[0] == 1
    assert crag("list", "--as", "eve@example.org")[1]["error"]["code"] == "not_found"
