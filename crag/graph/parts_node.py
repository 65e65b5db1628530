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
from crag.graph.citations import (
    CitationNumbering,
    cited_numbers,
    collect_citations,
    collect_quotations,
    drop_invalid_citations,
)
from crag.graph.nodes import graph_node
from crag.graph.route_nodes import answer_as_fact, select_route, to_plain_line
from crag.graph.state import Deps, GraphState
from crag.prompts import fill_template, load_prompt
from crag.protocols import PromptFit
from crag.text.citation_marks import escape_brackets, strip_bold, strip_citations
from crag.text.comparisons import Comparison
from crag.text.language import detect_written_language, split_sentences
from crag.text.matches import MatchFinder
from crag.text.nested_questions import depends_on, name_answer
from crag.text.routes import RouteChoice, names_something
from crag.text.sanitization import to_one_line
from crag.text.short_answers import ShortAnswer, ask_without_kind, find_short_answer, names_all
from crag.translation import N_
from crag.types import Knowledge, Outcome, Passage, SubQuestion, Turn, Usage, Verdict, WrittenLanguage

_SENTENCES_OF_SECTION = 4
_CERTAIN: tuple[Outcome, ...] = ("documents", "quoted")
_IN_STEPS = N_("No passage answers the whole question, so it is answered in steps.")


_NOT_ASKED = "…"  # where a question names an answer that was not found
_DIFFERENCES: dict[WrittenLanguage, str] = {
    "en": "**The figure for $larger is $amount higher: $more against $less.**",
    "ko": "**$larger 쪽이 $amount 더 큽니다: $more, $less.**",
    "zh": "**$larger的数值高出 $amount：$more，$less。**",
    "zh-Hant": "**$larger的數值高出 $amount：$more，$less。**",
}
_SAME: dict[WrittenLanguage, str] = {
    "en": "**Both figures are the same: $more, $less.**",
    "ko": "**두 값이 같습니다: $more, $less.**",
    "zh": "**两个数值相同：$more，$less。**",
    "zh-Hant": "**兩個數值相同：$more，$less。**",
}


@graph_node("answer_parts")
def answer_parts(state: GraphState, deps: Deps) -> GraphState:
    """Answer each part of the question from passages of its own, and say which part has no answer.

    After the passages were graded, those are the steps of a question that no passage answers as a whole. If the first
    has no clear answer or the second none, the question is answered as if it had no steps.
    """
    steps = state.get("steps", ())
    choice = RouteChoice("steps", _IN_STEPS, parts=steps) if steps else select_route(state, deps)
    if not steps:
        deps.emit(RouteChosen("steps", choice.reason))
    language = detect_written_language(state["question"])
    answers, knowledge = list[_PartAnswer](), list[Knowledge]()
    for part in choice.parts:
        answer = _answer_step(part, answers, len(knowledge), choice.comparison, deps)
        if steps and not (answer.text if answers else answer.short):
            return {"steps": (), "missing_step": "" if answers or answer.is_named else part}
        answers.append(_write_part(answer, answers, language))
        knowledge += answer.knowledge
        if not steps:
            _emit_part(answers[-1], deps, is_first=len(answers) == 1)
    if not any(answer.outcome for answer in answers):
        missing = choice.parts[0] if any(map(depends_on, choice.parts)) else ""
        return answer_as_fact("No part of the question could be answered on its own.", deps) | {"missing_step": missing}
    if steps:
        deps.emit(RouteChosen("steps", choice.reason))
        for answer in answers:
            _emit_part(answer, deps, is_first=answer is answers[0])
    conclusion = _compare(choice.comparison, answers, language) if choice.comparison else ""
    outcome = _joint_outcome(answers)
    if choice.comparison and not conclusion:  # the values are there, but not which is more
        outcome = _lower(outcome)
    return _write_answer(state, answers, conclusion, outcome, deps)


def _write_part(answer: _PartAnswer, before: Sequence[_PartAnswer], language: WrittenLanguage) -> _PartAnswer:
    """Return an answer as it is shown, below its question; what answers two parts is shown once."""
    text = answer.text or load_prompt("part_not_answered", language)
    if answer.text and strip_citations(answer.text) in {strip_citations(other.text) for other in before}:
        text = load_prompt("part_answered_above", language)
    return replace(answer, written=f"**{to_plain_line(answer.question)}**\n\n{text}")


def _emit_part(answer: _PartAnswer, deps: Deps, *, is_first: bool) -> None:
    deps.emit(TokensWritten(answer.written if is_first else f"\n\n{answer.written}"))
    relevant, is_answered = len(answer.knowledge), bool(answer.text)
    deps.emit(PartAnswered(SubQuestion(answer.question, answer.found, relevant, is_answered, answer.reason)))


def _write_answer(
    state: GraphState, answers: Sequence[_PartAnswer], conclusion: str, outcome: Outcome, deps: Deps
) -> GraphState:
    """Put the answers to all parts together, the conclusion last, which no source states and nothing checks."""
    text, held = "\n\n".join(one.written for one in answers), tuple(item for one in answers for item in one.knowledge)
    if all(answer.is_quoted for answer in answers):
        numbering = CitationNumbering()
        text, conclusion = numbering.renumber(text), numbering.renumber(conclusion)
        held = numbering.reorder(held)
    shown = tuple({one.id: one for one in (*state.get("passages", ()), *(item.passage for item in held))}.values())
    deps.emit(PassagesFound("library", shown, deps.retriever.size(deps.options)))
    best = dict[int, Verdict]()
    for verdict in sorted((one for answer in answers for one in answer.verdicts), key=lambda one: one.score or 0.0):
        best[verdict.passage_id] = verdict  # the best of those on several parts
    for passage_id in dict.fromkeys(item.passage.id for item in held):
        if passage_id in best and passage_id not in state.get("verdicts", {}):
            deps.emit(PassageGraded(best[passage_id]))
    usage = sum((answer.usage for answer in answers), Usage())
    whole = f"{text}\n\n{conclusion}" if conclusion else text
    if conclusion:
        deps.emit(TokensWritten(f"\n\n{conclusion}"))
    deps.emit(AnswerWritten(whole, collect_citations(text, held), outcome, usage))
    return {"answer": text, "knowledge": held}


def _compare(comparison: Comparison, answers: Sequence[_PartAnswer], language: WrittenLanguage) -> str:
    """Return which of two values is larger and by how much; empty unless both are certain and can be compared."""
    if not all(answer.outcome in _CERTAIN for answer in answers):
        return ""
    first, second = answers
    found = comparison.find_difference(
        (strip_bold(strip_citations(first.text)), strip_bold(strip_citations(second.text)))
    )
    if found is None:
        return ""
    values = [f"{value} [{cited_numbers(answer.text)[0]}]" for value, answer in zip(found.values, answers, strict=True)]
    larger = found.larger or 0
    template = _SAME if found.larger is None else _DIFFERENCES
    return fill_template(
        template[language],
        larger=to_plain_line(comparison.names[larger]),
        amount=found.amount,
        more=values[larger],
        less=values[1 - larger],
    )


@dataclass(frozen=True, slots=True)
class _PartAnswer:
    """The answer to one part: empty, without an outcome, if its passages do not answer. `found` are passage ids.

    `verdicts` are those on the passages of its knowledge. `short` is the name or term that the text gives, if that is
    clear; `is_named` tells whether a sentence names all that the question says. `written` is what is shown.
    """

    question: str
    text: str
    outcome: Outcome | None
    knowledge: tuple[Knowledge, ...]
    found: tuple[int, ...]
    is_quoted: bool = True
    usage: Usage = field(default_factory=Usage)
    verdicts: tuple[Verdict, ...] = ()
    reason: str = ""
    short: ShortAnswer | None = None
    is_named: bool = False
    written: str = ""


def _answer_step(
    part: str, before: Sequence[_PartAnswer], offset: int, comparison: Comparison | None, deps: Deps
) -> _PartAnswer:
    """Answer one part; one that depends on another names the short answer to that, without which it is not asked.

    Where two things are compared, an answer must name the one that its part is about.
    """
    if not (number := depends_on(part)):
        asked = _name_subject(part, before[0].question if before else part, deps)
        answer = replace(_answer_part(asked, offset, deps), question=part)
        if comparison and not comparison.is_about(len(before), strip_citations(answer.text)):
            return replace(answer, text="", outcome=None, knowledge=())
        return _read_short_answer(asked, answer)
    needed = before[number - 1] if number <= len(before) else None
    if needed is None or not needed.short:
        return _PartAnswer(name_answer(part, _NOT_ASKED), "", None, (), ())
    asked = name_answer(part, needed.short.text)
    answer = _answer_part(asked, offset, deps)
    name, question = needed.short.text, needed.question
    reason = N_(f"“{name}” is the answer to “{question}”.")
    if answer.outcome and not needed.short.is_certain:
        answer = replace(answer, outcome=_lower(answer.outcome))
    return _read_short_answer(asked, replace(answer, reason=reason))


def _read_short_answer(question: str, answer: _PartAnswer) -> _PartAnswer:
    """Return an answer with the name or term that it gives."""
    is_named = any(names_all(question, sentence) for sentence in _split_plain(answer.text))
    return replace(answer, short=_find_short_answer(question, answer.text), is_named=is_named)


def _find_short_answer(question: str, text: str) -> ShortAnswer | None:
    """Return the name or term that an answer gives; None if its sentences give several."""
    named = [find_short_answer(question, sentence) for sentence in _split_plain(text) if names_all(question, sentence)]
    return named[0] if len({one and one.text for one in named}) == 1 else None


def _split_plain(text: str) -> list[str]:
    return split_sentences(strip_bold(strip_citations(text)))


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
            return _PartAnswer(part, text, "quoted", section, found)
    grades = dict(deps.engine.grader.grade(part, passages, deps.stop))
    words = {at: deps.thresholds.verdict_for(grade.score) for at, grade in grades.items()}
    usable = sorted((at for at in words if words[at] != "irrelevant"), key=lambda at: -(grades[at].score or 0.0))
    knowledge = tuple(Knowledge(offset + n, passages[at], passages[at].text) for n, at in enumerate(usable, start=1))
    if not knowledge:
        return _PartAnswer(part, "", None, (), found)
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
        return _PartAnswer(part, "", None, knowledge, found, is_quoted, usage, verdicts)
    if outcome == "quoted" and deps.engine.coverage:
        quotations = collect_quotations(text, used_knowledge(text, support, knowledge))
        short = _find_short_answer(part, text)
        asked = (part, ask_without_kind(part, short.text) if short and short.is_certain else "")
        is_covered = any(deps.engine.coverage.is_covered(one, quotations, passages=passages) for one in asked if one)
        outcome = "quoted" if is_covered else "possible"
    return _PartAnswer(part, text, outcome, knowledge, found, is_quoted, usage, verdicts)


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


def _lower(outcome: Outcome) -> Outcome:
    """Return the outcome of an answer as certain as this one that may not be all that is asked for."""
    lowered: dict[Outcome, Outcome] = {"quoted": "possible", "documents": "documents_partly"}
    return lowered.get(outcome, outcome)


def _joint_outcome(answers: Sequence[_PartAnswer]) -> Outcome:
    """Return the outcome of all parts together, which is that of the weakest."""
    outcomes = {answer.outcome for answer in answers}
    if None in outcomes or "documents_partly" in outcomes:
        return "documents_partly"
    return next((one for one in ("possible", "quoted") if one in outcomes), "documents")
