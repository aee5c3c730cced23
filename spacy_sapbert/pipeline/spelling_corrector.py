"""`spelling_corrector`: propose corrections of misspelled mentions, from which the linker chooses."""

from pathlib import Path
from typing import Dict, List, Mapping, Optional

from spacy.language import Language
from spacy.tokens import Doc

from ..store.artifact import ArtifactWriter
from ..text.spelling import CorrectionList, Corrector, KnownWords
from .attributes import get_corrections, register, set_corrections
from .base import FolderPipe
from .component_settings import check_setting, defaults_of
from .mentions import mentions_of, variants_of


class SpellingCorrector(FolderPipe):
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

    def __call__(self, doc: Doc) -> Doc:
        """Write the corrections of the mentions of one document. They replace earlier ones."""
        register()  # scispaCy may have replaced the attributes meanwhile
        corrections = self._corrections_of(doc)
        for mention, found in zip(mentions_of(doc, self.spans_key), corrections):
            if found or get_corrections(mention):
                set_corrections(mention, found)
        return doc

    @property
    def corrector(self) -> Corrector:
        """The corrector. It reads the list or the vocabulary at the first use."""
        if self._corrector is None:
            from ..kb.storage import load_knowledge_base
            from ..linking.spelling_files import read_corrections

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

    def _corrections_of(self, doc: Doc) -> List[Dict[str, str]]:
        found = []
        for variants in variants_of(doc, self.spans_key):
            texts = [] if variants.name is not None else variants._replace(corrections={}).texts()
            corrected = {text: self.corrector(text) for text in texts}
            found.append({text: right for text, right in corrected.items() if right != text})
        return found

    def _save(self, folder: Path, artifacts: ArtifactWriter) -> None:
        from ..linking.spelling_files import save_corrector

        save_corrector(self.corrector, folder)

    def _load(self, folder: Path, artifacts: Mapping[str, Path]) -> None:
        from ..linking.spelling_files import load_corrector

        self._corrector = load_corrector(folder)


Language.factory(
    "spelling_corrector",
    func=SpellingCorrector,
    assigns=["span._.corrections"],
    default_config=defaults_of(SpellingCorrector),
)
