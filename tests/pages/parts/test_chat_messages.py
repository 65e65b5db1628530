"""Messages that arrive together."""

from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates

from pages.parts.chat_messages import join_messages, split_messages


def states(text="", *files, other=0):
    box = WidgetState(id="box")
    if text or files:
        box.chat_input_value.data = text
    else:
        box.chat_input_value.ClearField("data")
    for name in files:
        box.chat_input_value.file_uploader_state.uploaded_file_info.add().name = name
    return WidgetStates(widgets=[box, WidgetState(id="other", int_value=other)])


def joined(*sent):
    merged = None
    for one in sent:
        merged = join_messages(merged, one)
    return {state.id: state for state in merged.widgets}


def test_messages_that_arrive_together_are_all_kept_in_order():
    box = joined(states("First?", "a.md"), states("Second?"), states("Third?", "b.md"))["box"].chat_input_value
    assert split_messages(box.data) == ["First?", "Second?", "Third?"]
    assert [file.name for file in box.file_uploader_state.uploaded_file_info] == ["a.md", "b.md"]


def test_a_single_message_and_other_widgets_are_left_as_they_are():
    found = joined(states("First?", other=1), states(other=2))
    assert split_messages(found["box"].chat_input_value.data) == ["First?"]
    assert found["other"].int_value == 2
    assert split_messages("  ") == []
