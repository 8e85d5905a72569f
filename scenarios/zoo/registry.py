"""The registry: every specimen of the zoo, found by where its file lies.

Owns: finding, and looking up by name and class. Does not own: whether a record is complete (`shape.py`). Floor 4.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import ModuleType

from kernels.errors import ConfigError
from scenarios.zoo.specimen import RaceClass, Specimen

FOLDER = Path(__file__).parent


def specimen_files() -> list[Path]:
    """The files that hold a specimen, by class, then by name."""
    return [path for kind in RaceClass for path in sorted((FOLDER / kind.folder).glob("*.py")) if path.stem[0] != "_"]


def module_of(path: Path) -> ModuleType:
    """The module of a specimen's file."""
    return import_module(f"scenarios.zoo.{path.parent.name}.{path.stem}")


def specimens() -> list[Specimen]:
    """All of them. Raises: ConfigError for a file that has none."""
    found: list[Specimen] = []
    for path in specimen_files():
        specimen = getattr(module_of(path), "SPECIMEN", None)
        if not isinstance(specimen, Specimen):
            raise ConfigError("this file of the zoo has no SPECIMEN", file=path)
        found.append(specimen)
    return found


def of_class(name: str) -> RaceClass:
    """Raises: ConfigError for a class that there is not."""
    allowed = tuple(RaceClass)
    if name.upper() not in allowed:
        raise ConfigError(f"unknown class '{name}'", key="--class", value=name, allowed=allowed)
    return RaceClass(name.upper())


def named(name: str) -> Specimen:
    """Raises: ConfigError for a specimen that there is not."""
    every = {specimen.name: specimen for specimen in specimens()}
    if name not in every:
        raise ConfigError(f"unknown specimen '{name}'", key="--name", value=name, allowed=tuple(every))
    return every[name]
