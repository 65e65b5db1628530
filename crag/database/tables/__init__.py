"""All tables. Times are seconds since the epoch, ids are text, vectors are little-endian float32."""

from crag.database.tables.conversations import (
    calibrations,
    conversations,
    events,
    feedback,
    messages,
    model_calls,
    rulings,
    run_summaries,
    runs,
)
from crag.database.tables.evaluations import datasets, evaluation_results, evaluations, examples
from crag.database.tables.home import departures, downloads, preferences, presets
from crag.database.tables.library import (
    FULL_TEXT_INDEX,
    active_spaces,
    collections,
    embedder_choices,
    epochs,
    jobs,
    passages,
    sources,
    spaces,
    vectors,
)
from crag.database.tables.metadata import metadata

__all__ = [
    "FULL_TEXT_INDEX",
    "active_spaces",
    "calibrations",
    "collections",
    "conversations",
    "datasets",
    "departures",
    "downloads",
    "embedder_choices",
    "epochs",
    "evaluation_results",
    "evaluations",
    "events",
    "examples",
    "feedback",
    "jobs",
    "messages",
    "metadata",
    "model_calls",
    "passages",
    "preferences",
    "presets",
    "rulings",
    "run_summaries",
    "runs",
    "sources",
    "spaces",
    "vectors",
]
