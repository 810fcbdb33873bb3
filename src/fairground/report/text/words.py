"""Put the report into words: numbers as text, and the sentences that pages, the terminal and Markdown share.

Subject of a sentence is the stack, the verb stands in the present, a number carries its interval. No sentence claims an
order that the intervals do not carry.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from fairground.model import CellSettings, Durability, Finding, Load, Plan, PoolScope, Run, Severity, Trial, Verdict, foreign
from fairground.model.plural import plural as plural  # others write `words.plural`
from fairground.report.boards import Board, BoardRow
from fairground.report.text import seats
from fairground.stats import intervals, precision
from fairground.stats.comparisons import Comparison, HeldStack, Quantity
from fairground.stats.differences import PRACTICAL, DifferenceWord
from fairground.stats.modes import StartModes

UNKNOWN = "–"
NO_NUMBER = "—"
NAMED_AT_MOST = 4
FEW_TAIL_SAMPLES, LEAST_TAIL_SAMPLES = intervals.FEW_TAIL_SAMPLES, intervals.LEAST_TAIL_SAMPLES


def number(value: float | None) -> str:
    """Three significant digits, or the dash of the unknown."""
    return UNKNOWN if value is None else intervals.significant(value)


def count(value: float | None) -> str:
    """An exact count with thousands separated, or the dash of the unknown."""
    if value is None:
        return UNKNOWN
    return f"{value:,}".replace("-", "−") if float(value).is_integer() else intervals.significant(value, 9)


def milliseconds(value_us: float | None) -> str:
    """µs as ms."""
    return UNKNOWN if value_us is None else intervals.significant(value_us / 1000)


def percent(share: float | None) -> str:
    """0.934 → `93 %`; 0.996 → `99.6 %`, for it is not all, and `99.9 %` up to the very last."""
    if share is not None and 0.995 <= share < 1:
        return f"{min(share * 100, 99.9):.1f} %"
    return UNKNOWN if share is None else f"{intervals.significant(share * 100, 2)} %"


def size(value_bytes: float | None) -> str:
    """Bytes in MB (10⁶)."""
    return UNKNOWN if value_bytes is None else f"{intervals.significant(value_bytes / 1e6)} MB"


def seconds(value_s: float) -> str:
    """5025 → `1 h 24 min`, 74 → `1 min 14 s`, 0.52 → `0.520 s`."""
    if value_s < 60:
        return f"{intervals.significant(value_s)} s"
    minutes, rest = divmod(round(value_s), 60)
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min {rest} s"


def prose(text: str) -> str:
    """Text for a line of Markdown, which can open no tag."""
    return foreign.line(text).replace("&", "&amp;").replace("<", "&lt;")


def cell(text: str) -> str:
    """Text that cannot end a table's cell of Markdown, or open a tag."""
    return prose(text).replace("|", "\\|")


def code(text: str) -> str:
    """Text as code in Markdown, which it cannot end."""
    return "`" + foreign.line(text).replace("`", "'") + "`"


def blocks_of(plan: Plan) -> str:
    """`5 blocks`; `2 to 5 blocks` where some of its cells have more than others."""
    least = "" if plan.whole_blocks == plan.blocks else f"{plan.whole_blocks:,} to "
    return least + plural(plan.blocks, "block")


def join_names(names: Sequence[str], at_most: int = NAMED_AT_MOST) -> str:
    """`a`, `a and b`, `a, b and c`, `a, b and 7 more`."""
    shown, more = list(names[:at_most]), len(names) - at_most
    if more > 0:
        return f"{', '.join(shown)} and {more} more"
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def verdicts(board: Board, tried: Collection[tuple[str, str]]) -> tuple[str, ...]:
    """Say what this board shows about its stacks, in sentences; most important first.

    `tried`: cells' ids with reasons that experiments were made on, which are no mere suspicions.
    """
    return (*_speeds(board), *_limits(board, tried))


def _speeds(board: Board) -> list[str]:
    rows = board.numbered
    if not rows:
        return ["No stack has a number here."]
    if board.blocks < 2:
        span = f"{number(rows[-1].middle)} to {number(rows[0].middle)}" if len(rows) > 1 else number(rows[0].middle)
        subject = f"{plural(len(rows), 'stack')} {'give' if len(rows) > 1 else 'gives'} {span} good answers a second"
        return [f"{subject}, in one block: there is no interval, so differences between stacks are not judged."]
    if len(rows) == 1:
        return [f"{_with_interval(rows[0])}."]
    if board.goodput is None:
        return [f"{_with_interval(rows[0])}.", "This run cannot tell its stacks apart: no two of them share two blocks."]
    said = [_leaders(board, board.goodput), *against(board.goodput), *map(_two_modes, board.goodput.modes)]
    return (
        [*said, f"Between its rounds the machine was up to {percent(board.drift)} faster, for all stacks alike."]
        if board.drift
        else said
    )


def _two_modes(one: StartModes) -> str:
    """Say that a stack's starts form two groups, with the number of each and how often it came."""
    starts = len(one.low) + len(one.high)
    return (
        f"{one.stack} has two modes: {len(one.high)} of {plural(starts, 'start')} give {number(one.high_value)} good answers a "
        f"second, and the other {len(one.low)} give {number(one.low_value)}. Its mean is of neither."
    )


def _with_interval(row: BoardRow) -> str:
    interval = ""
    if row.interval:
        interval = f" (95 % CI {_bounds(row.interval)}, {plural(row.interval.count, 'block')})"
    return f"{row.stack} gives {number(row.middle)} good answers a second{interval}"


def _bounds(interval: intervals.Interval) -> str:
    if interval.high / interval.low > 10:
        return "wider than a factor of ten"
    return f"{number(interval.low)}–{number(interval.high)}"


def _leaders(board: Board, found: Comparison) -> str:
    """Say who gives the most, as a group where it cannot be told apart; the whole range where nothing may be said."""
    rows = board.numbered
    if not found.groups:
        return f"Goodput reaches from {number(rows[-1].middle)} to {number(rows[0].middle)} good answers a second."
    by_stack = {row.stack: row for row in rows}
    leading = [by_stack[stack] for stack in found.leading if stack in by_stack]
    alone = f"{_with_interval(leading[0]).replace(' gives ', ' gives the most, ', 1)}."
    if len(leading) == 1:
        return alone
    if set(found.groups[0]) != set(found.leading):  # they are like the first of them, and not all like each other
        return f"{alone} {join_names([row.stack for row in leading[1:]])} cannot be told from it."
    rates = [row.middle or 0.0 for row in leading]
    span = f"{number(min(rates))}–{number(max(rates))}"
    blocks = plural(max(len(row.by_block) for row in leading), "block")
    names = join_names([row.stack for row in leading])
    return f"{names} cannot be told apart and give the most, {span} good answers a second ({blocks})."


def against(found: Comparison) -> list[str]:
    """Say how the stacks stand against the anchor: slower, faster, equivalent, and what cannot be told."""
    if found.withdrawn:
        return [f"Nothing is compared: {found.anchor}, measured twice, differs from itself by more than would be equivalent."]
    by_word = {word: [row for row in found.rows if row.difference.word is word] for word in DifferenceWord}
    alike = [row.stack for row in by_word[DifferenceWord.EQUIVALENT]]
    margin = f"within {PRACTICAL * 100:.0f} %"
    return [
        *_apart(by_word[DifferenceWord.SLOWER], found),
        *_apart(by_word[DifferenceWord.FASTER], found),
        *([f"{join_names(alike)} and {found.anchor} are equivalent {margin}."] if alike else []),
        *_unclear(by_word[DifferenceWord.INCONCLUSIVE], found),
    ]


def _apart(rows: Sequence[HeldStack], found: Comparison) -> list[str]:
    """Say by how much some stacks differ from the anchor.

    `B gives 18 % less than A (95 % CI 14–22 %), C 25 % (21–29 %) and 2 more stacks as well; corrected for 15 pairs of stacks …`.
    """
    if not rows:
        return []
    ordered = sorted(rows, key=lambda row: -abs(row.difference.ratio.middle - 1) if row.difference.ratio else 0.0)
    parts = []
    for place, row in enumerate(ordered[:NAMED_AT_MOST]):
        assert row.difference.ratio is not None, "a row is called only by its ratio"
        amount, span, way = change_of(row.difference.ratio)
        said = f"gives {amount} {way} {found.anchor} (95 % CI {span})" if place == 0 else f"{amount} ({span})"
        parts.append(f"{row.stack} {said}")
    more = len(rows) - NAMED_AT_MOST
    tail = [f"{plural(more, 'more stack')} as well"] if more > 0 else []
    held = f"corrected for {plural(found.pairs, 'pair')} of stacks, " if found.pairs > 1 else ""
    blocks = plural(max(len(row.ratios) for row in rows), "block")
    return [f"{join_names([*parts, *tail], NAMED_AT_MOST + 1)}; {held}{blocks}."]


def change_of(ratio: intervals.Interval) -> tuple[str, str, str]:
    """The amount, its interval and its way: (`18 %`, `14–22 %`, `less than`) or (`2.30 ×`, `2.10–2.50 ×`, `as much as`).

    A third digit where two would make the interval look like a point.
    """
    if ratio.middle >= 2:
        return f"{number(ratio.middle)} ×", f"{number(ratio.low)}–{number(ratio.high)} ×", "as much as"
    ends = (ratio.low, ratio.high) if ratio.middle >= 1 else (ratio.high, ratio.low)
    amount, low, high = (abs(1 - value) * 100 for value in (ratio.middle, *ends))
    digits = 2 if intervals.significant(low, 2) != intervals.significant(high, 2) else 3
    said = [intervals.significant(value, digits) for value in (amount, low, high)]
    return f"{said[0]} %", f"{said[1]}–{said[2]} %", "more than" if ratio.middle >= 1 else "less than"


def _unclear(rows: Sequence[HeldStack], found: Comparison) -> list[str]:
    known = [row.difference.ratio for row in rows if row.difference.ratio is not None]
    if not known:
        return []
    widest = max(known, key=lambda ratio: ratio.high / ratio.low)
    reach = f"reaches from {signed_share(widest.low - 1)} to {signed_share(widest.high - 1)} %"
    if (widest.low > 1 or widest.high < 1) and found.pairs > 1:
        reach += f", before it is corrected for {plural(found.pairs, 'pair')} of stacks"
    if widest.high / widest.low > 10:
        reach = "is wider than a factor of ten"
    interval = "the interval of their ratio" if len(rows) == 1 else "the widest interval of a ratio"
    names = join_names([row.stack for row in rows])
    decides = would_decide(rows, found.block_s, found.floor or 0.0)
    return [f"This run cannot tell {names} from {found.anchor}: {interval} {reach}. {decides}"]


def would_decide(rows: Sequence[HeldStack], block_s: float | None, floor: float = 0.0) -> str:
    """`About 12 more blocks, 6 min 10 s, would decide it.`: of several rows for the one that takes longest."""
    more = [row.more_blocks for row in rows]
    hidden = [row.stack for row in rows if row.more_blocks is None and precision.is_hidden(row.estimate, floor)]
    if hidden:
        what = "it" if len(rows) == 1 else join_names(hidden)
        return f"Identical stacks of this run differ by up to {percent(floor)}, which hides {what}; more blocks narrow that, too."
    if not more or None in more:
        return "No realistic number of blocks would decide it."
    most = max(count for count in more if count is not None)
    time = "" if block_s is None else f", {seconds(round(most * block_s))},"
    what = "it" if len(rows) == 1 else "all of them"
    return f"About {plural(most, 'more block')}{time} would decide {what}."


def signed_share(share: float) -> str:
    """0.031 → `+3.1`, in per cent."""
    text = intervals.significant(share * 100, 2)
    return text if share < 0 else f"+{text}"


def _machine(board: Board) -> list[str]:
    """The stacks against the machine's ceiling; where locks limit the workload, what pgbench does, without a share of it."""
    limit = board.limit
    if limit is None:
        return []
    clients = "" if limit.clients is None else f" and {plural(limit.clients, 'client')}"
    if not limit.is_ceiling:
        return [
            f"pgbench, with the same statements{clients}, does {number(limit.rate_per_s)}/s on this machine. "
            "Locks limit this workload, so that is no ceiling."
        ]
    shares = [share for row in board.numbered if (share := board.share_of_ceiling(row)) is not None]
    if not shares:
        return []
    source = {
        "pgbench": f"what pgbench reaches with the same SQL{clients}",
        "null-responder": "what a server that does nothing reaches",
    }
    reach = percent(shares[0]) if len(shares) == 1 else f"{percent(min(shares)).removesuffix(' %')}–{percent(max(shares))}"
    what = source.get(limit.source, f"what {limit.source} reaches")
    who = "It reaches" if len(shares) == 1 else "The stacks reach"
    return [f"{who} {reach} of {what} on this machine, {number(limit.rate_per_s)}/s."]


def _limits(board: Board, tried: Collection[tuple[str, str]]) -> list[str]:
    """Against the machine, and what is suspected to limit its stacks, but for what was `tried`."""
    said = _machine(board)
    by_reason: dict[str, list[str]] = {}
    for row in board.numbered:
        for reason in row.diagnoses:
            if (row.cell.id, reason) not in tried:
                by_reason.setdefault(reason, []).append(row.stack)
    if len(by_reason) == 1 and len(board.numbered) > 1 and len(by_reason[next(iter(by_reason))]) == len(board.numbered):
        said.append(f"Suspected limit of all: {next(iter(by_reason))}.")
    elif by_reason:
        said.append(f"Suspected limits: {'; '.join(f'{reason} ({join_names(stacks)})' for reason, stacks in by_reason.items())}.")
    return said


def missing(board: Board) -> tuple[tuple[str, str], ...]:
    """(verdict, sentence) for the stacks that were tried and have no number; rejected ones first."""
    tried = [row for row in board.numberless if row.trials]
    rejected = [row for row in tried if row.verdicts[Verdict.REJECTED]]
    said = []
    for verdict, rows in (("rejected", rejected), ("void", [row for row in tried if row not in rejected])):
        what = {"rejected": "is rejected and has no number", "void": "has no valid trial and no number"}[verdict]
        said += [(verdict, f"{row.stack} {what}: {why_no_number(row)}.") for row in rows[:NAMED_AT_MOST]]
        if len(rows) > NAMED_AT_MOST:
            said.append((verdict, f"{plural(len(rows) - NAMED_AT_MOST, 'more stack')} without a number: see the table."))
    return tuple(said)


def why_no_number(row: BoardRow) -> str:
    """The reason in the words of the check that took the number away."""
    for verdict, severity in ((Verdict.REJECTED, Severity.REJECT), (Verdict.VOID, Severity.VOID)):
        for trial in row.trials:
            if trial.verdict is verdict:
                return reason(trial, severity)
    return "not measured: the run ended before its turn"


def reason(trial: Trial, severity: Severity) -> str:
    """The sentence of the first finding of this severity, without its full stop."""
    sentence = next((finding.sentence for finding in trial.findings if finding.severity is severity), "no reason was recorded")
    return foreign.line(sentence).rstrip(".")


def trial_page(trial: Trial) -> str:
    """The path of a trial's own page, from the run's folder."""
    return f"trials/{trial.number:04}{f'-{trial.attempt}' if trial.attempt > 1 else ''}.html"


def group_names(found: Comparison) -> dict[str, str]:
    """Stack → the letters of the groups that it stands in: `A`, `A B`; numbers beyond the alphabet."""
    named: dict[str, list[str]] = {}
    for place, group in enumerate(found.groups):
        for stack in group:
            named.setdefault(stack, []).append(chr(65 + place) if place < 26 else str(place + 1))
    return {stack: " ".join(letters) for stack, letters in named.items()}


def visible(detectable: float) -> str:
    """Say what every row would have shown: `a change of 3.1 %`, or `a change by a factor of 4.10`."""
    return f"a change of {percent(detectable)}" if detectable < 1 else f"a change by a factor of {number(1 + detectable)}"


def change_texts(row: HeldStack, quantity: Quantity) -> tuple[str, str]:
    """(`−18 %`, `−22 … −14 %`) in the quantity's own terms: of CPU more is worse; dashes without an interval."""
    ratio = row.difference.ratio
    if ratio is None:
        return NO_NUMBER, NO_NUMBER
    told = ratio.inverse() if quantity is Quantity.CPU else ratio
    return f"{signed_share(told.middle - 1)} %", f"{signed_share(told.low - 1)} … {signed_share(told.high - 1)} %"


def verdict_word(row: HeldStack, quantity: Quantity) -> str:
    """The verdict's word for a row of a page."""
    return word(row.difference.word, quantity is Quantity.GOODPUT)


def word(said: DifferenceWord, more_is_better: bool) -> str:
    """The verdict's word: where more is worse, as of a cost, it is called cheaper or costlier."""
    costs = {} if more_is_better else {DifferenceWord.FASTER: "cheaper", DifferenceWord.SLOWER: "costlier"}
    return costs.get(said, str(said))


def pool(settings: CellSettings) -> str:
    """`pool of 25`, or `pool of 15 for each of 4 workers`."""
    each = f" for each of {plural(settings.workers, 'worker')}" if settings.pool_scope is PoolScope.PER_WORKER else ""
    return f"pool of {settings.pool_size}{each}"


def load_text(load: Load) -> str:
    """`100 connections`, with the pause that each makes where there is one, or `5000/s`."""
    fault = f", with {load.fault}" if load.fault else ""
    if load.rate_per_s is not None:
        return f"{load.rate_per_s:g}/s{fault}"
    pause = f", each with pauses of {load.think_ms:g} ms" if load.think_ms else ""
    stages = "".join(f", then {ends} within {seconds:g} s" for seconds, ends in load.stages)
    return f"{plural(load.connections, 'connection')}{stages}{pause}{fault}"


def wait(settings: CellSettings) -> str:
    """Say how long a request waits for a connection of the pool: `as long as it takes`, `not at all`, `10 ms at most`."""
    if settings.pool_wait_ms is None:
        return "as long as it takes"
    return f"{settings.pool_wait_ms} ms at most" if settings.pool_wait_ms else "not at all"


def plural_or_unknown(amount: int | None, noun: str) -> str:
    """`3 deadlocks`, or `an unknown number of deadlocks`."""
    return f"an unknown number of {noun}s" if amount is None else plural(amount, noun)


def trials_of(row: BoardRow) -> str:
    """`6`, `5 + 1 void`, `2 rejected`."""
    tally = row.verdicts
    good = tally[Verdict.VALID] + tally[Verdict.WARNED]
    parts = [str(good)] if good else []
    parts += [f"{tally[verdict]} {verdict}" for verdict in (Verdict.VOID, Verdict.REJECTED) if tally[verdict]]
    return " + ".join(parts) or "0"


def evidence(finding: Finding) -> str:
    """`acknowledged 412,331 · found 412,328`."""
    return " · ".join(
        f"{key.replace('_', ' ')} {foreign.clean(_shortened(value)) if isinstance(value, str) else _exact(value)}"
        for key, value in finding.evidence.items()
    )


def _shortened(text: str, most: int = 500) -> str:
    return text if len(text) <= most else f"{text[:most]} …"


def _exact(value: float | None) -> str:
    return count(value) if value is None or float(value).is_integer() else intervals.brief(value, 4)


def of_turns(run: Run) -> str:
    """Say that ratios and rates are of different windows; empty where they are of the same ones."""
    if not any(trial.turns for trial in run.trials):
        return ""
    return (
        "Ratios come from turns of some hundredths of a second and more, and the rates in a table from whole windows: two "
        "rates need not have the ratio that is compared."
    )


def doubts(run: Run, boards: Iterable[Board]) -> tuple[str, ...]:
    """Say what the numbers do not show: sentences chosen by facts of this run."""
    cells = [slot.cell for slot in run.plan.slots]
    said = list(seats.doubts(run))
    if max((board.blocks for board in boards), default=0) < 2:
        said.append(
            "There is one block only: nothing shows how much a repetition would differ, so no difference here is evidence."
        )
    else:
        said.append(
            "The intervals tell how far repetitions on this machine in this hour differ, not what another machine would show."
        )
    said += filter(None, [of_turns(run)])
    if windows := {cell.load.window_s for cell in cells}:
        said.append(
            f"A window lasts {min(windows):g} s: garbage collection, checkpoints, autovacuum and anything "
            "else that comes once a minute may be missing from it."
        )
    if any(cell.settings.durability is Durability.RELAXED for cell in cells) and run.is_relaxed:
        said.append(
            "Durability is relaxed (fsync and synchronous_commit off): rates of writes are far above what a database "
            "that survives a power failure would give."
        )
    if any(cell.load.model == "closed" for cell in cells):
        said.append(
            "The load is closed: a slow answer delays the next request, so the latencies are those of waiting clients, "
            "not those under a fixed rate of arrivals."
        )
    return tuple(said[:7])
