"""Graph nodes for questions that a few passages do not answer: whole documents and lists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby, islice
from pathlib import PurePath

from crag.events import (
    AnswerWritten,
    MatchesListed,
    Noted,
    PassagesFound,
    PassagesRead,
    PromptBuilt,
    RouteChosen,
    TokensWritten,
)
from crag.graph.answer_support import answer_outcome, check_sentences
from crag.graph.citations import cite, collect_citations, drop_invalid_citations
from crag.graph.nodes import graph_node, route_reason
from crag.graph.state import Deps, GraphState, retrieval_question
from crag.prompts import fill_template
from crag.protocols import CalculationFailed, PromptFit, ReadingProgress, SummarySources
from crag.text.citation_marks import escape_brackets
from crag.text.formatting import format_count, format_location
from crag.text.language import detect_written_language, extract_terms, is_heading, is_table_row, split_sentences
from crag.text.matches import MatchFinder
from crag.text.nested_questions import depends_on
from crag.text.questions import extract_asking_sentences, find_name_terms
from crag.text.routes import RouteChoice, SummaryRequest, choose_route, drop_place, force_route, parse_summary_request
from crag.text.sanitization import to_one_line
from crag.text.sections import is_numbered, names_section, section_titles
from crag.translation import N_
from crag.types import Citation, Knowledge, Match, Outcome, Passage, Usage, WrittenLanguage

_MAX_READ = 5_000  # passages of a summary: about 1,500 pages
_READ_AT_ONCE = 200
_NAMED_SHARE = 0.5  # of the words of a request that the title of a document must hold
_MAX_TABLES = 40  # in a summary of sheets
_MAX_MATCHES = 2_000
_MAX_SHOWN = 60  # matches in the answer; the trace and the CSV file hold all
_SEARCHED_INSTEAD = N_("The passages that fit best are searched instead.")


def select_route(state: GraphState, deps: Deps) -> RouteChoice:
    """Return how to answer the question: as the user chose, else as a model judged it, else by its wording.

    A text pasted with the question is ignored. Another web search is always for a fact. A question about something that
    it describes is one first, too: one passage may answer it as a whole.
    """
    question, options = extract_asking_sentences(retrieval_question(state)), deps.options
    if options.route != "auto":
        return force_route(question, options.route)
    if state.get("extra_query"):
        return RouteChoice("fact", "")
    if judged := state.get("route"):
        chosen = force_route(question, judged)
        chosen = replace(chosen, parts=state.get("parts") or chosen.parts)
        can_follow = {"steps": len(chosen.parts) > 1, "table": _has_tables(deps)}
        if can_follow.get(judged, True):
            return replace(chosen, reason=route_reason(judged, deps))
    chosen = choose_route(question)
    if any(map(depends_on, chosen.parts)):
        chosen = RouteChoice("fact", "")
    may_calculate = chosen.route in ("fact", "steps", "list") and not state.get("no_table_answers")
    calculator = deps.engine.calculator
    if may_calculate and calculator and calculator.is_calculation(question) and _has_tables(deps):
        reason = N_("It asks for a calculation over the rows of a table.")
        return replace(chosen, route="table", reason=reason, is_clear=True)
    return chosen


def _has_tables(deps: Deps) -> bool:
    return next(deps.retriever.read_all(deps.options, with_tables=True), None) is not None


@graph_node("read_documents")
def read_documents(state: GraphState, deps: Deps) -> GraphState:
    """Sum up whole documents, or the chapters that the question names; sheets, which hold only rows, are described."""
    question, choice = retrieval_question(state), select_route(state, deps)
    request = _read_request(question, deps)
    deps.emit(RouteChosen("document", choice.reason))
    size = deps.retriever.size(deps.options)
    passages = _select_passages(request, list(islice(deps.retriever.read_all(deps.options), _MAX_READ)))
    if not passages:
        return _search_instead(request, deps)
    if size > _MAX_READ:
        deps.emit(Noted(f"Only the first {_MAX_READ:,} of {size:,} passages were read. Choose fewer documents."))
    passages = _keep_section(passages, request.section, deps) if request.section else passages
    deps.emit(PassagesRead(0, len(passages)))
    sheets = _find_sheets(passages)
    prose = [passage for passage in passages if passage.source_id not in sheets]
    text, usage, window, knowledge = "", Usage(), 0, tuple[Knowledge, ...]()
    summarizer = deps.engine.summarizer if prose else None
    for piece in summarizer.summarize(question, prose, deps.stop) if summarizer else ():
        match piece:
            case ReadingProgress(read):
                deps.emit(PassagesRead(read, len(passages)))
            case SummarySources(cited):
                deps.emit(PassagesFound("library", cited, len(passages)))
                knowledge = tuple(Knowledge(n, passage, passage.text) for n, passage in enumerate(cited, start=1))
            case PromptFit(tokens, window, left_out):
                deps.emit(PromptBuilt(tokens, window, left_out))
            case _:
                text += piece.text
                text = text[: len(text) - piece.repeated]
                usage = piece.usage or usage
                deps.emit(TokensWritten(piece.text))
    if request.is_reworded and text and not window:
        deps.emit(Noted("Without a language model, these are sentences of your documents, in their own words."))
    text = drop_invalid_citations(text, knowledge).strip()
    support = check_sentences(text, knowledge)
    citations = collect_citations(text, knowledge, support)
    outcome: Outcome = "quoted" if not window else answer_outcome(text, support, knowledge)
    tables, cited_rows = _describe_sheets(state, [one for one in passages if one.source_id in sheets], knowledge, deps)
    if not (text or tables):
        return answer_as_fact("No sentences to sum up were found.", deps)
    if tables:
        outcome = outcome if text else "calculated"
        tables = f"\n\n{tables}" if text else tables
        deps.emit(TokensWritten(tables))
        deps.emit(PassagesRead(len(passages), len(passages)))
    deps.emit(AnswerWritten(text + tables, (*citations, *cited_rows), outcome, usage))
    return {"answer": text, "knowledge": knowledge}  # figures computed over rows cannot be checked like a sentence


def _read_request(question: str, deps: Deps) -> SummaryRequest:
    """Return what to sum up: what the form of the request names, or else a document whose title is in the question."""
    request = parse_summary_request(question) or SummaryRequest()
    return request if request.scope else replace(request, scope=_find_title(question, deps))


def _find_title(question: str, deps: Deps) -> str:
    """Return the longest title whose words all occur in the question; empty if there is none."""
    asked = frozenset(extract_terms(question))
    titles = ((frozenset(extract_terms(title)), title) for title in deps.retriever.titles(deps.options))
    named = [(len(terms), title) for terms, title in titles if terms and terms <= asked]
    return max(named, default=(0, ""))[1]


def _find_sheets(passages: Sequence[Passage]) -> frozenset[str]:
    """Return the ids of documents that hold only table rows and headings."""
    lines = [(passage.source_id, line) for passage in passages for line in passage.text.splitlines() if line.strip()]
    with_rows = {source_id for source_id, line in lines if is_table_row(line)}
    with_text = {source_id for source_id, line in lines if not is_table_row(line) and not is_heading(line)}
    return frozenset(with_rows - with_text)


def _describe_sheets(
    state: GraphState, passages: Sequence[Passage], knowledge: Sequence[Knowledge], deps: Deps
) -> tuple[str, tuple[Citation, ...]]:
    """Return a line about each table, citing its first row; citation numbers continue those of the knowledge."""
    if not passages or deps.engine.calculator is None:
        return "", ()
    try:
        found = deps.engine.calculator.describe(passages, detect_written_language(state["question"]))[:_MAX_TABLES]
    except CalculationFailed as error:
        deps.emit(Noted(str(error)))
        return "", ()
    by_id = {passage.id: passage for passage in passages}
    first = len(knowledge) + 1
    cited = [Knowledge(n, by_id[one.first_row.passage_id], "") for n, one in enumerate(found, start=first)]
    shown = (*(item.passage for item in knowledge), *(item.passage for item in cited))
    deps.emit(PassagesFound("library", shown, deps.retriever.size(deps.options)))
    lines = [
        f"- **{to_plain_line(one.title)}**: {escape_brackets(to_one_line(one.text))} [{item.n}]"
        for one, item in zip(found, cited, strict=True)
    ]
    return "\n".join(lines), tuple(cite(item, one.first_row.sentence) for one, item in zip(found, cited, strict=True))


@graph_node("list_matches")
def list_matches(state: GraphState, deps: Deps) -> GraphState:
    """List every place about the topic of the question; every passage is read."""
    choice = select_route(state, deps)
    deps.emit(RouteChosen("list", choice.reason))
    titles = _named_titles(choice.place, deps) if choice.place != choice.topic else frozenset[str]()
    topic = drop_place(choice.topic, choice.place) if titles else choice.topic
    finder, read, size = MatchFinder(topic), 0, deps.retriever.size(deps.options)
    sources = set[str]()
    passages = (one for one in deps.retriever.read_all(deps.options) if not titles or one.title in titles)
    while some := list(islice(passages, _READ_AT_ONCE)):
        deps.stop.check()
        finder.read(some)
        sources.update(passage.source_id for passage in some)
        read += len(some)
        deps.emit(PassagesRead(read, max(size, read)))
    deps.emit(PassagesRead(read, read))
    matches = finder.matches()[:_MAX_MATCHES]
    if not matches:
        gone_on = answer_as_fact(f"No passage matches “{topic}”; {format_count(read, 'passage')} read.", deps)
        return gone_on | {"unmatched_topic": topic, "passages_read": read} if read else gone_on
    if len(matches) == _MAX_MATCHES:
        deps.emit(Noted(f"Only the first {_MAX_MATCHES:,} matches are kept. Ask for something narrower."))
    shown = matches[:_MAX_SHOWN]
    found = [finder.passages[passage_id] for passage_id in dict.fromkeys(match.passage_id for match in shown)]
    deps.emit(PassagesFound("library", tuple(found), read))
    deps.emit(MatchesListed(topic, tuple(matches)))
    knowledge = tuple(Knowledge(n, passage, passage.text) for n, passage in enumerate(found, start=1))
    documents = len({finder.passages[match.passage_id].source_id for match in matches})
    text = _write_matches(state, matches, knowledge, documents, read, with_titles=len(sources) > 1)
    deps.emit(TokensWritten(text))
    deps.emit(AnswerWritten(text, collect_citations(text, knowledge), "quoted", Usage()))
    return {"answer": text, "knowledge": knowledge}


def _named_titles(place: str, deps: Deps) -> frozenset[str]:
    """Return the titles of documents that hold most words of the place where to look; none if it is no document."""
    asked = frozenset(extract_terms(place))
    titles = {title: sum(term in title.casefold() for term in asked) for title in deps.retriever.titles(deps.options)}
    best = max(titles.values(), default=0)
    is_named = best > 0 and best >= _NAMED_SHARE * len(asked)
    return frozenset(title for title, number in titles.items() if is_named and number == best)


def answer_as_fact(reason: str, deps: Deps) -> GraphState:
    """Continue as if the question asked for a fact."""
    deps.emit(RouteChosen("fact", f"{reason} {_SEARCHED_INSTEAD}"))
    return {"is_fact": True}


def _search_instead(request: SummaryRequest, deps: Deps) -> GraphState:
    if request.page:
        return answer_as_fact(f"No text is on page {request.page} of these documents.", deps)
    name = f"{request.scope} {request.chapter}".strip()
    return answer_as_fact(f"No document or chapter is called “{name}”.", deps)


def _select_passages(request: SummaryRequest, passages: Sequence[Passage]) -> list[Passage]:
    """Return the passages of the documents or chapters that a request names, or all if it names none."""
    asked = frozenset(extract_terms(request.scope))
    one_of_each = {passage.source_id: passage for passage in passages}
    named = {source_id: len(asked & _name_terms(one)) for source_id, one in one_of_each.items()}
    best = max(named.values(), default=0)
    if asked and best >= _NAMED_SHARE * len(asked):
        passages = [passage for passage in passages if named[passage.source_id] == best]
        asked = frozenset()
    if request.page:
        passages = [passage for passage in passages if passage.text_on_page(request.page).strip()]
    if request.chapter:
        texts = ((passage, [*section_titles(passage), *split_sentences(passage.text)]) for passage in passages)
        return [passage for passage, named in texts if any(is_numbered(text, request.chapter) for text in named)]
    if not asked:
        return list(passages)
    in_chapter = [passage for passage in passages if _is_in_chapter(passage, asked)]
    # "Summarize the Orbel paper": a name, which cannot begin a sentence, of no document
    is_unknown = bool(find_name_terms(f"the {request.scope}")) and not best
    return in_chapter or (list(passages) if request.is_whole and not is_unknown else [])


def _name_terms(passage: Passage) -> frozenset[str]:
    """Return the terms by which people call a document: those of its title and of its file."""
    return frozenset(extract_terms(f"{passage.title} {PurePath(format_location(passage.location)).stem}"))


def _keep_section(passages: list[Passage], name: str, deps: Deps) -> list[Passage]:
    """Return the passages of the documents with a section of this name; all, with a note, if none has one."""
    named = {one.source_id for one in passages if any(names_section(title, name) for title in section_titles(one))}
    if not named:
        deps.emit(Noted(f"No heading names “{name}”, so all of the text was summed up."))
    return [passage for passage in passages if passage.source_id in named] or passages


def _is_in_chapter(passage: Passage, asked: frozenset[str]) -> bool:
    return any(asked <= frozenset(extract_terms(title)) for title in section_titles(passage))


_LIST_LEADS: dict[WrittenLanguage, str] = {
    "en": "**$places in $documents.** All $read passages were read.$more",
    "ko": "**문서 $documents개에서 $places곳을 찾았습니다.** 문단 $read개를 모두 읽었습니다.$more",
    "zh": "**在 $documents 个文档中找到 $places 处。** 已读完全部 $read 个段落。$more",
    "zh-Hant": "**在 $documents 個文件中找到 $places 處。** 已讀完全部 $read 個段落。$more",
}
_LIST_MORE: dict[WrittenLanguage, str] = {
    "en": " The first $shown are listed here; the CSV file has all.",
    "ko": " 처음 $shown곳을 보여 드립니다. CSV 파일에는 모두 있습니다.",
    "zh": " 这里列出前 $shown 处，CSV 文件包含全部。",
    "zh-Hant": " 這裡列出前 $shown 處，CSV 檔案包含全部。",
}


def _write_matches(
    state: GraphState,
    matches: Sequence[Match],
    knowledge: Sequence[Knowledge],
    documents: int,
    read: int,
    *,
    with_titles: bool,
) -> str:
    """Write how much was found, then the matches, by document."""
    language = detect_written_language(state["question"])
    known = {item.passage.id: item for item in knowledge}
    shown = matches[:_MAX_SHOWN]
    more = fill_template(_LIST_MORE[language], shown=f"{len(shown):,}") if len(matches) > len(shown) else ""
    places = format_count(len(matches), "place") if language == "en" else f"{len(matches):,}"
    number = format_count(documents, "document") if language == "en" else f"{documents:,}"
    blocks = [fill_template(_LIST_LEADS[language], places=places, documents=number, read=f"{read:,}", more=more)]
    for _, group in groupby(shown, key=lambda match: known[match.passage_id].passage.source_id):
        listed = list(group)
        title = to_plain_line(known[listed[0].passage_id].passage.title)
        lines = [line for match in listed for line in _write_match(match, known[match.passage_id].n)]
        blocks.append("\n".join([*([f"**{title}**", ""] if with_titles else []), *lines]))
    return "\n\n".join(blocks)


def _write_match(match: Match, n: int) -> list[str]:
    """Return a match as list items: a sentence with the list that it announces below it."""
    lines = (f"- {escape_brackets(to_one_line(line))} [{n}]" for line in match.text.splitlines())
    return [f"{'  ' * (place > 0)}{line}" for place, line in enumerate(lines)]


def to_plain_line(text: str) -> str:
    """Return a text as one line without marks of bold text."""
    return to_one_line(text).replace("*", "")
