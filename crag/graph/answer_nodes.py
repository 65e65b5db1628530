"""Graph nodes that write the answer and check it against its sources."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime

from crag.errors import ModelFault
from crag.events import AnswerChecked, AnswerWritten, Noted, PromptBuilt, ThoughtWritten, TokensWritten
from crag.graph.answer_support import answer_outcome, check_sentences, is_supported, used_knowledge
from crag.graph.citations import (
    CitationNumbering,
    collect_citations,
    collect_quotations,
    drop_invalid_citations,
)
from crag.graph.nodes import gather_knowledge, graph_node, is_merely_related, judged_sufficiency, trusted_statements
from crag.graph.policy import choose_action as decide_action
from crag.graph.state import Deps, GraphState, fitted_question, question_to_answer, retrieval_question
from crag.prompts import fill_template, load_prompt, name_searched
from crag.protocols import OFF_TOPIC, PromptFit, Writer
from crag.text.citation_marks import escape_brackets, strip_citations
from crag.text.formatting import format_count, format_date, format_place, to_local_time
from crag.text.language import detect_language, detect_written_language, is_table_row, split_sentences
from crag.text.nested_questions import joins_steps
from crag.text.questions import detect_answer_type, extract_asking_sentences, is_long_question
from crag.text.sanitization import to_one_line
from crag.text.spelling import is_certain
from crag.text.tables import find_heading_columns
from crag.types import HEADING_SEPARATOR, Knowledge, Passage, Statement, Support, Usage, WrittenLanguage

FINISH_NOTES = {
    "length": "The answer reached its length limit.",
    "incomplete": "The model stopped before the end. The text so far is kept.",
    "repetition": "The model repeated itself, so it was stopped.",
}
_UNUSABLE_REPLIES = {  # why a reply is no answer, and what to do
    "nothing": ("The model wrote nothing.", "Ask again, or choose another model."),
    "thought": (
        "The model only reasoned and wrote no answer.",
        "Raise its longest reply in the settings, or turn thinking off.",
    ),
    "length": (
        "The model reached its length limit before it wrote anything.",
        "Raise its longest reply in the settings.",
    ),
    "repetition": ("The model only repeated itself and was stopped.", "Ask again, or choose another model."),
    "unsupported": ("No passage supports what the model wrote.", "Ask again, or choose another model."),
}


@graph_node("generate")
def generate(state: GraphState, deps: Deps) -> GraphState:
    """Stream the answer from the knowledge; without knowledge, write a refusal.

    Raises `ModelFault`, also when the model writes nothing.
    """
    if statements := _find_disagreement(state, deps):
        return _write_disagreement(state, statements, deps)
    knowledge = gather_knowledge(state, deps)
    if not knowledge:
        is_related = is_merely_related(state, deps) and not state.get("unmatched_topic")
        return _write_refusal(state, deps, "refusal_related" if is_related else "")
    draft = _draft_answer(state, knowledge, deps)
    text, knowledge = draft.text, draft.knowledge
    if not text:
        return _write_refusal(state, deps, "" if draft.usage.finish_reason == OFF_TOPIC else "refusal_repeated")
    support = check_sentences(text, knowledge)
    covered = _is_covered(state, text, support, knowledge, deps, is_quoted=draft.is_quoted)
    outcome = answer_outcome(text, support, knowledge, is_covered=covered, is_quoted=draft.is_quoted)
    remark = ""
    if outcome == "possible":
        remark = _describe_unanswered_part(state, text, used_knowledge(text, support, knowledge), deps)
        if remark:
            outcome = "documents_partly"
            deps.emit(TokensWritten(remark))
    deps.emit(AnswerWritten(text + remark, collect_citations(text, knowledge, support), outcome, draft.usage))
    if outcome not in ("documents", "quoted"):
        _note_missing_web(state, deps)
    for note in draft.notes:
        deps.emit(Noted(note))
    return {"answer": text, "knowledge": knowledge}


@graph_node("check_answer")
def check_answer(state: GraphState, deps: Deps) -> GraphState:
    """Check how well the sources support each sentence of the answer."""
    if knowledge := state.get("knowledge"):
        deps.emit(AnswerChecked(check_sentences(state["answer"], knowledge)))
    return {}


def _is_covered(
    state: GraphState,
    text: str,
    support: tuple[Support, ...],
    knowledge: tuple[Knowledge, ...],
    deps: Deps,
    *,
    is_quoted: bool,
) -> bool:
    """Return whether what the answer uses states everything that the question asks for.

    The verdicts must call for no other source. What is quoted must state everything that the question asks for. A model
    may use other words, but every sentence must be supported, and the source sentences are judged like quotations. A
    passage that the user chose to use anyway counts as covering the question. A doubtful correction of the question's
    spelling never does: another word may have been meant, which the documents do not contain.
    """
    corrections = deps.engine.find_corrections(extract_asking_sentences(fitted_question(state)))
    if not all(is_certain(word, right) for word, right in corrections.items()):
        return False
    verdicts = state.get("verdicts", {})
    own = [verdicts[passage.id] for passage in state["passages"] if passage.id in verdicts]
    policy = deps.options.policy
    rule = "none" if policy == "any" else policy  # `any` is ambiguous also where one passage answers and another not
    if decide_action(rule, own, deps.thresholds, judged_sufficiency(state)).action == "ambiguous":
        return False
    if not is_supported(text, support):
        return False
    used = used_knowledge(text, support, knowledge)
    rulings = state.get("rulings", {})
    if deps.engine.coverage is None or any(rulings.get(item.passage.id) == "use" for item in used):
        return True
    if is_quoted:
        quoted = collect_quotations(text, used)
        has_rival_rows = sum(is_table_row(one.text) for one in quoted) > 1  # of two years, for example
        return not has_rival_rows and deps.engine.coverage.is_covered(
            retrieval_question(state), quoted, passages=state["passages"]
        )
    if any(one.strength != "supported" for one in support):
        return False
    sources = collect_quotations("\n".join(one.quote for one in support), used)
    return deps.engine.coverage.is_covered(retrieval_question(state), sources, answer=strip_citations(text))


def _describe_unanswered_part(state: GraphState, text: str, used: list[Knowledge], deps: Deps) -> str:
    """Return a last paragraph that names the step or half of a question that was not found, mostly none."""
    is_joined = any(joins_steps(retrieval_question(state), sentence) for sentence in split_sentences(text))
    part = "" if is_joined else state.get("missing_step", "")
    if deps.engine.coverage and not part:
        part = deps.engine.coverage.find_unanswered_part(retrieval_question(state), collect_quotations(text, used))
    template = load_prompt("unanswered_part", detect_written_language(state["question"]))
    return f"\n\n{fill_template(template, part=part)}" if part else ""


@dataclass(frozen=True, slots=True)
class _Draft:
    """An answer as written, and the knowledge under the numbers that it cites."""

    text: str
    usage: Usage
    knowledge: tuple[Knowledge, ...]
    is_quoted: bool
    notes: tuple[str, ...] = ()


def _find_flaw(draft: _Draft, state: GraphState) -> str:
    """Return why a reply is not an answer, as a key of `_UNUSABLE_REPLIES`; empty if it is one.

    A reply that ended in repetition counts only if sources support all that is left. A whole reply to a question must
    have a source for something that it says, unless it is in another language than the sources, or may rest on a text
    that came with the question.
    """
    reason = draft.usage.finish_reason or ""
    if not draft.text:
        return reason if reason in _UNUSABLE_REPLIES else "nothing"
    support = check_sentences(draft.text, draft.knowledge)
    if reason == "repetition" and not (support and is_supported(draft.text, support)):
        return reason
    is_whole = not (draft.usage.answer_cut or state.get("begun_answer"))
    languages = {detect_language(item.text) for item in draft.knowledge}
    if not (support and is_whole and _asks_fact(state["question"]) and detect_language(draft.text) in languages):
        return ""
    return "unsupported" if all(one.strength == "unsupported" for one in support) else ""


def _asks_fact(question: str) -> bool:
    """Return whether the user asks something briefly, rather than to write, translate or sum up something."""
    if is_long_question(question):
        return False
    return question.rstrip().endswith(("?", "？")) or detect_answer_type(question) in {
        "person",
        "time",
        "number",
        "place",
    }


def _draft_answer(state: GraphState, knowledge: tuple[Knowledge, ...], deps: Deps) -> _Draft:
    """Let the model write the answer; where its reply is none, quote the passages and say why.

    Raises `ModelFault` when the model wrote nothing and there is nothing to quote. A refusal would be wrong then: the
    documents were judged to contain the answer.
    """
    draft = _stream_answer(state, knowledge, deps, deps.engine.writer)
    flaw = "" if draft.is_quoted else _find_flaw(draft, state)
    if not flaw or (draft.text and not deps.engine.quoting_writer):
        return draft
    what, remedy = _UNUSABLE_REPLIES[flaw]
    if draft.text:
        deps.emit(TokensWritten("\n\n"))
    quoted = deps.engine.quoting_writer and _stream_answer(state, knowledge, deps, deps.engine.quoting_writer)
    if not quoted or not (quoted.text or draft.text):
        raise ModelFault("nothing_written", what, remedy)
    usage = replace(draft.usage, finish_reason=quoted.usage.finish_reason)
    return replace(quoted, usage=usage, notes=(f"{what} The passages are quoted instead. {remedy}",))


def _stream_answer(state: GraphState, knowledge: tuple[Knowledge, ...], deps: Deps, writer: Writer) -> _Draft:
    """Stream the answer; one that quotes with its citations renumbered."""
    text, usage, fit, numbering = "", Usage(), PromptFit(0, 0, 0), CitationNumbering()
    history, begun = state.get("history", ()), state.get("begun_answer", "")
    for part in writer.write(question_to_answer(state), knowledge, history, deps.stop, partial_answer=begun):
        if isinstance(part, PromptFit):
            fit = part
            if fit.window or writer is deps.engine.writer:
                _report_prompt_fit(fit, deps)
            continue
        if part.thought:
            deps.emit(ThoughtWritten(part.thought, deps.elapsed()))
        if part.text:
            piece = part.text if fit.window else numbering.renumber(part.text)
            text += piece
            deps.emit(TokensWritten(piece))
        text = text[: len(text) - part.repeated]
        usage = part.usage or usage
    if not fit.window:
        knowledge = numbering.reorder(knowledge)
    notes = FINISH_NOTES.get(usage.finish_reason or "", ""), _truncation_note(usage, fit)
    text = drop_invalid_citations(text, knowledge).strip()
    return _Draft(text, usage, knowledge, not fit.window, tuple(note for note in notes if note))


def _truncation_note(usage: Usage, fit: PromptFit) -> str:
    """Return a note when the server's token count suggests that the prompt was truncated, else an empty string."""
    seen = usage.prompt_tokens
    if not usage.prompt_cut or seen is None:
        return ""
    full = f"The prompt filled the model's window ({seen:,} of {fit.window:,} tokens), so it may have been cut"
    read = f"The model server read {seen:,} of about {fit.tokens:,} tokens of the prompt"
    return f"{read if seen < fit.tokens else full}: the answer may be based on less than is shown."


def _report_prompt_fit(fit: PromptFit, deps: Deps) -> None:
    deps.emit(PromptBuilt(fit.tokens, fit.window, fit.left_out))
    for number, counted in (
        (fit.left_out, format_count(fit.left_out, "excerpt")),
        (fit.messages_left_out, format_count(fit.messages_left_out, "earlier message")),
    ):
        if number:
            deps.emit(Noted(f"{counted} left out: the window of {fit.window:,} tokens is full."))


def _find_disagreement(state: GraphState, deps: Deps) -> tuple[Statement, ...]:
    """Return the different answers of the documents that are still trusted; none under a policy that does not ask."""
    if deps.options.policy != "paper":
        return ()
    return trusted_statements(state.get("assessment"), state["passages"], state.get("verdicts", {}))


def _write_disagreement(state: GraphState, statements: Sequence[Statement], deps: Deps) -> GraphState:
    """Quote what each document states, with its title and date, in place of an answer that chooses one of them."""
    language = detect_written_language(state["question"])
    lead, *dated = load_prompt("disagreement", language).split("\n---\n")
    known = {passage.id: passage for passage in state["passages"]}
    sources = [known[statement.passage_id] for statement in statements]
    knowledge = tuple(Knowledge(n, passage, passage.text) for n, passage in enumerate(sources, start=1))
    quotes = [f"“{escape_brackets(each.sentence)}” [{n}]" for n, each in enumerate(statements, start=1)]
    origins = (_describe_source(passage, dated, language) for passage in sources)
    text = "\n".join([lead, "", *(f"- {quote} — {origin}" for quote, origin in zip(quotes, origins, strict=True))])
    deps.emit(TokensWritten(text))
    deps.emit(AnswerWritten(text, collect_citations("\n".join(quotes), knowledge), "conflicting", Usage()))
    return {"answer": "\n".join(quotes), "knowledge": knowledge}


def _describe_source(passage: Passage, dated: Sequence[str], language: WrittenLanguage) -> str:
    """Return the title of a document and when it was published, or else added; `dated` are the words for both."""
    title = escape_brackets(" ".join(passage.title.split()))
    if not (passage.published or passage.added_at):
        return title
    day = passage.published or f"{to_local_time(passage.added_at):%Y-%m-%d}"
    if language == "en":
        with suppress(ValueError):  # only the year may be known
            day = format_date(datetime.strptime(day, "%Y-%m-%d").astimezone().timestamp())
    return f"{title}, {fill_template(dated[0] if passage.published else dated[1], date=day)}"


def _note_missing_web(state: GraphState, deps: Deps) -> None:
    if state.get("lacks_web"):
        deps.emit(Noted(f"{deps.web_missing}, so only your documents were used."))


def _write_refusal(state: GraphState, deps: Deps, prompt: str = "") -> GraphState:
    passages, web = len(state.get("passages", ())), len(state.get("web_passages", ()))
    language = detect_written_language(state["question"])
    text = fill_template(
        load_prompt(prompt or _refusal_prompt_name(state), language),
        documents=name_searched(language, limited=deps.options.is_limited, count=len(deps.options.source_ids)),
        passages=str(passages),
        web=str(web),
        place=_describe_nearest_place(state),
        topic=escape_brackets(to_one_line(state.get("unmatched_topic", ""))),
        read=f"{state.get('passages_read', 0):,}",
    )
    if part := state.get("missing_step"):
        text += f"\n\n{fill_template(load_prompt('unanswered_part', language), part=part)}"
    deps.emit(TokensWritten(text))
    deps.emit(AnswerWritten(text, (), "not_answered", Usage()))
    _note_missing_web(state, deps)
    return {"answer": text, "knowledge": ()}


def _describe_nearest_place(state: GraphState) -> str:
    """Return where the passage is that was graded best, of equals the first; empty if none was found."""
    if not (passages := state.get("passages", ())):
        return ""
    verdicts = state.get("verdicts", {})
    scores = {passage.id: verdicts[passage.id].score or 0.0 for passage in passages if passage.id in verdicts}
    nearest = max(passages, key=lambda passage: scores.get(passage.id, 0.0))
    section = "" if find_heading_columns(nearest.heading) else nearest.heading.rpartition(HEADING_SEPARATOR)[2]
    return escape_brackets(to_one_line(format_place(format_place(nearest.title, section), nearest.locator)))


def _refusal_prompt_name(state: GraphState) -> str:
    """Choose the refusal text; passages that the user dropped may have held the answer."""
    if "drop" in state.get("rulings", {}).values():
        return "refusal_dropped"
    if state.get("web_passages"):
        return "refusal_web"
    if state.get("unmatched_topic"):
        return "refusal_unmatched"
    if any(verdict.word != "irrelevant" for verdict in state.get("verdicts", {}).values()):
        return "refusal_related"
    return {0: "refusal_empty", 1: "refusal_one"}.get(len(state.get("passages", ())), "refusal")
