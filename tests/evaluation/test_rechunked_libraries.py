"""Documents cut to another passage size: the same ids, complete or not there at all."""

import json
import os
import time
from contextlib import closing
from dataclasses import replace

import pytest

from crag.app.application import Application
from crag.cancellation import Cancellation
from crag.errors import BadRequest, NotFound, Stopped
from crag.evaluation.rechunked_libraries import PASSAGE_ID_OFFSET, RechunkedLibraries
from crag.models.token_counts import count_passage_tokens
from crag.options import RunOptions
from crag.sharing.backup import write_backup
from crag.types import Progress, ignore_progress
from tests.applications import opened_with

KETTLES = "\n\n".join(
    f"# Kettle number {n}\n\nKettle {n} is made of copper and whistles in the key of {key}. It was mended by Anna in "
    f"the year {1900 + n}. Nobody has boiled soup in it since, for its spout is bent to the left."
    for n, key in enumerate("ABCDEFGABCDEFG")
)
LOOMS = KETTLES.replace("Kettle", "Loom").replace("copper", "oak")
OPTIONS = RunOptions(model="builtin", passage_size=60)


@pytest.fixture
def application(tmp_path):
    with opened_with(tmp_path / "home", {"kettles.md": KETTLES}) as opened:
        opened.library.pipeline.add_bytes("looms.md", LOOMS.encode(), collection="Looms")
        yield opened


@pytest.fixture
def recuts(application):
    with closing(RechunkedLibraries(application.database, application.library, application.settings)) as made:
        yield made


def cuts(application: Application) -> list[str]:
    return sorted(path.name for path in (application.settings.home / "evaluations").glob("*"))


def test_a_run_searches_the_same_documents_in_other_passages(application, recuts):
    seen: list[Progress] = []
    recuts.prepare(OPTIONS, seen.append)
    retriever = recuts.retriever(OPTIONS)
    assert (seen[-1].done, seen[-1].total) == (2, 2)
    assert retriever.size(OPTIONS) > application.library.size() > 0

    found, notice, _ = retriever.retrieve("Who mended kettle number 3?", OPTIONS)
    assert "Kettle 3" in found[0].text
    assert all(count_passage_tokens(passage.text) <= 60 for passage in found)
    homes = {source.id: source.title for source in application.library.sources()}
    assert {(one.source_id, one.title) for one in found} <= set(homes.items())
    assert all(one.id > PASSAGE_ID_OFFSET and application.library.passage(one.id) is None for one in found)
    assert application.library.original_path(found[0].source_id) is not None
    assert "up to 60 tokens." in notice
    looms = replace(OPTIONS, collection="Looms")
    recuts.prepare(looms)
    assert {one.title for one in recuts.retriever(looms).retrieve("kettle", looms)[0]} == {"Loom number 0"}


def test_the_usual_size_is_the_library_itself(application, recuts):
    for size in (0, 250):
        recuts.prepare(replace(OPTIONS, passage_size=size))
        found, *_ = recuts.retriever(replace(OPTIONS, passage_size=size)).retrieve("kettle", OPTIONS)
        assert application.library.passage(found[0].id) is not None
    with pytest.raises(BadRequest, match="no documents to split"):
        recuts.prepare(replace(OPTIONS, collection="Nowhere"))
    assert cuts(application) == []


def test_a_rechunked_library_is_reused_until_documents_change(application, recuts):
    recuts.prepare(OPTIONS)
    first = cuts(application)
    seen: list[Progress] = []
    with closing(RechunkedLibraries(application.database, application.library, application.settings)) as later:
        later.prepare(OPTIONS, seen.append)
        assert later.retriever(OPTIONS).retrieve("kettle", OPTIONS)[0]
    assert seen == []
    assert cuts(application) == first

    application.library.remove([application.library.sources("Looms")[0].id])
    os.utime(application.settings.home / "evaluations" / first[0], (time.time() - 3600,) * 2)
    recuts.prepare(OPTIONS)
    assert len(cuts(application)) == 1
    assert cuts(application) != first
    assert not [one for one in recuts.retriever(OPTIONS).retrieve("Loom oak", OPTIONS)[0] if "oak" in one.text]

    os.utime(application.settings.home / "evaluations" / cuts(application)[0], (time.time() - 100_000,) * 2)
    recuts.remove_stale()
    assert cuts(application) == []
    with pytest.raises(NotFound, match="60 tokens no longer exist"):
        recuts.retriever(OPTIONS)


def test_stopped_or_killed_on_the_way_nothing_half_made_is_used(application, recuts):
    stop = Cancellation()
    with pytest.raises(Stopped):
        recuts.prepare(OPTIONS, lambda progress: stop.cancel() if progress.done else None, stop)
    assert cuts(application) == []
    left = application.settings.home / "evaluations" / ".cut-60-abc.1-1-ff.unfinished"
    left.mkdir(parents=True)
    with pytest.raises(NotFound):
        recuts.retriever(OPTIONS)
    recuts.prepare(OPTIONS)
    assert not left.exists()
    assert recuts.retriever(OPTIONS).size(OPTIONS) > application.library.size()


def test_documents_without_a_file_stay_and_backups_leave_it_out(application, recuts, tmp_path):
    lines = [{"text": f"Harp {n} has {n} strings.", "metadata": {"source": "harps.txt"}} for n in range(3)]
    (tmp_path / "harps.jsonl").write_text("\n".join(map(json.dumps, lines)))
    list(application.exchange.import_passages(tmp_path / "harps.jsonl"))
    lost = next(source for source in application.library.sources("Looms"))
    path = application.library.original_path(lost.id)
    assert path
    path.unlink()
    recuts.prepare(OPTIONS)
    retriever = recuts.retriever(OPTIONS)
    assert retriever.retrieve("How many strings has harp 2?", OPTIONS)[0][0].text == "Harp 2 has 2 strings."
    found, notice, _ = retriever.retrieve("Which loom is made of oak?", OPTIONS)
    assert "Loom" in found[0].text
    assert "“Loom number 0”, “harps.txt”" in notice
    manifest = write_backup(application.database, tmp_path / "saved", ignore_progress, Cancellation())
    assert not [name for name in manifest.members if "evaluations" in name]
