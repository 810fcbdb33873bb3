"""Few blocks of many comparisons: what their spreads have in common, and what that does to intervals, words and p values."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import pytest

from builders.trials import trial
from fairground.stats import differences, moderated
from fairground.stats.comparisons import Quantity, compare, levels
from fairground.stats.differences import Word
from fairground.stats.moderated import Prior


def rows(seed: int, comparisons: int, blocks: int, unlike: float = 0.0, sd: float = 0.03) -> list[list[float]]:
    """Log-ratios of stacks that do not differ; their true spreads differ by e^±`unlike`."""
    draw = random.Random(seed)
    spreads = [sd * math.exp(unlike * draw.gauss(0, 1)) for _ in range(comparisons)]
    return [[draw.gauss(0, one) for _ in range(blocks)] for one in spreads]


@pytest.mark.parametrize("blocks", [2, 3, 6])
@pytest.mark.parametrize("unlike", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("comparisons", [8, 30])
def test_intervals_hold_the_truth_as_often_as_they_say(blocks: int, unlike: float, comparisons: int) -> None:
    """Nominal 95 %: 92 at the least, over all comparisons, with spreads that are alike and with ones that are not."""
    held = []
    for seed in range(3000 // comparisons):
        made = rows(seed, comparisons, blocks, unlike)
        common = moderated.prior(made)
        found = [moderated.t_interval(row, common) for row in made]
        held += [one.low <= 0 <= one.high for one in found if one is not None]
    assert 0.91 <= sum(held) / len(held) <= 0.975


def test_p_values_are_uniform_where_nothing_differs() -> None:
    """5 % of them lie below 0.05, and no more than 8 % with spreads that are unlike."""
    found = []
    for seed in range(150):
        made = rows(seed, 20, 2, unlike=0.7)
        common = moderated.prior(made)
        found += [moderated.p_value(row, common) for row in made]
    assert 0.03 < sum(p < 0.05 for p in found) / len(found) < 0.08
    assert 0.4 < sum(p < 0.5 for p in found) / len(found) < 0.6


def test_spreads_that_agree_are_one() -> None:
    """Rows of one true spread: two blocks are then as good as many, and far surer than by themselves."""
    made = rows(1, 60, 2)
    common = moderated.prior(made)
    assert common is not None and common.freedom > 2 and common.variance == pytest.approx(0.03**2, rel=0.5)
    together, alone = moderated.t_interval(made[0], common), moderated.t_interval([-0.02, 0.02], None)
    assert together is not None and alone is not None
    assert together.high - together.low < (alone.high - alone.low) / 2


def test_many_blocks_speak_for_themselves() -> None:
    """What the others do moves the spread of a long row by little."""
    common = moderated.prior(rows(1, 20, 2, unlike=1.0, sd=0.3))
    (long,) = rows(2, 1, 200, sd=0.03)
    assert moderated.spread(long, common)[0] == pytest.approx(moderated.spread(long, None)[0], rel=0.5)


def test_nothing_in_common() -> None:
    """Too few rows, rows of one value, and rows that do not vary give no prior; intervals are Student's then."""
    assert moderated.prior(rows(1, 5, 3)) is None
    assert moderated.prior([[0.1]] * 20) is None
    assert moderated.prior([[0.0, 0.0]] * 20) is None
    found = moderated.t_interval([0.0, 0.1, 0.2], None)
    assert found is not None and found.high == pytest.approx(0.1 + 4.3027 * 0.1 / math.sqrt(3), rel=1e-4)
    with pytest.raises(ValueError, match="one value"):
        moderated.spread([0.1], None)


def test_a_prior_of_smyth() -> None:
    """Drawn from his model, its parameters are found again: d0 = 6 and s0 = 0.05."""
    draw = random.Random(3)
    made = []
    for _ in range(4000):
        sd = 0.05 * math.sqrt(6 / sum(draw.gauss(0, 1) ** 2 for _ in range(6)))
        made.append([draw.gauss(0, sd) for _ in range(4)])
    common = moderated.prior(made)
    assert common is not None
    assert common.variance == pytest.approx(0.05**2, rel=0.1) and common.freedom == pytest.approx(6, rel=0.25)


def test_two_blocks_are_enough_for_what_is_plain() -> None:
    """Twice as fast in both blocks is called with a prior, and cannot be called without."""
    some = [trial("a:x", block, 1000.0 + block) for block in (1, 2)] + [
        trial("b:x", block, 2000.0 - 20 * block) for block in (1, 2)
    ]
    held = levels([replace(one, round=0) for one in some], Quantity.GOODPUT)
    alone = compare(Quantity.GOODPUT, held, ("a:x",), None, withdrawn=False)
    together = compare(Quantity.GOODPUT, held, ("a:x",), None, withdrawn=False, common=Prior(0.02**2, 5.0, 20))
    assert alone is not None and together is not None
    assert together.rows[0].difference.word is Word.FASTER and together.groups == (("b:x",), ("a:x",))
    assert together.ranks == {"b:x": (1, 1), "a:x": (2, 2)}
    wide, narrow = alone.rows[0].difference.ratio, together.rows[0].difference.ratio
    assert wide is not None and narrow is not None and narrow.high / narrow.low < wide.high / wide.low


def test_holm_holds_moderated_rows_to_their_number() -> None:
    """A row that is called alone is not called among many that are nothing, whatever its number of blocks."""
    common = Prior(0.03**2, 4.0, 20)
    ratios = [math.exp(0.075), math.exp(0.085)]
    assert differences.table({"a": ratios}, common=common)["a"].word is Word.FASTER
    nothing = {str(number): [0.99, 1.01] for number in range(40)}
    assert differences.table({"a": ratios} | nothing, common=common)["a"].word is Word.INCONCLUSIVE


def test_agreement_is_taken_a_standard_error_lower() -> None:
    """Of runs whose true spreads are one, few find them all alike by chance: what a sample of variances says is itself uncertain."""
    found = [moderated.prior(rows(seed, 12, 3)) for seed in range(200)]
    alike = sum(common is not None and math.isinf(common.freedom) for common in found)
    assert alike / len(found) < 0.35


def test_no_comparison_has_more_than_half_of_all_degrees_of_freedom() -> None:
    """Twelve comparisons of three blocks have 24 together: none is surer than 12 make it, however much they agree."""
    made = rows(1, 12, 3)
    common = moderated.prior(made)
    assert common is not None and common.most == 12
    assert moderated.spread(made[0], replace(common, freedom=1000.0))[1] == 12
    assert moderated.spread(made[0], replace(common, freedom=math.inf))[1] == 12


def fields(seed: int, blocks: int, noisy: float = 1.0, modes: float = 1.0) -> list[list[list[float]]]:
    """Seven workloads of five equal stacks, held against one of them; the first is `noisy`, one stack of the second has `modes`."""
    draw, made = random.Random(seed), []
    for place in range(7):
        sd = 0.03 * math.exp(0.3 * draw.gauss(0, 1)) * (noisy if place == 0 else 1.0)
        own = [sd * (modes if (place, stack) == (1, 1) else 1.0) for stack in range(5)]
        values = [[draw.gauss(0, one) for _ in range(blocks)] for one in own]
        made.append([[a - b for a, b in zip(values[stack], values[0], strict=True)] for stack in range(1, 5)])
    return made


def covered(rows: list[list[float]], common: Prior | None) -> list[bool]:
    """Whether the interval of each row holds 0."""
    found = [moderated.t_interval(row, common) for row in rows]
    return [one.low <= 0 <= one.high for one in found if one is not None]


def width(row: list[float], common: Prior | None) -> float:
    """How wide the interval of a row is."""
    found = moderated.t_interval(row, common)
    assert found is not None
    return found.high - found.low


@pytest.mark.parametrize("blocks", [2, 3])
def test_a_noisy_workload_is_not_calmed_by_the_others(blocks: int) -> None:
    """`transfer` is 17 times as noisy as the rest: its intervals hold the truth, and those of the rest do not widen for it."""
    noisy, calm, alike = list[bool](), list[bool](), list[bool]()
    widths, wider = list[float](), list[float]()
    for seed in range(150):
        made = fields(seed, blocks, noisy=17)
        (first, *_), one = moderated.priors(made), moderated.prior([row for rows in made for row in rows])
        noisy += covered(made[0], first)
        alike += covered(made[0], one)
        for rows, common in zip(made[1:], moderated.priors(made)[1:], strict=True):
            calm += covered(rows, common)
            widths += [width(row, common) for row in rows]
            wider += [width(row, one) for row in rows]
    assert sum(noisy) / len(noisy) > 0.91 > sum(alike) / len(alike)
    assert 0.92 < sum(calm) / len(calm) < 0.985 and sorted(widths)[len(widths) // 2] < 0.95 * sorted(wider)[len(wider) // 2]


def test_a_stack_of_two_modes_keeps_its_own_spread() -> None:
    """A variance that its calm prior hardly foretells is not made smaller by it."""
    common = Prior(0.03**2, 8.0, 20)
    assert moderated.spread([-0.3, 0.3], common)[0] == pytest.approx(math.sqrt(moderated.variance([-0.3, 0.3])))
    assert moderated.spread([-0.02, 0.02], common)[0] == pytest.approx(0.03, rel=0.05)
    held: list[bool] = []
    for seed in range(300):
        made = fields(seed, 2, modes=6)
        held += covered(made[1][:1], moderated.priors(made)[1])
    assert sum(held) / len(held) > 0.7


def test_fields_too_few_to_differ_share_one_prior() -> None:
    """Two fields, or rows too few in all: what is known is known of all of them; a field that does not vary takes it, too."""
    some = fields(1, 3)
    assert len(set(moderated.priors(some[:2]))) == 1 and moderated.priors(some[:2])[0] is not None
    assert moderated.priors([rows[:1] for rows in some[:4]]) == (None,) * 4
    still = moderated.priors([*some, [[0.1, 0.1]], [[0.2]]])
    assert still[-1] == still[-2] == moderated.prior([row for rows in [*some, [[0.1, 0.1]]] for row in rows])
    assert len(set(still[:-2])) == 7
