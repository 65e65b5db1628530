"""Ingest benchmark: a folder of text files to a durable, searchable library, compared with LangChain.

The input is 50 MB of English-looking prose (set CRAG_BENCH_MB for less) as files of 200 KB, and one file of 18 MB. Each
contender runs in a separate process, one after the other. LangChain uses `RecursiveCharacterTextSplitter`,
`FAISS.from_documents` and `save_local`, which stores no full text and no originals and does not sync to disk.
*WordLlama* is the model as run by its package, the usual choice with LangChain; *our embedder* gives LangChain the same
vectors at our speed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import psutil

from benchmarks.prose import write_corpus

MEGABYTES = int(os.environ.get("CRAG_BENCH_MB", "50"))
FILE_BYTES = 200_000
LARGE_FILE_BYTES = 18_000_000
OUR_PASSAGE_CHARACTERS = 865  # mean length of our passages of this prose, so that LangChain makes as many
SAMPLE_SECONDS = 0.02


def main() -> None:
    """Write the texts, then measure and print each contender."""
    with tempfile.TemporaryDirectory() as name:
        many, one = Path(name) / "many", Path(name) / "one"
        many.mkdir()
        one.mkdir()
        write_corpus(many, MEGABYTES * 1_000_000 // FILE_BYTES, FILE_BYTES)
        write_corpus(one, 1, min(LARGE_FILE_BYTES, MEGABYTES * 1_000_000))
        for folder in (many, one):
            files = list(folder.iterdir())
            size = sum(file.stat().st_size for file in files)
            print(f"\n{size / 1e6:.1f} MB of text in {len(files)} files")
            _compare(folder, size)


def _compare(folder: Path, size: int) -> None:
    print(f"{'':44}{'seconds':>9}{'MB/s':>8}{'processor s':>13}{'passages':>10}{'peak MB':>9}{'times ours':>12}")
    ours = 0.0
    for name in CONTENDERS:
        done = _run(name, folder)
        ours = ours or done["seconds"]
        speed, ratio = size / 1e6 / done["seconds"], done["seconds"] / ours
        print(
            f"{name:44}{done['seconds']:>9.1f}{speed:>8.2f}{done['processor']:>13.1f}{done['passages']:>10,}"
            f"{done['peak'] / 1e6:>9.0f}{ratio:>12.2f}"
        )


def _run(contender: str, folder: Path) -> dict[str, float]:
    """Run one contender; return its report with the peak resident memory in bytes of all its processes together."""
    with tempfile.TemporaryDirectory() as home:
        command = [sys.executable, "-m", "benchmarks.ingest", contender, str(folder), home]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        peak = 0
        while process.poll() is None:
            peak = max(peak, _resident(process.pid))
            time.sleep(SAMPLE_SECONDS)
        output, _ = process.communicate()
    if process.returncode:
        raise SystemExit(f"{contender} failed")
    done: dict[str, float] = json.loads(output.splitlines()[-1])
    return done | {"peak": peak}


def _resident(pid: int) -> int:
    """Return resident bytes of a process and its children; pages shared after a fork count twice."""
    total = 0
    try:
        parent = psutil.Process(pid)
        for process in [parent, *parent.children(recursive=True)]:
            total += process.memory_info().rss
    except psutil.NoSuchProcess:
        pass
    return total


def _ours(folder: Path, home: Path) -> int:
    from crag.app.application import open_application
    from crag.settings import Settings

    application = open_application(Settings(home=home, chat_model="builtin", embedder="builtin"))
    try:
        results = list(application.library.pipeline.add(str(folder)))
        application.library.warm()
        application.library.save()
    finally:
        application.close()
    failed = next((result.error for result in results if result.error), None)
    if failed:
        raise SystemExit(failed.message)
    return sum(result.passages for result in results)


def _langchain(folder: Path, home: Path, embed: Callable[[list[str]], list[list[float]]], **options: int) -> int:
    from langchain_community.vectorstores import FAISS
    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    class Wrapped(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return embed(texts)

        def embed_query(self, text: str) -> list[float]:
            return embed([text])[0]

    files = sorted(folder.iterdir())
    documents = [Document(file.read_text(encoding="utf-8"), metadata={"source": str(file)}) for file in files]
    chunks = RecursiveCharacterTextSplitter(**options).split_documents(documents)
    FAISS.from_documents(chunks, Wrapped()).save_local(str(home))
    return len(chunks)


def _wordllama(texts: list[str]) -> list[list[float]]:
    from wordllama import WordLlama

    folder = Path(sys.modules["wordllama"].__file__ or "").parent
    model = WordLlama.load(cache_dir=folder, dim=256, disable_download=True)
    rows: list[list[float]] = model.embed(texts, norm=True).tolist()
    return rows


def _our_embedder(texts: list[str]) -> list[list[float]]:
    from crag.models.embedders import open_embedder
    from crag.settings import Settings

    rows: list[list[float]] = open_embedder("builtin", Settings()).embed_documents(texts).tolist()
    return rows


CONTENDERS: dict[str, Callable[[Path, Path], int]] = {
    "CRAG Chat": _ours,
    "LangChain, 1,000 characters, WordLlama": lambda folder, home: _langchain(
        folder, home, _wordllama, chunk_size=1000, chunk_overlap=0
    ),
    "LangChain, as many passages, WordLlama": lambda folder, home: _langchain(
        folder, home, _wordllama, chunk_size=OUR_PASSAGE_CHARACTERS, chunk_overlap=0
    ),
    "LangChain, as it comes, WordLlama": lambda folder, home: _langchain(folder, home, _wordllama, chunk_size=1000),
    "LangChain, 1,000 characters, our embedder": lambda folder, home: _langchain(
        folder, home, _our_embedder, chunk_size=1000, chunk_overlap=0
    ),
}


def _run_contender(contender: str, folder: Path, home: Path) -> None:
    """Run one contender in this process and print its report; imports are not timed, opening models is."""
    import warnings

    warnings.simplefilter("ignore")  # langchain-community warns of its deprecation
    for module in (
        "langchain_community.vectorstores.faiss",
        "langchain_text_splitters",
        "wordllama",
        "crag.app.application",
    ):
        import_module(module)
    began, spent = time.perf_counter(), _processor_seconds()
    passages = CONTENDERS[contender](folder, home)
    seconds = time.perf_counter() - began
    print(json.dumps({"seconds": seconds, "processor": _processor_seconds() - spent, "passages": passages}))


def _processor_seconds() -> float:
    """Return processor seconds used so far by this process and its children."""
    total = 0.0
    for process in [psutil.Process(), *psutil.Process().children(recursive=True)]:
        total += sum(process.cpu_times()[:4])  # user and system time, own and of ended children
    return total


if __name__ == "__main__":
    _run_contender(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
