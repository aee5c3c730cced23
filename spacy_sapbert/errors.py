"""Every message a user can meet: a code, the cause, the remedy.

E1xx vocabularies, E2xx corpora, E3xx encoders and indexes, E4xx components, E5xx command line and evaluation,
E6xx document concepts and augmentation.
"""

from __future__ import annotations


class SapbertError(ValueError):
    """An error whose message tells the cause and the remedy."""


class Errors:
    # vocabularies
    E101 = "[E101] No vocabulary at {path}. Give the path of a store; `spacy-sapbert kb build` makes one."
    E102 = "[E102] {path} is no vocabulary store, or it is damaged ({reason}). Build it again with `kb build`."
    E103 = (
        "[E103] {path} was written in store format {found}; this version reads format {wanted}. "
        "Build it again with `spacy-sapbert kb build`."
    )
    E104 = (
        "[E104] Cannot write {path} ({reason}). Choose another place, or make room; temporary files, at most as large as the "
        "store, go to the folder that the environment variable SQLITE_TMPDIR names."
    )
    E105 = (
        "[E105] There is no concept in what was read, so no vocabulary was written. Look at the counts of dropped rows, "
        "and check that the format fits the file."
    )
    E106 = (
        "[E106] {path} has no column {missing}, which a mapping in SSSOM needs. Its columns are: {columns}. Name the "
        "columns so, or give a file of two columns of ids without a header."
    )
    E107 = (
        "[E107] There is no exact match in {paths}, so nothing would be merged: rows read: {n}, left out: {dropped}. "
        "Only skos:exactMatch, owl:equivalentClass and owl:sameAs say that two ids stand for the same concept."
    )
    E108 = "[E108] Nothing refers to an id of {missing}, so nothing would be merged by it. What was read refers to: {known}."
    E109 = "[E109] The vocabulary {path} was not finished, so it was not written. Call `finish` when all is added."
    E120 = "[E120] Cannot read {path} ({reason}). Check the path and who may read it."
    E121 = "[E121] {path} is damaged or was cut off: its gzip data cannot be unpacked ({reason}). Fetch the file again."
    E122 = (
        "[E122] {path}, line {line}: this is not {encoding} ({reason}). Convert the file to UTF-8, or give the encoding "
        "that it is written in."
    )
    E123 = (
        "[E123] Cannot read {path}: there is no encoding {encoding}. Give one that Python knows, e.g. utf-8, latin-1."
    )
    E124 = "[E124] Cannot tell the format of {path} from its name. Give one of the formats: {formats}."
    E125 = "[E125] There is no vocabulary format {format}. The formats are: {formats}."
    E126 = "[E126] The format {format} has no option {option}. Its options are: {options}."
    E127 = (
        "[E127] {path}, line {line}: {reason}. Mend it, or read without `strict`, which leaves broken rows out and "
        "counts them."
    )
    E128 = "[E128] {path} has no column {column} for the field {field}. Its columns are: {columns}. Say which to use."
    E129 = "[E129] A table has no field {field}. Its fields are: {fields}."
    E130 = (
        "[E130] Cannot tell the delimiter of {path} from its name (.csv: comma; .tsv, .tab: tab). Give the delimiter."
    )
    E131 = (
        "[E131] {path} has no line that names the columns of a CTD file (DiseaseName, DiseaseID, … or ChemicalName, "
        "ChemicalID, …). Use the file as it comes from CTD, or read it as a table."
    )
    E132 = "[E132] The delimiter of a table is one character, not '{delimiter}'. Give one, e.g. `,` or `\\t` for a tab."
    E140 = (
        "[E140] There is no MRCONSO in {path}. Give the folder of a UMLS release or its META, one of the release's zip "
        "files, or the MRCONSO.RRF itself."
    )
    E141 = "[E141] {table} is in {path} more than once: {places}. Give the path of the one to read."
    E142 = "[E142] The part {missing} of {table} is missing in {path}. Fetch it: the rows go on from part to part."
    E143 = "[E143] {path} is damaged or was cut off: it cannot be unpacked ({reason}). Fetch the file again."
    E144 = "[E144] {path} cannot be unpacked here ({reason}). Unpack it first, and give the folder."
    E145 = (
        "[E145] {path}, line {line}: {cui} comes after {previous}, but the rows of a release are sorted by concept. Sort "
        "the file, or have it sorted while it is read (`--sort`)."
    )
    E146 = (
        "[E146] There is no semantic {kind} {given}. Like it are: {like}. Types are given by TUI (T047) or name, groups "
        "by code (DISO) or name."
    )
    E147 = "[E147] Rows are suppressed by the flags O, E and Y, not '{given}'. Give some of them, e.g. OE, or none."
    E148 = "[E148] Semantic types were asked for, but there is no MRSTY beside {path}. Put it there, or take all types."
    E180 = "[E180] {path}, line {line}: this is not of the form {wanted}. Mend the line, or draw the pairs again."
    E181 = (
        "[E181] Of the vocabulary's concepts, {found} have {min_names} names or more; {wanted} were to be drawn. Lower "
        "--concepts or --min-names."
    )
    E182 = (
        "[E182] There are {found} pairs, so none is left to train on when {wanted} are set aside. Lower --eval-pairs, or "
        "draw more concepts or more pairs of each."
    )
    E183 = (
        "[E183] There is no pair, so nothing was written ({counts}). A pair takes a concept with two names, or a mention "
        "of a concept of the vocabulary under another name than its own."
    )
    E184 = (
        "[E184] The names of several concepts cannot be sorted ({reason}). Make room in the folder for temporary files, or "
        "set SQLITE_TMPDIR to another."
    )
    E185 = "[E185] {path} has no column {missing}. A file of triples has the headings {wanted}; `spacy-sapbert mine` writes one."
    E186 = "[E186] {path}, line {line}: this is no triple ({reason}). Mend the line, or mine the negatives again."
    E160 = (
        "[E160] {path}, line {line}: this is no JSON ({reason}). The file may have been cut off: fetch it again, or give "
        "the format that it has."
    )
    E161 = "[E161] {path} is no file of the format {format}: {reason}. Give the format that it has, perhaps {other}."
    E162 = (
        "[E162] {path} has no column for the {field} of a translation, which may be named {names}. Its columns are: "
        "{columns}. Read it as a table, or rename the column."
    )
    E163 = (
        "[E163] {path} is RDF, which is not read. Take the ontology's release in OBO or OBO Graphs JSON, or convert it: "
        "`robot convert --input {path} --output vocabulary.json`."
    )
    E164 = (
        "[E164] {path} maps the ids of vocabularies to one another (SSSOM) and holds no names of its own, so it is no "
        "vocabulary. Give it with --mapping, beside the vocabularies whose ids it maps."
    )
    E190 = "[E190] A vocabulary cannot be exported as {format}. The formats are: {formats}."
    E191 = (
        "[E191] Cannot compare {old} with {new} ({reason}). Look at both with `kb check`, and see that there is room for "
        "temporary files; the environment variable SQLITE_TMPDIR names another folder for them."
    )
    # corpora
    E201 = "[E201] {path}, line {line}: {reason}. Mend it, or read without `strict`, which leaves it out and counts it."
    E202 = "[E202] There is no corpus format {format}. The formats are: {formats}."
    E203 = "[E203] Cannot tell the format of {path} from its beginning. Give one of the formats: {formats}."
    E205 = "[E205] {path}, line {line}: this is no well-formed XML ({reason}). Mend the file, or fetch it again."
    E206 = (
        "[E206] {path}, line {line}: {what} is not read, because it can be used to exhaust memory. "
        "Replace the entities by what they stand for, and leave out the declarations."
    )
    E207 = "[E207] {path} is no {format} file: its root is <{root}>, not <{wanted}>. Give the format that it has."
    E208 = (
        "[E208] The tokenizer of the language {lang} changes the text of document {doc_id}, so its offsets no longer "
        "fit. Use one that keeps every character, e.g. that of spacy.blank('en')."
    )
    E209 = "[E209] Cannot write {path} ({reason}). Choose another place."
    E210 = "[E210] {path} cannot be read as a .spacy file ({reason}). Convert the corpus again."
    E211 = "[E211] There is no document in {paths}. Check that the format fits the files; broken records: {broken}."
    E216 = "[E216] There is no tokenizer '{name}'. Those that are installed: {known}."
    E212 = "[E212] The output {path} must end in .spacy, or `spacy train` does not find it. Give such a name last."
    E213 = "[E213] There is no id in {path}. Give a file with the ids of the documents to read, one a line."
    E214 = (
        "[E214] No document has one of the {n} ids of {path}; {others} have other ids, the first of them {example}. Give the "
        "list that goes with the corpus, or read all documents."
    )
    E215 = (
        "[E215] {path} has no column {missing}, which a file of COMETA has. Its columns are: {columns}. Give the format "
        "that it has, or a file with COMETA's heading."
    )
    # encoders and indexes
    E301 = (
        "[E301] '{name}' is neither a folder nor an encoder that the model hub could give ({reason}). Give the folder of "
        "a Hugging Face encoder, a hub name (with a network), 'starter', or 'none' for the sparse score alone."
    )
    E302 = (
        "[E302] The encoder folder {path} cannot be loaded ({reason}). It needs config.json, the weights and the "
        "tokenizer's files, as `save_pretrained` writes them."
    )
    E303 = (
        "[E303] Unknown pooling '{pooling}' or normal form '{text_normalizer}'. Pooling is 'cls' or 'mean', the normal form one "
        "of: {known}."
    )
    E305 = (
        "[E305] The name vectors in {path} belong to another vocabulary or encoder. Delete the folder, or assemble the "
        "pipeline again."
    )
    E306 = (
        "[E306] The folder {path} is not complete ({reason}). Delete it if it lies in the cache; else assemble the "
        "pipeline again."
    )
    E320 = (
        "[E320] faiss cannot make the index '{kind}' ({reason}). Set `index` to 'Flat', 'HNSW', 'IVF', 'IVF,PQ', 'SQ8' or "
        "another string that faiss's index_factory understands."
    )
    E321 = (
        "[E321] The index '{kind}' cuts vectors into parts of one length, but {dim} dimensions cannot be cut so. The number "
        "after PQ can be: {divisors}."
    )
    E322 = (
        "[E322] The index '{kind}' takes at least {needed} names to be trained, and the vocabulary has {names}. Set `index` "
        "to 'Flat' or 'HNSW', which are not trained; or take fewer cells, or parts of fewer bits (PQ48x4)."
    )
    E323 = (
        "[E323] '{parameters}' are no parameters for a search in the index '{kind}'. One with cells has nprobe, a graph has "
        "efSearch: 'IVF1024,Flat;nprobe=32', 'HNSW32;efSearch=256'."
    )
    E324 = (
        "[E324] The index '{kind}' cannot search among the names of some types or sources. Take one with cells, a graph or "
        "SQ8, or leave the filter out."
    )
    E325 = (
        "[E325] The database of {address} does not answer as it should ({reason}). See that the server runs and that the "
        "address is right; a server that wants a key is given that in the environment variable {key}."
    )
    E326 = "[E326] {address} is no collection to link with: {reason}. Make it: {command}"
    E327 = "[E327] The collection of {address} is not complete: {reason}. Upload again, which adds what is missing: {command}"
    E328 = (
        "[E328] The collection of {address} was made of another {what} than the linker's. Bring it up to date, or set `index` "
        "to a collection of its own: {command}"
    )
    E329 = (
        "[E329] The folder {folder} is open in another process, and a database in a folder serves one process only. Close "
        "the other; or, for n_process=2 and for several programs, run a Qdrant server and upload to that, or set `index` to "
        "'HNSW' or another index of faiss."
    )
    E330 = (
        "[E330] There is no pair of two different names to train on; pairs of one name with itself: {same}. Concepts with a "
        "single name give no pair: draw pairs from a vocabulary with synonyms."
    )
    E331 = "[E331] Cannot write the checkpoint {path} ({reason}). Make room; the one before it is still there."
    E332 = "[E332] There is no checkpoint in {path}. Start without --resume."
    E333 = "[E333] The checkpoint {path} cannot be read ({reason}). Delete it and start anew, or put back a copy of it."
    E334 = (
        "[E334] The checkpoint {path} belongs to another run ({differences}). Use the settings it was made with, or "
        "another output folder."
    )
    E335 = "[E335] The setting {name} cannot be {value}. It can be: {wanted}."
    E336 = "[E336] {path} holds a run that is under way or done. Say --resume to go on with it, or give another output folder."
    E337 = (
        "[E337] The {what} was {value} in step {step}; training has stopped, and the batch stands in {path}. Lower the learning "
        "rate, train in fp32, or look at the names."
    )
    E338 = "[E338] The evaluation gives no measure {measure}. It gives: {measures}."
    E339 = (
        "[E339] The teacher's vectors have {theirs} dimensions, the encoder's {ours}. Choose a teacher with as many "
        "dimensions."
    )
    E340 = "[E340] None of the {mentions} mentions in {path} has its concept in the vocabulary, so nothing can be measured."
    E341 = "[E341] The encoder has {layers} layers, so {wanted} of them cannot be trained. Change the setting `trained_layers`."
    E342 = (
        "[E342] There is no encoder that could learn: the linker has the sparse score alone. Set `encoder` to 'starter', a "
        "folder or a hub name, or take `learning` out of its config."
    )
    E343 = (
        "[E343] The pickle {path} names {refused}, which a fitted TfidfVectorizer does not need, so nothing was read from it. "
        "Do not trust the file; take the model from where it was published."
    )
    E344 = (
        "[E344] {path} cannot be taken over as a BioSyn model ({reason}). Give a folder as BioSyn's own code writes it: "
        "config.json, the weights, the tokenizer's files, sparse_encoder.pk and sparse_weight.pt."
    )
    E346 = (
        "[E346] The linker has nothing to learn from: of the mentions in {documents} documents none has a concept of the "
        "vocabulary. They have {n} ids, such as: {some}. Give documents whose entities (or spans of `spans_key`) have a "
        "`kb_id_`, and the vocabulary that the ids are of."
    )
    E345 = (
        "[E345] The vectors of {name} are not l2_normalized, but self-alignment trains cosines, and negatives are mined by them. "
        "Set `l2_normalized = true` for the encoder to use unit vectors, or train it as it is with `spacy train` (BioSyn)."
    )
    E347 = (
        "[E347] The miner takes triplets that are given, but there are only pairs. Read a file of triples, which "
        "`spacy-sapbert mine` writes, with `spacy-sapbert.TripleFile.v1`, or choose another miner."
    )
    E348 = (
        "[E348] The encoder {name} has a projection already. Set `projection = null` to train it with the rest, or begin with "
        "an encoder that has none."
    )
    E308 = (
        "[E308] There is no encoder in {path}: its writing was cut off just when it should be replaced. What was there "
        "before lies in {aside}; rename it, or write the encoder again."
    )
    E309 = (
        "[E309] An encoder with an adapter needs the library `adapters`, which cannot be imported here ({reason}). Install "
        "it: pip install 'spacy-sapbert[adapters]'."
    )
    E310 = (
        "[E310] The tokenizer of this encoder is {kind}, not WordPiece, so its vocabulary cannot be fitted to names. Leave "
        "--vocabulary out, or take a BERT-like encoder with a fast tokenizer."
    )
    E311 = (
        "[E311] {wanted} wordpieces are too few: {always} must stay, which are the special tokens, all single characters "
        "and the words to add. Raise --keep-pieces, or add fewer."
    )
    E312 = (
        "[E312] The encoder has {known} layers, counted from 0; the layers {layers} cannot be kept. Give some of them."
    )
    E313 = (
        "[E313] {n} positions cannot be kept: the encoder has {known}, and reads names of up to {max_length} wordpieces. "
        "Give a number between."
    )
    E314 = (
        "[E314] {path} is not replaced by an encoder, because it holds {foreign}, which is no part of one. Choose another "
        "folder, or clear this one."
    )
    E315 = "[E315] Cannot write the encoder folder {path} ({reason}). Choose another place, or make room."
    E316 = (
        "[E316] The encoder has an adapter, so it cannot get {wanted}. Prune or train the encoder first, and add the "
        "adapter last."
    )
    E317 = "[E317] Weights cannot be stored as {dtype}. They can be stored as: {known}."
    E318 = "[E318] A weight of the encoder is {largest}, which {dtype} cannot hold. Store the weights as bfloat16."
    E319 = "[E319] '{given}' is no list of layers. Give their numbers, counted from 0, with commas between: 0,2,5."
    # components
    E401 = "[E401] No saved component in {path}. Save the pipeline again with `nlp.to_disk`."
    E402 = (
        "[E402] The component in {path} was saved in format {found} by spacy-sapbert {version}; this version reads "
        "format {wanted}. Assemble the pipeline again, or install that version."
    )
    E403 = "[E403] The saved component holds a file named '{name}', which leads out of its folder. Do not trust it."
    E404 = (
        "[E404] The vocabulary has no concept of type {missing}. Its types are: {known}. Change the settings `types` or "
        "`label_types`, or build the vocabulary with types."
    )
    E405 = "[E405] The vocabulary has no names of source {missing}. Its sources are: {known}."
    E406 = "[E406] The setting {setting} of {component} is {value}; it must be {wanted}."
    E407 = (
        "[E407] The encoder is 'none' and the sparse score is off, so nothing can be scored. Give an encoder, or set "
        "sparse to true."
    )
    E408 = "[E408] These bytes hold no saved component ({reason}). Make them with `to_bytes`."
    E410 = "[E410] The list of known abbreviations has the entry {entry}. Make it a pair of a short and a long form."
    E411 = (
        "[E411] {path}, line {line}: {reason}. Each line of a list of misspelt words holds one, and what stands for it: "
        "`wrong||right`. Mend the line."
    )
    # command line and evaluation
    E501 = (
        "[E501] There is no pipeline {name}. Give the folder of a saved pipeline, or the name of an installed one; "
        "`spacy-sapbert assemble` makes one."
    )
    E502 = (
        "[E502] The pipeline {name} cannot be loaded ({reason}). Install the packages that its components come from, or "
        "save it again with the versions that are installed here."
    )
    E503 = (
        "[E503] The pipeline {name} has no sapbert_linker, so it links nothing. Its components are: {components}. Add "
        "one with `nlp.add_pipe` and save the pipeline again, or use `spacy-sapbert assemble`."
    )
    E504 = "[E504] There is no file {path}. Check the path; `-` reads standard input."
    E505 = "[E505] Cannot tell the format of {path} from its name. Give --format, one of: {formats}."
    E506 = "[E506] {place}: {reason}. Mend it, or link without --strict, which leaves it out and counts it."
    E507 = "[E507] Cannot write {path} ({reason}). Choose another place."
    E508 = (
        "[E508] None of the {n} records could be linked; the reasons stand above. Check that --format, --text-key and "
        "--column fit the input."
    )
    E518 = "[E518] The corpus has no {what}, so there is nothing to measure. Check the file, its format and the type."
    E519 = (
        "[E519] The encoders would be called {labels}, which does not give each of them a name of its own. Give --label as "
        "often as there are encoders, each time another one."
    )
    E520 = (
        "[E520] No threshold gives links of precision {wanted} on the part of the corpus that is fitted on. With {least} or "
        "more links above it, which it takes to tell, the highest precision is {best}. Ask for less with --precision, or "
        "give a larger corpus."
    )
    E521 = (
        "[E521] The {part} part of the corpus has {n} links, {right} of them right; it takes right and wrong ones. Give a "
        "larger corpus, or another --held-out or --seed."
    )
    E522 = (
        "[E522] {path}, line {line}: this is no line of a training log ({reason}). The logger spacy-sapbert.CandidateLog.v1 "
        "writes one; see configs/linker.cfg."
    )
    E523 = "[E523] There are no pictures of the kind of {path}. End its name in one of: {endings}."
    E531 = "[E531] {option} was given {given} times for {wanted} files. Give it once, or once for each file."
    E532 = "[E532] {option} wants two values with = between them, for example synonyms=Synonyms; got {given}."
    E533 = "[E533] These options do not go together: {reason}."
    E534 = (
        "[E534] Cannot load the pipeline {pipeline} ({reason}). Give the folder or the name of an installed pipeline."
    )
    E535 = "[E535] {path} is there already and is no pipeline, so it is not overwritten. Choose another folder."
    E540 = "[E540] The table {path} would be read with commas, but is written with tabs. End its name in .tsv."
    E541 = "[E541] The config {path} cannot be used: {reason}"
    E542 = "[E542] There is no module {module}. Install what is missing: pip install 'spacy-sapbert[{extra}]'."
    E545 = (
        "[E545] The names in {path} ({pairs} pairs of {concepts} concepts) are not known to differ in meaning anywhere, so "
        "there is nothing to compare synonyms with. Give pairs of two concepts or more."
    )
    E546 = "[E546] A heat map of {pairs} pairs cannot be read. Give a file with at most {most}, such as plot.txt of `pairs`."
    E547 = "[E547] The encoder 'none' gives no vectors. Name 'starter', a folder or a hub name."
    E543 = (
        "[E543] There is no negative for any of the {pairs} pairs, so nothing was written; the concepts of {unknown} are not "
        "in the vocabulary. Give with --kb the one that the pairs were drawn from; it needs names of other concepts."
    )
    E550 = "[E550] Cannot listen on {host}, port {port} ({reason}). Choose another with --host or --port."
    E548 = (
        "[E548] The collection of {address} is there already, and was not made by an upload of ours, so nothing was changed. "
        "Give another name with --collection."
    )
    E549 = "[E549] Without an encoder there are no vectors to upload. Give one with --encoder."
    E510 = (
        "[E510] The pipeline has no sapbert_linker, so there are no links to evaluate. Its components are: {components}. "
        "Add one with `nlp.add_pipe` or `spacy-sapbert assemble`."
    )
    E511 = (
        "[E511] There is no mention {wanted} in the corpus, so there is nothing to measure. Its mentions with a concept "
        "id have the types: {known}."
    )
    E513 = (
        "[E513] {path}, line {line}: this is no line of a predictions file ({reason}). Make the file with "
        "`spacy-sapbert evaluate linking --predictions`, or with that option of `evaluate concepts` or `evaluate pipeline`."
    )
    E514 = (
        "[E514] {a} and {b} are not about the same mentions: {n_a} are only in the first, {n_b} only in the second; one of "
        "them: {example}. Evaluate both pipelines on the same corpus with the same --type."
    )
    E515 = (
        "[E515] The predictions are about {n} document(s). The test draws documents, so it needs two or more: evaluate "
        "on a larger corpus."
    )
    E557 = (
        "[E557] {a} and {b} are not about the same documents and gold mentions. Evaluate both pipelines on the same corpus "
        "with the same --type."
    )
    E555 = (
        "[E555] The pipeline {name} finds no mentions but names that the vocabulary has, so there are no new names among "
        "them. Its components are: {components}. Give one with an NER (`spacy-sapbert assemble --ner`), or a corpus whose "
        "mentions are annotated (--gold)."
    )
    E556 = (
        "[E556] {path} has no column {missing}. A table of new names has the columns keep, name and id; leave them in when "
        "you review it, or read what you have left with --format table."
    )
    E631 = (
        "[E631] The pipeline has no concept_retriever, so it names no concepts of documents. Its components are: {components}. "
        "Add one with `nlp.add_pipe`."
    )
    E632 = "[E632] {path} has no labels. Give a file with the id of a concept on each line, or leave the labels out."
    E633 = (
        "[E633] {path}, line {line}: {text} is not the id of one concept. Put each id on a line of its own, and nothing else "
        "there."
    )
    E634 = (
        "[E634] No document has a gold concept{wanted}, so there is nothing to measure. Check the corpus and the type."
    )
    E635 = (
        "[E635] The vocabulary {path} has none of the {n} labels, such as {example}, so none can be named. Give the labels "
        "of this vocabulary, or a pipeline with theirs."
    )
    E636 = (
        "[E636] {a} and {b} are not about the same documents, gold concepts and number of places. Evaluate both pipelines on "
        "the same corpus with the same --k and --type."
    )

    E642 = (
        "[E642] Nothing can be named: no concept of {path} is among the labels ({labels}) and of the types wanted "
        "({types}). Check the settings labels and types: ids are written as in `spacy-sapbert kb search`."
    )
    E643 = (
        "[E643] No component has written doc.spans['{key}'], from which this model learns. Put a concept_matcher with "
        "spans_key: '{key}' before it, and name that in `annotating_components` while it is trained."
    )
    E645 = (
        "[E645] None of the {ids} ids annotated in {documents} training documents is of a concept that can be named. Check "
        "that `kb` and `labels` are those of the corpus."
    )
    E646 = (
        "[E646] Documents have vectors of {documents} dimensions, concepts those of {concepts}, so they cannot be compared. Give "
        "`encoder` the name of the model that the pipeline's transformer has."
    )
    E647 = (
        "[E647] The transformer that the concept_retriever shares has not read the document. Put a `transformer` of "
        "spacy-transformers before it in the pipeline, and in training among the annotating components if it is frozen."
    )

    # augmentation
    E601 = "[E601] Nothing says where documents come from. Give --documents (files or folders) or --eutils, one of the two."
    E602 = (
        "[E602] Nothing says which concepts are scarce. Give a corpus with --train, ids with --labels, or --all for all of "
        "the vocabulary."
    )
    E603 = "[E603] There is no document in {path}. Give .txt or .jsonl files, perhaps gzipped, or a folder with some."
    E604 = (
        "[E604] No document can be written: {counts}. Look where they were lost; --no-relevance-filter keeps documents "
        "that lack the concept they were found for."
    )
    E605 = (
        "[E605] {url} does not answer as it should ({reason}). What was answered before is kept if --cache is given, so the "
        "same command goes on from there. A key in the environment variable {variable} allows more requests a second."
    )
    E607 = (
        "[E607] The folder {path} lacks {missing}. Give the folder public_mm_lite, with MetaMapLite's jar in `target`, and "
        "the data of a UMLS release unpacked into it."
    )
    E608 = (
        "[E608] MetaMapLite cannot be run ({reason}). Install Java 8 or later, and see that MetaMapLite works by itself; or "
        "run it elsewhere on what --texts writes, and give its output with --annotations."
    )
    E609 = (
        "[E609] The documents cannot be prepared for the search ({reason}). Make room for temporary files, or name another "
        "folder for them in the environment variable TMPDIR; Python's sqlite3 must have FTS5, which it has nearly everywhere."
    )
    E610 = "[E610] The tokenizer of {name} does not tell where its wordpieces stand. Take an encoder with a fast tokenizer."
    E611 = "[E611] There is no scarce concept: of {n} concepts none has fewer than {k} training documents. Raise --k, or give --all."


class Warnings:
    W201 = (
        "[W201] {path}: {n} broken records were left out, the first in line {line}: {reason}. "
        "Pass a `Report` to see them all."
    )
    W202 = (
        "[W202] No mention has the type {missing}. The types are: {known}. Check the spelling of --types and --rename."
    )
    W203 = (
        "[W203] {n} of the {total} ids of {path} are those of no document that was read, the first of them {example}. Check "
        "that the list goes with the corpus."
    )
    W330 = (
        "[W330] In {n} of the last {steps} steps nothing was hard, so its pairs taught nothing. The encoder knows them; for "
        "more to learn raise the miner's margin, or take larger batches."
    )
    W401 = (
        "[W401] The sparse score that is saved in {path} reads names in the normal form {saved}, which goes before the "
        "setting text_normalizer ({wanted}). For the other form, make the pipeline anew from its vocabulary."
    )
    W412 = (
        "[W412] The vectors stay in the database: the saved linker works only where it can reach {address}. The setting "
        "`index` tells another address, when the pipeline is loaded."
    )
    W413 = (
        "[W413] How much each signal counts cannot be learnt: of the {candidates} candidates in {documents} documents that "
        "were held out, {right} are right. What was learnt before stays. Give more annotated documents, or hold out more "
        "(`held_out`)."
    )
    W510 = (
        "[W510] {n} of {total} mentions are no span of tokens, so the linker could not be asked; they count as wrong. The "
        "first: {mention} in document {doc_id}."
    )
    W557 = (
        "[W557] The pipeline found no mention in any of the {n} documents. Its components are: {components}. Add one that "
        "finds mentions, or measure the linker alone with --gold-mentions."
    )
