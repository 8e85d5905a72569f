"""A pytest marker for programs: the test function is the program, and it passes where every order of it is clean.

Owns: the marker `every_order`. Does not own: exploring. Floor 2b. Loaded by `-p kernels.races.pytest_plugin`, or by
`pytest_plugins = ["kernels.races.pytest_plugin"]` in a conftest.py; nothing else imports it.

    @pytest.mark.every_order                 arguments are those of `explore`: every_order(budget=500)
    def test_my_load_path(machine): ...
"""

from __future__ import annotations

import pytest

from kernels.races.search.explore import explore
from kernels.substrate.contract import Machine

_MARKER = "every_order"


def pytest_configure(config: pytest.Config) -> None:
    """Makes the marker known, so that --strict-markers takes it."""
    config.addinivalue_line("markers", f"{_MARKER}(**options): the test is a program; explore every order of it")


@pytest.fixture
def machine() -> Machine | None:
    """Stands in for the machine while pytest collects: a marked test is called with machines of the explorer's."""
    return None


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Explore a marked test instead of calling it once. Raises: RacesFound unless every order is clean."""
    marker = pyfuncitem.get_closest_marker(_MARKER)
    if marker is None:
        return None
    # A failing test shows names and tokens; whether the named wait would do is the command line's to check.
    explore(pyfuncitem.obj, **{"mend_schedules": 0, **marker.kwargs}).assert_clean()
    return True
