"""Load generators from elsewhere: what is read from their real outputs.

The outputs in `generators/golden` are what the tools printed against `fairload null` and `fairload faulty`; see the README there.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from builders.jobs import WORKLOADS, job
from builders.paths import TESTS
from builders.requests import asking
from fairground import generators
from fairground.generators import hey, latency, wrk
from fairground.generators.tool import ToolOutput, ToolReport, outcomes
from fairground.model import LabError, Outcomes

GOLDEN = TESTS / "generators" / "golden"


def read(tool: str, case: str, code: int | None = 0, **load: Any) -> ToolReport:
    """What is read of one golden output."""
    folder = GOLDEN / tool / case
    assert folder.is_dir()
    texts = [path.read_text() if (path := folder / name).exists() else "" for name in ("stdout", "stderr")]
    return generators.TOOLS[tool].read(job(**load), ToolOutput(texts[0], texts[1], code, folder))


def counted(seen: ToolReport) -> dict[str, Any]:
    """The kinds of outcomes that a tool tells."""
    return {name: value for name in Outcomes.__dataclass_fields__ if (value := getattr(seen.outcomes, name)) not in (None, {})}


WRK = {"ok": 0, "timeout": 0, "connect": 0, "reset": 0, "unclassified": 0}
AB = {"ok": 0, "connect": 0, "unclassified": 0}
EACH = {"ok": 0, "shed": 0, "timeout": 0, "connect": 0, "reset": 0, "malformed": 0, "in_flight": 0, "unclassified": 0}
OHA = EACH | {"unsent": 0}
K6 = {name: value for name, value in OHA.items() if name != "malformed"}
READINGS: dict[tuple[str, str], tuple[float, dict[str, Any], int]] = {
    ("wrk", "null"): (1.211369, WRK | {"ok": 4031}, 4031),
    ("wrk", "everything"): (1.013223, WRK | {"ok": 19, "reset": 12, "unclassified": 8}, 27),
    ("wrk", "mute"): (1.010002, WRK, 0),
    ("wrk", "other-statuses"): (1.009796, WRK | {"ok": 4269, "unclassified": 1830}, 6099),
    ("ab", "null"): (1.003, AB | {"ok": 2213}, 2213),
    ("ab", "requests"): (0.094, AB | {"ok": 1000}, 1000),
    ("ab", "other-statuses"): (1.0, AB | {"ok": 2184, "unclassified": 1456}, 3640),
    ("ab", "reset-in-head"): (1.0, AB | {"ok": 2178, "unclassified": 653}, 2831),
    ("ab", "closed-port"): (1.0, AB | {"unclassified": 13966}, 13966),
    ("hey", "null"): (1.0009, EACH | {"ok": 20244}, 20244),
    ("hey", "null-0.1.5"): (1.0013, EACH | {"ok": 23383}, 23383),
    ("hey", "everything"): (
        1.1185, EACH | {"ok": 23, "shed": 4, "status": {404: 4}, "timeout": 4, "reset": 4, "malformed": 4}, 43,
    ),
    ("hey", "mute"): (1.0253, EACH | {"timeout": 4}, 4),
    ("hey", "other-statuses"): (1.0053, EACH | {"ok": 452, "status": {302: 75, 404: 76, 429: 76, 500: 76}}, 755),
    ("hey", "closed-port"): (1.0199, EACH | {"connect": 2778}, 2778),
    ("oha", "null"): (1.001891926, OHA | {"ok": 70666}, 70666),
    ("oha", "requests"): (0.021139467, OHA | {"ok": 1000}, 1000),
    ("oha", "everything"): (
        1.004151703, OHA | {"ok": 19, "shed": 4, "status": {404: 4}, "timeout": 4, "reset": 8, "malformed": 4}, 43,
    ),
    ("oha", "mute"): (1.002581045, OHA | {"timeout": 4}, 4),
    ("oha", "other-statuses"): (1.002465881, OHA | {"ok": 42329, "status": {302: 7055, 404: 7055, 429: 7055, 500: 7055}}, 70549),
    ("oha", "reset-in-head"): (1.004279633, OHA | {"ok": 51571, "reset": 8595}, 60166),
    ("oha", "closed-port"): (1.000452474, OHA | {"connect": 77341}, 77341),
    ("k6", "null"): (1.000398841, K6 | {"ok": 15649}, 15649),
    ("k6", "requests"): (0.104620669, K6 | {"ok": 1000}, 1000),
    ("k6", "everything"): (
        1.008193628, K6 | {"ok": 19, "shed": 4, "status": {404: 4}, "timeout": 4, "unclassified": 12}, 43,
    ),
    ("k6", "mute"): (1.001217062, K6 | {"timeout": 4}, 4),
    ("k6", "other-statuses"): (1.000181716, K6 | {"ok": 9585, "status": {302: 1598, 404: 1598, 429: 1598, 500: 1598}}, 15977),
    ("k6", "reset-in-head"): (1.000347911, K6 | {"ok": 10060, "unclassified": 1677}, 11737),
    ("k6", "closed-port"): (1.000219845, K6 | {"connect": 14861}, 14861),
    ("vegeta", "open"): (0.980142225, OHA | {"ok": 50}, 50),
    ("vegeta", "everything"): (
        1.006522193, OHA | {"ok": 20, "shed": 4, "status": {404: 4}, "timeout": 4, "reset": 8, "malformed": 4}, 44,
    ),
    ("vegeta", "mute"): (2.008398867, OHA | {"timeout": 5}, 5),
    ("vegeta", "other-statuses"): (0.980014104, OHA | {"ok": 30, "status": {302: 5, 404: 5, 429: 5, 500: 5}}, 50),
    ("vegeta", "reset-in-head"): (0.980505256, OHA | {"ok": 43, "reset": 7}, 50),
    ("vegeta", "closed-port"): (0.980144419, OHA | {"connect": 50}, 50),
}  # fmt: skip
"""(tool, case) → seconds, outcomes that it tells, requests that ended."""


@pytest.mark.parametrize(("tool", "case"), READINGS)
def test_counts_of_real_outputs(tool: str, case: str) -> None:
    """Seconds, outcomes by kind and ended requests of each output; what a tool does not tell is unknown, never 0."""
    seen = read(tool, case)
    assert (pytest.approx(seen.duration_s, abs=1e-9), counted(seen), seen.completed) == READINGS[tool, case]


@pytest.mark.parametrize(
    ("tool", "case", "answers", "ends_us"),
    [
        ("oha", "reset-in-head", 51571, (24, 54, 4486)),
        ("k6", "everything", 19, (44, 94, 1346)),
        ("k6", "open", 301, (75, 174, 1941)),
        ("hey", "null", 20244, (0, 200, 12_100)),
        ("hey", "null-0.1.5", 23383, (0, 100, 11_400)),
        ("vegeta", "open", 50, (196, 269, 1828)),
        ("vegeta", "everything", 20, (59, 249, 858)),
    ],
)
def test_latencies_of_real_outputs(tool: str, case: str, answers: int, ends_us: tuple[int, int, int]) -> None:
    """The latencies of the good answers alone: how many, the least, the median and the most, in µs."""
    load = {"model": "open", "rate_per_s": 300.0, "arrivals": "constant"} if case == "open" else {}
    spread = read(tool, case, **load).latency_ok
    assert spread is not None and (spread.count, (spread.min_us, spread.p50_us, spread.max_us)) == (answers, ends_us)


@pytest.mark.parametrize(
    ("tool", "case", "said"),
    [
        ("wrk", "closed-port", "`wrk` ended with exit code 1 and no result; its last output: unable to connect to 127.0.0.1:17123 Connection refused"),
        ("ab", "mute", "`ab` gave up at its first such error and reported nothing: apr_pollset_poll: The timeout specified has expired (70007)"),
    ],
)  # fmt: skip
def test_a_tool_without_a_report_is_the_instruments_fault(tool: str, case: str, said: str) -> None:
    """A tool that gave up has no result: one sentence with its own last words, and exit code 3."""
    with pytest.raises(LabError) as caught:
        read(tool, case, code=1)
    assert (caught.value.message, caught.value.exit_code) == (said, 3)


@pytest.mark.parametrize("tool", list(generators.TOOLS))
def test_silence_is_no_result(tool: str) -> None:
    """A tool that wrote nothing at all has no result either, and that is said."""
    with pytest.raises(LabError, match=f"^`{tool}` ended with exit code 2 and no result; it said nothing$"):
        generators.TOOLS[tool].read(job(), ToolOutput("", "", 2, Path("/nowhere")))


# ---------------------------------------------------------------- latencies


def test_wrk_latencies_are_as_measured() -> None:
    """What wrk added to its histogram is taken away again: as many are left as answers came, and the ends are as they were."""
    seen = read("wrk", "null")
    assert seen.latency_ok is not None and seen.latency_ok == seen.latency_all
    spread = seen.latency_ok
    assert (spread.count, spread.min_us, spread.max_us) == (4031, 19, 260_194)
    assert (spread.p50_us, spread.p90_us) == (46, 174) and spread.v2 is not None


def corrected(measured: dict[int, int], cycle_us: int) -> dict[int, int]:
    """What wrk makes of a histogram: for each value of two cycles or more one value for each cycle less, down to one cycle."""
    counts = dict(measured)
    for value in range(2 * cycle_us, max(measured) + 1):
        added = value - cycle_us
        while counts.get(value) and added > cycle_us:
            counts[added] = counts.get(added, 0) + counts[value]
            added -= cycle_us
    return counts


@pytest.mark.parametrize(
    "measured",
    [{10: 90, 500: 7, 1000: 3}, {10: 100}, {5: 1, 20: 40, 21: 40, 90: 10, 330: 5, 331: 4}, {300: 50, 700: 50}],
)  # fmt: skip
def test_wrk_correction_is_undone(measured: dict[int, int]) -> None:
    """For any histogram: corrected as wrk does it, and read, it is the measured one again. Values below the least are not told."""
    requests, connections = sum(measured.values()), 4
    duration_us = 60 * (requests // connections) + 7
    told = {value: count for value, count in corrected(measured, 60).items() if value >= min(measured)}
    found = {"duration_us": duration_us, "requests": requests, "timeout": 0, "values": len(told), "counts": list(told.items())}
    assert wrk.raw(found, connections) == measured


def test_wrk_histogram_that_does_not_add_up_is_unknown() -> None:
    """Counts that are not those of the answers, or that were not told, are no latencies."""
    found = {"duration_us": 1000, "requests": 5, "timeout": 0, "values": 2, "counts": [[10, 3], [20, 1]]}
    assert wrk.raw(found, 1) is None
    assert wrk.raw(found | {"counts": []}, 1) is None


def test_wrk_latencies_of_good_answers_are_unknown_beside_bad_ones() -> None:
    """wrk's histogram holds answers of every status: beside bad ones it is that of all, and of the good ones nothing is known."""
    seen = read("wrk", "other-statuses")
    assert seen.latency_ok is None and seen.latency_all is not None and seen.latency_all.count == 6099


def test_ab_percentiles_are_finer_than_a_millisecond() -> None:
    """They come from its table of percentiles; p99.9 and the mean it does not tell."""
    spread = read("ab", "null").latency_ok
    assert spread is not None
    assert (spread.count, spread.min_us, spread.max_us) == (2213, 37, 70_133)
    assert (spread.p75_us, spread.p95_us) == (84, 10_492)
    assert (spread.p50_us, spread.p90_us, spread.p99_us, spread.p999_us, spread.mean_us, spread.v2) == (
        64,
        4117,
        32_044,
        None,
        None,
        None,
    )


def test_ab_lossy_where_it_failed() -> None:
    """Where connections break ab loses count, good answers included: nobody knows how many requests it sent."""
    assert read("ab", "reset-in-head").lossy and not read("ab", "requests").lossy


def test_ab_tells_when_connections_did_not_last() -> None:
    """A server that closes after each HTTP/1.0 request makes keep-alive a word only, and that is said."""
    assert any("after 0 of 13,966 requests only" in caveat for caveat in read("ab", "closed-port").caveats)
    assert not any("requests only" in caveat for caveat in read("ab", "null").caveats)


def test_hey_percentiles() -> None:
    """Seconds become µs, an unfilled line (`0% in`) is unknown, and beside bad answers nothing is known of the good ones."""
    spread = read("hey", "null").latency_ok
    assert spread is not None and (spread.p50_us, spread.p90_us, spread.p99_us, spread.max_us) == (200, 300, 500, 12_100)
    assert (spread.p75_us, spread.p95_us) == (200, 300)
    assert read("hey", "everything").latency_ok is None
    assert read("hey", "mute").latency_all is None


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('Get "http://h:1/": dial tcp 127.0.0.1:1: connect: connection refused', "connect"),
        ('Get "http://h:1/": dial tcp 127.0.0.1:1: i/o timeout', "timeout"),
        ('Get "http://h:1/": context deadline exceeded (Client.Timeout exceeded while awaiting headers)', "timeout"),
        ('Get "http://h:1/": read tcp a->b: read: connection reset by peer', "reset"),
        ('Get "http://h:1/": EOF', "reset"),
        ('Get "http://h:1/": http: server closed idle connection', "reset"),
        ('Get "http://h:1/": net/http: HTTP/1.x transport connection broken: malformed HTTP response "x"', "malformed"),
        ("the moon is in the wrong house", "unclassified"),
    ],
)
def test_words_of_go_clients(text: str, kind: str) -> None:
    """hey and vegeta say in words why a request failed; what no word fits is told apart from all kinds."""
    assert {name: count for name, count in hey.errors(f"  [3]\t{text}\n  [2]\t{text}").items() if count} == {kind: 5}


def test_latency_of_counts() -> None:
    """Nearest ranks of counted values; an empty histogram has no value."""
    spread = latency.of_counts({100: 98, 500: 1, 900: 1})
    assert (spread.count, spread.min_us, spread.max_us, spread.mean_us) == (100, 100, 900, 112.0)
    assert (spread.p50_us, spread.p90_us, spread.p99_us) == (100, 100, 500)
    wider = latency.of_counts({100: 74, 500: 20, 900: 6})
    assert (wider.p75_us, wider.p95_us) == (500, 900)
    nothing = latency.of_counts({})
    assert (nothing.count, nothing.p50_us, nothing.mean_us) == (0, None, None)


# ---------------------------------------------------------------- vegeta, by hand

VEGETA = """\
1789000000000000000,200,1500000,0,0,,,,0,GET,http://127.0.0.1:17123/ping,
1789000000500000000,200,2500000,0,0,,,,1,GET,http://127.0.0.1:17123/ping,
1789000001000000000,503,1000000,0,0,503 Service Unavailable,,,2,GET,http://127.0.0.1:17123/ping,
1789000001500000000,0,1000000000,0,0,"Get ""http://127.0.0.1:17123/ping"": context deadline exceeded
(Client.Timeout exceeded while awaiting headers)",,,3,GET,http://127.0.0.1:17123/ping,
1789000001600000000,404,1000000,0,0,404 Not Found,,,4,GET,http://127.0.0.1:17123/ping,
"""
"""Made by hand: seconds with good and other answers, and a text over two lines."""


def test_vegeta_rows(tmp_path: Path) -> None:
    """Rows become outcomes, latencies of good answers and of all, and seconds; a text over two lines is one row."""
    (tmp_path / "converted").write_text(VEGETA)
    seen = generators.TOOLS["vegeta"].read(job(), ToolOutput("", "", 0, tmp_path))
    assert counted(seen) == EACH | {"ok": 2, "shed": 1, "status": {404: 1}, "timeout": 1, "unsent": 0}
    assert (seen.completed, seen.duration_s) == (5, 2.5)
    assert seen.latency_ok is not None and (seen.latency_ok.count, seen.latency_ok.max_us) == (2, 2500)
    assert seen.latency_all is not None and (seen.latency_all.count, seen.latency_all.max_us) == (5, 1_000_000)
    assert [(second.second, second.ok, second.not_ok) for second in seen.seconds] == [(0, 2, 0), (1, 0, 2)]


# ---------------------------------------------------------------- oha and k6, by hand


def oha(statuses: dict[str, int], errors: dict[str, int], average: float | None = 0.002) -> ToolReport:
    """What is read of a report made by hand after oha 1.16's source, with the words of errors that it really prints."""
    times = [None if average is None else value for value in (0.001, 0.009, 0.0015, 0.004, 0.0085, 0.0089, 0.002, 0.006)]
    document = {
        "summary": {"total": 1.5, "fastest": times[0], "slowest": times[1], "average": average, "requestsPerSec": 9e9, "totalData": 260},
        "latencyPercentiles": dict(zip(("p50", "p90", "p99", "p99.9", "p75", "p95"), times[2:], strict=True)),
        "statusCodeDistribution": statuses,
        "errorDistribution": errors,
    }  # fmt: skip
    return generators.TOOLS["oha"].read(job(), ToolOutput(json.dumps(document), "", 0, Path()))


def test_oha_report() -> None:
    """Answers by status, percentiles in µs; its rate, which holds errors, is not looked at."""
    seen = oha({"200": 10}, {})
    assert (seen.duration_s, seen.completed, seen.bytes_received) == (1.5, 10, 260)
    assert counted(seen) == EACH | {"ok": 10, "unsent": 0}
    spread = seen.latency_ok
    assert spread is not None and spread == seen.latency_all
    assert (spread.count, spread.min_us, spread.mean_us, spread.max_us) == (10, 1000, 2000.0, 9000)
    assert (spread.p50_us, spread.p90_us, spread.p99_us, spread.p999_us) == (1500, 4000, 8500, 8900)
    assert (spread.p75_us, spread.p95_us) == (2000, 6000)


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("timeout", "timeout"),
        ("aborted due to deadline", "in_flight"),
        ("Connection refused (os error 111)", "connect"),
        ("Connection reset by peer (os error 104)", "reset"),
        ("connection closed before message completed", "reset"),
        ("connection error", "reset"),
        ("error reading a body from connection", "reset"),
        ("error writing a body to connection", "reset"),
        ("operation was canceled", "reset"),
        ("invalid HTTP version parsed", "malformed"),
        ("invalid content-length parsed", "malformed"),
        ("something new", "unclassified"),
    ],
)
def test_words_of_oha(words: str, kind: str) -> None:
    """Each text of an error counts as its kind, and bad answers leave the latencies of the good ones unknown."""
    seen = oha({"200": 10, "503": 2, "404": 1}, {words: 4})
    assert counted(seen) == EACH | {"ok": 10, "shed": 2, "status": {404: 1}, "unsent": 0, kind: 4}
    assert seen.latency_ok is None and seen.latency_all is None
    assert seen.completed == (13 if kind == "in_flight" else 17)


def test_oha_without_an_answer() -> None:
    """Numbers that are none are written as null, and are no latency."""
    seen = oha({}, {"Connection refused (os error 111)": 7}, average=None)
    assert (seen.outcomes.ok, seen.outcomes.connect, seen.latency_all) == (0, 7, None)


def k6(folder: Path, metrics: dict[str, dict[str, float]], **load: Any) -> ToolReport:
    """What is read of a summary made by hand after k6's documentation."""
    document = {"state": {"testRunDurationMs": 1250.5}, "metrics": {name: {"values": values} for name, values in metrics.items()}}
    (folder / "report.json").write_text(json.dumps(document))
    return generators.TOOLS["k6"].read(job(**load), ToolOutput("", "", 0, folder))


TREND = {"min": 0.5, "avg": 1.25, "max": 9.0, "p(50)": 1.0, "p(90)": 2.0, "p(99)": 8.0, "p(99.9)": 8.9, "p(75)": 1.5, "p(95)": 4.0,
         "count": 80}  # fmt: skip


def test_k6_report(tmp_path: Path) -> None:
    """Good is what is left of all requests after those that the script counted apart; ms become µs."""
    metrics = {
        "http_reqs": {"count": 100}, "status_503": {"count": 6}, "status_404": {"count": 3}, "error_1050": {"count": 5},
        "error_1212": {"count": 2}, "error_1220": {"count": 1}, "error_1000": {"count": 3}, "data_received": {"count": 999},
        "http_req_duration": TREND | {"count": 100}, "http_req_duration{expected_response:true}": TREND,
    }  # fmt: skip
    seen = k6(tmp_path, metrics)
    told = EACH | {
        "ok": 80,
        "shed": 6,
        "status": {404: 3},
        "timeout": 5,
        "connect": 2,
        "reset": 1,
        "unclassified": 3,
        "unsent": 0,
    }
    assert counted(seen) == {name: value for name, value in told.items() if name != "malformed"}
    assert (seen.duration_s, seen.completed, seen.bytes_received) == (1.2505, 100, 999)
    assert seen.latency_ok is not None and seen.latency_all is not None
    assert (seen.latency_ok.count, seen.latency_ok.p50_us, seen.latency_ok.p999_us, seen.latency_ok.mean_us) == (
        80,
        1000,
        8900,
        1250.0,
    )
    assert (seen.latency_ok.p75_us, seen.latency_ok.p95_us) == (1500, 4000)
    assert seen.latency_all.count == 100


def test_k6_dropped_iterations_were_never_sent(tmp_path: Path) -> None:
    """What an open loop had no user for was due and not sent: it is told, never hidden."""
    metrics = {"http_reqs": {"count": 100}, "dropped_iterations": {"count": 40}, "http_req_duration": TREND}
    seen = k6(tmp_path, metrics, model="open", rate_per_s=140.0, arrivals="constant")
    assert (seen.outcomes.ok, seen.outcomes.unsent, seen.outcomes.total) == (100, 40, 140)


def test_k6_without_requests_has_no_result(tmp_path: Path) -> None:
    """A script that failed before its first request leaves a summary without requests."""
    with pytest.raises(LabError, match="`k6` ended with exit code 0 and no result"):
        k6(tmp_path, {})


# ---------------------------------------------------------------- outcomes


def test_expected_status_is_good_whatever_it_is() -> None:
    """A workload that expects a 503 has good answers of 503, and its 200 are of another status."""
    asked = asking(WORKLOADS["ping"], expect=replace(WORKLOADS["ping"].first.expect, status=503))
    found = outcomes(replace(job(), workload=asked), {503: 7, 200: 2})
    assert (found.ok, found.shed, found.status) == (7, 0, {200: 2})


def test_outcomes_add_up_and_unknown_stays_unknown() -> None:
    """Two runs together: kinds and statuses are added, a kind that one run cannot tell is unknown."""
    one = Outcomes(5, 1, {404: 2}, None, 1, 0, 0, 0, None, 0, 3)
    other = Outcomes(7, None, {404: 1, 500: 4}, None, 2, 0, 0, 0, None, 0, 0)
    found = one.join(other)
    assert (found.ok, found.shed, found.status, found.timeout, found.unclassified) == (12, None, {404: 3, 500: 4}, 3, 3)
    assert found.wrong_body is None and found.total == 12 + 7 + 3 + 3 and found.unknown == 3 + 3
