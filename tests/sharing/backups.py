"""Write and restore a backup in one call, and check the result."""

from crag.cancellation import Cancellation
from crag.sharing.backup import write_backup
from crag.sharing.restore import restore_backup
from crag.types import ignore_progress
from tests.crashing import check_whole
from tests.doubles.library import open_library

NOTES = b"# Kettles\nA kettle boils water.\nIt whistles when the water boils.\n"


def save(library, path):
    return write_backup(library._database, path, ignore_progress, Cancellation())


def restore(path, home, **options):
    return restore_backup(path, home, ignore_progress, Cancellation(), **options)


def opened_whole(home):
    """The titles in a restored home, once it was found whole, and what it finds."""
    library = open_library(home)
    try:
        check_whole(library)
        return {source.title for source in library.sources()}, [hit.text for hit in library.search("whistles", k=1)]
    finally:
        library._database.close()


def left(folder):
    """What lies in a folder, staging folders too."""
    return sorted(path.name for path in folder.iterdir())
