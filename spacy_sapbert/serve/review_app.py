"""Define the server of the review page: the page, and what it asks for as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, FastAPI, HTTPException
from pydantic import BaseModel, Field
from starlette.responses import HTMLResponse, JSONResponse

from ..outputs.pages import LOOK, display_label, open_template
from ..review.corrections import FLAG
from .review_session import Overtaken, ReviewSession
from .safety import CSP, page_policy, protect
from .settings import LOCAL_HOSTS

_FOLDER = Path(__file__).parent
_STYLE = LOOK + (_FOLDER / "review.css").read_text(encoding="utf8")
_SCRIPT = (_FOLDER / "review.js").read_text(encoding="utf8")
POLICY = page_policy(_STYLE, _SCRIPT, directives="form-action 'none'; connect-src 'self'")
"""The Content-Security-Policy of the page, which allows only its own style and script, and questions to this server."""
MAX_IDS, MAX_TEXT, MAX_QUERY, MAX_BYTES = 20, 500, 200, 100_000
CorrectionScope = Literal["occurrence", "corpus", "everywhere"]
Text = Annotated[str, Field(max_length=MAX_TEXT)]  # with a bound, pydantic also refuses half of a surrogate pair
Ids = Annotated[list[Text], Field(max_length=MAX_IDS)]


class Decision(BaseModel):
    """A decision about the mention on the page.

    Attributes:
        seen: The correction that the page showed; None if the mention was open.
    """

    action: Literal["accept", "reject", "replace", "no_mention", "flag"]
    concept_ids: Ids = []
    flags: Ids = []
    scope: CorrectionScope
    comment: Text = ""
    seen: int | None = None


class Addition(BaseModel):
    """A mention that was missed."""

    document: Text
    start: int = Field(ge=0)
    end: int = Field(ge=1)
    concept_ids: Ids = []
    label: Text = ""
    scope: CorrectionScope
    comment: Text = ""


def make_review_app(session: ReviewSession, *, hosts: Sequence[str] = LOCAL_HOSTS) -> FastAPI:
    """Create the server of a review. All its addresses begin with the secret of the corrections file.

    For `hosts`, see `protect`.
    """
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    app.include_router(_Pages(session).router)
    protect(app, hosts, max_bytes=MAX_BYTES, secret=session.file.secret)
    return app


class _Pages:
    """The answers of the server. None waits for anything, so one after the other uses the session."""

    def __init__(self, session: ReviewSession) -> None:
        self.session = session
        labels = [(label, display_label(label), session.color(label)) for label in session.labels]
        template = open_template(_FOLDER / "review.html", style=_STYLE, script=_SCRIPT)
        self._page = template.render(labels=labels, author=session.author)
        self.router = APIRouter(prefix="/{secret}")
        for path, method, answer in (
            ("/", "GET", self.page),
            ("/next", "GET", self.next),
            ("/mentions/{number}", "GET", self.mention),
            ("/mentions/{number}/decision", "POST", self.decide),
            ("/additions", "POST", self.add),
            ("/undo/{number}", "POST", self.undo),
            ("/search", "GET", self.search),
            ("/concepts", "GET", self.concept),
        ):
            self.router.add_api_route(path, answer, methods=[method])

    async def page(self) -> HTMLResponse:
        return HTMLResponse(self._page, headers={CSP: POLICY})

    async def next(self, window: str, later: int | None = None) -> dict[str, Any]:
        self._check(later)
        return self._shown(self.session.next(window, later=later), window)

    async def mention(self, number: int, window: str) -> dict[str, Any]:
        self._check(number)
        return self._shown(number, window)

    async def decide(self, number: int, window: str, sent: Decision) -> Any:
        self._check(number)
        try:
            correction = self.session.decide(number, **sent.model_dump())
        except Overtaken as error:
            return self._overtaken(error, number, window)
        shown = self._shown(number if sent.action == FLAG else self.session.next(window), window)
        return {"correction": self.session.correction(correction), **shown}

    async def add(self, number: int, window: str, sent: Addition) -> Any:
        self._check(number)
        try:
            correction = self.session.add(**sent.model_dump(), window=window)
        except Overtaken as error:
            return self._overtaken(error, number, window)
        return {"correction": self.session.correction(correction), **self._shown(number, window)}

    async def undo(self, number: int, window: str) -> dict[str, Any]:
        mention = self.session.mention_of(number)
        undone = self.session.undo(number)
        return {"undone": undone, **self._shown(self.session.next(window) if mention is None else mention, window)}

    async def search(self, text: str, by: Literal["name", "meaning"]) -> dict[str, Any]:
        return {"concepts": self.session.search(text[:MAX_QUERY], by_meaning=by == "meaning")}

    async def concept(self, id: str) -> dict[str, Any]:
        return self.session.concept(id)

    def _overtaken(self, error: Overtaken, number: int, window: str) -> JSONResponse:
        """Return what the window shows now, so that the reviewer can look again, and decide once more."""
        author = error.args[0] or "Another window"
        message = f"{author} has decided this mention meanwhile. Look at it again with K, or decide once more."
        return JSONResponse({"error": message, **self._shown(number, window)}, 409)

    def _check(self, number: int | None) -> None:
        """Check that there is such a mention."""
        if number is not None and not 0 <= number < len(self.session.queue.mentions):
            raise HTTPException(404)

    def _shown(self, number: int | None, window: str) -> dict[str, Any]:
        """Return what a window shows: a mention, or that all are decided."""
        view = None if number is None else self.session.view(number, window)
        return {"view": view, "progress": self.session.progress()}
