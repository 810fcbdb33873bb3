"""Which tests may be at work side by side, and how workers share them out."""

from __future__ import annotations

import pytest

from workers import unit

pytest_plugins = ["pytester"]

CONFTEST = """
from workers import Workers

def pytest_configure(config):
    config.pluginmanager.register(Workers())
    for name in ("live", "measures"):
        config.addinivalue_line("markers", name)
"""


def test_what_measures_is_live(pytester: pytest.Pytester) -> None:
    """A test that measures is left out with the live ones, and no other is."""
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile("import pytest\n\n@pytest.mark.measures\ndef test_that_measures(): pass\n\ndef test_of_values(): pass\n")
    for words, counts in (
        ("not live", {"passed": 1, "deselected": 1}),
        ("live", {"passed": 1, "deselected": 1}),
        ("", {"passed": 2}),
    ):
        assert pytester.runpytest_inprocess("-p", "no:cacheprovider", "-m", words).parseoutcomes() == counts


@pytest.mark.parametrize(
    ("one", "other", "together"),
    [
        ("tests/a/test_x.py::test_1", "tests/a/test_x.py::test_2[b:c]", True),
        ("tests/a/test_x.py::test_1", "tests/b/test_x.py::test_1", False),
        ("tests/live/x.py::test_stack_fulfils_the_contract[a:1]", "tests/live/x.py::test_stack_fulfils_the_contract[a:2]", True),
        (
            "tests/live/x.py::test_stack_fulfils_the_contract[a:1]",
            "tests/live/x.py::test_stack_fulfils_the_contract[ab:1]",
            False,
        ),
        ("tests/live/x.py::test_stack_fulfils_the_contract[a:1]", "tests/live/x.py::test_folder[a]", False),
        ("tests/c/x.py::test_fault_is_found[hangs-ping]", "tests/c/x.py::test_fault_is_found[resets-ping]", False),
    ],
)
def test_what_belongs_together(one: str, other: str, together: bool) -> None:
    """Tests of a file are one unit, but for stacks, of which those of a server are one, and for faults, which are by themselves."""
    assert (unit(one) == unit(other)) is together
