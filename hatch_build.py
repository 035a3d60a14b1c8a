"""The addresses in a package's metadata: those of the repository that it was built in.

A checkout doesn't know where it is published, so a build by hand states no address. The release
workflow sets DPPANDAS_REPOSITORY to that of its own repository, and DPPANDAS_TAG to the tag.
"""

from __future__ import annotations

import os
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


def urls(repository: str, tag: str) -> dict[str, str]:
    """The addresses of a release; none where the repository isn't known."""
    if not repository or not tag:
        return {}
    if not repository.startswith("https://"):
        raise ValueError(f"DPPANDAS_REPOSITORY={repository!r} must begin with https://")
    here = repository.rstrip("/")
    return {
        "Source": here,
        "Issues": f"{here}/issues",
        "Documentation": f"{here}/tree/{tag}/docs",
        "Changelog": f"{here}/blob/{tag}/CHANGELOG.md",
        "Security": f"{here}/blob/{tag}/SECURITY.md",
    }


class Addresses(MetadataHookInterface):
    """What hatchling calls for the fields in ``dynamic``."""

    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        environment = os.environ.get
        found = urls(environment("DPPANDAS_REPOSITORY", ""), environment("DPPANDAS_TAG", ""))
        if found:
            metadata["urls"] = found
