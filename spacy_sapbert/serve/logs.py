"""Write the log of a server to standard error, as text or as JSON lines. No line contains a text that was sent."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from datetime import datetime, timezone
from enum import Enum
from typing import Any

from ..documents.input_documents import Problems
from ..files.console import stderr_console

LOGGER = logging.getLogger("spacy_sapbert.serve")
_FIELDS = "fields"


class LogFormat(str, Enum):
    """The formats of the log. With `none`, only errors are written."""

    text = "text"
    json = "json"
    none = "none"


class _Text(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created).strftime("%Y-%m-%d %H:%M:%S")
        trace = f"\n{self.formatException(record.exc_info)}" if record.exc_info else ""
        return f"{time} {record.getMessage()}{trace}"


class _JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created, timezone.utc).isoformat(timespec="milliseconds")
        fields: dict[str, Any] = getattr(record, _FIELDS, None) or {"message": record.getMessage()}
        line = {"time": time, "level": record.levelname.lower(), **fields}
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line)


def configure(format: LogFormat) -> None:
    """Let this process write the log, with the messages of uvicorn."""
    handler = logging.StreamHandler()
    handler.setFormatter(_JsonLines() if format is LogFormat.json else _Text())
    quiet = logging.WARNING
    for logger, level in (
        (logging.getLogger("uvicorn"), quiet),
        (LOGGER, quiet if format is LogFormat.none else logging.INFO),
    ):
        logger.handlers = [handler]
        logger.setLevel(level)
        logger.propagate = False


def announcer(format: LogFormat) -> Callable[[str], object]:
    """Configure the log, and return a function that shows a message of the command, as a line of it if it is JSON."""
    configure(format)
    return LOGGER.info if format is LogFormat.json else stderr_console().print


def log_request(fields: dict[str, Any]) -> None:
    """Write the line of a request.

    Args:
        fields: Its method, path, status, time in milliseconds, number of texts and characters, and id.
    """
    line = "{method} {path} {status}, {ms} ms, {texts} texts, {characters} characters, request {request_id}"
    LOGGER.info(line.format_map(fields), extra={_FIELDS: fields})


class LoggedProblems(Problems):
    """Logs the texts on which a pipeline fails, by the id of their request."""

    def report(self, place: str, reason: object) -> None:
        """Log a text that is left out."""
        self.count += 1
        LOGGER.error(f"{place}: {reason}")
