"""`spelling_corrector`: propose corrections of misspelled mentions, from which the linker chooses."""

from pathlib import Path
from typing import Dict, List, Mapping, Optional, Tuple

from spacy.language import Language
from spacy.tokens import Doc

from ..errors import BadRecordError
from ..files.opening import open_text
from ..files.values import parse_int
from ..store.artifact import ArtifactWriter
from ..text.spelling import CorrectionList, Corrector, KnownWords, is_word
from .attributes import CORRECTIONS
from .base import FolderPipe, MentionComponent
from .component_settings import add_factory, check_setting
from .mentions import queries_of

CORRECTIONS_FILE = "corrections.txt"
WORDS_FILE = "words.tsv"
_SEPARATOR = "||"
_REMEDY = "Each line must contain a misspelled word and its correction: `brest||breast`."


class SpellingCorrector(FolderPipe, MentionComponent):
    """Writes corrections of a mention, its long form and its composite splits to `span._.corrections`.

    Add it after the `abbreviation_resolver` and the `composite_splitter`, and before the `sapbert_linker`. A mention
    that the `concept_matcher` found is already a name and is not corrected.

    Args:
        nlp: The pipeline.
        name: The name of the component.
        kb: "starter", or the path of a knowledge base. Its words count as correct, see `KnownWords`.
        corrections: The path of a list with `wrong||right` on each line, used instead of the words of the knowledge
            base.
        spans_key: The span group with the mentions; None for `doc.ents`.

    Raises:
        SapbertError: E406 `corrections` is empty.
    """

    fixed = ("kb", "corrections")
    writes = CORRECTIONS

    def __init__(
        self,
        nlp: Language,
        name: str = "spelling_corrector",
        *,
        kb: str = "starter",
        corrections: Optional[str] = None,
        spans_key: Optional[str] = None,
    ) -> None:
        self.keep(nlp, name, locals())
        self._corrector: Optional[Corrector] = None
        check_setting(self, "corrections", corrections != "", "null, or the path of a list")

    @property
    def corrector(self) -> Corrector:
        """The corrector. It reads the list or the vocabulary at the first use."""
        if self._corrector is None:
            from ..kb.storage import load_knowledge_base

            if self._corrections is not None:
                self._corrector = read_corrections(Path(self._corrections))
            else:
                self._corrector = KnownWords.of_names(load_knowledge_base(self._kb).names())
        return self._corrector

    def set_kb(self, kb: str) -> None:
        """Accept the words of another vocabulary as correct from now on. A list stays.

        Args:
            kb: "starter", or the path of a knowledge base.
        """
        self._kb = kb
        if not isinstance(self._corrector, CorrectionList):
            self._corrector = None

    def find(self, doc: Doc) -> List[Dict[str, str]]:
        found = []
        for variants, _ in queries_of(doc, self.spans_key):
            texts = [] if variants.name is not None else variants._replace(corrections={}).texts()
            corrected = {text: self.corrector(text) for text in texts}
            found.append({text: right for text, right in corrected.items() if right != text})
        return found

    def _save(self, folder: Path, artifacts: ArtifactWriter) -> None:
        corrector = self.corrector
        if isinstance(corrector, CorrectionList):
            lines = [f"{wrong}{_SEPARATOR}{right}\n" for wrong, right in corrector.pairs.items()]
            (folder / CORRECTIONS_FILE).write_text("".join(lines), encoding="utf-8")
        elif isinstance(corrector, KnownWords):
            lines = [f"{word}\t{count}\n" for word, count in sorted(corrector.counts.items())]
            (folder / WORDS_FILE).write_text("".join(lines), encoding="utf-8")

    def _load(self, folder: Path, artifacts: Mapping[str, Path]) -> None:
        if (folder / CORRECTIONS_FILE).is_file():
            self._corrector = read_corrections(folder / CORRECTIONS_FILE)
        else:
            rows = (line.split("\t") for line in (folder / WORDS_FILE).read_text(encoding="utf-8").splitlines())
            self._corrector = KnownWords({word: parse_int(count) for word, count in rows})


add_factory(SpellingCorrector, assigns=["span._.corrections"], requires=["doc.ents"])


def read_corrections(path: Path) -> CorrectionList:
    """Read a list with lines `wrong||right`, the format of BioSyn's list for NCBI Disease.

    The wrong side is one word. Empty lines are skipped.
    """
    pairs: Dict[str, str] = {}
    with open_text(path) as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            wrong, right = _pair(line, path, number)
            if pairs.setdefault(wrong, right) != right:
                reason = f"'{wrong}' is already corrected to '{pairs[wrong]}'"
                raise BadRecordError(_REMEDY, path=path, line=number, reason=reason)
    return CorrectionList(pairs)


def _pair(line: str, path: Path, number: int) -> Tuple[str, str]:
    wrong, separator, right = (part.strip() for part in line.partition(_SEPARATOR))
    reason = None
    if not separator or _SEPARATOR in right:
        reason = "it must have exactly two sides"
    elif not is_word(wrong):
        reason = f"'{wrong}' is not one word of letters and digits"
    elif not right:
        reason = f"there is no correction of '{wrong}'"
    if reason:
        raise BadRecordError(_REMEDY, path=path, line=number, reason=reason)
    return wrong.lower(), right
