"""Whether quoted sentences state everything that a question asks for."""

from __future__ import annotations

import pytest

from crag.models.embedders import open_embedder
from crag.protocols import Embedder, Quotation
from crag.settings import Settings
from crag.text.coverage import BuiltinCoverageCheck, find_gaps, is_complete, refers_back
from crag.text.questions import analyze_question
from crag.text.relevance_features import tokenize_text
from crag.text.relevance_scores import CountedTermStatistics


@pytest.fixture(scope="session")
def embedder() -> Embedder:
    return open_embedder("builtin", Settings())


def is_covered(embedder: Embedder, question: str, text: str, context: str = "") -> bool:
    asked = analyze_question(question, CountedTermStatistics())
    return not find_gaps(asked, Quotation(text, context), embedder)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("When was the harbour of Varnholt founded?", "Varnholt's harbour was established in 1874."),
        ("Who designed the Halden lighthouse?", "The Halden lighthouse is the design of Clara Moor."),
        ("How many boats does Halden have?", "Halden has 41 boats."),
        ("What does the PX-20 cost?", "PX-20 | Price: 189"),
        ("How much is the deposit?", "The deposit is 2,280 pounds."),
        ("In which town did the first shop open?", "The first shop opened in Odby."),
        ("Why was the ferry stopped?", "The ferry was stopped because the pier had burned."),
        ("how old is the lighthuose", "The lighthouse is 150 years old."),
        ("What is a bowline?", "A bowline is a knot that does not slip."),
        ("한강 도서관의 책은 몇 권입니까?", "한강 도서관에는 책이 50만 권 있다."),
        ("그는 어디에서 태어났나요? (등대 설계자)", "등대의 설계자는 김바다이다. 그는 인천에서 태어났다."),
        ("정년은 몇 세인가요?", "정년은 만 60세로 한다."),
        ("青山圖書館由誰設計？", "青山圖書館由建築師林文遠設計。"),
    ],
)
def test_what_states_everything_covers_the_question(embedder: Embedder, question: str, text: str) -> None:
    assert is_covered(embedder, question, text)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("What was the revenue of Varnholt in 2023?", "The revenue of Varnholt was 3 million in 2022."),
        ("What was the revenue of Moorby in 2022?", "The revenue of Varnholt was 3 million in 2022."),
        ("How do I reset my password?", "pdf encryption test password"),
        ("What is the price of each product?", "At the initial public offering the shares sold quickly."),
        ("What does the PX-80 cost?", "PX-20 | Price: 189"),
        ("When was Varnholt founded?", "Varnholt was founded by fishermen."),
        ("When was the company founded?", "In 2004, companies found the pier of Varnholt easier to reach."),
        ("When was Varnholt founded?", "Varnholt builds boats since 1990 in two sheds."),
        ("Who is the captain of the ferry?", "The captain of the ferry wears a blue coat."),
        ("What is the landlord's telephone number?", "The landlord repairs the heating within two days."),
        ("What is a bowline?", "Sailors learned the bowline before the reef knot."),
        ("한강 도서관의 2023년 예산은 얼마입니까?", "한강 도서관은 1962년에 설계되었다."),
        ("그는 어디에서 태어났나요? (등대 설계자)", "높이는 27미터이고, 등대의 설계자는 김바다이다."),
        ("青山的市長是誰？", "青山位於城市北部，山上有許多步道。"),
    ],
)
def test_another_year_name_or_subject_does_not(embedder: Embedder, question: str, text: str) -> None:
    assert not is_covered(embedder, question, text)


def test_the_title_names_what_a_sentence_is_about(embedder: Embedder) -> None:
    assert is_covered(embedder, "What was Varnholt's revenue in 2022?", "Revenue was $3 million.", "Varnholt 2022")
    assert not is_covered(
        embedder, "What was Varnholt's revenue in 2022?", "In 2021 it was $3 million.", "Varnholt 2022"
    )


def test_gaps_tell_names_from_other_words(embedder: Embedder) -> None:
    asked = analyze_question("When did the Moorby ferry sink in 1911?", CountedTermStatistics())
    gaps = find_gaps(asked, Quotation("The boat left at dawn.", ""), embedder)
    assert gaps.names == ("Moorby", "1911")
    assert "sink" in gaps.words


def test_a_model_must_only_have_read_the_names(embedder: Embedder) -> None:
    check = BuiltinCoverageCheck(embedder, CountedTermStatistics())
    used = [Quotation("Fares rose twice.", "Moorby"), Quotation("In 1911 a new pier opened.", "")]
    assert check.is_covered("Why was Moorby popular in 1911?", used, names_only=True)
    assert not check.is_covered("Why was Moorby popular in 1911?", used)
    assert not check.is_covered("Why was Varnholt popular in 1911?", used, names_only=True)


def test_a_passage_is_complete_if_neighbouring_sentences_are(embedder: Embedder) -> None:
    asked = analyze_question("When was the Moorby ferry built?", CountedTermStatistics())
    near = tokenize_text("The Moorby ferry carries 40 cars. It was built in 1911. Gulls follow it.")
    far = tokenize_text(
        "The Moorby ferry carries cars. Gulls follow. The pier is long. The town hall was built in 1911."
    )
    assert is_complete(asked, near, embedder)
    assert not is_complete(asked, far, embedder)


def test_a_definition_is_found_below_its_heading(embedder: Embedder) -> None:
    asked = analyze_question("What is a bowline?", CountedTermStatistics())
    assert is_complete(asked, tokenize_text("Bowline\nA bowline is a knot that does not slip. It is old."), embedder)


@pytest.mark.parametrize(
    ("sentence", "refers"),
    [("It was founded in 1998.", True), ("In this town, it rains.", True), ("Boats leave.", False)],
)
def test_a_pronoun_at_the_start_refers_to_the_sentence_before(sentence: str, refers: bool) -> None:
    assert refers_back(sentence) is refers
