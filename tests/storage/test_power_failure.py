"""What was acknowledged is still there after a power failure, and nothing is there in part."""

import io
import sys
import zipfile

import pytest

from crag.library.job_queue import UploadSpool
from crag.storage.files import write_atomically
from tests.crashing import NOTES
from tests.doubles.library import open_library
from tests.doubles.power import SyncedDisk
from tests.sharing.backups import restore, save

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs the names of open files")


@pytest.fixture
def disk(tmp_path, monkeypatch):
    return SyncedDisk(tmp_path, monkeypatch)


def test_a_write_without_sync_is_lost_and_one_without_order_is_torn(disk, tmp_path):
    (tmp_path / "lost").write_bytes(b"tea")
    assert disk.files_after_power_failure() == {}
    write_atomically(tmp_path / "kept", lambda file: file.write(b"tea"), tmp_path)
    assert disk.files_after_power_failure() == {"lost": b"", "kept": b"tea"}, (
        "all names are synced, but not the first content"
    )
    assert disk.torn == []
    (tmp_path / "lost").rename(tmp_path / "torn")
    assert disk.torn == [str(tmp_path / "torn")]


def test_a_document_and_its_snapshot_survive_in_a_new_home(disk, tmp_path):
    library = open_library(tmp_path / "new" / "home")
    library.pipeline.add_bytes("notes.txt", NOTES)
    library.search("topic")
    library.save()
    before = disk.files()
    assert any("originals" in name for name in before)
    assert any("index" in name for name in before)
    assert disk.files_after_power_failure() == before
    library.pipeline.add_bytes("more.txt", b"One more line.")
    library.save()
    assert disk.files_after_power_failure().items() >= disk.files().items()
    assert disk.torn == []
    library._database.close()


def test_each_added_file_of_an_archive_survives(disk, tmp_path):
    library = open_library(tmp_path / "home")
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for n in range(20):
            archive.writestr(f"{n}.txt", f"Cat {n} sleeps.")
    added = 0
    for result in library.pipeline.add_upload("cats.zip", packed.getvalue()):
        digest = library.source(result.id).sha256
        assert f"home/originals/{digest[:2]}/{digest}" in disk.files_after_power_failure()
        added += 1
    assert added == 20
    assert disk.torn == []
    library._database.close()


def test_an_upload_that_waits_survives(disk, tmp_path):
    UploadSpool(tmp_path / "uploads").put("a1", b"tea")
    assert disk.files_after_power_failure() == {"uploads/a1": b"tea"}


def test_a_backup_and_the_home_restored_from_it_survive(disk, tmp_path):
    library = open_library(tmp_path / "home")
    library.pipeline.add_bytes("notes.txt", NOTES)
    save(library, tmp_path / "saved")
    assert disk.files_after_power_failure()["saved"] == (tmp_path / "saved").read_bytes()
    restore(tmp_path / "saved", tmp_path / "new" / "home")
    library._database.close()
    assert disk.files_after_power_failure().items() >= disk.files().items()
    assert disk.torn == []
