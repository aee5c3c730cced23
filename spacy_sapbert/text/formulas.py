"""Names of chemical formulas, ions, element symbols and amino-acid codes: "Ca2+" is calcium, "ZnSO4" zinc sulfate.

The symbols, names and codes are those of IUPAC (Red Book 2005; IUPAC-IUB 1984 for amino acids), in American spelling.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from string import ascii_lowercase

from .languages.rules import word_set

MAX_LENGTH = 16  # characters of a formula


def _table(pairs: str) -> dict[str, str]:
    """Return what symbols stand for, from pairs such as "HCl:hydrochloric_acid"."""
    return dict(re.findall(r"(\S+):(\S+)", pairs))


ELEMENTS = _table(
    """
    H:hydrogen He:helium Li:lithium Be:beryllium B:boron C:carbon N:nitrogen O:oxygen F:fluorine Ne:neon Na:sodium
    Mg:magnesium Al:aluminum Si:silicon P:phosphorus S:sulfur Cl:chlorine Ar:argon K:potassium Ca:calcium Sc:scandium
    Ti:titanium V:vanadium Cr:chromium Mn:manganese Fe:iron Co:cobalt Ni:nickel Cu:copper Zn:zinc Ga:gallium
    Ge:germanium As:arsenic Se:selenium Br:bromine Kr:krypton Rb:rubidium Sr:strontium Y:yttrium Zr:zirconium
    Nb:niobium Mo:molybdenum Tc:technetium Ru:ruthenium Rh:rhodium Pd:palladium Ag:silver Cd:cadmium In:indium Sn:tin
    Sb:antimony Te:tellurium I:iodine Xe:xenon Cs:cesium Ba:barium La:lanthanum Ce:cerium Pr:praseodymium Nd:neodymium
    Sm:samarium Eu:europium Gd:gadolinium Tb:terbium Dy:dysprosium Ho:holmium Er:erbium Tm:thulium Yb:ytterbium
    Lu:lutetium Hf:hafnium Ta:tantalum W:tungsten Re:rhenium Os:osmium Ir:iridium Pt:platinum Au:gold Hg:mercury
    Tl:thallium Pb:lead Bi:bismuth Po:polonium At:astatine Rn:radon Fr:francium Ra:radium Ac:actinium Th:thorium
    Pa:protactinium U:uranium Np:neptunium Pu:plutonium Am:americium Cm:curium
    """
)
_ANIONS = _table(
    """
    Cl:chloride Br:bromide F:fluoride I:iodide O:oxide S:sulfide OH:hydroxide SO4:sulfate SO3:sulfite CO3:carbonate
    HCO3:bicarbonate NO3:nitrate NO2:nitrite PO4:phosphate HPO4:phosphate H2PO4:phosphate CN:cyanide SCN:thiocyanate
    ClO:hypochlorite ClO2:chlorite ClO3:chlorate ClO4:perchlorate MnO4:permanganate CrO4:chromate Cr2O7:dichromate
    IO3:iodate N3:azide
    """
)
_COMPOUNDS = _table(
    """
    H2:hydrogen N2:nitrogen O2:oxygen O3:ozone H2O:water H2O2:hydrogen_peroxide CO:carbon_monoxide CO2:carbon_dioxide
    CS2:carbon_disulfide CCl4:carbon_tetrachloride CHCl3:chloroform CH2Cl2:methylene_chloride CH4:methane
    CH3OH:methanol C2H5OH:ethanol MeOH:methanol EtOH:ethanol NO:nitric_oxide N2O:nitrous_oxide NO2:nitrogen_dioxide
    NH3:ammonia HCl:hydrochloric_acid KI:potassium_iodide KF:potassium_fluoride HBr:hydrobromic_acid
    HCN:hydrogen_cyanide H2SO4:sulfuric_acid HNO3:nitric_acid H3PO4:phosphoric_acid H2S:hydrogen_sulfide
    SO2:sulfur_dioxide TiO2:titanium_dioxide SiO2:silicon_dioxide ClO2:chlorine_dioxide As2O3:arsenic_trioxide
    """
)
_AMINO_ACIDS = _table(
    """
    Ala:alanine Arg:arginine Asn:asparagine Asp:aspartic_acid Cys:cysteine Gln:glutamine Glu:glutamic_acid Gly:glycine
    His:histidine Ile:isoleucine Leu:leucine Lys:lysine Met:methionine Phe:phenylalanine Pro:proline Ser:serine
    Thr:threonine Trp:tryptophan Tyr:tyrosine Val:valine
    """
)
ISOTOPES = _table(
    """
    H:2,3 C:11,13,14 N:13,15 O:15,17,18 F:18 Na:22,24 P:32,33 S:35 Cl:36 K:42 Ca:45,47 Cr:51 Co:57,60 Fe:59 Cu:64,67
    Zn:65 Ga:67,68 Se:75 Rb:82,86 Sr:89 Y:90 Zr:89 Tc:99m Pd:103 Cd:109 In:111 I:123,124,125,131 Xe:133 Cs:137 Sm:153
    Ho:166 Lu:177 Re:186,188 Ir:192 Au:198 Hg:203 Tl:201 Po:210 At:211 Bi:213 Ra:223,226 Ac:225 Th:232 U:235,238 Pu:239
    Am:241
    """
)
_NON_METALS = word_set("H He B C N O F Ne Si P S Cl Ar As Se Br Kr Te I Xe At Rn")


def _alternatives(symbols: Iterable[str]) -> str:
    return "|".join(sorted(sorted(symbols), key=len, reverse=True))


_ELEMENT = _alternatives(ELEMENTS)
_ANION = _alternatives(_ANIONS)
_LONG_ANION = _alternatives(_ANIONS.keys() - {"F", "I", "O", "S"})
_METAL = _alternatives({*ELEMENTS, "NH4"} - _NON_METALS)
_POSITIVE = r"[(\[]?(?:\d?\+|\+\d|\+{2,3})[)\]]?"
_NEGATIVE = r"[(\[]?\d?-{1,3}[)\]]?"
_ION = re.compile(
    rf"(?P<cation>{_ELEMENT}|NH4){_POSITIVE}|(?P<halide>F|I)[(\[]?-[)\]]?"
    rf"|(?P<anion>{_LONG_ANION}){_NEGATIVE}"
)
_SYMBOL = re.compile(rf"(?P<element>{_ELEMENT})(?:\((?:I{{1,3}}|I?V|VI)\))?")
# A salt of two capital letters alone is more often a short form of something else.
_SALT = re.compile(rf"(?=.*[a-z0-9])(?P<metal>{_METAL})\d?(?:(?P<anion>{_ANION})\d?|\((?P<group>{_ANION})\)\d)")
_SPACE_BEFORE_CHARGE = re.compile(r" (?=[(\[]?\d?[+-]{1,3}[)\]]?$)")
_AMINO_ACID = re.compile(rf"(?:[DL]-)?(?P<code>{_alternatives(_AMINO_ACIDS)})")


def formula_name(text: str) -> str | None:
    """Return the name of what a formula stands for, or None if the text is not a formula that is known here.

    Case counts: "Co" is cobalt, "CO" carbon monoxide. Charge and oxidation state are left out. Isotopes are not among
    them, see `spacy_sapbert.text.chemistry`.
    """
    if len(text) > MAX_LENGTH or text[:1] in ascii_lowercase:
        return None
    formula = unicodedata.normalize("NFKC", text).replace("\N{MINUS SIGN}", "-").replace("\N{EN DASH}", "-")
    formula = _SPACE_BEFORE_CHARGE.sub("", formula)
    name = _COMPOUNDS.get(formula) or _element(formula) or _ion(formula) or _salt(formula) or _amino_acid(formula)
    return name and name.replace("_", " ")


def _element(formula: str) -> str | None:
    match = _SYMBOL.fullmatch(formula)
    return ELEMENTS[match["element"]] if match else None


def _ion(formula: str) -> str | None:
    match = _ION.fullmatch(formula)
    if not match:
        return None
    anion = match["anion"] or match["halide"]
    return _ANIONS[anion] if anion else _cation(match["cation"])


def _salt(formula: str) -> str | None:
    match = _SALT.fullmatch(formula)
    return f"{_cation(match['metal'])} {_ANIONS[match['anion'] or match['group']]}" if match else None


def _amino_acid(formula: str) -> str | None:
    match = _AMINO_ACID.fullmatch(formula)
    return _AMINO_ACIDS[match["code"]] if match else None


def _cation(symbol: str) -> str:
    return "ammonium" if symbol == "NH4" else ELEMENTS[symbol]
