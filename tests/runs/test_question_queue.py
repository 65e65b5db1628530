"""Questions that wait: their order, what holds them up, changes by hand, and what outlives the process."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from crag.errors import BadRequest, NotFound
from crag.options import RunOptions
from crag.runs.question_queue import QuestionQueue
from tests.applications import wait
from tests.doubles.engine import QuotingWriter
from tests.waiting import wait_until


class Asking:
    """A conversation whose first answer is being written until `gate` is set; `unread` are unfinished ingest jobs."""

    def __init__(self, home, gate):
        self.home, self.gate, self.unread = home, gate, set()
        self.conversation = home.conversations.create().id
        self.queue = self.open_queue()
        self.run = self.queue.submit(self.conversation, "First?")

    def open_queue(self):
        return QuestionQueue(
            self.home.database, self.home.runs, lambda _: RunOptions(), lambda jobs: self.unread & set(jobs)
        )

    def waiting(self):
        return [question.text for question in self.queue.questions(self.conversation)]

    def asked(self):
        return [message.text for message in self.home.conversations.messages(self.conversation)][::2]

    def id_of(self, text):
        return next(one.id for one in self.queue.questions(self.conversation) if one.text == text)

    def finish(self):
        """End the running answer; begin with what waits."""
        self.gate.set()
        wait(self.run)
        self.home.runs.on_end = lambda _: self.queue.wake()
        self.queue.begin()


@pytest.fixture
def asking(house):
    gate = threading.Event()
    made = Asking(house(writer=QuotingWriter(gate=gate)), gate)
    yield made
    gate.set()
    made.queue.close()


def test_questions_are_asked_in_order_when_the_answer_ends(asking):
    for question in ("Second?", "Third?", "Fourth?"):
        assert asking.queue.submit(asking.conversation, question) is None
    assert asking.waiting() == ["Second?", "Third?", "Fourth?"]
    assert asking.asked() == ["First?"]
    asking.finish()
    wait_until(lambda: len(asking.asked()) == 4)
    assert asking.asked() == ["First?", "Second?", "Third?", "Fourth?"]
    assert asking.waiting() == []


def test_nobody_stops_the_answer_of_another(asking):
    bens = asking.home.runs.for_user("ben")
    for refused in (lambda: bens.stop(asking.run.id), lambda: bens.stop_and_regenerate(asking.run.id, RunOptions())):
        with pytest.raises(NotFound):
            refused()
    asking.gate.set()
    assert wait(asking.run).state == "done"


def test_nobody_queues_a_question_in_the_conversation_of_another(asking):
    asking.unread = {"job"}
    with pytest.raises(NotFound):
        asking.queue.for_user("ben").submit(asking.conversation, "Second?", {"job": "notes.pdf"})
    assert asking.waiting() == []


def test_an_answer_is_replaced_before_the_next_question_is_asked(asking):
    runs = asking.home.runs
    runs.on_end = lambda _: asking.queue.wake()
    asking.queue.begin()
    asking.queue.submit(asking.conversation, "Second?")
    again = runs.stop_and_regenerate(asking.run.id, RunOptions(k=1))
    assert asking.waiting() == ["Second?"]
    asking.gate.set()
    assert wait(again).state == "done"
    assert [version.state for version in runs.versions(again.id)] == ["stopped", "done"]
    wait_until(lambda: asking.asked() == ["First?", "Second?"])


def test_simultaneous_questions_are_all_kept(asking):
    barrier = threading.Barrier(8)

    def send(number):
        barrier.wait()
        asking.queue.submit(asking.conversation, f"Question {number}?")

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(send, range(8)))
    assert sorted(asking.waiting()) == [f"Question {number}?" for number in range(8)]


def test_of_two_questions_sent_at_once_one_is_asked_and_the_other_joins_the_queue(asking):
    conversation = asking.home.conversations.create().id  # nothing is being answered there
    barrier, questions = threading.Barrier(2), ["This?", "That?"]

    def send(question):
        barrier.wait()
        asking.queue.submit(conversation, question)

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(send, questions))
    asked = [message.text for message in asking.home.conversations.messages(conversation)][::2]
    waiting = [question.text for question in asking.queue.questions(conversation)]
    assert (len(asked), len(waiting)) == (1, 1)
    assert sorted(asked + waiting) == sorted(questions)


def test_two_callers_ask_a_question_once(asking):
    asking.queue.submit(asking.conversation, "Second?")
    asking.gate.set()
    wait(asking.run)
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(asking.queue.ask_next, [asking.conversation] * 4))
    assert asking.asked() == ["First?", "Second?"]


def test_questions_can_be_moved_and_removed(asking):
    for question in ("Second?", "Third?", "Fourth?"):
        asking.queue.submit(asking.conversation, question)
    asking.queue.move(asking.id_of("Fourth?"), up=True)
    assert asking.waiting() == ["Second?", "Fourth?", "Third?"]
    asking.queue.move(asking.id_of("Second?"), up=True)
    asking.queue.move(asking.id_of("Second?"), up=False)
    assert asking.waiting() == ["Fourth?", "Second?", "Third?"]
    asking.queue.remove(asking.id_of("Second?"))
    assert asking.waiting() == ["Fourth?", "Third?"]


def test_a_question_that_is_edited_is_not_asked_before_it_is_saved(asking):
    asking.queue.submit(asking.conversation, "Second?")
    asking.queue.submit(asking.conversation, "Third?")
    second = asking.id_of("Second?")
    asking.queue.hold(second)
    asking.finish()
    assert asking.queue.ask_next(asking.conversation) is None
    with pytest.raises(BadRequest, match="empty"):
        asking.queue.release(second, "  ")
    asking.queue.release(second, "Second, edited?")
    wait_until(lambda: asking.asked() == ["First?", "Second, edited?", "Third?"])


def test_a_question_waits_for_its_files_and_those_after_it_wait_too(asking):
    asking.unread = {"job-1"}
    asking.finish()
    assert asking.queue.submit(asking.conversation, "What is in it?", {"job-1": "notes.md", "job-2": "old.md"}) is None
    assert asking.queue.submit(asking.conversation, "And then?") is None
    assert asking.queue.unread_files(asking.queue.questions(asking.conversation)[0]) == ["notes.md"]
    assert asking.asked() == ["First?"]
    asking.unread = set()
    asking.queue.wake()
    wait_until(lambda: asking.asked() == ["First?", "What is in it?", "And then?"])


def test_the_queue_outlives_the_process(asking):
    asking.queue.submit(asking.conversation, "Second?")
    asking.queue.close()
    asking.queue = asking.open_queue()
    assert asking.waiting() == ["Second?"]
    asking.finish()
    wait_until(lambda: asking.asked() == ["First?", "Second?"])


def test_each_conversation_has_its_own_queue(asking):
    asking.queue.submit(asking.conversation, "Second?")
    other = asking.home.conversations.create().id
    assert asking.queue.submit(other, "Elsewhere?") is not None
    assert asking.queue.questions(other) == []
    assert asking.queue.for_user("ben").questions(asking.conversation) == []
    asking.queue.submit(other, "Elsewhere, too?")
    (elsewhere,) = asking.queue.questions(other)
    for up in (True, False):
        asking.queue.move(elsewhere.id, up=up)
        assert (asking.waiting(), len(asking.queue.questions(other))) == (["Second?"], 1)
    asking.queue.submit(asking.conversation, "Third?")
    asking.queue.move(elsewhere.id, up=False)
    assert asking.waiting() == ["Second?", "Third?"]


def test_a_conversation_is_listed_under_its_first_question_before_it_is_asked(asking):
    asking.unread = {"job-1"}
    fresh = asking.home.conversations.create().id
    asking.queue.submit(fresh, "What is in it?", {"job-1": "notes.md"})
    assert "What is in it?" in [one.title for one in asking.home.conversations.list()]


def test_nothing_is_queued_in_or_asked_of_a_deleted_conversation(asking):
    asking.queue.submit(asking.conversation, "Second?")
    asking.home.conversations.delete(asking.conversation)
    asking.finish()
    assert asking.queue.ask_next(asking.conversation) is None
    with pytest.raises(NotFound):
        asking.queue.submit(asking.conversation, "Third?")
    asking.home.conversations.restore(asking.conversation)
    asking.queue.wake()
    wait_until(lambda: asking.asked() == ["First?", "Second?"])


def test_what_was_asked_or_removed_cannot_be_edited(asking):
    asking.queue.submit(asking.conversation, "Second?")
    second = asking.id_of("Second?")
    asking.queue.remove(second)
    for act in (asking.queue.hold, asking.queue.release):
        with pytest.raises(NotFound):
            act(second)
