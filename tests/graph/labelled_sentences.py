"""Sentences of answers beside the passage they cite, each labelled by hand as supported or not.

Passages and sentences were written for this, and none was changed after the check was first run on them. It then found
42 of 47 that are not carried, and doubted 8 of 34 that are (precision 0.84, recall 0.89); its rules were mended after.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

Kind = Literal["faithful", "paraphrase", "number", "name", "negated", "invented", "uncited", "uncited invented"]
CARRIED: tuple[Kind, ...] = ("faithful", "paraphrase", "uncited")


class Labelled(NamedTuple):
    """One sentence; `source` names its passage in `PASSAGES`."""

    source: str
    kind: Kind
    sentence: str

    @property
    def carried(self) -> bool:
        return self.kind in CARRIED


PASSAGES = {
    "harbour": (
        "The harbour of Lindvik was opened on 5 March 1912 by the engineer Olaf Berg. It handled 2,400 ships in its"
        " first year. In 2021 the cargo grew by 21 % to 3.6 million tonnes, while the number of passengers fell by 8 %."
        " The old lighthouse does not work any more. It was replaced by an automatic beacon in 1987."
    ),
    "bees": (
        "Honey bees tell other bees where flowers are by dancing on the comb. The angle of the dance shows the"
        " direction relative to the sun, and its length shows the distance. Karl von Frisch described this in 1927 and"
        " received the Nobel Prize in 1973. Bees do not see red, but they see ultraviolet light."
    ),
    "contract": (
        "The tenant must give notice three months before the end of the lease. The deposit of 1,800 euros is paid back"
        " within 30 days after the keys were returned. Pets are not allowed without written consent of the landlord."
        " Repairs under 100 euros are paid by the tenant."
    ),
    "memory": (
        "Sensory memory holds impressions for less than a second. Working memory holds about seven items for 20 to 30"
        " seconds. Long-term memory can keep information for decades, and its capacity is nearly unlimited. Sleep"
        " helps to move what was learned into long-term memory."
    ),
    "ko_tower": (
        "한빛타워는 1993년 대전 엑스포를 위해 지어졌다. 높이는 93미터이며, 전망대는 하루에 1,200명이 방문한다."
        " 2019년 보수 공사 이후 입장료는 무료가 되었다. 건축가 김석철이 설계를 맡았다. 야간에는 전망대를 열지 않는다."
    ),
    "ko_battery": (
        "리튬이온 전지는 충전할 때 리튬 이온이 양극에서 음극으로 이동한다. 에너지 밀도가 높아 휴대전화와 전기차에 널리"
        " 쓰인다. 1991년 소니가 처음으로 상용화하였다. 온도가 60도를 넘으면 수명이 크게 줄어든다."
    ),
    "zh_mountain": (
        "玉山是臺灣最高的山，海拔3,952公尺。玉山國家公園成立於1985年，每年約有100萬名遊客。"
        "登山者必須事先申請入山證，每天限額116人。冬季山頂常有積雪，不開放夜間攀登。"
    ),
    "zh_tea": (
        "绿茶不经过发酵，因此保留了较多的茶多酚。红茶经过完全发酵，颜色较深。陆羽在公元760年左右写成《茶经》。"
        "2022年，中国茶叶出口量增长了1.6%，达到37.5万吨。"
    ),
}

SENTENCES = [
    Labelled("harbour", "faithful", "The harbour of Lindvik was opened on 5 March 1912 by the engineer Olaf Berg [1]."),
    Labelled("harbour", "faithful", "In its first year it handled 2400 ships [1]."),
    Labelled("harbour", "paraphrase", "Cargo at Lindvik's harbour rose 21 percent in 2021, to 3.6 million tonnes [1]."),
    Labelled("harbour", "paraphrase", "An automatic beacon replaced the old lighthouse in 1987 [1]."),
    Labelled("harbour", "paraphrase", "Engineer Olaf Berg opened it in March 1912 [1]."),
    Labelled("harbour", "number", "In 2021 the cargo grew by 12 % to 3.6 million tonnes [1]."),
    Labelled("harbour", "number", "In 2021 the cargo grew by 8 % to 3.6 million tonnes [1]."),
    Labelled("harbour", "number", "The harbour of Lindvik was opened on 5 May 1912 [1]."),
    Labelled("harbour", "number", "It handled 24,000 ships in its first year [1]."),
    Labelled("harbour", "name", "The harbour of Lindvik was opened in 1912 by the engineer Lars Holm [1]."),
    Labelled("harbour", "name", "The harbour of Sundhavn was opened on 5 March 1912 by the engineer Olaf Berg [1]."),
    Labelled("harbour", "negated", "The old lighthouse still works [1]."),
    Labelled("harbour", "negated", "In 2021 the cargo fell by 21 % to 3.6 million tonnes [1]."),
    Labelled("harbour", "invented", "The harbour is known for its fish market and a yearly sailing race [1]."),
    Labelled("harbour", "uncited", "The harbour handled 2,400 ships in its first year."),
    Labelled("harbour", "uncited invented", "Lindvik has a population of fifty thousand and a famous opera house."),
    Labelled("bees", "faithful", "Bees do not see red, but they see ultraviolet light [1]."),
    Labelled("bees", "paraphrase", "By dancing on the comb, honey bees show other bees where there are flowers [1]."),
    Labelled(
        "bees", "paraphrase", "The direction is given by the dance's angle to the sun, the distance by its length [1]."
    ),
    Labelled("bees", "paraphrase", "Frisch, who described the dance in 1927, got the Nobel Prize in 1973 [1]."),
    Labelled("bees", "number", "Karl von Frisch received the Nobel Prize in 1937 [1]."),
    Labelled("bees", "name", "Konrad Lorenz described this in 1927 and received the Nobel Prize in 1973 [1]."),
    Labelled("bees", "name", "Karl von Frisch described this in 1927 and received the Pulitzer Prize in 1973 [1]."),
    Labelled("bees", "negated", "Bees see red and ultraviolet light [1]."),
    Labelled("bees", "negated", "The angle of the dance does not show the direction relative to the sun [1]."),
    Labelled("bees", "invented", "Bees remember human faces and prefer blue flowers in the morning [1]."),
    Labelled("bees", "uncited invented", "A colony makes about thirty kilograms of honey each year."),
    Labelled("contract", "faithful", "Repairs under 100 euros are paid by the tenant [1]."),
    Labelled("contract", "paraphrase", "Notice must be given by the tenant 3 months before the lease ends [1]."),
    Labelled(
        "contract", "paraphrase", "You get the deposit of 1800 euros back within 30 days of returning the keys [1]."
    ),
    Labelled("contract", "number", "The tenant must give notice six months before the end of the lease [1]."),
    Labelled(
        "contract",
        "number",
        "The deposit of 1,800 euros is paid back within 100 days after the keys were returned [1].",
    ),
    Labelled("contract", "negated", "Pets are allowed without written consent of the landlord [1]."),
    Labelled("contract", "name", "Repairs under 100 euros are paid by the Landlord Association [1]."),
    Labelled("contract", "invented", "The landlord may raise the rent once a year in line with inflation [1]."),
    Labelled("contract", "uncited", "The tenant must give notice three months before the end of the lease."),
    Labelled("memory", "faithful", "Working memory holds about seven items for 20 to 30 seconds [1]."),
    Labelled("memory", "paraphrase", "- **Sensory memory** keeps impressions for less than a second [1]"),
    Labelled("memory", "paraphrase", "- **Long-term memory** has a nearly unlimited capacity and can last decades [1]"),
    Labelled("memory", "paraphrase", "Sleeping helps move learned things to long-term memory [1]."),
    Labelled("memory", "number", "Working memory holds about nine items for 20 to 30 seconds [1]."),
    Labelled(
        "memory",
        "negated",
        "The capacity of long-term memory is not unlimited and it cannot keep information for decades [1].",
    ),
    Labelled("memory", "invented", "Muscle memory is stored in the cerebellum and improves with repetition [1]."),
    Labelled("memory", "uncited invented", "Photographic memory is found in one of a million people."),
    Labelled("ko_tower", "faithful", "한빛타워는 1993년 대전 엑스포를 위해 지어졌다 [1]."),
    Labelled("ko_tower", "paraphrase", "한빛타워의 높이는 93미터이고 전망대에는 하루 1200명이 방문합니다 [1]."),
    Labelled("ko_tower", "paraphrase", "설계는 건축가 김석철이 맡았습니다 [1]."),
    Labelled("ko_tower", "paraphrase", "2019년 보수 공사 후에는 입장료가 무료입니다 [1]."),
    Labelled("ko_tower", "number", "한빛타워의 높이는 39미터이다 [1]."),
    Labelled("ko_tower", "number", "한빛타워는 1998년 대전 엑스포를 위해 지어졌다 [1]."),
    Labelled("ko_tower", "name", "건축가 박영호가 설계를 맡았다 [1]."),
    Labelled("ko_tower", "name", "한빛타워는 1993년 부산 엑스포를 위해 지어졌다 [1]."),
    Labelled("ko_tower", "negated", "야간에도 전망대를 연다 [1]."),
    Labelled("ko_tower", "invented", "타워 안에는 유명한 회전 식당과 수족관이 있다 [1]."),
    Labelled("ko_battery", "faithful", "1991년 소니가 처음으로 상용화하였다 [1]."),
    Labelled("ko_battery", "paraphrase", "충전 시 리튬 이온은 양극에서 음극으로 이동합니다 [1]."),
    Labelled("ko_battery", "paraphrase", "에너지 밀도가 높기 때문에 전기차와 휴대전화에 널리 쓰입니다 [1]."),
    Labelled("ko_battery", "number", "온도가 80도를 넘으면 수명이 크게 줄어든다 [1]."),
    Labelled("ko_battery", "name", "1991년 파나소닉이 처음으로 상용화하였다 [1]."),
    Labelled("ko_battery", "negated", "온도가 60도를 넘으면 수명이 크게 늘어난다 [1]."),
    Labelled("ko_battery", "uncited", "리튬이온 전지는 에너지 밀도가 높아 휴대전화와 전기차에 널리 쓰인다."),
    Labelled("ko_battery", "uncited invented", "나트륨 전지는 가격이 싸지만 무게가 무겁다."),
    Labelled("zh_mountain", "faithful", "玉山是臺灣最高的山，海拔3,952公尺[1]。"),
    Labelled("zh_mountain", "paraphrase", "玉山的海拔是3952公尺，為臺灣最高的山[1]。"),
    Labelled("zh_mountain", "paraphrase", "登山者要事先申請入山證，而且每天只限116人[1]。"),
    Labelled("zh_mountain", "paraphrase", "1985年成立了玉山國家公園[1]。"),
    Labelled("zh_mountain", "number", "玉山是臺灣最高的山，海拔3,592公尺[1]。"),
    Labelled("zh_mountain", "number", "玉山國家公園成立於1958年[1]。"),
    Labelled("zh_mountain", "name", "雪山是臺灣最高的山，海拔3,952公尺[1]。"),
    Labelled("zh_mountain", "name", "富士山國家公園成立於1985年[1]。"),
    Labelled("zh_mountain", "negated", "冬季山頂常有積雪，開放夜間攀登[1]。"),
    Labelled("zh_mountain", "invented", "山上有許多溫泉旅館和纜車[1]。"),
    Labelled("zh_tea", "faithful", "红茶经过完全发酵，颜色较深[1]。"),
    Labelled("zh_tea", "paraphrase", "绿茶保留较多茶多酚，因为它不经过发酵[1]。"),
    Labelled("zh_tea", "paraphrase", "《茶经》是陆羽在公元760年左右写的[1]。"),
    Labelled("zh_tea", "number", "2022年，中国茶叶出口量增长了6.1%[1]。"),
    Labelled("zh_tea", "name", "李白在公元760年左右写成《茶经》[1]。"),
    Labelled("zh_tea", "negated", "绿茶经过发酵，因此保留了较多的茶多酚[1]。"),
    Labelled("zh_tea", "negated", "2022年，中国茶叶出口量下降了1.6%，达到37.5万吨[1]。"),
    Labelled("zh_tea", "uncited", "红茶经过完全发酵，颜色较深。"),
    Labelled("zh_tea", "uncited invented", "咖啡的咖啡因含量比茶叶高得多。"),
]
