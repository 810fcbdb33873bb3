"""Mistakes in the words of `compare` and of `capacity`: each has its sentence, and nothing is measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.command import ROOT, Done, Run, stored
from report.fixture import one_block, two_blocks


def refused(done: Done, message: str | None, hint: str | None) -> None:
    """It ended with exit code 2, one sentence (None: one that quotes what was given) and the hint, if that is known."""
    said = done.stderr.replace("\n\nhint: ", "\nhint: ").splitlines()
    assert (done.returncode, done.stdout) == (2, "")
    assert said[0] == f"error: {message}" if message else said[0].startswith("error: `")
    if hint is not None:
        assert said[1:] == [f"hint: {hint}"]


COMPARE = ("compare", "--servers", "servers")


TWO = (*COMPARE, "alder-one:plain", "alder-one:fancy")


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (
            (*COMPARE, "alder-one:plain"),
            "name two stacks, or one stack and `--revisions` or `--sql-before`",
            "./fairground compare SERVER:ONE SERVER:TWO",
        ),
        ((*COMPARE, "alder-one:plain", "alder-two"), "there is no stack `alder-two`", None),
        (
            (*COMPARE, "alder-one", "alder-one:fancy"),
            "`alder-one` has 2 stacks",
            "name one: alder-one:plain, alder-one:fancy",
        ),
        (
            (*COMPARE, "alder-one:plain", "--revisions", "main"),
            "`--revisions main` should be two revisions",
            "for instance --revisions main,.",
        ),
        (
            (*COMPARE, "alder-one:plain", "--revisions", "main,main"),
            "`--revisions main,main` names one revision twice",
            "for instance --revisions HEAD~1,HEAD",
        ),
        ((*TWO, "-w", "pong"), "there is no workload `pong`", None),
        ((*TWO, "--budget", "soon"), "`--budget soon` should be a time", "for instance --budget 90s, --budget 5m or --budget 1h"),
        ((*TWO, "--turn", "0"), "`--turn 0.0` should be more than 0", None),
        ((*TWO, "--pin", "server"), "`--pin server` should be a role and its cores", "for instance --pin server=0"),
        ((*TWO, "--pin", "server=9999"), "`server` is to run on core 9999, which the lab may not use here", None),
        (
            (*TWO, "--pin", "database=0", "--database", "postgresql://127.0.0.1/x"),
            "a given database cannot be pinned to cores",
            "pin it where it is started, or leave out `--database`",
        ),
        ((*TWO, "--fail-on", "worse"), None, None),
        (
            (*COMPARE, "--resume", "latest", "--results", "none"),
            "there is no comparison in `none`",
            "`./fairground list runs` shows what there is",
        ),
        ((*TWO, "--resume", "latest"), "`A` goes with a new comparison, and `--resume` goes on with one", "leave it out"),
    ],
)
def test_wrong_input_of_compare(lab: Run, words: tuple[str, ...], message: str | None, hint: str | None) -> None:
    """Wrong input of `compare` ends before anything is built or started."""
    refused(lab(*words), message, hint)


@pytest.mark.parametrize(
    ("words", "name", "noun"),
    [
        (("compare", "--budget", "10m"), "--budget", "comparison"),
        (("compare", "--budget", "3m"), "--budget", "comparison"),
        (("compare", "-w", "users"), "--workload", "comparison"),
        (("capacity", "--slo", "p99<20ms"), "--slo", "capacity"),
        (("why", "--budget", "3m"), "--budget", "experiment"),
        (("why", "latest", "birch-two"), "RUN", "experiment"),
        (("cross-check", "--rounds", "9"), "--rounds", "cross-check"),
        (("check", "birch-two"), "STACK", "check"),
        (("try", "--window", "5"), "--window", "try"),
        (("try", "--at-least", "5"), "--at-least", "try"),
    ],
)
def test_what_goes_on_takes_no_other_wish(lab: Run, words: tuple[str, ...], name: str, noun: str) -> None:
    """What a record says itself is refused beside `--resume`, a default that is typed, too."""
    said = f"`{name}` goes with a new {noun}, and `--resume` goes on with one"
    refused(lab(*words, "--resume", "latest", "--results", "none"), said, "leave it out")


@pytest.mark.parametrize("verb", ["compare", "capacity", "why", "cross-check", "check", "try"])
def test_what_is_no_part_of_a_record_goes_beside_resume(lab: Run, verb: str) -> None:
    """Where records are, and how the end is told, each verb takes: the record itself is what lacks here."""
    done = lab(verb, "--resume", "latest", "--results", "none", "--json", *(("--fail-on", "any:5%") if verb == "compare" else ()))
    assert done.returncode == 2 and "in `none`" in done.stderr


@pytest.mark.parametrize(
    ("words", "name"),
    [(("-w", "users"), "--workload"), (("--sql-before", "x.sql"), "--sql-before"), (("--revisions", "a,b"), "--revisions")],
)
def test_two_records_are_compared_as_they_are(lab: Run, tmp_path: Path, words: tuple[str, ...], name: str) -> None:
    """An option that says what is measured would be passed over beside two runs; where they are kept is no such option."""
    runs = (stored(one_block(), tmp_path / "kept").name, stored(two_blocks(), tmp_path / "kept").name)
    compared = (*COMPARE, *runs, "--results", "kept")
    assert lab(*compared, "--quiet").returncode == 0
    refused(
        lab(*compared, *words), f"`{name}` goes with what is measured, and two records are compared as they are", "leave it out"
    )


CAPACITY = ("capacity", "--servers", "servers")


HERE, HTTPS = "http://127.0.0.1:9/", "https://127.0.0.1:9/"
SHOP = str(ROOT / "examples" / "own-service" / "shop.toml")


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (CAPACITY, "name at least one `--stack`", "./fairground capacity --stack SERVER:VARIANT"),
        ((*CAPACITY, "-s", "alder-on"), "there is no stack `alder-on`", None),
        ((*CAPACITY, "-s", "alder-one", "-w", "pong"), "there is no workload `pong`", None),
        ((*CAPACITY, "-s", "alder-one", "--slo", "p99<50"), "`p99<50` in `--slo` has no unit", None),
        (
            (*CAPACITY, "-s", "alder-one", "--budget", "soon"),
            "`--budget soon` should be a time",
            "for instance --budget 90s, --budget 5m or --budget 1h",
        ),
        (
            (*CAPACITY, "-s", "alder-one", "--budget", "90s"),
            "`--budget 90s` leaves 45 s for each of 2 cells, and one needs 60",
            "--budget 2m",
        ),
        ((*CAPACITY, "-s", "alder-one", "--width", "0"), "`--width 0.0` should be more than 0", None),
        (
            (*CAPACITY, "-s", "alder-one", "--width", "0.05"),
            "`--width 0.05` should be 0.1 at least, for rates have four digits",
            None,
        ),
        ((*CAPACITY, "-s", "alder-one", "--pool-wait-ms", "-1"), "`--pool-wait-ms -1` should be 0 or more", None),
        ((*CAPACITY, "-s", "alder-one", "--resume", "latest"), None, "leave it out"),
        (
            (*CAPACITY, "-s", "alder-one", "--requests", "calls.toml"),
            "`--requests` is of a service, and no URL is given",
            "./fairground capacity URL --requests …",
        ),
        (
            ("capacity", HERE, "--requests", "absent.toml", "--method", "POST"),
            "`--method` is of one request, and `--requests` gives several",
            "write it into the file",
        ),
        (("capacity", HERE, "--requests", "absent.toml"), None, None),
        (("capacity", HERE, "-s", "alder-one"), f"`--stack` is of stacks, and `{HERE}` is a service", None),
        (("try",), "the URL of the service is missing", None),
        (("try", "--", "./my-server"), "the URL of the service is missing", None),
        (("try", HERE, "--url", HERE), "two URLs are given", "leave out `--url`, or give a command after `--`"),
        (("try", HERE, "./my-server"), "`./my-server` follows the URL", None),
        (("try", "ftp://127.0.0.1/"), "`ftp://127.0.0.1/` is not an http or https URL", "for instance http://127.0.0.1:3000/"),
        (
            ("try", HERE, "--insecure"),
            f"`--insecure` is for https, and `{HERE}` is plain HTTP",
            "leave it out, or ask https://127.0.0.1:9",
        ),
        (("try", HTTPS, "--insecure", "--ca", "x.pem"), "`--ca` and `--insecure` are given", "leave one of them out"),
        (("try", HTTPS, "--ca", "/dev/null"), None, "--ca FILE, with certificates in PEM"),
        (
            ("try", HTTPS, "--ca", "/no/such"),
            "`/no/such` holds no certificates that can be read (No such file or directory)",
            "--ca FILE, with certificates in PEM",
        ),
        (("try", "http://127.0.0.1:x/"), None, "for instance http://127.0.0.1:3000/"),
        *(
            (words, "`http://[::1:3000/` is not a valid URL (Invalid IPv6 URL)", "for instance http://127.0.0.1:3000/")
            for words in (
                ("try", "http://[::1:3000/", "--requests", "absent.sh"),
                ("try", "http://[::1:3000/", "--against", HERE),
                ("try", HERE, "--against", "http://[::1:3000/"),
            )
        ),
        (
            ("try", HERE, "--against", "http://127.0.0.1:8/", "--against-command", "./s --title Bob's"),
            "`--against-command ./s --title Bob's` is no command",
            "as a shell reads it: no closing quotation",
        ),
        (
            ("try", "http://me:secret@127.0.0.1/"),
            "a name and password in a URL are not sent",
            "--header @FILE, with `Authorization: …` in the file",
        ),
        (("try", "http://127.0.0.1/ä"), "`/ä` should be percent-encoded", None),
        (
            ("try", "http://192.0.2.1/"),
            "`192.0.2.1` is not this machine, and load against other people's machines is an attack",
            "if it is yours: --i-own-this-host",
        ),
        (("try", HERE, "--body", "x"), "a GET has no body", "add --method POST"),
        (("try", HERE, "--method", "G T"), "`--method G T` is not a method", None),
        (("try", HERE, "--method", "POST", "--body", "@absent"), None, "a text file in UTF-8"),
        (("try", HERE, "-H", "nonsense"), "`--header (hidden)` should be a name and a value", None),
        (
            ("try", HERE, "-H", "Connection: close"),
            "`--header Connection` cannot be given: the lab frames its requests itself",
            None,
        ),
        (("try", HERE, "--slo", "fast"), "`fast` in `--slo` is not an objective", None),
        (("try", HERE, "--window", "0"), "`--window 0` should be more than 0", None),
        (("try", HERE, "--at-least", "0"), "`--at-least 0.0` should be more than 0", None),
        (
            ("try", HERE, "--at-least", "1e12"),
            "`--at-least 1e+12` should be 0.001 to 10,000,000 requests a second",
            None,
        ),
        (
            ("try", HERE, "--at-least", "5", "--no-load"),
            "`--at-least` asks for a load, and `--no-load` for none",
            "leave one of them out",
        ),
        (
            ("try", HERE, "--requests", SHOP, "--expect-status", "201"),
            "`--expect-status` is of one request, and `--requests` gives several",
            "write it into the file",
        ),
        (
            ("try", HERE, "--requests", "/nowhere.toml"),
            "`/nowhere.toml` cannot be read (No such file or directory)",
            None,
        ),
        (
            ("try", HERE, "--against", "http://127.0.0.1:8/", "--at-least", "5"),
            "`--at-least` is of the load curve, which `--against` does not make",
            "leave it out",
        ),
        (
            ("try", HERE, "--against", "http://127.0.0.1:8/", "--database", "postgresql://me@127.0.0.1/x"),
            "`--database` cannot be combined with `--against`",
            "leave it out",
        ),
        (
            ("try", HERE, "--against", "http://127.0.0.1:8/", "--slo", "p99<5ms"),
            "`--slo` is of the load curve, which `--against` does not make",
            "leave it out",
        ),
        (
            ("try", HERE, "--against", "http://127.0.0.1:8/", "--fail-on", "more:1%"),
            "`--fail-on more:1%` is a rule on what is counted, and time is measured",
            "hold time against one: --fail-on slower:5%",
        ),
    ],
)
def test_wrong_input_of_load(lab: Run, words: tuple[str, ...], message: str | None, hint: str | None) -> None:
    """Wrong input of `capacity` and `try` ends before anything is started, sent or written."""
    refused(lab(*words), message, hint)
