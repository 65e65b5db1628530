"""The share of vectors fitted on a library: high where they know what words do not, none where they know nothing."""

import numpy as np
import pytest

from crag.errors import Stopped
from crag.library.search.probing import draw_probes, fit_weight
from crag.library.search.weights import read_weight, write_weight
from crag.stopping import Stop

LETTERS = "bcdfghjklm"


class Knowing:
    """An embedder that knows which made-up words mean the same, or makes nothing of any text."""

    def __init__(self, space, deaf):
        self.space = space
        self.deaf = deaf

    def embed_query(self, text):
        meaning = text[text.find("zz") :][2:4]
        row = np.random.default_rng(list((text if self.deaf else meaning).encode())).normal(size=self.space.dimension)
        return (row / np.linalg.norm(row)).astype(np.float32)

    def embed_documents(self, texts):
        return np.stack([self.embed_query(text) for text in texts])


def told(number, named):
    """Three sentences of one meaning; only if `named` they share a word that other passages do not have."""
    meaning = LETTERS[number // 10] + LETTERS[number % 10]
    place = f"in {meaning}ton" if named else "somewhere"
    return " ".join(f"Some zz{meaning}{ending} waits near water {place}." for ending in "npr")


@pytest.fixture
def probed(reopen, embedder):
    def build(deaf):
        model = Knowing(embedder.space, deaf)
        embedder.embed_query, embedder.embed_documents = model.embed_query, model.embed_documents
        library = reopen()
        library.add_bytes("a.txt", "\n".join(told(n, named=deaf) for n in range(60)).encode())
        return library._database, library._full_text, library._search.open_index(embedder.space), model, Stop()

    return build


def test_probes_are_sentences_taken_out_of_their_passages(probed):
    database, *_ = probed(deaf=False)
    probes = draw_probes(database)
    assert len(probes) == 60
    assert all(probe.sentence not in probe.rest for probe in probes)
    assert draw_probes(database) == probes
    assert len(draw_probes(database, 10)) == 10


def test_vectors_get_a_share_where_they_know_what_words_do_not_tell(probed):
    assert fit_weight(*probed(deaf=False)) > 0


def test_vectors_that_know_nothing_get_none_where_words_tell(probed):
    assert fit_weight(*probed(deaf=True)) == 0


def test_a_small_library_cannot_tell(library, embedder):
    library.add_bytes("a.txt", told(1, named=True).encode())
    index = library._search.open_index(embedder.space)
    assert fit_weight(library._database, library._full_text, index, embedder, Stop()) is None


def test_fitting_can_be_stopped(probed):
    *parts, stop = probed(deaf=False)
    stop.request()
    with pytest.raises(Stopped):
        fit_weight(*parts, stop)


def test_a_fitted_share_is_kept_with_its_space(library, embedder):
    library.add_bytes("a.txt", b"A cat.")
    before = read_weight(library._database, embedder.space)
    write_weight(library._database, embedder.space, 0.15)
    assert before == 0.5
    assert read_weight(library._database, embedder.space) == 0.15
