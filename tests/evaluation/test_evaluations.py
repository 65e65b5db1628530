"""Evaluations over the real run service with doubles in its roles: done, stopped, killed and resumed."""

import threading
from dataclasses import dataclass, field

import pytest
from sqlalchemy import text

from crag.cancellation import Cancellation
from crag.conversations.conversations import Conversations
from crag.errors import BadRequest, ModelFault, NotFound
from crag.evaluation.evaluations import Evaluations
from crag.evaluation.records import EvaluationRows
from crag.evaluation.types import Cutoffs, Dataset, Environment, EvaluationPlan, Example, Judgement, Variant
from crag.inspection.run_archive import RunArchive
from crag.options import RunOptions
from crag.runs.service import RunService
from crag.runs.worker import RunResources
from crag.sharing.backup import write_backup
from crag.sharing.restore import restore_backup
from crag.storage.engine import Database
from crag.storage.outbound_log import OutboundLog
from crag.types import Progress, ignore_progress
from tests.crashing import Forked
from tests.doubles.engine import ListRetriever, ListWeb, QuotingWriter, TableGrader, engine, passage
from tests.waiting import PATIENCE, wait_until

EXAMPLES = tuple(Example(f"key{n}", f"Question {n}?", references=("fact1",)) for n in range(4))
DATASET = Dataset("mine", "My questions", "uploaded", EXAMPLES)
ONE = (Variant("one", RunOptions()),)
TWO = (*ONE, Variant("two", RunOptions(k=1)))


@dataclass
class ListJudge:
    name: str = "judge@1"
    asked: list[str] = field(default_factory=list)

    def judge(self, example, answer, stop):
        self.asked.append(example.question)
        return Judgement(self.name, 1.0, "It says fact1.")


class Laboratory:
    """A home whose engine, environment and judge a test changes."""

    def __init__(self, home):
        self.database = Database(home)
        self.writer = QuotingWriter()
        self.grader = TableGrader({1: 0.9, 2: 0.8})
        self.web = ListWeb([passage(-1, "From the web.", origin="web", location="https://example.org/", page=None)])
        self.environment = Environment("Double", "double@1")
        self.opened = 0
        self.judge = ListJudge()
        self.fault = None
        self.runs = RunService(self.database, self.build)
        self.prepared = []
        self.evaluations = Evaluations(
            self.database, self.runs, lambda *_: self.environment, lambda _: self.judge, self.prepare
        )

    def prepare(self, options, _user, report, stop):
        report(Progress("Preparing"))
        self.prepared.append((options.k, self.opened))

    def build(self, options, *_):
        self.opened += 1
        if self.fault:
            raise self.fault
        web = None if options.web == "off" else self.web
        retriever = ListRetriever([passage(1), passage(2)])
        return RunResources(engine(self.grader, self.writer), retriever, "none", web, "Web search is off")

    def begin(self, **changes):
        return self.evaluations.begin(EvaluationPlan(**{"dataset": DATASET, "variants": ONE} | changes))

    def close(self):
        self.evaluations.close()
        self.runs.close()
        self.database.close()


@pytest.fixture
def laboratory(tmp_path):
    made = []

    def make():
        made.append(Laboratory(tmp_path))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def lab(laboratory):
    return laboratory()


def places(lab, evaluation):
    return [(one.variant, one.number, one.repetition) for one in lab.evaluations.results(evaluation.id)]


def test_every_variant_answers_every_question_as_often_as_asked(lab):
    begun = lab.begin(variants=TWO, repetitions=3)
    assert (begun.state, begun.total, begun.size) in (("queued", 24, 4), ("running", 24, 4))
    seen = []
    done = lab.evaluations.wait(begun.id, seen.append)
    assert (done.state, done.done, done.failed, done.fault) == ("done", 24, 0, "")
    assert (seen[-1].done, seen[-1].total) == (24, 24)
    assert done.ended_at >= done.started_at
    assert done.seconds > 0
    assert places(lab, done) == [(v, n, r) for v in (0, 1) for n in range(4) for r in (1, 2, 3)]
    assert [one.environment for one in done.variants] == [lab.environment] * 2
    result = lab.evaluations.results(done.id, 1)[0]
    assert (result.variant, result.example, result.state) == (1, EXAMPLES[0], "done")
    assert result.scored.scores["contained"] == 1.0
    assert done.started_at <= result.started_at <= done.ended_at
    assert lab.runs.trace(result.run_id).options.k == 1
    assert lab.prepared == [(RunOptions().k, 0), (1, 0)]  # before the first question
    assert lab.evaluations.preparation_progress(done.id) is None


def test_runs_of_an_evaluation_can_be_opened_but_are_not_listed(lab):
    done = lab.evaluations.wait(lab.begin(owner_id="a").id)
    run_id = lab.evaluations.results(done.id)[0].run_id
    conversations = Conversations(lab.database)
    assert conversations.for_user("a").find_by_run(run_id) is None
    with pytest.raises(NotFound):
        conversations.for_user("b").find_by_run(run_id)
    assert RunArchive(lab.database).list() == []
    assert lab.runs.recent(10) == []


def test_evaluations_are_private_but_those_of_commands_common(lab):
    own, common = lab.begin(owner_id="a"), lab.begin()
    for one in (own, common):
        lab.evaluations.wait(one.id)
    assert [one.id for one in lab.evaluations.for_user("a").list()] == [common.id, own.id]
    assert [one.id for one in lab.evaluations.for_user("b").list()] == [common.id]
    assert lab.evaluations.for_user("b").get(common.id).name == "My questions"
    with pytest.raises(NotFound):
        lab.evaluations.for_user("b").get(own.id)


def test_what_the_judge_sends_is_recorded_for_the_owner_alone(lab):
    outbound_log, judge = OutboundLog(lab.database), lab.judge.judge

    def judge_elsewhere(example, answer, stop):
        outbound_log.record("judge.example", "model", example.question)
        return judge(example, answer, stop)

    lab.judge.judge = judge_elsewhere
    lab.evaluations.wait(lab.begin(owner_id="a", judge="judge").id)
    assert {one.what for one in outbound_log.for_user("a").entries()} == {one.question for one in EXAMPLES}
    assert outbound_log.for_user("b").entries() == []


def test_a_stopped_evaluation_resumes_without_asking_again(lab, monkeypatch):
    begun = lab.begin(repetitions=5, parallel=1)
    wait_until(lambda: lab.evaluations.get(begun.id).done >= 3)
    lab.evaluations.stop(begun.id)
    stopped = lab.evaluations.wait(begun.id)
    assert stopped.state == "stopped"
    assert 3 <= stopped.done < 20
    before = {(one.number, one.repetition): one.run_id for one in lab.evaluations.results(begun.id)}
    opened = lab.opened
    lab.evaluations.resume(begun.id)
    done = lab.evaluations.wait(begun.id)
    assert (done.state, done.done) == ("done", 20)
    after = {(one.number, one.repetition): one.run_id for one in lab.evaluations.results(begun.id)}
    assert {place: after[place] for place in before} == before
    assert lab.opened - opened == 20 - len(before)
    assert done.seconds > stopped.seconds


def test_a_running_evaluation_cannot_be_resumed_and_others_queue(lab):
    begun, next_one = lab.begin(repetitions=5), lab.begin()
    assert next_one.state == "queued"
    with pytest.raises(BadRequest, match="is running"):
        lab.evaluations.resume(begun.id)
    lab.evaluations.stop(begun.id)
    assert lab.evaluations.wait(next_one.id).state == "done"


def hang(lab):
    """The writer waits until it is stopped; an event that tells when it does."""
    hanging = threading.Event()

    def write(_question, _knowledge, _history, stop, **_):
        hanging.set()
        while True:
            stop.check()
            stop.wait(0.05)

    lab.writer.write = write
    return hanging


@pytest.mark.parametrize("end", ["stop", "delete"])
def test_another_process_ends_it_while_a_model_hangs(lab, laboratory, end):
    hanging, other = hang(lab), laboratory()
    begun = lab.begin()
    hanging.wait()
    getattr(other.evaluations, end)(begun.id)
    wait_until(lambda: not lab.runs.busy)
    if end == "stop":
        wait_until(lambda: other.evaluations.get(begun.id).state == "stopped")


def test_one_stopped_elsewhere_while_queued_does_not_start(lab, laboratory):
    hanging, other = hang(lab), laboratory()
    begun, waiting = lab.begin(), lab.begin()
    hanging.wait()
    other.evaluations.stop(waiting.id)
    other.evaluations.stop(begun.id)
    wait_until(lambda: other.evaluations.get(waiting.id).state == "stopped")


def test_one_resumed_by_another_process_is_not_abandoned(lab, laboratory, monkeypatch):
    begun = lab.evaluations.wait(lab.begin().id)
    other = laboratory()
    hang(other)
    lab.evaluations._rows.change(begun.id, state="running", owner="1-1")

    def gone(_connection, _owner):
        monkeypatch.undo()
        other.evaluations.resume(begun.id)  # just after it was found that its owner is dead
        return False

    monkeypatch.setattr("crag.evaluation.records.is_owner_alive", gone)
    assert lab.evaluations.get(begun.id).state != "interrupted"


def test_pinned_questions_are_asked_by_one_process_at_a_time(lab, laboratory):
    hanging, other = hang(lab), laboratory()
    begun = lab.begin(kind="regression")
    hanging.wait()
    with pytest.raises(BadRequest, match="already running"):
        other.begin(kind="regression")
    lab.evaluations.stop(begun.id)
    lab.evaluations.wait(begun.id)
    assert other.evaluations.wait(other.begin(kind="regression").id).state == "done"


def test_in_a_backup_it_belongs_to_no_process(lab, laboratory, tmp_path):
    hanging = hang(lab)
    begun = lab.begin()
    hanging.wait()
    write_backup(lab.database, tmp_path / "backup.zip", ignore_progress, Cancellation())
    restore_backup(tmp_path / "backup.zip", tmp_path / "restored", ignore_progress, Cancellation())
    database = Database(tmp_path / "restored")
    assert EvaluationRows(database).get(begun.id).state == "interrupted"
    database.close()


def test_a_question_of_a_deleted_evaluation_is_refused_in_words(lab):
    with pytest.raises(NotFound, match="evaluation no longer exists"):
        lab.runs.start(None, "Who?", RunOptions(), evaluation_id="gone")


KILLED = """
import os, sys
from pathlib import Path
from tests.evaluation.test_evaluations import Laboratory

lab = Laboratory(Path(sys.argv[1]))
questions, write = iter(range(2)), lab.writer.write
lab.writer.write = lambda *given, **named: os._exit(9) if next(questions, None) is None else write(*given, **named)
lab.evaluations.wait(lab.begin(repetitions=6, parallel=1).id)
"""


def test_a_process_that_dies_leaves_it_to_be_gone_on_with(lab, tmp_path):
    with Forked(KILLED, tmp_path) as process:
        process.communicate(timeout=PATIENCE)
    assert process.returncode == 9
    [left] = lab.evaluations.list()
    assert (left.state, left.done) == ("interrupted", 2)
    lab.evaluations.resume(left.id)
    assert lab.evaluations.wait(left.id).done == 24


def test_closing_interrupts_and_the_next_start_resumes(lab, laboratory):
    begun = lab.begin(repetitions=6)
    wait_until(lambda: lab.evaluations.get(begun.id).done)
    waiting = lab.begin()
    lab.close()
    again = laboratory()
    for one in (begun, waiting):
        assert again.evaluations.get(one.id).state == "interrupted"
    again.evaluations.resume(begun.id)
    assert again.evaluations.wait(begun.id).state == "done"


def test_figures_of_two_models_are_never_mixed(lab):
    begun = lab.begin(repetitions=6)
    wait_until(lambda: lab.evaluations.get(begun.id).done)
    lab.evaluations.stop(begun.id)
    stopped = lab.evaluations.wait(begun.id)
    lab.environment = Environment("Double", "double@2")
    lab.evaluations.resume(begun.id)
    refused = lab.evaluations.wait(begun.id)
    assert (refused.state, refused.done) == ("failed", stopped.done)
    assert "Start a new evaluation" in refused.fault


def test_what_changed_while_it_was_asked_is_told(lab):
    begun = lab.begin(repetitions=6)
    wait_until(lambda: lab.evaluations.get(begun.id).done)
    lab.environment = Environment("Double", "double@1", library="another")
    ended = lab.evaluations.wait(begun.id)
    assert (ended.state, ended.done) == ("failed", 24)
    assert "have changed since it started" in ended.fault


def test_an_end_that_finds_no_room_on_the_disk_is_saved_when_there_is_some(lab, caplog):
    lab.writer.gate = threading.Event()
    begun = lab.begin()
    wait_until(lambda: lab.opened)
    with lab.database.write() as connection:
        refusal = "RAISE(ABORT, 'database or disk is full')"
        connection.execute(text(f"CREATE TRIGGER full BEFORE UPDATE ON evaluations BEGIN SELECT {refusal}; END"))
    lab.writer.gate.set()
    wait_until(lambda: "disk is full" in caplog.text)
    with lab.database.write() as connection:
        connection.execute(text("DROP TRIGGER full"))
    wait_until(lambda: lab.evaluations.get(begun.id).state == "failed")
    assert "The disk is full" in lab.evaluations.get(begun.id).fault
    lab.evaluations.resume(begun.id)
    assert lab.evaluations.wait(begun.id).state == "done"


def test_a_missing_model_ends_it_early_and_resumably(lab):
    lab.fault = ModelFault("unreachable", "Ollama does not answer.", "Start it.")
    begun = lab.begin(repetitions=3)
    ended = lab.evaluations.wait(begun.id)
    assert ended.state == "failed"
    assert "Ollama does not answer. Start it." in ended.fault
    assert 3 <= ended.failed == ended.done <= 5
    lab.fault = None
    lab.evaluations.resume(begun.id)
    done = lab.evaluations.wait(begun.id)
    assert (done.state, done.done, done.failed) == ("done", 12, 0)


def test_one_question_that_cannot_be_asked_does_not_end_it(lab):
    examples = (EXAMPLES[0], Example("long", "x" * 300_000, references=("y",)), EXAMPLES[1])
    done = lab.evaluations.wait(lab.begin(dataset=Dataset("d", "D", "uploaded", examples)).id)
    assert (done.state, done.done, done.failed) == ("done", 3, 1)
    failed = lab.evaluations.results(done.id)[1]
    assert (failed.state, failed.run_id) == ("failed", "")
    assert "at most 200,000" in failed.error


def test_nobody_can_be_asked_for_leave_so_nothing_is_sent(lab):
    lab.grader.scores = {}
    done = lab.evaluations.wait(lab.begin(variants=(Variant("asks", RunOptions(web="ask")),)).id)
    assert (done.state, done.failed) == ("done", 0)
    assert lab.web.queries == []
    lab.evaluations.wait(lab.begin(variants=(Variant("searches", RunOptions(web="auto")),)).id)
    assert len(lab.web.queries) == 4


def test_each_answer_is_judged_once_now_or_later(lab):
    with_judge = lab.evaluations.wait(lab.begin(judge="ollama:judge").id)
    assert (with_judge.judgements, sorted(lab.judge.asked)) == (4, [one.question for one in EXAMPLES])
    assert lab.evaluations.results(with_judge.id)[0].judged == Judgement("judge@1", 1.0, "It says fact1.")
    without = lab.evaluations.wait(lab.begin().id)
    assert without.judgements == 0
    asked = lab.opened
    lab.evaluations.judge(without.id, "ollama:judge")
    assert lab.evaluations.wait(without.id).judgements == 4
    assert len(lab.judge.asked) == 8
    assert lab.opened == asked
    lab.evaluations.judge(without.id, "ollama:judge")
    lab.evaluations.wait(without.id)
    assert len(lab.judge.asked) == 8
    lab.judge = ListJudge("judge@2")
    lab.evaluations.judge(without.id, "ollama:other")
    lab.evaluations.wait(without.id)
    assert lab.evaluations.results(without.id)[0].judged.model == "judge@2"


def test_answers_can_be_judged_after_models_or_documents_change(lab):
    done = lab.evaluations.wait(lab.begin().id)
    lab.environment = Environment("Double", "double@2")
    lab.evaluations.judge(done.id, "ollama:judge")
    judged = lab.evaluations.wait(done.id)
    assert (judged.state, judged.judgements, judged.variants) == ("done", 4, done.variants)


def test_a_persons_word_on_an_answer_is_kept_and_taken_back(lab):
    done = lab.evaluations.wait(lab.begin().id)
    result = lab.evaluations.results(done.id)[1]
    for word in (True, False, None):
        lab.evaluations.label(done.id, result, word)
        assert [one.label for one in lab.evaluations.results(done.id)] == [None, word, None, None]


def test_deleting_removes_the_runs_even_while_it_is_running(lab):
    done, begun = lab.evaluations.wait(lab.begin().id), lab.begin(repetitions=6)
    run_id = lab.evaluations.results(done.id)[0].run_id
    wait_until(lambda: lab.evaluations.get(begun.id).done)
    for one in (done, begun):
        lab.evaluations.delete(one.id)
        with pytest.raises(NotFound):
            lab.evaluations.get(one.id)
    with pytest.raises(NotFound):
        Conversations(lab.database).find_by_run(run_id)
    assert lab.evaluations.wait(lab.begin().id).state == "done", "the next one is not kept from its turn"
    assert len(lab.evaluations.list()) == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"dataset": Dataset("d", "D", "uploaded", ())},
        {"variants": ()},
        {"repetitions": 0},
        {"repetitions": 21},
        {"dataset": Dataset("d", "D", "uploaded", EXAMPLES * 2_000), "repetitions": 20},
    ],
)
def test_a_plan_that_cannot_be_is_refused_and_leaves_nothing(lab, changes):
    with pytest.raises(BadRequest):
        lab.begin(**changes)
    assert lab.evaluations.list() == []


def test_it_has_a_name_that_can_be_changed(lab):
    begun = lab.begin(name="Before the change")
    lab.evaluations.rename(begun.id, "  After   the change ")
    assert lab.evaluations.get(begun.id).name == "After the change"
    with pytest.raises(BadRequest, match="needs a name"):
        lab.evaluations.rename(begun.id, " ")
    with pytest.raises(NotFound):
        lab.evaluations.rename("nobody", "x")


def test_cutoffs_are_fitted_only_to_labels_a_person_may_see(lab):
    words = ("fact1", "fact2", "fact7", "fact8")  # of which the answer holds the first two
    halves = [Example(f"half{n}", f"Half {n}?", must_mention=words[1:3]) for n in range(10)]
    thirds = [Example(f"third{n}", f"Third {n}?", must_mention=words[2:]) for n in range(10)]
    done = lab.evaluations.wait(lab.begin(dataset=Dataset("d", "D", "uploaded", (*halves, *thirds)), owner_id="a").id)
    for result in lab.evaluations.results(done.id):
        lab.evaluations.label(done.id, result, result.number < 10)
    fitted = lab.evaluations.for_user("a").cutoffs()
    assert (fitted.judge, fitted.text < Cutoffs().text) == (Cutoffs().judge, True)
    assert lab.evaluations.cutoffs() == fitted
    assert lab.evaluations.for_user("b").cutoffs() == Cutoffs()
