"""Environment of an answer: models with digests, documents, version; external hosts."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from sqlalchemy import select

from crag.app.engines import Engines, ModelRole
from crag.evaluation.types import Environment
from crag.grading.registry import BUILTIN
from crag.inspection.run_labels import describe_thresholds
from crag.library.library import Library
from crag.models.destinations import external_host
from crag.options import RunOptions
from crag.runs.worker import RunResourceBuilder, no_callbacks
from crag.settings import Settings
from crag.storage.engine import Database
from crag.storage.passages import SearchScope
from crag.storage.tables import sources

APP_VERSION = "0.1.0"


class Environments:
    """Reader of the environment for evaluations, to distinguish results under other models or documents."""

    def __init__(
        self,
        database: Database,
        library: Library,
        settings: Settings,
        engines: Engines,
        open_resources: RunResourceBuilder,
        answering: Callable[[RunOptions], str],
    ) -> None:
        """Create the reader. `answering` returns the name of the model that answers under some options."""
        self._database = database
        self._library = library
        self._settings = settings
        self._engines = engines
        self._open_resources = open_resources
        self._answering = answering

    def look_up(self, options: RunOptions, user: str | None) -> Environment:
        """Return the environment of a user under these options now. Raises `ModelFault`, `BadRequest`."""
        resources = self._open_resources(options, user)
        assigned = self._engines.assign_roles(self._answering(options), options)
        roles = dict.fromkeys((assigned.answering, assigned.grading, assigned.rewriting))
        space = self._library.spaces.active_embedder.active_space().space
        documents = self._documents(SearchScope(user, options.collection, options.source_ids))
        cut = [f"cut to {options.passage_size}"] if options.passage_size else []
        return Environment(
            model=resources.engine.label,
            fingerprint=", ".join(dict.fromkeys([*map(self._fingerprint, roles), *self._reranking_evaluator(options)])),
            grader=resources.engine.grader.name,
            embedder=resources.embedder,
            space=space.id if space else "",
            library=hashlib.sha256("\n".join([*documents, *cut]).encode()).hexdigest()[:12],
            documents=len(documents),
            passages=resources.retriever.size(options),
            version=APP_VERSION,
            thresholds=describe_thresholds(resources.thresholds or resources.engine.grader.thresholds),
        )

    def external_hosts(self, options: RunOptions, user: str | None) -> list[str]:
        """Return where a question under these options would be sent outside this machine. Raises as `look_up`."""
        resources = self._open_resources(options, user)
        web = resources.web.name if resources.web else ""
        traced = "LangSmith" if resources.callbacks is not no_callbacks else ""
        return list(filter(None, [*resources.engine.remote_models, self.embedding_host(), web, traced]))

    def embedding_host(self) -> str:
        """Return the host that each question is sent to for embedding; empty on this machine."""
        space = self._library.spaces.active_embedder.active_space().space
        return external_host(space.name, self._settings) if space else ""

    def _fingerprint(self, role: ModelRole) -> str:
        return f"{BUILTIN} {APP_VERSION}" if role.model == BUILTIN else self._engines.chat_model(role).fingerprint

    def _reranking_evaluator(self, options: RunOptions) -> list[str]:
        """Return the fingerprint of the evaluator that orders the passages found, if there is one."""
        evaluator = self._library.find_evaluator() if options.grader != BUILTIN else None
        return [evaluator.fingerprint] if evaluator else []

    def _documents(self, scope: SearchScope) -> list[str]:
        """Identify the searched documents by content and by how the library splits them."""
        query = select(sources.c.sha256, sources.c.chunker).order_by(sources.c.sha256, sources.c.chunker)
        query = query.where(*scope.conditions())
        with self._database.read() as connection:
            return [f"{row.sha256} {row.chunker}" for row in connection.execute(query)]
