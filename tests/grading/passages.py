"""Small libraries in three languages, written for the tests of graders."""

from __future__ import annotations

from crag.types import Passage

ENGLISH = (
    (
        "The Halden lighthouse was built in 1874 by the engineer Clara Moor. It stands on the northern cape of the "
        "island. Its lamp can be seen from thirty kilometres away."
    ),
    "The island of Halden has four harbours. Fishing is the main trade of its people, and boats leave before dawn.",
    "Bread rises because yeast turns sugar into gas. Bakers knead the dough so that the gas cannot escape.",
    "A violin has four strings. They are tuned in fifths and played with a bow of horse hair.",
    "Glaciers move slowly under their own weight. Meltwater carries stones and sand down to the valley.",
)
KOREAN = (
    "한강 도서관은 1962년에 건축가 이서준이 설계하였다. 도서관에는 오십만 권의 책이 있다.",
    "한강은 서울을 가로질러 흐른다. 강변에는 공원과 자전거 길이 있다.",
    "김치는 배추를 소금에 절여 만든다. 겨울이 오기 전에 담근다.",
    "거문고는 여섯 개의 줄을 가진 악기이다. 술대로 줄을 뜯어 연주한다.",
)
CHINESE = (
    "青山圖書館於1962年由建築師林文遠設計。館內藏書五十萬冊。",
    "青山位於城市北部，山上有許多步道。每年春天遊客很多。",
    "豆腐是用黃豆磨成的豆漿凝固而成。各地做法不同。",
    "古琴有七根弦，演奏者用手指撥弦。",
)


def passages(texts: tuple[str, ...]) -> list[Passage]:
    return [Passage(n, f"s{n}", f"Document {n}", f"{n}.txt", text, text) for n, text in enumerate(texts, start=1)]
