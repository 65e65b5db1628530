"""Published systems of Corrective RAG, each as a preset: the options it sets, and what no option sets.

All of them take each question as it stands: without small talk, follow-ups and other kinds of question than facts. They
search by vectors alone, do not judge whether the passages together suffice, and use passages in the order found.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from crag.options import OPTIONS, ModelParameters, RunOptions, get_option
from crag.types import Thresholds

ChunkUnit = Literal["tokens", "characters"]


@dataclass(frozen=True, slots=True)
class Chunking:
    """How documents are split into passages: sizes in `unit`s. `context` is the wider context; 0 means the usual."""

    size: int
    unit: ChunkUnit = "tokens"
    context: int = 0

    def describe(self) -> str:
        """Return the size in words, such as “250 characters”."""
        return f"{self.size:,} {self.unit}"


@dataclass(frozen=True, slots=True)
class ReferenceSystem:
    """A published system: its title on screen, where it comes from, its options, and what no option sets.

    `chunking` None keeps the library's passages. `answer_prompt` is a prompt file. With `grades_web` the results of a
    web search are graded like passages. `other_grading_model` grades with another model than the one that answers.
    `structured_query` asks for the web query as a JSON object. `prefers_wikipedia` puts its pages first among the web
    results. Strips that score less than `strip_floor`, in 0..1, are dropped.
    """

    title: str
    origin: str
    options: RunOptions
    chunking: Chunking | None = None
    answer_prompt: str = "answer_short"
    grades_web: bool = False
    other_grading_model: bool = False
    structured_query: bool = False
    prefers_wikipedia: bool = False
    strip_floor: float = 0.0

    def option_changes(self) -> dict[str, Any]:
        """Return the options that define the system; models and documents stay the user's."""
        return {name: get_option(self.options, name) for name, option in OPTIONS.items() if option.in_systems}


def rescale_paper_score(score: float) -> float:
    """Convert a score on the paper's scale from -1 to 1 to one from 0 to 1."""
    return round((score + 1) / 2, 4)


_YES_OR_NO = Thresholds(0.5, 0.5)
_ONE_AT_A_TIME = ModelParameters(parallelism=1)


def _yes_or_no_options(preset: str, **values: object) -> RunOptions:
    """Return the options that the systems with a yes-or-no grader share, with these values besides."""
    shared = {
        "preset": preset,
        "policy": "any",
        "k": 4,
        "web": "auto",
        "web_results": 3,
        "rewrite": "question",
        "refine": False,
        "grader": "binary",
        "grading": _ONE_AT_A_TIME,
        "thresholds": _YES_OR_NO,
        "route": "fact",
    }
    return RunOptions(**shared | values)  # type: ignore[arg-type]


REFERENCE_SYSTEMS: dict[str, ReferenceSystem] = {
    "langgraph-local": ReferenceSystem(
        "LangGraph, local models",
        "LangGraph's notebook for local models, June 2024: JSON verdicts, no rewriting",
        _yes_or_no_options("langgraph-local", grader="json", rewrite="none"),
    ),
    "langgraph": ReferenceSystem(
        "LangGraph, February 2024",
        "LangGraph's first notebook: another model grades, all web results are one passage",
        _yes_or_no_options("langgraph", join_web=True),
        other_grading_model=True,
    ),
    "langgraph-js": ReferenceSystem(
        "LangGraph.js",
        "LangGraph.js: passages of 250 characters; searches the web only if no passage is relevant",
        _yes_or_no_options("langgraph-js", policy="none", join_web=True, web_results=5),
        chunking=Chunking(250, "characters"),
    ),
    "parent-child": ReferenceSystem(
        "Korean CRAG on AWS",
        "Searches passages of 400 characters, answers from the 2,000 around them, in Korean or English",
        _yes_or_no_options("parent-child", parent_context=True),
        chunking=Chunking(400, "characters", context=2000),
        answer_prompt="answer_context",
        structured_query=True,
    ),
    "mistral": ReferenceSystem(
        "Mistral, with rewriting",
        "Mistral's notebook with a rewritten web query; all web results are one passage",
        _yes_or_no_options("mistral", join_web=True),
    ),
    "mistral-no-rewrite": ReferenceSystem(
        "Mistral, no rewriting",
        "Mistral's notebook that searches the web for the question itself",
        _yes_or_no_options("mistral-no-rewrite", join_web=True, rewrite="none"),
    ),
    "paper": ReferenceSystem(
        "CRAG paper",
        "arXiv 2401.15884: a trained evaluator, three decisions, five excerpts, Wikipedia first on the web",
        RunOptions(
            preset="paper",
            policy="paper",
            k=10,
            web="auto",
            web_results=5,
            rewrite="keywords",
            fetch_pages=True,
            refine=True,
            grader="evaluator",
            thresholds=Thresholds(rescale_paper_score(-0.99), rescale_paper_score(0.59)),  # those for PopQA
            route="fact",
        ),
        answer_prompt="answer",
        grades_web=True,
        prefers_wikipedia=True,
        strip_floor=rescale_paper_score(-0.5),
    ),
}


def find_system(options: RunOptions) -> ReferenceSystem | None:
    """Return the reference system that the options follow; None for this application's own way to answer."""
    return REFERENCE_SYSTEMS.get(options.preset)


def keep_system(options: RunOptions) -> str:
    """Return the preset that still applies after the model or the web mode was changed: only a reference system."""
    return options.preset if find_system(options) else ""


def find_chunking(options: RunOptions) -> Chunking | None:
    """Return how documents are split under these options; None for the passages of the library."""
    if options.passage_size:
        return Chunking(options.passage_size)
    system = find_system(options)
    return system.chunking if system else None


def preset_title(name: str) -> str:
    """Return the title of a preset on screen; saved ones are called by the name that the user gave them."""
    return REFERENCE_SYSTEMS[name].title if name in REFERENCE_SYSTEMS else name
