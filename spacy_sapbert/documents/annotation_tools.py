"""Read and write files of annotation tools: the JSON of Label Studio, Prodigy, PubAnnotation and Doccano; and brat.

Their offsets count characters. What is written has the id of the document as "doc_id", in PubAnnotation as "sourceid".
Ids of concepts are CURIEs, also those of MeSH and UMLS. Where a tool has no field for them, or for the pieces of a
discontinuous mention, they stand in fields that the tool keeps and gives back.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from operator import index
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from ..errors import OtherFormatError
from ..files.opening import read_whole, without_gz
from ..files.source import BrokenRecord, excerpt
from ..files.values import ONE_LINE, check_writable, json_values, parse_int, parse_json
from ..kb.ids import canonical_id, curie_of, decode_id, encode_id, is_known, prefixes, split_ids
from ..types import Document, Mention
from .bioc import ID_INFONS
from .formats import head_of
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
    return [decode_id(concept_id) for text in texts for concept_id in split_ids("".join([text]), prefix)]


def _objects(source: DocumentSource, *keys: str) -> Iterator[tuple[int, Any]]:
    """Yield the values of JSON with their numbers: one value, those of a list, or one on each line. One has a key."""
    content = b"".join(read_whole(source.path, source.chunks())).removeprefix(codecs.BOM_UTF8)
    try:
        values = [item for value in json_values(content) for item in (value if isinstance(value, list) else [value])]
        check_writable(values)
    except ValueError as error:
        raise OtherFormatError(path=source.file, reason=f"this is not complete JSON in Unicode: {error}") from error
    if keys and not any(isinstance(value, dict) and not value.keys().isdisjoint(keys) for value in values):
        raise OtherFormatError(path=source.file, reason=f"no object in it has the key {' or '.join(map(repr, keys))}")
    yield from enumerate(values, start=1)


def _document(source: DocumentSource, line: int, value: Values, doc_id: object = None, text: str = TEXT) -> Document:
    """Return the document of a JSON object, with the id of its keys or another one. Lists are no metadata."""
    plain = {key: item for key, item in value.items() if not isinstance(item, (dict, list))}
    plain[ID] = plain.pop(_DOC_ID, value.get(ID, doc_id))
    text = source.options.text_column or text
    options = source.options._replace(text_column=text, id_column=ID, title_column=text)
    return value_document(plain, source.numbered(line), options)._replace(position=source.place(line))


def _text_key(value: Values) -> str:
    """Return the key of the text in the data of a task: "text", or that of the only string."""
    texts = [key for key, item in value.items() if isinstance(item, str) and key != ID]
    return texts[0] if TEXT not in texts and len(texts) == 1 else TEXT


def _pass_by(source: DocumentSource, value: Values, known: Collection[str]) -> None:
    """Count the lists and objects under keys that are not known."""
    others = {key: item for key, item in value.items() if key not in known and isinstance(item, (dict, list)) and item}
    source.report.unread.update({repr(key): len(item) for key, item in others.items()})


# --- Label Studio


def read_label_studio(source: DocumentSource) -> Iterator[Document]:
    """Read tasks of Label Studio. Their data have the text.

    The annotation that is the ground truth counts, else the last one that was not canceled, else the last prediction.
    Before version 1.0, annotations were "completions". Ids are the text area, choice or taxonomy of a region whose name
    is "concept". Choices about the whole text are no mentions.
    """
    return source.each(_objects(source, "data"), partial(_task, source))


@demanded()
def _task(source: DocumentSource, line: int, task: Values) -> Document:
    document = _document(source, line, task["data"], task.get(ID), _text_key(task["data"]))
    given = task.get("annotations") or task.get("completions") or ()
    finished = [
        annotation for annotation in given if not (annotation.get("was_cancelled") or annotation.get("skipped"))
    ]
    if len(finished) > 1:
        source.broken(line, f"document {document.doc_id} has {len(finished)} annotations, of which one is read")
    results = sorted(finished, key=lambda annotation: bool(annotation.get("ground_truth"))) or task.get("predictions")
    regions: dict[str, list[Values]] = {}
    for result in results[-1]["result"] if results else ():
        if result.get("type") != "relation":
            regions.setdefault(result["id"], []).append(result)
        else:
            source.report.relations += 1
    for name in [name for name, results in regions.items() if all(map(_about_all, results))]:
        source.report.unread.update(f"{result.get('type')} without offsets" for result in regions.pop(name))
    return source.mentions(line, document, regions.values(), _region)


def _about_all(result: Values) -> bool:
    """Return whether a result is about the whole task, as choices, ratings and texts can be."""
    return bool(result["value"]) and "start" not in result["value"]


def _region(results: list[Values]) -> Mention:
    labels: list[str] = []
    ids: list[str] = []
    for result in results:
        value = result["value"]
        if result.get("from_name") == _CONCEPT:
            given = value.get("choices") or [path[-1] for path in value.get("taxonomy", ())] or value["text"]
            ids += read_ids(*([given] if isinstance(given, str) else given))
        else:
            labels += value.get(result.get("type")) or value.get("labels") or ()
    first = results[0]["value"]
    place = first.get("globalOffsets") or first  # in HTML, the others are those in an element
    pieces = (results[0].get("meta") or {}).get(_OFFSETS) or [(place["start"], place["end"])]
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

_STARTS = {"start", "start_offset"}
_SPAN_LISTS = ("spans", _LABEL, "labels", "entities", "annotations")
_REJECTED = ("deleted", "killed", "irrelevant")  # marks of MedCATtrainer
_NO_SPANS = {"relations", "links", "tokens", "meta", "options", "accept", "config", "Comments", "comments"}


def read_examples(source: DocumentSource) -> Iterator[Document]:
    """Read JSON lines or lists of Prodigy, with `spans`, or of Doccano, with `label`, `labels`, `entities` or others.

    Any list of objects with offsets and labels has mentions, as in the shorter export of Label Studio. A task that was
    not accepted is left out and reported. Ids are the `kb_id` of a span, or the metadata "links" of Doccano, or the
    accepted options of Prodigy's recipes for entity linking. Their tasks have one mention each, so consecutive ones
    with the same text are one document.
    """
    run: list[Document] = []
    opened, values = source.opened, source.filled_lines()
    if opened and head_of(opened.stream).removeprefix(codecs.BOM_UTF8).lstrip()[:1] == b"[":
        values = _objects(source)
    for document, is_choice in chain(source.each(values, partial(_example, source)), [(None, False)]):
        if run and not (document and is_choice and document.text == run[0].text):
            mentions = {mention: None for given in run for mention in given.mentions} if run[1:] else run[0].mentions
            yield run[0]._replace(mentions=tuple(sorted(mentions, key=lambda mention: mention[:2])))
            run = []
        run += [document] if document else []


@demanded()
def _example(source: DocumentSource, line: int, given: Any) -> tuple[Document, bool]:
    example = parse_json(given) if isinstance(given, str) else given
    check_writable(example)
    if example.get("answer", "accept") != "accept":
        raise BrokenRecord(f"its answer is {example['answer']!r}, not 'accept'")
    source.report.relations += len(example.get("relations") or ())
    chosen = [concept_id for concept_id in example.get("accept") or () if not concept_id.startswith("NIL")]
    links = {(start, end, label): rest for start, end, label, *rest in example.get("links") or ()}

    def read(span: Any) -> Mention:
        if isinstance(span, list):
            span = dict(zip(_SPAN, span, strict=True))
        if isinstance(span, str) or not (_STARTS & span.keys()):
            raise BrokenRecord("it is a label without offsets, so it is about the whole text")
        start, end, label = (span.get(key, span.get(f"{key}_offset")) for key in _SPAN)
        label = ",".join(span.get("labels") or ()) if label is None else label
        label = str(label) if isinstance(label, int) else label  # Doccano's number of it
        ids, pieces = links.get((start, end, label)) or (span.get(_KB_ID) or "", span.get(_OFFSETS))
        return mention_of(pieces or [(start, end)], label or "", read_ids(ids, *chosen))

    lists = {key: found for key, found in example.items() if isinstance(found, list) and _has_spans(key, found)}
    spans = [span for found in lists.values() for span in found]
    if not spans:
        _pass_by(source, example, _NO_SPANS)
    text = "data" if TEXT not in example and isinstance(example.get("data"), str) else TEXT  # older files of Doccano
    return source.mentions(line, _document(source, line, example, text=text), spans, read), "options" in example


def _has_spans(key: str, values: list[Any]) -> bool:
    first = values[0] if values and isinstance(values[0], dict) else {}
    return key in _SPAN_LISTS or not (_STARTS.isdisjoint(first) or {_LABEL, "labels"}.isdisjoint(first))


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


# --- MedCATtrainer


def read_medcattrainer(source: DocumentSource) -> Iterator[Document]:
    """Read an export of MedCATtrainer with the texts of its documents.

    Annotations that nobody has confirmed, or that are marked as wrong, irrelevant or terminated, are left out and
    counted. The file has no types.
    """
    try:
        with demanded():
            projects = [project for _, value in _objects(source, "projects") for project in value["projects"]]
            documents = [document for project in projects for document in project["documents"]]
    except BrokenRecord as reason:
        source.broken(1, reason)
    else:
        yield from source.each(enumerate(documents, start=1), partial(_reviewed, source))


@demanded()
def _reviewed(source: DocumentSource, line: int, value: Values) -> Document:
    taken = []
    for annotation in value.get("annotations") or ():
        is_accepted = annotation.get("validated", True) and not any(map(annotation.get, _REJECTED))
        source.report.rejected += not is_accepted
        taken += [annotation] if is_accepted else []
    document = _document(source, line, value, value.get("name"))
    source.report.relations += len(value.get("relations") or ())

    def read(annotation: Values) -> Mention:
        place = (annotation["start"], annotation["end"])
        return mention_of([place], "", read_ids(annotation["cui"]), annotation.get("value") or "")

    return source.mentions(line, document, taken, read)


# --- PubAnnotation


def read_pubannotation(source: DocumentSource) -> Iterator[Document]:
    """Read documents of PubAnnotation.

    Ids of concepts are attributes of a denotation, such as "identifier", or follow its type, as in "Gene:5728". An
    address as type or attribute is the id of its concept. Namespaces abbreviate addresses. A document of several
    projects has tracks. BERN2 names the denotations "annotations", which have a list of ids.
    """
    return source.each(_objects(source, "denotations", "tracks", "annotations"), partial(_annotated, source))


@demanded()
def _annotated(source: DocumentSource, line: int, value: Values) -> Document:
    document = _document(source, line, value, value.get("sourceid"))
    if not value.get("tracks"):
        return _track(source, line, document, value)
    tracks = [value, *({"namespaces": value.get("namespaces"), **track} for track in value["tracks"])]
    mentions = {mention: None for track in tracks for mention in _track(source, line, document, track).mentions}
    return document._replace(mentions=tuple(sorted(mentions, key=lambda mention: mention[:2])))


def _track(source: DocumentSource, line: int, document: Document, value: Values) -> Document:
    source.report.relations += len(value.get("relations") or ())
    bases = {space["prefix"]: space["uri"] for space in value.get("namespaces") or ()}

    def whole(text: Any) -> str:
        """Return an address in full; any other text as it is."""
        prefix, _, local = text.partition(":") if isinstance(text, str) else ("", "", "")
        return f"{bases[prefix]}{local}" if prefix in bases else text

    ids: dict[str, list[str]] = {}
    for attribute in value.get("attributes") or ():
        name, obj = attribute["pred"].lower(), whole(attribute["obj"])
        if name in ID_INFONS or _is_address(obj):
            ids.setdefault(attribute["subj"], []).extend(read_ids(obj, prefix=ID_INFONS.get(name)))

    def read(denotation: Values) -> Mention:
        span, label = denotation["span"], whole(denotation["obj"])
        pieces = [(piece["begin"], piece["end"]) for piece in (span if isinstance(span, list) else [span])]
        own = ids.get(denotation.get("id", ""), []) if "denotations" in value else read_ids(*denotation["id"])
        if _is_address(label):
            return mention_of(pieces, "", [*read_ids(label), *own])
        first, _, rest = label.partition(":")
        if "attributes" not in value and any(map(str.isdigit, rest)):
            is_id = first.lower() in prefixes().spelled
            return mention_of(pieces, "" if is_id else first, read_ids(label if is_id else rest))
        return mention_of(pieces, label, own)

    return source.mentions(line, document, value.get("denotations") or value.get("annotations") or (), read)


def _is_address(text: Any) -> bool:
    return isinstance(text, str) and text.startswith(("http://", "https://"))


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


# --- brat standoff (Stenetorp et al. 2012): a text in `NAME.txt` and its annotations in `NAME.ann`
#
# A line of `.ann` is a mention, `T1<TAB>Disease 0 6;19 25<TAB>breast cancer`, a concept of a mention,
# `N1<TAB>Reference T1 MESH:D001943<TAB>Breast Neoplasms`, or a relation, event, attribute or note. No piece of a
# mention contains a line end. What a name, a label or an id must not contain becomes codes such as `%20`.

_OTHERS = re.compile(r"([A-Z]\S*|#\S*|\*)\t")
_FILE_NAME, _WORD = re.compile(r"^[.]|[^\w. -]"), re.compile(r"[\s%;]")
"""What becomes codes in names of files, and in labels and ids."""
_NOTE = "AnnotatorNotes"
_NO_PREFIX = "_:"  # since brat refuses an id without a prefix


def read_brat(source: DocumentSource) -> Iterator[Document]:
    """Read the document of a file of annotations, whose text is the file `.txt` beside it. Its name is the id.

    Notes of annotators that consist of ids, such as CUIs, are concepts of their mention.
    """
    mentions: dict[str, Mention] = {}
    concepts: list[tuple[int, str]] = []
    beside = without_gz(source.path).with_suffix(".txt")
    if not beside.is_file():
        return source.broken(1, f"there is no text {beside.name} beside it")
    try:
        text = replace(source, path=beside, opened=None).text()
    except BrokenRecord as reason:
        return source.broken(1, f"its text cannot be read: {reason}")
    for number, line in source.lines():
        name, _, rest = line.partition("\t")
        try:
            if name in mentions:
                raise BrokenRecord(f"a second mention {name}")
            if name.startswith("T"):
                mentions[name] = source.placed(number, text, _brat_mention(text, rest))
            elif name.startswith("N"):
                concepts.append((number, rest.partition("\t")[0]))
            elif noted := _noted(line):
                concepts.append((number, noted))
            elif _OTHERS.match(line):
                source.report.relations += 1
            elif line.strip():
                raise BrokenRecord("this is no annotation of brat")
        except BrokenRecord as reason:
            source.broken(number, reason)
    ids: dict[str, dict[str, None]] = {name: {} for name in mentions}
    for number, concept in concepts:
        words = concept.split(" ")
        if len(words) == 3 and words[1] in mentions:
            read = (
                read_ids(words[2]) if words[0] == _NOTE else [canonical_id(unquote(words[2]).removeprefix(_NO_PREFIX))]
            )
            ids[words[1]].update(dict.fromkeys(read))
        else:
            source.broken(number, f"{excerpt(concept)!r} is no concept of a mention")
    doc_id = unquote(without_gz(Path(source.name)).with_suffix("").as_posix())
    linked = (mention._replace(ids=tuple(ids[name])) for name, mention in mentions.items())
    yield Document(doc_id, text, tuple(sorted(linked, key=lambda mention: mention[:2])), position=source.file)


def _noted(line: str) -> str:
    """Return the note of a mention in the form of a concept, if it holds known ids only."""
    number, about, text = f"{line}\t\t".split("\t")[:3]
    ids = read_ids("|".join(text.split())) if number.startswith("#") and about.startswith(f"{_NOTE} T") else []
    return f"{about} {'|'.join(ids)}" if ids and all(map(is_known, ids)) else ""


def _brat_mention(text: str, row: str) -> Mention:
    head, _, words = row.partition("\t")
    label, _, spans = head.partition(" ")
    try:
        pieces = [tuple(map(parse_int, span.split(" "))) for span in spans.split(";")]
        mention = mention_of(((start, end) for start, end in pieces), unquote(label), text=words)
    except ValueError:
        raise BrokenRecord(f"{spans!r} are not pairs of offsets") from None
    between = (text[end:start] for (_, end), (start, _) in zip(mention.offsets, mention.offsets[1:], strict=False))
    if not any(gap.strip() for gap in between):  # pieces of a mention in several lines
        mention = mention._replace(offsets=())
    same = not mention.offsets and text[mention.start : mention.end].split() == words.split()
    return mention._replace(text="") if same else mention


def brat_files(document: Document, names: Names) -> dict[str, str]:
    """Return the text and the annotations of a document, by the ending of their file."""
    text, lines, n_concepts = document.text, [], 0
    for number, mention in enumerate(document.mentions, start=1):
        pieces = [
            (start + line.start(), start + line.end())
            for start, end in mention.offsets or [mention[:2]]
            for line in re.finditer(r"[^\n]+", text[start:end])
        ]
        label = _quoted(_WORD, "_".join(mention.label.split()) or UNTYPED)
        spans = ";".join(f"{start} {end}" for start, end in pieces)
        words = " ".join(text[start:end] for start, end in pieces)
        lines.append(f"T{number}\t{label} {spans}\t{words.translate(ONE_LINE)}\n")
        for concept_id in mention.ids:
            n_concepts += 1
            curie = curie_of(concept_id)
            written = _quoted(_WORD, curie if ":" in curie[1:-1] else _NO_PREFIX + curie)
            name = (names.get(concept_id) or "").translate(ONE_LINE)
            lines.append(f"N{n_concepts}\tReference T{number} {written}\t{name}\n")
    return {".txt": text, ".ann": "".join(lines)}


def file_name_of(doc_id: str) -> str:
    """Return the name of a file for a document, without its ending. `unquote` gives back the id."""
    return _quoted(_FILE_NAME, doc_id) or "document"


def _quoted(unsafe: re.Pattern[str], text: str) -> str:
    return unsafe.sub(lambda match: quote(match[0], safe="").replace(".", "%2E").replace("~", "%7E"), text)
