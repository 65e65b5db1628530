"""A small sensible model: the replies of the scripted server unless a test gives others.

It judges by shared words, answers with the sentence nearest to the question, and repeats questions it is to rewrite.
"""

from __future__ import annotations

import json
import math
import re
import zlib
from typing import Any, Protocol

from crag.text.language import extract_terms, split_sentences

_QUESTION = re.compile(
    r"(?im)<question>([\s\S]*?)</question>|^\W*(?:[\w-]+ )*(?:question|질문|问题|問題)\s*[:：]\s*([^\n]+)"
)
_PASSAGE = re.compile(r"(?is)<(passage[\w-]*|document|text)>(.*?)</\1>")
_NUMBERED = re.compile(r"(?sm)^\[(\d+)\](.*?)(?=^\[\d+\]|\Z)")
_KNOWLEDGE = re.compile(r"(?sm)^<knowledge>\n(.*)^</knowledge>")
_DOCUMENTS = re.compile(r"(?ms)^(?:Documents|문서|文档)[:：]\n(.*)^(?:Answer|답|回答)[:：]|^<context>\n(.*)^</context>")
_YES = ("yes", "relevant", "correct", "true")
_NO = ("no", "irrelevant", "incorrect", "false")


class Request(Protocol):
    """What of a request the little model looks at."""

    body: dict[str, Any]

    @property
    def prompt(self) -> str: ...

    @property
    def schema(self) -> dict[str, Any] | None: ...


def answer_like_a_little_model(asked: Request) -> str:
    """JSON where a schema was sent, one word where log-probabilities are wanted, an answer with citations where there
    is knowledge, one without where there are plain documents, else the question itself.
    """
    prompt = asked.prompt
    question = question_in(_KNOWLEDGE.sub("", _PASSAGE.sub("", prompt)))
    knowledge = _KNOWLEDGE.search(prompt)
    judged = knowledge[1] if knowledge else passage_in(prompt, question)
    if asked.body.get("format") == "json":
        return json.dumps({"score": "yes" if _shares_words(question, judged) else "no"})
    if asked.schema is not None:
        if "1" in asked.schema.get("properties", {}):
            return json.dumps(_points(question, prompt))
        return json.dumps(_filled(asked.schema, question, judged))
    if asked.body.get("logprobs"):
        return "Yes" if _shares_words(question, judged) else "No"
    if documents := _DOCUMENTS.search(prompt):
        return _nearest_sentence(question, documents[1] or documents[2])
    return _cited(question, knowledge[1]) if knowledge else question


def question_in(prompt: str) -> str:
    """The last question that a prompt marks as one, else its last line."""
    found = [first or second for first, second in _QUESTION.findall(prompt)]
    lines = (found[-1] if found else prompt).strip().splitlines()
    return (lines[0] if found else lines[-1]).strip() if lines else ""


def passage_in(prompt: str, question: str) -> str:
    """What stands in the last tag for a passage, else what stands after the question, else before it."""
    if tagged := _PASSAGE.findall(prompt):
        return str(tagged[-1][1])
    before, _, after = prompt.rpartition(question)
    return after.strip() or before


def embed_words(texts: list[str], dimension: int) -> list[list[float]]:
    """A bag of hashed words: texts that share words are near each other."""
    return [_hashed(text, dimension) for text in texts]


def _shares_words(question: str, text: str) -> bool:
    wanted = set(extract_terms(question))
    return len(wanted & set(extract_terms(text))) * 2 >= max(1, len(wanted))


def _points(question: str, prompt: str) -> dict[str, int]:
    """Nine points for each numbered passage that shares words with the question."""
    texts = [text for _, text in _PASSAGE.findall(prompt)]
    return {str(number): 9 * _shares_words(question, text) for number, text in enumerate(texts, start=1)}


def _filled(schema: dict[str, Any], question: str, passage: str) -> Any:
    """A value of the schema that says yes or no wherever it can, and names numbered parts where numbers are asked."""
    relevant = _shares_words(question, passage)
    kind = schema.get("type")
    if options := schema.get("enum"):
        wanted = _YES if relevant else _NO
        return next((option for option in options if str(option).lower() in wanted), options[0])
    if kind == "object":
        return {name: _filled(part, question, passage) for name, part in schema.get("properties", {}).items()}
    if kind == "array":
        return [
            int(n) for n, text in _NUMBERED.findall(passage) if set(extract_terms(question)) & set(extract_terms(text))
        ]
    if kind == "boolean":
        return relevant
    if kind in ("number", "integer"):
        return int(relevant) * schema.get("maximum", 1)
    return "It names what the question asks for." if relevant else "It is about something else."


def _cited(question: str, knowledge: str) -> str:
    wanted = set(extract_terms(question))
    lines = [(n, line) for n, text in _NUMBERED.findall(knowledge) for line in split_sentences(text.partition("\n")[2])]
    best = max(lines, key=lambda one: len(wanted & set(extract_terms(one[1]))), default=None)
    if best is None or not wanted & set(extract_terms(best[1])):
        return "The knowledge does not answer this question."
    return f"{best[1]} [{best[0]}]"


def _nearest_sentence(question: str, documents: str) -> str:
    wanted = set(extract_terms(question))
    best = max(split_sentences(documents), key=lambda one: len(wanted & set(extract_terms(one))), default="")
    return best if wanted & set(extract_terms(best)) else "I don't know."


def _hashed(text: str, dimension: int) -> list[float]:
    row = [0.0] * dimension
    for term in [*extract_terms(text), text[:1] or " "]:
        row[zlib.crc32(term.encode("utf-8", "replace")) % dimension] += 1.0
    length = math.sqrt(sum(value * value for value in row))
    return [value / length for value in row]
