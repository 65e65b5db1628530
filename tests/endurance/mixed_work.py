"""A process that changes a library at random and announces and acknowledges each change on standard output.

`python -m tests.endurance.mixed_work HOME SEED NAME [DATABASE_URL]`: the first line of standard input is what is there
already, `{document: [id, version]}`. Each line of output is JSON: `["begin", n, deed]` before, `["done", n, deed,
result]` after
the library has acknowledged it. Whoever reads them knows what must be there, however the process ends: lines already
written survive it. The work ends with standard input.
"""

from __future__ import annotations

import hashlib
import json
import random
import sys
import threading
from itertools import count
from pathlib import Path
from typing import Any
from zlib import crc32

from crag.app.application import Application, open_application
from crag.errors import HomeFault
from crag.options import RunOptions
from crag.settings import Settings

THREADS = 2
_KINDS = {"add": 8, "change": 3, "remove": 2, "move": 2, "search": 2, "save": 1, "submit": 3, "ask": 4}  # and how often
_UPLOAD = "u"  # at the end of the name of a document that cannot be read again
COLLECTIONS = ("Documents", "Papers", "Contracts")
_WORDS = ("river", "stone", "lamp", "cloud", "winter", "harbour", "engine", "letter", "garden", "copper", "violin")


def text_of(name: str, version: int, size: int) -> str:
    """The text of a document: a first line that no other has, then prose of `size` paragraphs."""
    chance = random.Random(f"{name} {version}")
    lines = [f"Only {name} version {version} says {mark_of(name, version)}."]
    lines += [" ".join(chance.choices(_WORDS, k=60)).capitalize() + "." for _ in range(size)]
    return "\n\n".join(lines)


def mark_of(name: str, version: int) -> str:
    """The word by which one version of one document is found: letters alone, and none that a stemmer takes off."""
    digest = hashlib.sha256(f"{name} {version}".encode()).hexdigest()[:16]
    return digest.translate(str.maketrans("0123456789abcdef", "bcdfghjklmnpqrtv"))


def question_of(name: str) -> str:
    """The question that the deed of this name asks."""
    return f"What does {name} say of rivers?"


class Worker:
    """Does one deed after the other, with documents that no other worker touches."""

    def __init__(
        self, application: Application, files: Path, seed: str, own: str, known: dict[str, tuple[str, int]]
    ) -> None:
        self._application = application
        self._library = application.library
        self._files = files
        self._chance = random.Random(seed)
        self._own = own
        self._ids = {name: id_ for name, (id_, _) in known.items()}
        self._versions = {name: version for name, (_, version) in known.items()}

    def run(self, tell: Any, until: threading.Event) -> None:
        """Work until stopped."""
        for number in count():
            if until.is_set():
                return
            deed = self._choose(number)
            tell(["begin", f"{self._own}-{number}", deed])
            try:
                result: Any = self._do(deed)
            except HomeFault as fault:
                result = {"refused": str(fault)}
            except Exception as error:  # noqa: BLE001 — it is a fault of the application, which the reader reports
                result = {"error": repr(error)}
            if "refused" in result:  # it may have happened: no other deed may build on it
                self._ids.pop(deed["name"], None)
            tell(["done", f"{self._own}-{number}", deed, result])

    def _choose(self, number: int) -> dict[str, Any]:
        kind = self._chance.choices([*_KINDS], [*_KINDS.values()])[0]
        known = sorted(name for name in self._ids if kind != "change" or not name.endswith(_UPLOAD))
        if not known and kind in ("change", "remove", "move"):
            kind = "add"
        is_new = not known or kind in ("add", "submit", "ask")
        name = f"{self._own}x{number}{_UPLOAD * (kind == 'submit')}" if is_new else self._chance.choice(known)
        return {
            "kind": kind,
            "name": name,
            "version": self._versions.get(name, 0) + (kind in ("add", "change", "submit")),
            "size": self._chance.choice((1, 3, 40)),
            "collection": self._chance.choice(COLLECTIONS),
        }

    def _do(self, deed: dict[str, Any]) -> Any:
        act = getattr(self, f"_{deed['kind']}")
        return act(deed["name"], deed)

    def _add(self, name: str, deed: dict[str, Any]) -> Any:
        path = self._files / f"{name}.txt"
        path.write_text(text_of(name, deed["version"], deed["size"]))
        added = self._library.pipeline.add_path(path)
        return self._added(name, deed, added)

    def _change(self, name: str, deed: dict[str, Any]) -> Any:
        (self._files / f"{name}.txt").write_text(text_of(name, deed["version"], deed["size"]))
        (added,) = self._library.pipeline.refresh([self._ids[name]])
        return self._added(name, deed, added)

    def _added(self, name: str, deed: dict[str, Any], added: Any) -> Any:
        if added.error:
            return {"error": f"{added.error.code}: {added.error.message}"}
        self._versions[name], self._ids[name] = deed["version"], added.id
        return {"status": added.status}

    def _submit(self, name: str, deed: dict[str, Any]) -> Any:
        text = text_of(name, deed["version"], deed["size"])
        return {"job": self._application.jobs.submit_bytes(f"{name}.txt", text.encode())}

    def _ask(self, name: str, _deed: dict[str, Any]) -> Any:
        conversation = self._application.conversations.create().id
        self._application.runs.start(conversation, question_of(name), RunOptions(web="off"))
        return {"conversation": conversation}

    def _remove(self, name: str, _deed: dict[str, Any]) -> Any:
        gone = self._library.remove([self._ids.pop(name)])
        return {"removed": len(gone)}

    def _move(self, name: str, deed: dict[str, Any]) -> Any:
        (moved,) = self._library.move([self._ids[name]], deed["collection"])
        return {"status": moved.status}

    def _search(self, name: str, deed: dict[str, Any]) -> Any:
        version = self._versions.get(name)
        if version is None:
            return {}
        hits = self._library.search(mark_of(name, version), k=2)
        return {"found": any(mark_of(name, version) in hit.text for hit in hits)}

    def _save(self, _name: str, _deed: dict[str, Any]) -> Any:
        self._library.save()
        return {}


def open_home(home: Path, url: str = "") -> Application:
    """The application with what is built in, as all processes of a trial open it."""
    return open_application(Settings(home=home, chat_model="builtin", embedder="builtin", database_url=url))


def main(home: Path, seed: str, own: str, url: str = "") -> None:
    """Works until standard input ends."""
    application = open_home(home, url)
    files = home.parent / "files"
    files.mkdir(exist_ok=True)
    known = json.loads(sys.stdin.readline())
    lock, until = threading.Lock(), threading.Event()

    def tell(line: Any) -> None:
        with lock:
            print(json.dumps(line), flush=True)

    tell(["owner", application.database.owner_name(), None])
    workers = []
    for n in range(THREADS):
        share = {name: held for name, held in known.items() if crc32(name.encode()) % THREADS == n}
        workers.append(Worker(application, files, f"{seed} {n}", f"{own}{n}", share))
    threads = [threading.Thread(target=worker.run, args=(tell, until)) for worker in workers]
    for thread in threads:
        thread.start()
    sys.stdin.read()
    until.set()
    for thread in threads:
        thread.join()
    application.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
