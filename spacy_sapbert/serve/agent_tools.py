"""Define the tools by which agents read a vocabulary and link text, by the Model Context Protocol (MCP).

The docstring of a tool is what a language model reads of it.
"""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache, wraps
from pathlib import Path
from typing import Annotated, Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import Field

from .. import __version__
from ..errors import NotFoundError, SapbertError
from ..files.opening import Pieces
from ..kb.code_systems import CodeSystems
from ..kb.ids import canonical_id
from ..kb.knowledge_base import KnowledgeBase
from ..kb.search import search_names
from ..linking.grounding import MOST, ground_record
from ..types import SCORE_DIGITS, Document

_TERMS, _CHARACTERS, _VALUES = 50, 10_000, 100  # of a call, of a text, and of a list in an answer
_SYSTEMS = 8  # lists of code systems that are kept
# what a person who studies the linker needs, and a model does not
_LEFT_OUT = frozenset({"dense", "sparse", "prior", "support", "kb_ents", "snippet", "reasons", "runner_up"})
_INSTRUCTIONS = f"""Ground biomedical terms in a controlled vocabulary, instead of recalling ids from memory.
Vocabulary: {{title}}, {{concepts:,}} concepts. Its types: {{types}}.
A kb_id of NIL means that the vocabulary has no fitting concept: report NIL, and invent no id.
A probability is calibrated: of links with 0.8, about 80 of 100 are right. A score is the similarity of text and name,
at most 1; it is no probability. Answers leave out keys without a value, and list at most {_VALUES} of everything."""

Text = Annotated[str, Field(max_length=_CHARACTERS)]
Term = Annotated[str, Field(min_length=1, max_length=500)]
Terms = Annotated[list[Term], Field(min_length=1, max_length=_TERMS)]


_ESCAPED_HALF = re.compile(rb"\\u[dD][89a-fA-F]")


def make_server(kb: KnowledgeBase, linking: Callable[[], Any], mappings: Sequence[Path] = ()) -> MCPServer:
    """Create the server over a vocabulary. `linking` gives the `LinkingPipeline` to the first tool that needs it.

    Files of mappings give further codes, see `CodeSystems`.
    """
    tools = AgentTools(kb, linking, mappings)
    title = kb.meta.get("catalog", {}).get("title") or ", ".join(kb.source_counts())
    types = ", ".join(list(kb.type_counts())[:_VALUES])
    instructions = _INSTRUCTIONS.format(title=title, concepts=len(kb), types=types or "none")
    server = MCPServer("spacy-sapbert", instructions=instructions, version=__version__, log_level="WARNING")
    hints = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
    for tool in (tools.ground_terms, tools.link_text, tools.search_concepts, tools.get_concept, tools.map_codes):
        server.add_tool(_readable(tool), annotations=hints)
    return server


def mend_input() -> None:
    """Replace halves of surrogate pairs on standard input, since the SDK never answers a request that has one."""

    def mended(line: bytes) -> bytes:
        with suppress(ValueError, RecursionError):
            if _ESCAPED_HALF.search(line):
                return json.dumps(json.loads(line), ensure_ascii=False).encode(errors="replace") + b"\n"
        return line

    sys.stdin = io.TextIOWrapper(io.BufferedReader(Pieces(map(mended, sys.stdin.buffer))), "utf-8", "replace")


def _readable(tool: Callable[..., Any]) -> Callable[..., Any]:
    """Return a tool with short answers and with errors that a model can read. One call runs after the other."""

    @wraps(tool)
    async def run(*arguments: Any, **named: Any) -> dict[str, Any]:
        try:
            brief: dict[str, Any] = _brief(tool(*arguments, **named))
            return brief
        except SapbertError as error:
            raise ToolError(str(error)) from error

    return run


def _brief(value: Any) -> Any:
    value = value._asdict() if hasattr(value, "_asdict") else value
    if isinstance(value, dict):
        brief = {key: _brief(content) for key, content in value.items() if key not in _LEFT_OUT}
        return {key: content for key, content in brief.items() if content is not None and content is not False}
    return list(map(_brief, value[:_VALUES])) if isinstance(value, (list, tuple)) else value


class AgentTools:
    """The tools over a vocabulary and a pipeline."""

    def __init__(self, kb: KnowledgeBase, linking: Callable[[], Any], mappings: Sequence[Path]) -> None:
        self._linking = linking
        self._kb = kb
        self._codes = lru_cache(_SYSTEMS)(lambda systems: CodeSystems(self._kb, systems, mappings))

    def ground_terms(
        self,
        terms: Terms,
        context: Text = "",
        types: list[Term] | None = None,
        candidates: Annotated[int, Field(ge=1, le=MOST)] = 3,
    ) -> dict[str, Any]:
        """Find the concepts that terms mean, such as entities that you extracted. Send all terms of one kind at once.

        Args:
            terms: The terms, as the text writes them.
            context: The text that they come from. It defines abbreviations.
            types: Only concepts of these types of the vocabulary. Give them where you know what the terms are.
            candidates: How many concepts to list of each term.

        Returns:
            For each term, its kb_id: the concept to use; several joined by | for a composite such as "breast and
            ovarian cancer"; or NIL if no concept fits. Its candidates, best first, have a score, a probability and the
            matched name. A candidate with a refusal was rejected: do not use it, unless you can show that it is right.
        """
        records = [ground_record(term, context, types, self._kb) for term in terms]
        return {"terms": [{**record, "candidates": record["candidates"][:candidates]} for record in records]}

    def link_text(self, text: Text) -> dict[str, Any]:
        """Find the mentions of biomedical concepts in a text, and link each to a concept. Send long texts in parts.

        Returns:
            The entities, with their offsets in characters, label, kb_id (NIL: no concept fits; several joined by | for
            a composite mention) and assertion, such as negated, if the pipeline finds it. Each link of an entity has
            the preferred name, types, score, probability and matched name; or the reason why there is none, with the
            rejected candidate. The abbreviations that the text defines are listed, too.
        """
        from ..runs.document_linker import Failure

        (record,) = self._linking().link([Document("", text, position="the text")])
        if isinstance(record, Failure):
            raise ToolError(record.reason)
        return {key: record[key] for key in ("entities", "abbreviations")}

    def search_concepts(self, words: Term, k: Annotated[int, Field(ge=1, le=_VALUES)] = 10) -> dict[str, Any]:
        """Search the vocabulary for concepts with a name that contains all words, in any order. An id works, too.

        To find what a term means, use ground_terms, which also finds similar names.

        Returns:
            The concepts, best first, with the name that matched. The score compares its length with that of the words.
        """
        concepts = search_names(self._kb, words, k)
        labels = self._kb.labels_of([concept_id for concept_id, _, _ in concepts], self._linking().language)
        keys = ("concept_id", "score", "name", "preferred_name", "types")
        rows = [(id, round(score, SCORE_DIGITS), name, *labels[id]) for id, score, name in concepts]
        return {"concepts": [dict(zip(keys, row, strict=True)) for row in rows]}

    def get_concept(self, concept_id: Term) -> dict[str, Any]:
        """Show a concept by its id: names, types, definition, parents, and its ids in other vocabularies as codes."""
        from .page import concept_card

        for primary_id in self._kb.find_id(canonical_id(concept_id)):
            return concept_card(self._kb, primary_id)._asdict()
        remedy = "Find its id by search_concepts or ground_terms."
        raise NotFoundError(what=f"concept {concept_id} in {self._kb.path.name}", remedy=remedy)

    def map_codes(self, concept_ids: Terms, systems: Terms) -> dict[str, Any]:
        """Map concepts to codes of other vocabularies, by cross-references and mappings that were published.

        Args:
            concept_ids: Ids of this vocabulary.
            systems: The other vocabularies, such as ICD10CM, SNOMEDCT, UMLS or MESH.

        Returns:
            The codes of each concept; an empty list if none is known. The predicate is the relation of the code to the
            concept, such as skos:broadMatch for a broader code. It is empty where the source states none.
        """
        primary = {given: self._kb.find_id(canonical_id(given))[:1] for given in concept_ids}
        codes = self._codes(tuple(systems)).of([id for ids in primary.values() for id in ids])
        return {given: [code for id in ids for code in codes[id]] for given, ids in primary.items()}
