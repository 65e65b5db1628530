"""Command that keeps a collection of a server in step with a folder of another machine: send."""

from __future__ import annotations

import argparse
import hashlib
import secrets
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from http import HTTPStatus
from pathlib import Path
from typing import Any, Self

import httpx
from pydantic import TypeAdapter

from crag.app import reports
from crag.app.reports import Json
from crag.cancellation import Cancellation
from crag.cli.arguments import FAILED, OK, AddCommand, parse_path, parse_text
from crag.cli.folders import add_rule_arguments
from crag.cli.tasks import cancel_on_signals
from crag.cli.terminal import print_json, print_note, print_text
from crag.errors import BadRequest, CragError, NotFound, Stopped
from crag.ingest.folder_watch import (
    ChangeDetector,
    FileState,
    FolderChanges,
    FolderLook,
    FolderRules,
    FolderScanner,
    open_below,
)
from crag.library.watched_folders import LookPace
from crag.settings import Settings, parse_web_address
from crag.storage.files import make_folder, write_atomically, write_fault
from crag.translation import N_, _, translate_text
from crag.types import AddResult, Refusal

_SETTLE_SECONDS = 1.0  # a file must be unchanged this long
_FILES_PER_BATCH = 50
_POLL_SECONDS = 0.3
_RETRY_SECONDS = 10.0
_TIMEOUT_SECONDS = 60.0
_LONG_PAUSE_SECONDS = 5.0
_PASSING = ("unreachable", "embedding_failed")  # refusals that may not hold next time
_MAKE_TOKEN = N_("Make one there, and set CRAG_TOKEN to it.")
_BUSY = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.CONFLICT)


def register(command: AddCommand) -> None:
    """Add the parser of this command."""
    parser = command("send", send_folder, early=True)
    parser.add_argument("folder", type=parse_path, metavar="FOLDER", help="folder on this machine")
    parser.add_argument("--to", type=parse_text, required=True, metavar="URL", help="address of the server")
    parser.add_argument(
        "--token", type=parse_text, default="", help="token of the server with the scope write (default: CRAG_TOKEN)"
    )
    parser.add_argument("--collection", type=parse_text, default="", help="collection of the server to keep in step")
    add_rule_arguments(parser)
    parser.add_argument("--watch", action="store_true", help="keep watching, and send what changes until Ctrl-C")


def send_folder(settings: Settings, options: argparse.Namespace) -> int:
    """Send a folder of this machine to a server: new and changed files, and which files are gone.

    What was sent is recorded in the data folder of this machine, so that next time only changes are sent.
    """
    address = parse_web_address("--to", options.to)
    token = options.token or settings.send_token
    if not token:
        raise BadRequest("There is no token for the server.", _MAKE_TOKEN)
    if not (token.isascii() and token.isprintable()):  # no header can hold it
        raise BadRequest("This token is not known.", _MAKE_TOKEN)
    with cancel_on_signals() as stop, ServerDocuments(address, token, options.collection, stop) as server:
        sender = FolderSender(server, settings, options)
        try:
            sender.keep_sending(stop) if options.watch else sender.send_changes(stop)
            complete = True
        except Stopped:
            print_note(_("Stopped. Send again to continue."))
            complete = False
    if options.json:
        print_json(sender.document() | {"complete": complete})
    return OK if complete and not any(one.error for one in sender.results) else FAILED


class _Unreachable(CragError):
    """The server does not answer now, or the folder cannot be read now; another try may succeed."""

    code = "unreachable"


class _TooLarge(BadRequest):
    """The server takes no file as large as this one."""

    code = "too_large"


class ServerDocuments:
    """The documents of a collection on a server, over its API. Every method raises `CragError` and `Stopped`."""

    def __init__(self, address: str, token: str, collection: str, stop: Cancellation) -> None:
        self._client = httpx.Client(
            base_url=f"{address}/api/v1", headers={"Authorization": f"Bearer {token}"}, timeout=_TIMEOUT_SECONDS
        )
        self._collection = collection
        self._stop = stop

    def __enter__(self) -> Self:
        """Return the documents; the connection is closed at the end of the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the connection."""
        self._client.close()

    def submit(self, name: str, data: bytes, key: str) -> str:
        """Upload a file and return the job that reads it; the same job if this `key` came before."""
        files, form = {"file": (name, data)}, {"collection": self._collection}
        reply = self._request("POST", "/documents/files", files=files, data=form, headers={"Idempotency-Key": key})
        return str(reply["job"])

    def wait(self, job_id: str) -> tuple[AddResult, ...]:
        """Return the results of a job once it has ended. Raises `NotFound` if it was dismissed."""
        while (job := self._request("GET", f"/jobs/{job_id}"))["state"] in ("waiting", "working"):
            self._pause(_POLL_SECONDS)
        return TypeAdapter(tuple[AddResult, ...]).validate_python(job["results"])

    def remove(self, document_id: str) -> None:
        """Remove a document, if it is still there."""
        with suppress(NotFound):
            self._request("DELETE", f"/documents/{document_id}")

    def _request(self, method: str, path: str, **content: Any) -> Json:
        while True:
            self._stop.check()
            try:
                reply = self._client.request(method, path, **content)
            except httpx.TransportError as error:
                raise _Unreachable(
                    "The server does not answer.", "Check its address and that it is running."
                ) from error
            if reply.status_code not in _BUSY:
                return _read_reply(reply)
            given = reply.headers.get("retry-after", "")
            seconds = float(given) if given.isdecimal() else 1.0
            if seconds > _LONG_PAUSE_SECONDS:
                print_note(translate_text(_describe_refusal(reply)))
            self._pause(seconds)

    def _pause(self, seconds: float) -> None:
        if self._stop.wait(seconds):
            raise Stopped


def _read_reply(reply: httpx.Response) -> Json:
    """Return the document of a reply, or raise the error that it describes."""
    if reply.is_success:
        with suppress(ValueError):
            return dict(reply.json())
    message = _describe_refusal(reply)
    if reply.is_server_error:
        raise _Unreachable(message)
    if reply.status_code == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        raise _TooLarge(message)
    raise NotFound(message) if reply.status_code == HTTPStatus.NOT_FOUND else BadRequest(message)


def _describe_refusal(reply: httpx.Response) -> str:
    try:
        return str(reply.json()["detail"])
    except (ValueError, LookupError, TypeError):
        return N_(f"{reply.url.host} is not a CRAG Chat server, or its API is off (status {reply.status_code}).")


_KnownFile = tuple[int, int, str]  # the state of a file, and its SHA-256 or the key of an upload


@dataclass(slots=True)
class _SentFiles:
    """What the server has of a folder: for each path the file as it was sent, and the ids of its documents.

    `pending` holds the state of each file of which an upload was begun, and the key of that upload.
    """

    files: dict[str, _KnownFile] = field(default_factory=dict)
    documents: dict[str, tuple[str, ...]] = field(default_factory=dict)
    pending: dict[str, _KnownFile] = field(default_factory=dict)
    devices: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Upload:
    """An upload: the SHA-256 of the file, and the job that reads it, or why there is none."""

    digest: str
    job: str = ""
    refusal: Refusal | None = None


class FolderSender:
    """Sends the changes of a folder, and remembers the files that it has sent in a file of the home."""

    def __init__(self, server: ServerDocuments, settings: Settings, options: argparse.Namespace) -> None:
        self.results: list[AddResult] = []
        self._removed: list[str] = []
        self._skipped: set[tuple[str, FileState]] = set()  # not tried again by this process
        self._silent = options.json
        self._server = server
        self._root: Path = options.folder.resolve()
        self._home = settings.home
        place = f"{options.to.rstrip('/')} {options.collection} {self._root}"
        self._notes = self._home / "sent" / f"{hashlib.sha256(place.encode()).hexdigest()[:16]}.json"
        self._sent = self._read_notes()
        home = self._home.resolve()
        skipped = (home.relative_to(self._root).as_posix(),) if home.is_relative_to(self._root) else ()
        rules = FolderRules(
            tuple(options.include), tuple(options.exclude), options.subfolders, settings.max_upload_bytes, skipped
        )
        self._scanner = FolderScanner(self._root, rules, self._sent.devices)
        self._detector = ChangeDetector(self._root)
        self._look = FolderLook()
        self._changes = FolderChanges()

    def document(self) -> Json:
        """Return the results, and the files that were left alone."""
        return {
            "sources": [asdict(one) for one in self.results],
            "removed": self._removed,
            "ignored": self._look.ignored,
            "writing": self._changes.writing,
        }

    def send_changes(self, stop: Cancellation) -> None:
        """Compare twice, and send the changes that both comparisons found. Raises `CragError`, `Stopped`."""
        self._compare()
        if stop.wait(_SETTLE_SECONDS):
            raise Stopped
        self._compare()
        if not (self._changes or self._changes.writing):
            self._say(_("Nothing has changed since the last time."))
        self._apply()
        for path in self._changes.writing:
            self._say(_("○ {path}: still being written; send again later").format(path=path))

    def keep_sending(self, stop: Cancellation) -> None:
        """Send changes until `stop`. Tries again while the server or the folder is missing.

        Raises `CragError`, `Stopped`.
        """
        pace, fault, pause = LookPace(), "", 0.0
        self._say(_("Watching {root}. Ctrl-C ends it.").format(root=self._root))
        while not stop.wait(pause):
            try:
                began = time.thread_time()
                self._compare()
                pause = pace.next_pause(time.thread_time() - began, is_settled=self._changes.is_settled)
                self._apply()
                fault = ""
            except _Unreachable as error:
                if str(error) != fault:
                    print_note(translate_text(str(error)))
                pause, fault = _RETRY_SECONDS, str(error)

    def _say(self, line: str) -> None:
        if not self._silent:
            print_text(line)

    def _compare(self) -> None:
        """Find the changes of the folder since it was last sent. Raises `_Unreachable`."""
        try:
            self._look = self._scanner.look()
        except OSError as error:
            raise _Unreachable(
                "The folder is missing or not mounted, so nothing was sent or removed.", "Check its path."
            ) from error
        self._sent.devices = self._look.devices
        self._changes = self._detector.compare(self._look, self._sent.files)

    def _apply(self) -> None:
        changes, files, states = self._changes, self._sent.files, self._look.files
        if not (changes or changes.touched):
            return
        try:
            files |= {path: (*states[path], files[path][2]) for path in changes.touched}
            for old, new in changes.renamed:
                files[new] = (*states[new], files.pop(old)[2])
                self._sent.documents[new] = self._sent.documents.pop(old)
                self._say(_("→ {old}: is now {new}").format(old=old, new=new))
            for path in changes.vanished:
                self._remove(path)
            changed = [one for one in (*changes.changed, *changes.new) if (one, states[one]) not in self._skipped]
            for start in range(0, len(changed), _FILES_PER_BATCH):
                self._send(changed[start : start + _FILES_PER_BATCH])
        finally:
            self._write_notes()

    def _remove(self, path: str) -> None:
        self._drop(self._sent.documents[path], path)
        del self._sent.files[path], self._sent.documents[path]
        self._removed.append(path)
        self._say(_("− {path}: removed").format(path=path))

    def _drop(self, document_ids: Iterable[str], path: str) -> None:
        """Remove documents of a file, except those that another file has, too."""
        kept = {one for other, ids in self._sent.documents.items() if other != path for one in ids}
        for one in document_ids:
            if one not in kept:
                self._server.remove(one)

    def _send(self, paths: Sequence[str]) -> None:
        """Upload some files, then wait for their jobs.

        The keys of the uploads are noted first: sent again under the same key, a file has no second effect.
        """
        pending = self._sent.pending
        for path in paths:
            state = self._look.files[path]
            if path not in pending or pending[path][:2] != state:
                pending[path] = (*state, secrets.token_hex(16))
        self._write_notes()
        for path, upload in {path: self._submit(path) for path in paths}.items():
            self._conclude(path, upload)
            del pending[path]

    def _submit(self, path: str) -> _Upload:
        try:
            with open_below(self._root, path) as file:
                data = file.read()
        except OSError:
            return _Upload("", refusal=Refusal("unreachable", "It cannot be read."))
        digest = hashlib.sha256(data).hexdigest()
        try:
            return _Upload(digest, self._server.submit(path.rpartition("/")[2], data, self._sent.pending[path][2]))
        except _TooLarge as error:
            return _Upload(digest, refusal=Refusal(error.code, str(error)))

    def _conclude(self, path: str, upload: _Upload) -> None:
        """Note the documents of a file, and remove those of its earlier version.

        A document that was on the server already is noted only if another file of the folder brought it: otherwise it
        is not ours to remove. If nothing could be added, the documents of the earlier version stay.
        """
        state, name, results = self._look.files[path], path.rpartition("/")[2], tuple[AddResult, ...]()
        with suppress(NotFound):  # the job was dismissed
            results = self._server.wait(upload.job) if upload.job else ()
        refusal = upload.refusal or Refusal("unreachable", "The server no longer has this upload.")
        results = results or (AddResult(name, None, name, "failed", error=refusal),)
        if results[0].error and results[0].error.code in _PASSING:
            self._skipped.add((path, state))
        else:
            self._note(path, state, upload.digest, results)
        for one in results:
            self.results.append(replace(one, source=path.removesuffix(name) + one.source))
            self._say(reports.added_text(self.results[-1]))

    def _note(self, path: str, state: FileState, digest: str, results: Sequence[AddResult]) -> None:
        documents = self._sent.documents
        before, own = documents.get(path, ()), {one for ids in documents.values() for one in ids}
        ids = tuple(one.id for one in results if one.id and (one.status != "unchanged" or one.id in own))
        if all(one.error for one in results):
            ids = before
        self._drop((one for one in before if one not in ids), path)
        self._sent.files[path], documents[path] = (*state, digest), ids

    def _read_notes(self) -> _SentFiles:
        try:
            return TypeAdapter(_SentFiles).validate_json(self._notes.read_bytes())
        except FileNotFoundError:
            return _SentFiles()
        except (OSError, ValueError) as error:
            raise BadRequest(f"{self._notes} cannot be read.", "Delete it to send everything again.") from error

    def _write_notes(self) -> None:
        noted = TypeAdapter(_SentFiles).dump_json(self._sent)
        try:
            make_folder(self._home, exist_ok=True)
            write_atomically(self._notes, lambda file: file.write(noted), self._home)
        except OSError as error:
            raise write_fault(error) from error
