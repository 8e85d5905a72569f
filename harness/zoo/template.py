"""The template of a new specimen: a program that runs, and a record that is blank.

Owns: the text, and refusing names that cannot be. Does not own: what a complete record is (`scenarios.zoo.shape`).
Floor 5.
"""

from __future__ import annotations

import keyword
from pathlib import Path

from kernels.errors import ConfigError
from scenarios.zoo.specimen import RaceClass

_TEXT = '''\
"""BUG: one sentence that says what goes wrong.

Owns: the specimen. Floor 4. Source: PROJECT PR NUMBER.
"""

from __future__ import annotations

from kernels.substrate.contract import Machine
from scenarios.zoo.parts import Pool, copy, host_pool, kernel, replies
from scenarios.zoo.specimen import FIXED, RaceClass, Specimen, expected


def build(machine: Machine, switch: str) -> None:
    """Replace this by the bug's own steps. As it stands: a page is loaded, and read without waiting for it."""
    host, device = host_pool(machine, "host.kv"), Pool(machine, "device.kv")
    load, forward = machine.stream("load", device=0), machine.stream("forward", device=0)
    loaded = machine.event("loaded")
    kernel(load, "fill host page", writes=[(host.at(0), 1)])
    copy(load, host.at(0), device.at(0), "load page")
    load.record(loaded)
    if switch == FIXED:
        forward.wait(loaded)
    kernel(forward, "attention", reads=[device.at(0)], body=replies(1))


SPECIMEN = Specimen(
    name="{name}",
    rows=(),
    source="",
    race_class=RaceClass.{member},
    symptom="",
    missing="",
    trigger="",
    expected=expected(),
    build=build,
)

fixed, defect = SPECIMEN.programs()
'''


def write_template(name: str, kind: RaceClass, folder: Path) -> Path:
    """Write the template. Returns: its path. Raises: ConfigError for a name that cannot be, or is there already."""
    if not name.isidentifier() or keyword.iskeyword(name) or name != name.lower() or name[0] == "_":
        what = f"a specimen cannot be called '{name}': lower-case letters, digits and _, a letter first"
        raise ConfigError(what, key="NAME", value=name)
    known = next(iter(sorted(folder.glob(f"*/{name}.py"))), None)
    if known is not None:
        raise ConfigError(f"there is a specimen '{name}' already", key="NAME", value=name, file=known)
    path = folder / kind.folder / f"{name}.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_TEXT.format(name=name, member=kind.name), encoding="utf-8")
    return path
