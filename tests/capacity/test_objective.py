"""Objectives as a person writes them: what is one, and what is said of what is not."""

from __future__ import annotations

import pytest

from fairground.capacity import objective
from fairground.cli import attempt, verbs
from fairground.cli.capacity import timeout_of
from fairground.inputs.options import Given
from fairground.model import LabError


def test_clauses_have_a_share_and_a_deadline() -> None:
    """A percentile is a deadline that a share of the requests may miss; errors are a share without a deadline."""
    found = objective.parse("p99<50ms, p99.9 < 0.2s,p50<=900us,errors<1%")
    assert [(clause.text, clause.allowed, clause.deadline_us) for clause in found.clauses] == [
        ("p99<50ms", 0.01, 50_000),
        ("p99.9<0.2s", 0.001, 200_000),
        ("p50<900us", 0.5, 900),
        ("errors<1%", 0.01, None),
    ]
    assert found.text == "p99<50ms,p99.9<0.2s,p50<900us,errors<1%"
    assert found.deadline_us == 900 and found.least_requests == 10_000


def test_errors_alone_have_no_deadline() -> None:
    """An objective without a percentile has nothing to hold a delay against."""
    assert objective.parse("errors<0.5%").deadline_us is None


@pytest.mark.parametrize(
    ("text", "timeout_ms"),
    [
        ("p99<50ms,errors<1%", 2_000),
        ("p50<100ms,p99<3s", 12_000),
        ("p99<15s", 60_000),
        ("p99<60s", 60_000),
        ("errors<1%", 10_000),
    ],
)
def test_an_answer_is_waited_for_beyond_every_deadline(text: str, timeout_ms: int) -> None:
    """A wait that ended before a deadline would miss it by itself; where there is none, answers have the time of any load."""
    assert timeout_of(objective.parse(text)) == timeout_ms


@pytest.mark.parametrize(
    ("words", "timeout_ms"),
    [
        ((), 5_000),
        (("--slo", "p99<8s"), 32_000),
        (("--slo", "errors<1%"), 5_000),
        (("--timeout-ms", "900"), 900),
        (("--slo", "p99<8s", "--timeout-ms", "8000"), 8_000),
        (("--slo", "p99<8s", "--timeout-ms", "7999"), None),
        (("--timeout-ms", "20"), None),
        (("--timeout-ms", "20", "--no-load"), 20),
    ],
)
def test_no_answer_of_a_service_is_cut_off_in_time(
    words: tuple[str, ...], timeout_ms: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The wait follows the objective; one that is typed and ends before a deadline is refused, where a curve is made."""
    tried = list[Given]()
    monkeypatch.setattr(attempt, "run", tried.append)
    verbs.app(["try", "http://127.0.0.1:3000/", *words], standalone_mode=False)
    if timeout_ms is None:
        with pytest.raises(LabError, match="would cut off answers in time"):
            attempt._asked(tried[0])
    else:
        assert attempt._asked(tried[0]).timeout_ms == timeout_ms


def test_the_default_is_an_objective() -> None:
    """What is meant when nothing is said can be parsed, and is written as it was."""
    assert objective.parse(objective.DEFAULT).text == objective.DEFAULT


@pytest.mark.parametrize(
    "text", ["p99<1000000us", "p99.99999<50ms", "errors<0.00001%", "p99<100.0005ms", "p50<=5ms , p99.90 < 0.2s", "p99<30000001us"]
)
def test_an_objective_is_read_again_from_its_text(text: str) -> None:
    """A record keeps the text alone, so it must mean what was typed, to the last digit."""
    found = objective.parse(text)
    assert objective.parse(found.text) == found


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "`--slo` is empty"),
        (" , ", "`--slo` is empty"),
        ("fast", "`fast` in `--slo` is not an objective"),
        ("p99", "`p99` in `--slo` is not an objective"),
        ("p99>50ms", "`p99>50ms` in `--slo` is not an objective"),
        ("p99<-1ms", "`p99<-1ms` in `--slo` is not an objective"),
        ("p99<50ms,", "`` in `--slo` is not an objective"),
        ("p99<50", "`p99<50` in `--slo` has no unit"),
        ("p99<50min", "`p99<50min` in `--slo` has an unknown unit `min`"),
        ("p100<50ms", "`p100<50ms` in `--slo` should name a percentile above 0 and below 100"),
        ("p0<50ms", "`p0<50ms` in `--slo` should name a percentile above 0 and below 100"),
        ("p99<0ms", "`p99<0ms` in `--slo` should be a time between 1 us and 60 s"),
        ("p99<61s", "`p99<61s` in `--slo` should be a time between 1 us and 60 s"),
        ("errors<1", "`errors<1` in `--slo` has no `%`"),
        ("errors<0%", "`errors<0%` in `--slo` should lie above 0 and below 100 %"),
        ("errors<100%", "`errors<100%` in `--slo` should lie above 0 and below 100 %"),
        ("p99<50ms,p99<60ms", "`--slo` names `p99` twice"),
        ("p99<50ms,p99.0<60ms", "`--slo` names `p99` twice"),
        ("p99.99999999999<50ms", "`p99.99999999999<50ms` in `--slo` has a percentile of more digits than a load can tell"),
        ("errors<1%,errors<2%", "`--slo` names `errors` twice"),
    ],
)
def test_what_is_no_objective(text: str, message: str) -> None:
    """Each mistake is named with its clause, and a hint shows how it is meant."""
    with pytest.raises(LabError) as caught:
        objective.parse(text)
    assert caught.value.message == message and caught.value.hint and caught.value.exit_code == 2
