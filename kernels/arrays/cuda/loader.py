"""From a `.cu` file to a kernel that can be launched on the current device.

Owns: compiling with NVRTC for exactly this device (Hopper's and Blackwell's own instructions need the `a` targets,
which CuPy does not choose), and keeping the result for the life of one `Kernels`. Does not own: launches. Floor 0.
Source: CuPy's `RawModule(path=...)` takes a cubin; NVRTC's user guide for `--gpu-architecture=sm_XYa`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kernels.errors import EnvironmentProblem

FOLDER = Path(__file__).resolve().parent
_OLDEST = 80
_SHARED_BYTES_FREE = 32 * 1024
"""What any block gets without asking is 48 KB, static shared memory included."""


class Kernels:
    """The compiled kernels of one device. Make one for each device, with that device current."""

    def __init__(self) -> None:
        """Raises: EnvironmentProblem where there is no CuPy, no device, or one older than sm_80."""
        try:
            import cupy
        except ImportError as error:
            raise EnvironmentProblem(f"CuPy cannot be imported ({error})", remedy="pip install cupy-cuda13x") from error
        try:
            device = cupy.cuda.Device()
            self.capability = int(device.compute_capability)
            attributes = device.attributes
        except cupy.cuda.runtime.CUDARuntimeError as error:
            remedy = "run this on a machine with an NVIDIA GPU and its driver; `python run.py doctor` says what is here"
            raise EnvironmentProblem(f"no CUDA device ({error})", remedy=remedy) from error
        if self.capability < _OLDEST:
            remedy = f"a device of compute capability {_OLDEST / 10} or newer is needed"
            raise EnvironmentProblem(f"this device is sm_{self.capability}", remedy=remedy)
        self._cupy = cupy
        self.multiprocessor_count = int(attributes["MultiProcessorCount"])
        self.shared_bytes_max = int(attributes["MaxSharedMemoryPerBlockOptin"])
        self._modules: dict[tuple[str, tuple[tuple[str, str], ...]], Any] = {}

    @property
    def has_wgmma(self) -> bool:
        """Whether this device runs Hopper's warpgroup matrix instructions; later ones dropped them."""
        return self.capability == 90

    def get(self, file: str, name: str, defines: Mapping[str, str] | None = None, *, shared_bytes: int = 0) -> Any:
        """The kernel `name` of `file`, as a CuPy RawKernel that may use `shared_bytes` of dynamic shared memory."""
        key = (file, tuple(sorted((defines or {}).items())))
        if key not in self._modules:
            self._modules[key] = self._compile(file, key[1])
        kernel = self._modules[key].get_function(name)
        if shared_bytes > _SHARED_BYTES_FREE:
            kernel.max_dynamic_shared_size_bytes = shared_bytes
        return kernel

    def _compile(self, file: str, defines: tuple[tuple[str, str], ...]) -> Any:
        nvrtc = self._cupy.cuda.nvrtc
        source = (FOLDER / file).read_text(encoding="utf-8")
        suffix = "a" if self.capability >= 90 else ""
        options = [f"--gpu-architecture=sm_{self.capability}{suffix}", "--std=c++17"]
        options += [f"-D{name}={value}" for name, value in defines]
        program = nvrtc.createProgram(source, file, (), ())
        try:
            try:
                nvrtc.compileProgram(program, tuple(options))
            except nvrtc.NVRTCError as error:
                log = nvrtc.getProgramLog(program)
                remedy = f"compiler said: {log.strip()[:500]}"
                raise EnvironmentProblem(f"{file} does not compile for sm_{self.capability}", remedy=remedy) from error
            binary = nvrtc.getCUBIN(program)
        finally:
            nvrtc.destroyProgram(program)
        with tempfile.NamedTemporaryFile(suffix=".cubin") as kept:
            kept.write(binary)
            kept.flush()
            module = self._cupy.RawModule(path=kept.name)
            # CuPy reads the file when the module is first used.
            module.compile()
        return module
