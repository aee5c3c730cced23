"""The rules of Spanish."""

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

_LONG_CONNECTORS = frozenset(("así como", "pero no", "y no"))
# "año" and "ano" differ
_LETTERS = letters_without_accents(kept="ñ")
# A severe disease ("enfermedad grave") is not Graves disease.
_NOT_PLURALS = frozenset({"graves"})


def singular(word: str) -> str:
    """Fold the singular and the plural of a lower-case word without accents to one form, which may not be a word.

    Both numbers give the same form (lesiones, lesión; raíces, raíz; índices, índice; genes, gen). Words of fewer than
    four letters, and words with a digit, stay as they are.
    """
    if len(word) < 4 or not word.isalpha() or word in _NOT_PLURALS:
        return word
    if word.endswith(("as", "es", "os")):
        word = word[:-1]
    if word.endswith("z"):
        return word[:-1] + "c"
    return word[:-1] if len(word) > 3 and word.endswith("e") and word[-2] not in "aeiou" else word


_WORDS = WordRules(
    pattern=words_with_marks(),
    # not "a" ("hepatitis A"), nor "y", "o", "no" and "sin", since they change the meaning
    function_words=word_set(
        "de del la el los las lo un una unos unas en por para con al desde sobre entre debido debida debidos debidas"
    ),
    open_words=word_set("de del la el los las lo un una unos unas"),
    spell=folding(_LETTERS),
    singular=singular,
    general_names=(
        "enfermedad", "trastorno", "síndrome", "síntoma", "signo", "hallazgo", "afección", "anomalía", "anormalidad",
        "complicación", "lesión", "condición", "padecimiento", "dolencia", "cuadro", "fármaco", "medicamento", "droga",
        "sustancia", "compuesto", "agente", "elemento", "solución", "mezcla", "proteína", "recidiva", "recaída",
        "emergencia", "urgencia", "cepa",
    ),
)  # fmt: skip

_ABBREVIATIONS = AbbreviationRules(
    stop_words=word_set(
        "a ante al bajo cada como con contra cuando cual cuya cuyas cuyo cuyos de del desde durante e el ella en entre "
        "era es esta estas este estos fue fueron ha han hasta la las le lo los mediante muy ni no o para pero por que "
        "se según ser si sin sobre son su sus también tan tras u un una unas uno unos vía y ya"
    ),
    linking_words=word_set("de del e o para por u y"),
    spelled=spelled(
        r"uno?\b|una\b|primer|mono|uni|i\b dos\b|segund|doble|dual|di|bi|ii\b tres\b|tercer|tri|iii\b "
        r"cuatr|cuart|cuadr|tetra|iv\b cinco|quint|penta|v\b seis|sext|hexa|vi\b siete|s[eé]ptim|hepta|vii\b "
        r"ocho|octa|viii\b nueve|noven|nona|ix\b alfa|alpha beta gamma delta [eé]psilon kappa omega"
    ),
    sentence_end=sentence_end(["vs", "Dr", "Dra", "ej", "aprox"], capitals="ÁÉÍÓÚÑ", opening="«“¿¡", closing="»”"),
    joining=("y", "e", "o", "u", "y/o"),
    letters=_LETTERS,
    quotes="«»„",
    head_first=True,
)

_COMPOSITES = CompositeRules(
    connectors=_LONG_CONNECTORS | {"y", "e", "o", "u", "ni", "&", "/", ",", "y/o", "o/y"},
    parts_of_connectors=(" y ", " e ", " o ", " u ", " ni ", "&", "/", " así como ", " pero no "),
    phrases=_LONG_CONNECTORS | frozenset(("cabeza y cuello", "pie y boca", "manos y pies")),
    announcers=word_set(
        "ambos ambas algún algunos algunas varios varias diversos diversas diferentes distintos distintas"
    ),
    others=word_set("otro otra otros otras"),
    classifier=re.compile(r"(?:tipo|grado|estadio|fase|forma|grupo|clase)s?", re.IGNORECASE),
    prefix=re.compile(
        "(?:hiper|hipo|normo|intra|extra|inter|infra|supra|trans|retro|ultra|pre|post?|peri|para|sub|epi|endo|exo|anti"
        f"|ante|dis|uni|bi|tri|tetra|cuadri|hemi|mono|oligo|poli|multi|pan|micro|macro|taqui|bradi)(?={LETTER}{{3}})",
        re.IGNORECASE,
    ),
    combining_form=re.compile(f"{LETTER}{{2,7}}?[oó](?={LETTER}{{4}})", re.IGNORECASE),
    determiners=word_set("el la los las un una unos unas este esta estos estas su sus lo"),
    prepositions=word_set(
        "de del en a al con sin por para desde durante tras después antes entre contra bajo sobre hacia hasta según "
        "ante"
    ),
    qualifiers=word_set(
        "agudo aguda agudos agudas subagudo subaguda crónico crónica crónicos crónicas grave graves severo severa "
        "severos severas leve leves moderado moderada moderados moderadas progresivo progresiva recurrente recurrentes "
        "recidivante recidivantes persistente persistentes transitorio transitoria anormal anormales familiar "
        "familiares hereditario hereditaria hereditarios hereditarias congénito congénita congénitos congénitas "
        "esporádico esporádica primario primaria primarios primarias secundario secundaria secundarios secundarias "
        "metastásico metastásica metastásicos metastásicas maligno maligna malignos malignas benigno benigna benignos "
        "benignas avanzado avanzada precoz precoces temprano temprana tardío tardía bilateral bilaterales unilateral "
        "unilaterales múltiple múltiples focal focales difuso difusa difusos difusas total totales parcial parciales "
        "completo completa postoperatorio postoperatoria raro rara raros raras común comunes nuevo nueva nuevos nuevas "
        "mortal mortales excesivo excesiva adquirido adquirida neonatal neonatales juvenil juveniles"
    ),
    qualifier_endings=("ado", "ada", "ados", "adas", "ido", "ida", "idos", "idas"),
    positions=word_set(
        "izquierdo izquierda izquierdos izquierdas derecho derecha derechos derechas superior superiores inferior "
        "inferiores central centrales periférico periférica periféricos periféricas anterior anteriores posterior "
        "posteriores dorsal dorsales ventral ventrales proximal proximales distal distales lateral laterales medial "
        "mediales medio media bajo baja bajos bajas alto alta altos altas corto corta cortos cortas largo larga largos "
        "largas pequeño pequeña pequeños pequeñas grande grandes blando blanda duro dura"
    ),
    conditions=re.compile(
        "(?:dolor|enfermedad|trastorno|síndrome|fallo|fracaso|insuficiencia|deficiencia|déficit|disfunción|alteraci[oó]n"
        "|lesi[oó]n|daño|cáncer|tumor|neoplasia|infecci[oó]n|anormalidad|anomalía|malformaci[oó]n|defecto|depresión"
        "|degeneraci[oó]n|toxicidad|epilepsia|convulsi[oó]n|diabetes|ictus|accidente|fiebre|parálisis"
        "|.+(?:itis|oma|osis|emia|patía|algia|plej[ií]a|penia|rrea|trofia|megalia|uria))(?:e?s)?"
    ),
    adjectives=re.compile(
        "..+(?:al|ic[oa]|ar|ari[oa]|[oó]ri[oa]|os[oa]|iv[oa]|ian[oa]|il|ble|[ií]ac[oa]|éne[oa])(?:e?s)?"
    ),
    nouns_like_adjectives=word_set(
        "ovario ovarios memoria memorias mucosa mucosas pus hospital médico médicos cólico cólicos laboratorio "
        "cicatriz páncreas costilla glucosa celulosa lactosa"
    ),
    numerals=numerals(),
    head_first=True,
)

_OPPOSITES = opposites(
    _WORDS,
    (
        "aumento aumentad- elevad- elevación alt- exceso excesiv- incremento ganancia prolongad- grande agrandad-"
        " larg- anch- grues- acelerad- rápid- / disminución disminuid- reducid- reducción baj- descenso"
        " deficiencia déficit pérdida falta ausencia ausente acortad- pequeñ- cort- estrech- delgad- lent-",
        "izquierd- / derech-",
        "anterior / posterior",
        "sistólic- / diastólic-",
        "masculin- hombre varón niño / femenin- mujer niña",
        "deleción / duplicación",
        "superior / inferior",
        "proximal / distal",
        "dorsal / ventral",
        "medial / lateral",
        "intern- / extern-",
        "central / periféric-",
        "superficial / profund-",
        "agud- / crónic-",
        "benign- / malign-",
        "congénit- / adquirid-",
        "primari- / secundari- / terciari-",
        "matern- / patern-",
        "dominante / recesiv-",
        "homocigot- / heterocigot-",
        "unilateral / bilateral",
        "leve / moderad- / grave sever-",
        "tempran- precoz prematur- / tardí- retrasad-",
        "juvenil infantil / adult-",
        "focal / generalizad-",
        "positiv- / negativ-",
        "flexión / extensión",
        "abducción / aducción",
        "abiert- / cerrad-",
    ),
    endings=("o", "a"),
    beginnings="hiper taqui / hipo bradi",
    not_beginnings="hipotal hipofis hipofar hipoglos hipoderm hipospad hipocond hipogast",
    numerals="uno dos tres cuatro cinco seis siete ocho nueve diez / primero segundo tercero cuarto quinto sexto"
    " séptimo octavo noveno décimo / primera segunda tercera cuarta quinta sexta séptima octava novena décima",
    negations="no sin",
    negating="anti",
)

RULES = LanguageRules("es", _WORDS, _ABBREVIATIONS, _COMPOSITES, _OPPOSITES)
