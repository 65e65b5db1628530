"""The five questions on three blog posts that LangGraph's notebook on local models uses for evaluation.

References and accepted trajectories are the notebook's; the required phrases are the terms of each reference. The last
two questions are not answered by the posts, so their expected action is `incorrect`. Only a web search can answer them:
without one they count as wrong answers, but not as wrong refusals.
"""

from __future__ import annotations

from crag.evaluate.datasets.examples import Dataset, Example
from crag.evaluate.datasets.reading import question_key
from crag.types import Action

_STEPS = (
    ("retrieve_documents", "grade_document_retrieval", "web_search", "generate_answer"),
    ("retrieve_documents", "grade_document_retrieval", "generate_answer"),
)


def _example(question: str, reference: str, *must_mention: str, action: Action | None = None) -> Example:
    key = question_key(question)
    return Example(key, question, (reference,), _STEPS, action, must_mention=must_mention, language="en")


SEED = Dataset(
    id="seed",
    name="Five questions on three posts",
    kind="builtin",
    examples=(
        _example(
            "How does the ReAct agent use self-reflection?",
            "ReAct integrates reasoning and acting, performing actions - such as calling a Wikipedia search API - "
            "and then observing and reasoning about the tool outputs.",
        ),
        _example(
            "What are the types of biases that can arise with few-shot prompting?",
            "The biases that can arise with few-shot prompting include (1) Majority label bias, (2) Recency bias, "
            "and (3) Common token bias.",
            "majority label bias",
            "recency bias",
            "common token bias",
        ),
        _example(
            "What are five types of adversarial attacks?",
            "Five types of adversarial attacks are (1) Token manipulation, (2) Gradient based attack, "
            "(3) Jailbreak prompting, (4) Human red-teaming, (5) Model red-teaming.",
            "token manipulation",
            "gradient based attack",
            "jailbreak prompting",
            "human red-teaming",
            "model red-teaming",
        ),
        _example(
            "Who did the Chicago Bears draft first in the 2024 NFL draft?",
            "The Chicago Bears drafted Caleb Williams first in the 2024 NFL draft.",
            "Caleb Williams",
            action="incorrect",
        ),
        _example(
            "Who won the 2024 NBA finals?",
            "The Boston Celtics won the 2024 NBA finals.",
            "Boston Celtics",
            action="incorrect",
        ),
    ),
)
