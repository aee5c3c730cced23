"""Tools for agents: the protocol is spoken by the client of its own SDK."""

import io
import json
import sys

import anyio
import pytest

from spacy_sapbert.runs.document_linker import LinkingPipeline, LinkSettings

mcp = pytest.importorskip("mcp")
from spacy_sapbert.serve import agent_tools  # noqa: E402


@pytest.fixture(scope="module")
def server(web_nlp):
    linking = LinkingPipeline(LinkSettings(web_nlp))
    return agent_tools.make_server(linking.kb, lambda: linking)


@pytest.fixture
def call(server):
    """A function that calls a tool. RETURNS: the answer, or the message of an error."""

    async def run(tool, arguments):
        async with mcp.Client(server) as client:
            result = await client.call_tool(tool, arguments)
            return result.content[0].text if result.is_error else result.structured_content

    return lambda tool, **arguments: anyio.run(run, tool, arguments)


def test_terms_are_grounded_or_nil(call):
    terms = ["Breast Cancer", "breast and ovarian cancer", "zzzzz qqqq"]
    answer = call("ground_terms", terms=terms, candidates=2)["terms"]
    assert [term["text"] for term in answer] == terms
    assert [term["kb_id"] for term in answer] == ["D001943", "D001943|D010051", "NIL"]
    assert [candidate["concept_id"] for candidate in answer[1]["candidates"]] == ["D001943", "D010051"]
    best = answer[0]["candidates"][0]
    assert best["preferred_name"] == "Breast Neoplasms"
    assert best["score"] == 1
    assert 0.5 < best["probability"] <= 1
    assert "dense" not in best
    assert "refusal" not in best
    assert answer[2]["candidates"][0]["refusal"]


def test_context_and_types_decide(call):
    context = "quick queries (QQ)"
    (term,) = call("ground_terms", terms=["QQ"], context=context, types=["Disease"])["terms"]
    assert "quick queries" in term["candidates"][0]["rewrite"]


def test_a_text_has_the_entities_of_its_record(call, linking):
    answer = call("link_text", text="Breast and ovarian cancer. Cystic fibrosis (CF); zebra.".lower())
    assert {entity["text"]: entity["kb_id"] for entity in answer["entities"]}["zebra"] == "NIL"
    assert [short["long_form"] for short in answer["abbreviations"]] == ["cystic fibrosis"]
    assert answer["entities"][0]["links"][0]["preferred_name"] == "Breast Neoplasms"


def test_the_vocabulary_can_be_read(call):
    by_word, by_id = (
        call("search_concepts", words=words)["concepts"] for words in ("NEOPLASMS breast", "MESH:D001943")
    )
    assert by_word[0]["preferred_name"] == by_id[0]["preferred_name"] == "Breast Neoplasms"
    concept = call("get_concept", concept_id="MESH:D001943")
    assert concept["name"] == "Breast Neoplasms"
    assert "breast cancer" in concept["synonyms"]
    assert "OMIM:114480" in [code["id"] for code in concept["codes"]]


def test_answers_are_bounded(call):
    assert len(call("link_text", text="cold " * 109)["entities"]) == 100


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        ("ground_terms", {"terms": ["asthma"], "types": ["Metal"]}, "Choose one of: "),
        ("ground_terms", {"terms": ["asthma"] * 51}, "at most 50"),
        ("ground_terms", {"terms": ["asthma"], "candidates": 99}, "less than or equal to 10"),
        ("link_text", {"text": "x" * 10_001}, "at most 10000 characters"),
        ("link_text", {"text": "explode"}, "the pipeline fails on it"),
        ("link_text", {"text": " "}, "the text is empty"),
        ("get_concept", {"concept_id": "D99"}, "There is no concept D99"),
        ("map_codes", {"concept_ids": ["D001943"], "systems": ["ICD10CM"]}, "Check the name"),
        ("map_codes", {"concept_ids": ["D001943"], "systems": [" "]}, "Name one, such as ICD10CM"),
    ],
)
def test_an_error_says_what_to_do(call, tool, arguments, message):
    assert message in call(tool, **arguments)


def test_only_the_protocol_is_on_standard_output(small_kb, tmp_path):
    """The command serves a knowledge base file to the client of the SDK, over pipes."""
    mapping = tmp_path / "codes.tsv"
    mapping.write_text("D001943\tICD10CM:C50\n")
    arguments = ["-m", "spacy_sapbert", "mcp", str(small_kb.path), "--mapping", str(mapping)]
    server = mcp.StdioServerParameters(command=sys.executable, args=arguments, cwd=tmp_path)

    async def run():
        async with mcp.stdio_client(server) as streams, mcp.ClientSession(*streams) as client:
            started = await client.initialize()
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            codes = await client.call_tool("map_codes", {"concept_ids": ["D001943", "D99"], "systems": ["ICD10CM"]})
            linked = await client.call_tool("link_text", {"text": "She has breast cancer."})
            return started.instructions, tools, json.loads(codes.content[0].text), linked.structured_content

    instructions, tools, codes, linked = anyio.run(run)
    assert f"{len(small_kb):,} concepts" in instructions
    assert len(tools) == 5
    assert all(tool.annotations.read_only_hint and "NIL" in instructions for tool in tools.values())
    assert codes["D99"] == []
    assert codes["D001943"][0]["code"] == "ICD10CM:C50"
    assert linked["entities"][0]["kb_id"] == "D001943"


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        (r'{"a": "x \ud83d", "b": ["\ud83d\ude00"]}', '{"a": "x ?", "b": ["\U0001f600"]}'),
        (r'{"a": "\uDE00\\ud83d"}', r'{"a": "?\\ud83d"}'),
        (r'{"a": "é \u00e9"}', r'{"a": "é \u00e9"}'),
        (r'{"a": "\ud83d', r'{"a": "\ud83d'),
    ],
)
def test_halves_of_surrogate_pairs_reach_the_server_as_question_marks(monkeypatch, sent, read):
    """The SDK never answers a request that has one."""
    given = io.TextIOWrapper(io.BytesIO(f"{sent}\n".encode() * 2), "utf-8")
    monkeypatch.setattr("sys.stdin", given)
    agent_tools.mend_input()
    assert [line.rstrip("\n") for line in sys.stdin] == [read] * 2


def test_a_client_does_not_wait_for_the_pipeline(small_kb):
    server = agent_tools.make_server(small_kb, None)
    assert f"{len(small_kb):,} concepts" in server.instructions
