"""Errors shown to the user. Each says what happened, why, and what to do next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Self

SourceErrorCode = Literal[
    "encrypted",
    "empty",
    "no_text",
    "unsupported",
    "corrupt",
    "too_large",
    "too_slow",
    "blocked_url",
    "http_error",
    "unreachable",
    "embedding_failed",
    "not_allowed",
]
FaultClass = Literal["yours", "passing", "partial", "bug"]


class CragError(Exception):
    """Base class of all errors shown to the user. `message` says what happened and why, `remedy` what to do next."""

    code = "error"

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message} {self.remedy}".strip()


class SourceRefused(CragError):
    """A file or address that cannot be added. `code` names the reason in JSON output."""

    def __init__(self, code: SourceErrorCode, message: str, remedy: str = "") -> None:
        super().__init__(message, remedy)
        self.code: SourceErrorCode = code


class NotLoggedIn(CragError):
    """The visitor is not logged in, or may not use this server. The login page says why."""


class ServiceFault(CragError):
    """Base class of faults of models, downloads and web services. Their texts are in `FAULTS`."""

    @classmethod
    def make(cls, key: str, **values: object) -> Self:
        """Make the exception with the text of `FAULTS[key]`, filled in with `values`."""
        text = FAULTS[key]
        return cls(text.what.format(**values), text.remedy.format(**values))

    @classmethod
    def from_status(cls, service: str, status: int, **values: object) -> Self:
        """Make the exception for an HTTP status, with the text for this status, for 5xx, or for any other status."""
        keys = (f"{service}.{name}" for name in (status, "5xx" if status >= 500 else "other", "other"))
        return cls.make(next(key for key in keys if key in FAULTS), status=status, **values)


class ModelFault(ServiceFault):
    """A model failed.

    `fault` says who can fix it: *yours* (stop and name the command), *passing* (retry before the first token),
    *partial* (keep the partial reply; it can be continued) or *bug* (fail loudly). `model` names the model to download
    or to allow, if that resolves the fault.
    """

    def __init__(
        self, code: str, message: str, remedy: str = "", fault: FaultClass = "yours", *, model: str = ""
    ) -> None:
        super().__init__(message, remedy)
        self.code = code
        self.fault = fault
        self.model = model

    @classmethod
    def make(cls, key: str, **values: object) -> Self:
        """Make the exception with code, text, class and model of `FAULTS[key]`, filled in with `values`."""
        text = FAULTS[key]
        what, remedy, model = (part.format(**values) for part in (text.what, text.remedy, text.model))
        return cls(text.code or key.rpartition(".")[2], what, remedy, text.fault, model=model)


class WebSearchFailed(ServiceFault):
    """The web search failed. The run continues without it and says so."""

    code = "web_search_failed"


class LangSmithFailed(ServiceFault):
    """LangSmith did not accept what the user sent. Nothing else depends on it."""

    code = "langsmith_failed"


class BadRequest(CragError):
    """An invalid question or setting."""

    code = "bad_request"


class LimitReached(BadRequest):
    """An account has done something too often; there is room again after `seconds`."""

    code = "limit_reached"

    def __init__(self, message: str, remedy: str, seconds: int) -> None:
        super().__init__(message, remedy)
        self.seconds = seconds


class StillAnswering(BadRequest):
    """The conversation cannot take another question yet: an answer is being written or waits for the user."""


class NotFound(CragError):
    """No object with this id exists, or it was deleted."""

    code = "not_found"


class HomeFault(CragError):
    """The home folder cannot be used: read-only, damaged, full, or written by a newer version."""

    code = "home"


class DatabaseUnreachable(HomeFault):
    """The database server does not answer at the moment; nothing was saved."""


class Stopped(Exception):
    """Raised inside cancelled work; never shown."""


class DatabaseClosed(HomeFault, Stopped):
    """The application is closing: what is still at work can neither read nor save anything."""


@dataclass(frozen=True, slots=True)
class FaultText:
    """The text of a fault: what happened and why, and what to do next; values are filled in by `str.format`.

    `code`, `fault` and `model` are those of `ModelFault`; an empty code means the last part of the fault's key.
    """

    what: str
    remedy: str = ""
    fault: FaultClass = "yours"
    code: str = ""
    model: str = ""


_FREE_MEMORY = "Close other programs or choose a smaller model, then try again."
_RESUME_HINT = "What was downloaded is kept. Try again to resume."
_TRY_AGAIN = "Try again later."
_NOT_SENT_TWICE = "Try again later. Nothing is sent twice."
_OTHER_ADDRESS = "Set {variable} to another address, or try again later."
_EVALUATOR_REMEDY = (
    "Download an evaluator in Settings, or set CRAG_EVALUATOR to a folder with model.onnx and tokenizer.json of a "
    "cross-encoder."
)
_CHECK_ENDPOINT = "Check LANGSMITH_ENDPOINT."
_EMBEDDING_REMEDY = "Try again, or choose another embedder in the settings."

_PROVIDER_KEY = FaultText(
    "{provider} needs a valid key.", "Set {variable} to your key, then try again.", code="key_missing"
)
_TAVILY_USED_UP = FaultText(
    "Tavily's quota is used up.", "Wait for the next month, or raise the limit of your plan at app.tavily.com."
)
_LANGSMITH_OTHER_SERVER = FaultText("{host} is not a LangSmith server, or its version is too old.", _CHECK_ENDPOINT)
_DOWNLOAD_GONE = FaultText("{host} no longer has this file ({status}).", _OTHER_ADDRESS, code="http_error")
_DOWNLOAD_FORBIDDEN = FaultText(
    "{host} does not allow the download of this file ({status}).", _OTHER_ADDRESS, code="http_error"
)

FAULTS = {
    # Any model server
    "model.consent_needed": FaultText(
        "{label} runs on another machine, at {host}. Your question and passages of your documents would go there.",
        "Nothing was sent. Allow this, or choose a model on this machine.",
        model="{model}",
    ),
    "model.question_too_long": FaultText(  # questions are never cut; numbers of tokens are estimates
        "Your question is too long for this model: about {tokens:,} tokens, but only {room:,} fit.",
        "Shorten it, or add its text as a document and ask about that.",
    ),
    "model.bad_reply": FaultText(
        "{server} sent a reply that could not be read.", "Try again, or restart the model server.", "passing"
    ),
    "model.incomplete": FaultText(
        "{server} stopped in the middle of its reply.", "Ask again for a complete answer.", "passing"
    ),
    "model.grading_too_slow": FaultText(
        "Grading took longer than {seconds:g} seconds.", "Choose a smaller model, or another grader.", "passing"
    ),
    "model.silent": FaultText("{server} stopped responding.", "Restart the model server, then try again."),
    "model.model_failed": FaultText("{server} failed without giving a reason.", "Check its log.", "bug"),
    "model.unknown_model": FaultText(
        "There is no model called “{name}”.",
        "On Ollama, use ollama:{name}. Otherwise use builtin, or provider:model such as openai:gpt-4o-mini.",
    ),
    # Ollama
    "ollama.unreachable": FaultText(
        "Ollama does not answer at {host}.", "Start it with `ollama serve`, then try again."
    ),
    "ollama.unreachable_remote": FaultText(
        "Ollama does not answer at {host}.",
        "Start it there with `OLLAMA_HOST=0.0.0.0 ollama serve`, or set OLLAMA_HOST to its address.",
        code="unreachable",
    ),
    "ollama.not_ollama": FaultText("The server at {host} is not Ollama.", "Set OLLAMA_HOST to the address of Ollama."),
    "ollama.model_missing": FaultText(
        "Ollama has no model called {model}.",
        "Get it with `ollama pull {model}`, then try again.",
        model="ollama:{model}",
    ),
    "ollama.only_embeds": FaultText(
        "{model} is an embedding model and cannot answer.", "Choose a chat model, such as Llama 3.1, in the settings."
    ),
    "ollama.out_of_memory": FaultText("There is not enough memory for {model}.", _FREE_MEMORY),
    "ollama.too_little_memory": FaultText(
        "There is not enough memory for {model}: it needs {needed}, and {free} are free.",
        _FREE_MEMORY,
        code="out_of_memory",
    ),
    "ollama.signin": FaultText("Ollama asks for a sign-in to use {model}.", "Run `ollama signin`.", code="no_access"),
    "ollama.quota": FaultText(
        "Your account has no quota left for {model}.",
        "Wait until the quota renews, or choose a model on this machine.",
        code="no_access",
    ),
    "ollama.busy": FaultText("Ollama is busy: its queue is full.", "Wait a moment, then ask again.", "passing"),
    "ollama.prompt_too_long": FaultText(
        "The question and its passages are too long for {model}.",
        "Use fewer passages, or a larger context window in the settings.",
    ),
    "ollama.too_old": FaultText(
        "This version of Ollama is too old.",
        "Update it to version 0.5 or later, then try again.",
    ),
    "ollama.not_deleted": FaultText(
        "{model} was not deleted on {hosts}: {reason}.", "Fix this, then delete it there again."
    ),
    "ollama.refused": FaultText("Ollama refused the request for {model}.", "Choose another model, or update Ollama."),
    "ollama.server_error": FaultText(
        "Ollama reported an error while running {model}.",
        "Try again. If it happens again, check Ollama's log.",
        "passing",
    ),
    "ollama.gpu_failed": FaultText(
        "The GPU failed while running {model}.",
        "Restart Ollama, then try again. If it happens again, update the GPU driver.",
        "passing",
        "server_error",
    ),
    "ollama.runner_ended": FaultText(
        "{model} stopped unexpectedly, perhaps because memory ran out.",
        "Try again. If it happens again, choose a smaller model or context window.",
        "passing",
        "server_error",
    ),
    # Pulling a model by Ollama
    "pull.unknown_model": FaultText(
        "Ollama's registry has no model called {model}.", "Check its name on ollama.com/library."
    ),
    "pull.disk_full": FaultText(
        "The disk is full where Ollama keeps its models, so {model} could not be stored.",
        f"Free some space there. {_RESUME_HINT}",
    ),
    "pull.no_space": FaultText(
        "There is not enough disk space for {model}: it needs {needed} more, and {free} are free.",
        f"Free some space where Ollama keeps its models, or get a smaller model. {_RESUME_HINT}",
        code="disk_full",
    ),
    "pull.outdated": FaultText("{model} needs a newer version of Ollama.", "Update Ollama, then try again."),
    "pull.not_writable": FaultText(
        "Ollama cannot write to its models folder.", "Change the folder's permissions, then try again."
    ),
    "pull.no_access": FaultText("{model} needs a sign-in to Ollama's registry.", "Run `ollama signin`."),
    "pull.unreachable_registry": FaultText(
        "Ollama cannot reach its registry, registry.ollama.ai.",
        f"Check the connection of the machine that Ollama runs on. {_RESUME_HINT}",
        "passing",
    ),
    "pull.incomplete": FaultText(
        "The download by Ollama kept breaking off.", f"Check that Ollama is running. {_RESUME_HINT}"
    ),
    "pull.pull_failed": FaultText("Ollama could not download {model}.", f"Check its log. {_RESUME_HINT}", "passing"),
    # Hosted providers
    "provider.package_missing": FaultText(
        "The package for {provider} is not installed.",
        "Install it with `pip install {package}`, then try again.",
    ),
    "provider.key_missing": _PROVIDER_KEY,
    "provider.unreachable": FaultText("{provider} cannot be reached.", "Check the network, then ask again.", "passing"),
    "provider.401": _PROVIDER_KEY,
    "provider.402": FaultText(
        "Your credit at {provider} is used up.", "Add credit there, or choose another model.", code="no_access"
    ),
    "provider.403": _PROVIDER_KEY,
    "provider.404": FaultText(
        "{provider} has no such model.", "Check the model's name in the settings.", code="model_missing"
    ),
    "provider.413": FaultText(
        "The question and its passages are too long for this model.",
        "Use fewer passages, or set a smaller context window in the settings.",
        code="prompt_too_long",
    ),
    "provider.429": FaultText(
        "{provider} accepts no more requests for now.", "Wait a moment, then ask again.", "passing", "busy"
    ),
    "provider.5xx": FaultText("{provider} reported an error.", "Ask again in a moment.", "passing", "server_error"),
    "provider.other": FaultText(
        "{provider} refused the request.", "Choose another model in the settings.", code="refused"
    ),
    # Embedders
    "embedder.unknown_model": FaultText(
        "There is no embedder called “{name}”.",
        "Use builtin, nomic, ollama:NAME, or provider:name such as openai:text-embedding-3-small.",
    ),
    "embedder.consent_needed": FaultText(  # all documents would leave, so it must be named in the settings
        "{model} runs on another machine, at {host}. Every passage of your documents would go there.",
        "Nothing was sent. To allow this, set CRAG_EMBEDDER to ollama:{model}. Otherwise choose another embedder.",
    ),
    "embedder.embedding_failed": FaultText("{label} could not embed this text.", _EMBEDDING_REMEDY),
    "embedder.invalid_vectors": FaultText(
        "The embeddings of {label} were not used: they {defect}.", _EMBEDDING_REMEDY, code="embedding_failed"
    ),
    "embedder.passage_too_long": FaultText(
        "A passage is too long for {label}, so it was not embedded.",
        "Choose another embedder in the settings.",
        code="embedding_failed",
    ),
    "embedder.embedder_changed": FaultText(
        "{label} now gives different embeddings: the model changed under the same name.",
        "Your documents are being embedded again while the app runs. "
        "To do it at once: `python -m crag spaces use {name}`.",
        "passing",
    ),
    "embedder.changed_meanwhile": FaultText(
        "The embedder changed while the document was being added.",
        "Add the document again.",
        "passing",
        "embedding_failed",
    ),
    "embedder.inactive": FaultText("No embedder is available for {label}.", code="unreachable"),
    "builtin.package_missing": FaultText(
        "The built-in embeddings are not installed.",
        "Install them with `pip install wordllama`, or choose another embedder in the settings.",
    ),
    # Nomic's weights on this machine
    "nomic.weights_missing": FaultText(
        "Nomic's weights ({file}, 274 MB) are not on this machine.",
        "Download them in Settings, or put the file into the folder .cache/gpt4all of your home folder.",
        model="nomic",
    ),
    "nomic.package_missing": FaultText(
        "The package that runs Nomic's weights (gpt4all) does not work on this machine.",
        "Get nomic-embed-text for Ollama instead, and choose ollama:nomic-embed-text.",
        model="ollama:nomic-embed-text",
    ),
    "nomic.weights_damaged": FaultText(
        "Nomic's weights on this machine are damaged and could not be loaded.",
        "Download them again in Settings.",
        model="nomic",
    ),
    "nomic.weights_not_loaded": FaultText(
        "Nomic's weights could not be loaded: too little memory is free, or the machine is too busy.",
        "Close other programs, then try again.",
        "passing",
    ),
    # The evaluator, a cross-encoder on this machine
    "evaluator.missing": FaultText("The evaluator {name} has no file {file}.", _EVALUATOR_REMEDY),
    "evaluator.too_large": FaultText("{file} of the evaluator {name} is larger than {most}.", _EVALUATOR_REMEDY),
    "evaluator.damaged": FaultText("{file} of the evaluator {name} is damaged, or of another kind.", _EVALUATOR_REMEDY),
    "evaluator.foreign": FaultText("The model {name} is not an evaluator: {defect}.", _EVALUATOR_REMEDY),
    "evaluator.package_missing": FaultText(
        "The package that runs evaluators (onnxruntime) does not work on this machine.",
        "Install it with `pip install onnxruntime`, or choose the built-in grader.",
    ),
    # Downloading the weights
    "download.unreachable": FaultText("{host} does not answer.", "Check your connection, then try again.", "passing"),
    "download.untrusted": FaultText("{host} has no valid TLS certificate.", _OTHER_ADDRESS, code="unreachable"),
    "download.broken_off": FaultText("The connection to {host} kept breaking off.", _RESUME_HINT, "passing"),
    "download.401": _DOWNLOAD_FORBIDDEN,
    "download.403": _DOWNLOAD_FORBIDDEN,
    "download.404": _DOWNLOAD_GONE,
    "download.410": _DOWNLOAD_GONE,
    "download.429": FaultText("{host} received too many requests ({status}).", _TRY_AGAIN, "passing", "http_error"),
    "download.5xx": FaultText("{host} reported an error ({status}).", _TRY_AGAIN, "passing", "http_error"),
    "download.other": FaultText(
        "{host} answered {status} instead of sending the file.", _OTHER_ADDRESS, code="http_error"
    ),
    "download.unsafe_redirect": FaultText(
        "{host} redirected to an address that is not secure (not https).", _OTHER_ADDRESS, code="http_error"
    ),
    "download.endless_redirect": FaultText("{host} redirected too often.", _OTHER_ADDRESS, code="http_error"),
    "download.wrong_file": FaultText(
        "{host} did not send the file. Your network may require a sign-in.",
        "Sign in to the network, then try again.",
    ),
    "download.wrong_checksum": FaultText(
        "The file from {host} has the wrong checksum, so it was deleted.",
        "Try again. If it happens again, tell the people who run that server.",
    ),
    "download.busy": FaultText("Another window or command is downloading this file.", "Wait until it is done."),
    "download.disk_full": FaultText("The disk is full.", f"Free some space. {_RESUME_HINT}"),
    "download.too_little_space": FaultText(
        "The disk has too little space: {missing} more are needed.",
        f"Free some space. {_RESUME_HINT}",
        code="disk_full",
    ),
    "download.not_writable": FaultText(
        "The file cannot be written to the folder {folder} of your home folder.",
        "Change the folder's permissions, then try again.",
    ),
    # Tavily
    "tavily.no_key": FaultText("There is no Tavily key, so nothing was searched.", "Set TAVILY_API_KEY in `.env`."),
    "tavily.unreachable": FaultText("Tavily cannot be reached.", "Check the connection, then try again."),
    "tavily.redirected": FaultText(
        "Tavily's address redirects elsewhere. The redirect was not followed.", "Check CRAG_TAVILY_URL."
    ),
    "tavily.timeout": FaultText("Tavily did not answer in time.", _TRY_AGAIN),
    "tavily.bad_reply": FaultText("Tavily's reply could not be read.", _TRY_AGAIN),
    "tavily.400": FaultText("Tavily did not accept the query.", "Rephrase the question."),
    "tavily.401": FaultText("Tavily refused the key.", "Check TAVILY_API_KEY."),
    "tavily.403": FaultText("Your Tavily plan or key does not allow this search.", "Check your Tavily account."),
    "tavily.429": FaultText("Tavily's rate limit is reached.", "Wait {wait}, then ask again."),
    "tavily.432": _TAVILY_USED_UP,
    "tavily.433": _TAVILY_USED_UP,
    "tavily.other": FaultText("Tavily reported an error.", _TRY_AGAIN),
    # Other providers of web search
    "search.unreachable": FaultText("{name} cannot be reached.", "Check its address and the connection."),
    "search.redirected": FaultText(
        "{name}'s address redirects elsewhere. The redirect was not followed.", "Check the address."
    ),
    "search.timeout": FaultText("{name} did not answer in time.", _TRY_AGAIN),
    "search.bad_reply": FaultText("{name}'s reply could not be read.", "Check that its address is that of the API."),
    "search.400": FaultText("{name} did not accept the query.", "Rephrase the question."),
    "search.401": FaultText("{name} refused the key.", "Check the key."),
    "search.402": FaultText("{name}'s quota is used up.", "Wait for the next month, or change the plan."),
    "search.403": FaultText("{name} refused the search.", "Check the key and its plan."),
    "search.404": FaultText("{name} does not search at this address.", "Check the address."),
    "search.429": FaultText("{name}'s rate limit is reached.", "Wait {wait}, then ask again."),
    "search.other": FaultText("{name} reported an error.", _TRY_AGAIN),
    "searxng.no_json": FaultText(
        "SearXNG does not send JSON.", "Add json to search.formats in its settings.yml, then restart it."
    ),
    "searxng.limiter": FaultText(
        "SearXNG refused this as automated, or its rate limit is reached.",
        "Wait {wait}, or list this machine under pass_ip in its limiter.toml.",
    ),
    "searxng.no_engine": FaultText(
        "SearXNG found nothing, because its search engines did not answer: {engines}.",
        "Try again later, or choose other engines in its settings.yml.",
    ),
    "retriever.not_found": FaultText(
        "The retriever {name} cannot be loaded.",
        "Set CRAG_SEARCH_RETRIEVER to package.module:Name, and install its package.",
    ),
    "retriever.not_made": FaultText(
        "The retriever {name} cannot be created without arguments.",
        "Set CRAG_SEARCH_RETRIEVER to a function that returns a retriever.",
    ),
    "retriever.failed": FaultText("The retriever {name} reported an error.", _TRY_AGAIN),
    "retriever.no_documents": FaultText(
        "{name} does not return LangChain documents.", "Set CRAG_SEARCH_RETRIEVER to a retriever."
    ),
    "mcp.not_started": FaultText(
        "The program of the MCP server does not start, or ends before it answers.",
        "Run the command in CRAG_MCP_SEARCH in a terminal to see why.",
    ),
    "mcp.401": FaultText("{host} refused the token.", "Check CRAG_MCP_TOKEN."),
    "mcp.bad_reply": FaultText(
        "{host} does not answer as an MCP server.", "Check its address, which often ends in /mcp."
    ),
    "mcp.no_tool": FaultText("{host} has no tool called {name}.", "Name one of its tools after the #: {tools}."),
    "mcp.which_tool": FaultText(
        "{host} has several tools, or none.", "Name one of its tools after a # at the end: {tools}."
    ),
    "mcp.other_arguments": FaultText(
        "The tool {name} also requires {missing}, which a search does not provide.",
        "Name another tool, or add its argument after a colon.",
    ),
    "mcp.tool_error": FaultText("The tool {name} reported an error.", _TRY_AGAIN),
    # LangSmith
    "langsmith.unreachable": FaultText("{host} cannot be reached.", "Check the connection and LANGSMITH_ENDPOINT."),
    "langsmith.redirected": FaultText("{host} redirects elsewhere. The redirect was not followed.", _CHECK_ENDPOINT),
    "langsmith.untrusted": FaultText("{host} has no valid TLS certificate.", "Nothing was sent to it."),
    "langsmith.timeout": FaultText("{host} did not answer in time.", _NOT_SENT_TWICE),
    "langsmith.bad_reply": FaultText("The reply of {host} could not be read.", _CHECK_ENDPOINT),
    "langsmith.contradicting_variables": FaultText(
        "The LangSmith variables contradict each other.", "Check the ones you have set."
    ),
    "langsmith.workspace_missing": FaultText(
        "This key belongs to an organization.", "Set LANGSMITH_WORKSPACE_ID to a workspace."
    ),
    "langsmith.401": FaultText("{host} refused the key.", "Check LANGSMITH_API_KEY and LANGSMITH_ENDPOINT."),
    "langsmith.403": FaultText("The key may not write to {host}.", "Check the permissions of your LangSmith account."),
    "langsmith.404": _LANGSMITH_OTHER_SERVER,
    "langsmith.405": _LANGSMITH_OTHER_SERVER,
    "langsmith.409": FaultText("{host} already has an item with this name.", _NOT_SENT_TWICE),
    "langsmith.413": FaultText("The upload is too large for {host}.", "Shorten very long answers or references."),
    "langsmith.429": FaultText("{host} accepts no more requests for now.", "Wait {wait}, then try again."),
    "langsmith.5xx": FaultText("{host} reported an error (HTTP {status}).", _NOT_SENT_TWICE),
    "langsmith.other": FaultText("{host} refused the upload (HTTP {status}).", _CHECK_ENDPOINT),
}
"""The words of every fault of a model, download or web service, by `service.fault` or `service.HTTP status`."""
