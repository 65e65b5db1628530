"""Which quantities answer a question about a measure."""

import pytest

from crag.text.measures import find_quantities


@pytest.mark.parametrize(
    ("question", "text", "quantities"),
    [
        ("How long is parental leave?", "Parental leave is granted to 3 parents at most.", []),
        ("How long is parental leave?", "Parental leave lasts up to six months.", ["six months"]),
        ("How long does a refund take?", "A refund takes 5 working days, see section 7.", ["5 working days"]),
        ("How long was the ferry out of service?", "It was out of service from 2011 to 2013.", ["from 2011 to 2013"]),
        ("How long has Orbel made looms?", "Orbel has made 40 looms since 1990.", ["since 1990"]),
        ("How long was Clara Moor captain?", "Ten years prior, Clara Moor was captain.", []),
        ("How long ago was it sold?", "It was sold ten years ago.", ["ten years"]),
        ("How old is the captain?", "Clara Moor, 41, is the captain.", ["Moor, 41,"]),
        ("How old is Orbel?", "Orbel is named on pages 111, 228 and 300.", []),
        ("How long is the quay?", "The quay has 4 cranes and is 80 metres long.", ["80 metres"]),
        ("How many years did Clara Moor serve?", "Clara Moor served 4 mayors for 12 years.", ["12 years"]),
        ("How long is the probation?", "Probation (months): 6 | Managers: 2", ["months): 6"]),
        ("How old is the captain?", "The captain is 41 years old and has 3 ships.", ["41 years"]),
        ("How old is the captain?", "The captain has 3 ships.", []),
        ("How tall is the tower?", "The tower has 34 floors and is 120 metres tall.", ["120 metres"]),
        ("How tall is the captain?", "The captain has 3 ships and is 5′11″.", ["5′11"]),
        ("How far is Odby from Varn?", "Odby, with 900 people, is 12 miles from Varn.", ["12 miles"]),
        ("How often is the deck scrubbed?", "The 14 sailors scrub the deck every Friday.", ["every"]),
        ("How long does Eco take?", "The option shortens Eco by 30 minutes, to 195 minutes.", ["195 minutes"]),
        ("How much does a bottle cost?", "A bottle of 28 holds 84 g.", []),
        (
            "How much does a bottle cost?",
            "A bottle of 28 costs €4 or 5 pounds; the first is free.",
            ["€4", "5 pounds", "free"],
        ),
        ("What does the Oak shelf cost?", "Oak shelf | Price EUR: 89 | Stock: 12", ["Price EUR: 89"]),
        ("How much is the deposit?", "A deposit of £1,325 is due after 2 weeks.", ["£1,325"]),
        ("How heavy is the shelf?", "The shelf has 3 boards and weighs 12 kg.", ["12 kg"]),
        ("How big is the flat in square metres?", "The flat has 3 rooms on 64 m².", ["64 m²"]),
        ("수습 기간은 얼마나 되나요?", "수습 기간에는 2명의 관리자가 평가한다.", []),
        ("수습 기간은 얼마나 되나요?", "수습 기간은 3개월이다.", ["3개월"]),
        ("육아휴직은 얼마나 되나요?", "육아휴직은 3명 이상이 신청할 수 있다.", []),
        ("등대의 높이는 얼마인가요?", "등대의 높이는 31미터이고 5만 명이 찾는다.", ["31미터"]),
        ("요금은 얼마인가요?", "요금은 3만 원이며 2명까지 받는다.", ["3만 원"]),
    ],
)
def test_a_measure_is_answered_by_its_unit(question, text, quantities):
    assert [found[0] for found in find_quantities(question, text) or ()] == quantities


@pytest.mark.parametrize(
    "question",
    ["How many boats are there?", "How high is unemployment?", "By how much may the rent rise?", "인구는 얼마인가요?"],
)
def test_other_questions_may_mean_any_figure(question: str) -> None:
    assert find_quantities(question, "12 months") is None
