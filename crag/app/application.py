"""Application: the composition root of one home. Heavy parts open on first use."""

from __future__ import annotations

import importlib
import os
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from crag.app.engines import Engines, ModelRole
from crag.app.model_preload import ModelPreloader
from crag.app.run_resources import EmbedderCatalog, GradingSetup, RunResourceFactory, WebAccess
from crag.cancellation import Cancellation
from crag.concurrency.rate_limits import RateLimits
from crag.concurrency.workers import BackgroundWorker
from crag.conversations.conversations import UNDO_SECONDS, ConversationOwners, Conversations, DelayedDeletion
from crag.errors import CragError, ModelFault
from crag.evaluation.calibration_rows import CalibrationRows
from crag.evaluation.rechunked_libraries import RechunkedLibraries
from crag.grading.registry import BUILTIN
from crag.ingest.addresses import is_safe_link
from crag.inspection.langsmith_client import TraceUploader
from crag.inspection.run_archive import RunArchive
from crag.library.jobs import IngestJobs
from crag.library.library import Library
from crag.library.watched_folders import PASS_SECONDS, FolderWorker, WatchedFolders
from crag.models.downloads import Download, Downloads, choose_fetch
from crag.models.embedders import DeferredEmbedder
from crag.models.evaluator_weights import InstalledEvaluator
from crag.models.model_choice import (
    CachedModelChoice,
    InstalledEmbedders,
    ModelChoice,
    available_chat_models,
    model_label,
)
from crag.models.ollama_server import OllamaServer
from crag.models.token_counts import count_english_tokens, count_passage_tokens, passage_counter_name
from crag.options import RunOptions
from crag.protocols import ChatModel
from crag.reference_systems import find_chunking
from crag.runs.question_queue import QuestionQueue
from crag.runs.service import RunService
from crag.settings import Settings, load_settings
from crag.storage.accounts import Accounts
from crag.storage.api_tokens import ApiTokens
from crag.storage.engine import Database
from crag.storage.outbound_log import OutboundLog
from crag.storage.preferences import Preferences
from crag.storage.summary_parts import SummaryParts
from crag.storage.user_scope import DeferredPart, UserScoped
from crag.types import ProgressCallback
from crag.websearch.providers import find_provider
from crag.websearch.quota import Quota, SearchQuota

if TYPE_CHECKING:
    from crag.app.checklist_facts import Check
    from crag.app.environments import Environments
    from crag.app.metrics import Metrics
    from crag.evaluation.calibrator import Calibrator
    from crag.evaluation.datasets import Datasets
    from crag.evaluation.evaluations import Evaluations
    from crag.evaluation.langsmith_upload import LangSmithUploader
    from crag.evaluation.regression import RegressionMonitor
    from crag.evaluation.runner import Judge
    from crag.inspection.coverage_gaps import CoverageGaps
    from crag.sharing.notes import Notes
    from crag.sharing.passage_exchange import PassageExchange
    from crag.sharing.service import ConversationExchange

EXAMPLE_URLS = (
    "https://lilianweng.github.io/posts/2023-06-23-agent/",
    "https://lilianweng.github.io/posts/2023-03-15-prompt-engineering/",
    "https://lilianweng.github.io/posts/2023-10-25-adv-attack-llm/",
)
_HOURLY_LIMITS = {"questions": 120, "additions": 600, "web searches": 60, "evaluations": 1_000}  # of each account
_UPKEEP_SECONDS = 30.0
_PURGE_SECONDS = 3_600.0
_CLOSE_SECONDS = 5.0
_SLOW_MODULES = ("crag.graph.build", "crag.models.embedders", "crag.models.builtin_writer")


class Application(UserScoped):
    """All services of one home. Safe to share between threads; close it when done.

    `for_user` limits those that hold what belongs to users.
    """

    example_urls = EXAMPLE_URLS

    def __init__(self, settings: Settings) -> None:
        """Open the home. Raises `HomeFault` if it cannot be used."""
        self.settings = settings
        self._opened = time.monotonic()
        self._builtin_embedder = DeferredEmbedder("builtin", settings)
        self.database = Database(settings.home, settings.database_url)
        self.outbound_log = OutboundLog(self.database)
        self.evaluator = InstalledEvaluator(settings)
        self.library = Library(
            self.database,
            InstalledEmbedders(settings, self.outbound_log),
            count_passage_tokens,
            settings,
            counter_name=passage_counter_name(),
            count_english_tokens=count_english_tokens,
            find_evaluator=self.evaluator.get,
        )
        self.embedders = EmbedderCatalog(settings, self.library)
        self.jobs = IngestJobs(self.database, self.library)
        self.watched_folders = WatchedFolders(self.database, self.library, self.jobs, settings)
        self.rechunked_libraries = RechunkedLibraries(self.database, self.library, settings)
        self.conversations = Conversations(self.database)
        self.people = ConversationOwners(self.database)
        self.accounts = Accounts(self.database, settings.admins)
        if settings.people == "accounts":
            self.accounts.apply_roles()
        self.preferences = Preferences(self.database, settings)
        self.api_tokens = ApiTokens(self.database)
        self.search_quota = SearchQuota(settings.tavily_api_key, settings.tavily_url, self.outbound_log)
        self._limits = RateLimits(_HOURLY_LIMITS)
        self._open_runs()
        self._open_models()
        self.archive = RunArchive(self.database)
        self._to_close = ExitStack()  # what comes last is closed first
        for part in (self.database, self.library, self.jobs, self.rechunked_libraries, self.traces, self.runs):
            self._to_close.callback(part.close)
        for worker in (self.queue, self.archive.summaries, self.ollama, self.downloads, self._delayed_deletion):
            self._to_close.callback(worker.close)

    def _open_runs(self) -> None:
        settings, log = self.settings, self.outbound_log
        self.engines = Engines(
            settings,
            self.library,
            self._builtin_embedder,
            log,
            self.preferences.may_send_to,
            self.evaluator,
            SummaryParts(self.database),
        )
        self.web = WebAccess(settings, self.library, self._builtin_embedder, log, self.preferences.search_settings)
        self.traces = TraceUploader(settings.langsmith, log, self.preferences.may_trace)
        self._run_resources = RunResourceFactory(
            self.engines,
            self.web,
            self.embedders,
            self.library,
            self.rechunked_libraries,
            self.traces,
            self.choose_model,
            CalibrationRows(self.database),
            partial(self._limits.take, "web searches"),
        )
        self.runs = RunService(self.database, self._run_resources.build)
        self.queue = QuestionQueue(self.database, self.runs, self._conversation_options, self.jobs.unfinished)
        self.runs.on_end = self._follow_up
        self.runs.check_limit = partial(self._limits.take, "questions")
        self.jobs.check_limit = partial(self._limits.take, "additions")
        self.jobs.notify_on_end(self.queue.wake)
        self._delayed_deletion = DelayedDeletion(self._purge)
        self.metrics: Metrics | None = None
        if settings.metrics:
            from crag.app.metrics import Metrics

            self.metrics = Metrics(self.runs.count_live, self.library.counts)

    def _follow_up(self, run_id: str) -> None:
        """Ask what waited for this run to end, and count it."""
        self.queue.wake()
        if self.metrics:
            with suppress(CragError):  # the database is gone, or the run was deleted
                self.metrics.count(self.runs.trace(run_id), self.runs.calls(run_id))

    def _open_models(self) -> None:
        settings, log = self.settings, self.outbound_log
        self._chosen = CachedModelChoice(settings)
        self.ollama = OllamaServer(settings, self.invalidate_model_choice)
        self.model_preloader = ModelPreloader(self.ollama, self._answering_role)
        self.preferences.on_change = self.model_preloader.follow
        self._chosen.on_change = self.model_preloader.follow  # a server may have been started
        choose = partial(choose_fetch, settings, log)
        self.downloads = Downloads(self.database, choose, lambda _: self._on_model_added())

    @DeferredPart
    def calibration(self) -> Calibrator:
        """Measurement of graders, and their thresholds."""
        from crag.evaluation.calibrator import Calibrator

        calibration = Calibrator(self.database, self._run_resources.build, self._question_model, self.runs)
        self._to_close.callback(calibration.job.close)
        return calibration

    @DeferredPart
    def datasets(self) -> Datasets:
        """Datasets of questions."""
        from crag.evaluation.datasets import Datasets

        return Datasets(self.database, self.runs)

    @DeferredPart
    def environments(self) -> Environments:
        """What answers depend on besides the question."""
        from crag.app.environments import Environments

        return Environments(
            self.database, self.library, self.settings, self.engines, self._run_resources.build, self.answering
        )

    @DeferredPart
    def evaluations(self) -> Evaluations:
        """Evaluations."""
        from crag.evaluation.evaluations import Evaluations

        look_up = self.environments.look_up
        evaluations = Evaluations(self.database, self.runs, look_up, self._open_judge, self._prepare)
        evaluations.check_limit = partial(self._limits.take, "evaluations")
        self._to_close.callback(evaluations.close)
        return evaluations

    @DeferredPart
    def regression(self) -> RegressionMonitor:
        """Automatic test runs."""
        from crag.evaluation.regression import RegressionMonitor

        environments = self.environments
        return RegressionMonitor(
            self.evaluations,
            self.datasets,
            environments.look_up,
            environments.external_hosts,
            self.preferences,
            self._is_busy,
        )

    @DeferredPart
    def uploads(self) -> LangSmithUploader:
        """Datasets and evaluations sent to LangSmith."""
        from crag.evaluation.langsmith_upload import LangSmithUploader

        return LangSmithUploader(self.settings.langsmith, self.outbound_log)

    @DeferredPart
    def exchange(self) -> PassageExchange:
        """Export and import of passages."""
        from crag.sharing.passage_exchange import PassageExchange

        return PassageExchange(self.database, self.library, count_passage_tokens)

    @DeferredPart
    def sharing(self) -> ConversationExchange:
        """Export and import of conversations."""
        from crag.sharing.service import ConversationExchange

        return ConversationExchange(self.database, self.conversations, self.runs.calls, self._may_link)

    @DeferredPart
    def notes(self) -> Notes:
        """What users keep."""
        from crag.sharing.notes import Notes

        return Notes(self.database, self.conversations, self.runs)

    @DeferredPart
    def gaps(self) -> CoverageGaps:
        """Questions that the documents do not answer."""
        from crag.inspection.coverage_gaps import CoverageGaps

        return CoverageGaps(self.database, self.runs, self._builtin_embedder, self.library, self.jobs)

    def model_choice(self, *, refresh: bool = False) -> ModelChoice:
        """Return what answers under `auto` now, and why; cached for a few seconds unless `refresh`."""
        return self._chosen.get(refresh=refresh)

    def invalidate_model_choice(self) -> None:
        """Drop the cached choice of `auto` after a change of models, so that it is looked up again."""
        self._chosen.forget()

    def _on_model_added(self) -> None:
        """React to a new model, which may be the one to answer or to embed."""
        self.invalidate_model_choice()
        self.library.spaces.active_embedder.recheck()
        self.library.space_work.wake()
        self.model_preloader.follow()

    def models(self) -> list[ModelChoice]:
        """Return every model that can be chosen now."""
        return available_chat_models(self.settings)

    def checks(self) -> list[Check]:
        """Run the set-up checks; each says how to fix what is wrong."""
        from crag.app.checklist import run_setup_checks
        from crag.app.checklist_facts import ChecklistFacts, probe_server

        return run_setup_checks(
            ChecklistFacts(
                settings=self.preferences.search_settings(),
                options=self.preferences.options(),
                model=self.model_choice(),
                embedder=self.embedders.wanted(),
                searches=self.search_usage(),
                server=probe_server(self.settings),
                llama=self.ollama.recommended(),
                evaluator=self.evaluator.report(),
                begun=self._begun_llama(),
                movable=self.embedders.count_movable_to_nomic(),
            )
        )

    def search_usage(self) -> Quota:
        """Return how much of this month's searches is used, of those at the provider that is chosen now."""
        settings = self.preferences.search_settings()
        provider = find_provider(settings)
        if provider is None or settings.web_search_provider == "tavily":
            return self.search_quota.current()
        return self.search_quota.count(provider.open(settings).host)

    def _begun_llama(self) -> Download | None:
        downloads = self.downloads.all()
        return next((one for one in downloads if one.name.startswith("ollama:llama3") and one.state != "done"), None)

    def diagnose(self) -> list[Check]:
        """Run the set-up checks, try the model that answers, and check the library."""
        from crag.app.checklist import check_answering, check_row_security, run_library_checks

        options = self.preferences.options()
        choice = self.choose_model(options)
        tried = check_answering(choice.name, choice.reason, lambda: self.engines.open(choice.name, options))
        return [*self.checks(), tried, *run_library_checks(self.library), *check_row_security(self.database)]

    def test_search(self) -> Check | None:
        """Search the web once and report the result; None, and nothing is sent, if nothing is set up."""
        from crag.app.checklist import check_search

        search = self.web.open_search()
        return check_search(search) if search else None

    def warm_up(self) -> None:
        """Open what the first question needs, then start the background work on embedding spaces and the library."""
        self._load_slow_parts()
        self._purge(time.monotonic() - self._opened)
        self.library.space_work.begin()
        self.model_preloader.begin()
        self.archive.summaries.begin()
        self.queue.begin()
        run_tests, clean = self.regression.run_if_due, self.rechunked_libraries.remove_stale
        self._start_upkeep("regression", lambda _: run_tests(time.monotonic()), _UPKEEP_SECONDS)
        self._start_upkeep("evaluation-orphans", lambda _: self.evaluations.close_orphans(), _UPKEEP_SECONDS)
        self._start_upkeep("rechunk-cleanup", lambda _: clean(), _UPKEEP_SECONDS)
        self._begin_watching_folders()
        self._start_upkeep("page-starts", self.library.fill_page_starts).wake()

    def _begin_watching_folders(self) -> None:
        worker = FolderWorker(self.database, self.library, self.jobs, self.settings.max_upload_bytes)
        self._to_close.callback(worker.close)
        self._start_upkeep("watched-folders", worker.run, PASS_SECONDS)
        self._start_upkeep("removed-files", lambda _: self.library.purge_removed(UNDO_SECONDS), _PURGE_SECONDS)

    def prepare_in_background(self, options: RunOptions) -> None:
        """Split the documents now if a reference system needs other passages, so that no question waits for it."""
        if find_chunking(options) is None:
            return

        def prepare(stop: Cancellation) -> None:
            with suppress(CragError):  # a question with these options will report it
                self.rechunked_libraries.prepare(options, stop=stop)

        self._start_upkeep("rechunk", prepare).wake()

    def _start_upkeep(
        self, name: str, work: Callable[[Cancellation], object], period: float | None = None
    ) -> BackgroundWorker:
        worker = BackgroundWorker(name, work, period)
        self._to_close.callback(worker.close, _CLOSE_SECONDS)
        worker.start()
        return worker

    def _load_slow_parts(self) -> None:
        for room in _SLOW_MODULES:
            importlib.import_module(room)
        self.evaluator.get()
        with suppress(ModelFault):
            self.library.warm()

    def _prepare(self, options: RunOptions, user: str | None, report: ProgressCallback, stop: Cancellation) -> None:
        """Prepare what an evaluation under these options needs, so that none of it counts as answer time."""
        self._load_slow_parts()
        self.rechunked_libraries.for_user(user).prepare(options, report, stop)

    def grading_setup(self, options: RunOptions) -> GradingSetup:
        """Return what would grade under these options now. Raises `ModelFault`."""
        return self._run_resources.grading_setup(options, self._user)

    def rename_collection(self, name: str, new_name: str) -> str:
        """Rename a collection in the library, conversations and thresholds. Raises `BadRequest`, `NotFound`."""
        new_name = self.library.rename_collection(name, new_name)
        self.conversations.rename_collection(name, new_name)
        self.calibration.saved.rename_collection(name, new_name)
        return new_name

    def delete_collection(self, name: str) -> int:
        """Delete a collection with its thresholds; remove its documents as `remove_documents` does, and count them.

        Raises `BadRequest`, `NotFound`.
        """
        gone = self.library.delete_collection(name)
        self.calibration.saved.delete_collection(name)
        self._delayed_deletion.schedule()
        return gone

    def delete_conversation(self, conversation_id: str) -> None:
        """Delete a conversation, and stop the run that is answering in it.

        `Conversations.restore` undoes this for ten minutes, at most until the next start; then its data is deleted for
        good.
        """
        self.conversations.delete(conversation_id)  # first, so that its next question is not asked when the run stops
        if active := self.runs.active(conversation_id):
            self.runs.stop(active.id)
        self._delayed_deletion.schedule()

    def remove_documents(self, source_ids: Sequence[str]) -> None:
        """Remove documents.

        `Library.restore` undoes this for ten minutes, at most until the next start; then they are deleted for good.
        """
        self.library.discard(source_ids)
        self._delayed_deletion.schedule()

    def _purge(self, older_than: float = UNDO_SECONDS) -> None:
        self.conversations.purge(older_than)
        self.runs.delete_orphaned_data()
        self.library.purge_removed(older_than)

    def close(self) -> None:
        """Stop all background work and close everything that is open."""
        self._to_close.close()

    def answering(self, options: RunOptions) -> str:
        """Return the name of the model that answers under these options now."""
        return self.choose_model(options).name

    def choose_model(self, options: RunOptions) -> ModelChoice:
        """Return the model that answers under these options now, and why."""
        if options.model == "auto":
            return self.model_choice()
        return ModelChoice(options.model, model_label(options.model), "Chosen in the settings.")

    def _conversation_options(self, conversation_id: str) -> RunOptions:
        return self.preferences.options(self.conversations.get(conversation_id).changes)

    def load_model(self, name: str) -> None:
        """Load an Ollama model into memory as questions would use it; this may take minutes.

        All roles of one model share a window, so that no role makes the server reload it. Raises `ModelFault`,
        `Stopped`.
        """
        tuning = self.engines.assign_roles(f"ollama:{name}", self.preferences.options()).answering.tuning
        self.ollama.load(name, tuning)

    def _is_busy(self) -> bool:
        """Return whether anything is being asked, added or measured, as far as this process knows."""
        at_work = self.library.space_work.progress or self.calibration.job.progress
        return self.runs.busy or self.jobs.active or at_work is not None

    def _may_link(self, address: str) -> bool:
        """Return whether an address from an untrusted source may be shown as a link."""
        return is_safe_link(address, self.settings.allow_private_urls)

    def _answering_role(self) -> ModelRole:
        """Return the role that answers unless a conversation chooses another model. Raises `BadRequest`."""
        options = self.preferences.options()
        return self.engines.assign_roles(self.answering(options), options).answering

    def _open_judge(self, model: str) -> Judge:
        """Open the judge that uses this model. Raises `ModelFault`."""
        from crag.evaluation.runner import Judge

        return Judge(self.engines.chat_model(ModelRole(model)))

    def _question_model(self, options: RunOptions) -> ChatModel | None:
        """Return the chat model that answers under these options; None for the built-in engine. Raises `ModelFault`."""
        role = self.engines.assign_roles(self.answering(options), replace(options, grader="builtin")).answering
        return None if role.model == BUILTIN else self.engines.chat_model(role)


def open_application(settings: Settings | None = None, home: Path | None = None) -> Application:
    """Open the application with the given settings, or with those of the environment. Raises `HomeFault`, `BadRequest`.

    LangChain's own tracing, which a leftover environment variable may enable, is switched off: it would send every
    prompt to another service without an entry in the outbound log. The project's own trace upload is the only way to
    LangSmith.
    """
    os.environ["LANGSMITH_TRACING_V2"] = "false"  # takes precedence over the other variables
    return Application(settings or load_settings(home))
