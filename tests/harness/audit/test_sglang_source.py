"""SGLang's formula read from its source: right, wrong, missing, and of a shape that cannot be read.

Owns: the reader on a package of our own (`package.py`). What real versions say: docs/sizing.md. Floor: tests.
"""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from harness.audit.errors import CannotJudgeError
from harness.audit.sglang_formula import Comparison, compare
from kernels.errors import ConfigError
from kernels.hicache.geometry import preset
from kernels.hicache.sizing import IndexFormat, PoolFormats
from tests.harness.audit.package import write_package

FLASH = preset("deepseek-v4-flash")


def read(path: Path, index_k: IndexFormat = "bf16") -> Comparison:
    return compare(str(path), FLASH, PoolFormats(index_k=index_k))


def test_each_pools_term_is_told_apart(tmp_path: Path) -> None:
    found = read(write_package(tmp_path), "fp8")
    terms = {term.kind: term.sglang_bytes for term in found.terms}
    assert terms == pytest.approx({
        "swa": 43 * 584 * 0.1,
        "c4": 21 * 584 / 4,
        "c128": 20 * 584 / 128,
        "index_k": 21 * 132 / 4,
        "c4_state": 21 * 0.1 * 8 / 256 * 8_192,
        "index_state": 21 * 0.1 * 8 / 256 * 2_048,
    })  # fmt: skip
    assert found.sglang_bytes == pytest.approx(sum(terms.values()))
    assert (found.version, found.entries) == ("9.8.7", {"fp8": 132, "fp4": 68})


def test_a_wrong_index_k_term_is_found_at_its_place(tmp_path: Path) -> None:
    found = read(write_package(tmp_path))
    assert found.under_count_bytes == pytest.approx(651)
    (wrong,) = [term for term in found.terms if term.under_count_bytes > 0]
    assert wrong.kind == "index_k"
    assert wrong.function.name == "DSV4PoolConfigurator._get_bytes_per_full_token"
    assert wrong.function.place.startswith("srt/model_executor/pool_configurator.py:")
    assert any("entry_bytes" in function.place for function in found.read)


def test_a_right_index_k_term_is_clean_and_padding_is_told(tmp_path: Path) -> None:
    found = read(write_package(tmp_path, entry="256"))
    assert found.under_count_bytes == 0
    assert {term.kind: term.difference_bytes for term in found.differences} == pytest.approx(
        {"swa": 4.3, "c4": 5.25, "c128": 43.75}
    )


def test_rings_are_those_of_the_version(tmp_path: Path) -> None:
    """Twice the rows, counted and allocated alike, are no difference."""
    found = read(write_package(tmp_path, entry="256", rows="16"))
    states = {term.kind: term for term in found.terms if term.kind.endswith("state")}
    assert states["c4_state"].sglang_bytes == pytest.approx(21 * 0.1 * 16 / 256 * 8_192)
    assert all(term.difference_bytes == pytest.approx(0) for term in states.values())


@pytest.mark.parametrize("given", ["", "sglang", "wheel"])
def test_the_package_is_found_from_its_folder_its_parent_and_in_a_wheel(tmp_path: Path, given: str) -> None:
    write_package(tmp_path)
    path = tmp_path / given
    if given == "wheel":
        path = tmp_path / "sglang-9.8.7-py3-none-any.whl"
        with zipfile.ZipFile(path, "w") as wheel:
            for file in sorted((tmp_path / "sglang").rglob("*.py")):
                wheel.write(file, str(file.relative_to(tmp_path)))
    assert read(path).under_count_bytes == pytest.approx(651)


def test_nothing_is_imported(tmp_path: Path) -> None:
    package = write_package(tmp_path)
    file = package / "sglang/srt/model_executor/pool_configurator.py"
    file.write_text("raise SystemExit('imported')\n" + file.read_text(encoding="utf-8"), encoding="utf-8")
    assert read(package).under_count_bytes == pytest.approx(651)


@pytest.mark.parametrize(
    ("replacement", "place"),
    [
        ({"_is_npu": "mystery()"}, r"pool_configurator\.py:\d+ DSV4PoolConfigurator\.latent: 'mystery\(\)'"),
        ({"parts = sum": "parts = sorted"}, r"_get_bytes_per_full_token: 'sorted\("),
        ({"self.page_size": "self.nowhere"}, r"_get_bytes_per_full_token: 'self\.nowhere'"),
        ({'logging.info(f"{parts}")': "while parts: pass"}, r"_get_bytes_per_full_token: 'while parts:'"),
        ({"self.latent(ratio) *": "self._get_bytes_per_full_token() *"}, "_get_bytes_per_full_token"),
    ],
)
def test_a_shape_that_cannot_be_read_is_named_with_its_place(
    tmp_path: Path, replacement: dict[str, str], place: str
) -> None:
    with pytest.raises(CannotJudgeError, match=place) as told:
        read(write_package(tmp_path, **replacement))
    assert told.value.exit_code == 4


def test_arithmetic_that_does_not_work_out_cannot_be_judged(tmp_path: Path) -> None:
    with pytest.raises(CannotJudgeError, match="does not work out: ZeroDivisionError"):
        read(write_package(tmp_path, **{"self.page_size": "(self.page_size - 256)"}))
    with pytest.raises(CannotJudgeError, match="does not work out: TypeError"):
        read(write_package(tmp_path, entry="None"))
    with pytest.raises(CannotJudgeError, match="does not work out: KeyError"):
        read(write_package(tmp_path, c4_state_pool_size="renamed"))


def test_a_package_without_the_formula_cannot_be_judged(tmp_path: Path) -> None:
    with pytest.raises(CannotJudgeError, match="no package sglang in it"):
        read(tmp_path)
    package = write_package(tmp_path, _get_bytes_per_full_token="_renamed")
    with pytest.raises(CannotJudgeError, match=r"has no DSV4PoolConfigurator\._get_bytes_per_full_token"):
        read(package)
    (package / "sglang/srt/mem_cache/deepseek_v4_memory_pool.py").unlink()
    with pytest.raises(CannotJudgeError, match=r"it has no srt/mem_cache/deepseek_v4_memory_pool\.py"):
        read(package)


def test_text_that_is_not_python_cannot_be_judged(tmp_path: Path) -> None:
    with pytest.raises(CannotJudgeError, match="not Python that can be parsed"):
        read(write_package(tmp_path, LATENT="584 584"))


def test_a_path_to_nothing_or_to_no_package_is_the_users_mistake(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="nothing at that path"):
        read(tmp_path / "nowhere")
    (tmp_path / "file").write_text("no wheel", encoding="utf-8")
    with pytest.raises(ConfigError, match="neither a folder nor a wheel"):
        read(tmp_path / "file")


def test_a_model_without_compressed_layers_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="preset 'dsa' has no compressed layers"):
        compare(str(write_package(tmp_path)), preset("dsa"), PoolFormats())
