"""Questions that are no facts: the real graph over doubles."""

from dataclasses import replace

import pytest

from crag.inspection.run_labels import answer_facts
from crag.options import RunOptions
from crag.protocols import PromptFit, ReadingProgress, ReplyPiece, SummarySources
from crag.types import Turn, Usage
from tests.doubles.engine import QuotingWriter, passage

LEASE = passage(1, "Duties\n\n- The tenant sweeps the yard.\n- The tenant feeds the hens.", title="Lease")
LETTER = passage(
    2, "The landlord paints the door. Hens are allowed.", title="Letter", location="/post/reply_of_may_答复.pdf"
)


class FirstSentences:
    """Sums up by the first sentence of each passage."""

    def __init__(self, window=0):
        self.window = window
        self.given = []

    def summarize(self, question, passages, stop):
        self.given = list(passages)
        yield ReadingProgress(len(passages))
        yield SummarySources(tuple(passages))
        yield PromptFit(5, self.window, 0)
        for n, item in enumerate(passages, start=1):
            yield ReplyPiece(f"{item.text.splitlines()[-1].strip('- ')} [{n}]\n")
        yield ReplyPiece("", Usage(3, 4, "stop"))


def test_a_summary_reads_every_passage_and_cites_them(bench):
    trace = bench({}, passages=[LEASE, LETTER], summarizer=FirstSentences()).ask("Summarize everything")
    assert (trace.route, trace.outcome, trace.read.read, trace.read.of) == ("document", "quoted", 2, 2)
    assert [cited.passage_id for cited in trace.citations] == [1, 2]
    assert trace.trajectory == ["read_documents"]
    assert [one.strength for one in trace.sentences] == ["supported"] * len(trace.sentences)


def test_a_summary_by_a_model_is_checked_against_its_sources(bench):
    trace = bench({}, passages=[LEASE, LETTER], summarizer=FirstSentences(window=100)).ask("Summarize everything")
    assert trace.outcome == "documents"
    assert trace.usage.answer_tokens == 4


@pytest.mark.parametrize(
    ("question", "window", "is_noted"),
    [
        ("Summarize everything for a beginner", 0, True),
        ("이 문서를 쉽게 요약해줘", 0, True),
        ("Summarize everything", 0, False),
        ("Summarize everything for a beginner", 100, False),
    ],
)
def test_other_words_than_those_of_the_documents_need_a_model(bench, question, window, is_noted):
    trace = bench({}, passages=[LEASE, LETTER], summarizer=FirstSentences(window)).ask(question)
    assert any("Without a language model" in note for note in trace.notes) is is_noted


@pytest.mark.parametrize(
    ("question", "read"),
    [
        ("Summarize the lease", [1]),
        ("Summarize the chapter on duties", [1]),
        ("Summarize the report", [1, 2]),
        ("Summarize the reply of May", [2]),
        ("总结一下答复", [2]),
    ],
)
def test_only_what_the_request_names_is_summed_up(bench, question, read):
    summarizer = FirstSentences()
    bench({}, passages=[LEASE, LETTER], summarizer=summarizer).ask(question)
    assert [item.id for item in summarizer.given] == read


@pytest.mark.parametrize(
    ("question", "read"),
    [
        ("Summarize this document", [2]),
        ("Sum up the report, please", [2]),
        ("Summarize the letter", [2]),
        ("Summarize the lease", [1]),
        ("Summarize this lease", [2]),
        ("Summarize the documents", [1, 2]),
        ("Summarize everything", [1, 2]),
        ("이 설명서를 요약해 줘", [2]),
        ("這本手冊的重點是什麼？", [2]),
        ("总结一下这份报告", [2]),
    ],
)
def test_after_an_answer_this_document_is_the_one_that_it_cites(bench, question, read):
    summarizer = FirstSentences()
    history = Turn("user", "Who paints the door?"), Turn("assistant", "The landlord [1].", cited=("s2",))
    trace = bench({}, passages=[LEASE, LETTER], summarizer=summarizer).ask(question, history)
    assert [item.id for item in summarizer.given] == read
    assert trace.meant_documents == (("s2",) if read == [2] else ())
    assert ("means “Letter”, which the previous answer cites." in trace.condensed_reason) is (read == [2])


def test_of_several_cited_documents_the_one_that_is_called_so_is_meant(bench):
    summarizer = FirstSentences()
    history = Turn("user", "Who paints the door?"), Turn("assistant", "The landlord [1][2].", cited=("s1", "s2"))
    asking = bench({}, passages=[LEASE, LETTER, BOATS], summarizer=summarizer)
    asking.ask("Summarize this letter", history)
    assert [item.id for item in summarizer.given] == [2]
    asking.ask("Summarize this report", history)
    assert [item.id for item in summarizer.given] == [1, 2]


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("What does this document say about hens?", [2]),
        ("When does this lease end?", [1, 2]),
        ("What does the document say about hens?", [1, 2]),
        ("How does this document differ from the lease?", [1, 2]),
    ],
)
def test_a_question_for_a_fact_is_limited_only_by_words_that_can_mean_nothing_but_a_document(bench, question, found):
    history = Turn("user", "Who paints the door?"), Turn("assistant", "The landlord [1].", cited=("s2",))
    trace = bench({1: 1.0, 2: 1.0}, passages=[LEASE, LETTER]).ask(question, history)
    assert [one for one in trace.passages if one in (1, 2)] == found


def test_a_list_in_this_document_leaves_the_others_out(bench):
    history = Turn("user", "Who paints the door?"), Turn("assistant", "The landlord [1].", cited=("s2",))
    trace = bench({}, passages=[LEASE, LETTER]).ask("Where are hens mentioned in this letter?", history)
    assert [match.title for match in trace.listed.matches] == ["Letter"]


@pytest.mark.parametrize(("question", "read"), [("What is the lease like?", [1]), ("What is it like?", [1, 2])])
def test_a_question_that_was_called_a_summary_is_about_the_document_that_it_names(bench, question, read):
    summarizer = FirstSentences()
    options = RunOptions(route="document")
    bench({}, options=options, passages=[LEASE, LETTER], summarizer=summarizer).ask(question)
    assert [item.id for item in summarizer.given] == read


def test_a_chapter_that_does_not_exist_is_searched_for(bench):
    trace = bench({1: 1.0}, passages=[LEASE], summarizer=FirstSentences()).ask("Summarize the chapter on boats")
    assert trace.route == "fact"
    assert "boats" in trace.route_reason
    assert trace.trajectory[-2:] == ["grade_document_retrieval", "generate_answer"]


@pytest.mark.parametrize(("question", "read"), [("Summarize page 2", [5]), ("What is on page 1 of the book?", [4])])
def test_a_summary_of_a_page_reads_that_page(bench, question, read):
    summarizer = FirstSentences()
    book = [replace(LEASE, id=4, title="Book", page=1), replace(LEASE, id=5, title="Book", page=2)]
    assert bench({}, passages=book, summarizer=summarizer).ask(question).route == "document"
    assert [item.id for item in summarizer.given] == read


STUDY = passage(6, "Conclusions\n\nHens that sing lay more eggs than others.", title="Study", source_id="s6")


def test_conclusions_are_read_from_the_documents_that_have_them(bench):
    summarizer = FirstSentences()
    trace = bench({}, passages=[LEASE, STUDY], summarizer=summarizer).ask("Summarize the conclusions")
    assert [item.id for item in summarizer.given] == [6]
    assert trace.notes == []


def test_it_is_said_that_all_was_summed_up_for_want_of_conclusions(bench):
    trace = bench({}, passages=[LEASE], summarizer=FirstSentences()).ask("What are the conclusions of the lease?")
    assert trace.notes == ["No heading names “conclusions”, so all of the text was summed up."]


def test_a_page_that_does_not_exist_is_searched_for(bench):
    trace = bench({1: 1.0}, passages=[replace(LEASE, page=1)], summarizer=FirstSentences()).ask("Summarize page 9")
    assert "No text is on page 9 of these documents." in trace.route_reason


ROWS = "Boat | Berths | Price | Sold\nTern | 6 | €730 | 2024-03-01\nGull | 4 | €515 | 2024-05-09"
BOATS = passage(3, f"Boats\n\n{ROWS}", title="Boats")


def test_a_document_that_does_not_exist_is_searched_for(bench):
    trace = bench({}, passages=[LEASE, LETTER], summarizer=FirstSentences()).ask("Summarize the Orbel paper")
    assert trace.route == "fact"
    assert "No document or chapter is called “Orbel”." in trace.route_reason


@pytest.mark.parametrize(
    ("question", "size", "figures"),
    [
        ("Summarize the sheet", "2 rows:", "4 to 6, 10 in total. Price: €515 to €730. Sold: 2024-03-01 to 2024-05-09."),
        ("이 표를 요약해 줘", "2개 행, 열:", "4~6, 합계 10. Price: €515~€730. Sold: 2024-03-01~2024-05-09."),
    ],
)
def test_a_summary_of_a_sheet_describes_its_tables(bench, question, size, figures):
    trace = bench({}, passages=[BOATS], summarizer=FirstSentences()).ask(question)
    assert trace.text == f"- **Boats**: {size} Boat, Berths, Price, Sold. Berths: {figures} [1]"
    assert (trace.route, trace.outcome) == ("document", "calculated")
    assert [(cited.n, cited.quote) for cited in trace.citations] == [(1, "Tern | 6 | €730 | 2024-03-01")]
    assert (trace.read.read, trace.sentences) == (1, ())


def test_a_summary_of_texts_and_sheets_has_both(bench):
    summarizer = FirstSentences(window=100)
    trace = bench({}, passages=[LEASE, BOATS, LETTER], summarizer=summarizer).ask("Summarize everything")
    assert [item.id for item in summarizer.given] == [1, 2], "no model reads rows"
    assert trace.text.splitlines()[-1].startswith("- **Boats**: 2 rows")
    assert [(cited.n, cited.passage_id) for cited in trace.citations] == [(1, 1), (2, 2), (3, 3)]
    assert trace.outcome == "documents"
    assert len(trace.sentences) == 3, "figures over rows are not checked like sentences"


def test_a_list_holds_every_match_with_its_place(bench):
    trace = bench({}, passages=[LEASE, LETTER]).ask("Where are hens mentioned?")
    assert trace.text == (
        "**2 places in 2 documents.** All 2 passages were read.\n\n"
        "**Lease**\n\n- The tenant feeds the hens. [1]\n\n**Letter**\n\n- Hens are allowed. [2]"
    )
    assert [match.passage_id for match in trace.listed.matches] == [1, 2]
    assert (trace.route, trace.outcome, trace.trajectory) == ("list", "quoted", ["list_matches"])


@pytest.mark.parametrize(
    ("question", "lead"),
    [
        ("Which of my documents mention hens?", "**2 places in 2 documents.** All 3 passages were read."),
        ("How many documents mention hens?", "**2 places in 2 documents.** All 3 passages were read."),
        ("어떤 문서에 hens가 나오나요?", "**문서 2개에서 2곳을 찾았습니다.** 문단 3개를 모두 읽었습니다."),
        ("哪些文件提到hens？", "**在 2 个文档中找到 2 处。** 已读完全部 3 个段落。"),
    ],
)
def test_the_documents_that_mention_something_are_listed_with_their_places(bench, question, lead):
    papers = passage(3, "Documents are kept in the hall.", title="My documents")
    trace = bench({}, passages=[LEASE, LETTER, papers]).ask(question)
    assert trace.text == (
        f"{lead}\n\n**Lease**\n\n- The tenant feeds the hens. [1]\n\n**Letter**\n\n- Hens are allowed. [2]"
    )


def test_the_only_document_that_mentions_something_is_named(bench):
    trace = bench({}, passages=[LEASE, LETTER]).ask("Which document mentions the yard?")
    assert trace.text.endswith("\n\n**Lease**\n\n- The tenant sweeps the yard. [1]")


def test_a_sentence_is_listed_above_what_it_announces(bench):
    text = "We of the yard sell these ropes today:\n\n- Hemp. It rots.\n- Nylon."
    trace = bench({}, passages=[passage(1, text)]).ask("Where are ropes mentioned?")
    assert trace.text.split("\n\n") == [
        "**1 place in 1 document.** All 1 passages were read.",
        "- We of the yard sell these ropes today: [1]\n  - Hemp. It rots. [1]\n  - Nylon. [1]",
    ]


def test_a_list_without_a_match_is_searched_for(bench):
    trace = bench({1: 1.0}, passages=[LEASE]).ask("List all boats")
    assert (trace.route, trace.outcome) == ("fact", "documents")


def test_each_part_of_a_question_is_answered_from_its_own_passages(bench):
    sentences = iter(["The painter comes on Monday.", "The tenant feeds the hens."])
    quoting = QuotingWriter(lambda knowledge: [f"{next(sentences)} [{knowledge[0].n}]"], fit=PromptFit(0, 0, 0))
    trace = bench({2: 1.0}, passages=[LETTER], writer=quoting).ask("Who paints the door? Who feeds the hens?")
    assert trace.route == "steps"
    assert [part.answered for part in trace.parts] == [True, True]
    assert "**Who paints the door?**" in trace.text
    assert [cited.n for cited in trace.citations] == [1, 2]
    assert trace.verdicts[2].word == "relevant"


def test_what_answers_two_parts_is_quoted_once(bench):
    quoting = QuotingWriter(fit=PromptFit(0, 0, 0))
    trace = bench({2: 1.0}, passages=[LETTER], writer=quoting).ask("Who paints the door? Who feeds the hens?")
    assert [part.answered for part in trace.parts] == [True, True]
    assert trace.text.endswith("**Who feeds the hens?**\n\nThe answer above covers this part, too.")
    assert len(trace.citations) == 1


def test_a_part_without_an_answer_says_so(bench):
    def reply(knowledge):
        return [] if reply.used else [reply.used.append(1) or f"{knowledge[0].text} [{knowledge[0].n}]"]

    reply.used = []
    trace = bench({2: 1.0}, passages=[LETTER], writer=QuotingWriter(reply)).ask("Who paints the door? Who sweeps?")
    assert [part.answered for part in trace.parts] == [True, False]
    assert trace.text.endswith("**Who sweeps?**\n\nI found no answer to this part in your documents.")
    assert trace.outcome == "documents_partly"


def test_the_user_decides_how_a_question_is_answered(bench):
    asked = bench({1: 1.0}, options=RunOptions(route="fact"), passages=[LEASE]).ask("List all duties")
    assert (asked.route, asked.outcome) == (None, "documents")
    asked = bench({}, options=RunOptions(route="list"), passages=[LEASE]).ask("duties")
    assert asked.route == "list"


def test_variants_of_other_systems_answer_facts_alone(bench):
    trace = bench({1: 1.0}, options=RunOptions(preset="langgraph"), passages=[LEASE]).ask("List all duties")
    assert "list_matches" not in trace.trajectory


def test_a_new_kind_of_question_does_not_borrow_from_the_one_before(bench):
    history = (Turn("user", "Who feeds the hens?"), Turn("assistant", "The tenant."))
    trace = bench({}, passages=[LEASE, LETTER], summarizer=FirstSentences()).ask("Summarize everything", history)
    assert (trace.route, trace.condensed, trace.read.read) == ("document", "", 2)


def test_a_part_that_refers_to_the_first_one_names_what_it_is_about(bench):
    asking = bench({2: 1.0}, passages=[LETTER], writer=QuotingWriter(fit=PromptFit(0, 0, 0)))
    asking.ask("Who paints the door? Is it red? Who owns it?")
    assert asking.retriever.queries[1] == "Is it red? (about Who paints the door?)"


def test_compared_sections_are_quoted_as_they_are(bench):
    rules = passage(1, "Paid leave\n\nIt is 27 days a year.\n\nSick days\n\nA note is needed.", title="Rules")
    trace = bench({}, passages=[rules], writer=QuotingWriter(fit=PromptFit(0, 0, 0))).ask(
        "Compare paid leave and sick days"
    )
    assert trace.text == "**Paid leave**\n\n- It is 27 days a year. [1]\n\n**Sick days**\n\n- A note is needed. [2]"
    assert trace.outcome == "quoted"


def test_a_list_is_limited_to_the_document_that_is_named(bench):
    trace = bench({}, passages=[LEASE, LETTER]).ask("List all mentions of hens in the letter")
    assert [match.title for match in trace.listed.matches] == ["Letter"]
    assert (trace.read.read, trace.read.of) == (1, 1)


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("List all boats", "**Nothing in your documents matches “boats”.** All 2 passages were read."),
        ("모든 배를 나열해 주세요", "**문서에서 “배”에 해당하는 곳을 찾지 못했습니다.** 문단 2개를 모두 읽었습니다."),
    ],
)
def test_a_declined_list_says_how_many_passages_were_read(bench, question, said):
    trace = bench({1: 0.0, 2: 0.0}, passages=[LEASE, LETTER]).ask(question)
    assert (trace.text.strip(), trace.outcome) == (said, "not_answered")
    assert answer_facts(trace) == ["none of the 2 passages read seems to hold it"]


def test_a_summary_says_how_much_there_is_to_read_before_it_reads(bench):
    class Silent(FirstSentences):
        def summarize(self, question, passages, stop):
            return (one for one in super().summarize(question, passages, stop) if not isinstance(one, ReadingProgress))

    trace = bench({}, passages=[LEASE, LETTER], summarizer=Silent()).ask("Summarize everything")
    assert (trace.read.read, trace.read.of) == (0, 2)
