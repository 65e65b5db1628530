"""Who sent a request to the API and what they may do; errors as problem details (RFC 9457) or as OpenAI writes them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.exceptions import HTTPException

from crag.app.application import Application
from crag.errors import CragError, HomeFault, ModelFault, NotFound, StillAnswering
from crag.storage.api_tokens import SCOPES, ApiReplies, ApiToken, Scope

OPENAI_PREFIX = "/v1/"
_MAX_KEY_LENGTH = 200
_STATUSES: tuple[tuple[type[CragError], HTTPStatus], ...] = (
    (NotFound, HTTPStatus.NOT_FOUND),
    (StillAnswering, HTTPStatus.CONFLICT),
    (HomeFault, HTTPStatus.SERVICE_UNAVAILABLE),
    (ModelFault, HTTPStatus.BAD_GATEWAY),
)
_bearer = HTTPBearer(auto_error=False, description="A token made in Settings → API tokens")


class Refused(CragError):
    """A request that the API refuses with a status of its own."""

    def __init__(self, status: HTTPStatus, message: str, remedy: str = "", code: str = "") -> None:
        super().__init__(message, remedy)
        self.status = status
        self.code = code or status.name.lower()


@dataclass(frozen=True, slots=True)
class Caller:
    """Whoever sent a request: their token, and the application as far as they may use it."""

    token: ApiToken
    application: Application

    @property
    def owns_conversations(self) -> bool:
        """Whether what they ask must belong to a conversation: single questions have no owner."""
        return self.token.user is not None


Credentials = Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]


def _require(scope: Scope) -> Any:
    """Return the dependency that admits tokens with this scope."""

    def admit(request: Request, given: Credentials) -> Caller:
        application: Application = request.app.state.find_application()
        token = application.api_tokens.find(given.credentials) if given else None
        if token is None:
            raise Refused(HTTPStatus.UNAUTHORIZED, "This token is not known.", "Make one under Settings, API tokens.")
        if scope not in token.scopes:
            raise Refused(HTTPStatus.FORBIDDEN, f"This token may not {SCOPES[scope]}.", "Make another one.")
        return Caller(token, application.for_user(token.user))

    return Depends(admit)


Asker = Annotated[Caller, _require("ask")]
Reader = Annotated[Caller, _require("read")]
Writer = Annotated[Caller, _require("write")]
Permitter = Annotated[Caller, _require("web")]
"""Parameters of operations that need a token with this scope."""


def reply_once(request: Request, caller: Caller, content: object, act: Callable[[], dict[str, Any]]) -> Response:
    """Act, and reply with 202; where the request names an `Idempotency-Key` that was used before, only reply again.

    `content` is what was asked for. Raises `Refused` for a key that came with something else.
    """
    key = request.headers.get("idempotency-key", "")
    if len(key) > _MAX_KEY_LENGTH:
        raise Refused(HTTPStatus.BAD_REQUEST, f"An Idempotency-Key has at most {_MAX_KEY_LENGTH} characters.")
    asked = hashlib.sha256(f"{request.method} {request.url.path} {content!r}".encode()).hexdigest()
    replies = ApiReplies(caller.application.database)
    known = replies.get(caller.token.id, key) if key else None
    if known and known[0] != asked:
        raise Refused(
            HTTPStatus.UNPROCESSABLE_ENTITY, "This Idempotency-Key came with another request.", "Use a new one."
        )
    body = known[1] if known else json.dumps(act())
    if key and not known:
        replies.put(caller.token.id, key, asked, body)
    headers = {"Idempotent-Replayed": "true"} if known else {}
    return Response(body, HTTPStatus.ACCEPTED, headers, "application/json")


def add_error_handlers(api: FastAPI) -> None:
    """Let every error become a reply in words."""

    async def say_refusal(request: Request, error: CragError) -> Response:
        kind = next((status for kind, status in _STATUSES if isinstance(error, kind)), HTTPStatus.BAD_REQUEST)
        status = error.status if isinstance(error, Refused) else kind
        return describe_error(request, status, str(error), error.code)

    async def say_invalid(request: Request, error: RequestValidationError) -> Response:
        wrong = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()[:5])
        return describe_error(request, HTTPStatus.UNPROCESSABLE_ENTITY, wrong, "invalid")

    async def say_status(request: Request, error: HTTPException) -> Response:
        return describe_error(request, HTTPStatus(error.status_code), str(error.detail), "http", error.headers)

    handlers: dict[Any, Any] = {
        CragError: say_refusal,
        RequestValidationError: say_invalid,
        HTTPException: say_status,
    }
    for kind, handler in handlers.items():
        api.add_exception_handler(kind, handler)


def describe_error(request: Request, status: HTTPStatus, message: str, code: str, headers: Any = None) -> JSONResponse:
    """Return the reply that describes an error in the form that the client expects."""
    named = {"WWW-Authenticate": "Bearer"} if status == HTTPStatus.UNAUTHORIZED else {}
    named |= dict(headers or {})
    if request.url.path.startswith(OPENAI_PREFIX):
        kind = "server_error" if status >= HTTPStatus.INTERNAL_SERVER_ERROR else "invalid_request_error"
        error = {"message": message, "type": kind, "param": None, "code": code}
        return JSONResponse({"error": error}, status, named)
    problem = {"type": "about:blank", "title": status.phrase, "status": status.value, "detail": message, "code": code}
    return JSONResponse(problem, status, named, "application/problem+json")
