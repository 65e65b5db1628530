"""Many users at once, each asking in a tab of their own; nobody may see a word of another.

`python -m tests.endurance.crowd 50 300` has fifty people ask for five minutes; `--comings 1000` has that many tabs come
and go before. It prints what went wrong, how long the first sign of an answer took, and what the server held.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import re
import secrets
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import psutil

from benchmarks.tables import print_milliseconds
from crag.app.application import open_application
from crag.settings import Settings
from tests.doubles.little_model import answer_like_a_little_model, question_in
from tests.doubles.ollama import ScriptedOllama
from tests.doubles.ollama_values import Asked, Say
from tests.endurance.tab import Tab, opened_tab
from tests.served import served

NOTES = b"# Brewing notes\n\nThe espresso machine in the kitchen is descaled every six weeks with citric acid."
PAUSE_SECONDS = 4.0  # between an answer and the next question, on average
QUESTIONS_OF_CONVERSATION = 4
AT_ONCE = 20
_MARK = re.compile(rb"mark(\d+)x\d+")


@dataclass
class Held:
    """What the server process holds: memory in MiB, threads, open files; and the seconds it has worked so far."""

    memory: float
    threads: int
    files: int
    worked: float

    def __str__(self) -> str:
        return f"{self.memory:.0f} MiB, {self.threads} threads, {self.files} descriptors, {self.worked:.0f} s worked"


@dataclass
class Seen:
    """What all of them saw."""

    answers: int = 0
    told: int = 0
    errors: list[str] = field(default_factory=list)
    first_sign: list[float] = field(default_factory=list)
    answered: list[float] = field(default_factory=list)
    held: dict[str, Held] = field(default_factory=dict)


def answer_by_question(asked: Asked) -> Say:
    """The little model, except that every passage is relevant and an answer repeats the mark of its question."""
    if asked.body.get("logprobs"):
        return Say("Yes")
    if "<knowledge>" not in asked.prompt:
        return Say(answer_like_a_little_model(asked))
    mark = re.search(r"mark\d+x\d+", question_in(asked.prompt))
    return Say(
        f"With citric acid, every six weeks [1]. Asked by {mark[0] if mark else 'nobody'} so far.", per_token=0.02
    )


@dataclass
class Person:
    """One who asks; whatever reaches their browser is looked through for the marks of others."""

    number: int
    seen: Seen
    asked: int = 0

    def look_through(self, data: bytes) -> None:
        """Somebody else's question or answer, anywhere in what was sent, is an error."""
        for other in {int(number) for number in _MARK.findall(data)} - {self.number}:
            self.seen.errors.append(f"{self.number} was sent something of {other}")

    async def ask_until(self, address: str, end: float) -> None:
        """Opens the page, asks once and then again and again, and looks at the conversations."""
        try:
            async with opened_tab(address, self.look_through) as tab:
                await self._ask(tab)
                while time.monotonic() < end:
                    if self.asked % QUESTIONS_OF_CONVERSATION == 0:
                        await self._look_at_conversations(tab)
                    await asyncio.sleep(random.uniform(0, 2 * PAUSE_SECONDS))
                    await self._ask(tab)
        except Exception as error:  # noqa: BLE001 — every failure of any kind is what is counted
            self.seen.errors.append(f"{self.number}, question {self.asked}: {error!r}")

    async def _ask(self, tab: Tab) -> None:
        self.asked += 1
        mark = f"mark{self.number}x{self.asked}"
        began = time.monotonic()
        answer = f"Asked by {mark} so far"
        await tab.ask(f"What is the espresso machine descaled with? {mark}")
        await tab.until(lambda: tab.shows("shimmer") or tab.shows(answer))  # a page drawn late shows the answer at once
        self.seen.first_sign.append(time.monotonic() - began)
        await tab.until(lambda: tab.shows("before yours") or tab.shows(answer))
        self.seen.told += not tab.shows(answer)
        await tab.until(lambda: tab.shows(answer))
        await tab.until(lambda: not any(button.button.label == "Stop" for button in tab.elements("button")))
        self.seen.answered.append(time.monotonic() - began)
        self.seen.answers += 1

    async def _look_at_conversations(self, tab: Tab) -> None:
        await tab.choose("History")
        await tab.until(lambda: any(f"mark{self.number}x" in one.button.label for one in tab.elements("button")))
        await tab.press("New")
        await tab.until(lambda: not tab.shows("Asked by"))


async def come_and_go(address: str, times: int) -> None:
    """Tabs of one browser that are opened and closed, some before anything is drawn."""
    cookies, secret = httpx.Cookies(), secrets.token_hex(32)
    async with opened_tab(address, cookies=cookies, secret=secret):
        pass
    places = asyncio.Semaphore(AT_ONCE)

    async def once() -> None:
        async with places, opened_tab(address, cookies=cookies, secret=secret, patient=random.random() < 0.5):
            pass

    await asyncio.gather(*(once() for _ in range(times)))


async def ask_together(address: str, people: int, seconds: float, seen: Seen) -> None:
    """All of them until the time is over; the server is looked at while the last of them are still there."""
    end = time.monotonic() + seconds
    crowd = [asyncio.create_task(Person(number, seen).ask_until(address, end)) for number in range(people)]
    await asyncio.sleep(max(0.0, end - 1 - time.monotonic()))
    seen.held["with all of them"] = held()
    await asyncio.gather(*crowd)


def held() -> Held:
    """What the application that this process serves holds now."""
    alive = [child for child in psutil.Process().children() if child.status() != psutil.STATUS_ZOMBIE]
    server = next(child for child in alive if any(one.endswith("launcher.py") for one in child.cmdline()))
    worked = server.cpu_times()
    memory = server.memory_info().rss / 2**20
    return Held(memory, server.num_threads(), server.num_fds(), worked.user + worked.system)


@contextmanager
def crowded(folder: Path) -> Iterator[str]:
    """The application on the notes, with the scripted model; gives its address."""
    home = folder / "home"
    application = open_application(Settings(home=home, chat_model="builtin", embedder="builtin"))
    application.library.pipeline.add_bytes("brewing.md", NOTES)
    application.close()
    with (
        ScriptedOllama(script=answer_by_question, slots=AT_ONCE) as ollama,
        served(home, OLLAMA_HOST=ollama.url, CRAG_EMBEDDER="builtin") as address,
    ):
        yield address


def live_with_a_crowd(folder: Path, people: int, seconds: float, comings: int = 0, quiet: float = 0.0) -> Seen:
    """Comings and goings, then all of them at once; `quiet` seconds after they left the server is looked at again."""
    seen = Seen()
    with crowded(folder) as address:
        asyncio.run(Person(0, seen).ask_until(address, time.monotonic()))  # opens what the first needs
        seen.answers -= 1
        seen.first_sign.clear()
        seen.answered.clear()
        seen.held["at the beginning"] = held()
        if comings:
            asyncio.run(come_and_go(address, comings))
            seen.held[f"after {comings} comings and goings"] = held()
        asyncio.run(ask_together(address, people, seconds, seen))
        time.sleep(quiet)
        asyncio.run(come_and_go(address, 1))  # what Streamlit forgets, it forgets when somebody comes
        seen.held[f"{quiet:.0f} s after they left"] = held()
    return seen


def main() -> None:
    """Prints what was seen."""
    arguments = argparse.ArgumentParser(prog="python -m tests.endurance.crowd", description=__doc__.splitlines()[0])
    arguments.add_argument("people", type=int)
    arguments.add_argument("seconds", type=float)
    arguments.add_argument("--comings", type=int, default=0)
    arguments.add_argument("--quiet", type=float, default=150.0, help="Streamlit keeps sessions for 120 s")
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        seen = live_with_a_crowd(Path(folder), given.people, given.seconds, given.comings, given.quiet)
    told = f"{seen.told} of those who asked were told their place in the queue"
    print(f"{seen.answers} answers, {len(seen.errors)} errors; {told}", *seen.errors[:20], sep="\n  ")
    print_milliseconds(
        f"{given.people} people for {given.seconds:.0f} s",
        {"first sign of the answer": seen.first_sign, "answer, whole": seen.answered},
    )
    for when, what in seen.held.items():
        print(f"{when:36}{what}")


if __name__ == "__main__":
    main()
