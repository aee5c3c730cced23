"""Every message a user can meet: a code, the cause, the remedy.

Messages that say one thing about different files, settings or packages are a family: one class with one code, so that a
program can catch it. All other messages are in `Errors` and `Warnings`. E1xx are about vocabularies, E2xx about corpora,
E3xx about encoders and indexes, E4xx about components, E5xx about the command line and evaluation, E6xx about concepts
of documents and augmentation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

DOCS = "https://spacy-sapbert.github.io/spacy-sapbert"


class SapbertError(ValueError):
    """An error whose message gives the cause and the remedy."""


class TrainingDataError(SapbertError, SystemExit):
    """Training data that cannot be used. If nothing handles the error, the program ends with its message alone.

    `spacy train` ends with a traceback for other errors.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.code = message


class FamilyError(SapbertError):
    """An error of a family: one message with different values.

    Args:
        remedy: What to do, if the usual remedy of the family does not fit.
        **values: The values for the other braces of the message.
    """

    code: ClassVar[str] = ""
    message: ClassVar[str] = ""
    usual_remedy: ClassVar[str] = ""

    def __init__(self, remedy: str = "", **values: Any) -> None:
        shown = {name: _shown(value) for name, value in values.items()}
        text = f"{self.message} {remedy.replace('{', '{{').replace('}', '}}') or self.usual_remedy}".format(**shown)
        super().__init__(f"[{self.code}] {text}".rstrip())

    def __reduce__(self) -> tuple[Any, ...]:
        return _with_message, (type(self), str(self))


class MissingExtraError(FamilyError):
    """A package of an extra is not installed."""

    code = "E542"
    message = "{what} needs the package {package}, which cannot be imported."
    usual_remedy = "Install it: pip install 'spacy-sapbert[{extra}]'."


@contextmanager
def requiring(extra: str, what: str) -> Iterator[None]:
    """Name the extra of a package that cannot be imported in the block.

    Args:
        extra: The extra of spacy-sapbert that installs it.
        what: What needs the package, as the start of a sentence.

    Raises:
        MissingExtraError: A package cannot be imported.
    """
    try:
        yield
    except ImportError as error:
        raise MissingExtraError(what=what, package=error.name or f"({error})", extra=extra) from error


class MissingColumnError(FamilyError):
    """A table lacks a column."""

    code = "E128"
    message = "{path} has no column {column}. Its columns are: {columns}."
    usual_remedy = "Rename the column, or name the one that contains it."


class CannotReadError(FamilyError):
    """A file cannot be opened or read."""

    code = "E120"
    message = "Cannot read {path} ({reason})."
    usual_remedy = "Check the path and the permissions of the file."


class CannotWriteError(FamilyError):
    """A file cannot be written. What was there before is still there."""

    code = "E507"
    message = "Cannot write {path} ({reason})."
    usual_remedy = "Choose another place, or make room on the disk."


class DamagedError(FamilyError):
    """A file or folder is damaged, incomplete or not of the format that was expected."""

    code = "E121"
    message = "{path} is damaged or incomplete ({reason})."
    usual_remedy = "If it was downloaded, download it again. If this package made it, make it again."


class OtherFormatError(DamagedError):
    """A file that is not of the format that its name shows."""


class BadRecordError(FamilyError):
    """A record of a file is broken."""

    code = "E127"
    message = "{position}: {reason}."
    usual_remedy = "Correct the record. Without `strict`, broken records are left out and counted."

    def __init__(
        self,
        remedy: str = "",
        *,
        position: str = "",
        path: object = "",
        line: object = 0,
        unit: str = "line",
        **values: Any,
    ) -> None:
        super().__init__(remedy, position=position or f"{path}, {unit} {line}", **values)


class ChoiceError(FamilyError):
    """A value is not one of the possible ones."""

    code = "E125"
    message = "{given!r} is not a {what}. Choose one of: {choices}."


class NotFoundError(FamilyError):
    """Something that was named does not exist."""

    code = "E504"
    message = "There is no {what}."
    usual_remedy = "Check the name."


class EmptyError(FamilyError):
    """Nothing is there to work with, so that nothing was done."""

    code = "E105"
    message = "There is no {what}, so {consequence}."
    usual_remedy = "Check that the input is the right one, and its format."


class MismatchError(FamilyError):
    """Two things do not belong together."""

    code = "E305"
    message = "{path} does not fit: {reason}."


class SettingError(FamilyError):
    """A setting of a component or of a config has an impossible value."""

    code = "E406"
    message = "The setting {setting} of {component} is {value}; it must be {wanted}."


class OptionError(FamilyError):
    """Options of a command, or arguments of a function, do not fit together."""

    code = "E533"
    message = "{option} cannot be used like this: {reason}."


class MissingComponentError(FamilyError):
    """A pipeline lacks a component."""

    code = "E503"
    message = "The pipeline has no {component}, so {consequence}. Its components are: {components}."
    usual_remedy = "Add one with `nlp.add_pipe` and save the pipeline, or use `spacy-sapbert assemble`."


class NewerVersionError(FamilyError):
    """A newer version of this package wrote a file."""

    code = "E600"
    message = "{path} has format {found}, but this version of spacy-sapbert reads formats up to {known}."
    usual_remedy = "Install a newer version of spacy-sapbert."


class LimitError(FamilyError):
    """An input is larger than a bound that protects the memory."""

    code = "E586"
    message = "{path} {reason}."
    usual_remedy = "If you trust the file, split it, or unpack it before you give it."


def _shown(value: Any) -> Any:
    """Return a value as a message shows it: collections as a list with commas."""
    if isinstance(value, Iterable) and not isinstance(value, str | Path | bytes):
        return ", ".join(map(str, value)) or "none"
    return value


def _with_message(family: type[FamilyError], message: str) -> FamilyError:
    """Make an error that another process raised."""
    error = family.__new__(family)
    ValueError.__init__(error, message)
    return error


class Errors:
    E111 = "[E111] `kb get` cannot fetch {name}. Its license: {license}. {instead}"
    E112 = (
        "[E112] Cannot download {address} ({reason}). Check the network, and the environment variable HTTPS_PROXY if you "
        "need a proxy. Or save the file as {file} from {home}, and give its folder with --mirror."
    )
    E124 = (
        "[E124] Cannot guess the format of {path} from its name or its beginning. Give one of the formats: {formats}."
    )
    E141 = "[E141] {table} is in {path} more than once: {places}. Give the path of the one to read."
    E145 = (
        "[E145] {path}, line {line}: {cui} comes after {previous}, but the rows of a release are sorted by concept. "
        "Sort the file, or set `sort: true` in a recipe to sort it during reading."
    )
    E163 = (
        "[E163] {path} is in {syntax}, which cannot be read. Use the ontology's release in RDF/XML, Turtle, OBO or OBO "
        "Graphs JSON. You can also convert the file: `robot convert --input {path} --output vocabulary.obo`."
    )
    E164 = (
        "[E164] {path} is an SSSOM mapping without names, so it is not a vocabulary. Give it with --mapping, together "
        "with the vocabularies that it maps."
    )
    E193 = "[E193] {given!r} is not a language. Give a BCP 47 tag such as en or es, or a code of three letters such as SPA."
    E206 = (
        "[E206] {path}, line {line}: {what} is not allowed, because it can exhaust memory. Replace the entities by "
        "their text, and remove the declarations."
    )
    E208 = (
        "[E208] The tokenizer of the language {lang} changes the text of document {doc_id}, so character offsets no "
        "longer fit. Use a tokenizer that keeps every character, such as that of spacy.blank('en')."
    )
    E211 = (
        "[E211] No document was read from {paths}; broken records: {broken}. {reasons}Check that the format fits the "
        "files."
    )
    E301 = (
        "[E301] Cannot open the encoder '{name}', which is neither a folder nor available from the Hugging Face hub "
        "({reason}). Give a folder, a hub name, 'starter', or 'none' for the sparse score alone. A hub name needs a "
        "network connection."
    )
    E302 = (
        "[E302] Cannot load the encoder folder {path} ({reason}). The folder needs config.json, the weights and the "
        "tokenizer files, as `save_pretrained` writes them."
    )
    E310 = (
        "[E310] Cannot fit the vocabulary of this encoder to names, because its tokenizer is {kind}, not WordPiece. "
        "Omit --vocabulary, or use a BERT-like encoder with a fast tokenizer."
    )
    E316 = (
        "[E316] The encoder already has {part}, so it cannot get {wanted}. Prune or train the encoder first, and add the "
        "rest last."
    )
    E320 = (
        "[E320] faiss cannot create the index '{kind}' ({reason}). Set `index` to 'auto', 'Flat', 'HNSW', 'IVF', 'IVF,PQ', "
        "'SQ8' or another string that faiss's index_factory accepts."
    )
    E325 = (
        "[E325] The database of {address} does not respond correctly ({reason}). Check that the server runs and that "
        "the address is right. If the server needs a key or password, set the environment variable {key}."
    )
    E329 = (
        "[E329] Another process uses the database in the folder {folder}, which serves only one process. Close the "
        "other process. For n_process=2 or several programs, run a Qdrant server and upload the vocabulary there. You "
        "can also set `index` to 'HNSW' or another faiss index."
    )
    E336 = "[E336] {path} already contains a run. Continue the run with --resume, or choose another output folder."
    E337 = (
        "[E337] The {what} was {value} in step {step}, so training has stopped. Lower the learning rate, or "
        "train in fp32."
    )
    E342 = (
        "[E342] The linker has no encoder to train, because it uses the sparse score alone. Set `encoder` to "
        "'starter-transformer', a folder or a hub name, or remove `training` from the config."
    )
    E343 = (
        "[E343] The pickle {path} refers to {refused}, which a fitted TfidfVectorizer does not need. Nothing was read "
        "from the file. Do not trust it, and download the model from its publisher."
    )
    E344 = (
        "[E344] Cannot import {path} as a BioSyn model ({reason}). Give a folder as BioSyn's own code writes it. It "
        "contains config.json, the weights, the tokenizer files, sparse_encoder.pk and sparse_weight.pt."
    )
    E345 = (
        "[E345] The vectors of {name} are not l2_normalized, but self-alignment and mining use cosines. Set "
        "`l2_normalized = true` for the encoder. To train raw vectors, use `spacy train` (BioSyn)."
    )
    E346 = (
        "[E346] None of the {n} ids annotated in {documents} training documents can be predicted. They are ids such as "
        "{some}. The vocabulary has ids such as {known}. Check that the vocabulary and the labels fit the corpus, and "
        "that the ids are the `kb_id_` of entities, or of the spans of `spans_key`."
    )
    E347 = (
        "[E347] The miner uses given triples, but the data are pairs. Create triples with `spacy-sapbert mine`, and "
        "read them with `spacy-sapbert.TripleFile.v1`. You can also choose another miner."
    )
    E352 = (
        "[E352] There is too little to train a ranker: {found}. Give more annotated documents. Or train the linker "
        "without a ranker."
    )
    E363 = (
        "[E363] The network of the typed_ner has its labels already ({labels}), so that '{label}' cannot be added. Train "
        "it again with all labels."
    )
    E364 = "[E364] The training documents of '{name}' have no entities. Convert a corpus with mentions."
    E403 = (
        "[E403] The saved component contains a file '{name}', whose path leads out of the component's folder. Do not "
        "trust this component."
    )
    E501 = (
        "[E501] There is no pipeline {name}. Give the folder of a saved pipeline or the name of an installed one. To "
        "create a pipeline, use `spacy-sapbert assemble`."
    )
    E502 = (
        "[E502] Cannot load the pipeline {name} ({reason}). Install the packages of its components, or save it again "
        "with the versions that are installed here."
    )
    E508 = (
        "[E508] None of the {n} records could be linked. The reasons are listed above. Check that --format, "
        "--column and --encoding fit the input."
    )
    E509 = (
        "[E509] There is no file to read in the folder {path}. Files need one of the endings: {endings}. To read all of "
        "its files in one format, give --format."
    )
    E514 = (
        "[E514] {a} and {b} differ in their documents, gold mentions or concepts. {n_a} are only in the first, {n_b} only "
        "in the second, such as {example}. Evaluate both pipelines on the same corpus with the same options."
    )
    E520 = (
        "[E520] No threshold reaches precision {wanted} on the documents that are used for fitting. A threshold needs "
        "{least} or more links above it. The highest precision is {best}. Lower --precision, or use a larger corpus."
    )
    E521 = (
        "[E521] The {part} part of the corpus has {n} links, {right} of them right. Calibration needs both right and "
        "wrong links. Use a larger corpus, or change --held-out or --seed."
    )
    E541 = "[E541] Cannot use the config {path}. Correct this: {reason}"
    E543 = (
        "[E543] None of the {pairs} pairs has a negative, so nothing was written. The concepts of {unknown} pairs are "
        "not in the vocabulary. Use --kb to give the vocabulary of the pairs. It needs names of other concepts."
    )
    E550 = "[E550] Cannot listen on {host}, port {port} ({reason}). Choose another host or port with --host or --port."
    E551 = (
        "[E551] The ending of {path} shows no output format. Give the file one of these endings: {endings}. Or give --to "
        "with one of: {formats}."
    )
    E554 = (
        "[E554] The vocabulary of these documents is unknown, because no pipeline with a sapbert_linker made them in this "
        "process. Give it as `kb`: the knowledge base of the linker (`linker.kb`) or its path."
    )
    E561 = (
        "[E561] {path} holds the finished documents of an interrupted run. Give --resume to go on with it, or --restart "
        "to throw them away."
    )
    E563 = (
        "[E563] The interrupted run in {path} was started differently: {differences}. Start it as before, or give "
        "--restart to throw it away."
    )
    E571 = (
        "[E571] {path} is not a .spacy file, so training cannot read it. Convert it, and train on the result: "
        "spacy-sapbert convert {path} -o train.spacy"
    )
    E572 = (
        "[E572] None of the {n} concept ids of the corpus is in the vocabulary {path}. The corpus has ids such as "
        "{corpus}. The vocabulary has ids such as {known}. Use a vocabulary with the ids of the corpus."
    )
    E575 = (
        "[E575] A worker process ended each time it was started. The messages above show the reason, such as too little "
        "memory. A program that starts workers needs `if __name__ == '__main__':` around its calls."
    )
    E566 = (
        "[E566] Two inputs would write the same file, {name}.parquet. Give the folder that contains both, or rename one of "
        "them."
    )
    E568 = (
        "[E568] {engine} cannot start, or cannot be reached at {address} ({reason}). Check the address. "
        "A cluster of Ray that asks for a token needs RAY_AUTH_MODE=token. Spark needs Java."
    )
    E569 = (
        "[E569] {n} of {total} partitions have no links: {names}. The reasons are listed above. Start the same command "
        "again to link only these."
    )
    E595 = "[E595] Cannot use {path} ({reason}). Check the path, and the permissions of its folder."
    E643 = (
        "[E643] The model reads doc.spans['{key}'], but no component has written it. Do not exclude or disable the "
        "concept_matcher of a pipeline. In your own, add one with spans_key: '{key}' before the model's component, and in "
        "training also to `annotating_components`."
    )
    E644 = (
        "[E644] The vocabulary {path} has no name of the type '{label}'. It has the types {types}. Give another vocabulary "
        "for '{label}' in `kbs`."
    )
    E604 = (
        "[E604] No document is left to write: {counts}. The counts show where documents were lost. With "
        "relevance_filter = false, documents are kept even if they lack the concept of the search."
    )
    E605 = (
        "[E605] {url} does not respond correctly ({reason}). With a cache, earlier answers are kept, and the same "
        "command continues from there. A key in the environment variable {variable} allows more requests per second."
    )
    E608 = (
        "[E608] Cannot run MetaMapLite ({reason}). Install Java 8 or later, and check that MetaMapLite runs on its "
        "own. You can also run it elsewhere on the files of --texts and give its output with the setting annotations."
    )
    E611 = (
        "[E611] There is no rare concept: none of {n} concepts has fewer than {k} training documents. Raise --k, or "
        "use --all."
    )


class Warnings:
    W201 = (
        "[W201] {path}: {n} broken records were left out. The first is in line {line}: {reason}. Pass a `Report` to "
        "see all of them."
    )
    W202 = (
        "[W202] No mention has the type {missing}. The types are: {known}. Check the spelling of --types and --rename."
    )
    W203 = (
        "[W203] {n} of the {total} ids of {path} belong to no document that was read. The first is {example}. Check "
        "that the list belongs to the corpus."
    )
    W401 = (
        "[W401] The sparse score saved in {path} uses the text_normalizer {saved}. It takes precedence over the "
        "setting text_normalizer ({wanted}). To use the setting, build the pipeline again from its vocabulary."
    )
    W412 = (
        "[W412] The vectors stay in the database, so the saved linker needs access to {address}. To use another "
        "address, change the setting `index` when you load the pipeline."
    )
    W413 = (
        "[W413] Cannot fit the weights of the signals: of the {candidates} candidates in {documents} held-out "
        "documents, {right} are right. The previous weights are kept. Give more annotated documents, or hold out more "
        "(`held_out`)."
    )
    W415 = (
        "[W415] The trained ranker was left out, since it does not help by cross-validation. Without it, the first "
        "candidate is right for {right} of {texts} texts. Give more annotated documents."
    )
    W417 = (
        "[W417] The corrections in {path} have {unknown} of {total} concepts that the vocabulary lacks, such as {first}. "
        "They have no effect. The vocabulary may be another one, or another release."
    )
    W416 = "[W416] The linker was saved with the ranker of the package, if any. {reason}"
    W419 = (
        "[W419] The linker in {path} was calibrated, or its reranker trained, by version 1.1 or an earlier one. This "
        "version ranks in another way, so both are left out. Run `spacy-sapbert calibrate`, or train the linker again."
    )
    W418 = (
        "[W418] {component} links the mentions in {where}, but no component has set any. Put one that finds mentions "
        "before it: an NER, or `concept_matcher`."
    )
    W510 = (
        "[W510] {n} of {total} mentions do not fit the boundaries of tokens, so the linker could not link them. They "
        "count as wrong. The first is {mention} in document {doc_id}."
    )
    W570 = (
        "[W570] The language of the pipeline is '{lang}', which has no rules. abbreviation_resolver, composite_splitter "
        "and concept_matcher use those of English, so they can miss mentions. To choose others, give them the setting "
        "language ({known}). See {page}"
    )
    W571 = (
        "[W571] {unknown} of the {total} annotated mentions have no concept id of the vocabulary ({share:.1f} %), such "
        "as {example}. They can only be linked wrongly."
    )
    W576 = (
        "[W576] The vocabulary lacks the concepts of {unknown:,} of the {total:,} names in the translation {path}. It "
        "may be of another release. These names were left out. To take their concepts, set `add_unknown: true` in a recipe."
    )
    W513 = (
        "[W513] The format {format} states what a patient has, and the pipeline has no {component}. So what a text denies, "
        "fears or says of relatives is stated like all else. Add the component, or use `assemble --notes`."
    )
    W512 = "[W512] The output of the format {format} lacks some mentions, since {reason}."
    W557 = (
        "[W557] The pipeline found no mention in any of the {n} documents. Its components are: {components}. Add one "
        "that finds mentions, or measure the linker alone with --gold-mentions."
    )


def messages() -> dict[str, str]:
    """Return the text of every message by its code."""
    families = {
        family.code: f"[{family.code}] {family.message} {family.usual_remedy}"
        for family in FamilyError.__subclasses__()
    }
    single = {
        code: text for owner in (Errors, Warnings) for code, text in vars(owner).items() if not code.startswith("_")
    }
    return {**single, **{code: text.rstrip() for code, text in families.items()}}
