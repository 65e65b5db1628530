"""Screen response times in a real browser, with 200 documents and a conversation of 500 messages.

Run with `python -m benchmarks.browser [ROUNDS]`. Times are measured inside the page, from the click or key press to the
first frame that shows the result. Clicks on an empty Streamlit page are measured in between, as the baseline of the
machine.
"""

from __future__ import annotations

import io
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page, WebSocket, sync_playwright
from reportlab.pdfgen.canvas import Canvas

from benchmarks.start import free_port, start_server
from benchmarks.tables import percentile
from crag.app.application import Application, open_application
from crag.options import RunOptions
from crag.settings import Settings
from tests.doubles.little_model import question_in
from tests.doubles.ollama import ScriptedOllama
from tests.doubles.ollama_connection import Due
from tests.doubles.ollama_values import Asked, Say
from tests.e2e.browser import launch, open_page
from tests.served import served

SOURCES, MESSAGES, ROUNDS = 200, 500, 15
HARBOURS = ("Lisbon", "Genoa", "Hamburg", "Odessa", "Bergen")  # one on each page of a PDF
WORDS = 60
EMPTY = """import streamlit as st
st.session_state.n = st.session_state.get("n", 0) + 1
st.button("Again")
st.title(f"Drawn {st.session_state.n}")
"""
# Resolves with the milliseconds from the event to the first frame after which `there` holds; fails after half a minute.
_ARM = """([event, there]) => { window.__measured = new Promise((resolve, reject) => {
  setTimeout(() => reject(new Error(`not seen: ${there}`)), 30_000)
  const holds = new Function("return " + there)
  document.addEventListener(event, (first) => {
    const look = () => holds() ? requestAnimationFrame(() => resolve(performance.now() - first.timeStamp))
                               : requestAnimationFrame(look)
    look()
  }, { once: true, capture: true })
}) }"""
_WATCH_ANSWER = """(question) => { window.__words = {}; window.__finished = 0
  const look = () => {
    const messages = [...document.querySelectorAll("[data-testid=stChatMessage]")], last = messages.at(-1)
    const finished = messages.at(-2)?.textContent.includes(question) && last.querySelector(".stMarkdownBadge")
    if (finished && !window.__finished) requestAnimationFrame(() => { window.__finished ||= Date.now() })
    const all = last?.textContent.match(/w\\d+x\\d+w/g) ?? []
    for (const word of all) window.__words[word] ??= Date.now()
    window.__watching = requestAnimationFrame(look)
  }
  look() }"""
_MAIN = 'document.querySelector("[data-testid=stMain]")'
_SIDEBAR = 'document.querySelector("[data-testid=stSidebar]")'
_SHOWN = {
    "Documents": f'{_MAIN}.querySelector("[data-testid=stDataFrame] canvas")',
    "Settings": f'{_MAIN}.querySelector("h1")?.textContent == "Settings"',
    "Inspect": f'{_MAIN}.querySelector("h1")?.textContent == "Inspect"',
    "Chat": f'{_MAIN}.querySelectorAll("[data-testid=stChatMessage]").length > 10',
}


class TimestampingOllama(ScriptedOllama):
    """A model server that records when it sent each word of an answer, in milliseconds."""

    sent: dict[str, float]

    def next_token_due(self, asked: Asked, say: Say) -> Due:
        """Record when the previous word was sent, then return the time of the next one."""
        if "<knowledge>" in asked.prompt:
            self.sent.setdefault(_answer_word(asked, asked.tokens_sent - 1), 1000 * time.time())
        return super().next_token_due(asked, say)


class Traffic:
    """WebSocket traffic from the server to a page since the last call of `take`."""

    def __init__(self, page: Page) -> None:
        self._frames: list[int] = []
        page.on("websocket", self._listen)

    def _listen(self, socket: WebSocket) -> None:
        socket.on("framereceived", lambda data: self._frames.append(len(data)))

    def take(self) -> tuple[int, int]:
        """Return the number of messages and of bytes, and reset both."""
        frames, self._frames[:] = list(self._frames), []
        return len(frames), sum(frames)


class Table:
    """Measured times and traffic by action."""

    def __init__(self) -> None:
        self.times: dict[str, list[float]] = {}
        self.traffic: dict[str, tuple[int, int]] = {}

    def add(self, what: str, milliseconds: float, traffic: tuple[int, int] = (0, 0)) -> None:
        """Add one measured time."""
        self.times.setdefault(what, []).append(milliseconds)
        self.traffic[what] = traffic

    def show(self) -> None:
        """Print median, 95th percentile, and the ratio to the empty page."""
        base = statistics.median(self.times["empty page"])
        print(f"\n{'':28}{'median ms':>10}{'p95 ms':>9}{'n':>5}{'× empty':>9}{'messages':>10}{'KB':>7}")
        for what, values in self.times.items():
            middle, (messages, size) = statistics.median(values), self.traffic[what]
            print(
                f"{what:28}{middle:>10.0f}{percentile(values, 0.95):>9.0f}{len(values):>5}{middle / base:>9.1f}"
                f"{messages:>10}{size / 1000:>7.0f}"
            )


class Screen:
    """The page under measurement, its traffic, and what runs behind it."""

    def __init__(self, page: Page, home: Path, ollama: TimestampingOllama) -> None:
        self.page, self.home, self.ollama = page, home, ollama
        self.traffic = Traffic(page)

    def pause(self) -> None:
        """Let the page come to rest and forget the traffic so far."""
        self.page.wait_for_timeout(300)
        self.traffic.take()

    def settle(self) -> tuple[int, int]:
        """Let the page come to rest and return the traffic since the pause."""
        self.page.wait_for_timeout(300)
        return self.traffic.take()

    def last_run_end(self) -> float:
        """Return when the latest run ended, in milliseconds since the epoch."""
        with sqlite3.connect(self.home / "crag.sqlite") as database:
            query = (
                "SELECT started_at + json_extract(body, '$.at') AS ended FROM runs JOIN events ON id = run_id"
                " WHERE ended IS NOT NULL ORDER BY started_at DESC, number DESC"
            )
            (ended,) = database.execute(query).fetchone()
        return 1000 * float(ended)


def main(rounds: int = ROUNDS) -> None:
    """Fill a home, measure and print."""
    with (
        tempfile.TemporaryDirectory() as folder,
        TimestampingOllama(per_token=0.02) as ollama,
        sync_playwright() as playwright,
    ):
        ollama.sent = {}
        ollama.script = _scripted_answer
        _fill_home(Path(folder) / "home")
        browser = launch(playwright)
        home = Path(folder) / "home"
        with (
            served(home, OLLAMA_HOST=ollama.url, CRAG_EMBEDDER="builtin", CRAG_PEOPLE="one") as address,
            _serve_empty_page(Path(folder)) as bare,
        ):
            pages = [browser.new_page(viewport={"width": 1440, "height": 900}, bypass_csp=True) for _ in range(2)]
            _measure(Screen(pages[0], home, ollama), address, pages[1], bare, rounds).show()
        browser.close()


def _measure(screen: Screen, address: str, empty: Page, bare: str, rounds: int) -> Table:
    table, page = Table(), screen.page
    empty.goto(bare)
    empty.get_by_role("heading", name="Drawn 1").wait_for()
    open_page(page, address)
    page.get_by_test_id("stSidebar").get_by_text("History", exact=True).click()
    page.get_by_role("button", name="The long one").wait_for()
    for _ in range(rounds):
        _click_on_empty(empty, table)
        _open_conversations(screen, table)
        _switch_pages(screen, table)
    for number in range(rounds):
        _click_on_empty(empty, table)
        _ask(screen, f"What is said of topic {number}, question {number}?", table)
    _open_sources(screen, table)
    page.get_by_test_id("stSidebar").get_by_role("button", name="The quick one").first.click()
    page.get_by_text("question 0?").first.wait_for()
    for number in range(1, rounds + 1):
        _click_on_empty(empty, table)
        _ask(screen, f"What is said of topic {number}, question {number}?", table, "built-in: ")
    return table


def _time_action(page: Page, event: str, there: str, act: Callable[[], None]) -> float:
    page.evaluate(_ARM, [event, there])
    act()
    return float(page.evaluate("window.__measured"))


def _click_on_empty(page: Page, table: Table) -> None:
    drawn = int(page.locator("h1").inner_text().split()[1])
    there = f'document.querySelector("h1")?.textContent == "Drawn {drawn + 1}"'
    table.add("empty page", _time_action(page, "click", there, page.get_by_role("button", name="Again").click))
    page.wait_for_timeout(100)


def _open_conversations(screen: Screen, table: Table) -> None:
    for title, last in (("The short one", "question 0?"), ("The long one", f"question {MESSAGES // 2 - 1}?")):
        shown = f'[...{_MAIN}.querySelectorAll("[data-testid=stChatMessage]")].at(-2)?.textContent.includes("{last}")'
        screen.pause()
        button = screen.page.get_by_test_id("stSidebar").get_by_role("button", name=title).first
        taken = _time_action(screen.page, "click", shown, button.click)
        table.add(f"open {title.lower()}", taken, screen.settle())


def _switch_pages(screen: Screen, table: Table) -> None:
    for name, there in _SHOWN.items():
        link = screen.page.get_by_test_id("stHeader").get_by_role("link", name=name)
        if not link.count():
            continue
        screen.pause()
        taken = _time_action(screen.page, "click", there, link.click)
        table.add(f"to {name}", taken, screen.settle())


def _open_sources(screen: Screen, table: Table) -> None:
    """Open the drawer on pages that nobody has looked at before."""
    page = screen.page
    page.get_by_test_id("stSidebar").get_by_text("History", exact=True).click()
    page.get_by_test_id("stSidebar").get_by_role("button", name="The one on paper").first.click()
    page.get_by_text(HARBOURS[0]).first.wait_for()
    for number in range(len(HARBOURS)):
        answer = page.get_by_test_id("stChatMessage").nth(2 * number + 1)
        screen.pause()
        shown = (
            '[...document.querySelectorAll("[role=dialog] *")].some((one) => {'
            'const picture = one.shadowRoot?.querySelector("img"); return picture?.complete && picture.naturalWidth })'
        )
        taken = _time_action(page, "click", shown, answer.locator('a[href^="#cite-"]').first.click)
        table.add("drawer with picture", taken, screen.settle())
        page.keyboard.press("Escape")
        page.get_by_role("dialog").wait_for(state="hidden")


def _ask(screen: Screen, question: str, table: Table, prefix: str = "") -> None:
    page, sent = screen.page, screen.ollama.sent
    page.get_by_test_id("stSidebar").get_by_text("Trace", exact=True).click()
    box = page.get_by_test_id("stChatInputTextArea")
    box.fill(question)
    sent.clear()
    page.evaluate(_WATCH_ANSWER, question)
    screen.pause()
    step = f"(/^.*{question[:-1]}.*(Understand|Condense|Retrieve|Find)/).test({_SIDEBAR}.textContent)"
    began = 1000 * time.time()
    table.add(f"{prefix}first trace event", _time_action(page, "keydown", step, lambda: box.press("Enter")))
    page.wait_for_function("window.__finished", timeout=60_000)
    traffic = screen.settle()
    finished, seen = page.evaluate("[window.__finished, cancelAnimationFrame(window.__watching) ?? window.__words]")
    table.add(f"{prefix}run's end to answer", finished - screen.last_run_end(), traffic)
    table.add(f"{prefix}Enter to answer", finished - began)
    for word, at in list(sent.items()):
        if word in seen:
            table.add("token to screen", seen[word] - at)


def _scripted_answer(asked: Asked) -> Say:
    if asked.body.get("logprobs"):
        return Say("Yes")
    if "<knowledge>" in asked.prompt:
        return Say(" ".join(_answer_word(asked, number) for number in range(WORDS)) + " [1].")
    return Say(question_in(asked.prompt))  # condense and rewrite must keep the number that identifies the answer


def _answer_word(asked: Asked, number: int) -> str:
    """Return a word of the answer to this question that occurs in no other answer."""
    return f"w{question_in(asked.prompt).rstrip('?').split()[-1]}x{number}w"


def _fill_home(home: Path) -> None:
    application = open_application(Settings(home=home, chat_model="builtin", embedder="builtin"))
    try:
        for number in range(SOURCES):
            text = f"# Topic {number}\n\nOf question {number} is said that it was settled in the year {1800 + number}."
            application.library.pipeline.add_bytes(f"topic {number}.md", text.encode())
        application.library.pipeline.add_bytes("harbours.pdf", _harbours())
        _add_conversation(application, "The short one", _topics(1))
        _add_conversation(application, "The long one", _topics(MESSAGES // 2))
        _add_conversation(
            application, "The one on paper", (f"In which year was the harbour of {name} dredged?" for name in HARBOURS)
        )
        quick = _add_conversation(application, "The quick one", _topics(1))
        application.conversations.set_changes(quick, {"model": "builtin"})
    finally:
        application.close()


def _topics(questions: int) -> list[str]:
    return [f"What is said of topic {number % SOURCES}, question {number}?" for number in range(questions)]


def _add_conversation(application: Application, title: str, questions: Iterable[str]) -> str:
    conversation = application.conversations.create({"model": "builtin"})
    for question in questions:
        for _ in application.runs.start(conversation.id, question, RunOptions(model="builtin")).follow():
            pass
    application.conversations.rename(conversation.id, title)
    application.conversations.set_changes(conversation.id, {})
    return conversation.id


def _harbours() -> bytes:
    """Return a PDF with one fact on each page."""
    out = io.BytesIO()
    canvas = Canvas(out)
    for year, name in enumerate(HARBOURS, 1700):
        canvas.drawString(80, 700, f"The harbour of {name} was dredged in the year {year}.")
        for line in range(30):
            canvas.drawString(
                80, 660 - 18 * line, f"Line {line}: ships from {name} carry salt and timber to the north."
            )
        canvas.showPage()
    canvas.save()
    return out.getvalue()


@contextmanager
def _serve_empty_page(folder: Path) -> Iterator[str]:
    script = folder / "empty.py"
    script.write_text(EMPTY)
    port = str(free_port())
    settings = ["--server.headless=true", "--server.address=127.0.0.1", "--browser.gatherUsageStats=false"]
    with start_server(["-m", "streamlit", "run", str(script), *settings, f"--server.port={port}"], port, folder):
        yield f"http://127.0.0.1:{port}"


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
