"""Baseline: corrective RAG as in LangGraph's tutorial for local models, without LangGraph.

Each document is graded by a separate call, one after the other, in JSON mode at temperature 0. Relevant documents are
passed whole to the model, which answers in at most three sentences. Nothing is kept between questions. The web is not
searched, since neither contender is online.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from langchain_ollama import ChatOllama

_GRADE = """You are an examiner who checks what a student found. You are given:
1/ a QUESTION
2/ a DOCUMENT that the student brought

You judge RELEVANCE:
A mark of yes means that ANY statement in the DOCUMENT has to do with the QUESTION.
A mark of no means that NONE of the statements in the DOCUMENT has to do with the QUESTION.
Yes is the best mark that you can give, no is the worst.

Think step by step, and make sure that your reasoning and your judgement are right.

Do not simply state the right answer at the beginning.

Question: {question}

Document:

{document}

Give a mark of 'yes' or 'no' that says whether the document is relevant to the question.

Give it as JSON with the single key 'score', and write nothing before or after it.
"""
_ANSWER = """You help people by answering their questions.

Use the documents below to answer the question.

If you do not know the answer, simply say that you do not know it.

Use at most three sentences and be brief:
Question: {question}
Documents: {documents}
Answer:
"""


@dataclass
class TutorialPipeline:
    """The tutorial's pipeline: `retrieve` returns document texts, `verdicts` holds those of the last question."""

    model: str
    host: str
    retrieve: Callable[[str], Sequence[str]]
    verdicts: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._grader = ChatOllama(model=self.model, base_url=self.host, format="json", temperature=0)
        self._writer = ChatOllama(model=self.model, base_url=self.host, temperature=0)

    def answer(self, question: str) -> Iterator[str]:
        """Yield the answer in pieces as they arrive."""
        documents = self.retrieve(question)
        self.verdicts = [self._grade(question, document) for document in documents]
        relevant = [text for text, verdict in zip(documents, self.verdicts, strict=True) if verdict == "yes"]
        prompt = _ANSWER.format(question=question, documents="\n\n".join(relevant))
        for chunk in self._writer.stream(prompt):
            if chunk.text:
                yield str(chunk.text)

    def _grade(self, question: str, document: str) -> str:
        reply = self._grader.invoke(_GRADE.format(question=question, document=document))
        return str(json.loads(str(reply.text))["score"])
