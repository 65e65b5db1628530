"""Documents, questions and scripted replies for the comparison of pipelines.

The documents are the three posts of LangGraph's tutorial, if a folder with them is given; otherwise generated text with
passages of the same size, so that no download is needed.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.corpus import documents
from tests.doubles.ollama_values import Asked, Say

_ANSWER = (
    "It is what the passage says that was found for this question [1]: first the matter is named, then what is known "
    "of it is told in a sentence or two, and at last it is said what follows [1]. No more than that is needed here."
)
_YES = "The passage names what is asked for and says what answers it."
_NO = "The passage is on the same matter but does not say what is asked."
_SENTENCE = "This is the one sentence of the passage that decides the matter, copied word for word as it stands there."
_PART = re.compile(r"(?ms)^\[(\d+)\](.*?)(?=^\[\d+\]|\Z)")


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and words that occur only in passages that answer it."""

    text: str
    gold: str


@dataclass(frozen=True, slots=True)
class Material:
    """Documents (name, content) and questions about them; the first question is for warm-up."""

    documents: list[tuple[str, bytes]]
    questions: list[Question]


_POST_QUESTIONS = [
    Question("What are the components of an agent system?", "core controller"),
    Question("How does the ReAct agent use self-reflection?", "ReAct works better"),
    Question("What are the types of biases that can arise with few-shot prompting?", "Majority label bias"),
    Question("What are five types of adversarial attacks?", "red-teaming"),
    Question("How does Tree of Thoughts extend chain of thought?", "multiple reasoning possibilities"),
    Question("What is maximum inner product search used for?", "approximate nearest neighbors"),
    Question("What does automatic prompt engineer do?", "model-generated instruction candidates"),
]


def read_posts(folder: Path) -> Material:
    """Read the posts in `folder` and add questions about them."""
    return Material([(path.name, path.read_bytes()) for path in sorted(folder.glob("*.html"))], _POST_QUESTIONS)


def generate_material() -> Material:
    """Generate about 150 passages of invented words; each question has one answering passage and many on its topic."""
    chance = random.Random(3)
    sections = "\n\n".join(data.decode() for _, data in documents(150)).split("\n\n# ")
    questions = []
    for number in range(7):
        name, founder = (_name(chance) for _ in range(2))
        places = chance.sample(range(len(sections)), 12)
        sections[places[0]] += f" The {name} railway was founded by {founder} in {1820 + 9 * number}."
        for place in places[1:]:
            sections[place] += f" Much was later said of the {name} railway and of those that it served."
        questions.append(Question(f"Who founded the {name} railway?", founder))
    return Material([("invented.md", "\n\n# ".join(sections).encode())], questions)


def _name(chance: random.Random) -> str:
    return "".join(chance.choices(("bel", "cor", "dan", "fal", "gar", "lor", "mar", "tel", "vin"), k=3)).capitalize()


def answer_with_script(questions: Sequence[Question], asked: Asked) -> Say:
    """Return the scripted reply: yes for passages with the gold words, or an answer of about 60 tokens."""
    question = next(question for question in questions if question.text in asked.prompt)
    schema = asked.body.get("format")
    is_gold = question.gold.lower() in asked.prompt.lower()
    if schema == "json":
        return Say(json.dumps({"score": "yes" if is_gold else "no"}))
    if isinstance(schema, dict):
        return Say(json.dumps(_fill_schema(schema["properties"], question, asked.prompt)))
    if asked.body.get("logprobs"):
        likely, other = ("Yes", "No") if is_gold else ("No", "Yes")
        return Say(likely, alternatives={likely: -0.02, other: -4.0})
    return Say(_ANSWER)


def _fill_schema(properties: dict[str, Any], question: Question, prompt: str) -> dict[str, Any]:
    """Fill a grader's or refiner's schema: kept parts, points for each number, or a verdict with its reason."""
    holding = {n for n, text in _PART.findall(prompt) if question.gold.lower() in text.lower()}
    if "keep" in properties:
        return {"keep": [int(n) for n in holding]}
    if "verdict" not in properties:
        return {n: 9 if n in holding else 1 for n in properties}
    is_gold = question.gold.lower() in prompt.lower()
    sentence, reason, verdict = (_SENTENCE, _YES, "yes") if is_gold else ("", _NO, "no")
    return {name: {"sentence": sentence, "reason": reason, "verdict": verdict}[name] for name in properties}
