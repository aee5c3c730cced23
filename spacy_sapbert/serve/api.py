"""Describe what programs send to the server and get from it.

The answers are written by `record_of`, as those of `link --to jsonl`; a test compares them with these models.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class Document(BaseModel):
    """A text to link. Further keys come back in `meta` of the record."""

    model_config = ConfigDict(extra="allow")

    text: str = Field(description="The text.", examples=["She had a heart attack."])
    id: str | int | None = Field(None, description="The id of the record.")
    title: str | None = Field(None, description="The title. It is linked before the text, with a blank between them.")


class KbEnt(BaseModel):
    """A candidate of a mention."""

    id: str = Field(description="The concept id.")
    score: float = Field(description="The score of the concept.")
    preferred_name: str | None = Field(description="The preferred name of the concept.")


class Alternative(BaseModel):
    """Another candidate of a link."""

    concept_id: str = Field(description="The concept id.")
    name: str | None = Field(description="The matched name.")
    preferred_name: str | None = Field(description="The preferred name of the concept.")
    score: float | None = Field(description="The score.")
    probability: float | None = Field(description="The probability, if the linker is calibrated.")


class Link(BaseModel):
    """A link of a mention, or of a part of it."""

    text: str = Field(description="The text that was looked up.")
    concept_id: str | None = Field(description="The concept id; null if there is no link.")
    name: str | None = Field(description="The matched name.")
    preferred_name: str | None = Field(description="The preferred name of the concept.")
    types: list[str] = Field(description="The types of the concept.")
    score: float | None = Field(description="The score.")
    probability: float | None = Field(description="The probability, if the linker is calibrated.")
    long_form: str | None = Field(description="The long form of an abbreviation that was looked up.")
    split: bool = Field(description="Whether this is a part of a composite mention.")
    reason: str | None = Field(description="Why there is no link.")
    tie: str | None = Field(description="Why this concept was chosen among those with the same score.")
    reasons: list[str] = Field(description="Why the reranker chose this concept.")
    runner_up: Alternative | None = Field(description="The next concept.")
    rejected: Alternative | None = Field(description="The best candidate, if it was rejected.")
    offsets: list[list[int]] = Field([], description="The words of this part in the text, if the mention was split.")


class Entity(BaseModel):
    """A mention and its links."""

    start: int = Field(description="Where the mention starts in the text, in characters.")
    end: int = Field(description="Where the mention ends.")
    text: str = Field(description="The text of the mention.")
    label: str = Field(description="The label of the mention.")
    snippet: str = Field(description="The mention in brackets, with its context.")
    assertion: list[str] = Field(description="Flags such as negated, if the pipeline finds them.")
    section: str | None = Field(description="The section of a note, such as family history, if the pipeline finds it.")
    kb_id: str = Field(description="The concept ids, joined by |. NIL without a link.")
    kb_ents: list[KbEnt] = Field(description="The candidates, best first.")
    links: list[Link] = Field(description="A link for each part.")
    offsets: list[list[int]] = Field([], description="The pieces of a mention with gaps.")


class Evidence(BaseModel):
    """A place in the text that supports a concept."""

    start: int = Field(description="Where it starts in the text.")
    end: int = Field(description="Where it ends.")
    text: str = Field(description="Its text.")


class Abbreviation(Evidence):
    """An occurrence of an abbreviation."""

    long_form: str = Field(description="Its long form.")


class Concept(BaseModel):
    """A concept of the whole text."""

    id: str = Field(description="The concept id.")
    score: float = Field(description="The score.")
    name: str = Field(description="The preferred name.")
    evidence: list[Evidence] = Field(description="The places that support it.")
    contributions: dict[str, float] = Field(description="What each signal adds to the score.")


class Record(BaseModel):
    """A linked text, as `spacy-sapbert link --to jsonl` writes it."""

    id: str = Field(description="The id that was sent.")
    text: str = Field(description="The text, after its title.")
    title: str = Field("", description="The title, if there is one.")
    entities: list[Entity] = Field(description="The mentions, in the order of the text.")
    abbreviations: list[Abbreviation] = Field(description="The abbreviations with their long forms.")
    concepts: list[Concept] = Field([], description="The concepts of the text, with a concept_retriever.")
    meta: dict[str, object] = Field({}, description="The further keys that were sent, and the title.")


class Problem(BaseModel):
    """Why a request was refused."""

    error: str = Field(description="The reason, and what to do.")


class BrokenText(Problem):
    """Why one text of a batch was not linked. The others are."""

    id: str = Field("", description="The id that was sent, if it could be read.")


class Health(BaseModel):
    """The state of the server."""

    status: str = Field(description="ok, starting or stopping.")
    pipeline: str = Field(description="The name of the pipeline.")
    concepts: int | None = Field(None, description="The number of concepts in the vocabulary, once it is loaded.")
