"""Archives: each member is added on its own, and none can do harm."""

from __future__ import annotations

import io
import os
import stat
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from crag.cancellation import Cancellation
from crag.errors import ModelFault, SourceRefused, Stopped
from crag.ingest.intake import ArchiveMember, is_archive, member_location, read_members, split_member_location
from crag.ingest.parse.document import ParseLimits
from crag.ingest.reader import RawDocument, ReadDocument
from crag.library.library import Library
from crag.types import AddResult
from tests.waiting import PATIENCE

Named = dict[str | zipfile.ZipInfo, str | bytes]


def packed(content: Named) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in content.items():
            archive.writestr(name, data)
    return out.getvalue()


def unpacked(data: bytes | Path, only: str | None = None, **limits: float) -> list[ArchiveMember]:
    return list(read_members(data, ParseLimits(**limits), Cancellation(), only))


def refusal(data: bytes, **limits: float) -> SourceRefused:
    with pytest.raises(SourceRefused) as caught:
        unpacked(data, **limits)
    return caught.value


def codes(found: list[ArchiveMember]) -> dict[str, str]:
    return {member.name: member.refused.code if member.refused else "" for member in found}


def link(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return info


def test_every_member_comes_by_name_with_its_content_or_the_reason_why_not():
    content: Named = {"b/notes.md": "# Notes", "a.txt": "Hello", "a/": "", "photo.raw": "x", ".secret.txt": "x"}
    found = unpacked(packed(content | {"__MACOSX/a.txt": "x", "b/.DS_Store": "x", "b/.git/c.txt": "x"}))
    assert [(member.name, member.data, member.refused and member.refused.message) for member in found] == [
        (".secret.txt", b"", "This is a hidden file."),
        ("a.txt", b"Hello", None),
        ("b/.git/c.txt", b"", "This is a hidden file."),
        ("b/notes.md", b"# Notes", None),
        ("photo.raw", b"", "This kind of file is not supported."),
    ]


def test_one_member_alone_can_be_had_again(tmp_path):
    path = tmp_path / "a.zip"
    path.write_bytes(packed({"one.txt": "1", "two.txt": "2"}))
    assert [member.data for member in unpacked(path, only="two.txt")] == [b"2"]
    assert split_member_location(member_location(path, "b/two.txt")) == (str(path), "b/two.txt")
    assert split_member_location("https://a.org/b.zip?v=2!/c!/d.txt") == ("https://a.org/b.zip?v=2", "c!/d.txt")
    assert split_member_location("/folder/a.txt") is None
    assert split_member_location(".zip?" * 200_000) is None  # a pattern may hang on it


def test_an_office_file_is_no_archive_whatever_it_is_called():
    assert is_archive("a.ZIP", packed({"a.txt": "x"}))
    assert not is_archive("a.zip", packed({"[Content_Types].xml": "x"}))
    assert not is_archive("a.zip", packed({"mimetype": "application/epub+zip"}))
    assert not is_archive("a.zip", b"just text")
    assert not is_archive("a.docx", packed({"a.txt": "x"}))


def test_names_are_text_in_whatever_encoding_they_were_packed():
    korean = "한국어 문서 이름.txt"
    data = packed({"x" * len(korean.encode("cp949")): "text", "b.txt": "b"})
    data = data.replace(b"x" * len(korean.encode("cp949")), korean.encode("cp949"))
    assert unpacked(data)[1].name == korean


def test_members_and_links_that_point_outside_are_refused(tmp_path, monkeypatch):
    (tmp_path / "in").mkdir()
    monkeypatch.chdir(tmp_path / "in")
    names = ["../../x.txt", f"{tmp_path}/y.txt", "C:\\z.txt", "a\\..\\..\\w.txt"]
    found = codes(unpacked(packed(dict.fromkeys(names, "x") | {link("passwd.txt"): "/etc/passwd", "ok.txt": "x"})))
    assert [name for name, code in found.items() if not code] == ["ok.txt"]
    assert len(found) == 6
    assert [path.name for path in tmp_path.rglob("*")] == ["in"]


def test_an_archive_within_an_archive_is_not_unpacked():
    inner = packed({"a.txt": bytes(10 << 20)})
    assert codes(unpacked(packed({"inner.zip": inner, "b.txt": "b"}))) == {"inner.zip": "unsupported", "b.txt": ""}


def test_a_zip_bomb_stops_at_the_budget_and_a_large_member_alone():
    data = packed({f"{n}.txt": bytes(4 << 20) for n in range(10)} | {"z.txt": "fine"})
    assert len(data) < 60_000
    assert refusal(data, inflated=20 << 20).code == "too_large"
    found = codes(unpacked(data, size=1 << 20))
    assert (found.pop("z.txt"), set(found.values())) == ("", {"too_large"})


@pytest.mark.parametrize("said", [100, 0, (1 << 32) - 2], ids=["less", "none", "more"])
def test_sizes_that_lie_are_not_believed(said):
    honest = packed({"a.txt": bytes(8 << 20)})
    lying = honest.replace((8 << 20).to_bytes(4, "little"), said.to_bytes(4, "little"))
    assert lying != honest
    assert set(codes(unpacked(lying, size=4 << 20)).values()) <= {"corrupt", "too_large"}
    assert set(codes(unpacked(lying, size=9 << 20)).values()) == {"corrupt"} if said < 8 << 20 else True


def test_a_password_is_asked_for_in_words():
    data = bytearray(packed({"a.txt": "secret"}))
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(mark) + offset] |= 1
    assert refusal(bytes(data)).code == "encrypted"


@pytest.mark.parametrize(
    ("damage", "code"),
    [
        (lambda data: b"", "empty"),
        (lambda data: data[:-30], "corrupt"),
        (lambda data: packed({"folder/": ""}), "empty"),
        (lambda data: packed({f"{n}.txt": "" for n in range(10_001)}), "too_large"),
    ],
    ids=["nothing", "truncated", "only folders", "too many"],
)
def test_what_cannot_be_unpacked_is_refused_by_its_code(damage, code):
    assert refusal(damage(packed({"a.txt": "Hello"}))).code == code


def test_one_damaged_member_does_not_keep_the_others():
    data = packed({"a.txt": "A" * 1000, "b.txt": "fine"})
    at = data.index(b"a.txt") + 6
    assert codes(unpacked(data[:at] + b"\xff\xff" + data[at + 2 :])) == {"a.txt": "corrupt", "b.txt": ""}


def test_a_killed_child_ends_the_archive_after_what_it_had_sent():
    content = {f"{n:02}.txt": f"Note {n}. {'abc ' * 10_000}" for n in range(30)}
    running = {*psutil.Process().children(recursive=True)}
    unpacking = read_members(packed(content), ParseLimits(), Cancellation())
    members = [next(unpacking)]
    for process in {*psutil.Process().children(recursive=True)} - running:
        if process.ppid() != os.getpid():  # the child, not the server that forks it
            process.kill()
    with pytest.raises(SourceRefused):
        members += unpacking
    assert [member.data.decode() for member in members] == list(content.values())[: len(members)]


def test_unpacking_stops_when_asked_and_leaves_no_process():
    stop = Cancellation()
    unpacking = read_members(packed({f"{n}.txt": bytes(1 << 20) for n in range(50)}), ParseLimits(), stop)
    next(unpacking)
    stop.cancel()
    with pytest.raises(Stopped):
        list(unpacking)


def test_an_archive_is_added_like_a_folder_and_can_be_refreshed(library, tmp_path):
    path = tmp_path / "papers.zip"
    path.write_bytes(packed({"cats/a.txt": "The cat sleeps.", "b.txt": "The dog barks.", "c.txt": ""}))
    results = {result.source: result for result in library.pipeline.add(str(tmp_path))}
    assert list(results) == [f"{path}!/b.txt", f"{path}!/c.txt", f"{path}!/cats/a.txt"]
    assert [result.status for result in results.values()] == ["added", "failed", "added"]
    assert library.search("cat")[0].location == f"{path}!/cats/a.txt"
    path.write_bytes(packed({"cats/a.txt": "The lion sleeps.", "b.txt": "The dog barks."}))
    again = {result.source: result.status for result in library.pipeline.refresh()}
    assert again == {f"{path}!/b.txt": "unchanged", f"{path}!/cats/a.txt": "replaced"}
    assert "lion" in library.search("sleeps")[0].text
    path.unlink()
    assert {result.error.code for result in library.pipeline.refresh() if result.error} == {"unreachable"}


def test_two_files_of_an_archive_are_read_at_once(library, reader):
    both = threading.Barrier(2, timeout=PATIENCE)
    usual = reader.__call__

    def read(document: RawDocument, *arguments: Any) -> ReadDocument:
        both.wait()
        return usual(document, *arguments)

    library.pipeline._read = read
    results = list(library.pipeline.add_upload("a.zip", packed({f"{n}.html": f"Cat {n} sleeps." for n in range(8)})))
    assert [(result.source, result.status) for result in results] == [(f"a.zip!/{n}.html", "added") for n in range(8)]


def add_packed(library: Library, folder: Path, content: Named) -> list[AddResult]:
    return list(library.pipeline.add_upload("a.zip", packed(content)))


def add_folder(library: Library, folder: Path, content: Named) -> list[AddResult]:
    write_files(folder, content)
    return list(library.pipeline.add(str(folder)))


def add_below(library: Library, folder: Path, content: Named) -> list[AddResult]:
    write_files(folder, content)
    return list(library.pipeline.add_below(folder, sorted(map(str, content))))


def write_files(folder: Path, content: Named) -> None:
    for name, text in content.items():
        (folder / str(name)).write_text(str(text))


@pytest.mark.parametrize("add", [add_packed, add_folder, add_below])
def test_each_of_many_short_texts_has_its_own_result(
    library: Library, tmp_path: Path, add: Callable[[Library, Path, Named], list[AddResult]]
):
    content: Named = {f"{n:02}.txt": f"Cat {n} sleeps." for n in range(40)}
    content |= {"05.txt": "", "07.txt": "REFUSE", "09.txt": "Cat 8 sleeps.", "11.html": "A lion."}
    folder = tmp_path / "cats"
    folder.mkdir()
    results = add(library, folder, content)
    assert [result.source.split("/")[-1] for result in results] == sorted(map(str, content))
    others = {Path(one.source).name: one.error.code if one.error else one.status for one in results}
    assert {name: found for name, found in others.items() if found != "added"} == {
        "05.txt": "empty",
        "07.txt": "corrupt",
        "09.txt": "unchanged",
    }
    assert len(library.sources()) == 38
    assert library.search("Cat 39")[0].text == "Cat 39 sleeps."


def test_short_texts_that_cannot_be_stored_together_are_stored_one_by_one(library, embedder):
    failures = iter([ModelFault("unreachable", "Ollama does not answer."), None, ModelFault("bad", "Too long.")])

    def fail_sometimes() -> None:
        if fault := next(failures, None):
            raise fault

    library.pipeline.add_bytes("first.txt", b"The embedder is open now.")
    embedder.before_batch = fail_sometimes
    results = list(library.pipeline.add_upload("a.zip", packed({f"{n}.txt": f"Cat {n} sleeps." for n in range(3)})))
    assert [result.error and result.error.message for result in results] == [None, "Too long.", None]
    assert len(library.sources()) == 3


def test_what_precedes_the_end_of_a_torn_archive_is_added(library):
    whole = packed({f"{n}.txt": f"Cat {n} sleeps." for n in range(8)})
    damaged = bytearray(whole)
    start = whole.index(b"5.txt") + len(b"5.txt")
    damaged[start : start + 4] = b"\xff" * 4
    results = list(library.pipeline.add_upload("a.zip", bytes(damaged)))
    assert [result.status for result in results][:5] == ["added"] * 5
    assert [result.source for result in results if result.error][:1] in (["a.zip"], ["a.zip!/5.txt"])
    assert len(library.sources()) == sum(result.status == "added" for result in results)


def test_an_uploaded_archive_gives_a_result_for_each_file(library):
    results = list(library.pipeline.add_upload("papers.zip", packed({"a.txt": "The cat sleeps.", "b/c.zip": "x"})))
    assert [(result.source, result.status) for result in results] == [
        ("papers.zip!/a.txt", "added"),
        ("papers.zip!/b/c.zip", "failed"),
    ]
    assert [result.status for result in library.pipeline.add_upload("a.txt", b"Another cat.")] == ["added"]
    assert [result.error.code for result in library.pipeline.add_upload("a.zip", packed({})) if result.error] == [
        "empty"
    ]


def test_a_file_that_left_the_archive_is_said_to_be_gone(library, tmp_path):
    path = tmp_path / "a.zip"
    path.write_bytes(packed({"a.txt": "A cat.", "b.txt": "A dog."}))
    list(library.pipeline.add(str(path)))
    path.write_bytes(packed({"b.txt": "A dog."}))
    gone = [result for result in library.pipeline.refresh() if result.error]
    assert [(result.source, result.error and result.error.code) for result in gone] == [
        (f"{path}!/a.txt", "unreachable")
    ]


def test_adding_an_archive_again_names_lost_files(library, tmp_path):
    path = tmp_path / "a.zip"
    path.write_bytes(packed({"a.txt": "A cat.", "b.txt": "A dog."}))
    list(library.pipeline.add(str(path)))
    path.write_bytes(packed({"b.txt": "A dog.", "c.txt": "A cow."}))
    results = {result.source: result for result in library.pipeline.add(str(path))}
    assert {source: result.status for source, result in results.items()} == {
        f"{path}!/b.txt": "unchanged",
        f"{path}!/c.txt": "added",
        f"{path}!/a.txt": "failed",
    }
    gone = results[f"{path}!/a.txt"]
    assert gone.error
    assert gone.error.code == "unreachable"
    assert library.source(gone.id or "").title == gone.title
