"""The vector weight fitted on a library: high where vectors help, none where they do not."""

import numpy as np
import pytest

from crag.cancellation import Cancellation
from crag.errors import ModelFault, Stopped
from crag.retrieval.ranking import VectorWeight, read_vector_weight, write_vector_weight
from crag.retrieval.weight_fit import fit_vector_weight, sample_probes
from crag.types import EmbeddingSpace, ignore_progress
from tests.doubles.library import Shelf
from tests.waiting import PATIENCE

LETTERS = "bcdfghjklm"


class Knowing:
    """An embedder that knows which made-up words mean the same, or makes nothing of any text."""

    gone = False
    before_query = staticmethod(lambda: None)

    def __init__(self, space, deaf):
        self.space = space
        self.deaf = deaf

    def embed_query(self, text):
        self.before_query()
        return self._vector(text)

    def _vector(self, text):
        meaning = text[text.find("zz") :][2:4]
        row = np.random.default_rng(list((text if self.deaf else meaning).encode())).normal(size=self.space.dimension)
        return (row / np.linalg.norm(row)).astype(np.float32)

    def embed_documents(self, texts):
        return np.stack([self._vector(text) for text in texts])


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
        library.pipeline.add_bytes("a.txt", "\n".join(told(n, named=deaf) for n in range(60)).encode())
        return (
            library._database,
            library._full_text,
            library.retriever.open_index(embedder.space),
            model,
            ignore_progress,
            Cancellation(),
        )

    return build


def test_probes_are_sentences_taken_out_of_their_passages(probed):
    database, *_ = probed(deaf=False)
    probes = sample_probes(database)
    assert len(probes) == 60
    assert all(probe.sentence not in probe.rest for probe in probes)
    assert sample_probes(database) == probes
    assert len(sample_probes(database, 10)) == 10


def test_vectors_get_weight_where_words_fail(probed):
    assert fit_vector_weight(*probed(deaf=False)) > 0


def test_vectors_that_know_nothing_get_none_where_words_tell(probed):
    assert fit_vector_weight(*probed(deaf=True)) == 0


def test_a_small_library_cannot_tell(library, embedder):
    library.pipeline.add_bytes("a.txt", told(1, named=True).encode())
    index = library.retriever.open_index(embedder.space)
    assert (
        fit_vector_weight(library._database, library._full_text, index, embedder, ignore_progress, Cancellation())
        is None
    )


def test_fitting_can_be_stopped(probed):
    *parts, stop = probed(deaf=False)
    stop.cancel()
    with pytest.raises(Stopped):
        fit_vector_weight(*parts, stop)


@pytest.fixture
def knowing(reopen, embedder):
    """A library of which some other embedder than the one that fills it knows the meanings."""
    model = Knowing(EmbeddingSpace("double", "knowing", "1", 64), deaf=False)
    library = reopen(shelf=Shelf(model, embedder))
    return library, model


def fill(library):
    library.pipeline.add_bytes("a.txt", "\n".join(told(n, named=False) for n in range(60)).encode())


def weight_of(library):
    [weight] = [report.weight for report in library.spaces.statuses() if report.state == "answering"]
    return weight


def test_a_space_is_fitted_once_the_library_is_large_enough(knowing):
    library, _ = knowing
    library.pipeline.add_bytes("one.txt", told(1, named=True).encode())
    library.spaces.apply_choice(ignore_progress, Cancellation())
    assert weight_of(library) == VectorWeight(0.5, "default")
    library.space_work.begin()
    assert library.space_work.wait(PATIENCE)
    fill(library)
    library.save()
    assert library.space_work.wait(PATIENCE)
    assert weight_of(library).origin == "fitted"


def test_a_space_that_was_built_is_weighed_with_its_own_embedder(knowing, reopen, embedder):
    library, model = knowing
    first = reopen()
    fill(first)
    seen = []
    library.spaces.use(model.space.name, seen.append, Cancellation())
    assert library.spaces.active_embedder.active_space().space.id == model.space.id
    assert weight_of(library).origin == "fitted"
    assert seen[-1].stage == "Weighing words and meaning"


def test_a_stopped_fit_or_missing_embedder_leaves_the_default(knowing):
    library, model = knowing
    fill(library)
    stop = Cancellation()
    model.before_query = stop.cancel
    with pytest.raises(Stopped):
        library.spaces.apply_choice(ignore_progress, stop)
    assert weight_of(library) == VectorWeight(0.5, "default")

    def refuse():
        raise ModelFault("unreachable", "It does not answer.", "Start it.", "passing")

    model.before_query = refuse
    library.spaces.apply_choice(ignore_progress, Cancellation())
    assert weight_of(library) == VectorWeight(0.5, "default")
    model.before_query = lambda: None
    library.spaces.apply_choice(ignore_progress, Cancellation())
    assert weight_of(library).origin == "fitted"


def test_a_fitted_share_is_kept_with_its_space(library, embedder):
    library.pipeline.add_bytes("a.txt", b"A cat.")
    before = read_vector_weight(library._database, embedder.space)
    write_vector_weight(library._database, embedder.space, 0.15)
    assert before == VectorWeight(0.5, "default")
    assert read_vector_weight(library._database, embedder.space) == VectorWeight(0.15, "fitted")
