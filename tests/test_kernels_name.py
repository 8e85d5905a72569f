"""The guard around the name `kernels`, which Hugging Face also uses: ours is real, light, old and says who it is.

Owns: the behaviour of `kernels/__init__.py` and of the switch that keeps our folder out of a server's imports. Does not
test any kernel. Floor: tests. Source: measured behaviour of transformers' probe for that name (docs of the layout).
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.version import Version

import kernels

ROOT = Path(__file__).resolve().parents[1]
# The lowest version that any release of transformers known to us asks for.
OLDEST_MINIMUM_PROBED = Version("0.15.2")


def _child(code: str, *flags: str, folder: Path = ROOT, **environment: str) -> str:
    """Run `code` in a fresh interpreter whose working folder is `folder`; its stdout."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        [sys.executable, *flags, "-c", code],
        cwd=folder,
        env=inherited | environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    return done.stdout.strip()


def test_import_loads_nothing_else() -> None:
    code = "import sys; before = set(sys.modules); import kernels; print(sorted(set(sys.modules) - before))"
    assert _child(code) == "['kernels']"


def test_package_is_ours_and_real() -> None:
    assert kernels.__file__ is not None
    assert Path(kernels.__file__).resolve() == ROOT / "kernels" / "__init__.py"


def test_version_is_below_every_probe() -> None:
    assert kernels.__version__ == "0.0.0"
    assert Version(kernels.__version__) < OLDEST_MINIMUM_PROBED


@pytest.mark.parametrize(
    "name",
    ["get_kernel", "LayerRepository", "Mode", "Device", "kernelize", "use_kernel_forward_from_hub", "has_kernel"],
)
def test_hugging_face_name_says_what_happened(name: str) -> None:
    with pytest.raises(ImportError, match=rf"'kernels\.{name}' belongs to the Hugging Face package") as caught:
        getattr(kernels, name)
    assert "PYTHONSAFEPATH=1" in str(caught.value)


def test_hugging_face_sentence_reaches_from_import() -> None:
    code = "try:\n    from kernels import get_kernel\nexcept ImportError as error:\n    print(error)"
    assert "belongs to the Hugging Face package" in _child(code)


def test_other_names_are_plain_attribute_errors() -> None:
    assert not hasattr(kernels, "no_such_name")
    with pytest.raises(AttributeError, match="module 'kernels' has no attribute 'no_such_name'"):
        _ = kernels.no_such_name


def test_safe_path_hides_our_folder(tmp_path: Path) -> None:
    """A server started from the repository sees ours; with the switch it sees the installed one, or none."""
    installed = tmp_path / "site" / "kernels"
    installed.mkdir(parents=True)
    (installed / "__init__.py").write_text("__version__ = '9.9.9'\n", encoding="utf-8")
    code = "import kernels; print(kernels.__version__)"
    site = str(installed.parent)
    assert _child(code, PYTHONPATH=site) == "0.0.0"
    assert _child(code, "-P", PYTHONPATH=site) == "9.9.9"
    assert _child(code, PYTHONPATH=site, PYTHONSAFEPATH="1") == "9.9.9"
    spec = "import importlib.util; print(importlib.util.find_spec('kernels'))"
    assert str(ROOT) not in _child(spec, "-P")
