"""A conversation exported as JSON and imported is the same under new ids, and can be continued."""

import json
import time

import pytest

from crag.errors import NotFound
from crag.inspection.run_archive import RunArchive
from crag.options import RunOptions
from crag.sharing.conversation_import import read_shared_conversation
from tests.applications import wait
from tests.sharing.conftest import HOME_FOLDER, lasting, shown


def test_an_export_that_was_imported_exports_the_same(original, shared):
    assert lasting(shared.json()) == lasting(original.json())
    copy = shared.again(shared.take_in(shared.json()))
    assert lasting(copy.json()) == lasting(shared.json())
    assert copy.conversation != shared.conversation
    own, other = messages(shared), messages(copy)
    assert [message.text for message in other] == [message.text for message in own]
    assert not {message.run_id for message in own if message.run_id} & {message.run_id for message in other}


def test_versions_keep_their_order_when_the_clock_was_set_back(bare, monkeypatch):
    home, now = bare.house, time.time()
    wait(home.runs.start(bare.conversation, "What of whales?", RunOptions()))
    monkeypatch.setattr("time.time", lambda: now - 3600)
    wait(home.runs.regenerate(shown(bare, 1), RunOptions(k=2)))
    for one in (bare, bare.again(bare.take_in(bare.json(), "me"))):
        assert "Version 2 of 2" in one.sharing.for_user("me").html(one.conversation)


def test_branches_versions_overrides_and_feedback_survive(shared):
    home, copy = shared.house, shared.again(shared.take_in(shared.json(), "them"))
    conversation = home.conversations.for_user("them").get(copy.conversation)
    assert (conversation.title, dict(conversation.changes)) == ("What of whales?", {"k": 6, "policy": "any"})
    first, answer, _, web = messages(copy)
    assert len(first.branches) == 2
    versions = home.runs.versions(answer.run_id)
    assert [version.change for version in versions] == ["first answer", "k 2", "you left out p. 1"]
    assert home.runs.trace(versions[2].run_id).parent == versions[1].run_id
    assert home.runs.trace(answer.run_id).verdicts[1].ruling == "drop"
    assert home.runs.trace(web.run_id).query_sent
    assert home.conversations.feedback(web.run_id).reason == "It missed the second failure."
    home.conversations.show_branch(copy.conversation, first.branches[1])
    assert messages(copy)[0].text == "What of bees?"


def test_an_imported_run_is_listed_with_its_results(shared):
    imported = shared.take_in(shared.json())
    listed: dict = {shared.conversation: [], imported: []}
    for row in RunArchive(shared.house.database).list():
        results = (row.question, row.state, row.action, row.outcome, row.model, row.seconds, row.relevant, row.best)
        listed[row.conversation_id].append(results)
    assert sorted(listed[imported], key=str) == sorted(listed[shared.conversation], key=str)
    assert any(row[3] for row in listed[imported])


def test_what_was_imported_says_from_where_and_what_is_asked_here_does_not(shared):
    home, before = shared.house, time.time()
    data = shared.sharing.json(shared.conversation)
    copy = shared.again(shared.sharing.import_json(data, "report.json").id)
    imported = home.conversations.get(copy.conversation).imported
    assert (imported.file, before <= imported.at <= time.time()) == ("report.json", True)
    run = home.runs.start(copy.conversation, "And then?", RunOptions())
    wait(run)
    assert [message.imported for message in messages(copy)] == [False, True, False, True, False, False]
    archive = RunArchive(home.database)
    assert archive.find(shown(copy, 1)).imported == imported
    assert archive.find(run.id).imported is None


def test_an_imported_answer_can_be_asked_again_and_gone_on_from(shared):
    copy = shared.again(shared.take_in(shared.json()))
    wait(shared.house.runs.regenerate(shown(copy, 1), RunOptions(k=1)))
    assert len(shared.house.runs.versions(shown(copy, 1))) == 4
    wait(shared.house.runs.start(copy.conversation, "And then?", RunOptions()))
    assert len(messages(copy)) == 6


def test_an_imported_answer_can_be_overruled(shared):
    copy = shared.again(shared.take_in(shared.json()))
    trace = wait(shared.house.runs.overrule(shown(copy, 1), {2: "drop"}))
    assert trace.verdicts[2].ruling == "drop"


def test_what_was_not_ended_is_interrupted_where_it_is_imported(bare):
    bare.house.grader.scores = {}
    wait(bare.house.runs.start(bare.conversation, "Does it wait?", RunOptions(web="ask")))
    assert bare.json()["runs"][0]["state"] == "waiting"
    copy = bare.again(bare.take_in(bare.json()))
    assert bare.house.runs.trace(shown(copy, 1)).state == "interrupted"
    assert bare.house.runs.active(copy.conversation) is None


def test_nothing_of_this_machine_or_its_people_is_in_a_file(original):
    sharing, conversation = original.sharing, original.conversation
    run = sharing.export_run_html(shown(original, 1))
    for made in (sharing.json(conversation).decode(), sharing.html(conversation), sharing.markdown(conversation), run):
        assert HOME_FOLDER not in made
        assert conversation not in made
        assert '"me"' not in made
    assert "paper1.pdf" in sharing.json(conversation).decode()


def test_the_web_is_not_searched_unasked_because_a_file_says_so(shared):
    document = shared.json()
    document["changes"] = {"web": "auto", "nonsense": 1}
    for run in document["runs"]:
        run["events"][0]["options"]["web"] = "auto"
    copy = shared.again(shared.take_in(document))
    assert dict(shared.house.conversations.get(copy.conversation).changes) == {"web": "ask"}
    assert {shared.house.runs.trace(shown(copy, at)).options.web for at in (1, 3)} == {"ask"}


def test_an_empty_conversation_and_one_that_is_gone(bare):
    assert bare.again(bare.take_in(bare.json())).json()["messages"] == []
    assert bare.sharing.html(bare.conversation)
    assert bare.sharing.markdown(bare.conversation)
    bare.house.conversations.delete(bare.conversation)
    for export in (bare.sharing.json, bare.sharing.html, bare.sharing.markdown, bare.sharing.export_run_html):
        with pytest.raises(NotFound):
            export(bare.conversation)


def test_a_file_is_safe_to_print_and_still_says_what_it_held(shared):
    shared.house.conversations.rename(shared.conversation, "right\u202eto left\u009b31m")
    data = shared.sharing.json(shared.conversation)
    assert not {"\u202e", "\u009b"} & set(data.decode())
    assert read_shared_conversation(data).title == json.loads(data)["title"] == "right\u202eto left\u009b31m"


def messages(shared):
    return shared.house.conversations.messages(shared.conversation)
