"""Graph nodes for the library: condense, retrieve, grade, decide, refine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from langgraph.runtime import Runtime

from crag.cancellation import call_cancellable
from crag.events import (
    ActionDecided,
    NodeEnded,
    NodeStarted,
    Noted,
    PassageGraded,
    PassagesFound,
    QuestionCondensed,
    RouteChosen,
    StripsScored,
    SufficiencyJudged,
    WebSkipped,
)
from crag.graph.policy import choose_action as decide_action
from crag.graph.policy import is_insufficient
from crag.graph.state import Deps, GraphState, fitted_question, retrieval_question
from crag.options import ROUTES
from crag.protocols import CondensedQuestion
from crag.text.continuations import continue_list, continue_summary, read_fragment
from crag.text.nested_questions import split_description
from crag.text.questions import extract_asking_sentences, is_long_question
from crag.text.routes import choose_route, find_document_reference
from crag.text.small_talk import strip_small_talk
from crag.text.spelling import correct_words
from crag.text.strips import limit_strips
from crag.types import (
    Assessment,
    Grade,
    Knowledge,
    NodeName,
    Passage,
    Route,
    Statement,
    Strip,
    Sufficiency,
    Turn,
    Verdict,
)

_PASSAGES_TO_COMPARE = 8  # near a follow-up question, to see which topic it goes with
NodeFunction = Callable[[GraphState, Deps], GraphState]


def graph_node(name: NodeName) -> Callable[[NodeFunction], Callable[[GraphState, Runtime[Deps]], GraphState]]:
    """Make a node of the graph that emits its start and end; it does not start when the run was cancelled."""

    def decorate(function: NodeFunction) -> Callable[[GraphState, Runtime[Deps]], GraphState]:
        def run(state: GraphState, runtime: Runtime[Deps]) -> GraphState:
            deps = runtime.context
            if meant := state.get("meant_documents"):
                deps = replace(deps, options=replace(deps.options, source_ids=tuple(meant)))
            deps.stop.check()
            deps.emit(NodeStarted(name, deps.elapsed()))
            changed = function(state, deps)
            deps.emit(NodeEnded(name, deps.elapsed()))
            return changed

        run.__name__, run.__doc__ = name, function.__doc__
        return run

    return decorate


@graph_node("condense_question")
def condense_question(state: GraphState, deps: Deps) -> GraphState:
    """Rewrite the question to be understood without the conversation, and separate what it asks from its text.

    Misspelled words are corrected first.
    """
    asked = extract_asking_sentences(fitted_question(state))
    corrections = deps.engine.find_corrections(asked)
    condensed = CondensedQuestion(correct_words(asked, corrections))
    history = state.get("history", ())
    continued = _continue_request(condensed.text, history, deps)
    if continued:
        condensed = CondensedQuestion(continued, "It continues the previous question.")
    reference = find_document_reference(condensed.text)
    meant = find_meant_documents(condensed.text, history, deps)
    meaning = ""
    if reference and meant:
        named = ", ".join(f"“{title}”" for title in meant.values())
        meaning = f"“{reference.phrase}” means {named}, which the previous answer cites."
    if reference and meant and choose_route(condensed.text).route != "fact":
        condensed = replace(condensed, text=reference.generalize(condensed.text))
    elif history and not continued:
        # by words and vectors alone: an evaluator would take its time for each of several queries
        options = replace(deps.options, k=max(deps.options.k, _PASSAGES_TO_COMPARE), grader="builtin")

        def find_passages(text: str) -> list[Passage]:
            return call_cancellable(lambda: deps.retriever.retrieve(text, options)[0], deps.stop)

        condensed = deps.engine.rewriter.condense(condensed.text, history, find_passages, deps.stop)
    reasons = [*(f"Read “{word}” as “{right}”." for word, right in corrections.items()), condensed.reason, meaning]
    deps.emit(QuestionCondensed(condensed.text, " ".join(filter(None, reasons)), tuple(meant)))
    changed = GraphState(standalone_question=condensed.text, meant_documents=tuple(meant))
    if is_route_open(state | changed, deps) and (route := judge_route(state | changed, deps)):
        changed["route"] = route
        if route == "steps" and deps.engine.route_judge:
            changed["parts"] = deps.engine.route_judge.split(retrieval_question(state | changed), deps.stop)
        if route == "fact":  # the nodes for other kinds of question say so themselves
            deps.emit(RouteChosen(route, route_reason(route, deps)))
    return changed


def find_meant_documents(question: str, history: Sequence[Turn], deps: Deps) -> dict[str, str]:
    """Return the documents that “this manual” means, as titles by id, from those that the last answer cites.

    None if “the manual” may be one that the answer does not cite: the title of another document has that word.
    """
    cited = next((turn.cited for turn in reversed(history) if turn.cited), ())
    reference = find_document_reference(question) if cited else None
    if reference is None:
        return {}
    titles: dict[str, str] = {}
    for source_id in cited:
        if not deps.options.source_ids or source_id in deps.options.source_ids:
            for title in deps.retriever.titles(replace(deps.options, source_ids=(source_id,))):
                titles[source_id] = title
    called_so = {source_id: title for source_id, title in titles.items() if reference.names(title)}
    if not (called_so or reference.is_pointing) and any(map(reference.names, deps.retriever.titles(deps.options))):
        return {}
    return called_so or titles


def is_route_open(state: GraphState, deps: Deps) -> bool:
    """Return whether to ask a model for the kind of question: neither the user nor the wording decides it."""
    is_decided = deps.system or deps.options.route != "auto" or state.get("extra_query") or state.get("route")
    if is_decided or deps.engine.route_judge is None:
        return False
    return not choose_route(extract_asking_sentences(retrieval_question(state))).is_clear


def judge_route(state: GraphState, deps: Deps) -> Route | None:
    """Return the kind of question according to the model; None without a model or a usable reply."""
    judge = deps.engine.route_judge
    return None if judge is None else judge.judge(retrieval_question(state), deps.stop)


def route_reason(route: Route, deps: Deps) -> str:
    """Return the reason for a route that the model chose."""
    return f"Kind of question, by {deps.engine.label}: {ROUTES[route][0].lower()}."


def _continue_request(question: str, history: Sequence[Turn], deps: Deps) -> str:
    """Return the earlier calculation, list or summary with the part that the question changes; mostly empty."""
    previous = next((turn.meant or turn.text for turn in reversed(history) if turn.role == "user"), "")
    if not previous:
        return ""
    if continued := continue_list(previous, question) or continue_summary(previous, question):
        return continued
    calculator, fragment = deps.engine.calculator, read_fragment(question)
    if not (calculator and fragment and calculator.is_calculation(previous)):
        return ""
    passages = list(deps.retriever.read_all(deps.options, with_tables=True))
    return calculator.continue_question(previous, fragment, passages)


@graph_node("retrieve")
def retrieve(state: GraphState, deps: Deps) -> GraphState:
    """Find the nearest passages of the library."""
    question, options = retrieval_question(state), deps.options
    asked = strip_small_talk(fitted_question(state)) if state.get("history") else question
    as_asked = "" if asked == question else asked
    # cancellable even while the question is embedded on another host
    found = call_cancellable(
        lambda: deps.retriever.retrieve(question, options, deps.stop, as_asked=as_asked), deps.stop
    )
    passages = tuple(found.passages)
    deps.emit(PassagesFound("library", passages, deps.retriever.size(options), scored=found.scored))
    if found.notice:
        deps.emit(Noted(found.notice))
    return {"passages": passages}


@graph_node("grade_documents")
def grade_documents(state: GraphState, deps: Deps) -> GraphState:
    """Grade each passage and emit every verdict as soon as it is known; judge whether they suffice, if that counts."""
    passages, assessor = state["passages"], deps.engine.assessor
    brings_text = is_long_question(fitted_question(state))
    if assessor is None or deps.options.policy != "paper" or deps.system or brings_text or not passages:
        return {"verdicts": grade_passages(state, passages, deps)}
    question, assessment = retrieval_question(state), None
    verdicts: dict[int, Verdict] = {}
    refine, history = deps.options.refine, state.get("history", ())
    for judged in assessor.assess(question, passages, deps.stop, refine=refine, history=history):
        if isinstance(judged, Assessment):
            assessment = _require_disagreement(judged, passages, verdicts)
            deps.emit(SufficiencyJudged(assessment))
        else:
            index, grade = judged
            verdicts[passages[index].id] = _emit_verdict(state, passages[index], grade, deps)
    return {"verdicts": verdicts, "assessment": assessment}


def _require_disagreement(
    assessment: Assessment, passages: Sequence[Passage], verdicts: Mapping[int, Verdict]
) -> Assessment:
    """Return the assessment; *conflicting* stays open unless passages of two documents are trusted."""
    if assessment.sufficiency != "conflicting":
        return assessment
    statements = trusted_statements(assessment, passages, verdicts)
    return replace(assessment, statements=statements, sufficiency="conflicting" if statements else None)


def trusted_statements(
    assessment: Assessment | None, passages: Sequence[Passage], verdicts: Mapping[int, Verdict]
) -> tuple[Statement, ...]:
    """Return the statements in relevant passages, one from each document; none unless several say different things."""
    known = {passage.id: passage for passage in passages}
    stated: dict[str, Statement] = {}
    for statement in assessment.statements if assessment else ():
        verdict = verdicts.get(statement.passage_id)
        if statement.passage_id in known and verdict is not None and verdict.word == "relevant":
            stated.setdefault(known[statement.passage_id].source_id, statement)
    differ = len({statement.sentence for statement in stated.values()}) > 1
    return tuple(stated.values()) if differ else ()


@graph_node("decide")
def decide(state: GraphState, deps: Deps) -> GraphState:
    """Combine the verdicts into an action; report when the web is needed but not available."""
    verdicts = state.get("verdicts", {})
    own = [verdicts[passage.id] for passage in state["passages"] if passage.id in verdicts]
    decision = decide_action(deps.options.policy, own, deps.thresholds, judged_sufficiency(state))
    wanted = decision.wants_web or bool(state.get("extra_query")) or _uses_web_passage(state)
    deps.emit(ActionDecided(decision.action, decision.reason, wanted))
    there = deps.web is not None or bool(state.get("web_passages"))
    if wanted and not there:
        deps.emit(WebSkipped(f"{deps.web_missing}, so the web was not searched."))
    lacks_web = wanted and not there and decision.action == "ambiguous"
    is_whole = decision.action == "correct" and judged_sufficiency(state) == "sufficient"
    steps = () if is_whole else _find_steps(state, deps)
    return {"search_web": wanted and there, "lacks_web": lacks_web, "steps": steps}


def _find_steps(state: GraphState, deps: Deps) -> tuple[str, ...]:
    """Return the steps in which to answer a question that no passage answers as a whole; mostly none."""
    is_decided = state.get("rulings") or state.get("extra_query") or state.get("is_fact") or state.get("web_passages")
    if is_decided or deps.options.policy != "paper" or deps.options.route != "auto" or deps.system:
        return ()
    if judged_sufficiency(state) == "conflicting" or is_long_question(fitted_question(state)):
        return ()
    return split_description(retrieval_question(state))


@graph_node("refine_knowledge")
def refine_knowledge(state: GraphState, deps: Deps) -> GraphState:
    """Cut the usable passages into strips and keep those that help (arXiv 2401.15884, section 4.4)."""
    strips: dict[int, tuple[Strip, ...]] = {}
    for question, passages in _group_by_question(state, deps).items():
        for index, cut in deps.engine.refiner.refine(question, passages, deps.stop):
            if deps.system:
                cut = _score_whole_passage(cut, state["verdicts"].get(passages[index].id))
            strips[passages[index].id] = cut
            deps.emit(StripsScored(passages[index].id, cut))
    wanted = {passage_id for passage_id, ruling in state.get("rulings", {}).items() if ruling == "use"}
    limitable = {passage_id: cut for passage_id, cut in strips.items() if passage_id not in wanted}
    limited = limit_strips(limitable, floor=deps.system.strip_floor if deps.system else None)
    for passage_id, cut in limited.items():
        if cut != strips[passage_id]:
            deps.emit(StripsScored(passage_id, cut))
    return {"strips": strips | limited}


def _score_whole_passage(cut: tuple[Strip, ...], verdict: Verdict | None) -> tuple[Strip, ...]:
    """Give a strip that is a whole passage, which the refiner does not score, the score of the passage."""
    return (replace(cut[0], score=verdict.score),) if len(cut) == 1 and verdict else cut


def _group_by_question(state: GraphState, deps: Deps) -> dict[str, list[Passage]]:
    """Group the usable passages by what they should answer: the question, or the extra query that found them."""
    groups: dict[str, list[Passage]] = {}
    for passage in usable_passages(state, deps):
        groups.setdefault(state.get("sought", {}).get(passage.id, retrieval_question(state)), []).append(passage)
    return groups


def _uses_web_passage(state: GraphState) -> bool:
    """Return whether the user chose to use a passage from the web."""
    rulings = state.get("rulings", {})
    return any(rulings.get(passage.id) == "use" for passage in state.get("web_passages", ()))


def judged_sufficiency(state: GraphState) -> Sufficiency | None:
    """Return whether the passages together answer the question; None if that was not judged."""
    assessment = state.get("assessment")
    return assessment.sufficiency if assessment else None


def is_merely_related(state: GraphState, deps: Deps) -> bool:
    """Return whether the library is on the subject but does not answer, and nothing of the web can be used."""
    verdicts = state.get("verdicts", {})
    own = [verdicts[passage.id] for passage in state.get("passages", ()) if passage.id in verdicts]
    is_related = any(verdict.word != "irrelevant" for verdict in own)
    if not (is_related and is_insufficient(deps.options.policy, own, judged_sufficiency(state))):
        return False
    return not any(verdicts[found.id].word != "irrelevant" for found in _web_passages(state) if found.id in verdicts)


def _web_passages(state: GraphState) -> Sequence[Passage]:
    """Return the results from the web, if the action calls for it."""
    return state.get("web_passages", ()) if state.get("search_web") else ()


def usable_passages(state: GraphState, deps: Deps) -> list[Passage]:
    """Return the passages usable for the answer, best verdict first: all that were not graded irrelevant.

    Reference systems keep the order in which they were found. There are none if those of the library are merely related
    and the web did not help.
    """
    verdicts = state.get("verdicts", {})
    if is_merely_related(state, deps):
        return []
    found = [*state.get("passages", ()), *_web_passages(state)]
    usable = [passage for passage in found if passage.id not in verdicts or verdicts[passage.id].word != "irrelevant"]
    if deps.system:
        return usable
    return sorted(usable, key=lambda passage: _verdict_rank(verdicts.get(passage.id)), reverse=True)


def gather_knowledge(state: GraphState, deps: Deps) -> tuple[Knowledge, ...]:
    """Number the texts that the answer may rest on: the kept strips, else the passage or its wider context."""
    usable = usable_passages(state, deps)
    held = [kept for kept in (_kept_knowledge(passage, state, deps) for passage in usable) if kept.text]
    if not held:  # the refiner dropped everything from passages that the grader trusts: trust the grader
        held = [Knowledge(0, passage, passage.text) for passage in usable]
    chosen = {passage for passage, ruling in state.get("rulings", {}).items() if ruling == "use"}
    trusts_all = deps.options.policy == "off" or judged_sufficiency(state) == "sufficient"
    return tuple(
        replace(kept, n=n, is_trusted=trusts_all or kept.passage.id in chosen) for n, kept in enumerate(held, start=1)
    )


def _kept_knowledge(passage: Passage, state: GraphState, deps: Deps) -> Knowledge:
    """Return what was kept of a passage, not yet numbered."""
    strips = state.get("strips", {}).get(passage.id)
    if strips is None:
        return Knowledge(0, passage, passage.context if deps.options.parent_context else passage.text)
    kept = tuple(strip for strip in strips if strip.kept)
    if not kept and state.get("rulings", {}).get(passage.id) == "use":  # the user overrules the refiner as well
        return Knowledge(0, passage, passage.text)
    return Knowledge(0, passage, "\n".join(strip.text for strip in kept), kept)


def grade_passages(state: GraphState, passages: Sequence[Passage], deps: Deps, sought: str = "") -> dict[int, Verdict]:
    """Grade the passages and emit each verdict as soon as it is known; the user's rulings override the grader.

    `sought` is the extra query that the passages should answer; empty means the question itself.
    """
    grades = deps.engine.grader.grade(sought or retrieval_question(state), passages, deps.stop)
    return {passages[index].id: _emit_verdict(state, passages[index], grade, deps) for index, grade in grades}


def _emit_verdict(state: GraphState, passage: Passage, grade: Grade, deps: Deps) -> Verdict:
    word = deps.thresholds.verdict_for(grade.score)
    verdict = Verdict(passage.id, word, grade.score, grade.reason, complete=grade.complete)
    if ruling := state.get("rulings", {}).get(passage.id):
        verdict = verdict.with_ruling(ruling)
    deps.emit(PassageGraded(verdict))
    return verdict


def _verdict_rank(verdict: Verdict | None) -> float:
    """Rank a verdict: ungraded passages between ambiguous and relevant, those the user wants above all."""
    if verdict is not None and verdict.ruling == "use":
        return 1.0
    return 0.5 if verdict is None or verdict.score is None else verdict.score
