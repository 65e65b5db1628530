"""Watched folders with real files: what is found, what is applied, and what never counts as deleted."""

import os
import shutil
import zipfile

import pytest
from sqlalchemy import select, update

from crag.cancellation import Cancellation
from crag.errors import BadRequest, NotFound
from crag.library import watched_folders
from crag.library.jobs import IngestJobs
from crag.library.watched_folders import FolderWorker, WatchedFolders, reset_watched_folders
from crag.settings import Settings
from crag.storage.accounts import Accounts
from crag.storage.tables import watched_folders as table
from crag.types import Identity
from tests.doubles.library import HashEmbedder, open_library
from tests.waiting import wait_until

MIB = 1024 * 1024


class Home:
    """A home with a worker whose passes are made by the test, each with a look at every folder."""

    def __init__(self, path):
        self.embedder = HashEmbedder()
        self.library = open_library(path, embedder=self.embedder)
        self.database = self.library._database
        self.jobs = IngestJobs(self.database, self.library)
        self.folders = WatchedFolders(self.database, self.library, self.jobs, Settings(home=path))
        self.worker = FolderWorker(self.database, self.library, self.jobs, MIB)

    def look(self, times=2):
        for _ in range(times):
            for state in self.worker._states.values():
                state.due = 0.0
            self.worker.run(Cancellation())
        return self.folders.list()[0].preview

    def settle(self):
        """Look until nothing is left to apply."""

        def is_settled():
            self.look(1)
            wait_until(lambda: not self.jobs.active)
            self.look(2)
            return self.folders.list()[0].state in ("Up to date", "Changes found", "Not reachable", "Paused")

        wait_until(is_settled)
        return self.folders.list()[0]

    def documents(self):
        return {one.location: one.id for one in self.library.sources()}

    def close(self):
        self.worker.close()
        self.jobs.close()
        self.database.close()


@pytest.fixture
def home(tmp_path):
    opened = Home(tmp_path / "home")
    yield opened
    opened.close()


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "mount" / "papers"
    (folder / "old").mkdir(parents=True)
    (folder / "a.txt").write_text("The lift is serviced in March.")
    (folder / "old" / "b.txt").write_text("The boiler is serviced in June by Otis.")
    return folder


@pytest.fixture
def watched(home, folder):
    """A folder whose first preview was applied, and which is applied by itself from now on."""
    folder_id = home.folders.add(str(folder), automatic=True)
    home.look()
    home.folders.apply(folder_id)
    assert home.settle().state == "Up to date"
    assert len(home.documents()) == 2
    return folder_id


def test_nothing_is_added_before_the_preview_is_applied(home, folder):
    (folder / "old" / "empty.txt").touch()
    (folder / "huge.txt").write_bytes(b"x" * (MIB + 1))
    for name in ("~$a.docx", ".~lock.a.odt#", "a.pdf.part", "b.pdf.crdownload", ".hidden.txt", "photo.raw"):
        (folder / name).write_text("x")
    (folder / ".git").mkdir()
    folder_id = home.folders.add(str(folder), automatic=True)
    preview = home.look(3)
    assert preview.new == ["a.txt", "old/b.txt"]
    assert dict(preview.ignored) == {
        ".git": "Hidden",
        ".hidden.txt": "Hidden",
        ".~lock.a.odt#": "Temporary file",
        "a.pdf.part": "Temporary file",
        "b.pdf.crdownload": "Temporary file",
        "huge.txt": "Larger than 1 MB",
        "old/empty.txt": "Empty",
        "photo.raw": "This kind of file cannot be read",
        "~$a.docx": "Temporary file",
    }
    assert home.documents() == {}
    home.folders.apply(folder_id)
    assert home.settle().files == 2
    assert {*home.documents()} == {str(folder / "a.txt"), str(folder / "old" / "b.txt")}


@pytest.mark.parametrize(
    ("choice", "found"),
    [
        ({"include": ["*.TXT"]}, ["a.txt", "old/b.txt"]),
        ({"include": ["old/*"]}, ["old/b.txt"]),
        ({"exclude": ["b.*"]}, ["a.txt", "c.md"]),
        ({"exclude": ["old"]}, ["a.txt", "c.md"]),
        ({"subfolders": False}, ["a.txt", "c.md"]),
    ],
)
def test_patterns_and_subfolders_choose_the_files(home, folder, choice, found):
    (folder / "c.md").write_text("# Other")
    home.folders.add(str(folder), **choice)
    assert home.look().new == found


def test_each_folder_is_looked_at_by_its_own_rules(home, folder):
    for below, pattern in (("old", "*.txt"), ("new", "*.md")):
        (folder / below).mkdir(exist_ok=True)
        for name in ("b.txt", "c.md"):
            (folder / below / name).write_text("The roof is checked in May.")
        home.folders.add(str(folder / below), include=[pattern])
    home.look()
    assert [(one.path, one.preview.new) for one in home.folders.list()] == [
        (str(folder / "old"), ["b.txt"]),
        (str(folder / "new"), ["c.md"]),
    ]


def test_a_renamed_file_keeps_its_document_and_is_not_embedded_again(home, folder, watched):
    before, embedded = home.documents(), home.embedder.embedded
    (folder / "a.txt").rename(folder / "old" / "c.txt")
    home.settle()
    after = home.documents()
    assert after[str(folder / "old" / "c.txt")] == before[str(folder / "a.txt")]
    assert len(after) == 2
    assert home.embedder.embedded == embedded
    assert home.library.removed() == []


def test_a_renamed_folder_and_archive_keep_their_documents(home, folder, watched):
    with zipfile.ZipFile(folder / "old" / "all.zip", "w") as archive:
        archive.writestr("x.txt", "The roof is checked in May.")
    home.settle()
    before = home.documents()
    (folder / "old").rename(folder / "new")
    home.settle()
    assert home.documents() == {location.replace("/old/", "/new/"): id_ for location, id_ in before.items()}
    assert f"{folder}/new/all.zip!/x.txt" in home.documents()


def test_a_changed_file_replaces_its_document_and_a_touched_one_does_not(home, folder, watched):
    before, embedded = home.documents(), home.embedder.embedded
    os.utime(folder / "a.txt", (1, 1))
    home.settle()
    assert home.embedder.embedded == embedded
    (folder / "a.txt").write_text("The lift is serviced in October.")
    home.settle()
    assert home.documents() == before
    assert home.library.search("October", 1)[0].text == "The lift is serviced in October."


def test_a_file_renamed_over_another_keeps_its_own_document(home, folder, watched):
    kept = home.documents()[str(folder / "a.txt")]
    (folder / "a.txt").rename(folder / "old" / "b.txt")
    home.settle()
    assert home.documents() == {str(folder / "old" / "b.txt"): kept}


def test_a_vanished_file_is_removed_and_that_can_be_undone(home, folder, watched):
    gone = home.documents()[str(folder / "a.txt")]
    (folder / "a.txt").unlink()
    home.settle()
    assert {*home.documents()} == {str(folder / "old" / "b.txt")}
    home.library.purge_removed()  # as the next start does
    (removed,) = home.library.removed()
    assert (removed.id, removed.kept_seconds) == (gone, 86_400)
    home.library.restore([gone])
    home.settle()
    assert home.documents()[str(folder / "a.txt")] == gone


def test_content_that_another_file_still_has_is_not_removed(home, folder, watched):
    kept = home.documents()[str(folder / "a.txt")]
    shutil.copy(folder / "a.txt", folder / "copy.txt")
    home.settle()
    (folder / "a.txt").unlink()
    home.settle()
    assert home.documents()[str(folder / "copy.txt")] == kept
    assert home.library.removed() == []


def test_on_a_click_changes_wait_for_it(home, folder, watched):
    home.folders.set_automatic(watched, False)
    (folder / "a.txt").unlink()
    (folder / "c.txt").write_text("The roof is checked in May.")
    home.look(3)
    preview = home.folders.get(watched).preview
    assert (preview.new, preview.vanished, preview.pending) == (["c.txt"], ["a.txt"], 2)
    assert len(home.documents()) == 2
    home.folders.apply(watched)
    home.settle()
    assert {*home.documents()} == {str(folder / "c.txt"), str(folder / "old" / "b.txt")}


def test_a_folder_that_is_away_has_lost_nothing(home, folder, watched):
    before = home.documents()
    away = folder.parent.rename(folder.parent.with_name("away"))
    home.look(3)
    assert home.folders.get(watched).state == "Not reachable"
    assert home.documents() == before
    away.rename(folder.parent)
    assert home.settle().state == "Up to date"
    assert home.documents() == before


def test_an_empty_mount_point_is_no_deletion_after_a_restart(home, folder, watched, tmp_path):
    before = home.documents()
    with home.database.write() as connection:
        connection.execute(update(table).values(devices='{"": 1}'))  # as if another file system had been mounted there
    home.close()
    shutil.rmtree(folder)
    folder.mkdir()
    home.__init__(tmp_path / "home")
    home.look(3)
    assert home.folders.get(watched).state == "Not reachable"
    assert home.documents() == before


@pytest.mark.parametrize("left", [[], ["NOT MOUNTED", ".keep"]])
def test_an_empty_mount_point_is_no_deletion(home, folder, watched, left):
    """Without its file system the folder is still there, but on another one, empty or with a file that says so."""
    before = home.documents()
    shutil.rmtree(folder)
    folder.mkdir()
    for name in left:
        (folder / name).touch()
    scanner = home.worker._states[watched].scanner
    scanner._devices[""] += 1
    home.look(3)
    assert home.folders.get(watched).state == "Not reachable"
    assert home.documents() == before


def test_a_mount_within_the_folder_that_is_away_has_lost_nothing(home, folder, watched):
    before = home.documents()
    home.worker._states[watched].scanner._devices["old"] = 1  # as if another file system had been mounted there
    shutil.rmtree(folder / "old")
    preview = home.look(3)
    assert dict(preview.ignored) == {"old": "Cannot be read now"}
    assert home.documents() == before


def test_links_out_of_the_folder_are_not_followed(home, folder, tmp_path):
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "key.txt").write_text("secret")
    (folder / "dir").symlink_to(tmp_path / "secret")
    (folder / "file.txt").symlink_to(tmp_path / "secret" / "key.txt")
    (folder / "within.txt").symlink_to(folder / "a.txt")
    home.folders.add(str(folder))
    preview = home.look()
    assert preview.new == ["a.txt", "old/b.txt"]
    links = {"dir": "Link out of the folder", "file.txt": "Link out of the folder"}
    assert dict(preview.ignored) == links | {"within.txt": "Link within the folder"}


def test_a_folder_of_bottomless_depth_does_not_keep_other_files_out(home, folder):
    (folder / ("deeper/" * 150)).mkdir(parents=True)
    home.folders.add(str(folder), automatic=True)
    preview = home.look()
    assert preview.new == ["a.txt", "old/b.txt"]
    assert [reason for _, reason in preview.ignored] == ["Cannot be read now"]


def test_one_look_alone_says_nothing_of_the_files(home, folder):
    home.folders.add(str(folder))
    home.look(1)
    assert home.folders.list()[0].state == "Looking"
    home.look(1)
    assert home.folders.list()[0].state == "Changes found"


def test_what_was_found_is_applied_at_once_on_a_click(home, folder):
    folder_id = home.folders.add(str(folder))
    home.look()
    home.folders.apply(folder_id)
    home.worker.run(Cancellation())
    assert len(home.jobs.jobs()) == 1


def test_a_file_that_is_still_written_waits(home, folder, watched):
    for size in (10, 20, 30):
        (folder / "c.txt").write_text("x" * size)
        assert home.look(1).writing == ["c.txt"]
    assert len(home.documents()) == 2
    home.settle()
    assert len(home.documents()) == 3


def test_what_is_refused_is_named_and_not_tried_again(home, folder, watched):
    (folder / "c.txt").write_text("REFUSE")
    home.settle()
    ((path, reason),) = home.folders.get(watched).preview.refused
    assert path == "c.txt"
    assert reason
    tried = len(home.jobs.jobs())
    home.settle()
    assert len(home.jobs.jobs()) == tried


def test_it_goes_on_after_a_restart_and_finds_what_happened_meanwhile(home, folder, watched, tmp_path):
    before = home.documents()
    home.close()
    (folder / "a.txt").rename(folder / "c.txt")
    (folder / "d.txt").write_text("The roof is checked in May.")
    again = Home(tmp_path / "home")
    again.settle()
    assert again.documents()[str(folder / "c.txt")] == before[str(folder / "a.txt")]
    assert len(again.documents()) == 3
    assert again.embedder.embedded == 1
    again.close()
    home.__init__(tmp_path / "home")


def test_one_process_looks_after_a_folder(home, folder, watched):
    other = FolderWorker(home.database, home.library, home.jobs, MIB)
    other.run(Cancellation())
    assert other._states == {}
    home.worker.close()
    other._passes = 0
    other.run(Cancellation())
    assert [*other._states] == [watched]
    other.close()


def test_the_folder_of_a_process_that_died_is_looked_after_again(home, folder, watched):
    with home.database.write() as connection:
        connection.execute(update(table).values(owner="0-0-dead"))
    home.worker._passes = 0
    home.look(1)
    assert [*home.worker._states] == [watched]


def test_a_process_that_ends_gives_up_its_own_folders_alone(home, folder, watched):
    FolderWorker(home.database, home.library, home.jobs, MIB).close()
    with home.database.read() as connection:
        assert connection.scalar(select(table.c.owner)) == home.worker._owner


@pytest.mark.parametrize(
    "name", ["a.part", "a.partial", "a.crdownload", "a.download", "a.tmp", "a.temp", "a.swp", "a~"]
)
def test_what_another_program_still_writes_is_ignored(home, folder, name):
    (folder / name).write_text("Half a text")
    home.folders.add(str(folder))
    assert (name, "Temporary file") in [tuple(one) for one in home.look().ignored]


def test_a_file_added_just_after_its_folder_was_listed_is_found(home, folder):
    """Two changes of a folder may have the same time."""
    home.folders.add(str(folder))
    home.look(1)
    changed_at = folder.stat().st_mtime_ns
    (folder / "c.txt").write_text("The roof is checked in May.")
    os.utime(folder, ns=(changed_at, changed_at))
    assert "c.txt" in home.look().new


@pytest.mark.parametrize("column", ["include", "exclude"])
def test_a_folder_whose_patterns_are_none_is_not_restored(home, folder, watched, column):
    with home.database.write() as connection:
        connection.execute(update(table).values({column: "{"}))
    reset_watched_folders(home.database)
    assert home.folders.list() == []


def test_a_paused_folder_is_left_alone_and_a_removed_one_keeps_or_loses_its_documents(home, folder, watched):
    home.folders.pause(watched)
    (folder / "c.txt").write_text("The roof is checked in May.")
    home.look(3)
    assert home.folders.get(watched).state == "Paused"
    assert len(home.documents()) == 2
    home.folders.remove(watched)
    assert len(home.documents()) == 2
    (folder / "a.txt").write_text("The lift is serviced in October.")
    folder_id = home.folders.add(str(folder))
    assert home.look().new == ["a.txt", "c.txt"]  # the collection has the other as it is
    home.folders.remove(folder_id, with_documents=True)
    assert home.documents() == {}
    assert len(home.library.removed()) == 2
    with pytest.raises(NotFound):
        home.folders.apply(folder_id)


def test_a_folder_is_refused_that_is_missing_watched_or_the_home(home, folder, watched, tmp_path):
    for path in (
        "",
        "papers",
        str(tmp_path / "missing"),
        str(folder / "old"),
        str(folder.parent),
        str(home.library.home),
    ):
        with pytest.raises(BadRequest):
            home.folders.add(path)


@pytest.mark.parametrize(
    ("settings", "is_offered"),
    [
        ({}, True),
        ({"host": "::1"}, True),
        ({"host": "192.168.1.5"}, False),
        ({"public_urls": ("https://example.org",)}, False),
        ({"people": "accounts"}, False),
    ],
)
def test_folders_are_offered_on_ones_own_machine(home, folder, settings, is_offered):
    settings = Settings(home=home.library.home, **settings)
    own = WatchedFolders(home.database, home.library, home.jobs, settings).for_user("a" * 64)
    assert own.is_offered is is_offered
    if not is_offered:
        with pytest.raises(BadRequest):
            own.add(str(folder))


def test_it_follows_its_collection(home, folder):
    folder_id = home.folders.add(str(folder), "Papers")
    home.library.rename_collection("Papers", "Reports")
    assert home.folders.get(folder_id).collection == "Reports"
    home.library.delete_collection("Reports")
    assert home.folders.list() == []


@pytest.fixture
def admin(home):
    """The id of an administrator."""
    accounts = Accounts(home.database, ["ann@example.org"])
    return accounts.log_in(Identity("idp", "ann", "ann@example.org")).id


def test_documents_of_a_folder_are_added_and_removed_by_whoever_watches_it(home, folder, admin):
    folders = home.folders.for_user(admin)
    folders.apply(folders.add(str(folder), automatic=True))
    home.settle()
    assert [job.state for job in home.jobs.for_user(admin).jobs()] == ["done"]
    assert len(home.documents()) == 2
    (folder / "a.txt").unlink()
    home.settle()
    assert [one.title for one in home.library.for_user(admin).removed()] == ["a.txt"]
    assert home.library.for_user("somebody else's browser").removed() == []


def test_a_folder_is_left_alone_once_its_owner_is_no_administrator(home, folder, admin):
    folders = home.folders.for_user(admin)
    folders.apply(folders.add(str(folder), automatic=True))
    home.settle()
    Accounts(home.database).apply_roles()  # as a start without them in CRAG_ADMINS does
    (folder / "c.txt").write_text("The roof is checked in May.")
    (folder / "a.txt").unlink()
    home.look(3)
    assert {*home.documents()} == {str(folder / "a.txt"), str(folder / "old" / "b.txt")}


def test_a_restored_folder_waits_for_its_owner(home, folder, watched):
    reset_watched_folders(home.database)
    (folder / "c.txt").write_text("The roof is checked in May.")
    home.look(3)
    restored = home.folders.get(watched)
    assert (restored.state, restored.is_started, restored.files) == ("Paused", False, 0)
    home.folders.pause(watched, False)
    home.look(3)
    assert home.folders.get(watched).preview.new == ["c.txt"]
    assert len(home.documents()) == 2


def test_a_cancelled_job_pauses_its_folder(home, folder):
    folder_id = home.folders.add(str(folder), automatic=True)
    home.look()
    home.embedder.before_batch = lambda: home.jobs.cancel_all()
    home.folders.apply(folder_id)
    assert home.settle().state == "Paused"
    assert home.folders.get(folder_id).files < 2


def test_many_files_are_applied_in_several_jobs(home, folder, monkeypatch):
    monkeypatch.setattr(watched_folders, "_FILES_PER_JOB", 1)
    folder_id = home.folders.add(str(folder))
    home.look()
    home.folders.apply(folder_id)
    assert home.settle().state == "Up to date"
    assert len(home.documents()) == 2
    assert len(home.jobs.jobs()) == 2


def test_a_job_that_was_dismissed_at_once_is_not_repeated(home, folder):
    folder_id = home.folders.add(str(folder))
    home.look()
    home.folders.apply(folder_id)
    home.look(1)
    wait_until(lambda: not home.jobs.active)
    home.jobs.dismiss_finished()
    assert home.settle().files == 2
    assert home.jobs.jobs() == []


@pytest.mark.parametrize("name", ["z.txt", "old/b.txt", "z.zip"])
def test_a_link_that_takes_the_place_of_a_file_or_folder_is_not_read(home, folder, tmp_path, name):
    """Somebody who may write to the folder replaces it while the job is already reading other files."""
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "b.txt").write_text("The secret is in the lift.")
    with zipfile.ZipFile(tmp_path / "secret" / "z.zip", "w") as archive:
        archive.writestr("b.txt", "The secret is in the lift.")
    for number in range(40):
        (folder / f"file {number:02}.txt").write_text(f"Note {number}")
    names = [*sorted(one.name for one in folder.glob("file *")), name]

    def replace_by_link():
        home.embedder.before_batch = lambda: None
        if "/" in name:
            shutil.rmtree(folder / "old")
            (folder / "old").symlink_to(tmp_path / "secret")
        else:
            (folder / name).symlink_to(tmp_path / "secret" / ("b.txt" if name.endswith("txt") else name))

    home.embedder.before_batch = replace_by_link
    home.jobs.submit_files(folder, dict.fromkeys(names, (1, 1)))
    wait_until(lambda: not home.jobs.active)
    assert len(home.documents()) == 40
    (refused,) = [one for one in home.jobs.jobs()[0].results if one.error]
    assert refused.source == str(folder / name)


def test_a_folder_whose_place_a_link_takes_is_not_looked_into(home, folder, watched, tmp_path):
    before = home.documents()
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "key.txt").write_text("The secret is in the lift.")
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "secret")
    home.look(3)
    assert home.folders.get(watched).state == "Not reachable"
    assert home.documents() == before
