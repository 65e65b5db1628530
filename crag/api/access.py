"""Who sent a request to the API and what they may do; errors as problem details (RFC 9457) or as OpenAI writes them."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated, Any, Literal

from anyio import CancelScope, to_thread
from fastapi import Depends, FastAPI, Header, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel, Field
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from crag.app.application import Application
from crag.errors import CragError, HomeFault, LimitReached, ModelFault, NotFound, StillAnswering
from crag.storage.api_tokens import SCOPES, ApiReplies, ApiToken
from crag.storage.api_tokens import Scope as TokenScope
from crag.types import is_account, strip_unstorable

OPENAI_PREFIX = "/v1/"
_MAX_KEY_LENGTH = 200
_MAX_FRAME_BYTES = 1 << 20  # around a file
_MAX_JSON_BYTES = 8 << 20  # values of JSON take up to 25 times as much memory
MOST_OPEN = 100
"""Requests of one person, or of one token of the home, that are answered at the same time."""
CHECK_SECONDS = 5.0
"""Seconds between checks whether the token of an open response has been revoked."""
FILE_WEIGHT = 12  # a request with a file, which is held in memory, counts as this many
_STATUSES: tuple[tuple[type[CragError], HTTPStatus], ...] = (
    (NotFound, HTTPStatus.NOT_FOUND),
    (LimitReached, HTTPStatus.TOO_MANY_REQUESTS),
    (StillAnswering, HTTPStatus.CONFLICT),
    (HomeFault, HTTPStatus.SERVICE_UNAVAILABLE),
    (ModelFault, HTTPStatus.BAD_GATEWAY),
)
_PROBLEM_TYPE = "application/problem+json"
_bearer = HTTPBearer(auto_error=False, description="A token made in Settings → API tokens")


class Problem(BaseModel):
    """An error, as problem details (RFC 9457)."""

    type: str = "about:blank"
    title: str
    status: int
    detail: Annotated[str, Field(description="What happened and what to do, in words")]
    code: Annotated[str, Field(description="Names this kind of error for programs")]


class OpenAIError(BaseModel):
    """An error of OpenAI's API."""

    message: str
    type: Literal["invalid_request_error", "server_error"]
    param: None = None
    code: str


class OpenAIProblem(BaseModel):
    """Reply with an error, as OpenAI's clients read it."""

    error: OpenAIError


def _describe_errors(reply: dict[str, Any]) -> dict[int | str, dict[str, Any]]:
    """Return the descriptions of the errors that any operation may reply with."""
    statuses = ("UNAUTHORIZED", "FORBIDDEN", "UNPROCESSABLE_ENTITY", "TOO_MANY_REQUESTS")
    described: dict[int | str, dict[str, Any]] = {"default": {"description": "Any other error", **reply}}
    for status in (HTTPStatus[name] for name in statuses):
        described[status.value] = {"description": status.phrase, **reply}
    return described


PROBLEMS = _describe_errors({"content": {_PROBLEM_TYPE: {"schema": Problem.model_json_schema()}}})
OPENAI_PROBLEMS = _describe_errors({"model": OpenAIProblem})
"""Errors in the description of an operation of `/api/v1`, or of OpenAI's."""


class Refused(CragError):
    """A request that the API refuses with a status of its own."""

    def __init__(self, status: HTTPStatus, message: str, remedy: str = "", code: str = "") -> None:
        super().__init__(message, remedy)
        self.status = status
        self.code = code or status.name.lower()


@dataclass(frozen=True, slots=True)
class Caller:
    """The sender of a request: their token, and the application limited to what they may use."""

    token: ApiToken
    application: Application

    @property
    def owns_conversations(self) -> bool:
        """Whether what they ask must belong to a conversation: single questions have no owner."""
        return self.token.user is not None


Credentials = Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]


class AdmitTokens:
    """Middleware that refuses requests without a known token before their body is read, and bodies that are too long.

    A response ends soon after its token is revoked. `without_token` are paths that are open to everyone.
    """

    def __init__(
        self, app: ASGIApp, find_application: Callable[[], Application], without_token: Collection[str] = ()
    ) -> None:
        self._app = app
        self._find_application = find_application
        self._without_token = without_token
        self._open: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with its token, or refuse it."""
        if scope["type"] != "http" or scope["path"] in self._without_token:
            await self._app(scope, receive, send)
            return
        kind, _, secret = Headers(scope=scope).get("authorization", "").partition(" ")
        try:
            token = await to_thread.run_sync(self._find, secret) if kind.lower() == "bearer" else None
            if token is None:
                raise _unknown_token()
            sender, weight = token.user or token.id, FILE_WEIGHT if _has_file(scope) else 1
            if self._open[sender] + weight > MOST_OPEN:
                raise Refused(
                    HTTPStatus.TOO_MANY_REQUESTS, "Too many requests are open.", "Wait until one ends.", "too_many_open"
                )
        except CragError as error:
            await say_error(Request(scope), error)(scope, receive, send)
            return
        scope.setdefault("state", {})["token"] = token
        self._open[sender] += weight
        try:
            await self._answer(scope, self._limit_body(scope, receive), send, secret)
        finally:
            self._open[sender] -= weight
            if not self._open[sender]:
                del self._open[sender]

    async def _answer(self, scope: Scope, receive: Receive, send: Send, secret: str) -> None:
        """Let the application answer until it has, or the token is revoked."""
        has_started = False

        async def send_and_note(message: Message) -> None:
            nonlocal has_started
            has_started = True
            await send(message)

        with CancelScope() as answering:
            watching = asyncio.create_task(self._cancel_when_revoked(secret, answering))
            try:
                await self._app(scope, receive, send_and_note)
            finally:
                watching.cancel()
        if answering.cancelled_caught and has_started:
            await send({"type": "http.response.body"})
        elif answering.cancelled_caught:
            await say_error(Request(scope), _unknown_token())(scope, receive, send)

    async def _cancel_when_revoked(self, secret: str, answering: CancelScope) -> None:
        is_known = True
        while is_known:
            await asyncio.sleep(CHECK_SECONDS)
            with suppress(CragError):  # the home is gone for a moment
                is_known = await to_thread.run_sync(self._find, secret) is not None
        answering.cancel()

    def _find(self, secret: str) -> ApiToken | None:
        application = self._find_application()
        token = application.api_tokens.find(secret)
        if token and application.settings.people == "accounts" and not is_account(token.user):
            return None  # from before there were accounts: nobody sees it in the settings, so nobody would revoke it
        return token

    def _limit_body(self, scope: Scope, receive: Receive) -> Receive:
        settings = self._find_application().settings
        left = settings.max_upload_bytes + _MAX_FRAME_BYTES if _has_file(scope) else _MAX_JSON_BYTES

        async def receive_within_limit() -> Message:
            nonlocal left
            message = await receive()
            left -= len(message.get("body", b""))
            if left < 0:
                raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "This request is too long.")
            return message

        return receive_within_limit


def _unknown_token() -> Refused:
    return Refused(HTTPStatus.UNAUTHORIZED, "This token is not known.", "Make one under Settings, API tokens.")


def _has_file(scope: Scope) -> bool:
    return Headers(scope=scope).get("content-type", "").startswith("multipart/")


def _require(scope: TokenScope) -> Any:
    """Return the dependency that admits tokens with this scope."""

    def admit(request: Request, _: Credentials) -> Caller:
        token: ApiToken = request.state.token
        if scope not in token.scopes:
            raise Refused(HTTPStatus.FORBIDDEN, f"This token may not {SCOPES[scope]}.", "Make another one.")
        application: Application = request.app.state.find_application()
        return Caller(token, application.for_user(token.user))

    return Depends(admit)


Asker = Annotated[Caller, _require("ask")]
Reader = Annotated[Caller, _require("read")]
Writer = Annotated[Caller, _require("write")]
Permitter = Annotated[Caller, _require("web")]
"""Parameters of operations that need a token with this scope."""


def _keep_key(
    request: Request,
    idempotency_key: Annotated[
        str, Header(max_length=_MAX_KEY_LENGTH, description="The same again: no second effect, and the same reply")
    ] = "",
) -> Request:
    request.state.key = idempotency_key
    return request


WriteRequest = Annotated[Request, Depends(_keep_key)]
"""Parameter of operations that `reply_once`."""


def reply_once(request: Request, caller: Caller, content: object, act: Callable[[], dict[str, Any]]) -> Response:
    """Act, and reply with 202; where the request names an `Idempotency-Key` that was used before, only reply again.

    `content` is what was asked for. Raises `Refused` for a key that came with something else.
    """
    key: str = request.state.key
    replies, token = ApiReplies(caller.application.database), caller.token.id
    asked = hashlib.sha256(f"{request.method} {request.url.path} {content!r}".encode()).hexdigest()
    known = replies.claim(token, key, asked) if key else None
    if known is None:
        try:
            body = json.dumps(act())
        except BaseException:
            if key:
                replies.release(token, key)
            raise
        if key:
            replies.put(token, key, body)
        return Response(body, HTTPStatus.ACCEPTED, media_type="application/json")
    if known[0] != asked:
        raise Refused(
            HTTPStatus.UNPROCESSABLE_ENTITY, "This Idempotency-Key came with another request.", "Use a new one."
        )
    if not known[1]:
        raise Refused(
            HTTPStatus.CONFLICT,
            "The first request with this Idempotency-Key is still running.",
            "Try again in a minute.",
        )
    return Response(known[1], HTTPStatus.ACCEPTED, {"Idempotent-Replayed": "true"}, "application/json")


def add_error_handlers(api: FastAPI) -> None:
    """Let every error become a reply in words."""

    async def say_refusal(request: Request, error: CragError) -> Response:
        return say_error(request, error)

    async def say_invalid(request: Request, error: RequestValidationError) -> Response:
        wrong = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()[:5])
        return _describe_error(request, HTTPStatus.UNPROCESSABLE_ENTITY, wrong, "invalid")

    async def say_status(request: Request, error: HTTPException) -> Response:
        return _describe_error(request, HTTPStatus(error.status_code), str(error.detail), "http", error.headers)

    async def say_fault(request: Request, _error: Exception) -> Response:
        message = "Something went wrong in the app. Try again."
        return _describe_error(request, HTTPStatus.INTERNAL_SERVER_ERROR, message, "bug")

    handlers: dict[Any, Any] = {
        Exception: say_fault,
        CragError: say_refusal,
        RequestValidationError: say_invalid,
        HTTPException: say_status,
    }
    for kind, handler in handlers.items():
        api.add_exception_handler(kind, handler)


def say_error(request: Request, error: CragError) -> Response:
    """Return the reply that describes an error of the application."""
    kind = next((status for kind, status in _STATUSES if isinstance(error, kind)), HTTPStatus.BAD_REQUEST)
    status = error.status if isinstance(error, Refused) else kind
    headers = {"Retry-After": str(error.seconds)} if isinstance(error, LimitReached) else {}
    return _describe_error(request, status, str(error), error.code, headers)


def _describe_error(request: Request, status: HTTPStatus, message: str, code: str, headers: Any = None) -> JSONResponse:
    """Return the reply that describes an error in the form that the client expects."""
    message = strip_unstorable(message)
    named = {"WWW-Authenticate": "Bearer"} if status == HTTPStatus.UNAUTHORIZED else {}
    named |= dict(headers or {})
    if request.url.path.startswith(OPENAI_PREFIX):
        is_fault = status >= HTTPStatus.INTERNAL_SERVER_ERROR
        error = OpenAIError(message=message, type="server_error" if is_fault else "invalid_request_error", code=code)
        return JSONResponse(OpenAIProblem(error=error).model_dump(), status, named)
    problem = Problem(title=status.phrase, status=status.value, detail=message, code=code)
    return JSONResponse(problem.model_dump(), status, named, _PROBLEM_TYPE)
