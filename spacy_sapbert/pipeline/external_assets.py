"""Find the assets of a component that was saved with `storage = "external"`."""

from pathlib import Path
from typing import Dict, Mapping, Optional

from ..errors import Errors, SapbertError
from ..store.assets import KB, ExternalAsset
from ..store.cache import cache_dir


def find_external(external: Mapping[str, ExternalAsset], name: str, kb: Optional[str]) -> Dict[str, Path]:
    """Find the assets where they were, or else where the settings say that they are now.

    A file is accepted if its size and its fingerprint are those that were saved. Reading all of it would take minutes
    for a vocabulary of 10 GB. The fingerprint is a hash of the whole content that was taken when the file was built,
    and nothing but a new build writes such a file. Another vocabulary therefore has another fingerprint, and a file
    that was cut off has another size. Damage that changes neither is reported when SQLite or NumPy reads that place.

    Args:
        external: The assets by role.
        name: The name of the component.
        kb: The setting `kb` of the component.

    Returns:
        The paths by role.

    Raises:
        SapbertError: E412 the knowledge base has moved or changed, E413 other files have.
    """
    return {role: _find(role, asset, name, kb) for role, asset in external.items()}


def _find(role: str, asset: ExternalAsset, name: str, kb: Optional[str]) -> Path:
    saved = Path(asset.path)
    if role == KB:
        places, code = [saved, *([] if kb in (None, "starter") else [Path(str(kb))])], Errors.E412
    else:
        places, code = [saved, cache_dir() / saved.parent.name / saved.name], Errors.E413
    reasons = {place: _why_not(role, asset, place) for place in places}
    for place, reason in reasons.items():
        if reason is None:
            return place
    reason = "; ".join(filter(None, reasons.values()))
    raise SapbertError(code.format(component=name, reason=reason, folder=places[-1].parent))


def _why_not(role: str, asset: ExternalAsset, path: Path) -> Optional[str]:
    return asset.why_not(path) or (_why_another(path, asset.fingerprint) if role == KB else None)


def _why_another(path: Path, fingerprint: str) -> Optional[str]:
    from ..kb.knowledge_base import KnowledgeBase

    try:
        found = KnowledgeBase(path).fingerprint
    except SapbertError as error:
        return f"{path} cannot be opened: {error}"
    return None if found == fingerprint else f"{path} holds another vocabulary"
