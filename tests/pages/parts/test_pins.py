"""Pinning an answer or a passage from the chat, and undoing it."""

from pages.chat import answer_actions
from tests.pages.conftest import QUESTION, ask, click, labels, last_run, said


def open_dialog(app, run_id):
    """As the menu under the answer does, which the test runner cannot open; that it offers this is seen."""
    menu = next(menu for menu in app.get("menu_button") if menu.label == "More")
    assert answer_actions.PIN_CHOICE in menu.proto.options
    app.session_state["dialog"] = (answer_actions.PIN_DIALOG, run_id)
    app.run()


def test_an_answer_is_pinned_with_an_edited_reference(asked, services):
    open_dialog(asked, last_run(services))
    assert said(asked, QUESTION)
    box = next(area for area in asked.text_area if area.label == "Right answer")
    assert "every six weeks" in box.value
    assert "[1]" not in box.value
    box.set_value("every six weeks")
    click(asked, "Pin")
    (example,) = services.datasets.pinned().examples
    assert (example.question, example.references) == (QUESTION, ("every six weeks",))
    assert said(asked, "Pinned as a test question")
    click(asked, "Change")
    assert next(area for area in asked.text_area if area.label == "Right answer").value == "every six weeks"
    click(asked, "Unpin")
    assert services.datasets.pinned().examples == ()
    assert not said(asked, "Pinned as a test question")


def test_an_answer_that_helped_can_be_pinned_beside_the_thumb(asked, services):
    assert "Pin as a test question" not in labels(asked)
    services.conversations.give_feedback(last_run(services), helpful=True)
    click(asked.run(), "Pin as a test question")
    click(asked, "Pin")
    assert len(services.datasets.pinned().examples) == 1


def test_a_refusal_is_pinned_as_what_cannot_be_answered(chat, services, notes):
    chat.run()
    ask(chat, "Who won the 2024 NBA finals?")
    open_dialog(chat, last_run(services))
    assert next(area for area in chat.text_area if area.label == "Right answer").value == ""
    assert said(chat, "Leave it empty if declining to answer is right.")
    click(chat, "Pin")
    (example,) = services.datasets.pinned().examples
    assert (example.answerable, example.references) == (False, ())


def test_a_passage_pinned_in_the_drawer_shows_in_inspect(asked, services):
    run_id = last_run(services)
    click(asked, next(button.label for button in asked.button if button.key == f"source-{run_id}-1"))
    (switch,) = [toggle for toggle in asked.toggle if toggle.label == "Pin as expected passage"]
    assert switch.value is False
    switch.set_value(True).run()
    (example,) = services.datasets.pinned().examples
    assert "every six weeks" in example.phrases[0]
    del asked.session_state["source"]
    asked.query_params["run"] = run_id
    asked.switch_page("pages/inspect/page.py").run()
    table = asked.dataframe[0].value
    assert table["Passage"][0].startswith("pinned · ")
    assert ":material/close: Unpin" in list(table["Actions"][0])
    services.datasets.pins.unpin_passage(run_id, next(iter(services.datasets.pins.get_pins(run_id).passages)))
    assert not asked.run().dataframe[0].value["Passage"][0].startswith("pinned")
