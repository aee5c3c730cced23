"""Find new names in tables of links: linked texts that are not yet names of their concept.

The result is that of `spacy-sapbert discover`, without running the pipeline again. DuckDB counts the texts, and only
those that can be written become objects of Python. A table does not say which short forms a document explains, so such
a short form counts as a text like others.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from ..kb.knowledge_base import KnowledgeBase
from ..kb.new_names import Discovery, LinkedOccurrence, NewName, table_lines
from ..text.words import word_keys

if TYPE_CHECKING:
    from .corpus_statistics import CorpusSettings, Database, LinkFiles

UNKNOWN = "of_unknown_concepts"
KINDS = ("known_names", "without_words", "occurrences", UNKNOWN)
"""The kinds of linked occurrences that are counted; see `Discovery`."""

# The first occurrence of a text is that of the first document by id.
_TEXTS = """
CREATE TABLE texts AS
SELECT linked_text, concept_id, count(*) AS n,
    min({'doc_id': doc_id, 'passage': passage, 'start': start, 'matched_name': matched_name, 'score': score,
         'written': written}) AS first
FROM raw WHERE kept AND linked_text IS NOT NULL AND matched_name IS NOT NULL AND score IS NOT NULL GROUP BY ALL
"""

_COUNTS = """
SELECT k.kind, sum(t.n)::BIGINT FROM texts t JOIN kinds k USING (linked_text, concept_id) GROUP BY k.kind
"""

_KINDS = "CREATE TABLE kinds (linked_text VARCHAR, concept_id VARCHAR, kind VARCHAR, words VARCHAR)"

# Texts with the same words are one name, and a document with several of them counts once.
_NAMES = """
CREATE TABLE names AS
SELECT k.words, k.concept_id, count(DISTINCT r.doc_id) AS documents
FROM raw r JOIN kinds k USING (linked_text, concept_id)
WHERE r.kept AND r.matched_name IS NOT NULL AND r.score IS NOT NULL AND k.kind = 'occurrences' GROUP BY ALL
"""

_FREQUENT = """
SELECT n.words, n.concept_id, n.documents, t.linked_text, n.concept_id, t.n, t.first.doc_id, t.first.matched_name,
    t.first.score, t.first.written
FROM names n JOIN kinds k USING (words, concept_id) JOIN texts t USING (linked_text, concept_id)
WHERE n.documents >= $least AND k.kind = 'occurrences' ORDER BY n.words, n.concept_id, t.first.doc_id, t.linked_text
"""

_WANTED = "CREATE TABLE wanted (name BIGINT, linked_text VARCHAR, concept_id VARCHAR)"

_EXAMPLES = """
INSERT INTO examples
SELECT w.name, min(b.snippet)
FROM batches b JOIN texts t ON t.linked_text = b.linked_text AND t.concept_id = b.concept_id
    AND t.first.doc_id = coalesce(b.doc_id, '') AND t.first.passage = coalesce(b.passage, 0) AND t.first.start = b.start
JOIN wanted w ON w.linked_text = t.linked_text AND w.concept_id = t.concept_id
WHERE b.snippet IS NOT NULL GROUP BY w.name
"""


class _Text(NamedTuple):
    documents: int  # with any text of the same name
    text: str
    concept_id: str
    n: int
    doc_id: str
    matched_name: str
    score: float
    written: str

    def counted(self) -> tuple[str, LinkedOccurrence, int]:
        """Return its first document, its first occurrence, and their number. The example is the text itself."""
        seen = LinkedOccurrence(self.text, self.concept_id, self.matched_name, self.score, self.text, self.written)
        return self.doc_id, seen, self.n


def find_new_names(
    database: Database, files: LinkFiles, kb: KnowledgeBase, settings: CorpusSettings
) -> tuple[list[str], dict[str, int]]:
    """Find new names in the links that the database holds.

    Args:
        database: The database with the table `raw`.
        files: The files with the texts around the mentions.
        kb: The knowledge base.
        settings: `min_documents` and `limit` decide which names are written.

    Returns:
        The lines of the table of new names, and counts of linked occurrences by kind, as `discover` shows them.
    """
    discovery = Discovery(kb)
    database.run(_TEXTS)
    database.run(_KINDS)
    _sort_by_kind(database, kb, discovery)
    counts = dict.fromkeys(KINDS, 0) | dict(database.run(_COUNTS))
    database.run(_NAMES)
    for _, group in groupby(database.rows(_FREQUENT, least=settings.min_documents), key=itemgetter(0, 1)):
        texts = [_Text(*row[2:]) for row in group]
        discovery.add_counted([text.counted() for text in texts], texts[0].documents)
    found = discovery.ranked(settings.min_documents)
    shown = found[: settings.limit]
    candidates = database.one("SELECT count(*) FROM names")
    left = {"in_too_few_documents": candidates - len(found), "written": len(shown)}
    return list(table_lines(_with_examples(shown, database, files), kb)), counts | {"candidates": candidates} | left


def _sort_by_kind(database: Database, kb: KnowledgeBase, discovery: Discovery) -> None:
    """Write the kind and the words of each text, a few thousand at a time."""

    def sorted_texts() -> Iterator[tuple[str, str, str, str]]:
        known = lru_cache(maxsize=1 << 17)(lambda concept_id: bool(kb.ids(concept_id)))
        for text, concept_id in database.rows("SELECT linked_text, concept_id FROM texts"):
            kind = discovery.kind(LinkedOccurrence(text, concept_id, "", 0.0)) if known(concept_id) else UNKNOWN
            yield text, concept_id, kind, " ".join(word_keys(text))

    columns = dict.fromkeys(("linked_text", "concept_id", "kind", "words"), "string")
    database.insert_rows("INSERT INTO kinds SELECT * FROM batches", columns, sorted_texts())


def _with_examples(names: list[NewName], database: Database, files: LinkFiles) -> list[NewName]:
    """Read the files again for the text around the first occurrence of each name.

    Until then, the example of a name is the linked text itself.
    """
    if not names:
        return []
    wanted = ((number, new.example, new.concept_id) for number, new in enumerate(names))
    database.run(_WANTED)
    database.run("CREATE TABLE examples (name BIGINT, snippet VARCHAR)")
    columns = {"name": "int64", "linked_text": "string", "concept_id": "string"}
    database.insert_rows("INSERT INTO wanted SELECT * FROM batches", columns, wanted)
    database.insert(_EXAMPLES, *files.batches(("doc_id", "passage", "start", "linked_text", "concept_id", "snippet")))
    snippets = dict(database.run("SELECT name, snippet FROM examples"))
    return [new._replace(example=snippets.get(number, "")) for number, new in enumerate(names)]
