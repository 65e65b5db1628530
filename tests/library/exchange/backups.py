"""Backups made and put back in one call, and what is then there."""

from crag.library.exchange.backup import write_backup
from crag.library.exchange.restore import restore_backup
from crag.progress import silent
from crag.stopping import Stop
from tests.doubles.library import open_library
from tests.library.crashing import check_whole

NOTES = b"# Kettles\nA kettle boils water.\nIt whistles when the water boils.\n"


def save(library, path):
    return write_backup(library._database, path, silent, Stop())


def restore(path, home, **options):
    return restore_backup(path, home, silent, Stop(), **options)


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
