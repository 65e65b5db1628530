"""An agent of LangGraph that answers from the documents with the tools of the server."""

from __future__ import annotations

import pytest
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.tools import StructuredTool
from langgraph.prebuilt import create_react_agent
from mcp.client import Client

from tests.mcp.test_server import QUESTION, application, serve

__all__ = ["application"]


class ScriptedModel(GenericFakeChatModel):
    """A model that says what it is told to, whatever tools it is given."""

    def bind_tools(self, tools, **_):
        self.metadata = {"tools": [tool.name for tool in tools]}
        return self


async def load_tools(client):
    """The tools of the server as LangChain knows them."""

    def call(name):
        async def run(**arguments):
            return (await client.call_tool(name, arguments)).content[0].text

        return run

    listed = (await client.list_tools()).tools
    return [
        StructuredTool(
            name=tool.name, description=tool.description, args_schema=tool.input_schema, coroutine=call(tool.name)
        )
        for tool in listed
    ]


@pytest.mark.anyio
@pytest.mark.filterwarnings("ignore:create_react_agent has been moved")
async def test_an_agent_answers_from_the_documents(application):
    call = {"name": "ask", "args": QUESTION, "id": "1", "type": "tool_call"}
    model = ScriptedModel(messages=iter([AIMessage("", tool_calls=[call]), AIMessage("It was built in 1931.")]))
    async with Client(serve(application)) as client:
        agent = create_react_agent(model, await load_tools(client))
        reply = await agent.ainvoke({"messages": [("user", "How old is the lighthouse?")]})
    _, _, told, said = reply["messages"]
    assert set(model.metadata["tools"]) >= {"ask", "search", "list_documents", "read_passage"}
    assert '"outcome": "quoted"' in told.content
    assert "1931" in told.content
    assert said.content == "It was built in 1931."
