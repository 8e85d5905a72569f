"""Call sites: where in the host's code an operation was issued, and where what it touches was asked for.

Owns: walking the stack, which frames do not count, and the text of a place. Does not own: when a machine looks (only
when it was told to: a look costs a microsecond). Floor 1.

A place is a short chain, the innermost frame first: `kernels/hicache/access.py:67 in read_index_k < kernels/engine/
forward.py:98 in _issue_layer`. Frames of the machine itself do not count, nor do functions that only hand a call on; a
function says so by the local variable `__tracebackhide__`, as in pytest.

A kernel is launched after its accessor has returned, so the accessor is on no stack then. It is where the region was
made: a region of a machine that looks remembers that (`Region.origin`), and `access_sites` uses it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path, PurePath
from types import CodeType, FrameType

from kernels.substrate.contract import Origin, Region
from kernels.substrate.trace import Access, Operation

BETWEEN = " < "
"""Between the frames of a chain: the left one was called by the right one."""

FRAMES_MAX = 3
_HIDDEN = "__tracebackhide__"


def frames_of(site: str) -> list[str]:
    """The frames of a place, innermost first."""
    return site.split(BETWEEN) if site else []


class CallSites:
    """Looks at the stack for one machine.

    own_folder: where the machine's code lies; this folder's frames never count.
    """

    def __init__(self, own_folder: str) -> None:
        # The constructor that dataclass generates for a region lies in no file.
        self._own = (own_folder, str(Path(__file__).parent), "<string>")
        self._files: dict[CodeType, str] = {}
        self._age = 0

    def __repr__(self) -> str:
        return f"CallSites({len(self._files)} functions, {self._age} launches)"

    def here(self) -> str:
        """The place of the host call that is under way; empty where no frame counts."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and not self._file(frame):
            frame = frame.f_back
        chain: list[str] = []
        while frame is not None and len(chain) < FRAMES_MAX:
            code, file = frame.f_code, self._file(frame)
            if file:
                chain.append(f"{file}:{frame.f_lineno} in {code.co_name}")
            elif _HIDDEN not in code.co_varnames:
                # The machine again: it runs the host program, and who runs the machine does not matter.
                break
            frame = frame.f_back
        return BETWEEN.join(chain)

    def note(self, operation: Operation) -> None:
        """Note where the host issues this operation, which is now, and where its accesses were asked for."""
        operation.site = self.here()
        if operation.kind == "kernel":
            operation.access_sites = self.access_sites(operation.site, operation.accesses)
        if operation.accesses:
            self.launched()

    def origin(self) -> Origin:
        """Of a region that is made now."""
        return Origin(self.here(), self._age)

    def launched(self) -> None:
        """A copy or kernel was issued: regions that were made before it are not this moment's any more."""
        self._age += 1

    def access_sites(self, site: str, accesses: Sequence[Access]) -> tuple[str, ...]:
        """Where each access of a kernel that is issued at `site` was asked for.

        That is where its region was made, if nothing was issued since and another function made it: an accessor. A
        region that was kept from earlier, or is made on the spot, says nothing that `site` does not.
        """
        return tuple(self._access_site(site, region) for _, region in accesses)

    def _access_site(self, site: str, region: Region) -> str:
        origin = region.origin
        if origin is None or origin.age != self._age or _function(origin.site) == _function(site):
            return site
        return origin.site

    def _file(self, frame: FrameType) -> str:
        """The file of a frame, without the folders that are this computer's own; empty for one that does not count."""
        code = frame.f_code
        known = self._files.get(code)
        if known is None:
            is_hidden = code.co_filename.startswith(self._own) or _HIDDEN in code.co_varnames
            known = self._files[code] = "" if is_hidden else _named(code.co_filename, frame.f_globals.get("__name__"))
        return known


def _named(file: str, module: object) -> str:
    """`kernels/hicache/access.py` for a module of a package; the bare name of any other file."""
    path = PurePath(file)
    parts = str(module).split(".")
    if len(parts) > 1 and path.parts[-len(parts) :] == (*parts[:-1], f"{parts[-1]}{path.suffix}"):
        return "/".join(path.parts[-len(parts) :])
    return path.name


def _function(site: str) -> str:
    """File and function of the innermost frame, without the line."""
    first = site.partition(BETWEEN)[0]
    file, _, place = first.rpartition(":")
    return f"{file} {place.partition(' ')[2]}"
