"""SQL out of what a language model replies, and what it is told of a refused query."""

import pytest

from crag.cancellation import Cancellation
from crag.models.query_writer import ModelQueryWriter
from tests.doubles.scripted_model import ScriptedModel

SELECT = "SELECT robot FROM table_1"


@pytest.mark.parametrize(
    "reply",
    [
        SELECT,
        f"{SELECT};",
        f"```sql\n{SELECT}\n```",
        f"Here is the query:\n```\n{SELECT};\n```\nIt lists them.",
        f"<think>Which table? SELECT nothing yet.</think>{SELECT}",
        f"The query is {SELECT}",
    ],
)
def test_the_statement_is_taken_out_of_the_reply(reply):
    assert ModelQueryWriter(ScriptedModel(lambda _: reply)).write_query("Which?", "robot", Cancellation()) == SELECT


def test_the_reason_of_a_refusal_is_part_of_the_next_prompt():
    model = ScriptedModel(lambda _: SELECT)
    ModelQueryWriter(model).write_query("Which?", "robot", Cancellation(), refused="DROP x", reason="It is no SELECT.")
    (prompts,) = model.asked
    assert "This query failed: DROP x\nReason: It is no SELECT." in prompts[-1].text
