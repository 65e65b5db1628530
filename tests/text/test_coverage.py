"""Whether quoted sentences state everything that a question asks for."""

from __future__ import annotations

import pytest

from crag.models.embedders import open_embedder
from crag.protocols import Embedder, Quotation
from crag.settings import Settings
from crag.text.coverage import (
    BuiltinCoverageCheck,
    find_context,
    find_gaps,
    is_complete,
    is_off_topic,
)
from crag.text.language import detect_language
from crag.text.questions import analyze_question
from crag.text.relevance_features import tokenize_text
from crag.text.relevance_scores import CountedTermStatistics
from crag.types import Passage


@pytest.fixture(scope="session")
def embedder():
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
        ("How many days does the fair last?", "The fair lasts 4 days."),
        ("Who founded Orbel?", "Clara Moor founded Orbel, which Halden Ltd joined."),
        ("Who founded Orbel?", "Orbel, which was founded by Clara Moor, makes looms."),
        ("Who founded Orbel?", "Founded in 1990 by Clara Moor, Orbel makes looms."),
        ("Who founded Orbel?", "Orbel, a maker of looms, was founded in Odby by Clara Moor."),
        ("Who founded Orbel?", "Clara Moor, the founder of Orbel, left."),
        ("Who founded Orbel?", "Clara Moor came to Orbel, founded it anew, and left."),
        ("Who leads Orbel?", "Clara Moor has led Orbel since 1990."),
        ("Who wrote the Varn guide?", "The Varn guide, written by Clara Moor"),
        ("Why was the ferry sold?", "The ferry was sold to pay a debt."),
        ("도서관은 왜 휴관했나요?", "도서관은 지붕이 무너졌기 때문에 휴관했다."),
        ("Which boat carried the most passengers?", "The boat Tern carried the most passengers."),
        ("Which company leads the market for looms?", "Orbel Ltd has led the market for looms since 1990."),
        ("Which boat earned a record revenue?", "The boat Tern earned a record revenue."),
        ("승객을 가장 많이 태운 배는 무엇인가요?", "승객을 가장 많이 태운 배는 제비호이다."),
        ("How many boats were sold?", "In 2 years, 41 boats were sold."),
        ("When was Halden sold?", "Halden was sold to Varn in 1980."),
        ("When is the deck scrubbed?", "The deck is scrubbed on Fridays."),
        ("When is the bell rung?", "The bell is rung daily at noon."),
        ("When do the stitches come out?", "The stitches come out after 10 to 14 days."),
        ("When is the gate locked?", "The gate is locked at dusk."),
        ("When do I have to pay the rent?", "Rent is due on 1 April."),
        ("How heavy is the Wren?", "Model: Wren | Weight (kg): 13.9 | Range (km): 55"),
        ("What does the PX-20 cost?", "PX-20 | Price: 189"),
        ("Who is the supplier of item 12590?", "Item: 12590 | Price: 3.1 | Supplier: Dunmore"),
        ("What is Ole Vik's phone number?", "Name: Ole Vik | Phone: 555 0178"),
        ("How much is the deposit?", "The deposit is 2,280 pounds."),
        ("In which town did the first shop open?", "The first shop opened in Odby."),
        ("Why was the ferry stopped?", "The ferry was stopped because the pier had burned."),
        ("how old is the lighthuose", "The lighthouse is 150 years old."),
        ("What is a bowline?", "A bowline is a knot that does not slip."),
        ("When and where did the first shop open?", "The first shop opened in Odby in 1911."),
        ("How far in advance are boats booked?", "Boats are booked two days in advance."),
        ("Which award was Clara Moor given in 1911?", "Clara Moor was given the Red Compass in 1911."),
        ("Who is the captain?", "The captain, Clara Moor, wears a blue coat."),
        ("Who is the captain?", "Clara Moor is the new captain."),
        ("Who will be the facilitator?", "Clara Moor will facilitate."),
        ("Who is the captain?", "Captain: Clara Moor"),
        ("Who is the chair of the club?", "The club is chaired by Clara Moor."),
        ("Who orders the ropes, and until when?", "Order the ropes | Fiona Marsh | 30 May"),
        ("Which division had Clara Moor led before?", "Clara Moor, who previously led the Harbour division, left."),
        ("Explain the term bowline.", "A bowline is a knot that does not slip."),
        ("한강 도서관의 책은 몇 권입니까?", "한강 도서관에는 책이 50만 권 있다."),
        ("그는 어디에서 태어났나요? (등대 설계자)", "등대의 설계자는 김바다이다. 그는 인천에서 태어났다."),
        ("정년은 몇 세인가요?", "정년은 만 60세로 한다."),
        ("青山圖書館由誰設計？", "青山圖書館由建築師林文遠設計。"),
        ("바다 천문대의 지붕을 파손시킨 태풍의 이름은?", "태풍 해무로 바다 천문대의 지붕이 파손되었다."),
        ("한바다가 말년에 앓은 병은?", "한바다는 말년에 폐렴을 앓아 섬에서 지냈다."),
        ("도서관 휴관일은 무슨 요일인가요?", "도서관은 매주 월요일과 설날에 쉰다."),
        ("총회는 언제 어디에서 열리나요?", "총회는 4월 18일 마을 강당에서 열린다."),
        ("연차는 며칠인가요?", "연차휴가는 모두 15일이다."),
        ("매출은 얼마인가요?", "총매출은 3억 원이다."),
        ("5월 매출 얼마예요?", "5월 매출은 3억 원이다."),
        ("육아휴가는 며칠이에요?", "육아휴가는 20일이다."),
        ("연필이랑 공책은 얼마예요?", "연필과 공책은 2,000원이다."),
        ("오후 강습은 몇 시부터 몇 시까지예요?", "오후 강습은 14:00~18:00에 한다."),
        ("보고서는 누가 언제까지 내나요?", "한바다 대리가 6월 말까지 보고서를 낸다."),
        ("신청서는 어디에 내나요?", "신청서는 총무팀에 낸다."),
        ("다음 모임은 언제예요?", "다음 모임은 6월 19일에 한다."),
        ("연필은 얼마예요?", "품명: 연필 | 단가(원): 500 | 최소주문: 10"),
        ("그럼 관리비는요?", "관리비는 월 8만 원이다."),
        ("한바다는 어디서 태어났어?", "한바다는 원산에서 태어났다."),
        ("강아지를 키워도 되나요?", "강아지는 한 마리까지 기를 수 있다."),
        ("등대는 왜 닫나요?", "5월부터 지붕 공사로 등대를 닫습니다."),
        ("바다호 전투에서 병사는 모두 몇 명 죽었나?", "바다호 전투에서 병사 37명이 전사하였다."),
        ("青山俱乐部在哪里打球？", "青山俱乐部在三号馆打球。"),
        ("Where is the harbour office located?", "The harbour office is in Odby."),
        ("How much may a rope cost per year?", "Item: Rope, per year | Limit: 140 euros"),
        ("How big is the rope budget?", "Every crew has a rope budget of 900 euros."),
        ("How much is the berth per month?", "The monthly berth is 98 euros."),
        ("What kinds of sails does the boat have?", "The boat has brown sails."),
        ("What is another name for the reef knot?", "The reef knot (square knot) holds well."),
        ("Varnholt lies between Odby and what other town?", "Varnholt lies between Odby and Moor."),
        ("서관의 3월 손님은 몇 명인가요?", "손님 | 구역: 서관 | 3월: 260"),
        ("How many boats did Odby have in 2025?", "Town: Odby | 2025: 12 | Boats: 14"),
        ("What does code E3 mean?", "Code E-3 means that the tank is empty."),
        ("青山車站的站長是誰？", "青山車站的站長為林文遠。"),
        ("青山鐵路何時在哪裡動工？", "青山鐵路於1998年在海口動工。"),
        ("青山圖書館每星期幾休館？", "青山圖書館每週一休館。"),
        ("青山铁路有多少座车站？", "青山铁路共设车站29座。"),
        ("住校生中有多少是女生？", "住校生742人，其中女生398人。"),
        ("为什么不能用钢丝球清洗内锅？", "内锅不能使用钢丝球清洗，否则会刮伤涂层。"),
    ],
)
def test_what_states_everything_covers_the_question(embedder, question, text):
    assert is_covered(embedder, question, text)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("What was the revenue of Varnholt in 2023?", "The revenue of Varnholt was 3 million in 2022."),
        ("선원은 어디에서 자나요?", "가장 큰 선원은 여수에서 왔다."),
        ("青山俱乐部在哪里打球？", "青山俱乐部的羽毛球放在三号馆。"),
        ("What was the revenue of Moorby in 2022?", "The revenue of Varnholt was 3 million in 2022."),
        ("How do I reset my password?", "pdf encryption test password"),
        ("What is the price of each product?", "At the initial public offering the shares sold quickly."),
        ("What does the PX-80 cost?", "PX-20 | Price: 189"),
        ("When was Varnholt founded?", "Varnholt was founded by fishermen."),
        ("When was Varnholt founded?", "Varnholt builds boats since 1990 in two sheds."),
        ("Who is the captain of the ferry?", "The captain of the ferry wears a blue coat."),
        ("Who will be the captain?", "Clara: the captain still needs a coat."),
        ("When was the 1911 regatta?", "The regatta of 1911 had 40 boats."),
        ("How many boats with 4 sails are there?", "Boats with 4 sails are fast."),
        ("Where is the next regatta?", "The next regatta is in the spring."),
        ("Where are the boats built?", "The boats are built in the right order, based on the list."),
        ("How big is the harbour?", "The harbour was built by 40 men."),
        ("두 번째 모임은 언제인가요?", "세 번째 모임은 5월 3일이다."),
        ("연차는 며칠인가요?", "출산휴가: 90일"),
        ("陪产假有几天？", "产假：128天"),
        ("강남점의 매출 합계는 얼마인가요?", "지점: 강남점 | 품목: 우유 | 매출: 360,000"),
        ("强东店的平均销量是多少？", "店: 强东店 | 品名: 台灯 | 销量: 300"),
        ("What is the landlord's telephone number?", "The landlord repairs the heating within two days."),
        ("Who is Clara Moore?", "The director is Clara Moors."),
        ("Who is Per Aalta?", "The optician Per Aalto left."),
        ("Where does Clara Moor live?", "Her brother Per Moor lives in Basel."),
        ("Who signed the contract?", "Clara Moor signed for the contact."),
        ("Where was the first boat sold?", "Its first boat, the T1, sold well."),
        ("Which rooms may guests use?", "A guest pays 8 pounds a day."),
        ("Explain the term bowline as sailors use it.", "This knot is called the bowline."),
        ("When and where did the first shop open?", "The first shop opened in 1911."),
        ("When and where did the first shop open?", "The first shop opened in Odby."),
        ("How many boats sank and who owned them?", "Of the boats, 4 sank; their owners were insured."),
        ("Which boats may not enter the harbour?", "Boats with a sail may enter the harbour."),
        ("Which boats entered the harbour after the storm?", "In the storm, 4 boats entered the harbour."),
        ("한강 도서관의 2023년 예산은 얼마입니까?", "한강 도서관은 1962년에 설계되었다."),
        ("그는 어디에서 태어났나요? (등대 설계자)", "높이는 27미터이고, 등대의 설계자는 김바다이다."),
        ("青山的市長是誰？", "青山位於城市北部，山上有許多步道。"),
        ("바다 도서관의 관장은 누구인가요?", "바다 도서관은 4월에 문을 열었다."),
        ("문학상의 제3회 수상자는 누구인가?", "문학상의 제1회 수상자는 시인 한가람이다."),
        ("다음 모임은 언제예요?", "모임은 6월 12일에 한다."),
        ("책은 모두 몇 권인가요?", "책은 한 사람이 다섯 권까지 빌릴 수 있다."),
        ("보증금 이자는 몇 퍼센트인가요?", "보증금은 5천만 원이다."),
        ("青山車站的上一任站長是誰？", "青山車站的站長為林文遠。"),
        ("青山铁路有多少名员工？", "青山铁路全长27公里，车站29座。"),
        ("2023年青山铁路的货运量是多少？", "2022年青山铁路的货运量为40万吨。"),
        ("How many boats were repaired?", "Boats are repaired every four years."),
        ("When was Halden sold?", "In 1980 Halden sold 41 boats."),
        ("Why was the ferry sold?", "Why the ferry was sold is a question that many have asked."),
        ("Why was the ferry sold?", "The company built the ferry in 1999 and sold it to Dunmore Holdings."),
        ("Why did Orbel buy the ferry?", "In 2013, Orbel agreed to buy the ferry."),
        ("Why did Orbel buy the ferry?", "Orbel spent 40 million to buy the ferry."),
        ("Why was the ferry sold?", "The ferry, which took three years to build, was sold."),
        ("도서관은 왜 휴관했나요?", "도서관은 2020년에 휴관했다."),
        ("Who founded Orbel?", "Clara Moor is a founding member of the Sailing Union, which Orbel joined in 1990."),
        ("Who founded Orbel?", "Orbel is a founding member of the Sailing Union of Per Aalto."),
        ("Who founded Orbel?", "Clara Moor founded Halden Ltd and joined Orbel in 1990."),
        ("Who founded Orbel?", "Clara Moor left Orbel in 1990, when she founded Halden Ltd."),
        ("Who founded Orbel?", "Orbel was founded in Odby."),
        ("Who leads Orbel?", "Clara Moor joined Orbel to lead a new team of Per Aalto."),
        ("Who designs ropes for the Varn Herald?", "By Clara Moor, designer of ropes for the Varn Herald"),
        ("Which boat carried the most passengers?", "The boat Tern carried 41 passengers."),
        ("Which is the largest boat?", "The Tern is a large boat."),
        ("승객을 가장 많이 태운 배는 무엇인가요?", "제비호는 승객을 많이 태운 배이다."),
        ("载客最多的船是什么？", "燕子号是载客的船。"),
        ("등대는 왜 닫나요?", "등대는 5월에 인천으로 옮긴다."),
        ("What does code E3 mean?", "Code E4 means that the oven of edition 3 is too hot."),
        ("When did Halden go public?", "On 3 May 1980, Halden showed the Skiff Go to the public."),
    ],
)
def test_another_year_name_or_subject_does_not(embedder, question, text):
    assert not is_covered(embedder, question, text)


def test_the_title_names_what_a_sentence_is_about(embedder):
    assert is_covered(embedder, "What was Varnholt's revenue in 2022?", "Revenue was $3 million.", "Varnholt 2022")
    assert not is_covered(
        embedder, "What was Varnholt's revenue in 2022?", "In 2021 it was $3 million.", "Varnholt 2022"
    )


def test_the_verb_after_when_is_what_a_chinese_question_asks_about(embedder):
    assert is_covered(embedder, "这次旅游什么时候出发？", "出发日期为2026年5月9日。", "青山旅游合同")
    assert not is_covered(embedder, "这次旅游什么时候出发？", "返回日期为2026年5月9日。", "青山旅游合同")


def test_gaps_tell_names_from_other_words(embedder):
    asked = analyze_question("When did the Moorby ferry sink in 1911?", CountedTermStatistics())
    gaps = find_gaps(asked, Quotation("The boat left at dawn.", ""), embedder)
    assert gaps.names == ("Moorby", "1911")
    assert "sink" in gaps.words


@pytest.mark.parametrize(
    ("question", "answer", "covered"),
    [
        ("When must summer leave be requested?", "Ask for it by 30 April.", True),
        ("When must summer leave be requested?", "30 April", True),
        ("When must summer leave be requested?", "Summer leave must be requested.", False),
        ("When must summer leave be requested?", "By 31 March.", False),
        ("When must summer leave be requested?", "By 30 April, from the mayor of Lisbon, who collects stamps.", False),
        ("여름 휴가는 언제까지 신청해야 하나요?", "4월 30일까지입니다.", True),
        ("여름 휴가는 언제까지 신청해야 하나요?", "여름 휴가는 신청해야 합니다.", False),
        ("夏季休假必须在什么时候之前申请？", "4月30日之前。", True),
        ("夏季休假必须在什么时候之前申请？", "夏季休假必须申请。", False),
    ],
)
def test_an_answer_in_other_words_states_what_its_sources_state(embedder, question, answer, covered):
    check = BuiltinCoverageCheck(embedder, CountedTermStatistics())
    sources = {
        "en": "Summer leave must be requested by 30 April.",
        "ko": "여름 휴가는 4월 30일까지 신청해야 합니다.",
        "zh": "夏季休假必须在4月30日之前申请。",
    }
    used = [Quotation(sources[detect_language(question)], "")]
    assert check.is_covered(question, used)
    assert check.is_covered(question, used, answer=answer) == covered


def test_an_answer_cannot_cover_more_than_its_sources(embedder):
    check = BuiltinCoverageCheck(embedder, CountedTermStatistics())
    used = [Quotation("The workshop is staffed from 6:00.", "")]
    rent = "The monthly rent of the workshop is 600 euros."
    assert not check.is_covered("How much is the monthly rent of the workshop?", used, answer=rent)


def test_a_passage_is_complete_if_neighbouring_sentences_are(embedder):
    asked = analyze_question("When was the Moorby ferry built?", CountedTermStatistics())
    near = tokenize_text("The Moorby ferry carries 40 cars. It was built in 1911. Gulls follow it.")
    far = tokenize_text(
        "The Moorby ferry carries cars. Gulls follow. The pier is long. The town hall was built in 1911."
    )
    assert is_complete(asked, near, embedder)
    assert not is_complete(asked, far, embedder)


def test_without_an_embedder_a_passage_must_hold_the_very_words(embedder):
    asked = analyze_question("When was the harbour of Varnholt founded?", CountedTermStatistics())
    similar = tokenize_text("The harbour of Varnholt was established in 1874.")
    assert is_complete(asked, similar, embedder)
    assert not is_complete(asked, similar, None)
    assert is_complete(asked, tokenize_text("The harbour of Varnholt was founded in 1874."), None)


def test_a_definition_is_found_below_its_heading(embedder):
    asked = analyze_question("What is a bowline?", CountedTermStatistics())
    assert is_complete(asked, tokenize_text("Bowline\nA bowline is a knot that does not slip. It is old."), embedder)


@pytest.mark.parametrize(
    ("sentence", "before"),
    [
        *(("It was founded in 1998.", True), ("In this town, it rains.", True), ("Boats leave.", False)),
        *(("The pier is long.", True), ("The hall is long.", False)),
    ],
)
def test_a_pronoun_at_the_start_refers_to_the_sentence_before(sentence, before):
    assert ("Moorby" in find_context(["Moorby has a pier.", sentence], 1, "Harbours")) is before


def test_a_heading_within_a_passage_names_the_subject_of_what_follows(embedder):
    asked = analyze_question("How does Tandem use self-inspection?", CountedTermStatistics())
    below = "Splitting a field is hard.\n\nSelf-inspection\n\nIt helps. Tandem puts questions to its sensors."
    above = "Tandem puts questions to its sensors. Splitting a field is hard.\n\nSelf-inspection\n\nIt helps."
    assert is_complete(asked, tokenize_text(below), embedder)
    assert not is_complete(asked, tokenize_text(above), embedder)


@pytest.mark.parametrize(
    ("question", "text", "heading", "covered"),
    [
        ("May I keep bees?", "Hens may be kept.", "Bees and hens", False),
        ("May I keep hens?", "Hens may be kept.", "Bees and hens", True),
        ("How much is the operation?", "The emergency fee is £190.", "After the operation", False),
        ("How much is the membership?", "The annual fee is £190.", "Membership", True),
        ("How much is the emergency fee?", "The emergency fee is £190.", "After the operation", True),
        ("Which vet looks after the hens?", "We look after cats and hens.", "Odby Veterinary Centre", False),
        ("Who sings instead of Clara Moor?", "The singers are Clara Moor and Per Holm.", "Concert", False),
        ("How much water is included?", "Water is included before 9 in the morning.", "Plots", False),
        ("How big is a full plot?", "A full plot costs £78 and a half plot £44.", "Plots", False),
        ("How big is a full plot?", "A full plot has 250 square metres.", "Plots", True),
        ("How much is a beehive?", "A beehive needs the consent of two neighbours.", "Plots", False),
        ("How many stitches does he have?", "His stitches come out after 10 to 14 days.", "Plots", False),
        ("Who makes the Wren?", "Model: Wren | Weight (kg): 13.9 | Range (km): 55", "Models", False),
        ("When does the rent go up?", "The rent is due on 1 April.", "Plots", False),
        ("When does the rent go up?", "The rent rises on 1 April.", "Plots", True),
        ("How many children go there?", "Children from two years go to 3 Weir Lane.", "Nursery", False),
        ("How many children go there altogether?", "There is one adult for every three children.", "Nursery", False),
        ("What time does the evening session start?", "The evening session starts on Monday.", "Times", False),
        ("What time does the evening session start?", "The evening session starts at 17.30.", "Times", True),
        ("With which company is the hall insured?", "5.2 The hall is insured against fire.", "Hall", False),
        ("With which company is the hall insured?", "The hall is insured with Orbel against fire.", "Hall", True),
        ("What does the Odby Card cost?", "Holders of the Odby Card get 10 percent off.", "Prices", False),
        ("What does a bike cost?", "A bike costs £5; a car parks behind the hall.", "Prices", True),
        ("How many cars may park?", "The hall has 36 chairs; cars may park behind it.", "Hall", False),
        ("노트북을 잃어버린 때에는 얼마를 내나요?", "사원증을 잃어버린 때에는 1만 원을 낸다.", "노트북", False),
        (
            "성과급은 기본급의 몇 퍼센트인가요?",
            "상여금은 기본급의 60%를 지급하고, 성과급은 3월에 지급한다.",
            "수당",
            False,
        ),
        ("残疾人专用车位有几个？", "停车场有36个车位；残疾人专用车位在北门旁。", "停车", False),
        ("停车场有几个车位？", "停车场有36个车位；残疾人专用车位在北门旁。", "停车", True),
        ("口腔科由哪位医生坐诊？", "口腔科在二楼西侧，周二上午开诊。", "门诊", False),
        ("家庭病床每天收费多少？", "家庭病床每次建床期限为两个月。", "病床", False),
        ("药房赵明药师的电话是多少？", "投诉请找赵敏，电话0571-5550139；药品问题请咨询药房赵明药师。", "联系", False),
        ("What is the name of the warden?", "The warden opens the barrier.", "Camp", False),
        ("What is the name of the warden?", "The warden is called Per Holm.", "Camp", True),
        ("What number do I ring for the warden?", "The warden answers from 7.30 am to 8 pm.", "Camp", False),
        (
            "Who will take over from Clara Moor as secretary?",
            "Clara Moor is the secretary, Per Holm the chair.",
            "Club",
            False,
        ),
        ("How long does the induction take?", "The induction should be booked within 21 days.", "Gym", False),
        ("How long does the induction take?", "The induction takes 40 minutes.", "Gym", True),
        ("What operation did Clara Moor have?", "Clara Moor was recovering from an operation.", "Minutes", False),
        ("What dose of iron is given?", "Iron is given by the nurse.", "Dialysis", False),
        ("What colour is the card?", "The card is free.", "Cards", False),
        ("How many people can take part?", "Take 1 part flour and 2 parts water.", "Course", False),
        ("How many people can take part?", "Up to 12 people can take part.", "Course", True),
        ("열람실 좌석은 모두 몇 석인가요?", "열람실 좌석은 한 번에 4시간까지 씁니다.", "좌석", False),
        ("열람실 좌석은 모두 몇 석인가요?", "열람실 좌석은 모두 120석입니다.", "좌석", True),
        ("종이 회원증은 무슨 색인가요?", "종이 회원증은 무료입니다.", "회원증", False),
        ("난징을 공격한 군은 몇 명이었나요?", "난징을 공격한 군은 15만 5천명이었다.", "전쟁", True),
        ("인사총무팀장의 이름은 무엇인가요?", "인사총무팀장은 인사총무팀 윤서진 과장과 함께 평가한다.", "평가", False),
        ("3반 담임 선생님 이름은 무엇인가요?", "1반 담임은 김선화 선생님입니다.", "안내", False),
        ("总务科长的办公室在3楼吗？", "总务科长的办公室在2楼。", "办公室", False),
        ("一楼服务台有多少辆轮椅？", "轮椅在一楼服务台免费借用，当天17:00前归还。", "轮椅", False),
        ("一楼服务台有多少辆轮椅？", "一楼服务台有8辆轮椅。", "轮椅", True),
        ("没有听课证停车每小时多少钱？", "凭听课证停车每小时4元。", "停车", False),
        ("준비물이 뭐예요? (현장체험학습 안내문)", "5학년은 현장체험학습을 다녀올 예정입니다.", "준비물", False),
        ("준비물이 뭐예요? (현장체험학습 안내문)", "준비물은 도시락과 물입니다.", "현장체험학습 안내문", True),
        (
            "What is the rate for assistants this winter?",
            "Last winter the rate for assistants was CHF 26.",
            "Rates",
            False,
        ),
        ("When should ramipril be restarted?", "Check it one week after ramipril has been restarted.", "Letter", False),
        ("What did we pay for the machine?", "Machine: Piccolina | Site: Odby", "Machines", False),
        ("What is the name of the coach firm?", "On Saturday the coach firm stops at Marlow Services.", "Trip", False),
        ("when is mill bridge shut", "Mill Bridge will be closed from 12 January to 20 February 2026.", "Roads", True),
        ("What does fault code F28 mean?", "Code: F28 | Meaning: No flame | What to do: Check the gas", "Faults", True),
        ("How many weeks is the notice?", "Until last year the notice was four weeks.", "Leaving", False),
        ("What is the fee?", "Before 2024 the fee was £5.", "Fees", False),
        ("What is the fee?", "Before 2024 the fee was £5; it is now £6.", "Fees", True),
        ("What was the fee?", "Before 2024 the fee was £5.", "Fees", True),
        ("수요일에 그림책 읽어 주는 사람은 누구예요?", "그림책 읽어 주기는 매주 수요일에 있습니다.", "행사", False),
        ("일반 도서는 몇 권까지 빌릴 수 있나요?", "2025년까지는 일반 도서를 5권만 빌릴 수 있었습니다.", "대출", False),
        ("일반 도서는 몇 권까지 빌릴 수 있나요?", "일반 도서는 7권까지 빌릴 수 있습니다.", "대출", True),
        ("中级班的学费是多少？", "去年中级班的学费为2,980元。", "学费", False),
        ("When did the plot fall vacant?", "It fell vacant after 12 days.", "The plot", False),
        ("When is the next meeting?", "Papers to Tobias by noon on 7 October.", "Next meeting", False),
        ("When is the next meeting?", "The meeting is on 10 October.", "Next meeting", True),
        ("How long does a password need to be?", "A lost device must be reported within one hour.", "Passwords", False),
        (
            "What time does the choir concert begin?",
            "Club: Choir | Start: 15:20 | Remarks: Concert in St Mark's church",
            "",
            False,
        ),
        (
            "What time does the choir begin?",
            "Club: Choir | Start: 15:20 | Remarks: Concert in St Mark's church",
            "",
            True,
        ),
        (
            "From what age do you take kittens?",
            "Treatment: Microchip | Notes: Compulsory from the age of 20 weeks",
            "",
            False,
        ),
        ("What shells are metallic?", "Boats have shells that are non-metallic.", "", False),
        ("When was Otto Moor born?", "They had one son, Edmund, born in 1908.", "Otto Moor. They", False),
        ("When was Otto Moor born?", "He was born in 1908.", "Otto Moor.", True),
        ("Who came with the patient?", "Copy to: patient; Mr Owen Strand", "Clinic", False),
        ("Who is the nurse?", "Nurse: Mr Owen Strand", "Clinic", True),
        ("When is the tea?", "Tea: 16:00", "Fair", True),
        ("How long is a normal talk?", "Keynotes last 45 minutes, lightning talks five.", "", False),
        ("Who is doing the translation?", "The translation and HEIC pictures are for 4.3.", "", False),
        ("When was the hall repaired?", "We intend to repair the hall on 4 May.", "", False),
        ("When will the hall be repaired?", "We intend to repair the hall on 4 May.", "", True),
        ("How much does a weekly ticket cost?", "A monthly ticket costs 3.84 times the weekly ticket.", "", False),
        ("When can weekly tickets be refunded?", "Annual tickets are refunded by 4 May.", "", False),
        ("Why did the post go to Joel Kemp?", "The post has been held by Joel Kemp since February.", "", False),
        ("When was the WHO established?", "In 2000 the company established rules.", "", False),
        ("When was the WHO established?", "The WHO was established in 1948.", "", True),
        ("회의 날짜 알려줘", "장소: 2층 회의실", "회의", False),
        ("회의 날짜 알려줘", "일시: 11월 6일 오후 2시", "회의", True),
        ("Why is the survey important?", "The survey is important because we export fish.", "", True),
        ("When is the claim due now?", "The claim had been due on 29 August.", "", False),
        ("How much is the salary?", "We pay the salary for four years, plus £800 for travel.", "", False),
        ("How much is the salary?", "We pay a salary of £9,000, plus £800 for travel.", "", True),
        ("How much are the fees?", "Fees are paid by us; books are paid up to £60.", "", False),
        ("How many days of leave do I get?", "If he leaves in the last six days, he repays half.", "", False),
        ("Who trains Nora when Ms Fenn is away?", "Nora is trained by Ms Rosalind Fenn.", "", False),
        ("What upload speed is guaranteed?", "The guaranteed download speed is 150 Mbit/s.", "Upload speed", False),
        (
            "How much is the excess for luggage?",
            "- Luggage: up to £600.\n- Liability: up to £200, excess £150.",
            "",
            False,
        ),
        ("301동 승강기 교체는 언제 시작하나요?", "303동은 11월 18일에 시작합니다.", "301동 승강기 교체", False),
        ("먼지 필터는 얼마에 살 수 있나요?", "먼지 필터는 2주에 한 번 씻으십시오.", "", False),
    ],
)
def test_a_sentence_is_not_about_everything_in_the_heading_above_it(embedder, question, text, heading, covered):
    check = BuiltinCoverageCheck(embedder, CountedTermStatistics())
    assert check.is_covered(question, [Quotation(text, heading)]) is covered


def test_hours_of_weekdays_do_not_tell_of_a_monday_that_another_sentence_names(embedder):
    check = BuiltinCoverageCheck(embedder, CountedTermStatistics())
    text = "The reading room is open on weekdays. The house is closed on Mondays."
    passages = [Passage(1, "house", "House", "house.md", text, text)]
    used = [Quotation(text.partition(". ")[0], "House")]
    assert check.is_covered("Is the reading room open on weekdays?", used, passages=passages)
    assert check.is_covered("Is the reading room open on Mondays?", used)
    assert not check.is_covered("Is the reading room open on Mondays?", used, passages=passages)


def test_the_green_badge_needs_one_sentence_that_states_everything(embedder):
    check = BuiltinCoverageCheck(embedder, CountedTermStatistics())

    def covers(question: str, text: str) -> bool:
        return check.is_covered(question, [Quotation(text, "")])

    assert covers("When was the sauna renovated?", "The sauna was renovated in 2019.")
    assert not covers("When was the wall renovated?", "The sauna was renovated in 2019.\nThe wall was opened in 2021.")
    assert covers("When was the ferry built?", "The ferry carries 40 cars.\nIt was built in 1911.")
    assert not covers("When is the deposit taken?", "A deposit of £250 is taken from your card.")
    assert covers("普通门诊挂号费多少？", "普通门诊挂号费15元。")
    assert not covers("急诊挂号费多少？", "普通门诊挂号费15元。")
    assert not covers("Where is the gym?", "The gym is open on Saturdays.")
    assert covers("Why was the ferry stopped?", "The ferry was stopped because the pier had burned.")
    assert not covers("Why was the ferry stopped?", "The ferry was stopped on Sunday.")
    assert not covers("Which church runs the schools of Moorby?", "The schools of Moorby are run by the county.")
    assert covers("What are the three colours of the flag?", "The three colours of the flag are red, white and blue.")
    assert not covers("What are the five colours of the flag?", "The five colours of the flag were chosen in 1911.")
    assert not covers("What is the bell made of?", "The bell is heavy.")
    assert covers("What is a bowline?", "A bowline is a knot for a fixed loop.")
    assert not covers("Who holds the record?", "The record was held by Per Aalto before.")
    assert not covers("Who leads Orbel?", "Clara Moor led Orbel until 2014.")
    assert covers("Who led Orbel?", "Clara Moor led Orbel until 2014.")
    assert not covers("What is a bowline?", "A bowline must be tied by two sailors.")


def test_the_title_names_a_korean_subject_only_in_its_own_words(embedder):
    assert is_covered(embedder, "총회는 언제예요?", "일시: 6월 12일", "주민 총회록")
    assert not is_covered(embedder, "연차는 며칠 전에 신청해요?", "외출은 3일 전에 신청한다.", "휴가 규정")


@pytest.mark.parametrize(
    ("question", "texts", "open_part"),
    [
        ("How much is the fee and who collects it?", ["The fee is 30 pounds."], "Who collects it?"),
        ("When and where is the meeting?", ["The meeting is on 11 June."], "Where is the meeting?"),
        ("When and where is the meeting?", ["The meeting is in the Golden Lamb."], "When is the meeting?"),
        ("Who orders the ropes, and until when?", ["The ropes are ordered by Clara Moor."], "Until when?"),
        ("When and where is the meeting?", ["The meeting is on 11 June at Moorby."], ""),
        (
            "How many people work at Moorby and when was it built?",
            ["Moorby employs 640.", "Moorby was built in 1911."],
            "",
        ),
        ("How much is the fee and who collects it?", ["The boat left at dawn."], ""),
        ("When is the meeting?", ["The meeting is in the Golden Lamb."], ""),
        ("총회는 언제 어디에서 열리나요?", ["총회는 4월 18일에 열린다."], "총회는 어디에서 열리나요?"),
        ("보고서는 누가 언제까지 내나요?", ["한바다 대리가 6월 말까지 보고서를 낸다."], ""),
        ("보고서는 누가 언제까지 내나요?", ["한 대리는 6월 말까지 보고서를 낸다."], ""),
        ("How much is the fee and who collects it?", ["The treasurer collects the fee of 30 pounds."], ""),
        ("青山鐵路何時在哪裡動工？", ["青山鐵路於1998年動工。"], "青山鐵路在哪裡動工？"),
    ],
)
def test_the_half_of_a_question_that_is_not_answered_is_named(embedder, question, texts, open_part):
    check = BuiltinCoverageCheck(embedder, CountedTermStatistics())
    assert check.find_unanswered_part(question, [Quotation(text, "") for text in texts]) == open_part


def test_a_sentence_is_about_the_person_it_names(embedder):
    question, around = "Where does Clara Moor live?", "Clara Moor was born in Odby."
    assert is_covered(embedder, question, "Today she lives in Thun.", around)
    assert is_covered(embedder, question, "Today Clara Moor lives in Thun, Per Moor in Basel.", around)
    assert not is_covered(embedder, question, "Her brother Per Moor lives in Basel.", around)


def test_sentences_in_a_row_may_be_about_the_same_thing():
    text = ["Odby is a town.", "Its port is old.", "It has 84 boats.", "Salt is cheap there.", "They sell it."]
    assert find_context(text, 2, "Towns").split(" ", 2)[2] == "Odby is a town. Its port is old."
    assert find_context(text, 4, "Towns").split(" ", 2)[2] == "Salt is cheap there."


def test_two_questions_in_one_may_be_answered_in_two_places(embedder):
    check = BuiltinCoverageCheck(embedder, CountedTermStatistics())
    used = [Quotation("The fee is 30 pounds.", ""), Quotation("Clara Moor collects the money.", "")]
    assert check.is_covered("How much is the fee and who collects the money?", used)
    assert not check.is_covered("How much is the fee in Varnholt and who collects the money?", used)


@pytest.mark.parametrize(
    ("question", "quoted", "covered"),
    [
        ("Are boats insured?", Quotation("• Boats are insured.", "", 1), True),
        ("What are the duties?", Quotation("The duties are these:", ""), False),
        ("What are the duties?", Quotation("The duties are these:\n- rowing\n- steering", "", 2), True),
        ("What are the duties?", Quotation("The duties are these:\n- rowing\n- steering", "", 2, is_cut=True), False),
    ],
)
def test_an_announcement_or_half_a_list_covers_nothing(embedder, question, quoted, covered):
    assert BuiltinCoverageCheck(embedder, CountedTermStatistics()).is_covered(question, [quoted]) == covered


@pytest.mark.parametrize(
    ("message", "sentence", "covered"),
    [
        ("你能做什么？", "The deposit is two months' rent.", False),
        ("test", "Bouldering needs no test.", False),
        ("Is it good?", "Vouchers bought in 2023 are still good.", False),
        ("opening hours", "The opening hours are from 8 to 20.", False),
        ("1", "Room 1 is closed.", False),
        ("Who is the clerk?", "The clerk is Ada Moor.", True),
        ("price of the Odby pass", "The price of the Odby pass is £12.", True),
    ],
)
def test_a_message_that_names_too_little_is_covered_by_nothing(embedder, message, sentence, covered):
    check = BuiltinCoverageCheck(embedder, CountedTermStatistics())
    assert check.is_covered(message, [Quotation(sentence, "")]) == covered


@pytest.mark.parametrize(
    ("question", "other", "text"),
    [
        ("What is the phone number?", "The phone sold in great number.", "The phone number is 01632 960 123."),
        (
            "When is the last rehearsal for the spring concert?",
            "Spring concert: Saturday 28 March 2026, 19:30, Holy Trinity, Upper Odby.",
            "Spring concert: Saturday 28 March; last rehearsal the day before at 10:00.",
        ),
        (
            "What is the clerk's e-mail address?",
            "Write an e-mail to the clerk.",
            "The clerk's e-mail address is a@b.org.",
        ),
        ("What is the notice period?", "A notice hung there for a period.", "The notice period is three months."),
        (
            "When do I get my deposit back?",
            "The deposit is due within 14 days.",
            "The deposit is returned within 14 days.",
        ),
        ("When did Odby Nights come out?", "Odby Nights was written in 1985.", "Odby Nights was released in 1985."),
        ("Where does the bowline come from?", "The bowline is used at Odby.", "The bowline came from Odby."),
        (
            "Where is the bowline?",
            "The bowline is for the Clerk by noon on 3 April.",
            "The bowline is at the Clerk's in Odby.",
        ),
        (
            "Why is the terrace smoke-free?",
            "Since then the terrace has been smoke-free.",
            "The terrace is smoke-free because of the fire.",
        ),
        (
            "What was Clara Moor's brother called?",
            "The Moor Trust was founded by Clara Moor's brother.",
            "The brother of Clara Moor was called Edmund.",
        ),
        (
            "How long does the battery take to charge?",
            "A full charge of the battery lasts for 75 minutes.",
            "A full charge of the battery takes 75 minutes.",
        ),
        ("How do I book a bed?", "Each booking of a bed is held until 6 pm.", "Beds are booked online."),
        ("When does the lease run out?", "The lease is run from Odby on 4 May.", "The lease ends on 4 May."),
        (
            "What time is the midday visit?",
            "Judith takes over the midday visit.",
            "The midday visit is at 12:15.",
        ),
        ("How much did the fair make?", "The fair is from 11:00 to 15:00.", "The fair made £812."),
        ("What is another name for a firebox?", "A firebox has lead plugs.", "A firebox is also called a furnace."),
        (
            "What is an example of a road vehicle?",
            "A road vehicle needs steam.",
            "Road vehicles such as cars need steam.",
        ),
        (
            "Which countries are listed in Annex 2?",
            "For the countries listed in Annex 2 only a loan laptop may be taken.",
            "The countries listed in Annex 2 are Norland and Sorvia.",
        ),
        (
            "Who is the general counsel?",
            "4.4 Mailboxes are closed unless held by the general counsel.",
            "4.4 The general counsel is Mary Ode.",
        ),
        (
            "Which pool does the club train in?",
            "Swim caps are worn when the club is training.",
            "The club trains in the Norgate pool.",
        ),
        ("When do they put the mast up?", "The mast is painted on 4 May.", "The mast is put up on 4 May."),
        (
            "Where is the ferry office?",
            "The ferry office is open to members of Sail Odby.",
            "The ferry office is in Odby.",
        ),
    ],
)
def test_what_is_asked_for_must_have_its_form(embedder, question, other, text):
    check = BuiltinCoverageCheck(embedder, CountedTermStatistics())
    assert check.is_covered(question, [Quotation(text, "")])
    assert not check.is_covered(question, [Quotation(other, "")])


@pytest.mark.parametrize(("question", "text"), [("Who is the landlord?", "Clara tells of lands that are far away.")])
def test_a_compound_is_no_form_of_its_first_part(embedder, question, text):
    assert not is_covered(embedder, question, text)


@pytest.mark.parametrize(
    ("rest", "covered"),
    [
        ("The landlord's notice period is six months.", False),
        ("The tenant's notice period is one month, says the letter.", False),
        ("The notice period of three months is usual.", True),
        ("The tenant's notice period was agreed.", True),
        ("The deposit is returned within two months.", True),
    ],
)
def test_a_sentence_with_another_value_makes_an_answer_uncertain(embedder, rest, covered):
    said = "The tenant's notice period is three months."
    passages = [Passage(1, "a", "Lease", "", f"{said} {rest}", "")]
    check = BuiltinCoverageCheck(embedder, CountedTermStatistics())
    assert check.is_covered("How long is the notice period?", [Quotation(said, "Lease")], passages=passages) == covered


@pytest.mark.parametrize(
    ("text", "items", "covered"),
    [
        ("Stop taking Velorin and see a doctor if your face swells.", 0, False),
        ("The effects of Velorin are dizziness and nausea.", 0, True),
        ("It may cause dizziness and nausea.", 0, True),
        ("- dizziness\n- nausea", 2, True),
    ],
)
def test_a_heading_alone_does_not_make_a_sentence_an_answer(embedder, text, items, covered):
    check = BuiltinCoverageCheck(embedder, CountedTermStatistics())
    quoted = Quotation(text, "Velorin: common side effects", items)
    assert check.is_covered("What are the common side effects of Velorin?", [quoted]) == covered


@pytest.mark.parametrize(
    ("question", "text", "off_topic"),
    [
        ("How many weeks were lost because of the bomb?", "The bomb was found in the harbour.", True),
        ("등대의 최대 수심은 몇 미터인가요?", "등대는 2월에 연다.", True),
        ("등대의 높이는 몇 미터인가요?", "등대의 키는 30미터이다.", False),
    ],
)
def test_what_shares_too_little_is_off_topic(embedder, question, text, off_topic):
    asked = analyze_question(question, CountedTermStatistics())
    assert is_off_topic(asked, find_gaps(asked, Quotation(text, ""), embedder)) == off_topic


@pytest.mark.parametrize(
    ("note", "covered"), [("20명부터 보며 7일 전까지 신청", False), ("총무 김서준에게 7일 전까지 신청", True)]
)
def test_a_korean_row_names_a_person_or_an_office(embedder, note, covered):
    check = BuiltinCoverageCheck(embedder, CountedTermStatistics())
    quoted = Quotation(f"시설: 단체 관람 | 요금: 2000 | 예약과 주의사항: {note}", "박물관")
    assert check.is_covered("단체 관람 신청은 누구한테 해야 하나요?", [quoted]) == covered


@pytest.mark.parametrize(
    ("question", "text", "covered"),
    [
        ("회칙의 시행일은?", "이 회칙은 2021년 3월 2일부터 시행한다.", True),
        ("회칙의 시행일은?", "이 회칙은 총회가 끝나면 시행한다.", False),
        ("월급날이 언제예요?", "임금은 매월 25일에 지급한다.", True),
        ("집주인이 누구예요?", "임대인은 박정희이다.", True),
        ("출산휴가를 신청하나요?", "출산 때에는 휴가를 신청한다.", False),
        ("사무실 전화번호", "문의: 사무실 031-222-3333", True),
        ("사무실 전화번호", "문의는 사무실로 한다.", False),
        ("이 약을 먹으면 안 되는 사람은?", "이 약을 먹으면 졸릴 수 있는 사람이 있다.", False),
        ("이 약을 먹으면 안 되는 사람은?", "임부인 사람은 이 약을 복용하지 않는다.", True),
        ("하루 몇 정까지 먹나요?", "하루 세 번 먹는다.", False),
        ("하루 몇 정까지 먹나요?", "하루 6정까지 먹는다.", True),
        ("가입비랑 회비 얼마예요?", "회비는 매달 1만 원이다.", False),
    ],
)
def test_a_korean_sentence_states_what_is_asked_in_other_words(embedder, question, text, covered):
    assert is_covered(embedder, question, text) == covered


def test_a_long_korean_noun_may_be_half_in_the_heading(embedder):
    assert is_covered(embedder, "출산휴가를 며칠 주나요?", "배우자의 출산에는 10일을 준다.", "경조휴가")
    assert not is_covered(embedder, "육아휴가를 며칠 주나요?", "배우자의 출산에는 10일을 준다.", "경조휴가")


def test_a_line_with_the_very_label_makes_another_sentence_uncertain(embedder):
    check = BuiltinCoverageCheck(embedder, CountedTermStatistics())
    sentence = Quotation("소풍을 가니 준비물을 챙겨 보내 주세요.", "")
    line = Passage(2, "s2", "", "", "2. 준비물: 도시락, 물통", "")
    assert check.is_covered("소풍 준비물 알려줘", [sentence])
    assert not check.is_covered("소풍 준비물 알려줘", [sentence], passages=[line])
