"""Adding through the real fetcher, parser and splitter: addresses, replacement, killed and racing processes."""

import hashlib
import io
import ipaddress
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from reportlab.pdfgen.canvas import Canvas

from crag.app import reports
from crag.cancellation import Cancellation
from crag.errors import Stopped
from crag.ingest.site import SiteLimits
from crag.library.jobs import IngestJobs
from crag.library.library import Library
from crag.settings import Settings
from crag.storage.engine import Database
from tests.crashing import NOTES, Forked, check_whole
from tests.doubles.library import HashEmbedder, Shelf
from tests.ingest.test_intake import packed
from tests.waiting import PATIENCE, wait_until

PAGE = "<html><head><title>{0}</title></head><body><article><h1>{0}</h1><p>{1}</p></article></body></html>"
CATS = PAGE.format("All about cats", "The cat sleeps on the warm roof for most of the day. " * 5).encode()
DOGS = PAGE.format("All about dogs", "The dog barks at the mailman every single morning. " * 5).encode()

KILLED = """
import os, signal, sys
from pathlib import Path
from crag.ingest import pipeline
from crag.storage import sources
from crag.storage.files import Originals
from tests.doubles.library import HashEmbedder, open_library

home, point, data = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]).read_bytes()
die = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
embedder = HashEmbedder()
library = open_library(home, embedder=embedder)
print(library.pipeline.add_bytes("kept.txt", b"This one was acknowledged.").status, flush=True)
if point == "embedding":
    embedder.before_batch = lambda: embedder.embedded > 32 and die()
elif point == "after the original":
    sources.SourceStore.put = die
elif point == "inside the transaction":
    sources.write_passages = die
elif point == "before the commit":
    original = Originals.keep
    calls = []
    Originals.keep = lambda *a: (original(*a), calls.append(1), len(calls) == 2 and die())
elif point == "after the commit":
    pipeline.AddResult = die
elif point == "removing":
    library.pipeline.add_bytes("lost.txt", data)
    Originals.remove = die
    library.remove([s.id for s in library.sources() if s.title == "lost.txt"])
library.pipeline.add_bytes("lost.txt", data)
"""

RACING = """
import sys
from pathlib import Path
from tests.doubles.library import open_library

library = open_library(Path(sys.argv[1]))
data = Path(sys.argv[2]).read_bytes()
print("ready", flush=True)
sys.stdin.readline()
print(library.pipeline.add_bytes("same.txt", data).status, flush=True)
"""


@pytest.fixture
def web_library(tmp_path):
    settings = Settings(home=tmp_path / "home", allow_private_urls=(ipaddress.ip_network("127.0.0.1/32"),))
    database = Database(settings.home)
    yield Library(database, Shelf(HashEmbedder()), lambda text: len(text.split()), settings, counter_name="words")
    database.close()


def add(web_library, url):
    [result] = web_library.pipeline.add(url)
    return result


def test_a_page_is_known_by_its_final_address(web_library, web):
    final = web.page("/cats", CATS)
    result = add(web_library, web.redirect("/old", final))
    assert (result.status, result.title) == ("added", "All about cats")
    (source,) = web_library.sources()
    assert (source.location, source.kind) == (final, "html")
    assert web_library.search("Where does the cat sleep?", k=1)[0].location == final
    assert add(web_library, final).status == "unchanged"


def test_a_page_that_changed_is_replaced_and_keeps_its_id(web_library, web):
    url = web.page("/page", CATS)
    first = add(web_library, url)
    assert web_library.pipeline.refresh()[0].status == "unchanged"
    web.page("/page", DOGS)
    (again,) = web_library.pipeline.refresh([first.id])
    assert (again.status, again.id, again.title) == ("replaced", first.id, "All about dogs")
    assert {passage.title for passage in web_library.search("cat dog")} == {"All about dogs"}
    web.page("/page", CATS)
    assert add(web_library, url).status == "replaced"


def test_a_page_that_moved_is_refreshed_under_its_old_address(web_library, web):
    url = web.page("/page", CATS)
    first = add(web_library, url)
    web.redirect("/page", web.page("/moved", DOGS))
    assert [(result.status, result.id) for result in web_library.pipeline.refresh()] == [("replaced", first.id)]
    assert [source.location for source in web_library.sources()] == [url]


def test_a_page_that_is_gone_keeps_what_was_added(web_library, web):
    add(web_library, web.page("/page", CATS))
    web.page("/page", b"gone", status=404)
    (result,) = web_library.pipeline.refresh()
    assert (result.status, result.error.code) == ("failed", "http_error")
    assert web_library.search("cat", k=1)[0].title == "All about cats"


def test_two_pages_with_one_text_are_kept_once(web_library, web):
    first = add(web_library, web.page("/a", CATS))
    second = add(web_library, web.page("/b", CATS))
    assert (second.status, second.id) == ("unchanged", first.id)


@pytest.mark.parametrize("address", ["data:text/plain,hello", "javascript:alert(1)", "jar:x!/y", "FILE:/etc/passwd"])
def test_what_is_no_web_address_is_refused_as_one(web_library, address):
    (result,) = web_library.pipeline.add(address)
    assert result.error.code == "blocked_url"


def test_a_password_in_an_address_is_not_repeated(web_library):
    (result,) = web_library.pipeline.add("http://me:secret@example.com/")
    assert result.error.code == "blocked_url"
    assert "secret" not in str(result)
    assert (result.source, result.title) == ("http://example.com/", "example.com")


def pdf(text):
    data = io.BytesIO()
    canvas = Canvas(data)
    canvas.setTitle("On kettles")
    canvas.drawString(72, 720, text)
    canvas.save()
    return data.getvalue()


@pytest.mark.parametrize(
    "content_type", ["application/pdf", "text/html; charset=utf-8", "application/octet-stream", "text/plain", ""]
)
def test_a_pdf_is_recognized_whatever_type_was_stated(web_library, web, content_type):
    url = web.page("/paper", pdf("A kettle boils water in three minutes."), content_type=content_type)
    result = add(web_library, web.redirect("/download", url))
    assert (result.status, result.title, result.pages) == ("added", "On kettles", 1)
    assert [(source.kind, source.location) for source in web_library.sources()] == [("pdf", url)]
    assert web_library.search("kettle", k=1)[0].page == 1


def test_a_wrong_stated_charset_is_corrected(web_library, web):
    text = "주전자는 물을 끓이는 데 쓰는 그릇이다. 물은 대류로 그 열을 위로 나른다. " * 3
    url = web.page("/a", PAGE.format("주전자의 원리", text).encode("euc-kr"), content_type="text/html; charset=utf-8")
    assert add(web_library, url).title == "주전자의 원리"


def test_author_and_date_follow_changes_of_the_page(web_library, web):
    said = '<head><meta name="author" content="{}"><meta property="article:published_time" content="{}">'
    first = CATS.decode().replace("<head>", said.format("Ada Lovelace", "2024-03-05T10:00:00Z"))
    url = web.page("/a", first.encode())
    add(web_library, url)
    (source,) = web_library.sources()
    assert (source.author, source.published) == ("Ada Lovelace", "2024-03-05")
    listed = reports.source_json(source)
    assert (listed["author"], listed["published"]) == ("Ada Lovelace", "2024-03-05")
    web.page("/a", DOGS)
    web_library.pipeline.refresh()
    (source,) = web_library.sources()
    assert (source.author, source.published) == ("", "")


def test_a_site_is_added_page_by_page_and_what_fails_is_told(web_library, web):
    links = b'<a href="/cats">Cats</a> <a href="/gone">Gone</a> <a href="/dogs.pdf">Dogs</a>'
    web.page("/", PAGE.format("Animals", "All about animals of every kind. " * 9).encode() + links)
    web.page("/cats", CATS)
    web.page("/dogs.pdf", pdf("The dog barks."))
    steps = []
    results = list(web_library.pipeline.add_site(web.url("/"), SiteLimits(), progress=steps.append))
    assert [(result.source, result.status) for result in results] == [
        (web.url("/"), "added"),
        (web.url("/cats"), "added"),
        (web.url("/gone"), "failed"),
        (web.url("/dogs.pdf"), "added"),
    ]
    assert "404" in results[2].error.message
    assert [(step.done, step.total) for step in steps] == [(1, 1), (2, 4), (3, 4), (4, 4)]
    assert {source.kind for source in web_library.sources()} == {"html", "pdf"}
    again = web_library.pipeline.add_site(web.url("/"), SiteLimits())
    assert [result.status for result in again] == ["unchanged", "unchanged", "failed", "unchanged"]


def test_a_site_is_one_job_with_a_result_for_each_page(web_library, web):
    web.page("/", CATS + b'<a href="/dogs">Dogs</a><a href="/gone">Gone</a>')
    web.page("/dogs", DOGS)
    jobs = IngestJobs(web_library._database, web_library)
    jobs.submit_site(web.url("/"), SiteLimits(pages=3))
    wait_until(lambda: not jobs.active)
    (job,) = jobs.jobs()
    jobs.close()
    assert (job.name, job.state) == (web.url("/"), "done")
    assert [result.status for result in job.results] == ["added", "added", "failed"]


def test_a_stopped_crawl_keeps_the_pages_added_so_far(web_library, web):
    web.page("/", CATS + b'<a href="/dogs">Dogs</a>')
    web.page("/dogs", DOGS)
    stop = Cancellation()
    pages = web_library.pipeline.add_site(web.url("/"), SiteLimits(), stop=stop)
    assert next(pages).status == "added"
    stop.cancel()
    with pytest.raises(Stopped):
        next(pages)
    assert [source.location for source in web_library.sources()] == [web.url("/")]


def test_a_sitemap_that_names_nothing_of_its_site_says_so(web_library, web):
    elsewhere = b"<urlset><url><loc>http://other.test/</loc></url></urlset>"
    (result,) = web_library.pipeline.add_site(
        web.page("/sitemap.xml", elsewhere, content_type="text/xml"), SiteLimits()
    )
    assert (result.status, result.error.code) == ("failed", "empty")


def test_an_archive_from_an_address_is_unpacked_and_refreshable(web_library, web):
    def put(files):
        return web.page("/papers.zip", packed(files), content_type="application/zip")

    url = put({"a.txt": "A cat.", "b.txt": "A dog."})
    results = [(result.source, result.status) for result in web_library.pipeline.add(url)]
    assert results == [(f"{url}!/a.txt", "added"), (f"{url}!/b.txt", "added")]
    put({"a.txt": "A lion.", "c.txt": "A cow."})
    web.seen.clear()
    again = {result.source: result.status for result in web_library.pipeline.refresh()}
    assert again == {f"{url}!/a.txt": "replaced", f"{url}!/b.txt": "failed"}
    assert len(web.seen) == 1, "it is fetched once for all its files"
    assert [result.status for result in web_library.pipeline.add(url)] == ["unchanged", "added", "failed"]
    assert [result.error.code for result in web_library.pipeline.add(web.page("/none.zip", b"", status=404))] == [
        "http_error"
    ]


def test_files_of_an_archive_that_is_gone_are_kept_and_refused_one_by_one(web_library, tmp_path):
    archive, page = tmp_path / "papers.zip", tmp_path / "alone.txt"
    archive.write_bytes(packed({"a.txt": "A cat.", "b.txt": "A dog.", "c.txt": "A cow."}))
    page.write_text("A horse.")
    for path in (archive, page):
        list(web_library.pipeline.add(str(path)))
    list(web_library.pipeline.add(str(archive), collection="Copies"))
    assert [result.status for result in web_library.pipeline.refresh()] == ["unchanged"] * 7
    archive.unlink()
    again = web_library.pipeline.refresh()
    assert [result.source for result in again] == [source.location for source in web_library.sources()]
    assert {Path(result.source).name: result.error and result.error.code for result in again} == {
        "a.txt": "unreachable",
        "b.txt": "unreachable",
        "c.txt": "unreachable",
        "alone.txt": None,
    }
    assert len(web_library.sources()) == 7


@pytest.mark.skipif(os.name == "nt", reason="needs SIGKILL")
@pytest.mark.parametrize(
    ("point", "there"),
    [
        ("embedding", False),
        ("after the original", False),
        ("inside the transaction", False),
        ("before the commit", False),
        ("after the commit", True),
        ("removing", False),
    ],
)
def test_a_kill_leaves_the_whole_or_nothing(tmp_path, data, reopen, point, there):
    with Forked(KILLED, tmp_path / "home", point, data) as process:
        output, _ = process.communicate(timeout=PATIENCE)
    assert (output, process.returncode) == ("added\n", -signal.SIGKILL)
    library = reopen()
    check_whole(library)
    assert {source.title for source in library.sources()} == {"kept.txt"} | ({"lost.txt"} if there else set())
    again = library.pipeline.add_bytes("lost.txt", NOTES)
    assert again.status == ("unchanged" if there else "added")
    check_whole(library)


def test_two_processes_that_add_the_same_file_end_in_one_copy(tmp_path, data, reopen):
    processes = [Forked(RACING, tmp_path / "home", data) for _ in range(2)]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    statuses = sorted(process.communicate(timeout=PATIENCE)[0].strip() for process in processes)
    assert statuses == ["added", "unchanged"]
    library = reopen()
    assert len(library.sources()) == 1
    check_whole(library)


def test_adding_what_is_being_removed_keeps_its_original(library):
    """The original goes only within a transaction that sees it unused, and comes back within the one that uses it."""

    def churn(_):
        for _ in range(10):
            library.remove([library.pipeline.add_bytes("same.txt", NOTES).id])

    with ThreadPoolExecutor(3) as threads:
        list(threads.map(churn, range(3)))
    library.pipeline.add_bytes("same.txt", NOTES)
    check_whole(library)


def test_leftovers_of_a_dead_writer_go_but_young_files_stay(library, reopen):
    digest = hashlib.sha256(b"orphan").hexdigest()
    folder = library.home / "originals" / digest[:2]
    folder.mkdir(parents=True)
    orphan, young, old = folder / digest, folder / "a.unfinished", folder / "b.unfinished"
    for path in (orphan, young, old):
        path.write_bytes(b"x")
    os.utime(old, (time.time() - 7200,) * 2)
    reopen()
    assert [path.exists() for path in (orphan, young, old)] == [False, True, False]
