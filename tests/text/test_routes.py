import pytest

from crag.text.routes import SummaryRequest, choose_route, force_route, parse_summary_request


@pytest.mark.parametrize(
    ("question", "route"),
    [
        ("Summarise the whole document", "document"),
        ("What is this about?", "document"),
        ("What are the key takeaways?", "document"),
        ("이 문서를 세 문장으로 요약해 줘", "document"),
        ("请总结这份文件", "document"),
        ("List the risks", "list"),
        ("Find all places where ducts are mentioned", "list"),
        ("What are all the deadlines?", "list"),
        ("Where is the warranty mentioned?", "list"),
        ("모든 위험을 나열해 주세요", "list"),
        ("채식 메뉴에는 어떤 것들이 있나요?", "list"),
        ("기숙사에는 뭐뭐가 있나요?", "list"),
        ("这个小区有哪些设施？", "list"),
        ("把出现过的人名都给我", "list"),
        ("逐一列举展品", "list"),
        ("Which penalties does the code of conduct mention?", "list"),
        ("What are the pros and cons of solar panels versus a heat pump?", "steps"),
        ("What distinguishes a kayak from a canoe?", "steps"),
        ("Is the Tern faster than the Gull, and which is lighter?", "steps"),
        ("전기차와 수소차의 장단점은 각각 뭐야?", "steps"),
        ("한옥과 아파트는 무엇이 다른가요?", "steps"),
        ("그룹 A와 다른 그룹과의 가장 큰 차이점은?", "fact"),
        ("对比旧厂房和新厂房的面积", "steps"),
        ("公寓和别墅各有什么优缺点？", "steps"),
        ("My colleague sent the audit, what are its main findings?", "document"),
        ("What does the survey recommend overall?", "document"),
        ("이 약관을 쉽게 풀어서 설명해 줘", "document"),
        ("조사의 전반적인 결론이 뭐야?", "document"),
        ("我没看报告，帮我说说主要内容", "document"),
        ("这次调查的整体结论是什么？", "document"),
        ("Who cleans the grinder every Friday?", "fact"),
        ("Who visits the station every April?", "fact"),
        ("Sum up the expenses of May", "fact"),
        ("what will I be charged if I forget my appointment", "fact"),
        ("write a poem", "fact"),
        ("which plot was flooded and can't be let out before 2026", "fact"),
        ("보증금은 어디에서 언급되나요?", "list"),
        ("列出所有风险", "list"),
        ("哪些地方提到了保修？", "list"),
        ("Compare the price of the Tern and the Gull", "steps"),
        ("What is the difference between a lock and a mutex?", "steps"),
        ("Who founded Moorby and when was Odby sold?", "steps"),
        ("서울과 부산의 인구를 비교해 줘", "steps"),
        ("比较北京和上海的人口", "steps"),
        ("Explain the entire lease to me like I'm five", "document"),
        ("Could I have a shorter version of the report?", "document"),
        ("What does this contract say?", "document"),
        ("What does this contract say about pets?", "fact"),
        ("What is the title of this document?", "fact"),
        ("이 문서의 제목이 뭐야?", "fact"),
        ("这本书的作者是谁", "fact"),
        ("What topics does the handbook cover?", "document"),
        ("Reduce the policy to one page", "document"),
        ("What's in the proposal?", "document"),
        ("paper summary", "document"),
        ("summery of the lease", "document"),
        ("이 논문은 무엇에 관한 건가요?", "document"),
        ("이 파일에 뭐가 들어있어?", "document"),
        ("보고서를 한마디로 하면?", "document"),
        ("这个文件里有什么内容", "document"),
        ("把规定压缩成一页", "document"),
        ("大意是什么", "document"),
        ("Collect the questions raised by reviewers.", "list"),
        ("Give the names of those present.", "list"),
        ("everything that costs extra", "list"),
        ("보고서의 위험을 하나도 빼지 말고 알려줘", "list"),
        ("모든 직원에게 적용되나요?", "fact"),
        ("合同里的每个日期", "list"),
        ("供应商清单", "list"),
        ("每个员工的病假天数", "fact"),
        ("What changed from the draft to the final text?", "steps"),
        ("A合约和B合约的比较", "steps"),
        ("보고서 전체 내용이 뭐야?", "document"),
        ("핸드북에 대해 전반적으로 설명해 주세요.", "document"),
        ("문서의 핵심 내용만 간단히 알려 주세요", "document"),
        ("보고서에 언급된 업체들은 어디어디인가요?", "list"),
        ("참석자 명단을 알려 주세요", "list"),
        ("实验室的安全规则都有哪些?", "list"),
        ("把所有参会人员的名字给我", "list"),
        ("예산은 누가 승인했고 언제 승인됐나요?", "steps"),
        ("월세는 얼마야? 난방비는 포함돼?", "steps"),
        ("自付额是多少,理赔要联系谁?", "steps"),
        ("比较新旧合同的通知期限", "steps"),
        ("CNBC에서 꼽은 방탄소년단과 다른 그룹과의 가장 큰 차이점은?", "fact"),
        ("在1990年，谁当选了？", "fact"),
        ("Who is the landlord?", "fact"),
        ("When and where was Ada Finch born?", "fact"),
        ("When did it start and who founded it?", "fact"),
        ("Name the author of the report", "fact"),
        ("What is the notice period for tenants?", "fact"),
        ("What did the committee name as the cause?", "fact"),
        ("연차 휴가는 며칠인가요?", "fact"),
        ("这个产品的保修期是多久？", "fact"),
        ("List", "fact"),
        # wordings that no form has
        ("바빠서 못 봤는데 결국 무슨 얘기야?", "document"),
        ("没空看，到底说了个啥", "document"),
        ("반입이 안 되는 물건들을 죄다 적어줘", "list"),
        ("凡是要交的费用都写给我", "list"),
        ("두 제안 중 어느 쪽이 더 유리하고 왜 그래?", "steps"),
        ("강당에 난방 되나요? 그리고 열쇠는 누가 갖고 있어요?", "steps"),
        ("电池带不带？充满要多长时间？", "steps"),
        ("合同里有啥坑", "list"),
        ("Does the lease allow pets, or is there a fine?", "fact"),
        ("What are the terms and conditions for late payment?", "fact"),
        ("was it Monday or Thursday that the van broke down", "fact"),
        ("How many keys come with the flat?", "fact"),
        ("Which document do I need for a visa?", "fact"),
        ("Which documents are required for the visa?", "fact"),
        ("Which plan includes dental care?", "fact"),
        ("Which policy includes flood damage?", "fact"),
        ("Which document mentions who pays for the repairs of the roof?", "fact"),
        ("Summarize the documents that mention Dublin", "document"),
        ("더블린이 언급된 문서를 요약해 줘", "document"),
        ("总结提到都柏林的文件", "document"),
        ("어떤 서류가 필요한가요?", "fact"),
        ("여기 들어 있는 자료가 뭐야", "fact"),
    ],
)
def test_the_wording_says_how_a_question_is_answered(question, route):
    assert choose_route(question).route == route


@pytest.mark.parametrize(
    ("question", "topic"),
    [
        ("List all risks mentioned in the report.", "risks"),
        ("Please list the suppliers", "suppliers"),
        ("List every date that occurs.", "date"),
        ("List every place that names Ada Finch", "Ada Finch"),
        ("List all mentions of hens in the contract", "hens"),
        ("Which email addresses occur in the documents?", "email addresses"),
        ("Which phone numbers are given?", "phone numbers"),
        ("What decisions are in the documents?", "decisions"),
        ("What recommendations are made?", "recommendations"),
        ("Which risks are there? List all of them.", "risks"),
        ("How often is Ada Finch mentioned?", "Ada Finch"),
        ("위험 요인을 모두 알려줘", "위험 요인"),
        ("列出所有风险", "风险"),
        # which documents mention something
        ("Which documents mention Mozilla?", "Mozilla"),
        ("Which of my documents mention SpiderMonkey?", "SpiderMonkey"),
        ("Which document mentions the “Dublin office”?", "Dublin office"),
        ("In which documents does the word Germany occur?", "Germany"),
        ("In what documents is Mozilla mentioned?", "Mozilla"),
        ("Where in my documents is Mozilla mentioned?", "Mozilla"),
        ("Which files contain the word tracing?", "tracing"),
        ("What documents talk about V8?", "V8"),
        ("How many documents mention Mozilla?", "Mozilla"),
        ("Does any document mention Dublin?", "Dublin"),
        ("List the documents that mention Dublin", "Dublin"),
        ("Show me all documents mentioning Dublin", "Dublin"),
        ("Which of the docs I added mention Dublin?", "Dublin"),
        ("Can you tell me which documents mention Dublin?", "Dublin"),
        ("I want to know in which documents Dublin is mentioned", "Dublin"),
        ("Which document is Dublin mentioned in?", "Dublin"),
        ("Mozilla가 나오는 문서는?", "Mozilla"),
        ("모질라가 나오는 문서는?", "모질라"),
        ("더블린을 언급하는 문서는 무엇인가요?", "더블린"),
        ("더블린이 언급된 문서를 모두 알려줘", "더블린"),
        ("더블린이라는 단어가 나오는 문서는?", "더블린"),
        ("어떤 문서에 Mozilla가 나오나요?", "Mozilla"),
        ("어느 문서에서 더블린을 언급하나요?", "더블린"),
        ("더블린은 어떤 문서에 나오나요?", "더블린"),
        ("哪些文件提到Mozilla？", "Mozilla"),
        ("哪些文档提到了都柏林?", "都柏林"),
        ("哪份文件提到德国?", "德国"),
        ("都柏林出现在哪些文件中？", "都柏林"),
        ("Mozilla在哪些文件里出现?", "Mozilla"),
        ("提到都柏林的文件有哪些？", "都柏林"),
        ("列出所有提到“都柏林”的文件", "都柏林"),
        ("문서 몇 개에 Mozilla가 나오나요?", "Mozilla"),
        ("有多少文件提到Mozilla？", "Mozilla"),
        ("哪个文件里有都柏林？", "都柏林"),
        ("哪篇论文讨论了V8？", "V8"),
        ("哪些文件裡出現了都柏林這個詞？", "都柏林"),
    ],
)
def test_the_topic_of_a_list_is_what_it_asks_for(question, topic):
    assert choose_route(question).topic == topic


@pytest.mark.parametrize(
    ("question", "is_clear"),
    [
        ("What is the notice period?", True),
        ("Summarize everything", True),
        ("List all risks", True),
        ("Which points should I know about?", False),
        ("연차는 며칠인가요?", True),
        ("모든 직원에게 적용되나요?", True),
        ("押金是多少钱?", True),
    ],
)
def test_a_fact_is_unclear_if_its_wording_resembles_another_kind(question, is_clear):
    assert choose_route(question).is_clear == is_clear


@pytest.mark.parametrize(
    ("question", "topic"),
    [
        ("Under what conditions can the landlord enter?", "conditions"),
        ("What documents do I have to hand in?", "documents"),
        ("제출해야 하는 서류에는 어떤 것들이 있나요?", "서류"),
        ("还有哪些待办事项没完成?", "待办事项"),
        ("Who is the landlord?", "landlord"),
        ("???", "???"),
    ],
)
def test_a_list_that_was_asked_for_otherwise_is_of_the_things_that_are_named(question, topic):
    assert force_route(question, "list").topic == topic


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        (
            "Compare Odby and Moorby in terms of population",
            ("What is the population of Odby?", "What is the population of Moorby?"),
        ),
        ("Compare locks and mutexes", ("Locks", "Mutexes")),
        ("What is the rent? Who pays the repairs?", ("What is the rent?", "Who pays the repairs?")),
        ("比较北京和上海的人口", ("北京的人口是什么？", "上海的人口是什么？")),
    ],
)
def test_a_question_in_several_steps_is_divided(question, parts):
    assert choose_route(question).parts == parts


@pytest.mark.parametrize(
    ("question", "request_"),
    [
        ("Summarize the lease in three sentences", SummaryRequest("lease", True, 3, "sentences")),
        ("Give me a one-sentence summary of the annual report", SummaryRequest("annual report", True, 1, "sentences")),
        ("Summarise the Orbel paper in a few sentences", SummaryRequest("Orbel", True, 3, "sentences")),
        ("Summarize the chapter on risks", SummaryRequest("risks", False)),
        ("Summarize page 3 of the lease", SummaryRequest("lease", False, page=3)),
        ("이 문서 3쪽에 뭐가 있어?", SummaryRequest(page=3)),
        ("第3页讲了什么", SummaryRequest(page=3)),
        ("What are the main conclusions of the Orbel paper?", SummaryRequest("Orbel", section="conclusions")),
        ("논문의 결론은 무엇인가요?", SummaryRequest("논문", section="결론")),
        ("这篇论文的结论是什么？", SummaryRequest(section="结论")),
        ("Summarize this as a table for a beginner", SummaryRequest(form="table", is_reworded=True)),
        ("Give me five bullet points of the handbook", SummaryRequest("handbook", False, 5, "sentences")),
        ("Summarize the lease in 50 words", SummaryRequest("lease", is_reworded=True)),
        ("도서관 안내를 표로 정리해줘", SummaryRequest("도서관 안내", False, form="table")),
        ("도서관 안내를 장별로 정리해줘", SummaryRequest("도서관 안내", False)),
        ("지점별 매출을 표로 정리해줘", None),
        ("按章节总结租车说明", SummaryRequest("租车说明", False)),
        ("给初学者总结租车说明", SummaryRequest("租车说明", False, is_reworded=True)),
        ("Briefly summarize it", SummaryRequest(sentences=3, form="sentences")),
        ("总结一下使用说明", SummaryRequest("使用说明", False)),
        ("總結一下要點", SummaryRequest()),
        ("用三句话总结这份文件", SummaryRequest(sentences=3, form="sentences")),
        ("What does section 2.2 say?", SummaryRequest(is_whole=False, chapter="2.2")),
        ("What does clause 4.1 of the lease state?", SummaryRequest("lease", False, chapter="4.1")),
        ("2.2절을 요약해줘", SummaryRequest(is_whole=False, chapter="2.2")),
        ("总结第2.2节", SummaryRequest(is_whole=False, chapter="2.2")),
        ("Who wrote the summary?", None),
    ],
)
def test_a_summary_is_as_long_and_in_the_form_that_was_asked_for(question, request_):
    assert parse_summary_request(question) == request_


def test_a_route_that_the_user_chose_is_kept():
    assert force_route("Who is the landlord?", "list").route == "list"
    assert force_route("List the risks", "list").topic == "risks"
    assert force_route("List the risks", "fact").route == "fact"
    assert force_route("And?", "steps").parts == ("And?",)


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        (
            "Whose proposal for the hall was accepted and does it meet the norm?",
            ("Whose proposal for the hall was accepted?", "Does it meet the norm?"),
        ),
        (
            "If I choose plan B, when does the notice start, and whom do I tell?",
            ("If I choose plan B, when does the notice start?", "If I choose plan B, whom do I tell?"),
        ),
        ("如果选乙方案，什么时候开始，要通知谁？", ("如果选乙方案，什么时候开始?", "如果选乙方案，要通知谁?")),
        ("새 요금은 언제부터 적용되고 누구에게 문의하나요?", ("새 요금은 언제부터 적용되고?", "누구에게 문의하나요?")),
        # a comparison whose sides are named
        (
            "Is the new limit stricter than the old one?",
            (
                "The new limit: Is the new limit stricter than the old one?",
                "The old one: Is the new limit stricter than the old one?",
            ),
        ),
        (
            "does the invoice match the quote",
            ("The invoice: does the invoice match the quote", "The quote: does the invoice match the quote"),
        ),
        (
            "계약서의 보증금이 작년 계약서보다 높은가요?",
            (
                "계약서의 보증금: 계약서의 보증금이 작년 계약서보다 높은가요?",
                "작년 계약서: 계약서의 보증금이 작년 계약서보다 높은가요?",
            ),
        ),
        ("新规定比旧规定严吗？", ("新规定: 新规定比旧规定严吗？", "旧规定: 新规定比旧规定严吗？")),
        # something that is described, not named
        (
            "Who manages the team that built the bridge?",
            ("Which team built the bridge?", "Who manages [1]?"),
        ),
        (
            "이 약을 처방한 의사는 어느 병원 소속인가요?",
            ("이 약을 처방한 의사는 누구인가요?", "[1]는 어느 병원 소속인가요?"),
        ),
        ("给船长看病的医生在哪里坐诊？", ("给船长看病的医生是谁？", "[1]在哪里坐诊？")),
        ("Who is the landlord?", ("Who is the landlord?",)),
        # one fact and its half
        ("How much is the fee and who collects it?", ("How much is the fee and who collects it?",)),
    ],
)
def test_a_question_in_steps_becomes_what_it_names_or_describes(question, parts):
    assert force_route(question, "steps").parts == parts


@pytest.mark.parametrize(
    "question",
    [
        "계약금은 언제까지 내야 하나요?",
        "계약금은 언제까지 내야 하나요? (보증금 임대인)",
    ],
)
def test_until_when_does_not_end_a_clause(question):
    assert choose_route(question).route == "fact"
    assert all(part.endswith(question) for part in force_route(question, "steps").parts[-1:])


def test_a_noun_that_ends_like_a_particle_is_kept_whole():
    assert choose_route("반차랑 병가 차이").parts == ("반차", "병가")
    assert choose_route("휴가와 병가의 차이는 뭐예요?").parts == ("휴가", "병가")
    assert choose_route("병가 모두 알려줘").topic == "병가"
    assert choose_route("회사가 모두 알려줘").topic != "회사가"
