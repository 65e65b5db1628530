"""Graph node that replies to small talk, and the texts of its replies."""

from __future__ import annotations

from collections.abc import Sequence

from crag.events import AnswerWritten, SmallTalkDetected, TokensWritten
from crag.graph.nodes import graph_node
from crag.graph.state import Deps, GraphState
from crag.text.language import detect_written_language
from crag.text.sanitization import to_one_line
from crag.text.small_talk import detect_small_talk
from crag.types import SmallTalk, Usage, WrittenLanguage

_MAX_TITLES = 10
REPLIES: dict[WrittenLanguage, dict[SmallTalk | str, str]] = {
    "en": {
        "greeting": "Hello! Ask me a question about your documents.",
        "wellbeing": "I am a program and running fine, thank you. What would you like to know from your documents?",
        "thanks": "You’re welcome.",
        "farewell": "Goodbye!",
        "acknowledgement": "All right. If an answer was wrong, ask in other words: each sentence shows its source.",
        "identity": "I am CRAG Chat, a program that answers questions from your documents. Answers come from: {model}.",
        "builtin": "the built-in engine",
        "capabilities": "I answer questions from the documents you add, and show the source of each sentence. "
        "I grade every passage I find before I use it. Settings lists what was sent from this machine. {otherwise}",
        "web": "If I find no answer in your documents, I say so, and can search the web if you allow it.",
        "no web": "If I find no answer in your documents, I say so instead of guessing.",
        "documents": "I can search {count} documents:",
        "document": "I can search 1 document:",
        "no documents": "There are no documents to search yet. Add some on the Documents page.",
        "more": "and {more} more",
    },
    "ko": {
        "greeting": "안녕하세요! 문서에서 궁금한 점을 물어보세요.",
        "wellbeing": "감사합니다. 저는 프로그램이고 잘 작동하고 있습니다. 문서에서 무엇을 찾아 드릴까요?",
        "thanks": "천만에요.",
        "farewell": "안녕히 가세요!",
        "acknowledgement": "알겠습니다. 답이 틀렸다면 다른 말로 다시 물어보세요. 문장마다 출처가 표시됩니다.",
        "identity": "저는 추가하신 문서를 바탕으로 질문에 답하는 프로그램 CRAG Chat입니다. 답변 모델: {model}.",
        "builtin": "내장 엔진",
        "capabilities": "추가하신 문서를 바탕으로 질문에 답하고, 문장마다 출처를 보여 드립니다. "
        "찾은 문단은 쓰기 전에 모두 채점합니다. 이 컴퓨터에서 전송된 내용은 ‘설정’ 페이지에서 볼 수 있습니다. "
        "{otherwise}",
        "web": "문서에 답이 없으면 없다고 말씀드리고, 허용하시면 웹에서 찾아봅니다.",
        "no web": "문서에 답이 없으면 없다고 말씀드립니다.",
        "documents": "찾아볼 수 있는 문서는 {count}개입니다:",
        "document": "찾아볼 수 있는 문서는 1개입니다:",
        "no documents": "아직 찾아볼 문서가 없습니다. ‘문서’ 페이지에서 추가해 주세요.",
        "more": "외 {more}개",
    },
    "zh": {
        "greeting": "你好！关于您的文档，请随时提问。",
        "wellbeing": "谢谢关心。我是程序，运行正常。您想从文档中了解什么？",
        "thanks": "不客气。",
        "farewell": "再见！",
        "acknowledgement": "好的。如果回答有误，请换个说法再问，每句话都标有出处。",
        "identity": "我是 CRAG Chat，一个根据您的文档回答问题的程序。回答模型：{model}。",
        "builtin": "内置引擎",
        "capabilities": "我根据您添加的文档回答问题，并显示每句话的出处。找到的每个段落都先评分再使用。"
        "从本机发送过的内容可在“设置”页面查看。{otherwise}",
        "web": "如果文档中没有答案，我会说明；经您允许，我也可以搜索网络。",
        "no web": "如果文档中没有答案，我会说明，而不会编造。",
        "documents": "我可以查找 {count} 个文档：",
        "document": "我可以查找 1 个文档：",
        "no documents": "还没有可以查找的文档。请在“文档”页面添加。",
        "more": "以及另外 {more} 个",
    },
    "zh-Hant": {
        "greeting": "你好！關於您的文件，請隨時提問。",
        "wellbeing": "謝謝關心。我是程式，運作正常。您想從文件中了解什麼？",
        "thanks": "不客氣。",
        "farewell": "再見！",
        "acknowledgement": "好的。如果回答有誤，請換個說法再問，每句話都標有出處。",
        "identity": "我是 CRAG Chat，一個根據您的文件回答問題的程式。回答模型：{model}。",
        "builtin": "內建引擎",
        "capabilities": "我根據您加入的文件回答問題，並顯示每句話的出處。找到的每個段落都先評分再使用。"
        "從本機傳送過的內容可在「設定」頁面查看。{otherwise}",
        "web": "如果文件中沒有答案，我會說明；經您允許，我也可以搜尋網路。",
        "no web": "如果文件中沒有答案，我會說明，而不會編造。",
        "documents": "我可以查找 {count} 份文件：",
        "document": "我可以查找 1 份文件：",
        "no documents": "還沒有可以查找的文件。請在「文件」頁面加入。",
        "more": "以及另外 {more} 個",
    },
}


@graph_node("reply")
def reply(state: GraphState, deps: Deps) -> GraphState:
    """Reply to small talk in its language, without a search, a model or a verdict."""
    kind = detect_small_talk(state["question"]) or "greeting"
    deps.emit(SmallTalkDetected(kind))
    text = _write_reply(kind, detect_written_language(state["question"]), deps)
    deps.emit(TokensWritten(text))
    deps.emit(AnswerWritten(text, (), "talk", Usage()))
    return {"answer": text, "knowledge": ()}


def _write_reply(kind: SmallTalk, language: WrittenLanguage, deps: Deps) -> str:
    replies = REPLIES[language]
    if kind == "documents":
        return _list_titles(deps.retriever.titles(deps.options), replies)
    otherwise = replies["no web" if deps.web is None else "web"]
    model = replies["builtin"] if deps.engine.name == "builtin" else deps.engine.label
    return replies[kind].format(model=model, otherwise=otherwise)


def _list_titles(titles: Sequence[str], replies: dict[SmallTalk | str, str]) -> str:
    if not titles:
        return replies["no documents"]
    shown = _MAX_TITLES if len(titles) > _MAX_TITLES + 1 else len(titles)  # a line for one more can name it
    lines = [f"- {to_one_line(title)}" for title in titles[:shown]]
    if more := len(titles) - shown:
        lines.append(f"- {replies['more'].format(more=more)}")
    form = replies["document" if len(titles) == 1 else "documents"]
    return "\n".join([form.format(count=len(titles)), "", *lines])
