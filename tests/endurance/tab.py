"""A browser tab as the server sees it: Streamlit's protocol over its WebSocket, without a browser.

    async with opened_tab(address) as tab:
        await tab.ask("When is the grinder cleaned?")
        await tab.until(lambda: tab.shows("Fridays"))

It keeps what would be on screen, sends what widgets hold, and keeps the timers of fragments, as the browser does.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import httpx
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Element_pb2 import Element
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from tests.served import socket_path

PATIENCE_SECONDS = 180.0  # a machine that is busy with other things takes long


@dataclass(frozen=True, slots=True)
class Drawn:
    """One element on screen: who drew it, and its text somewhere in its bytes."""

    run: str
    fragment: str
    element: Element
    content: bytes


@dataclass(eq=False)
class Tab:
    """One tab. `heard` receives every message; `screen` is what a user would see."""

    connection: ClientConnection
    heard: Callable[[bytes], None] = lambda _: None
    screen: dict[tuple[int, ...], Drawn] = field(default_factory=dict)
    messages: int = 0
    bytes: int = 0
    finished: int = 0

    def __post_init__(self) -> None:
        self._run, self._fragments = "", frozenset[str]()
        self._query = self._page = ""
        self._values: dict[str, WidgetState] = {}
        self._timers: dict[str, tuple[float, asyncio.Task[None]]] = {}
        self._awaited: dict[asyncio.Future[None], Callable[[], object]] = {}
        self.listening = asyncio.create_task(self._listen())

    def shows(self, text: str) -> bool:
        """Whether this stands in some element, as it was sent."""
        wanted = text.encode()
        return any(wanted in drawn.content for drawn in self.screen.values())

    def drawn(self, kind: str) -> Iterator[Drawn]:
        """What is on screen of one kind, such as `button`."""
        return (drawn for drawn in list(self.screen.values()) if drawn.element.WhichOneof("type") == kind)

    def elements(self, kind: str) -> Iterator[Element]:
        """The elements on screen of one kind."""
        return (drawn.element for drawn in self.drawn(kind))

    async def until(self, condition: Callable[[], object], seconds: float = PATIENCE_SECONDS) -> None:
        """Waits for something on screen, however briefly; raises `TimeoutError`, or `ConnectionError` on hanging up.

        The condition is looked at after every message: many may arrive at once, the last of which takes away again what
        the first has shown.
        """
        if condition():
            return
        if self.listening.done():
            raise ConnectionError("the server hung up")
        met = asyncio.get_running_loop().create_future()
        self._awaited[met] = condition
        try:
            async with asyncio.timeout(seconds):
                await met
        finally:
            del self._awaited[met]

    def _look(self) -> None:
        for met, condition in self._awaited.items():
            if not met.done() and condition():
                met.set_result(None)

    async def ask(self, question: str) -> None:
        """Types into the question box and presses Enter."""
        await self.until(lambda: any(self.elements("chat_input")))
        box = next(self.drawn("chat_input"))
        state = WidgetState(id=box.element.chat_input.id)
        state.chat_input_value.data = question
        await self.rerun(state, box.fragment)

    async def press(self, label: str) -> None:
        """Presses the button of this label."""
        pressed = next(drawn for drawn in self.drawn("button") if drawn.element.button.label == label)
        await self.rerun(WidgetState(id=pressed.element.button.id, trigger_value=True), pressed.fragment)

    async def choose(self, option: str) -> None:
        """Chooses in a segmented control; it stays chosen."""
        group = next(
            drawn
            for drawn in self.drawn("button_group")
            if option in [offered.content for offered in drawn.element.button_group.options]
        )
        state = WidgetState(id=group.element.button_group.id)
        state.string_array_value.data.append(option)
        self._values[state.id] = state
        await self.rerun(fragment=group.fragment)

    async def rerun(self, trigger: WidgetState | None = None, fragment: str = "", *, is_due: bool = False) -> None:
        """Redraw the page, or the fragment that holds what was used, or one whose timer `is_due`."""
        message = BackMsg()
        script = message.rerun_script
        script.query_string, script.page_script_hash, script.fragment_id = self._query, self._page, fragment
        script.is_auto_rerun = is_due
        script.widget_states.widgets.extend([*self._values.values(), *([trigger] if trigger else [])])
        await self.connection.send(message.SerializeToString())

    def stop_timers(self) -> None:
        """No fragment is drawn by itself any more."""
        for _, timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    async def _listen(self) -> None:
        with suppress(ConnectionClosed):
            async for data in self.connection:
                assert isinstance(data, bytes)
                self.messages, self.bytes = self.messages + 1, self.bytes + len(data)
                self.heard(data)
                self._save_value(ForwardMsg.FromString(data))
                self._look()
        self.stop_timers()
        for met in self._awaited:
            if not met.done():
                met.set_exception(ConnectionError("the server hung up"))

    def _save_value(self, message: ForwardMsg) -> None:
        kind = message.WhichOneof("type")
        if kind == "new_session":
            self._run = message.metadata.run.script_run_id
            self._fragments = frozenset(message.metadata.run.fragment_ids)
            self._page = message.new_session.page_script_hash
            if not self._fragments:
                self.stop_timers()
        elif kind == "delta" and message.delta.WhichOneof("type") == "new_element":
            element = message.delta.new_element
            drawn = Drawn(self._run, message.delta.fragment_id, element, element.SerializeToString())
            self.screen[tuple(message.metadata.delta_path)] = drawn
        elif kind == "page_info_changed":
            self._query = message.page_info_changed.query_string
        elif kind == "auto_rerun":
            self._set_timer(message.auto_rerun.fragment_id, message.auto_rerun.interval)
        elif kind == "stop_auto_rerun":
            for fragment in message.stop_auto_rerun.fragment_ids:
                self._end_timer(fragment)
        elif kind == "script_finished" and message.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN:
            self._forget_stale()

    def _forget_stale(self) -> None:
        """What the script that has just ended did not draw again is no longer on screen."""
        self.finished += 1
        for path, drawn in list(self.screen.items()):
            if drawn.run != self._run and (not self._fragments or drawn.fragment in self._fragments):
                del self.screen[path]

    def _set_timer(self, fragment: str, interval: float) -> None:
        known = self._timers.get(fragment)
        if known and known[0] == interval:
            return
        self._end_timer(fragment)
        self._timers[fragment] = interval, asyncio.create_task(self._keep_drawing(fragment, interval))

    def _end_timer(self, fragment: str) -> None:
        if known := self._timers.pop(fragment, None):
            known[1].cancel()

    async def _keep_drawing(self, fragment: str, interval: float) -> None:
        with suppress(ConnectionClosed):
            while True:
                await asyncio.sleep(interval)
                await self.rerun(fragment=fragment, is_due=True)


@asynccontextmanager
async def opened_tab(
    address: str,
    heard: Callable[[bytes], None] = lambda _: None,
    cookies: httpx.Cookies | None = None,
    *,
    secret: str = "",
    patient: bool = True,
) -> AsyncIterator[Tab]:
    """A tab on the application's first page, of a new browser, or of the one with these cookies and this secret.

    The page is drawn by then, unless the person is not `patient`.
    """
    cookies = httpx.Cookies() if cookies is None else cookies
    async with httpx.AsyncClient(base_url=address, cookies=cookies, timeout=PATIENCE_SECONDS) as http:
        document = (await http.get("/", headers={"Accept": "text/html"})).text
        await http.get("/_stcore/health")
        cookies.update(http.cookies)
    protocols = ["streamlit", cookies.get("_streamlit_xsrf", "none"), *([f"crag-kept.{secret}"] if secret else [])]
    headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in cookies.items())}
    async with connect(
        address.replace("http", "ws", 1) + socket_path(document),
        subprotocols=protocols,  # type: ignore[arg-type]
        origin=address,  # type: ignore[arg-type]
        additional_headers=headers,
        max_size=None,  # the browser has no limit, either
        open_timeout=PATIENCE_SECONDS,
    ) as connection:
        tab = Tab(connection, heard)
        try:
            await tab.rerun()
            if patient:
                await tab.until(lambda: tab.finished)
            yield tab
        finally:
            tab.stop_timers()
            tab.listening.cancel()
