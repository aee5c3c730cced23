"""Change an input a little: its bytes, lines and cells, or the structure of its JSON and XML.

A change depends only on the input and the random numbers, so it can be made again.
"""

import gzip
import json
import re
from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import Any

LONGEST = 1 << 18
"""An input that grows beyond so many bytes is cut, so that each takes milliseconds."""
_TIMES = (2, 3, 20, 300)
_BYTES = [
    *(bytes([value]) for value in (0, 9, 10, 13, 32, 34, 39, 92, 124, 127, 128, 255)),
    *(b"\r\n", b"\n\n", b"\r", b"\x0b", b"\x0c", b"\x1c", b"\xc2\x85", b"\xe2\x80\xa8", b"\xc2\xa0", b"\xe2\x80\x8b"),
    *(b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\xff\xfe\0\0", b"\x1f\x8b", b"\xed\xa0\x80", b"\xed\xb0\x80"),
    *(b"\xc0\x80", b"\xf4\x90\x80\x80", b"\xf0\x9f", b"NaN", b"-Infinity", b"1e999", b"-1", b"0", b"1.5", b"1_0"),
    *(b"9" * 19, b"9" * 5000, b"2147483648", b"9223372036854775808", b"null", b"true", b"[]", b"{}", b'"', b"''"),
    *(b"<", b">", b"&", b"&lt;", b"&#0;", b"&#xD800;", b"&#1114112;", b"&a;", b"]]>", b"<![CDATA[", b"<!--", b"<?a"),
    *(b"<!DOCTYPE a [<!ENTITY a 'b'>]>", b"\\", b"\\u0000", b"\\ud800", b"\\N", b"%", b"%s", b"{0}", b"../", b"=1+1"),
    *(b"#", b"!", b"::", b"||", b"\t\t", b",,", b";", b"(", b")", b"[", b"]", "٣".encode(), "İ".encode()),
]
_VALUES: list[Any] = [
    *(None, True, False, 0, -1, 1, 1.5, -0.0, 1e308, float("nan"), float("inf"), 2**31, 2**63, 2**64, "", " "),
    *("0", "-1", "a", "\0", "\ud800", "\udfff\ud800", "NaN", "\n", "\t", "../a", "/etc/passwd", "a" * 5000, "٣", "İ"),
    *([], {}, [None], [[]], {"a": None}, [1, "a"], ["a", "a"], [0, 10**9], [-1, 1], ["\ud800"]),
]
_XML = re.compile(rb"<[^<>]*>|[^<]+|<")
_SEPARATORS = (b"\t", b"|", b",", b"$", b"||", b";", b": ", b" ")


def mutate(data: bytes, others: list[bytes], random: Random) -> bytes:
    """Return a changed input.

    Args:
        data: The input.
        others: Inputs of the same kind, whose parts may be mixed in.
        random: Decides what changes.
    """
    for _ in range(random.choice((1, 1, 1, 2, 3, 6))):
        with suppress(LookupError, ValueError, RecursionError):  # a change that cannot be made here
            data = random.choice(_changes_of(data))(data, others, random)[:LONGEST]
    return data


def _changes_of(data: bytes) -> list[Callable[[bytes, list[bytes], Random], bytes]]:
    start = data[:100].lstrip(b"\xef\xbb\xbf \n\r\t")
    if start.startswith((b"{", b"[")):
        return [_change_json] * 6 + [_change_bytes, _change_lines, _change_all]
    if start.startswith(b"<"):
        return [_change_xml] * 6 + [_change_bytes, _change_lines, _change_all]
    return [_change_bytes, _change_bytes, _change_lines, _change_cells, _change_cells, _change_all]


def _change_bytes(data: bytes, others: list[bytes], random: Random) -> bytes:
    start = random.randint(0, len(data))
    end = min(len(data), start + random.choice((1, 1, 2, 4, 16, 100)))
    other = random.choice(others)
    return random.choice(
        (
            data[:start] + random.choice(_BYTES) + data[random.choice((start, end)) :],
            data[:start] + data[end:],
            data[:end] + data[start:end] * random.choice(_TIMES) + data[end:],
            data[:start] + random.randbytes(end - start) + data[end:],
            random.choice((data[:start], data[start:])),
            data[:start] + other[start:end] + data[end:],
            data[:start] + other[start:],
        )
    )


def _change_all(data: bytes, others: list[bytes], random: Random) -> bytes:
    encoding = random.choice(("utf-16", "utf-16-le", "utf-32", "latin-1", "utf-7", "utf-8-sig"))
    word = random.choice(re.findall(rb"\w+", data[:5000]))
    return random.choice(
        (
            data.replace(b"\n", random.choice((b"\r\n", b"\r", b"\n\n", b"", b"\x0b", b"\xe2\x80\xa8"))),
            data.decode("utf-8", "replace").encode(encoding, "replace"),
            gzip.compress(data, 1, mtime=0),
            gzip.compress(data, 1, mtime=0)[:-9],
            b"".join(random.choices((data, *others), k=2)),
            random.choice((b"", b"\n", b" ", b"\0", b"a", b"[]", b"{}", b"<a/>", b"null", b'""', b"\xef\xbb\xbf")),
            data.replace(word, random.choice(_BYTES), random.choice((1, -1))),
            data.swapcase(),
        )
    )


def _change_lines(data: bytes, others: list[bytes], random: Random) -> bytes:
    lines = data.splitlines(keepends=True)
    at, other = random.randrange(len(lines)), random.randrange(len(lines))
    lines[at : at + 1] = random.choice(
        ([], [lines[other]] * random.choice(_TIMES), [lines[at].rstrip(b"\r\n")], [random.choice(_BYTES) + b"\n"])
    )
    if random.random() < 0.2:
        random.shuffle(lines)
    return b"".join(lines)


def _change_cells(data: bytes, others: list[bytes], random: Random) -> bytes:
    lines = data.splitlines(keepends=True)
    at = random.randrange(len(lines))
    separator = random.choice([separator for separator in _SEPARATORS if separator in lines[at]][:2])
    cells = lines[at].split(separator)
    cell = random.randrange(len(cells))
    other = random.choice(random.choice(lines).split(separator))
    repeated = separator.join([cells[cell]] * random.choice(_TIMES))
    cells[cell : cell + 1] = random.choice(
        ([], [b""], [random.choice(_BYTES)], [other], [cells[cell], other], [repeated])
    )
    lines[at] = separator.join(cells)
    return b"".join(lines)


def _change_json(data: bytes, others: list[bytes], random: Random) -> bytes:
    """Change a JSON value, or that of a line of JSON lines."""
    try:
        return json.dumps(_changed(json.loads(data), random)).encode()
    except ValueError:
        lines = data.splitlines()
        at = random.randrange(len(lines))
        lines[at] = json.dumps(_changed(json.loads(lines[at]), random)).encode()
        return b"\n".join(lines) + b"\n"


def _changed(value: Any, random: Random) -> Any:
    """Return a JSON value with another value somewhere in it."""
    if not isinstance(value, (dict, list)) or not value or random.random() < 0.15:
        return random.choice([*_VALUES, [value], {"a": value}, [value] * 300])
    copy = value.copy()
    key = random.choice(list(value) if isinstance(value, dict) else range(len(value)))
    if random.random() < 0.1:
        del copy[key]
    else:
        copy[key] = _changed(value[key], random)
    return copy


def _change_xml(data: bytes, others: list[bytes], random: Random) -> bytes:
    """Change a tag or a text of an XML file."""
    tokens = _XML.findall(data)
    at, other = random.randrange(len(tokens)), random.randrange(len(tokens))
    deep = random.choice((50, 900, 30_000))
    value = b'"' + random.choice(_BYTES) + b'"'
    attribute = re.sub(rb'"[^"]*"', lambda _: value, tokens[at], count=1)
    tokens[at : at + 1] = random.choice(
        (
            [],
            [tokens[at], tokens[other]],
            [tokens[at]] * random.choice(_TIMES),
            [attribute],
            [tokens[at], random.choice(_BYTES)],
            [b"<a>" * deep, tokens[at], b"</a>" * deep],
            [tokens[at], random.choice((b"<!-- -->", b"<?p ?>", b"<![CDATA[<a>]]>", b"&#x10FFFF;", b"<a/>"))],
        )
    )
    return b"".join(tokens)
