"""The documents page drawn by the real services."""

from __future__ import annotations

import io
import threading

import pytest
from reportlab.pdfgen.canvas import Canvas
from sqlalchemy import insert
from streamlit.runtime.scriptrunner import ScriptRunner

from crag.concurrency.processor import PrioritySemaphore
from crag.library.job_queue import JobQueue, UploadSpool, new_job
from crag.storage.tables import sources
from pages.documents import collections, table
from pages.documents.removal import REMOVE_DIALOG
from pages.parts import ingest_jobs, reruns
from pages.parts.document_drawer import DocumentView
from tests.pages.conftest import NOTES, click, labels, restart_application, said, until
from tests.waiting import PATIENCE, wait_until


def test_files_are_added_and_refused_each_with_its_reason(chat, services):
    chat.switch_page("pages/documents/page.py").run()
    assert not chat.exception
    uploader = chat.file_uploader[0]
    uploader.upload("good.md", b"The lift is serviced in March by Otis.")
    uploader.upload("empty.txt", b"")
    chat.run()
    until(chat, lambda: said(chat, "Added 1 document"))
    assert said(chat, "to Documents · 1 refused")
    assert said(chat, "Added: 1 passage")
    assert [source.title for source in services.library.sources()]
    assert len(chat.dataframe[0].value) == 1
    click(chat, "Dismiss all")
    assert services.jobs.jobs() == []


def test_what_was_there_already_is_not_counted_as_added(chat, notes, services):
    services.jobs.submit_bytes("brewing.md", NOTES.encode())
    chat.switch_page("pages/documents/page.py").run()
    until(chat, lambda: said(chat, "Nothing added"))
    assert said(chat, "1 unchanged")


def test_a_renamed_copy_names_what_was_there(chat, notes, services):
    services.jobs.submit_bytes("copy of brewing.md", NOTES.encode())
    chat.switch_page("pages/documents/page.py").run()
    until(chat, lambda: said(chat, "already added as “Brewing notes”"))
    assert len(services.library.sources()) == 1


def test_files_of_one_name_stay_side_by_side_until_removed(chat, notes, services):
    services.jobs.submit_bytes("brewing.md", NOTES.replace("six", "eight").encode())
    chat.switch_page("pages/documents/page.py").run()
    until(chat, lambda: "Remove 1 older document" in labels(chat))  # once the job has ended
    assert said(chat, "An older document with this name was kept")
    assert len(services.library.sources()) == 2
    click(chat, "Remove 1 older document")
    (left,) = services.library.sources()
    assert left.id != notes
    assert "Remove 1 older document" not in labels(chat)


def test_a_folder_lists_what_became_of_each_file(chat, services, tmp_path):
    for name, text in (("a.txt", "The lift is serviced in March."), ("b.txt", "")):
        (tmp_path / name).write_text(text)
    services.jobs.submit_files(tmp_path, {"a.txt": None, "b.txt": None})
    chat.switch_page("pages/documents/page.py").run()
    until(chat, lambda: said(chat, "Added 1 document"))
    assert any("1 refused, 1 added" in expander.label for expander in chat.expander)
    assert said(chat, ":orange[:material/error:]")
    chat.session_state[f"results-{services.jobs.jobs()[0].id}"] = True  # open the list
    chat.run()
    assert said(chat, "a.txt :gray[Added: 1 passage]")
    assert said(chat, "b.txt :red[The file is empty.]")


def test_jobs_that_were_left_go_on_with_the_next_start(chat, services):
    services.jobs.close()
    rows, spool = JobQueue(services.database), UploadSpool(services.library.home / "incoming")
    spool.put("ab", NOTES.encode())
    rows.add(new_job("ab", "upload", "", "brewing.md", "Documents"))
    restart_application()
    chat.switch_page("pages/documents/page.py").run()
    until(chat, lambda: said(chat, "Added 1 document"))
    assert len(chat.dataframe[0].value) == 1


def test_refusals_come_first_and_a_long_list_is_cut(chat, services, monkeypatch):
    monkeypatch.setattr(ingest_jobs, "_JOBS_SHOWN", 2)
    for number in range(3):
        services.jobs.submit_bytes(f"{number}.txt", f"The lift was serviced in {number + 2020}.".encode())
    services.jobs.submit_bytes("empty.txt", b"")
    chat.switch_page("pages/documents/page.py").run()
    until(chat, lambda: said(chat, "Added 3 documents"))
    rows = [item.value for item in chat.markdown if ".txt" in item.value]
    assert len(rows) == 2
    assert "empty" in rows[0]
    assert said(chat, "and 2 more")


def test_the_newest_is_listed_first(chat, services):
    for number in range(3):
        services.jobs.submit_bytes(f"{number}.txt", f"The lift was serviced in {number + 2020}.".encode())
    chat.switch_page("pages/documents/page.py").run()
    until(chat, lambda: said(chat, "Added 3 documents"))
    rows = [item.value for item in chat.markdown if ".txt" in item.value]
    assert ["2" in rows[0], "1" in rows[1], "0" in rows[2]] == [True, True, True]


def test_of_many_documents_the_newest_are_sent_and_all_are_found(chat, notes, services):
    kept = {"kind": "text", "collection": "Documents", "size": 1, "chunker": ""}
    rows = [
        kept | {"id": f"{n}", "title": f"Minutes {n}.", "location": f"{n}.txt", "sha256": f"{n}", "added_at": n}
        for n in range(1_200)
    ]
    with services.database.write() as connection:
        connection.execute(insert(sources), rows)
    chat.run()
    chat.switch_page("pages/documents/page.py").run()
    assert len(chat.dataframe[0].value) == 1_000
    assert said(chat, "The newest 1,000 of 1,201 documents.")
    next(field for field in chat.text_input if field.placeholder == "Find a document").set_value("Minutes 7.").run()
    assert list(chat.dataframe[0].value["Document"]) == ["Minutes 7."]
    assert not said(chat, "The newest")


def test_a_selection_does_not_pass_to_other_documents(chat, notes, services):
    """The table knows what is chosen by its row number, so other documents in the rows need another table."""
    chat.switch_page("pages/documents/page.py").run()
    before = chat.dataframe[0].proto.id
    assert chat.run().dataframe[0].proto.id == before
    services.library.pipeline.add_bytes("minutes.md", b"The board met in May.")
    assert chat.run().dataframe[0].proto.id != before


def test_addresses_are_read_by_line_and_private_ones_refused(chat, services):
    chat.switch_page("pages/documents/page.py").run()
    chat.text_area(key="addresses").set_value("http://127.0.0.1:1/\n\nfile:///etc/passwd")
    click(chat, "Add")
    until(chat, lambda: said(chat, "2 refused"))
    assert {job.result.error.code for job in services.jobs.jobs()} == {"blocked_url"}
    assert services.library.sources() == []


def test_what_a_page_links_to_is_added_where_that_is_ticked(chat, services):
    chat.switch_page("pages/documents/page.py").run()
    chat.text_area(key="addresses").set_value("http://127.0.0.1:1/")
    chat.checkbox(key="with_links").check()
    click(chat, "Add")
    until(chat, lambda: said(chat, "1 refused"))
    assert [job.kind for job in services.jobs.jobs()] == ["site"]
    assert (chat.text_area(key="addresses").value, chat.checkbox(key="with_links").value) == ("", False)


def test_a_document_opens_at_its_beginning(chat, notes, services):
    open_dialog(chat, table.DOCUMENT_DIALOG, DocumentView(notes))
    assert said(chat, "espresso machine")
    assert said(chat, "added ")
    services.library.remove([notes])
    chat.run()
    assert not chat.exception
    assert said(chat, "no longer in the library")


def test_long_names_end_with_an_ellipsis_in_the_table(chat, notes, services):
    collection = "Correspondence with the harbour administration about dredging the north channel"
    title = "Maintenance of boilers and pumps in the cellars of our houses"
    services.library.pipeline.add_bytes(
        "boiler.md", f"# {title}\n\nIt is inspected in March.".encode(), collection=collection
    )
    chat.switch_page("pages/documents/page.py").run()
    drawn = chat.dataframe[0].value
    for column, name in (("Document", title), ("Collection", collection)):
        cut = next(text for text in drawn[column] if text.startswith(name[:10]))
        assert cut.endswith("…")
        assert name.startswith(cut[:-1])


def test_a_long_document_is_turned_part_by_part(chat, services):
    rules = "\n\n".join(f"# {number}\n\n{f'Rule {number} holds for all of us. ' * 40}" for number in range(60))
    added = services.library.pipeline.add_bytes("rules.md", rules.encode())
    parts = services.library.count_parts(services.library.source(added.id))
    assert parts > 1
    open_dialog(chat, table.DOCUMENT_DIALOG, DocumentView(added.id))
    assert said(chat, f"1 of {parts}")
    assert said(chat, "Rule 0 holds")
    click(chat, "Previous part")
    assert said(chat, f"{parts} of {parts}")
    assert said(chat, "Rule 59 holds")
    open_dialog(chat, table.DOCUMENT_DIALOG, DocumentView(added.id))
    assert said(chat, f"1 of {parts}"), "opened again, it begins at its beginning"


def test_the_pages_of_a_document_are_turned_as_picture_and_text(chat, services):
    written = io.BytesIO()
    canvas = Canvas(written)
    for number in range(1, 4):
        canvas.drawString(72, 700, f"On page {number} the lift is serviced.")
        canvas.showPage()
    canvas.save()
    added = services.library.pipeline.add_bytes("lift.pdf", written.getvalue())
    open_dialog(chat, table.DOCUMENT_DIALOG, DocumentView(added.id))
    for number in (1, 2, 3, 1):
        assert not chat.exception
        assert said(chat, f"{number} of 3")
        texts = [item.value for item in chat.markdown if "the lift is serviced" in item.value]
        assert texts == [f"On page {number} the lift is serviced\\."]
        assert [tab.label for tab in chat.tabs] == ["Page", "Text"]
        click(chat, "Next page")


def test_removing_asks_first(chat, notes, services):
    chat.switch_page("pages/documents/page.py").run()
    chat.session_state["dialog"] = (REMOVE_DIALOG, [notes])
    chat.run()
    assert said(chat, "The passages are removed too")
    assert len(services.library.sources()) == 1
    chat.button(key="remove-confirmed").click().run()
    assert services.library.sources() == []
    assert [toast.value for toast in chat.toast] == ["Removed. You can undo it below the list."]
    assert not chat.exception


def test_a_removal_can_be_undone_after_a_reload_until_it_is_final(chat, notes, services):
    board = services.library.pipeline.add_bytes("minutes.md", b"The board met in May.").id
    before = services.library.sources()
    services.remove_documents([notes, board])
    chat.switch_page("pages/documents/page.py").run()
    assert said(chat, "Removed **2 documents**")
    assert said(chat, "It will be deleted for good at")
    click(chat, "Undo")
    assert services.library.sources() == before
    assert "Undo" not in labels(chat)
    services.remove_documents([notes])
    chat.run()
    assert said(chat, "Removed **Brewing notes**")
    services.library.purge_removed()
    click(chat, "Undo")
    assert any("The removal is final" in toast.value for toast in chat.toast)
    assert [source.id for source in services.library.sources()] == [board]
    assert "Undo" not in labels(chat)


def test_collections_narrow_the_table(chat, notes, services):
    services.library.pipeline.add_bytes("minutes.md", b"The board met in May.", collection="Board")
    chat.switch_page("pages/documents/page.py").run()
    assert len(chat.dataframe[0].value) == 2
    chat.button(key="collection-Board").click().run()
    assert len(chat.dataframe[0].value) == 1
    assert "**Board**" in labels(chat)


def test_a_new_collection_with_an_impossible_name_is_refused(chat, services):
    chat.switch_page("pages/documents/page.py").run()
    next(button for button in chat.button if button.label == "New collection").click()
    chat.run()
    click(chat, "Create")
    assert said(chat, ":red[")


def test_refreshing_says_what_became_of_it(chat, notes):
    chat.switch_page("pages/documents/page.py").run()
    click(chat, "Refresh all")
    assert said(chat, "1 document refreshed: 1 unchanged.")


def test_a_refresh_lets_other_sessions_draw(chat, notes, services, monkeypatch):
    drawing, drew = PrioritySemaphore(permits=1), threading.Event()
    monkeypatch.setattr(reruns, "drawing_turns", drawing)
    monkeypatch.setattr(ScriptRunner, "_run_script", reruns._run_in_turn)
    refresh = services.library.pipeline.refresh

    def draw():
        with drawing.hold(0, 10 * PATIENCE):
            drew.set()

    def refresh_while_another_draws(*given, **options):
        threading.Thread(target=draw).start()
        assert drew.wait(PATIENCE)
        return refresh(*given, **options)

    monkeypatch.setattr(services.library.pipeline, "refresh", refresh_while_another_draws)
    open_dialog(chat, table.REFRESH_DIALOG, None)
    assert not chat.exception
    assert drew.is_set()


def open_dialog(chat, name, about):
    chat.switch_page("pages/documents/page.py").run()
    chat.session_state["dialog"] = (name, about)
    chat.run()


def type_name(chat, name):
    next(field for field in chat.text_input if field.label == "Name").set_value(name)


def test_a_document_is_renamed_and_that_undone(chat, notes, services):
    open_dialog(chat, table.RENAME_DIALOG, [notes])
    assert said(chat, "The file keeps its name: brewing.md")
    next(field for field in chat.text_input if field.label == "Title").set_value("Coffee")
    click(chat, "Rename")
    assert services.library.source(notes).title == "Coffee"
    assert list(chat.dataframe[0].value["Document"]) == ["Coffee"]
    assert said(chat, "Renamed **Brewing notes** to **Coffee**.")
    click(chat, "Undo")
    assert services.library.source(notes).title == "Brewing notes"
    assert not said(chat, "Renamed")


@pytest.mark.parametrize("change", ["rename", "remove"])
def test_a_rename_is_not_undone_after_another_change(chat, notes, services, change):
    open_dialog(chat, table.RENAME_DIALOG, [notes])
    next(field for field in chat.text_input if field.label == "Title").set_value("Coffee")
    click(chat, "Rename")
    services.library.rename(notes, "Tea") if change == "rename" else services.library.remove([notes])
    chat.run()
    assert not said(chat, "Renamed")


def test_a_collection_is_renamed_and_conversations_follow(chat, notes, services):
    services.library.move([notes], "Kitchen")
    conversation = services.conversations.create({"collection": "Kitchen"})
    open_dialog(chat, collections.RENAME_DIALOG, "Kitchen")
    type_name(chat, "Tea kitchen")
    click(chat, "Rename")
    assert "**Tea kitchen**" in labels(chat)
    assert len(chat.dataframe[0].value) == 1
    assert services.conversations.get(conversation.id).changes["collection"] == "Tea kitchen"


def test_deleting_a_collection_says_what_goes(chat, notes, services):
    services.library.move([notes], "Kitchen")
    open_dialog(chat, collections.DELETE_DIALOG, "Kitchen")
    assert said(chat, "and its 1 document will be deleted")
    click(chat, "Delete")
    assert services.library.sources() == []
    assert not any("Kitchen" in label for label in labels(chat))
    click(chat, "Undo")
    assert [source.collection for source in services.library.sources()] == ["Kitchen"]
    assert "Kitchen" in labels(chat)


def test_documents_are_moved_and_a_second_copy_is_said(chat, notes, services):
    services.library.pipeline.add_bytes("again.md", NOTES.encode(), collection="Kitchen")
    open_dialog(chat, table.MOVE_DIALOG, [notes])
    [box for box in chat.selectbox if box.label == "Collection"][-1].set_value("Kitchen")
    click(chat, "Move")
    assert said(chat, "was already there, so only one copy is kept")
    assert [source.collection for source in services.library.sources()] == ["Kitchen"]
    click(chat, "Close")


def test_a_conversation_kept_to_a_deleted_collection_says_so(chat, notes, services):
    conversation = services.conversations.create({"collection": "Gone"})
    chat.query_params["c"] = conversation.id
    chat.run()
    assert "Gone (deleted)" in labels(chat)


def test_a_new_collection_is_chosen_at_once(chat, services):
    open_dialog(chat, collections.NEW_DIALOG, None)
    type_name(chat, "Papers")
    click(chat, "Create")
    assert "**Papers**" in labels(chat)


def test_a_collection_is_handed_over_and_taken_in(chat, notes, services):
    chat.switch_page("pages/documents/page.py").run()
    click(chat, "Export")
    assert said(chat, "All collections")
    assert [download.label for download in chat.get("download_button")] == ["Download"]
    lines = services.exchange.export_bytes("jsonl")
    services.library.remove([notes])
    chat.session_state["dialog"] = ("import", "")
    chat.run()
    chat.file_uploader(key="import-file").upload("taken.jsonl", lines)
    chat.run()
    assert not chat.exception
    assert said(chat, "1 document: 1 added.")
    assert [source.title for source in services.library.sources()] == ["Brewing notes"]


def test_an_import_that_is_refused_says_why(chat, services):
    chat.switch_page("pages/documents/page.py").run()
    chat.session_state["dialog"] = ("import", "")
    chat.run()
    chat.file_uploader(key="import-file").upload("bad.jsonl", b"{")
    chat.run()
    assert said(chat, "Line 1 is not JSON")
    assert services.library.sources() == []


def test_the_place_of_the_reasons_is_named_where_files_are_added(chat, services):
    services.jobs.submit_bytes("tea.md", b"# Tea\n\nBlack tea is steeped for four minutes.")
    wait_until(lambda: not services.jobs.active)
    chat.switch_page("pages/documents/page.py").run()
    assert not said(chat, "below the table")
    services.jobs.submit_bytes("empty.md", b"")
    wait_until(lambda: not services.jobs.active)
    chat.run()
    assert said(chat, "Not everything was added. The reasons are below the table.")
