"""Graph node for questions in several steps: each part is answered from passages of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from crag.cancellation import call_cancellable
from crag.events import (
    AnswerWritten,
    PartAnswered,
    PassageGraded,
    PassagesFound,
    PromptBuilt,
    RouteChosen,
    TokensWritten,
)
from crag.graph.answer_support import answer_outcome, check_sentences, used_knowledge
from crag.graph.citations import CitationNumbering, collect_citations, collect_quotations, drop_invalid_citations
from crag.graph.nodes import graph_node
from crag.graph.route_nodes import answer_as_fact, select_route, to_plain_line
from crag.graph.state import Deps, GraphState
from crag.prompts import load_prompt
from crag.protocols import PromptFit
from crag.text.citation_marks import escape_brackets, strip_citations
from crag.text.language import detect_written_language
from crag.text.matches import MatchFinder
from crag.text.routes import names_something
from crag.text.sanitization import to_one_line
from crag.types import Knowledge, Outcome, Passage, SubQuestion, Turn, Usage, Verdict

_SENTENCES_OF_SECTION = 4


@graph_node("answer_parts")
def answer_parts(state: GraphState, deps: Deps) -> GraphState:
    """Answer each part of the question from passages of its own, and say which part has no answer."""
    choice = select_route(state, deps)
    deps.emit(RouteChosen("steps", choice.reason))
    language = detect_written_language(state["question"])
    answers, knowledge, said = list[_PartAnswer](), list[Knowledge](), set[str]()
    for part in choice.parts:
        answer = _answer_part(_name_subject(part, choice.parts[0], deps), len(knowledge), deps)
        text = answer.text or load_prompt("part_not_answered", language)
        if answer.text and strip_citations(answer.text) in said:
            text = load_prompt("part_answered_above", language)
        said.add(strip_citations(answer.text))
        lead = "\n\n" if answers else ""
        written = f"{lead}**{to_plain_line(part)}**\n\n{text}"
        deps.emit(TokensWritten(written))
        deps.emit(PartAnswered(SubQuestion(part, answer.found, len(answer.knowledge), bool(answer.text))))
        answers.append(replace(answer, text=written))
        knowledge += answer.knowledge
    if not any(answer.outcome for answer in answers):
        return answer_as_fact("No part of the question could be answered on its own.", deps)
    text = "".join(answer.text for answer in answers)
    held = tuple(knowledge)
    if all(answer.is_quoted for answer in answers):
        numbering = CitationNumbering()
        text, held = numbering.renumber(text), numbering.reorder(held)
    deps.emit(PassagesFound("library", tuple(item.passage for item in held), deps.retriever.size(deps.options)))
    best: dict[int, Verdict] = {}
    for verdict in sorted((one for answer in answers for one in answer.verdicts), key=lambda one: one.score or 0.0):
        best[verdict.passage_id] = verdict  # the best of those on several parts
    for item in held:
        if item.passage.id in best:
            deps.emit(PassageGraded(best[item.passage.id]))
    usage = sum((answer.usage for answer in answers), Usage())
    deps.emit(AnswerWritten(text, collect_citations(text, held), _joint_outcome(answers), usage))
    return {"answer": text, "knowledge": held}


@dataclass(frozen=True, slots=True)
class _PartAnswer:
    """The answer to one part: empty, without an outcome, if its passages do not answer. `found` are passage ids.

    `verdicts` are those on the passages of its knowledge.
    """

    text: str
    outcome: Outcome | None
    knowledge: tuple[Knowledge, ...]
    found: tuple[int, ...]
    is_quoted: bool = True
    usage: Usage = field(default_factory=Usage)
    verdicts: tuple[Verdict, ...] = ()


def _name_subject(part: str, first: str, deps: Deps) -> str:
    """Return a part so that it can be understood without the first one, to which it may refer."""
    if part == first or names_something(part):
        return part
    history = (Turn("user", first),)

    def find_passages(text: str) -> list[Passage]:
        return call_cancellable(lambda: deps.retriever.retrieve(text, deps.options)[0], deps.stop)

    return deps.engine.rewriter.condense(part, history, find_passages, deps.stop).text


def _answer_part(part: str, offset: int, deps: Deps) -> _PartAnswer:
    """Retrieve, grade and write one part; its knowledge is numbered from `offset` + 1."""
    deps.stop.check()
    passages = call_cancellable(lambda: deps.retriever.retrieve(part, deps.options, deps.stop), deps.stop).passages
    found = tuple(passage.id for passage in passages)
    if deps.engine.quoting_writer is None:  # the writer quotes
        text, section = _quote_section(part, passages, offset)
        if text:
            return _PartAnswer(text, "quoted", section, found)
    grades = dict(deps.engine.grader.grade(part, passages, deps.stop))
    words = {at: deps.thresholds.verdict_for(grade.score) for at, grade in grades.items()}
    usable = sorted((at for at in words if words[at] != "irrelevant"), key=lambda at: -(grades[at].score or 0.0))
    knowledge = tuple(Knowledge(offset + n, passages[at], passages[at].text) for n, at in enumerate(usable, start=1))
    if not knowledge:
        return _PartAnswer("", None, (), found)
    verdicts = tuple(Verdict(passages[at].id, words[at], grades[at].score, grades[at].reason) for at in usable)
    text, usage, is_quoted = "", Usage(), True
    for piece in deps.engine.writer.write(part, knowledge, (), deps.stop):
        if isinstance(piece, PromptFit):
            is_quoted = not piece.window
            deps.emit(PromptBuilt(piece.tokens, piece.window, piece.left_out))
        else:
            text += piece.text
            text = text[: len(text) - piece.repeated]
            usage = piece.usage or usage
    text = drop_invalid_citations(text, knowledge).strip()
    support = check_sentences(text, knowledge)
    outcome = answer_outcome(text, support, knowledge, is_quoted=is_quoted) if text else "not_answered"
    if outcome == "not_answered":
        return _PartAnswer("", None, knowledge, found, is_quoted, usage, verdicts)
    if outcome == "quoted" and deps.engine.coverage:
        quotations = collect_quotations(text, used_knowledge(text, support, knowledge))
        is_covered = deps.engine.coverage.is_covered(part, quotations, passages=passages)
        outcome = "quoted" if is_covered else "possible"
    return _PartAnswer(text, outcome, knowledge, found, is_quoted, usage, verdicts)


def _quote_section(part: str, passages: Sequence[Passage], offset: int) -> tuple[str, tuple[Knowledge, ...]]:
    """Return the first sentences of the section that a part names, such as “Paid leave”, and what they cite."""
    finder = MatchFinder(part)
    finder.read(passages)
    items = finder.section_items()[:_SENTENCES_OF_SECTION]
    numbers = {passage_id: offset + n for n, passage_id in enumerate(dict.fromkeys(one.passage_id for one in items), 1)}
    knowledge = tuple(Knowledge(n, finder.passages[key], finder.passages[key].text) for key, n in numbers.items())
    return "\n".join(
        f"- {escape_brackets(to_one_line(one.text))} [{numbers[one.passage_id]}]" for one in items
    ), knowledge


def _joint_outcome(answers: Sequence[_PartAnswer]) -> Outcome:
    """Return the outcome of all parts together, which is that of the weakest."""
    outcomes = {answer.outcome for answer in answers}
    if None in outcomes or "documents_partly" in outcomes:
        return "documents_partly"
    return next((one for one in ("possible", "quoted") if one in outcomes), "documents")
