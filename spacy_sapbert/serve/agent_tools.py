"""Define the tools by which agents read a vocabulary and link text, by the Model Context Protocol (MCP).

The docstring of a tool is what a language model reads of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, wraps
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import Field

from .. import __version__
from ..errors import NotFoundError, SapbertError
from ..kb.code_systems import CodeSystems
from ..kb.ids import canonical_id
from ..kb.search import find_concepts
from ..linking.grounding import MOST, ground_record
from ..runs.document_linker import Failure, LoadedLinker, TookTooLong, linked_record, time_limit
from ..types import SCORE_DIGITS, Document

_SECONDS = 30.0  # for a call
_TERMS, _CHARACTERS = 50, 10_000  # of a call
_ENTITIES, _TYPES, _VALUES = 100, 30, 50  # of an answer: entities, and types, names, ids or codes of a concept
_SYSTEMS = 8  # lists of code systems that are kept
# what a person who studies the linker needs, and a model does not
_LEFT_OUT = frozenset({"dense", "sparse", "prior", "support", "kb_ents", "snippet", "reasons", "runner_up"})
_INSTRUCTIONS = """Ground biomedical terms in a controlled vocabulary, instead of recalling ids from memory.
Vocabulary: {title}, {concepts:,} concepts. Types, with their numbers of concepts: {types}.
A kb_id of NIL means that the vocabulary has no fitting concept: report NIL, and invent no id.
A probability is calibrated: of links with 0.8, about 80 of 100 are right. A score is the similarity of text and name,
at most 1; it is no probability. Keys without a value are left out of answers. Long lists are cut."""

Text = Annotated[str, Field(max_length=_CHARACTERS)]
Term = Annotated[str, Field(min_length=1, max_length=500)]
Terms = Annotated[list[Term], Field(min_length=1, max_length=_TERMS)]


def make_server(load: Callable[[], LoadedLinker], mappings: Sequence[Path] = ()) -> MCPServer:
    """Create the server.

    Args:
        load: Loads the pipeline, here and after a call that took too long.
        mappings: Files of mappings that give further codes, see `CodeSystems`.
    """
    tools = AgentTools(load, mappings)
    kb = tools.kb
    title = kb.meta.get("catalog", {}).get("title") or ", ".join(kb.source_counts())
    types = sorted(kb.type_counts().items(), key=lambda item: -item[1])
    shown = ", ".join(f"{name} ({count:,})" for name, count in types[:_TYPES]) or "none"
    instructions = _INSTRUCTIONS.format(title=title, concepts=len(kb), types=shown)
    server = MCPServer("spacy-sapbert", instructions=instructions, version=__version__, log_level="WARNING")
    hints = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
    for tool in (tools.ground_terms, tools.link_text, tools.search_concepts, tools.get_concept, tools.map_codes):
        server.add_tool(tools.bounded(tool), annotations=hints)
    return server


class AgentTools:
    """The tools over a pipeline. One call runs after the other."""

    def __init__(self, load: Callable[[], LoadedLinker], mappings: Sequence[Path]) -> None:
        self._load = load
        self._loaded: LoadedLinker | None = load()
        self.kb = self._loaded.kb
        self._language = self._loaded.language
        self._codes = lru_cache(_SYSTEMS)(lambda systems: CodeSystems(self.kb, systems, mappings))

    def bounded(self, tool: Callable[..., Any]) -> Callable[..., Any]:
        """Return a tool that ends in time, and whose errors a model can read. It runs in the main thread."""

        @wraps(tool)
        async def run(*arguments: Any, **named: Any) -> dict[str, Any]:
            try:
                with time_limit(_SECONDS):
                    brief: dict[str, Any] = _brief(tool(*arguments, **named))
                    return brief
            except SapbertError as error:
                raise ToolError(str(error)) from error
            except TookTooLong:
                self._loaded = None  # a component may have stopped in the middle of a change
                raise ToolError(f"It took longer than {_SECONDS:g} seconds. Send less at once.") from None

        return run

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
        records = [ground_record(term, context, types=types, kb=self.kb) for term in terms]
        return {"terms": [{**record, "candidates": record["candidates"][:candidates]} for record in records]}

    def link_text(self, text: Text) -> dict[str, Any]:
        """Find the mentions of biomedical concepts in a text, and link each to a concept.

        Returns:
            The entities, with their offsets in characters, label, kb_id (NIL: no concept fits; several joined by | for
            a composite mention) and assertion, such as negated, if the pipeline finds it. Each link of an entity has
            the preferred name, types, score, probability and matched name; or the reason why there is none, with the
            rejected candidate. The abbreviations that the text defines are listed, too. If entities are left out, their
            number is given: send the rest of the text again.
        """
        self._loaded = self._loaded or self._load()
        (record,) = self._loaded.link([Document("", text, position="the text")], linked_record)
        if isinstance(record, Failure):
            raise ToolError(record.reason)
        shown, more = record["entities"][:_ENTITIES], len(record["entities"]) - _ENTITIES
        return {"entities": shown, "entities_left_out": max(more, 0), "abbreviations": record["abbreviations"]}

    def search_concepts(self, words: Term, k: Annotated[int, Field(ge=1, le=_TERMS)] = 10) -> dict[str, Any]:
        """Search the vocabulary for concepts with a name that contains all words, in any order. An id works, too.

        Use it to browse the vocabulary. To find what a term means, use ground_terms, which also finds similar names.

        Returns:
            The concepts, best first, with the name that matched. The score compares its length with that of the words.
        """
        found = find_concepts(self.kb, words, k)
        labels = self.kb.labels_of([concept_id for concept_id, _, _ in found], self._language)
        return {
            "concepts": [
                {
                    "concept_id": concept_id,
                    "score": score and round(score, SCORE_DIGITS),
                    "name": name,
                    "preferred_name": labels[concept_id].preferred,
                    "types": labels[concept_id].types,
                }
                for concept_id, score, name in found
            ]
        }

    def get_concept(self, concept_id: Term) -> dict[str, Any]:
        """Show a concept: its names, types, definition, parents with their names, and ids in other vocabularies.

        Args:
            concept_id: Its id, or an alternative id.
        """
        for primary_id in self.kb.find_id(canonical_id(concept_id)):
            concept = self.kb.get(primary_id)
            if concept:
                parents = self.kb.labels_of(concept.parents)
                broader = {parent: label.preferred for parent, label in parents.items()}
                lists = {"aliases": concept.aliases, "alternative_ids": concept.alternative_ids}
                lists["xrefs"] = self.kb.xrefs(primary_id)
                first = {key: values[:_VALUES] for key, values in lists.items()}
                return {**concept._asdict(), **first, "parents": broader}
        remedy = "Find its id by search_concepts or ground_terms."
        raise NotFoundError(what=f"concept {concept_id} in {self.kb.path.name}", remedy=remedy)

    def map_codes(self, concept_ids: Terms, systems: Terms) -> dict[str, Any]:
        """Map concepts to codes of other vocabularies, by cross-references and mappings that were published.

        Args:
            concept_ids: Ids of this vocabulary.
            systems: The other vocabularies, such as ICD10CM, SNOMEDCT, UMLS or MESH.

        Returns:
            The codes of each concept; an empty list if none is known. The predicate is the relation of the code to the
            concept, such as skos:broadMatch for a broader code, where its source states it.
        """
        primary = {given: list(islice(self.kb.find_id(canonical_id(given)), 1)) for given in concept_ids}
        codes = self._codes(tuple(systems)).of([id for ids in primary.values() for id in ids])
        rows = {given: [code._asdict() for id in ids for code in codes[id][:_VALUES]] for given, ids in primary.items()}
        return {"codes": rows}


def _brief(value: Any) -> Any:
    """Return JSON values without those that say nothing or that a model does not need."""
    if isinstance(value, dict):
        brief = {key: _brief(content) for key, content in value.items() if key not in _LEFT_OUT}
        return {
            key: content
            for key, content in brief.items()
            if content is not None and content is not False and content != ""
        }
    return list(map(_brief, value)) if isinstance(value, (list, tuple)) else value
