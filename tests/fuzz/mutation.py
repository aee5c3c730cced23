"""Change an input a little: its bytes, lines and cells, or the structure of its JSON, XML, arrays and tables.

A change depends only on the input and the random numbers, so it can be made again.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import sqlite3
import struct
import zlib
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import srsly

LONGEST = 1 << 18
"""An input that grows beyond so many bytes is cut, so that each takes milliseconds."""
LONGEST_TEXT = 20_000
_DEEP = (3, 50, 900, 30_000)
_TIMES = (2, 3, 20, 300)
_BYTES = [
    *(bytes([value]) for value in (0, 9, 10, 13, 32, 34, 39, 92, 124, 127, 128, 255)),
    *(b"\r\n", b"\n\n", b"\r", b"\x0b", b"\x0c", b"\x1c", b"\xc2\x85", b"\xe2\x80\xa8", b"\xc2\xa0", b"\xe2\x80\x8b"),
    *(b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\xff\xfe\0\0", b"\x1f\x8b", b"\xed\xa0\x80", b"\xed\xb0\x80"),
    *(b"\xc0\x80", b"\xf4\x90\x80\x80", b"\xf0\x9f", b"NaN", b"-Infinity", b"1e999", b"-1", b"0", b"1.5", b"1_0"),
    *(b"9" * 19, b"9" * 5000, b"2147483648", b"9223372036854775808", b"null", b"true", b"[]", b"{}", b'"', b"''"),
    *(b"<", b">", b"&", b"&lt;", b"&#0;", b"&#xD800;", b"&#1114112;", b"&a;", b"]]>", b"<![CDATA[", b"<!--", b"<?a"),
    *(b"<!DOCTYPE a [<!ENTITY a 'b'>]>", b"\\", b"\\u0000", b"\\ud800", b"\\N", b"%", b"%s", b"{}", b"{0}", b"../"),
    *(b"=1+1", b"#", b"!", b"::", b"||", b"\t\t", b",,", b";", b"(", b")", b"[", b"]", "٣".encode(), "İ".encode()),
]
_VALUES: list[Any] = [
    *(None, True, False, 0, -1, 1, 1.5, -0.0, 1e308, float("nan"), float("inf"), 2**31, 2**63, 2**64, 10**400, "", " "),
    *("0", "-1", "a", "\0", "\ud800", "\udfff\ud800", "NaN", "\n", "\t", "../a", "/etc/passwd", "a" * 5000, "٣", "İ"),
    *([], {}, [None], [[]], {"a": None}, [1, "a"], ["a", "a"], [0, 10**9], [-1, 1], ["\ud800"]),
]
_PLANES = [
    *((0, 0x7F), (0x20, 0x7E), (0x20, 0x7E), (0x61, 0x7A), (0x80, 0xFF), (0x100, 0x24F), (0x300, 0x3FF)),
    *((0x590, 0x6FF), (0x900, 0xDFF), (0x1100, 0x11FF), (0x1E00, 0x1FFF), (0x2000, 0x206F), (0x2070, 0x218F)),
    *((0x3000, 0x30FF), (0x4E00, 0x9FFF), (0xAC00, 0xD7A3), (0xE000, 0xF8FF), (0xFB00, 0xFB4F), (0xFE00, 0xFFFF)),
    *((0x10000, 0x1FFFF), (0x1D400, 0x1D7FF), (0x1F1E6, 0x1FAFF), (0x20000, 0x3FFFF), (0xE0000, 0xE01EF)),
    (0xF0000, 0x10FFFF),
]  # fmt: skip
_TEXTS = [
    "(",
    ")",
    ", ",
    " and ",
    " or ",
    "-",
    "/",
    ".",
    "; ",
    "'s ",
    "ß",
    "İ",
    "ﬁ",
    "ǆ",
    "ς",
    "\u00ad",
    "\u200d",
    "\n",
]
_XML = re.compile(rb"<[^<>]*>|[^<]+|<")
_ATTRIBUTE = re.compile(rb"""([\w:.-]+)\s*=\s*("[^"]*"|'[^']*')""")
_SEPARATORS = (b"\t", b"|", b",", b"$", b"||", b";", b": ", b" ")


def mutate(data: bytes, others: Sequence[bytes], random: Random, *, suffix: str = "") -> bytes:
    """Return a changed input.

    Args:
        data: The input.
        others: Inputs of the same kind, whose parts may be mixed in.
        random: Decides what changes.
        suffix: The ending of the file name, which shows a packed or binary format.
    """
    if suffix in _FORMATS and random.random() < 0.7:
        with suppress(Exception):  # no longer in this format
            return _FORMATS[suffix](data, random)
    for _ in range(random.choice((1, 1, 1, 2, 3, 6))):
        with suppress(Exception):  # a change that cannot be made here
            data = random.choice(_changes_of(data, suffix))(data, others, random)[:LONGEST]
    return data


def random_text(random: Random, words: Sequence[str]) -> str:
    """Return a text of characters of all planes, between words and signs that mean something to the rules for texts."""
    pieces = []
    for _ in range(random.choice((1, 3, 10, 40))):
        kind = random.random()
        if kind < 0.4:
            pieces.append(random.choice(words))
        elif kind < 0.7:
            pieces.append(random.choice(_TEXTS))
        else:
            low, high = random.choice(_PLANES)
            pieces.append("".join(chr(random.randint(low, high)) for _ in range(random.choice((1, 1, 2, 8)))))
        if random.random() < 0.3:
            pieces.append(" ")
        if random.random() < 0.03:
            pieces.append(random.choice(pieces) * random.choice(_TIMES))
    return "".join(pieces)[:LONGEST_TEXT]


def _changes_of(data: bytes, suffix: str) -> list[Callable[[bytes, Sequence[bytes], Random], bytes]]:
    start = data[:100].lstrip(b"\xef\xbb\xbf \n\r\t")
    if start.startswith((b"{", b"[")) and not suffix.endswith(("obo", "npy")):
        return [_change_json] * 12 + [_change_bytes, _change_lines, _change_all]
    if start.startswith(b"<"):
        return [_change_xml] * 10 + [_change_bytes, _change_bytes, _change_lines, _change_all]
    return [_change_bytes, _change_bytes, _change_lines, _change_lines, _change_cells, _change_cells, _change_all]


# --- bytes


def _piece(data: bytes, random: Random) -> tuple[int, int]:
    start = random.randint(0, len(data))
    return start, min(len(data), start + random.choice((1, 1, 2, 4, 16, 100)))


def _change_bytes(data: bytes, others: Sequence[bytes], random: Random) -> bytes:
    start, end = _piece(data, random)
    how = random.randrange(9)
    if how == 0:
        return data[:start] + random.choice(_BYTES) + data[start:]
    if how == 1:
        return data[:start] + random.choice(_BYTES) + data[end:]
    if how == 2:
        return data[:start] + data[end:]
    if how == 3:
        return data[:end] + data[start:end] * random.choice(_TIMES) + data[end:]
    if how == 4 and start < len(data):
        return data[:start] + bytes([data[start] ^ 1 << random.randrange(8)]) + data[start + 1 :]
    if how == 5:
        return data[:start] + random.randbytes(end - start) + data[end:]
    if how == 6:
        return data[:start] if random.random() < 0.7 else data[start:]
    if how == 7:
        other = random.choice(others)
        begin, stop = _piece(other, random)
        return data[:start] + other[begin:stop] + data[end:]
    return data[:start] + random.choice(others)[start:]


def _change_all(data: bytes, others: Sequence[bytes], random: Random) -> bytes:
    how = random.randrange(9)
    if how == 0:
        return data.replace(b"\n", random.choice((b"\r\n", b"\r", b"\n\n", b"", b"\x0b", b"\xe2\x80\xa8")))
    if how == 1:
        return b"".join(
            line.rstrip(b"\r\n") + random.choice((b"\n", b"\r\n", b"\r")) for line in data.splitlines(keepends=True)
        )
    if how == 2:
        encoding = random.choice(("utf-16", "utf-16-le", "utf-32", "latin-1", "utf-7", "utf-8-sig"))
        return data.decode("utf-8", "replace").encode(encoding, "replace")
    if how == 3:
        packed = gzip.compress(data, 1, mtime=0)
        return packed if random.random() < 0.5 else _change_bytes(packed, others, random)
    if how == 4:
        return b"".join(random.choices((data, *others), k=random.choice((2, 3))))
    if how == 5:
        return random.choice((b"", b"\n", b" ", b"\0", b"a", b"[]", b"{}", b"<a/>", b"null", b'""', b"\xef\xbb\xbf"))
    if how == 6:
        words = re.findall(rb"\w+", data[:5000]) or [b"a"]
        old, new = random.choice(words), random.choice([*words, *_BYTES])
        return data.replace(old, new) if len(new) < 20 else data.replace(old, new, 1)
    if how == 7:
        return data.swapcase()
    return random.choice((b"\xef\xbb\xbf", b"\n\n", b" ", b"#")) + data


# --- lines and cells


def _change_lines(data: bytes, others: Sequence[bytes], random: Random) -> bytes:
    lines = data.splitlines(keepends=True) or [b""]
    at, other = random.randrange(len(lines)), random.randrange(len(lines))
    how = random.randrange(7)
    if how == 0:
        del lines[at]
    elif how == 1:
        lines[at:at] = [lines[other]] * random.choice(_TIMES)
    elif how == 2:
        lines[at], lines[other] = lines[other], lines[at]
    elif how == 3:
        lines[at] = lines[at].rstrip(b"\r\n")
    elif how == 4:
        lines.insert(at, random.choice(random.choice(others).splitlines(keepends=True) or [b""]))
    elif how == 5:
        lines[at] = random.choice(_BYTES) + b"\n"
    else:
        random.shuffle(lines)
    return b"".join(lines)


def _change_cells(data: bytes, others: Sequence[bytes], random: Random) -> bytes:
    lines = data.splitlines(keepends=True) or [b""]
    at = random.randrange(len(lines))
    found = [separator for separator in _SEPARATORS if separator in lines[at]] or [b" "]
    separator = random.choice(found[:2])
    cells = lines[at].split(separator)
    cell, how = random.randrange(len(cells)), random.randrange(7)
    if how == 0:
        cells[cell] = random.choice(_BYTES)
    elif how == 1:
        cells[cell] = b""
    elif how == 2:
        del cells[cell]
    elif how == 3:
        cells.insert(cell, random.choice(cells))
    elif how == 4:
        cells[cell] = random.choice(random.choice(lines).split(separator))
    elif how == 5:
        cells[cell] = random_text(random, ["fever"]).encode("utf-8", "surrogatepass")
    else:
        cells[cell] = separator.join([cells[cell]] * random.choice(_TIMES))
    lines[at] = separator.join(cells)
    return b"".join(lines)


# --- JSON


class _Object(list[Any]):
    """A JSON object as a list of its pairs, so that a key may be there twice."""


def _change_json(data: bytes, others: Sequence[bytes], random: Random) -> bytes:
    try:
        return _json_of(_changed(json.loads(data, object_pairs_hook=_Object), random)).encode("utf-8", "surrogatepass")
    except (ValueError, RecursionError):
        pass
    lines = data.splitlines() or [b""]
    at = random.randrange(len(lines))
    try:
        tree = _changed(json.loads(lines[at], object_pairs_hook=_Object), random)
        lines[at] = _json_of(tree).encode("utf-8", "surrogatepass")
    except (ValueError, RecursionError):
        return _change_bytes(data, others, random)
    return b"\n".join(lines) + b"\n"


def _json_of(value: Any) -> str:
    if isinstance(value, _Object):
        return "{" + ", ".join(f"{json.dumps(str(key))}: {_json_of(one)}" for key, one in value) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_json_of, value)) + "]"
    if isinstance(value, int) and abs(value) > 1 << 70:
        return "1" + "0" * 400
    if isinstance(value, _Deep):
        return str(value)
    return json.dumps(value, ensure_ascii=isinstance(value, str) and len(value) % 2 == 0)


class _Deep(str):
    """JSON that is nested deeply, as it is written."""


def _changed(tree: Any, random: Random) -> Any:
    """Change one place of a tree of JSON values."""
    places: list[tuple[list[Any], int]] = [([tree], 0)]
    root = places[0][0]
    for values, at in places:
        value = values[at]
        if isinstance(value, _Object):
            value[:] = [list(pair) for pair in value]
            places.extend((pair, 1) for pair in value)
        elif isinstance(value, list):
            places.extend((value, place) for place in range(len(value)))
    values, at = random.choice(places)
    value, how = values[at], random.randrange(10)
    if how < 4:
        values[at] = random.choice(_VALUES)
        if isinstance(values[at], dict):
            values[at] = _Object(values[at].items())
    elif how == 4:
        depth = random.choice(_DEEP)
        values[at] = _Deep(random.choice((("[" * depth) + ("]" * depth), '{"a":' * depth + "1" + "}" * depth)))
    elif how == 5 and isinstance(value, str):
        values[at] = random_text(random, [value or "a"])
    elif how == 6:
        others, place = random.choice(places)
        values[at] = others[place] if random.random() < 0.5 else [value]
    elif isinstance(value, list) and value:
        _change_entries(value, random)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        values[at] = random.choice((-value, value + 1, value * 1000, float(value), str(value)))
    return root[0]


def _change_entries(value: list[Any], random: Random) -> None:
    at, how = random.randrange(len(value)), random.randrange(4)
    if how == 0:
        del value[at]
    elif how == 1:
        value[at:at] = [value[at]] * random.choice(_TIMES[:3])
    elif how == 2:
        random.shuffle(value)
    elif isinstance(value, _Object):
        value[at][0] = random.choice([*(key for key, _ in value), "", "\ud800", "a" * 1000, "__class__"])


# --- XML


def _change_xml(data: bytes, others: Sequence[bytes], random: Random) -> bytes:
    tokens = _XML.findall(data) or [b""]
    at = random.randrange(len(tokens))
    token, end = tokens[at], _end_of(tokens, at)
    how = random.randrange(10)
    if how == 0:
        del tokens[at]
    elif how == 1:
        del tokens[at:end]
    elif how == 2:
        tokens[at:at] = tokens[at:end] * random.choice(_TIMES[:3])
    elif how == 3:
        other = random.randrange(len(tokens))
        tokens[at:end] = tokens[other : _end_of(tokens, other)]
    elif how == 4 and token.startswith(b"<") and (found := _ATTRIBUTE.findall(token)):
        name, value = random.choice(found)
        new = random.choice((b"", b'%s="%s"' % (name, random.choice(_BYTES)), b"%s=%s %s=''" % (name, value, name)))
        tokens[at] = token.replace(b"%s=%s" % (name, value), new)
    elif how == 5:
        name = random.choice(re.findall(rb"</?([\w:.-]+)", data) or [b"a"])
        tokens[at] = re.sub(rb"^(</?)[\w:.-]+", lambda found: found[1] + name, token)
    elif how == 6:
        depth = random.choice(_DEEP[:3])
        tokens[at:end] = [b"<sec>" * depth, *tokens[at:end], b"</sec>" * depth]
    elif how == 7:
        tokens.insert(at, random.choice(_BYTES))
    elif how == 8 and not token.startswith(b"<"):
        text = random_text(random, ["fever"]).translate({60: 33, 38: 43, **dict.fromkeys(range(32), 32)})
        tokens[at] = text.encode("utf-8", "replace")
    else:
        tokens[at] = random.choice((b"<a/>", b"<!-- -->", b"<?p ?>", b"<![CDATA[<a>]]>", b"&#x10FFFF;", b"text", b" "))
    return b"".join(tokens)


def _end_of(tokens: list[bytes], at: int) -> int:
    """Return the place after the element that begins at a token, or after the token."""
    if not re.match(rb"<[\w]", tokens[at]) or tokens[at].endswith(b"/>"):
        return at + 1
    depth = 0
    for place in range(at, min(len(tokens), at + 2000)):
        token = tokens[place]
        if token.startswith(b"</"):
            depth -= 1
        elif re.match(rb"<[\w]", token) and not token.endswith(b"/>"):
            depth += 1
        if depth <= 0:
            return place + 1
    return at + 1


# --- binary formats


def _change_npy(data: bytes, random: Random) -> bytes:
    header = data[: data.index(b"\n") + 1]
    if random.random() < 0.5:
        old, new = random.choice(
            ((b"'<", b"'>"), (b"<f", b"|O"), (b"<i", b"<f"), (b"<i4", b"<i8"), (b"<f4", b"<f2"), (b"<u", b"<U"),
             (b"(", b"(9"), (b"(", b"(-"), (b",)", b", 1)"), (b", ", b" 0, "), (b"False", b"True"), (b"{", b"{{"))
        )  # fmt: skip
        return header.replace(old, new, 1) + data[len(header) :]
    body = bytearray(data[len(header) :])
    for _ in range(random.choice((1, 4, 50))):
        size = random.choice((1, 2, 4, 8))
        at = random.randrange(0, max(1, len(body) - size), size) if len(body) > size else 0
        body[at : at + size] = random.choice((b"\xff" * 8, b"\0" * 8, b"\0\0\xc0\x7f" * 2, b"\0\0\x80\x7f" * 2,
                                              random.randbytes(8), b"\xff\xff\xff\x7f" * 2))[:size]  # fmt: skip
    return header + bytes(body)


def _change_safetensors(data: bytes, random: Random) -> bytes:
    (size,) = struct.unpack("<Q", data[:8])
    header = _change_json(data[8 : 8 + size], [data], random)
    return struct.pack("<Q", len(header) + random.choice((0, 0, 0, 1, -1, 1 << 40))) + header + data[8 + size :]


def _change_docbin(data: bytes, random: Random) -> bytes:
    """Change the values in a file of spaCy, which is packed MessagePack."""
    content = zlib.decompress(data)
    if random.random() < 0.3:
        return zlib.compress(_change_bytes(content, [content], random), 1)
    values = srsly.msgpack_loads(content)
    key = random.choice(list(values))
    value, how = values[key], random.randrange(6)
    if how == 0:
        del values[key]
    elif how == 1:
        values[key] = random.choice([one for one in _VALUES if _fits(one)])
    elif isinstance(value, bytes):
        values[key] = _change_bytes(value, [value], random) if how < 5 else value + value
    elif isinstance(value, list) and value:
        if isinstance(value[0], bytes) and how < 5:  # the user data and span groups, which are packed on their own
            at = random.randrange(len(value))
            value[at] = _changed_msgpack(value[at], random)
        else:
            _change_entries(value, random)
    return zlib.compress(srsly.msgpack_dumps(values), 1)


def _changed_msgpack(data: bytes, random: Random) -> bytes:
    if random.random() < 0.4:
        return _change_bytes(data, [data], random)
    values = srsly.msgpack_loads(data)
    values = list(values.items()) if isinstance(values, dict) else values
    as_lists = json.loads(json.dumps(values, default=lambda one: repr(one)))
    return bytes(srsly.msgpack_dumps(_changed(as_lists, random)))


def _fits(value: Any) -> bool:
    try:
        srsly.msgpack_dumps(value)
    except Exception:
        return False
    return True


def _change_database(data: bytes, random: Random) -> bytes:
    """Change a value, a row or the schema of a file of SQLite, or bytes of its pages."""
    if random.random() < 0.4:
        content = bytearray(data)
        for _ in range(random.choice((1, 3, 30))):
            content[random.randrange(len(content))] = random.randrange(256)
        return bytes(content)
    with TemporaryDirectory() as folder:
        path = Path(folder, "a.db")
        path.write_bytes(data)
        with closing(sqlite3.connect(path, isolation_level=None)) as db:
            db.execute("PRAGMA journal_mode = OFF")
            db.execute("PRAGMA synchronous = OFF")
            for _ in range(random.choice((1, 1, 2, 5))):
                _change_table(db, random)
        return path.read_bytes()


def _change_table(db: sqlite3.Connection, random: Random) -> None:
    tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    table = random.choice(tables)
    columns = [name for _, name, *_ in db.execute(f'PRAGMA table_info("{table}")')]
    (count,) = db.execute(f'SELECT count(*) FROM "{table}"').fetchone()
    row = ", ".join(f'"{name}"' for name in columns)
    where = f'({row}) IN (SELECT {row} FROM "{table}" LIMIT 1 OFFSET {random.randrange(max(1, count))})'
    column, how = random.choice(columns), random.randrange(10)
    with suppress(sqlite3.Error, UnicodeEncodeError, OverflowError):  # SQLite itself refuses some changes
        if how < 6:
            new = random.choice((None, -1, 0, 99, 10**12, 1.5, float("inf"), "", "flu", b"", b"\xff", "\0", "[" * 5000,
                                 "[1]", "null", "{}", "NaN", "1" * 5000, b"\0" * 8, "a" * 5000))  # fmt: skip
            db.execute(f'UPDATE OR REPLACE "{table}" SET "{column}" = ? WHERE {where}', (new,))
        elif how == 6:
            db.execute(f'DELETE FROM "{table}" WHERE {where}')
        elif how == 7:
            db.execute(f'UPDATE OR IGNORE "{table}" SET "{column}" = CAST("{column}" AS BLOB) || x\'ff\' WHERE {where}')
        elif how == 8:
            db.execute(f'INSERT OR REPLACE INTO "{table}" VALUES ({", ".join("?" * len(columns))})',
                       [random.choice((0, 1, 99, "flu", None, b"\xff")) for _ in columns])  # fmt: skip
        else:
            db.execute(random.choice((f'DROP TABLE "{table}"', "CREATE TABLE more (a)", "PRAGMA user_version = 9",
                                      f"ALTER TABLE \"{table}\" ADD COLUMN more DEFAULT 'a'",
                                      "CREATE VIEW more AS SELECT 1", "CREATE TRIGGER more")))  # fmt: skip


def _change_zip(data: bytes, random: Random) -> bytes:
    import zipfile

    changed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(changed, "w") as new:
        names = old.namelist()
        chosen = random.choice(names)
        for name in names:
            content = old.read(name)
            if name == chosen:
                content = mutate(content, [content], random)
            kinds = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
            new.writestr(zipfile.ZipInfo(name), content, random.choice(kinds))
    packed = changed.getvalue()
    return packed if random.random() < 0.6 else _change_bytes(packed, [packed], random)


_FORMATS: dict[str, Callable[[bytes, Random], bytes]] = {
    ".npy": _change_npy,
    ".safetensors": _change_safetensors,
    ".spacy": _change_docbin,
    ".kb": _change_database,
    ".db": _change_database,
    ".zip": _change_zip,
}
