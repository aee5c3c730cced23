"""The rules of German."""

from __future__ import annotations

import re

from .rules import (
    LETTER,
    AbbreviationRules,
    CompositeRules,
    LanguageRules,
    WordRules,
    folding,
    letters_without_accents,
    numerals,
    opposites,
    sentence_end,
    spelled,
    word_set,
    words_with_marks,
)

_LONG_CONNECTORS = frozenset(("aber nicht", "als auch", "und nicht"))
_LETTERS = letters_without_accents(kept="ß")
_fold = folding({**_LETTERS, ord("ä"): "ae", ord("ö"): "oe", ord("ü"): "ue", ord("ß"): "ss"})
# Latin "c" as it is spoken: Carcinom, Karzinom; Ulcus, Ulkus. "ch", "ck" and "sch" stay.
_SOFT_C = re.compile("c(?=[eiy]|ae|oe)")
_HARD_C = re.compile("(?<!s)c(?![hk])")
# An adjective with its ending: chronischer, akuten. Nouns in "er" stay (Leber, Fieber).
_ADJECTIVE = re.compile(
    "(.*(?:isch|lich|haft|bar|los|ig|iv|ell|al|aer|oes|ent|ant)|(?:sub|per)?akut|schwer|leicht|link|recht|maligne?|benign"
    "|diffus|multipl|rezidivierend|angeboren|erworben|obstruktiv|spastisch)e[rnms]?"
)


def spell(word: str) -> str:
    """Fold case, umlauts ("ae"), "ß" ("ss") and the two spellings of Latin words (Carcinom, Karzinom)."""
    form = _fold(word)
    return _HARD_C.sub("k", _SOFT_C.sub("z", form)) if "c" in form else form


def singular(word: str) -> str:
    """Fold numbers and cases of a word that `spell` returned to one form, which may not be a word.

    Nouns lose -e, -en and the -s of the genitive (Tumoren, Tumor; Niere, Nieren; Karzinoms, Karzinom). Adjectives
    lose their endings (chronischer, chronische). Latin "-osis" becomes "-ose". Plurals with an umlaut or -er stay,
    as do words of fewer than five letters.
    """
    if len(word) < 5 or not word.isalpha():
        return word
    if adjective := _ADJECTIVE.fullmatch(word):
        return adjective[1].removesuffix("e")
    if word.endswith("itiden"):
        return word[:-3] + "s"
    if word.endswith("osis"):  # as "-ose"
        return word[:-2]
    for ending in ("en", "e"):
        if word.endswith(ending) and len(word) - len(ending) > 3:
            return word[: -len(ending)]
    if word.endswith("eln") or (word.endswith(("ms", "ngs", "rs", "ls", "ns")) and len(word) > 5):
        return word[:-1]
    return word


def _inflected(stems: str) -> frozenset[str]:
    """Return adjectives with all their endings."""
    return frozenset(stem + ending for stem in stems.split() for ending in ("", "e", "er", "en", "em", "es"))


_WORDS = WordRules(
    pattern=words_with_marks(),
    # not "und", "oder", "nicht", "kein" and "ohne", since they change the meaning
    function_words=word_set(
        "der die das des dem den ein eine einer eines einem einen im in ins am an auf bei beim durch für mit von vom "
        "zu zum zur infolge wegen aus"
    ),
    open_words=word_set("der die das des dem den ein eine einer eines einem einen von vom"),
    spell=spell,
    singular=singular,
    general_names=(
        "Krankheit", "Erkrankung", "Störung", "Syndrom", "Symptom", "Zeichen", "Befund", "Leiden", "Anomalie",
        "Komplikation", "Läsion", "Verletzung", "Zustand", "Medikament", "Arzneimittel", "Droge", "Substanz",
        "Verbindung", "Wirkstoff", "Element", "Lösung", "Mischung", "Gemisch", "Protein", "Eiweiß", "Rezidiv",
        "Rückfall", "Notfall", "Stamm",
    ),
)  # fmt: skip

_ABBREVIATIONS = AbbreviationRules(
    stop_words=word_set(
        "ab aber als am an auch auf aus bei beim bis da das dass dem den der des die dies diese dieser durch ein eine "
        "einem einen einer eines er es für gegen hat im in ins ist ist kein keine mit nach nicht noch nur ob oder ohne "
        "sein sich sie sind sowie über um und unter vom von vor war waren wegen wie wird wurde wurden zu zum zur "
        "zwischen"
    ),
    linking_words=word_set("oder und vom von"),
    spelled=spelled(
        r"eins?\b|erst|mono|uni|i\b zwei|zweit|doppel|dual|di|bi|ii\b drei|dritt|tri|iii\b vier|quadr|tetra|iv\b "
        r"fünf|penta|v\b sechs|hexa|vi\b sieb|hepta|vii\b acht|octa|okta|viii\b neun|nona|ix\b alpha beta gamma delta "
        r"epsilon kappa omega"
    ),
    sentence_end=sentence_end(
        ["vs", "bzw", "ca", "vgl", "inkl", "sog", "evtl", "ggf", "Dr", "Prof", "usw"],
        capitals="ÄÖÜ",
        opening="„»",
        closing="“«",
    ),
    joining=("und", "oder", "sowie", "bzw.", "und/oder"),
    letters=_LETTERS,
    quotes="„«»",
)

# The last part of compounds that share it: "Brust- und Eierstockkrebs".
_HEADS = """
    krebs karzinom carcinom tumor sarkom lymphom adenom metastase erkrankung krankheit entzündung infektion
    insuffizienz versagen schwäche schmerz störung verletzung bruch fraktur blutung embolie thrombose
    infarkt stenose zirrhose fibrose syndrom fehlbildung missbildung anomalie mangel allergie intoleranz
    vergiftung schaden schädigung läsion nekrose ödem geschwür abszess zyste polyp stein atrophie dystrophie
    hypertrophie hypertonie hypotonie lähmung parese dysfunktion funktion druck frequenz rhythmus zelle
    gewebe gefäß arterie vene nerv muskel knochen drüse klappe gelenk transplantation operation therapie
    behandlung symptom anfall fieber grippe pneumonie anämie leukämie neuropathie pathie spiegel wachstum
    entwicklung retardierung riss prolaps vorfall hernie dilatation kompression ulkus virus toxizität
    deformität verlust minderung ausfall fehlstellung verschluss verengung aneurysma abhängigkeit missbrauch sucht
    empfindlichkeit erguss hyperplasie dysplasie krampf spasmus embolie hämatom trauma ruptur neurose phobie
"""

_COMPOSITES = CompositeRules(
    connectors=_LONG_CONNECTORS
    | {"und", "oder", "sowie", "bzw.", "beziehungsweise", "noch", "&", "/", ",", "und/oder", "oder/und"},
    parts_of_connectors=("und", "oder", "sowie", "bzw", "beziehungsweise", "noch", "&", "/", "als auch", "aber nicht"),
    phrases=_LONG_CONNECTORS | frozenset(("kopf und hals", "hals und nase", "maul und klauen", "hand und fuß")),
    announcers=word_set("sowohl weder entweder beide beider einige mehrere verschiedene diverse"),
    others=word_set("andere anderer anderen anderes"),
    classifier=re.compile(r"(?:typ|grad|stadium|stufe|form|gruppe|klasse|phase)(?:en?|n|s)?", re.IGNORECASE),
    prefix=re.compile(
        "(?:hyper|hypo|normo|intra|extra|inter|infra|supra|trans|retro|ultra|prä|post|peri|para|sub|epi|endo|exo|anti"
        "|ante|dys|uni|bi|tri|tetra|hemi|mono|oligo|poly|multi|pan|mikro|makro|tachy|brady|ober|unter|über|vor|nach"
        f"|links|rechts)(?={LETTER}{{3}})",
        re.IGNORECASE,
    ),
    combining_form=re.compile(f"{LETTER}{{2,7}}?o(?={LETTER}{{4}})", re.IGNORECASE),
    head=re.compile(rf"(?<={LETTER}{{2}})(?:{'|'.join(_HEADS.split())})(?:e[nrs]?|n|s)?$", re.IGNORECASE),
    determiners=word_set(
        "der die das des dem den ein eine einer eines einem einen dies diese dieser dieses sein seine ihr ihre"
    ),
    prepositions=word_set(
        "von vom in im ins an am auf aus bei beim mit ohne für durch nach vor zwischen gegen unter über zu zum zur "
        "wegen während"
    ),
    qualifiers=_inflected(
        "akut subakut chronisch schwer leicht mild moderat mäßig progressiv progredient rezidivierend wiederkehrend "
        "persistierend transient abnorm abnormal familiär hereditär erblich kongenital angeboren erworben sporadisch "
        "primär sekundär metastasierend metastasiert maligne malign benigne benign bösartig gutartig fortgeschritten "
        "früh spät bilateral beidseitig unilateral einseitig multipel multipl fokal diffus total partiell komplett "
        "postoperativ präoperativ selten häufig neu tödlich neonatal juvenil"
    ),
    qualifier_endings=(),
    positions=_inflected(
        "link recht ober unter mittler zentral peripher anterior posterior vorder hinter dorsal ventral proximal "
        "distal lateral medial superior inferior hoh hoch niedrig kurz lang klein groß weich hart"
    ),
    conditions=re.compile(
        f"(?:{LETTER}*(?:schmerz|krankheit|erkrankung|störung|syndrom|versagen|insuffizienz|mangel|schwäche|dysfunktion"
        "|verletzung|schaden|läsion|krebs|tumor|infektion|entzündung|anomalie|fehlbildung|defekt|depression|degeneration"
        "|toxizität|epilepsie|anfall|diabetes|fieber|infarkt|lähmung|blutung|bruch|fraktur)"
        "|.+(?:itis|om|ose|[aä]mie|pathie|algie|plegie|penie|rrhö|trophie|megalie|urie))(?:e[nrs]?|n|s)?"
    ),
    adjectives=re.compile("..+(?:isch|lich|al|ell|är|ös|ig|iv|bar|haft|los|gen|end)(?:e[rnms]?)?"),
    nouns_like_adjectives=word_set(
        "magen augen lungen rachen befund signal kanal essig honig gewebe protokoll ende hallux knöchel"
    ),
    numerals=numerals("A-Zb-z"),
)

_OPPOSITES = opposites(
    _WORDS,
    (
        "erhöht- gesteigert- hoch hoh- vermehrt- übermäßig- verlängert- vergrößert- groß- lang- breit- dick-"
        " beschleunigt- schnell- zunahme anstieg erhöhung überschuss vermehrung verlängerung vergrößerung /"
        " vermindert- verringert- erniedrigt- reduziert- niedrig- verkürzt- verkleinert- klein- kurz- schmal-"
        " dünn- fehlend- langsam- verlangsamt- abnahme abfall verminderung verringerung mangel verlust fehlen"
        " verkürzung",
        "link- links / recht- rechts",
        "vorder- anterior- / hinter- posterior-",
        "systolisch- / diastolisch-",
        "männlich- mann männer junge / weiblich- frau frauen mädchen",
        "deletion / duplikation",
        "ober- / unter-",
        "proximal- / distal-",
        "dorsal- / ventral-",
        "medial- / lateral-",
        "inner- / äußer-",
        "zentral- / peripher-",
        "oberflächlich- / tief-",
        "akut- / chronisch-",
        "gutartig- benign- / bösartig- malign-",
        "angeboren- kongenital- / erworben-",
        "primär- / sekundär- / tertiär-",
        "mütterlich- maternal- / väterlich- paternal-",
        "dominant- / rezessiv-",
        "homozygot- / heterozygot-",
        "einseitig- unilateral- / beidseitig- bilateral-",
        "leicht- / mittelschwer- mäßig- / schwer-",
        "früh- vorzeitig- / spät- verzögert-",
        "juvenil- infantil- kindlich- / adult-",
        "fokal- / generalisiert-",
        "positiv- / negativ-",
        "flexion / extension",
        "abduktion / adduktion",
    ),
    endings=("", "e", "er", "en", "em", "es"),
    beginnings="hyper tachy / hypo brady",
    not_beginnings="hypothal hypophys hypogloss hypoderm hypophar hypospad hypothen hypochond hypogast",
    numerals="eins zwei drei vier fünf sechs sieben acht neun zehn / erste zweite dritte vierte fünfte sechste siebte"
    " achte neunte zehnte / erster zweiter dritter vierter fünfter sechster siebter achter neunter zehnter / ersten"
    " zweiten dritten vierten fünften sechsten siebten achten neunten zehnten",
    negations="nicht kein keine keinen keiner ohne",
    negating="nicht anti",
    lacking="los lose loser losen loses",
)

RULES = LanguageRules("de", _WORDS, _ABBREVIATIONS, _COMPOSITES, _OPPOSITES)
