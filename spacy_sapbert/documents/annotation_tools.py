"""Read and write the JSON of annotation tools: Label Studio, Prodigy, PubAnnotation and Doccano.

Their offsets count characters. What is written has the id of the document as "doc_id", in PubAnnotation as "sourceid".
Ids of concepts are CURIEs, also those of MeSH and UMLS. Where a tool has no field for them, or for the pieces of a
discontinuous mention, they stand in fields that the tool keeps and gives back.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from operator import index
from typing import Any

from ..errors import OtherFormatError
from ..files.opening import read_whole
from ..files.source import BrokenRecord
from ..files.values import check_writable, parse_json
from ..kb.ids import canonical_id, curie_of, decode_id, encode_id, prefixes, split_ids
from ..types import Document, Mention
from .bioc import ID_INFONS, json_values
from .source import UNTYPED, DocumentSource, demanded
from .text_files import ID, TEXT, value_document

Values = dict[str, Any]
Names = Mapping[str, str]
"""The preferred names of concepts by id, for people who see the annotations."""

_DOC_ID, _KB_ID, _OFFSETS, _LABEL, _CONCEPT = "doc_id", "kb_id", "offsets", "label", "concept"
_SPAN = ("start", "end", _LABEL)


def mention_of(pieces: Iterable[Sequence[int]], label: str, ids: Iterable[str] = (), text: str = "") -> Mention:
    """Return a mention with pieces in any order. Values of a wrong type fail, see `demanded`."""
    spans = sorted((index(start), index(end)) for start, end in pieces)
    offsets = tuple(spans) if len(spans) > 1 else ()
    label, text = "".join([label]) or UNTYPED, "".join([text])  # which fails if they are no strings
    return Mention(spans[0][0], max(end for _, end in spans), text, label, tuple(dict.fromkeys(ids)), offsets=offsets)


def written_id(concept_id: str) -> str:
    """Return an id as a CURIE without separators, which `read_ids` reads."""
    return encode_id(curie_of(concept_id))


def read_ids(*texts: str, prefix: str | None = None) -> list[str]:
    """Return the canonical ids in texts that may hold several each. INCEpTION has addresses of concepts for them."""
    ids = [decode_id(concept_id) for text in texts for concept_id in split_ids("".join([text]), prefix)]
    if any("://" in concept_id for concept_id in ids):
        from ..kb.readers.ontology import curie

        return [canonical_id(curie(concept_id)) for concept_id in ids]
    return ids


def _objects(source: DocumentSource, key: str) -> Iterator[tuple[int, Any]]:
    """Yield the values of JSON with their numbers: one value, those of a list, or one on each line. One has the key."""
    content = b"".join(read_whole(source.path, source.chunks())).removeprefix(codecs.BOM_UTF8)
    try:
        values = [item for value in json_values(content) for item in (value if isinstance(value, list) else [value])]
        check_writable(values)
    except ValueError as error:
        raise OtherFormatError(path=source.file, reason=f"this is not complete JSON in Unicode: {error}") from error
    if not any(isinstance(value, dict) and key in value for value in values):
        raise OtherFormatError(path=source.file, reason=f"no object in it has the key {key!r}")
    yield from enumerate(values, start=1)


def _document(source: DocumentSource, line: int, value: Values, doc_id: object = None) -> Document:
    """Return the document of a JSON object, with the id of its keys or another one. Lists are no metadata."""
    plain = {key: item for key, item in value.items() if not isinstance(item, (dict, list))}
    plain[ID] = plain.pop(_DOC_ID, value.get(ID, doc_id))
    options = source.options._replace(id_column=ID, title_column=source.options.text_column or TEXT)
    return value_document(plain, source.numbered(line), options)._replace(position=source.place(line))


# --- Label Studio


def read_label_studio(source: DocumentSource) -> Iterator[Document]:
    """Read tasks of Label Studio. Their data have the text.

    The annotation that is the ground truth counts, else the last one that was not canceled, else the last prediction.
    Ids are the text area, choice or taxonomy of a region whose name is "concept".
    """
    return source.each(_objects(source, "data"), partial(_task, source))


@demanded()
def _task(source: DocumentSource, line: int, task: Values) -> Document:
    document = _document(source, line, task["data"], task.get(ID))
    finished = [annotation for annotation in task.get("annotations") or () if not annotation.get("was_cancelled")]
    if len(finished) > 1:
        source.broken(line, f"document {document.doc_id} has {len(finished)} annotations, of which one is read")
    results = sorted(finished, key=lambda annotation: bool(annotation.get("ground_truth"))) or task.get("predictions")
    regions: dict[str, list[Values]] = {}
    for result in results[-1]["result"] if results else ():
        if result.get("type") != "relation":
            regions.setdefault(result["id"], []).append(result)
        else:
            source.report.relations += 1
    return source.mentions(line, document, regions.values(), _region)


def _region(results: list[Values]) -> Mention:
    labels: list[str] = []
    ids: list[str] = []
    for result in results:
        value = result["value"]
        if result.get("from_name") == _CONCEPT:
            given = value.get("choices") or [path[-1] for path in value.get("taxonomy", ())] or value["text"]
            ids += read_ids(*([given] if isinstance(given, str) else given))
        else:
            labels += value.get("labels") or ()
    first = results[0]["value"]
    pieces = (results[0].get("meta") or {}).get(_OFFSETS) or [(first["start"], first["end"])]
    return mention_of(pieces, ",".join(labels), ids, first.get("text", "") if labels else "")


def label_studio_task(document: Document, names: Names) -> Values:
    """Return a task of Label Studio with a prediction, whose regions have labels and a text area "concept"."""
    result: list[Values] = []
    for number, mention in enumerate(document.mentions, start=1):
        region = {"id": f"m{number}", "to_name": TEXT}
        place = {"start": mention.start, "end": mention.end}
        value = {**place, "text": mention.text, "labels": [mention.label]}
        meta = {"text": [*filter(None, map(names.get, mention.ids))], _OFFSETS: mention.offsets}
        result.append({**region, "from_name": _LABEL, "type": "labels", "value": value, "meta": meta})
        if mention.ids:
            concept = {**place, "text": [written_id(concept_id) for concept_id in mention.ids]}
            result.append({**region, "from_name": _CONCEPT, "type": "textarea", "value": concept})
    data = {_DOC_ID: document.doc_id, TEXT: document.text}
    return {"data": data, "predictions": [{"model_version": "spacy-sapbert", "result": result}]}


# --- Prodigy and Doccano


def read_examples(source: DocumentSource) -> Iterator[Document]:
    """Read JSON lines of Prodigy, with `spans`, or of Doccano, with `label`, `labels` or `entities`.

    A task that was not accepted is left out and reported. Ids are the `kb_id` of a span, or the metadata "links" of
    Doccano, or the accepted options of Prodigy's recipes for entity linking. Their tasks have one mention each, so
    consecutive ones with the same text are one document.
    """
    run: list[Document] = []
    for document, is_choice in chain(source.each(source.filled_lines(), partial(_example, source)), [(None, False)]):
        if run and not (document and is_choice and document.text == run[0].text):
            mentions = {mention: None for given in run for mention in given.mentions} if run[1:] else run[0].mentions
            yield run[0]._replace(mentions=tuple(sorted(mentions, key=lambda mention: mention[:2])))
            run = []
        run += [document] if document else []


@demanded()
def _example(source: DocumentSource, line: int, text: str) -> tuple[Document, bool]:
    example = parse_json(text)
    check_writable(example)
    if example.get("answer", "accept") != "accept":
        raise BrokenRecord(f"its answer is {example['answer']!r}, not 'accept'")
    source.report.relations += len(example.get("relations") or ())
    chosen = [concept_id for concept_id in example.get("accept") or () if not concept_id.startswith("NIL")]
    links = {(start, end, label): rest for start, end, label, *rest in example.get("links") or ()}

    def read(span: Any) -> Mention:
        if isinstance(span, list):
            span = dict(zip(_SPAN, span, strict=True))
        start, end, label = (span.get(key, span.get(f"{key}_offset")) for key in _SPAN)
        ids, pieces = links.get((start, end, label)) or (span.get(_KB_ID) or "", span.get(_OFFSETS))
        return mention_of(pieces or [(start, end)], label or "", read_ids(ids, *chosen))

    lists = (example.get(key) for key in ("spans", _LABEL, "labels", "entities"))
    spans = [span for given in lists if isinstance(given, list) for span in given]
    return source.mentions(line, _document(source, line, example), spans, read), "options" in example


def prodigy_task(document: Document, names: Names) -> Values:
    """Return a task of Prodigy with spans that have a `kb_id`, and the preferred names."""
    spans = []
    for mention in document.mentions:
        span = dict(zip(("start", "end", "text", _LABEL), mention, strict=False))
        linked = {_KB_ID: "|".join(map(written_id, mention.ids)), "names": [*filter(None, map(names.get, mention.ids))]}
        spans.append({**span, **linked, _OFFSETS: mention.offsets})
    return {_DOC_ID: document.doc_id, TEXT: document.text, "spans": spans, "meta": {_DOC_ID: document.doc_id}}


def doccano_example(document: Document, names: Names) -> Values:
    """Return an example of Doccano. Its metadata "links" has the ids and pieces of each span."""
    spans = [(mention.start, mention.end, mention.label) for mention in document.mentions]
    ids = ("|".join(map(written_id, mention.ids)) for mention in document.mentions)
    links = [(*span, *linked) for span, *linked in zip(spans, ids, (m.offsets for m in document.mentions), strict=True)]
    return {_DOC_ID: document.doc_id, TEXT: document.text, _LABEL: spans, "links": links}


# --- PubAnnotation


def read_pubannotation(source: DocumentSource) -> Iterator[Document]:
    """Read documents of PubAnnotation.

    Ids of concepts are attributes of a denotation, such as "identifier", or follow its type, as in "Gene:5728".
    """
    return source.each(_objects(source, "denotations"), partial(_annotated, source))


@demanded()
def _annotated(source: DocumentSource, line: int, value: Values) -> Document:
    source.report.relations += len(value.get("relations") or ())
    ids: dict[str, list[str]] = {}
    for attribute in value.get("attributes") or ():
        if (name := attribute["pred"].lower()) in ID_INFONS:
            ids.setdefault(attribute["subj"], []).extend(read_ids(attribute["obj"], prefix=ID_INFONS[name]))

    def read(denotation: Values) -> Mention:
        span, label = denotation["span"], denotation["obj"]
        pieces = [(piece["begin"], piece["end"]) for piece in (span if isinstance(span, list) else [span])]
        first, _, rest = label.partition(":")
        if "attributes" not in value and any(map(str.isdigit, rest)):
            is_id = first.lower() in prefixes().spelled
            return mention_of(pieces, "" if is_id else first, read_ids(label if is_id else rest))
        return mention_of(pieces, label, ids.get(denotation.get("id", ""), ()))

    document = _document(source, line, value, value.get("sourceid"))
    return source.mentions(line, document, value["denotations"], read)


def pubannotation_document(document: Document, names: Names) -> Values:
    """Return a document of PubAnnotation, whose denotations have the attributes "identifier" and "preferred_name"."""
    denotations: list[Values] = []
    attributes: list[Values] = []
    for number, mention in enumerate(document.mentions, start=1):
        spans = [{"begin": start, "end": end} for start, end in mention.offsets or [mention[:2]]]
        denotations.append({"id": f"T{number}", "span": spans if mention.offsets else spans[0], "obj": mention.label})
        for concept_id in mention.ids:
            for name, obj in (("identifier", written_id(concept_id)), ("preferred_name", names.get(concept_id))):
                about = {"id": f"A{len(attributes) + 1}", "subj": f"T{number}", "pred": name, "obj": obj}
                attributes += [about] if obj else []
    return {"sourceid": document.doc_id, TEXT: document.text, "denotations": denotations, "attributes": attributes}
