"""Values as YAML, with comments. A closed set of types, and no parser: what is written here is read
by the YAML 1.1 of PyYAML and by YAML 1.2 alike."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...dataclasses import dataclass


@dataclass(frozen=True)
class Noted:
    """A value with a comment for people, which stands behind it on the same line."""

    value: Any
    note: str


def plain(value: Any) -> Any:
    """The value without comments, for JSON."""
    if isinstance(value, Noted):
        return plain(value.value)
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return value


def as_yaml(value: Mapping[str, Any], comment: str = "") -> str:
    """A mapping as a document, with a comment of several lines above it. Its keys, and those of the
    mappings in it, are plain words of ours."""
    above = [f"# {line}" for line in comment.splitlines()]
    return "\n".join([*above, *_mapping(value, "")]) + "\n"


def _mapping(value: Mapping[str, Any], indent: str) -> Iterator[str]:
    for key, each in value.items():
        yield from _entry(f"{indent}{key}:", each, indent)


def _entry(head: str, value: Any, indent: str) -> Iterator[str]:
    """A value behind "key:": on its line, or below it and further in."""
    note, inner = "", f"{indent}  "
    if isinstance(value, Noted):
        value, note = value.value, f"  # {_printable(value.note)}"
    if isinstance(value, Mapping) and value:
        yield f"{head}{note}"
        yield from _mapping(value, inner)
    elif isinstance(value, list | tuple) and value:
        yield f"{head}{note}"
        for each in value:
            yield from _item(each, inner)
    elif isinstance(value, str) and _is_block(value):
        yield f"{head} |-{note}"
        yield from (f"{inner}{line}" if line else "" for line in value.split("\n"))
    else:
        yield f"{head} {_scalar(value)}{note}"


def _item(value: Any, indent: str) -> Iterator[str]:
    if not isinstance(value, Mapping) or not value:
        yield f"{indent}- {_scalar(value)}"
        return
    first, *others = _mapping(value, f"{indent}  ")
    yield f"{indent}- {first.lstrip(' ')}"
    yield from others


def _is_block(text: str) -> bool:
    """Whether a text can stand as lines of its own, to the letter."""
    lines = text.split("\n")
    is_visible = all(line.isprintable() and not line.endswith(" ") for line in lines)
    return len(lines) > 1 and is_visible and bool(lines[-1]) and lines[0][:1] not in ("", " ")


def _scalar(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float) and math.isfinite(value):
        mantissa, e, exponent = repr(value).partition("e")  # YAML 1.1 takes 1e-06 for a text
        return f"{mantissa}{'' if '.' in mantissa or not e else '.0'}{e}{exponent}"
    if isinstance(value, Sequence | Mapping) and not value:
        return "{}" if isinstance(value, Mapping) else "[]"
    raise TypeError(f"no YAML for a {type(value).__name__}")


def _quoted(text: str) -> str:
    escaped = "".join(f"\\{c}" if c in '"\\' else c for c in text)
    return f'"{_printable(escaped)}"'


def _printable(text: str) -> str:
    """What can't be seen as escapes: it could end a line, or turn the text after it around."""
    return "".join(c if c.isprintable() else _escape(ord(c)) for c in text)


def _escape(code: int) -> str:
    if code < 2**8:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 2**16 else f"\\U{code:08x}"
