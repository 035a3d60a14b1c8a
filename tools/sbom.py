"""A bill of materials of what dppandas needs at run time: CycloneDX 1.6, as JSON.

``python tools/sbom.py FILE`` lists dppandas, what it requires, and what that requires in turn, in
the versions that are installed beside it, with their licences. ``--extra arrow`` adds an extra's
requirements. The same environment gives the same bytes: there is no time and no random number.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

#: What a name is wanted with: extras, "" for none.
Extras = frozenset[str]


def needed(name: str, extras: Extras) -> list[tuple[str, Extras]]:
    """What a distribution requires here, with the extras that it wants of each."""
    found = []
    for text in importlib.metadata.requires(name) or []:
        wanted = Requirement(text)
        marker = wanted.marker
        if marker is None or any(marker.evaluate({"extra": each}) for each in {"", *extras}):
            found.append((canonicalize_name(wanted.name), frozenset(wanted.extras)))
    return found


def closure(root: str, extras: Extras) -> dict[str, set[str]]:
    """All distributions that a root needs, itself included, each with those that it needs itself.
    `LookupError` if one of them isn't installed."""
    graph: dict[str, set[str]] = {}
    seen: set[tuple[str, Extras]] = set()
    waiting = [(canonicalize_name(root), extras)]
    while waiting:
        name, wanted = waiting.pop()
        if (name, wanted) in seen:
            continue
        seen.add((name, wanted))
        try:
            below = needed(name, wanted)
        except importlib.metadata.PackageNotFoundError:
            raise LookupError(f"{name} is needed, and isn't installed here") from None
        # An extra of itself, as in dppandas[arrow], is no edge.
        graph.setdefault(name, set()).update(each for each, _ in below if each != name)
        waiting += below
    return graph


def purl(name: str, version: str) -> str:
    """The address of a distribution in the terms of package-url."""
    return f"pkg:pypi/{name}@{version}"


def licences(metadata: Any) -> list[dict[str, Any]]:
    """What a distribution says of its licence: an SPDX expression, else words; [] for nothing."""
    if expression := metadata.get("License-Expression"):
        return [{"expression": expression}]
    said = (metadata.get("License") or "").strip()
    if said and len(said) <= 80 and "\n" not in said:
        return [{"license": {"name": said}}]
    classes = [c for c in metadata.get_all("Classifier") or [] if c.startswith("License :: ")]
    return [{"license": {"name": each.rpartition(" :: ")[2]}} for each in classes]


def component(name: str, kind: str = "library") -> dict[str, Any]:
    """One installed distribution."""
    metadata = importlib.metadata.metadata(name)
    address = purl(name, metadata["Version"])
    said = {"type": kind, "bom-ref": address, "name": name, "version": metadata["Version"]}
    told = licences(metadata)
    return {**said, **({"licenses": told} if told else {}), "purl": address}


def bill(extras: Iterable[str] = ()) -> dict[str, Any]:
    """The bill of materials of the installed dppandas."""
    graph = closure("dppandas", frozenset(extras))
    parts = {name: component(name) for name in sorted(graph)}
    ref = {name: part["bom-ref"] for name, part in parts.items()}
    root = parts.pop("dppandas")
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": root},
        "components": list(parts.values()),
        "dependencies": [
            {"ref": ref[name], "dependsOn": sorted(ref[each] for each in graph[name])}
            for name in sorted(graph)
        ],
    }


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("file", type=Path, help="what to write, such as build/sbom.cdx.json")
    parser.add_argument("--extra", action="append", default=[], help="an extra to count in")
    asked = parser.parse_args(arguments)
    try:
        text = json.dumps(bill(asked.extra), indent=1, ensure_ascii=False) + "\n"
    except LookupError as error:
        print(f"sbom: {error}", file=sys.stderr)
        return 1
    asked.file.parent.mkdir(parents=True, exist_ok=True)
    asked.file.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
