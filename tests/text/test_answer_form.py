"""Whether a quotation has the shape that its question asks for."""

from __future__ import annotations

import pytest

from crag.protocols import Quotation
from crag.text.answer_form import has_form


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("How do I connect the boiler?", "Hold the Mode key for five seconds until the lamp blinks."),
        ("How can I cancel?", "You can cancel by writing to the office."),
        ("How do harbours silt up?", "Harbours silt up with what the rivers carry."),
        ("What are the three colours of the flag?", "The colours of the flag are red, white and blue."),
        ("How fast is the ferry?", "The ferry travels at 18 knots."),
        ("How do I cancel a cabin?", "To cancel a cabin, write to the office."),
        ("Why was the ferry stopped?", "The ferry was stopped because the pier had burned."),
        ("deposit?", "Deposit: £1,430"),
        ("deposit?", "The deposit is £1,430, held by the landlord."),
        ("bowline?", "A bowline is a knot that does not slip."),
        ("price of PX-20", "Item: PX-20 | Price: 189"),
        ("boiler cleaning how??", "To clean the boiler, open the valve and pour in a sachet."),
        ("보증금?", "보증금: 500만 원"),
        ("매듭?", "매듭이란 줄을 묶은 것을 말한다."),
        ("押金？", "押金是1430元。"),
        ("What is the difference between a sloop and a ketch?", "A sloop has one mast, a ketch has two."),
        ("Was the pier rebuilt?", "The pier was rebuilt in 1911."),
        ("How much is the fee?", "The fee is 65 pounds for members under 18."),
        ("怎样给锅炉除垢？", "先倒入一包除垢剂，再按确认键。"),
        ("금지된 행위는 무엇인가요?", "부두에서는 뛰거나 낚시하는 행위를 하여서는 아니 된다."),
        ("How often is the mast painted?", "The mast is painted every two years."),
        ("How often does the ferry run?", "The ferry runs on Tuesdays and Fridays."),
        ("돛은 얼마나 자주 갈아야 하나요?", "돛은 2년마다 간다."),
        ("船帆多久换一次？", "船帆每两年更换。"),
        ("What caused the leak?", "The leak was caused by a worn seal."),
        ("What causes leaks in the hull?", "Frost causes the leaks in the hull."),
        ("What was the cause of the leak?", "The leak was due to a worn seal."),
    ],
)
def test_an_answer_in_form(question: str, text: str) -> None:
    assert has_form(question, Quotation(text, ""))


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("How do I connect the boiler?", "Connecting: the boiler can be operated with the Home app."),
        ("What are the five colours of the flag?", "The flag has five colours, among other things red and blue."),
        ("What are the five colours of the flag?", "The five colours of the flag were chosen in 1911."),
        ("How fast is the ferry?", "The ferry is very fast."),
        ("Why was the ferry stopped?", "The ferry was stopped on Sunday."),
        ("Can I smoke on the ferry?", "Smokers sit on the ferry."),
        ("배에서 담배를 피워도 되나요?", "담배는 매점에서 판다."),
        ("How do I book a cabin?", "To cancel a cabin, write to the office."),
        ("怎么预订？", "如需取消预订，请发邮件。"),
        ("회원 가입은 어떻게 해요?", "회원에서 탈퇴하려면 신청서를 이메일로 보내 주세요."),
        ("押金？", "钥匙押金为50元。"),
        ("보증금?", "열쇠 보증금은 5만 원이다."),
        ("deposit?", "The deposit is protected with a scheme. The deposit may be used for unpaid rent."),
        ("deposit", "Gate key deposit: £60"),
        ("boiler cleaning how??", "Clean the boiler every two weeks; in hard water, once a week."),
        ("How do I clean the boiler?", "Clean the boiler every two weeks."),
        ("보증금?", "보증금은 은행에 맡긴다."),
        ("출입증 분실?", "출입증은 1층에서 나누어 준다."),
        ("押金？", "押金可用于清洁。"),
        ("That was the ferry I took.", "The ferry that I took was late."),
        ("The boiler is broken", "A broken boiler must be reported."),
        ("보일러가 고장났어요.", "고장난 보일러는 신고한다."),
        ("我的锅炉坏了。", "锅炉坏了要报告。"),
        ("What is the difference between a sloop and a ketch?", "A sloop has one mast."),
        ("What are the duties?", "The duties are set by the club. 2."),
        ("怎样给锅炉除垢？", "除垢剂每盒45元，滤芯每个59元。"),
        ("Was ist eine Mole?", "Die Mole schützt den Hafen."),
        ("금지된 행위는 무엇인가요?", "부두에서는 다음 각 호의 행위를 하여서는 아니 된다."),
        ("금지된 행위는 무엇인가요?", "다음 행위는 금지된다. 부두에서 뛰는 행위 2."),
        ("How often is the mast painted?", "The mast was painted within 30 days of the sale."),
        ("돛은 얼마나 자주 갈아야 하나요?", "구입 후 30일 안에 등록하면 돛 1개를 보내 드립니다."),
        ("船帆多久换一次？", "登记后三十天内赠送船帆。"),
        ("Why must the boat stand upright?", "The boat must stand upright for 6 hours."),
        ("What caused the leak?", "Two who were hurt in the leak died of other causes."),
    ],
)
def test_no_answer_in_form(question: str, text: str) -> None:
    assert not has_form(question, Quotation(text, ""))


def test_a_list_must_have_as_many_items_as_asked_for() -> None:
    items = "- red\n- white\n- blue"
    assert has_form("What are the three colours?", Quotation(items, "", items=3))
    assert not has_form("What are the four colours?", Quotation(items, "", items=3))
    assert not has_form("What are the colours?", Quotation(items, "", items=3, is_cut=True))
