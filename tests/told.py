"""What an object says of itself, wherever its lines break: that may depend on drawn numbers."""


def told(shown: object) -> str:
    return " ".join(str(shown).split())
