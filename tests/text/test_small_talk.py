"""Small talk is distinguished from questions, in three languages."""

import pytest

from crag.text.small_talk import detect_small_talk, is_summary_request, strip_small_talk

TALK = {
    "greeting": ("hi", "Hello there!", "Good morning, everyone", "hellooo 😀", "안녕하세요", "你好", "您好！", "早安"),
    "wellbeing": ("How are you?", "Hi, how are you doing today?", "잘 지내요?", "你好吗？"),
    "thanks": (
        *("Thanks a lot for your help!", "ok, thanks, bye", "thx", "고마워요!", "감사합니다.", "谢谢你", "謝謝"),
        *("great thanks a lot ok", "감사합니다 수고하세요", "謝謝你的幫忙"),
        *("Thanks, that was exactly what I needed!", "That's so helpful", "great answer, thank you"),
        *("You've been a big help", "덕분에 큰 도움이 됐어요!", "딱 제가 찾던 내용이네요", "正是我需要的，谢谢！"),
        "回答得很清楚",
    ),
    "farewell": ("Bye!", "That’s all for now", "안녕히 계세요", "再见", "晚安"),
    "acknowledgement": (
        *("oh sorry, I sent that by accident", "just testing", "아 죄송, 잘못 보냈어요", "抱歉，发错了"),
        *("That answer is wrong", "그게 아니야, 또 틀렸어", "又答错了，没用"),  # phrases that are not listed
        *("oops", "계속해", "别瞎猜"),
        *("OK", "ok great", "Sorry!", "Great!", "I see.", "네", "알겠습니다", "好的"),
    ),
    "identity": (
        "Who are you?",
        *("Are you a robot or a real person?", "너는 로봇이야 사람이야?", "你是机器人还是人？"),
        "hi! what's your name?",
        "Who are you and what can you do?",
        "너는 누구야?",
        "你是谁？",
    ),
    "capabilities": (
        *("What kinds of questions can you help me with?", "Can you speak Korean or Chinese?", "한국어 할 줄 알아?"),
        "What can you do?",
        "help",
        "How can you help me?",
        "뭐 할 수 있어?",
        *("사투리 알아들어?", "断网的时候你还能用吗"),
        "你能做什么？",
        "你好，你能做什么？",
        "你會做什麼",
    ),
    "documents": (
        *(
            "Which documents do you have?",
            "what files are loaded",
            "Please list my documents",
            "How many docs are there?",
        ),
        *("어떤 문서가 있나요?", "문서 목록 보여줘", "你有哪些文件？", "列出所有文档"),
    ),
}
QUESTIONS = (
    *("What can you do about a broken pipe?", "Which documents do I need for a visa?", "help desk phone number"),
    *("hello world program", "Who are you allowed to invite?", "What documents are required?", "How does it work?"),
    *("Can you read the gas meter in winter?", "Are you allowed to keep dogs?", "你会开车去公司吗？"),
    *("thanksgiving date", "OK Computer release date", "No. 7 pump pressure", "Good morning hours of the clinic"),
    *(
        "How many files are there in the repository?",
        "감사 보고서는 누가 썼나요?",
        "어떤 문서가 필요한가요?",
        "你好公司的地址",
    ),
    *(
        "What I need to bring",
        "Is that the answer I needed to give?",
        "great work bonus",
        "도움이 필요한 사람은?",
        "我需要的文件",
    ),
    *("好的产品是什么", "", "???"),
    *("볼펜 재고", "이상반응 알려줘", "不良反应"),
    *(
        "Something private?",
        "Can you smoke here?",
        "Can I delete just one reading?",
        "Question 1?",
        "duties",
        "Can I delete my account?",
        "Is the pool private?",
    ),
    *("parking", "주차", "수영장", "游泳池", "可以带狗吗", "Do you know who signed the lease?", "카드 되나요"),
)


@pytest.mark.parametrize(("kind", "message"), [(kind, one) for kind, messages in TALK.items() for one in messages])
def test_small_talk_has_a_kind(kind, message):
    assert detect_small_talk(message) == kind


@pytest.mark.parametrize("message", QUESTIONS)
def test_a_question_is_no_small_talk_and_stays_whole(message):
    assert detect_small_talk(message) is None
    assert strip_small_talk(message) == message


@pytest.mark.parametrize(
    ("message", "question"),
    [
        ("Hi! When was Acme founded? Thanks!", "When was Acme founded?"),
        ("Hello, who leads the team?", "who leads the team?"),
        ("Thanks. And when does it close?", "And when does it close?"),
        ("안녕하세요, 회사는 언제 설립되었나요?", "회사는 언제 설립되었나요?"),
        ("你好，公司什么时候成立的？", "公司什么时候成立的？"),
        ("Thanks, bye!", "Thanks, bye!"),
        ("And then? (about the team)", "And then? (about the team)"),
    ],
)
def test_a_question_loses_the_greetings_around_it(message, question):
    assert strip_small_talk(message) == question


@pytest.mark.timeout(10)
@pytest.mark.parametrize("sign", ["아", "嗯", "谢", "네"])
def test_a_repeated_sign_is_read_in_polynomial_time(sign):
    assert detect_small_talk(f"{sign * 150} 보증금은 얼마인가요?") is None


@pytest.mark.parametrize(
    ("message", "is_request"),
    [
        ("Summarise the lease.", True),
        ("Hi! Could you please summarize this document in three sentences?", True),
        ("What is this document about?", True),
        ("What are the key takeaways of the report?", True),
        ("Kannst du das Dokument zusammenfassen?", True),
        ("이 문서를 요약해 주세요", True),
        ("這份文件在講什麼？", True),
        ("Summarise the limits of agents.", False),
        ("What does the summary say about rent?", False),
        ("정리 해고란?", False),
        ("这份文件是谁写的？", False),
    ],
)
def test_a_request_for_a_whole_document_is_told_from_a_question(message, is_request):
    assert is_summary_request(message) == is_request
    assert detect_small_talk(message) is None
