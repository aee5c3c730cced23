"""Recipes of `kb build`: UMLS, keys of formats, mappings, translations. All content is invented."""

import hashlib
import json

import pytest

from spacy_sapbert.kb.knowledge_base import KnowledgeBase

from .conftest import counts, shown


def atom(cui, text, columns="ENG|P|L1|PF|S1|Y|A1", sab="ABC", tty="PT", suppress="N"):
    return f"{cui}|{columns}||||{sab}|{tty}|X1|{text}|0|{suppress}||\n"


NAMES = (
    atom("C9000001", "grey fever")
    + atom("C9000001", "fiebre gris", "SPA|P|L1|PF|S1|Y|A2")
    + atom("C9000001", "GF", "ENG|S|L1|VO|S1|N|A3", sab="XYZ", tty="AB")
    + atom("C9000002", "curamine")
    + atom("C9000003", "Curax", suppress="O")
    + atom("C9000003", "Curax 5 mg")
    + "C9000004|cut off"
)
TYPES = "".join(f"C900000{n}|{tui}|A1|a type|AT1||\n" for n, tui in enumerate(["T047", "T121", "T121", "T047"], 1))
RELATIONS = (
    "C9000002|A1|AUI|RO|C9000003|A2|AUI|tradename_of|R1||ABC|ABC|||N||\n"
    "C9000001|A1|AUI|PAR|C9000009|A2|AUI||R2||ABC|ABC|||N||\n"
)
CURAX = ["Curax", "Curax 5 mg"]
DEFINITIONS = "C9000001|A1|AT1||ABC|A fever that is grey.|N||\n"


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    meta = tmp_path / "2099AA" / "META"
    meta.mkdir(parents=True)
    for table, rows in {"CONSO": NAMES, "STY": TYPES, "REL": RELATIONS, "DEF": DEFINITIONS}.items():
        (meta / f"MR{table}.RRF").write_text(rows)
    (tmp_path / "own.tsv").write_text("id\tname\tsynonyms\nD1\tfever, grey\tgrey fever;ash fever\nC9000002\tcura\t\n")
    (tmp_path / "codes.txt").write_text("code$label$more\nD2$pain$ache\n")


@pytest.fixture
def run_recipe(command, tmp_path):
    """A function that runs a recipe with these keys."""

    def run(sources=("2099AA",), **keys):
        (tmp_path / "recipe.yaml").write_text(json.dumps({"sources": list(sources), **keys}))
        return command("kb", "build", "recipe.yaml", "-o", "a.kb")

    return run


@pytest.fixture
def build(run_recipe):
    """A function that builds a knowledge base by a recipe with these keys, and returns it."""

    def run(sources=("2099AA",), **keys):
        finished = run_recipe(sources, **keys)
        assert finished.status == 0, finished.err
        return KnowledgeBase("a.kb")

    return run


def names_of(kb):
    return {cui: [concept.canonical_name, *concept.aliases] for cui, concept in kb.cui_to_entity.items()}


# --- UMLS


def test_a_release(command):
    finished = command("kb", "build", "2099AA", "--format", "umls", "-o", "a.kb")
    assert finished.status == 0
    kb = KnowledgeBase("a.kb")
    assert names_of(kb) == {
        "C9000001": ["grey fever", "GF"],
        "C9000002": ["curamine", "Curax 5 mg"],
        "C9000003": ["Curax 5 mg"],
    }
    fever = kb.get("C9000001")
    assert (fever.types, fever.definition, fever.parents) == (("T047",), "A fever that is grey.", ())
    assert kb.source_counts() == {"ABC": 4, "XYZ": 1}
    assert counts(finished.err) == {
        "rows read": 7,
        "rows kept": 4,
        "rows dropped: language": 1,
        "rows dropped: suppressed O": 1,
        "rows dropped: broken": 1,
        "trade names added": 1,
        "MRSTY rows of concepts that MRCONSO does not have": 1,
    }
    assert "MRCONSO.RRF, line 7: 1 columns instead of 18, and the file ends there" in finished.err
    assert "2099AA: there is no MRRANK, MRCUI\n" in finished.err


def test_the_manifest_of_a_release(build, tmp_path):
    kb = build(language="all", parents=True, semantic_group="DISO")
    (source,) = kb.meta["sources"]
    assert (source["file"], source["format"], source["release"]) == ("2099AA", "umls", "2099AA")
    assert source["absent"] == ["MRRANK", "MRCUI"]
    assert source["rows"] == {"MRCONSO": 7, "MRSTY": 4, "MRDEF": 1, "MRREL": 2}
    assert [file["file"] for file in source["files"]] == ["MRCONSO.RRF", "MRSTY.RRF", "MRDEF.RRF", "MRREL.RRF"]
    content = (tmp_path / "2099AA" / "META" / "MRCONSO.RRF").read_bytes()
    assert source["files"][0]["bytes"] == len(content)
    assert source["files"][0]["sha256"] == hashlib.sha256(content).hexdigest()
    settings = source["settings"]
    assert (settings["languages"], settings["semantic_groups"], settings["drop_suppressed"]) == ([], ["DISO"], "OEY")
    assert kb.meta["read"]["rows_dropped"] == {"suppressed O": 1, "broken": 1, "semantic type": 2}
    assert (kb.meta["concepts"], kb.meta["names"]) == (1, 3)
    assert kb.get("C9000001").parents == ("C9000009",)


@pytest.mark.parametrize(
    ("keys", "names"),
    [
        ({"language": "SPA"}, [["fiebre gris"]]),
        ({"language": ["SPA", "ENG"], "semantic_type": "T047"}, [["fiebre gris", "grey fever", "GF"]]),
        ({"sab": ["XYZ"]}, [["GF"]]),
        ({"without_sab": ["ABC"]}, [["GF"]]),
        ({"term_type": ["AB"]}, [["GF"]]),
        ({"semantic_type": "pharmacologic substance", "trade_names": False}, [["curamine"], ["Curax 5 mg"]]),
        ({"sab": "ABC", "drop_suppressed": "", "semantic_group": "CHEM", "trade_names": False}, [["curamine"], CURAX]),
        ({"drop_suppressed": "O", "semantic_group": "CHEM"}, [["curamine", "Curax 5 mg"], ["Curax 5 mg"]]),
    ],
)
def test_keys_of_umls(build, keys, names):
    assert list(names_of(build(**keys)).values()) == names
    assert list(names_of(build(sources=[{"path": "2099AA", "format": "umls", **keys}])).values()) == names


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"strict": True}, "[E127] 2099AA/META/MRCONSO.RRF, line 7"),
        ({"semantic_type": "T999"}, "'T999' is not a semantic type"),
        ({"drop_suppressed": "N"}, "[E125]"),
        ({"sources": [{"path": "own.tsv", "format": "umls"}]}, "[E105]"),
        ({"sources": ["own.tsv"], "language": "ENG"}, "'language' is not a key of a source with the format table"),
        (
            {"sources": [{"path": "2099AA", "separator": ";"}]},
            "'separator' is not a key of a source with the format umls",
        ),
        ({"belo": ["C9000001"]}, "[E125] 'belo' is not a key of the recipe recipe.yaml. Choose one of: below"),
        ({"below": {}}, "[E406] The setting below of the recipe recipe.yaml is {}; it must be a text"),
        ({"parents": "yes"}, "[E406] The setting parents of a source with the format umls in recipe.yaml is 'yes'"),
        ({"sources": [{"format": "obo"}]}, "[E406] The setting path"),
        ({"sources": [{"address": "https://x.example/a.obo", "format": "obo"}]}, "kb get recipe.yaml"),
        ({"mentions": [{"path": "own.tsv", "formt": "names"}]}, "'formt' is not a key of mentions"),
        ({"below": ["X:1"]}, "[E504] There is no concept X:1 in the sources"),
        ({"only_type": ["X"]}, "[E125] 'X' is not a semantic type in what was read"),
    ],
)
def test_errors_leave_nothing(run_recipe, tmp_path, keys, message):
    finished = run_recipe(**keys)
    assert finished.status == 1
    assert message in finished.err
    assert not (tmp_path / "a.kb").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sources: [own.tsv\n", "[E127] r.yaml, line 2: this is not YAML"),
        ("- own.tsv\n", "[E127] r.yaml, line 1: a recipe has keys and values"),
        ("", "[E127] r.yaml, line 1: a recipe has keys"),
        ("[" * 10_000, "[E127] r.yaml, line 1: this is not YAML (nested too deeply)"),
        ("sources: own.tsv\nstrict: true\nstrict: false\n", "[E127] r.yaml, line 3: this is not YAML"),
        ("sources: !!python/name:os.system\n", "[E127] r.yaml, line 1: this is not YAML"),
    ],
)
def test_files_that_are_not_recipes(command, tmp_path, text, message):
    (tmp_path / "r.yaml").write_text(text)
    finished = command("kb", "build", "r.yaml", "-o", "a.kb")
    assert finished.status == 1
    assert message in finished.err


def test_options_with_a_recipe(command, tmp_path):
    (tmp_path / "r.yaml").write_text("sources: own.tsv\nstop_names: missing.txt\n")
    (tmp_path / "stop.txt").write_text("cura\n")
    assert command("kb", "build", "r.yaml", "-o", "a.kb", "--stop-names", "stop.txt").status == 0
    assert KnowledgeBase("a.kb").stop_name_counts() == {"in your list": 1}
    for name in ("build", "get"):
        assert "[E533]" in command("kb", name, "r.yaml", "-o", "r.yaml").err
    finished = command("kb", "build", "r.yaml", "-o", "a.kb", "--type", "Disease")
    assert "[E533] An option for files cannot be used like this: the sources are in the recipe" in finished.err


def test_files_with_a_recipe(command, tmp_path):
    (tmp_path / "r.yaml").write_text("separator: ';'\nsource_name: Own\n")
    assert command("kb", "build", "r.yaml", "own.tsv", "-o", "a.kb", "--type", "Disease").status == 0
    kb = KnowledgeBase("a.kb")
    assert (kb.get("D1").aliases, kb.get("D1").types) == (("grey fever", "ash fever"), ("Disease",))
    (tmp_path / "r.yaml").write_text("sources: own.tsv\n")
    assert "r.yaml has its own sources" in command("kb", "build", "r.yaml", "own.tsv", "-o", "b.kb").err


def test_without_a_concept_the_counts_report_why(run_recipe):
    finished = run_recipe(language="GER")
    assert finished.status == 1
    assert "[E105]" in finished.err
    assert {"rows read": 7, "rows kept": 0, "rows dropped: language": 6}.items() <= counts(finished.err).items()


# --- several sources, tables, mappings


def test_every_source_gets_the_options_of_its_format(build):
    kb = build(["2099AA", "own.tsv"], separator=";", language="SPA")
    assert names_of(kb) == {
        "C9000001": ["fiebre gris"],
        "D1": ["fever, grey", "grey fever", "ash fever"],
        "C9000002": ["cura"],
    }
    assert [(source["file"], source["format"]) for source in kb.meta["sources"]] == [
        ("2099AA", "umls"),
        ("own.tsv", "table"),
    ]


def test_mapped_concepts_become_one(command, build, tmp_path):
    (tmp_path / "same.tsv").write_text("C9000001\tD1\nbroken\n")
    sources = ["2099AA", "own.tsv"]
    kb = build(sources, mappings=["same.tsv"], separator=";")
    assert names_of(kb)["C9000001"] == ["grey fever", "GF", "fever, grey", "ash fever"]
    assert kb.find_id("D1") == ("C9000001",)
    (mapping,) = kb.meta["mappings"]
    assert mapping == {
        "file": "same.tsv",
        "format": None,
        "sha256": hashlib.sha256((tmp_path / "same.tsv").read_bytes()).hexdigest(),
    }
    finished = command("kb", "build", *sources, "-o", "a.kb", "--mapping", "same.tsv")
    assert "mappings: rows 2 1" in shown(finished)
    assert counts(finished.err)["mappings: rows dropped: broken"] == 1
    assert "same.tsv, line 2" in finished.err
    assert command("kb", "build", "own.tsv", "-o", "a.kb", "--mapping", "same.tsv", "--strict").status == 1


def test_cross_references_merge(build, tmp_path):
    term = "[Term]\nid: F:1\nname: febris\nxref: UMLS:C9000001\n"
    (tmp_path / "fevers.obo").write_text(f"format-version: 1.2\n\n{term}")
    sources = ["2099AA", "fevers.obo"]
    assert "F:1" in names_of(build(sources, merge_sources=False))
    for merging in ({}, {"merge_xrefs": ["UMLS"], "merge_sources": False}):
        kb = build(sources, **merging)
        assert names_of(kb)["C9000001"] == ["grey fever", "GF", "febris"]
    assert kb.meta["merge_xrefs"] == ["UMLS"]


# --- keys of other formats

OBO = """\
[Term]
id: AB:1
name: grey fever
synonym: "ash fever" []

[Term]
id: XY:2
name: pain
"""


def test_keys_of_an_ontology_reach_no_other_source(tmp_path, build):
    (tmp_path / "a.obo").write_text(OBO)
    kb = build(["a.obo", "own.tsv"], prefix="AB", default_scope="exact")
    assert list(kb.concept_ids()) == ["AB:1", "D1", "C9000002"]
    assert [name.scope for name in kb.names_of("AB:1")] == ["preferred", "exact"]


def test_rows_of_a_table_can_be_chosen(tmp_path, build):
    (tmp_path / "a.tsv").write_text("a remark\nid\tname\tstate\nD1\tfever\tlive\nD2\tpain\tdead\n", encoding="utf-16")
    kb = build(["a.tsv"], where={"state": "live"}, skip=1, encoding="utf-16", format="table")
    assert list(kb.concept_ids()) == ["D1"]


# --- translations and languages


BASE = "id,name,synonyms\nF:1,fever,hot\nF:2,rash,\n"
SPANISH = (
    "source_language\ttranslation_language\tsubject_id\tsource_value\tpredicate_id\ttranslation_value\t"
    "translation_status\n"
    + "".join(
        f"en\tes\t{concept_id}\tx\trdfs:label\t{text}\tOFFICIAL\n"
        for concept_id, text in (("F:1", "fiebre"), ("F:2", "erupción"), ("F:9", "tos"))
    )
)


@pytest.fixture
def translated(tmp_path, run_recipe):
    """A function that builds a knowledge base of a table and its translation, and returns it and the report."""
    (tmp_path / "base.csv").write_text(BASE)
    (tmp_path / "es.babelon.tsv").write_text(SPANISH)
    (tmp_path / "fr.csv").write_text("id,name\nF:1,fièvre\nF:3,toux\n")

    def run(*sources, **keys):
        finished = run_recipe(sources, **keys)
        assert finished.status == 0, finished.err
        return KnowledgeBase("a.kb"), finished.err

    return run


def test_a_translation_adds_names_to_known_concepts(translated):
    kb, err = translated("es.babelon.tsv", "base.csv", names_language="en")  # in any order
    assert list(kb.concept_ids()) == ["F:1", "F:2"]
    assert [name[:2] + name[3:] for name in kb.names_of("F:1")] == [
        ("fever", "preferred", "en"),
        ("hot", "exact", "en"),
        ("fiebre", "preferred", "es"),
    ]
    assert counts(err)["translations of unknown concepts"] == 1
    assert "[W576] The vocabulary lacks the concepts of 1 of the 3 names in the translation es.babelon.tsv." in err
    assert kb.meta["names_language"] == ["en"]


def test_unknown_concepts_of_a_translation(translated):
    kb, err = translated("base.csv", "es.babelon.tsv", add_unknown=True)
    assert (list(kb.concept_ids()), kb.language_counts()) == (["F:1", "F:2", "F:9"], {"": 3, "es": 3})
    assert "W576" not in err
    assert kb.meta["add_unknown"]


def test_a_translation_alone_is_the_vocabulary(translated):
    kb, _ = translated("es.babelon.tsv")
    assert list(kb.concept_ids()) == ["F:1", "F:2", "F:9"]
    assert kb.get("F:1").canonical_name == "fiebre"


def test_other_files_as_translations(translated):
    kb, _ = translated(
        {"path": "base.csv", "names_language": "en"},
        {"path": "es.babelon.tsv", "names_language": "es"},
        translations=[{"path": "fr.csv", "names_language": "FRE"}],
    )
    assert kb.language_counts() == {"en": 3, "es": 2, "fr": 1}
    assert kb.meta["names_language"] == ["en", "es"]
    assert [source["file"] for source in kb.meta["translations"]] == ["fr.csv"]
    assert len(kb) == 2


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"names_language": "any language"}, "[E193]"),
        ({"translations": [{"path": "fr.csv", "names_language": "1"}]}, "[E193]"),
        ({"translations": ["missing.csv"]}, "[E120]"),
        ({"translations": ["own.tsv"]}, "no other source has the concepts of its 1 names, such as X:1"),
    ],
)
def test_bad_translations(translated, run_recipe, tmp_path, keys, message):
    (tmp_path / "own.tsv").write_text("id\tname\nX:1\tfiebre\n")
    finished = run_recipe(["base.csv"], **keys)
    assert finished.status
    assert message in finished.err
    assert not (tmp_path / "a.kb").exists()


def test_the_language_that_search_shows(translated, command):
    translated("base.csv", "es.babelon.tsv", names_language="en")
    search = ("kb", "search", "a.kb", "hot")
    assert '"fever"' in command(*search).out.decode()
    for language, name in {"es": "fiebre", "ENG": "fever"}.items():
        assert f'"{name}"' in command(*search, "--display-language", language).out.decode()
    assert "'de' is not a language of names in" in command(*search, "--display-language", "de").err
    assert "names by language es" in command("kb", "info", "a.kb").err


def test_a_table_in_another_encoding(command, tmp_path):
    (tmp_path / "own.csv").write_bytes("id,name,kind\nD1,fièvre,signe\n".encode("latin-1"))
    options = ("--encoding", "latin-1", "--column", "type=kind", "-o", "a.kb")
    assert command("kb", "build", "own.csv", *options).status == 0
    concept = KnowledgeBase(tmp_path / "a.kb").get("D1")
    assert (concept.canonical_name, concept.types) == ("fièvre", ("signe",))


def test_an_empty_selection_is_refused(command):
    finished = command("kb", "build", "own.tsv", "--select", "", "-o", "a.kb")
    assert (finished.status, "[E406] The setting select" in finished.err) == (1, True)
