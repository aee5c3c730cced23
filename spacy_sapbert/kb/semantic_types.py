"""The semantic types of the UMLS and their semantic groups.

The data are facts of the National Library of Medicine: the file `SemGroups` of its Semantic Network. Six types occur
only in older releases (T110, T111, T115, T118, T119, T124). The groups are those of McCray, Burgun and Bodenreider
(2001).
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import NamedTuple

from ..errors import Errors, SapbertError


class SemanticType(NamedTuple):
    """A semantic type.

    Attributes:
        name: Its name.
        group: Code of its semantic group, e.g. "DISO".
    """

    name: str
    group: str


SEMANTIC_GROUPS: dict[str, str] = {
    "ACTI": "Activities & Behaviors",
    "ANAT": "Anatomy",
    "CHEM": "Chemicals & Drugs",
    "CONC": "Concepts & Ideas",
    "DEVI": "Devices",
    "DISO": "Disorders",
    "GENE": "Genes & Molecular Sequences",
    "GEOG": "Geographic Areas",
    "LIVB": "Living Beings",
    "OBJC": "Objects",
    "OCCU": "Occupations",
    "ORGA": "Organizations",
    "PHEN": "Phenomena",
    "PHYS": "Physiology",
    "PROC": "Procedures",
}
"""Group names by code."""

SEMANTIC_TYPES: dict[str, SemanticType] = {
    "T051": SemanticType("Event", "ACTI"),
    "T052": SemanticType("Activity", "ACTI"),
    "T053": SemanticType("Behavior", "ACTI"),
    "T054": SemanticType("Social Behavior", "ACTI"),
    "T055": SemanticType("Individual Behavior", "ACTI"),
    "T056": SemanticType("Daily or Recreational Activity", "ACTI"),
    "T057": SemanticType("Occupational Activity", "ACTI"),
    "T064": SemanticType("Governmental or Regulatory Activity", "ACTI"),
    "T066": SemanticType("Machine Activity", "ACTI"),
    "T017": SemanticType("Anatomical Structure", "ANAT"),
    "T018": SemanticType("Embryonic Structure", "ANAT"),
    "T021": SemanticType("Fully Formed Anatomical Structure", "ANAT"),
    "T022": SemanticType("Body System", "ANAT"),
    "T023": SemanticType("Body Part, Organ, or Organ Component", "ANAT"),
    "T024": SemanticType("Tissue", "ANAT"),
    "T025": SemanticType("Cell", "ANAT"),
    "T026": SemanticType("Cell Component", "ANAT"),
    "T029": SemanticType("Body Location or Region", "ANAT"),
    "T030": SemanticType("Body Space or Junction", "ANAT"),
    "T031": SemanticType("Body Substance", "ANAT"),
    "T103": SemanticType("Chemical", "CHEM"),
    "T104": SemanticType("Chemical Viewed Structurally", "CHEM"),
    "T109": SemanticType("Organic Chemical", "CHEM"),
    "T110": SemanticType("Steroid", "CHEM"),
    "T111": SemanticType("Eicosanoid", "CHEM"),
    "T114": SemanticType("Nucleic Acid, Nucleoside, or Nucleotide", "CHEM"),
    "T115": SemanticType("Organophosphorus Compound", "CHEM"),
    "T116": SemanticType("Amino Acid, Peptide, or Protein", "CHEM"),
    "T118": SemanticType("Carbohydrate", "CHEM"),
    "T119": SemanticType("Lipid", "CHEM"),
    "T120": SemanticType("Chemical Viewed Functionally", "CHEM"),
    "T121": SemanticType("Pharmacologic Substance", "CHEM"),
    "T122": SemanticType("Biomedical or Dental Material", "CHEM"),
    "T123": SemanticType("Biologically Active Substance", "CHEM"),
    "T124": SemanticType("Neuroreactive Substance or Biogenic Amine", "CHEM"),
    "T125": SemanticType("Hormone", "CHEM"),
    "T126": SemanticType("Enzyme", "CHEM"),
    "T127": SemanticType("Vitamin", "CHEM"),
    "T129": SemanticType("Immunologic Factor", "CHEM"),
    "T130": SemanticType("Indicator, Reagent, or Diagnostic Aid", "CHEM"),
    "T131": SemanticType("Hazardous or Poisonous Substance", "CHEM"),
    "T192": SemanticType("Receptor", "CHEM"),
    "T195": SemanticType("Antibiotic", "CHEM"),
    "T196": SemanticType("Element, Ion, or Isotope", "CHEM"),
    "T197": SemanticType("Inorganic Chemical", "CHEM"),
    "T200": SemanticType("Clinical Drug", "CHEM"),
    "T077": SemanticType("Conceptual Entity", "CONC"),
    "T078": SemanticType("Idea or Concept", "CONC"),
    "T079": SemanticType("Temporal Concept", "CONC"),
    "T080": SemanticType("Qualitative Concept", "CONC"),
    "T081": SemanticType("Quantitative Concept", "CONC"),
    "T082": SemanticType("Spatial Concept", "CONC"),
    "T089": SemanticType("Regulation or Law", "CONC"),
    "T102": SemanticType("Group Attribute", "CONC"),
    "T169": SemanticType("Functional Concept", "CONC"),
    "T170": SemanticType("Intellectual Product", "CONC"),
    "T171": SemanticType("Language", "CONC"),
    "T185": SemanticType("Classification", "CONC"),
    "T074": SemanticType("Medical Device", "DEVI"),
    "T075": SemanticType("Research Device", "DEVI"),
    "T203": SemanticType("Drug Delivery Device", "DEVI"),
    "T019": SemanticType("Congenital Abnormality", "DISO"),
    "T020": SemanticType("Acquired Abnormality", "DISO"),
    "T033": SemanticType("Finding", "DISO"),
    "T037": SemanticType("Injury or Poisoning", "DISO"),
    "T046": SemanticType("Pathologic Function", "DISO"),
    "T047": SemanticType("Disease or Syndrome", "DISO"),
    "T048": SemanticType("Mental or Behavioral Dysfunction", "DISO"),
    "T049": SemanticType("Cell or Molecular Dysfunction", "DISO"),
    "T050": SemanticType("Experimental Model of Disease", "DISO"),
    "T184": SemanticType("Sign or Symptom", "DISO"),
    "T190": SemanticType("Anatomical Abnormality", "DISO"),
    "T191": SemanticType("Neoplastic Process", "DISO"),
    "T028": SemanticType("Gene or Genome", "GENE"),
    "T085": SemanticType("Molecular Sequence", "GENE"),
    "T086": SemanticType("Nucleotide Sequence", "GENE"),
    "T087": SemanticType("Amino Acid Sequence", "GENE"),
    "T088": SemanticType("Carbohydrate Sequence", "GENE"),
    "T083": SemanticType("Geographic Area", "GEOG"),
    "T001": SemanticType("Organism", "LIVB"),
    "T002": SemanticType("Plant", "LIVB"),
    "T004": SemanticType("Fungus", "LIVB"),
    "T005": SemanticType("Virus", "LIVB"),
    "T007": SemanticType("Bacterium", "LIVB"),
    "T008": SemanticType("Animal", "LIVB"),
    "T010": SemanticType("Vertebrate", "LIVB"),
    "T011": SemanticType("Amphibian", "LIVB"),
    "T012": SemanticType("Bird", "LIVB"),
    "T013": SemanticType("Fish", "LIVB"),
    "T014": SemanticType("Reptile", "LIVB"),
    "T015": SemanticType("Mammal", "LIVB"),
    "T016": SemanticType("Human", "LIVB"),
    "T096": SemanticType("Group", "LIVB"),
    "T097": SemanticType("Professional or Occupational Group", "LIVB"),
    "T098": SemanticType("Population Group", "LIVB"),
    "T099": SemanticType("Family Group", "LIVB"),
    "T100": SemanticType("Age Group", "LIVB"),
    "T101": SemanticType("Patient or Disabled Group", "LIVB"),
    "T194": SemanticType("Archaeon", "LIVB"),
    "T204": SemanticType("Eukaryote", "LIVB"),
    "T071": SemanticType("Entity", "OBJC"),
    "T072": SemanticType("Physical Object", "OBJC"),
    "T073": SemanticType("Manufactured Object", "OBJC"),
    "T167": SemanticType("Substance", "OBJC"),
    "T168": SemanticType("Food", "OBJC"),
    "T090": SemanticType("Occupation or Discipline", "OCCU"),
    "T091": SemanticType("Biomedical Occupation or Discipline", "OCCU"),
    "T092": SemanticType("Organization", "ORGA"),
    "T093": SemanticType("Health Care Related Organization", "ORGA"),
    "T094": SemanticType("Professional Society", "ORGA"),
    "T095": SemanticType("Self-help or Relief Organization", "ORGA"),
    "T034": SemanticType("Laboratory or Test Result", "PHEN"),
    "T038": SemanticType("Biologic Function", "PHEN"),
    "T067": SemanticType("Phenomenon or Process", "PHEN"),
    "T068": SemanticType("Human-caused Phenomenon or Process", "PHEN"),
    "T069": SemanticType("Environmental Effect of Humans", "PHEN"),
    "T070": SemanticType("Natural Phenomenon or Process", "PHEN"),
    "T032": SemanticType("Organism Attribute", "PHYS"),
    "T039": SemanticType("Physiologic Function", "PHYS"),
    "T040": SemanticType("Organism Function", "PHYS"),
    "T041": SemanticType("Mental Process", "PHYS"),
    "T042": SemanticType("Organ or Tissue Function", "PHYS"),
    "T043": SemanticType("Cell Function", "PHYS"),
    "T044": SemanticType("Molecular Function", "PHYS"),
    "T045": SemanticType("Genetic Function", "PHYS"),
    "T201": SemanticType("Clinical Attribute", "PHYS"),
    "T058": SemanticType("Health Care Activity", "PROC"),
    "T059": SemanticType("Laboratory Procedure", "PROC"),
    "T060": SemanticType("Diagnostic Procedure", "PROC"),
    "T061": SemanticType("Therapeutic or Preventive Procedure", "PROC"),
    "T062": SemanticType("Research Activity", "PROC"),
    "T063": SemanticType("Molecular Biology Research Technique", "PROC"),
    "T065": SemanticType("Educational Activity", "PROC"),
}
"""Semantic types by unique identifier (TUI)."""


def find_types(types: Iterable[str] = (), groups: Iterable[str] = ()) -> frozenset[str]:
    """Return the TUIs of semantic types and of whole groups.

    Args:
        types: TUIs or names of types, in upper or lower case.
        groups: Codes or names of groups, in upper or lower case.

    Raises:
        SapbertError: E146 if a type or group is unknown.
    """
    by_name = {tui.lower(): tui for tui in SEMANTIC_TYPES}
    by_name |= {type_.name.lower(): tui for tui, type_ in SEMANTIC_TYPES.items()}
    codes = {code.lower(): code for code in SEMANTIC_GROUPS}
    codes |= {name.lower(): code for code, name in SEMANTIC_GROUPS.items()}
    found = {_look_up(by_name, type_, "type") for type_ in types}
    wanted = {_look_up(codes, group, "group") for group in groups}
    return frozenset(found | {tui for tui, type_ in SEMANTIC_TYPES.items() if type_.group in wanted})


def _look_up(known: dict[str, str], text: str, kind: str) -> str:
    key = text.strip().lower()
    if key not in known:
        like = ", ".join(get_close_matches(key, known, n=5, cutoff=0.4)) or "none"
        raise SapbertError(Errors.E146.format(kind=kind, given=text, like=like))
    return known[key]
