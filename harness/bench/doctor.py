"""What this machine has for each backend, and the one command that brings what is missing.

Owns: the checks. Does not own: how they are printed. Floor 6.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from harness.bench.timing import by_graph
from harness.bench.transfers import copy_bytes

_LINK_BYTES = 256 << 20
_PINNED = 0x03


@dataclass(frozen=True, slots=True)
class Finding:
    """is_there: None where it is only a fact. remedy: what to do where it is missing."""

    what: str
    value: str
    is_there: bool | None = None
    remedy: str = ""


def examine() -> Iterator[Finding]:
    """Everything that can be told here, the basics first; nothing raises."""
    yield Finding("Python", platform.python_version(), True)
    yield Finding("processor", f"{platform.machine()}, {os.cpu_count()} cores")
    yield Finding("backend virtual", "needs nothing", True)
    yield Finding("backend threaded", f"one thread a stream on {os.cpu_count()} cores", True)
    yield _program("nvcc", "compiles the CUDA sources in CI", "install the CUDA toolkit; nothing else needs it")
    yield _program("chromium", "tests of report pages", "apt-get install chromium")
    for name, extra in (("torch", "torch"), ("ray", "cluster")):
        yield _package(name, extra)
    yield from _cuda()


def _program(name: str, use: str, remedy: str) -> Finding:
    path = shutil.which(name)
    return Finding(name, use if path else f"not found; it {use}", path is not None, "" if path else remedy)


def _package(name: str, extra: str) -> Finding:
    try:
        return Finding(name, importlib.metadata.version(name), True)
    except importlib.metadata.PackageNotFoundError:
        return Finding(name, f"not installed; optional, extra '{extra}'", False, f"pip install {name}")


def _cuda() -> Iterator[Finding]:
    from kernels.substrate.cuda.devices import is_available

    works, problem = is_available()
    if not works:
        what, _, remedy = problem.partition("; ")
        yield Finding("backend cuda", what, False, remedy)
        return
    import cupy

    runtime = cupy.cuda.runtime
    yield Finding("backend cuda", "ready", True)
    yield Finding("CuPy", cupy.__version__, True)
    yield Finding(
        "CUDA driver, runtime", f"{_version(runtime.driverGetVersion())}, {_version(runtime.runtimeGetVersion())}"
    )
    for number in range(runtime.getDeviceCount()):
        yield from _device(cupy, number)


def _version(number: int) -> str:
    return f"{number // 1000}.{number % 1000 // 10}"


def _device(cupy: Any, number: int) -> Iterator[Finding]:
    properties = cupy.cuda.runtime.getDeviceProperties(number)
    with cupy.cuda.Device(number):
        free_bytes, total_bytes = cupy.cuda.runtime.memGetInfo()
        name, kind = properties["name"].decode(), f"sm_{properties['major']}{properties['minor']}"
        memory = f"{free_bytes / 1e9:.1f} of {total_bytes / 1e9:.1f} GB free"
        yield Finding(
            f"device {number}", f"{name}, {kind}, {properties['multiProcessorCount']} multiprocessors, {memory}"
        )
        yield Finding(f"device {number} copy engines", str(properties["asyncEngineCount"]))
        if properties["kernelExecTimeoutEnabled"]:
            yield Finding(
                f"device {number} watchdog", "kernels of some seconds are killed: keep delays below one second"
            )
        yield from _link(cupy, number)


def _link(cupy: Any, number: int) -> Iterator[Finding]:
    try:
        host = cupy.cuda.PinnedMemory(_LINK_BYTES, _PINNED)
    except cupy.cuda.runtime.CUDARuntimeError as error:
        remedy = "allow more locked memory: ulimit -l unlimited"
        yield Finding(f"device {number} pinned memory", f"{_LINK_BYTES >> 20} MiB refused ({error})", False, remedy)
        return
    device = cupy.cuda.Memory(_LINK_BYTES)
    yield Finding(f"device {number} pinned memory", "works", True)
    for direction, kind, ends in (("to device", 1, (device.ptr, host.ptr)), ("to host", 2, (host.ptr, device.ptr))):
        spread = by_graph([partial(copy_bytes, *ends, _LINK_BYTES, kind)], repeats=5)
        rate = _LINK_BYTES / spread.median_us / 1e3
        yield Finding(f"device {number} link {direction}", f"{rate:.1f} GB/s measured over {_LINK_BYTES >> 20} MiB")
