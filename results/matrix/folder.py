"""A matrix folder: `matrix.json`, and the folders of its runs in `runs/`.

Owns: the names, writing the record in one step, reading it back with every fault said. Does not own: the fields
(`results.matrix.record`), run folders (`results.store`, `results.reader`). Floor 3. Source: ours.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import msgspec

from results import layout
from results.lines import LineFault
from results.matrix.errors import NotAMatrix
from results.matrix.record import SCHEMA, MatrixRecord
from results.schema_version import schema_fault

MATRIX = "matrix.json"
RUNS = "runs"


@dataclass(frozen=True, slots=True)
class StoredMatrix:
    """A matrix as it was read. faults: runs that are missing from the folder, doubled, or fewer than were wanted."""

    path: Path
    record: MatrixRecord
    faults: tuple[LineFault, ...]

    @property
    def is_partial(self) -> bool:
        return self.record.partial or bool(self.faults)

    def run_folder(self, run_dir: str) -> Path:
        """The folder of one of its runs."""
        return self.path / run_dir


def write_matrix(folder: Path, record: MatrixRecord) -> Path:
    """Effect: writes `matrix.json` in one step. Raises: StorageProblem."""
    path = folder / MATRIX
    text = msgspec.json.format(msgspec.json.encode(record), indent=2) + b"\n"

    def write(beside: Path) -> None:
        beside.write_bytes(text)

    layout.replace_file(path, write)
    return path


def is_matrix(path: Path) -> bool:
    """Whether the folder has the record of a matrix, of whatever version."""
    return (path / MATRIX).is_file()


def open_matrix(path: Path) -> StoredMatrix:
    """Read a matrix folder.

    Raises: NotAMatrix where there is none, NewerRun where a newer version of this tool wrote it.
    """
    if not path.is_dir():
        raise NotAMatrix(path, "it is a file" if path.exists() else "there is no such folder")
    try:
        text = (path / MATRIX).read_bytes()
    except OSError:
        raise NotAMatrix(path, f"it holds no {MATRIX}") from None
    fault = schema_fault(text, SCHEMA, path / MATRIX)
    if fault is not None:
        raise NotAMatrix(path, fault)
    try:
        record = msgspec.json.decode(text, type=MatrixRecord)
    except msgspec.MsgspecError as error:
        raise NotAMatrix(path, f"its {MATRIX} cannot be read ({error})") from None
    return StoredMatrix(path, record, tuple(_faults(path, record)))


def _faults(path: Path, record: MatrixRecord) -> list[LineFault]:
    faults = []
    cells = Counter((run.scenario, run.seed) for run in record.runs)
    for (scenario, seed), times in cells.items():
        if times > 1:
            faults.append(LineFault(MATRIX, 1, f"{scenario} seed {seed} is stored {times} times"))
    if not record.partial and len(cells) < record.runs_wanted:
        reason = f"{record.runs_wanted} runs were wanted, {len(cells)} are recorded"
        faults.append(LineFault(MATRIX, 1, reason))
    gone = [run.run_dir for run in record.runs if run.run_dir is not None and not (path / run.run_dir).is_dir()]
    if gone:
        faults.append(LineFault(MATRIX, 1, f"{len(gone)} run folders are missing (first: {gone[0]})"))
    return faults
