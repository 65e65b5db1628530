"""The example document: what is suggested on it is answered by it."""

from crag.library.example import EXAMPLE_NAME, read_example
from crag.library.library import Library
from crag.settings import Settings
from crag.storage.engine import Database
from tests.doubles.library import HashEmbedder, Shelf


def test_the_example_offers_three_questions(tmp_path):
    database = Database(tmp_path / "home")
    shelf, settings = Shelf(HashEmbedder()), Settings(home=tmp_path / "home", max_upload_mb=1)
    library = Library(database, shelf, lambda text: len(text.split()), settings)
    library.pipeline.add_bytes(EXAMPLE_NAME, read_example())
    assert library.suggest_questions(3) == [
        "When is the coffee shop open?",
        "How many days of paid leave do full-time employees have?",
        "When must summer leave be requested?",
    ]
    database.close()
