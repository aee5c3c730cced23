import itertools
import re
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.kb.knowledge_base import KnowledgeBase
from spacy_sapbert.kb.stop_names import StopNameRules
from spacy_sapbert.linking import name_index, name_matcher
from spacy_sapbert.linking.name_matcher import LONGEST_MODIFIER, MAX_WORDS, NameMatch, NameMatcher, name_hashes
from spacy_sapbert.text.common_words import common_words
from spacy_sapbert.text.languages import ENGLISH
from spacy_sapbert.text.words import acronym_hash, is_acronym, read_words
from spacy_sapbert.types import Name, Record

HASHES_FILE, ROWS_FILE = (f"{name}.npy" for name in NameMatcher.ARRAYS)
MANIFEST_FILE = f"{NameMatcher.ROLE}.json"
NO_STOP_NAMES = StopNameRules(default=False)


def matcher_of(folder, *names):
    record = Record("D1", tuple(Name(name, "exact", "test") for name in names))
    return NameMatcher.build(build_knowledge_base([record], Path(folder) / "names.kb", stop_names=NO_STOP_NAMES))


@pytest.fixture
def marked(tmp_path):
    """A function that gives what of a text is marked: (text, name)."""

    def find(text, *names):
        matcher = matcher_of(tmp_path, *names)
        return [(text[match.start : match.end], matcher.kb.name(match.row)) for match in matcher.find(text)]

    return find


@pytest.fixture(scope="module")
def small_matcher(small_kb):
    return NameMatcher.build(small_kb)


# --- what counts as a name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("BREAST cancer", "Breast Cancer"),
        ("breast cancers", "Breast Cancer"),
        ("lymph node", "Lymph Nodes"),
        ("liver metastases", "metastasis, liver"),
        ("cancer of the breast", "breast cancer"),
        ("breast cancer", "Cancer, Breast"),
        ("Cancer, Breast", "Cancer, Breast"),
        ("breast-cancer", "breast cancer"),
        ("breast\ncancer", "breast cancer"),
        ("Parkinson disease", "Parkinson's Disease"),
        ("PARKINSON'S DISEASES", "Parkinson’s Disease"),
        ("IL-2", "il 2"),
        ("hepatitis A", "Hepatitis A"),
        ("β-thalassemia", "Β thalassemia"),
        ("ALL", "ALL"),
        ("SAMe", "SAMe"),
        ("disease due to iron", "Iron disease from"),
        ("susceptibility to cancer", "Cancer, Susceptibility To"),
        ("deficiency of the iron", "iron deficiency"),
        ("breast\n    cancer", "breast cancer"),
        ("bre\u00adast can\u200bcer", "breast cancer"),
        ("Me\u0301nie\u0300re disease", "Meniere Disease"),
        ("Sjogren syndrome", "Sjögren syndrome"),
        ("ﬁbrosis of the ＬＵＮＧ", "lung fibrosis"),
        ("IL-1ß", "IL-1beta"),
        ("CO₂", "CO2"),
        ("COVID19", "COVID-19"),
        ("COVID-19", "COVID19"),
        ("TNFα", "TNF-alpha"),
        ("TNF-α", "TNFalpha"),
        ("VEGF-C", "VEGFC"),
        ("GSK-3β", "GSK3B"),
        ("IL2", "IL-2"),
        ("eyes", "eye"),
        ("toe", "Toes"),
        ("UTIs", "UTI"),
        ("anxiety", "ANXIETY"),
        ("diabetes mellitus type 2", "Type 2 Diabetes Mellitus"),
        ("kidney failure, acute", "acute kidney failure"),
        ("failure of the heart, congestive", "congestive heart failure"),
        ("grade 2 glioma", "glioma, grade 2"),
        ("diabetes mellitus, type II", "type II diabetes mellitus"),
        ("diabetes mellitus (type 2)", "Diabetes Mellitus, Type 2"),
        ("diabetes type II", "type 2 diabetes"),
        ("type 2 diabetes", "Type II diabetes"),
        ("type I diabetes", "diabetes type 1"),
        ("DNA ligase IV", "DNA ligase 4"),
        ("E. coli", "E. coli"),
        ("St. Louis encephalitis", "St. Louis Encephalitis"),
        ("pain; chest", "Pain; chest"),
        ("pre-eclampsia", "Preeclampsia"),
    ],
)
def test_the_same_name(marked, text, name):
    assert marked(text, name) == [(text, name)]
    assert marked(f"The {text}, and so on.", name) == [(text, name)]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("all of them", "ALL"),
        ("All", "ALL"),
        ("ALLS", "ALL"),
        ("breast, cancer", "cancer breast"),
        ("breast. Cancer", "breast cancer"),
        ("breast; cancer", "breast cancer"),
        ("breast (cancer)", "breast cancer"),
        ("breast “cancer”", "breast cancer"),
        ("breast cancer cancer", "cancer cancer breast breast"),
        ("a hepatitis", "Hepatitis A"),
        ("hepatitis in a child", "Hepatitis A"),
        ("2 IL", "IL 2"),
        ("breast and cancer", "breast cancer"),
        ("cancerous", "cancer"),
        ("", "cancer"),
        ("of the in", "cancer"),
        ("same", "SAMe"),
        ("lip with cleft", "Cleft lip"),
        ("disorder to chromosome", "Disorder, Chromosome"),
        ("infection in HIV", "HIV Infection"),
        ("depressed nasal bridge, thin upper lip", "Nasal bridge, thin"),
        ("knee pain, back ache", "Pain, Back"),
        ("knee pain, back", "Pain, Back"),
        ("kidney failure, acute pain", "acute kidney failure"),
        ("HER2- tumor", "HER2+ tumor"),
        ("ASSESSMENT AND PLAN", "PLAN"),
        ("PLAN: rest", "PLAN"),
        ("diabetes 2 type", "Type 2 Diabetes"),
        ("page p 53", "p53"),
        ("ERα", "ERA"),
        ("il-2", "IL2"),
        ("factor 2", "factor II"),
        ("chromosome 10", "chromosome X"),
        ("breast; cancer", "Breast. Cancer"),
        ("He had pain. Chest", "pain chest"),
        ("potassium (K)", "potassium (K)"),
        ("N-pre-eclampsia", "Preeclampsia"),
    ],
)
def test_not_the_same_name(marked, text, name):
    assert marked(text, name) == []


def test_qualifiers_may_follow_a_comma_in_a_sentence(marked):
    name = "acute kidney failure"
    assert marked("He has kidney failure, acute.", name) == [("kidney failure, acute", name)]


def test_symbols_that_are_words_need_their_case(tmp_path):
    names = (Name("IMPACT", "exact", "X"), Name("RWDD5", "exact", "X"))
    kb = build_knowledge_base([Record("G:1", names)], tmp_path / "genes.kb")
    matches = NameMatcher.build(kb).find("The impact of IMPACT. THE IMPACT.")
    assert [match.start for match in matches] == [14]


def test_other_names_are_found_in_capitals(marked):
    assert marked("HISTORY OF DEPRESSION AND HAND PAIN", "Depression", "hand") == [
        ("DEPRESSION", "Depression"),
        ("HAND", "hand"),
    ]


def test_the_longest_names(marked):
    names = ("cancer", "breast cancer", "cancer cell", "cell", "Cancer of the breast in mice")
    assert marked("Breast cancer cell of mice", *names) == [("Breast cancer", names[1]), ("cancer cell", names[2])]
    assert marked("mice with breast cancer; cancer", *names) == [
        ("mice with breast cancer", names[4]),
        ("cancer", "cancer"),
    ]


def test_the_first_of_several_names(marked):
    assert marked("breast cancers", "x", "Cancer, Breast", "breast cancer") == [("breast cancers", "Cancer, Breast")]
    assert marked("CF", "cf", "CF") == [("CF", "CF")]
    assert marked("Cf", "cf", "CF") == [("Cf", "cf")]


def test_names_of_function_words_and_signs_are_never_found(marked):
    assert marked("of the + in ?", "of the", "+", "in") == []


def test_names_have_up_to_twelve_words(marked):
    names = [" ".join(f"w{i}" for i in range(n)) for n in (MAX_WORDS, MAX_WORDS + 1)]
    assert marked(names[0], names[0]) == [(names[0], names[0])]
    assert marked(names[1], names[1]) == []


def test_match_of_a_whole_text(small_matcher, small_kb):
    def name(text):
        row = small_matcher.match(text)
        return None if row is None else small_kb.name(row)

    assert name("Breast cancers") == "breast cancer"
    assert name("cancers of the breast") == "breast cancer"
    assert name("the breast cancer") is None
    assert name("breast cancer cells") is None
    assert name("all") is None
    assert name("") is name(" - ") is None


# --- the same by looking everywhere


WORDS = ["b", "cell", "cells", "type", "of", "in", "AB", "ab", "2", "the", "type's"]
JOINTS = [" ", " ", " ", "-", ", ", ". ", " (", ") ", ","]
phrases = st.lists(st.tuples(st.sampled_from(WORDS), st.sampled_from(JOINTS)), min_size=1, max_size=4).map(
    lambda pairs: "".join(word + joint for word, joint in pairs)
)


class Word(NamedTuple):
    start: int
    end: int
    key: str
    broken: bool
    comma: bool
    gap: str


def words(text):
    columns = read_words(text)
    gaps = [gap.strip() for gap in columns.gaps[:-1]]
    rows = zip(columns.starts, columns.ends, columns.keys, columns.broken, columns.commas, gaps, strict=True)
    return [Word(*row) for row in rows]


def has_breaks(name, text, window):
    """Whether a name has the breaks of a window: points behind short words."""
    if not any(word.broken for word in window[1:]):
        return True
    are_short = all(
        word.gap == "." and before.end - before.start <= 5 for before, word in itertools.pairwise(window) if word.broken
    )
    return are_short and [word.gap for word in window[1:]] == [word.gap for word in words(name)[1:]]


def same(name, text, window):
    """Whether a window of the words of a text is a name."""
    written = text[window[0].start : window[-1].end]
    if is_acronym(name):
        return written == name
    keys, name_keys = [word.key for word in window], list(read_words(name).keys)
    if keys == name_keys:
        return True
    joined = ["in" in re.findall(r"\w+", some) for some in (written, name)]  # the one of WORDS that says how
    if joined == [True, False]:
        return False
    keys = numbered([text[word.start : word.end] for word in window], keys)
    name_keys = numbered(read_words(name).written, read_words(name).keys)
    if any(len(key) == 1 for key in (*keys, *name_keys)):
        return False
    return keys == name_keys or (not any(word.comma for word in window[1:]) and sorted(keys) == sorted(name_keys))


def numbered(written, keys):
    """The keys that are not empty, "type" and a single letter behind it as one."""
    marked = ["type_" if word == "type" else key for word, key in zip(written, keys, strict=True)]
    return re.sub(r"\btype_ (?=\S(?: |$))", "type_", " ".join(marked)).replace("type_ ", "type ").split()


def reference(names, text):
    found = words(text)
    matches = {}
    for start in range(len(found)):
        for end in range(start + 1, min(len(found), start + MAX_WORDS) + 1):
            window = found[start:end]
            if window[0].key and window[-1].key:
                rows = [
                    row for row, name in enumerate(names) if same(name, text, window) and has_breaks(name, text, window)
                ]
                written = text[window[0].start : window[-1].end].lower()
                if written in common_words() and all(
                    not is_acronym(names[row]) and names[row].lower() != written for row in rows
                ):
                    continue
                alone = not start or window[0].broken or not found[start - 1].key
                alone &= end == len(found) or found[end].broken or found[end].comma
                comma = next((word for word in window[1:] if word.comma), None)
                if rows and (alone or not comma or text[comma.start : comma.end] == "type"):
                    matches[start, end] = min(rows, key=lambda row: (not is_acronym(names[row]), row))
    return [
        NameMatch(found[start].start, found[end - 1].end, row)
        for (start, end), row in sorted(matches.items())
        if not any(s <= start and end <= e and (s, e) != (start, end) for s, e in matches)
    ]


@settings(max_examples=40, deadline=None)
@given(st.lists(phrases, min_size=1, max_size=6, unique=True), st.lists(st.lists(phrases, max_size=4), max_size=6))
def test_every_place_is_looked_at(names, texts):
    with TemporaryDirectory() as folder:
        matcher = matcher_of(folder, *names)
        names = list(matcher.kb.names())
        for text in ["".join(phrases) for phrases in texts]:
            assert matcher.find(text) == reference(names, text)


def test_names_that_share_a_hash_are_told_apart(tmp_path):
    matcher = matcher_of(tmp_path, "breast cancer", "lung cancer")
    same_hash = NameMatcher(matcher.kb, [matcher.hashes[[0, 0]], np.array([0, 1], dtype=np.int32)])
    text = ["breast cancer", "lung cancer"][int(matcher.rows[0])]
    assert [matcher.kb.name(match.row) for match in same_hash.find(text)] == [text]


# --- composites


@pytest.mark.parametrize(
    ("text", "composites"),
    [
        ("breast and ovarian cancer in women", ["breast and ovarian cancer"]),
        ("of breast/ovarian cancer", ["breast/ovarian cancer"]),
        ("gastric or colorectal cancers", ["gastric or colorectal cancers"]),
        ("breast cancer and ovarian cancer", []),
        ("pain and ovarian cancer", []),
        ("breast. And ovarian cancer", []),
        ("breast, ovarian cancer", []),
        ("cold and", []),
        ("colorectal cancer and ovarian cancer", []),
        ("", []),
    ],
)
def test_composites(small_matcher, text, composites):
    matches = small_matcher.find_composites(text, [match[:2] for match in small_matcher.find(text)])
    assert [text[match.start : match.end] for match in matches] == composites


def test_a_composite_has_the_row_of_its_first_part(small_matcher, small_kb):
    text = "breast and ovarian cancer"
    (match,) = small_matcher.find_composites(text, [match[:2] for match in small_matcher.find(text)])
    assert small_kb.name(match.row) == "breast cancer"


# --- stop names and words of general English


def test_stop_names_are_not_found(tmp_path):
    record = Record("D1", tuple(Name(name, "exact", "test") for name in ("chronic", "asthma", "chronic asthma")))
    kb = build_knowledge_base([record], tmp_path / "names.kb")
    matcher = NameMatcher.build(kb)
    text = "Chronic pain, chronic asthma, asthma."
    assert [text[match.start : match.end] for match in matcher.find(text)] == ["chronic asthma", "asthma"]
    assert matcher.match("chronic") is None


def test_no_other_form_of_a_name_is_a_word_of_general_english(tmp_path):
    matcher = matcher_of(tmp_path, "Intoe", "Leads", "Seizures", "WAS")
    text = "Intoe, into, leads, lead, a seizure, WAS but was"
    assert [text[match.start : match.end] for match in matcher.find(text)] == ["Intoe", "leads", "seizure", "WAS"]
    assert (matcher.match("into"), matcher.match("intoe")) == (None, 0)


# --- saved


def test_saved_and_loaded(small_matcher, small_kb, tmp_path):
    small_matcher.save(tmp_path)
    loaded = NameMatcher.load(small_kb, tmp_path)
    text = "Breast and ovarian cancer, ASA, ALL but not all colds."
    assert loaded.find(text) == small_matcher.find(text)
    assert len(loaded.find(text)) == 4
    places = [match[:2] for match in loaded.find(text)]
    assert loaded.find_composites(text, places) == small_matcher.find_composites(text, places)


def test_keys_of_an_earlier_version_are_made_again(small_matcher, small_kb, tmp_path, monkeypatch):
    monkeypatch.setenv("SPACY_SAPBERT_CACHE", str(tmp_path / "cache"))
    small_matcher.save(tmp_path)
    np.save(tmp_path / HASHES_FILE, small_matcher.hashes[::-1])
    manifest = (tmp_path / MANIFEST_FILE).read_text()
    (tmp_path / MANIFEST_FILE).write_text(manifest.replace(f'"keys": {NameMatcher.VERSION}', '"keys": 2'))
    assert NameMatcher.load(small_kb, tmp_path).hashes.tolist() == small_matcher.hashes.tolist()


# --- in the cache


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SPACY_SAPBERT_CACHE", str(tmp_path / "cache"))


def test_keys_beside_a_vocabulary_are_taken(small_kb, own_cache, tmp_path, monkeypatch):
    kb = KnowledgeBase(shutil.copy(small_kb.path, tmp_path / "small.kb"))
    built = NameMatcher.build(kb)
    built.save(tmp_path / NameMatcher.ROLE)
    monkeypatch.setattr(NameMatcher, "build", None)
    assert np.array_equal(NameMatcher.cached(kb).hashes, built.hashes)
    assert not (tmp_path / "cache").exists()
    monkeypatch.setattr(NameMatcher, "VERSION", 0)  # those of another version are not
    with pytest.raises(TypeError):
        NameMatcher.cached(kb)


@pytest.mark.parametrize("content", [b"", b'{"store": "', b"\xff\xfe", b"[]", b"[" * 100_000])
def test_what_else_lies_beside_a_vocabulary_is_no_index(small_kb, own_cache, tmp_path, content):
    kb = KnowledgeBase(shutil.copy(small_kb.path, tmp_path / "small.kb"))
    manifest = NameMatcher.manifest(tmp_path / NameMatcher.ROLE)
    manifest.parent.mkdir()
    manifest.write_bytes(content)
    assert np.array_equal(NameMatcher.cached(kb).hashes, NameMatcher.build(kb).hashes)
    assert manifest.read_bytes() == content


def test_keys_are_computed_once(small_kb, small_matcher, own_cache, monkeypatch):
    first = NameMatcher.cached(small_kb)
    monkeypatch.setattr(NameMatcher, "build", None)  # a second build would fail
    again = NameMatcher.cached(KnowledgeBase(small_kb.path))
    for matcher in (first, again):
        assert matcher.hashes.tolist() == small_matcher.hashes.tolist()
        assert matcher.rows.tolist() == small_matcher.rows.tolist()
    assert again.find("ALL with ovarian cancers") == small_matcher.find("ALL with ovarian cancers") != []


def test_an_interrupted_build_is_done_again(small_kb, small_matcher, own_cache):
    NameMatcher.cached(small_kb)
    folder = NameMatcher.cache_of(small_kb)
    (folder / MANIFEST_FILE).unlink()
    (folder / ROWS_FILE).write_bytes(b"cut off")
    assert NameMatcher.cached(small_kb).rows.tolist() == small_matcher.rows.tolist()
    assert sorted(path.name for path in folder.iterdir()) == sorted([MANIFEST_FILE, HASHES_FILE, ROWS_FILE])


@pytest.mark.parametrize("damage", [HASHES_FILE, ROWS_FILE, MANIFEST_FILE])
def test_damaged_cache(small_kb, own_cache, damage):
    NameMatcher.cached(small_kb)
    path = NameMatcher.cache_of(small_kb) / damage
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(SapbertError, match=r"E121.*delete it"):
        NameMatcher.cached(small_kb)


def test_cache_that_cannot_be_written(small_kb, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("SPACY_SAPBERT_CACHE", str(tmp_path / "file"))
    with pytest.raises(SapbertError, match=r"E507.*Not a directory.*SPACY_SAPBERT_CACHE"):
        NameMatcher.cached(small_kb)


# --- keys

# line breaks and possessives at the edges of names, words without a key, acronyms
PIECES = ["\n", "'s", "’S ", "a", "of", "ALL", "ß", "Αβ", "α", "μ\u0301", " ", "-", "cancers", "Parkinson's", "\x00"]


@given(st.lists(st.lists(st.sampled_from(PIECES), min_size=1, max_size=5).map("".join), max_size=8))
def test_keys_of_many_names_are_those_of_each(names):
    expected = [acronym_hash(name) or sum(read_words(name).hashes) for name in names]
    assert name_hashes(names).tolist() == [key % 2**64 for key in expected]


def test_chunks_and_blocks_make_no_difference(small_kb, small_matcher, monkeypatch):
    text = "Cystic fibrosis, ALL, ovarian cancer and colds; cancer of the breast " * 4
    monkeypatch.setattr(name_index, "NAMES_PER_CHUNK", 3)
    monkeypatch.setattr(name_matcher, "WORDS_PER_BLOCK", 2)
    monkeypatch.setattr(name_matcher, "BITS_PER_BLOCK", 5)
    monkeypatch.setattr(name_matcher, "CACHED_NAMES", 2)
    chunked = NameMatcher.build(small_kb)
    assert chunked.hashes.tolist() == small_matcher.hashes.tolist()
    assert chunked.rows.tolist() == small_matcher.rows.tolist()
    assert chunked.find(text) == chunked.find(text) == small_matcher.find(text)
    assert len(chunked.find(text)) == 20
    assert len(chunked._names) <= 2


# --- names of several concepts


def records(*concepts):
    for concept_id, *names in concepts:
        scopes = ["preferred", *["exact"] * len(names)]
        yield Record(concept_id, tuple(Name(name, scope, "s") for name, scope in zip(names, scopes, strict=False)))


@pytest.mark.parametrize(
    ("concepts", "expected"),
    [
        ([("D000001", "other", "breast cancers"), ("D000002", "Breast Cancer")], "Breast Cancer"),
        ([("C000001", "other", "breast cancers", "more"), ("D000001", "own", "Breast Cancer")], "Breast Cancer"),
        ([("D000001", "other", "breast cancers"), ("D000002", "own", "Breast Cancer", "more")], "Breast Cancer"),
        ([("D000001", "other", "breast cancers"), ("D000002", "own", "Breast Cancer")], "breast cancers"),
        ([("D000002", "own", "Breast Cancer"), ("D000001", "other", "breast cancers")], "breast cancers"),
    ],
)
def test_of_several_names_that_of_the_concept_with_the_best_claim(tmp_path, concepts, expected):
    kb = build_knowledge_base(records(*concepts), tmp_path / "a.kb")
    for matcher in (NameMatcher.build(kb), reloaded(NameMatcher.build(kb), tmp_path)):
        assert matcher.kb.name(matcher.match("cancer of the breast")) == expected


def reloaded(matcher, folder):
    matcher.save(folder)
    return NameMatcher.load(matcher.kb, folder)


def test_a_name_as_it_is_written_goes_before_another_with_a_better_claim(tmp_path):
    kb = build_knowledge_base(records(("D000001", "other", "Seizures"), ("D000002", "Seizure")), tmp_path / "a.kb")
    matcher = NameMatcher.build(kb)
    found = [kb.name(match.row) for match in matcher.find("seizures and a SEIZURE")]
    assert found == ["Seizures", "Seizure"]


# --- Greek letters


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("with α-thalassemia since", "alpha-Thalassemia"),
        ("with alpha thalassemia since", "Thalassemia, α"),
        ("serum TNFα levels", "TNFalpha"),
        ("serum TNFalpha levels", "TNFα"),
        ("levels of IL-1β rose", "IL-1beta"),
        ("a 𝛽-Thalassaemia", "beta-thalassemia"),
    ],
)
def test_greek_letters_are_their_names(marked, text, name):
    ((found, matched),) = marked(text, name)
    assert (found in text, matched) == (True, name)


def test_other_letters_are_others(marked):
    assert marked("with β-thalassemia", "alpha-thalassemia") == []


# --- modifiers before a name


def widened(text, name, words=("severe", "x-linked"), barred=()):
    return text[NameMatcher.start_with_modifiers(text, text.rindex(name), words, barred) :]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("gout", "gout"),
        ("severe gout", "severe gout"),
        ("A Severe X-linked gout", "Severe X-linked gout"),
        ("a (severe gout", "severe gout"),
        ("severe (severe gout", "severe gout"),
        ("severe\tgout", "gout"),
        ("severe\nsevere gout", "severe gout"),
        ("not severe big gout", "gout"),
        ("insevere gout", "gout"),
        (" gout", "gout"),
        ("a" * 100 + "severe gout", "gout"),
        ("severe " * 1000 + "gout", "severe " * 1000 + "gout"),
    ],
)
def test_modifiers_before_a_name(text, expected):
    assert widened(text, "gout") == expected


def test_no_modifier_where_another_name_ends():
    assert widened("severe severe gout", "gout", barred={6}) == "severe gout"
    assert widened("severe severe gout", "gout", barred={13}) == "gout"


def test_the_modifiers_of_english_fit_the_search():
    for word in frozenset().union(*ENGLISH.words.modifiers):
        assert word == word.lower().strip()
        assert 0 < len(word) <= LONGEST_MODIFIER
        assert widened(f"{word} gout", "gout", [word]) == f"{word} gout"
