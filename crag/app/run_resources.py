"""Resources of a run: engine, retriever, web search and thresholds for given options."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from crag.app.engines import Engines
from crag.cancellation import Cancellation, call_cancellable
from crag.errors import BadRequest, WebSearchFailed
from crag.evaluation.calibration_rows import CalibrationRows
from crag.evaluation.rechunked_libraries import RechunkedLibraries
from crag.grading.registry import BUILTIN
from crag.ingest.addresses import is_safe_link
from crag.inspection.langsmith_client import TraceUploader
from crag.library.library import Library
from crag.models.model_choice import ModelChoice, available_embedders, choose_embedder, embedder_label
from crag.models.nomic_weights import NOMIC
from crag.models.token_counts import count_passage_tokens
from crag.options import GRADERS, RunOptions
from crag.protocols import Embedder, PageReader, WebSearch
from crag.reference_systems import find_system
from crag.runs.worker import RunResources, no_callbacks
from crag.settings import Settings
from crag.storage.outbound_log import OutboundLog
from crag.translation import N_
from crag.types import Passage, ProgressCallback, Thresholds, ignore_progress
from crag.websearch.providers import SearchProvider, find_provider
from crag.websearch.search import ProviderSearch


@dataclass(frozen=True, slots=True)
class LimitedSearch:
    """A web search that a user may not use too often; see `WebSearch`."""

    inner: WebSearch
    check_limit: Callable[[str | None], object]
    user: str | None

    @property
    def name(self) -> str:
        """Name of the provider as shown."""
        return self.inner.name

    @property
    def host(self) -> str:
        """Host that receives the query."""
        return self.inner.host

    def search(self, query: str, results: int, stop: Cancellation) -> list[Passage]:
        """Search unless the limit is reached. Raises `WebSearchFailed`, `Stopped`."""
        try:
            self.check_limit(self.user)
        except BadRequest as error:
            raise WebSearchFailed(error.message, error.remedy) from error
        return self.inner.search(query, results, stop)


WEB_SEARCH_OFF = N_("Web search is off")
NO_WEB_SEARCH = N_("No web search is set up")


class WebAccess:
    """Web search and page reading under the settings of a home.

    `search_settings` returns them with the web search that is chosen now.
    """

    def __init__(
        self,
        settings: Settings,
        library: Library,
        builtin_embedder: Embedder,
        outbound_log: OutboundLog,
        search_settings: Callable[[], Settings],
    ) -> None:
        self._settings = settings
        self._search_settings = search_settings
        self._library = library
        self._embedder = builtin_embedder
        self._outbound_log = outbound_log

    def search(self, options: RunOptions) -> tuple[WebSearch | None, str]:
        """Return the web search, or None and the reason as a clause."""
        if options.web == "off":
            return None, WEB_SEARCH_OFF
        search = self.open_search()
        return (search, "") if search else (None, NO_WEB_SEARCH)

    def open_search(self) -> ProviderSearch | None:
        """Return the web search that is set up, if any."""
        settings = self._search_settings()
        provider = find_provider(settings)
        if provider is None:
            return None
        may_link = partial(is_safe_link, allow=settings.allow_private_urls)
        return ProviderSearch(provider.open(settings), self._outbound_log, may_link)

    def provider(self) -> SearchProvider | None:
        """Return what searches the web now; None if nothing is set up."""
        return find_provider(self._search_settings())

    def pages(self, options: RunOptions) -> PageReader | None:
        """Return a reader for the pages that a search found, if the options ask for it."""
        if not options.fetch_pages:
            return None
        from crag.ingest.page_reader import WebPageReader
        from crag.ingest.reader import GuardedReader

        read = GuardedReader(count_passage_tokens, self._settings.max_upload_bytes)
        evaluator = self._library.find_evaluator() if options.grader == "evaluator" else None
        return WebPageReader(
            read, self._embedder, self._library, self._settings, self._outbound_log, evaluator=evaluator
        )


class EmbedderCatalog:
    """Embedders of a home; each method reads the current state."""

    def __init__(self, settings: Settings, library: Library) -> None:
        self._settings = settings
        self._library = library

    def wanted(self) -> ModelChoice:
        """Return the embedder to use, and why. It answers once it has embedded all documents: see `answering`."""
        active_embedder, choice = self._library.spaces.active_embedder, choose_embedder(self._settings)
        name = active_embedder.wanted()
        if name == active_embedder.choices().chosen:
            return ModelChoice(name, embedder_label(name), "Chosen by you.")
        if name == choice.name:
            return choice
        return ModelChoice(name, embedder_label(name), "It already embeds your documents.")

    def answering(self) -> str:
        """Return the label of the embedder that answers now."""
        space = self._library.spaces.active_embedder.active_space().space
        return embedder_label(space.name) if space else self.wanted().label

    def offered(self) -> int:
        """Count the passages that could move to Nomic's space, if its weights are present and no choice was made yet.

        `library.space_work.choose("nomic")` moves them in the background.
        """
        return self._passages() if self._library.spaces.active_embedder.offered() == NOMIC else 0

    def count_movable_to_nomic(self) -> int:
        """Count the passages that could move to Nomic's space or are moving there."""
        active_embedder = self._library.spaces.active_embedder
        space = active_embedder.active_space().space
        on_their_way = active_embedder.wanted() == NOMIC and space is not None and space.name != NOMIC
        return self._passages() if on_their_way else self.offered()

    def available(self) -> list[ModelChoice]:
        """Return every embedder that can be chosen now."""
        return available_embedders(self._settings)

    def _passages(self) -> int:
        return self._library.counts()[1]


REMOTE_MODEL_NOTE = "{label} runs on another machine: your question and the passages it needed went there."


@dataclass(frozen=True, slots=True)
class GradingSetup:
    """The grader, by name, and its thresholds; `calibrated`: fitted to the collection."""

    grader: str
    thresholds: Thresholds
    calibrated: bool


@dataclass(frozen=True, slots=True)
class RunResourceFactory:
    """Factory of the resources of runs. Safe to share between threads.

    `choose` returns the model that answers under some options, and why. `calibrations` are the stored thresholds.
    `check_search_limit` raises `BadRequest` if a user has searched the web too often.
    """

    engines: Engines
    web: WebAccess
    embedders: EmbedderCatalog
    library: Library
    rechunked_libraries: RechunkedLibraries
    traces: TraceUploader
    choose: Callable[[RunOptions], ModelChoice]
    calibrations: CalibrationRows
    check_search_limit: Callable[[str | None], object]

    def build(
        self,
        options: RunOptions,
        user: str | None,
        report: ProgressCallback = ignore_progress,
        stop: Cancellation | None = None,
    ) -> RunResources:
        """Open all resources for one question of a user (None: of the owner of the home, who may read everything).

        Documents are split first if the options call for other passages. `report` is called only while they are split.
        Raises `ModelFault`, `BadRequest`, `NotFound`, `Stopped`.
        """
        stop = stop or Cancellation()
        web, missing = self.web.search(options)
        choice = self.choose(options)
        engine = self.engines.open(choice.name, options)
        if engine.name == BUILTIN:
            engine = replace(engine, find_corrections=self.library.for_user(user).find_corrections)
        rechunked_libraries = self.rechunked_libraries.for_user(user)
        # cancellable also while another run prepares the same passages
        call_cancellable(lambda: rechunked_libraries.prepare(options, report, stop), stop)
        saved = self.calibrations.for_user(user)
        fitted = None if options.thresholds else saved.load(options.collection, engine.grader.name)
        notes = [REMOTE_MODEL_NOTE.format(label=label) for label in engine.remote_models]
        notes += self._describe_deviations(choice.name, options)
        traced = self.traces.on
        return RunResources(
            engine=engine,
            retriever=rechunked_libraries.retriever(options),
            embedder=self.embedders.answering(),
            web=web and LimitedSearch(web, self.check_search_limit, user),
            web_missing=missing,
            thresholds=options.thresholds or fitted,
            calibrated=fitted is not None,
            model_reason=choice.reason if options.model == "auto" else "",
            pages=self.web.pages(options),
            notes=(*notes, self.traces.note) if traced else tuple(notes),
            callbacks=self.traces.begin if traced else no_callbacks,
        )

    def _describe_deviations(self, answering: str, options: RunOptions) -> list[str]:
        """Say where a run differs from the reference system that it follows, because a model is not there."""
        system = find_system(options)
        if system is None:
            return []
        roles = self.engines.assign_roles(answering, options)
        if roles.kind != options.grader:
            needed = N_("a language model") if GRADERS[options.grader].asks_model else N_("an evaluator")
            return [N_(f"“{system.title}” grades with {needed}. There is none, so the built-in grader was used.")]
        if system.other_grading_model and roles.grading.model == roles.answering.model:
            return [N_(f"“{system.title}” grades with a second model. There is only one, so it also graded.")]
        return []

    def grading_setup(self, options: RunOptions, user: str | None) -> GradingSetup:
        """Return what would grade under these options. Raises as `build`."""
        resources = self.build(options, user)
        grader = resources.engine.grader
        return GradingSetup(grader.name, resources.thresholds or grader.thresholds, resources.calibrated)
