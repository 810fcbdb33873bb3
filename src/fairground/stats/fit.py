"""Hold stacks of one field against each other by everything that was measured beside them: a two-way layout. Pure.

The logarithm of a value is its stack's, plus what the machine did to all stacks of its round, plus an error. Least squares over
all stacks and rounds take the machine out (Yates, "The recovery of inter-block information", 1940, is the classic of such
designs). So a round's pace is known from all its stacks, not from the anchor alone, and the errors of all of them say how noisy
the field is. Each stack has a variance of its own, moderated by the others' (`moderated`); degrees of freedom are joined by
Satterthwaite's rule.

Fields of one run are fitted together (`together`). First all values count alike. The errors say how noisy each stack is on each
workload, and then a value counts by that: a noisy stack says little of what the machine did to its round.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from fairground.stats import memory, moderated, spoilt
from fairground.stats.intervals import Interval, student
from fairground.stats.memory import Known
from fairground.stats.moderated import Prior, Spreads, Variance

if TYPE_CHECKING:
    import numpy

    Array = numpy.ndarray[tuple[int, ...], numpy.dtype[Any]]

Name = TypeVar("Name", bound=Hashable)

LEAST_BLOCKS = 2
"""A stack of fewer blocks is not held against another."""
NOTHING = 1e-9
"""What rounding leaves of a zero."""


@dataclass(frozen=True)
class FitPoint(Generic[Name]):
    """One value: its logarithm, whose it is, and what it shares with others. A block has one round or several, by any name."""

    name: Name
    block: int
    round: Hashable
    log: float


@dataclass(frozen=True)
class Estimate:
    """A logarithm with its standard error, known with `freedom` degrees of freedom, from `blocks` blocks."""

    middle: float
    error: float
    freedom: float
    blocks: int

    def interval(self, confidence: float = 0.95) -> Interval:
        """Student's t interval of the logarithm."""
        half = student(self.freedom, (1 + confidence) / 2) * self.error
        return Interval(self.middle, self.middle - half, self.middle + half, self.blocks, confidence)

    @property
    def p(self) -> float:
        """Two-sided p of a logarithm of 0."""
        from scipy.special import stdtr

        if not self.error:
            return 0.0 if self.middle else 1.0
        return 2 * float(stdtr(self.freedom, -abs(self.middle) / self.error))

    @property
    def spread(self) -> float:
        """The standard deviation of one block's value."""
        return self.error * math.sqrt(self.blocks)


class Fit(Generic[Name]):
    """The two-way layout of one field's values.

    Stacks are held against each other where rounds join them, be it through a third. A round of one stack says nothing of others
    and is left out, unless the stack has no other: then its values count as they are.
    """

    def __init__(
        self,
        points: Iterable[FitPoint[Name]],
        common: Mapping[Hashable, Prior] | None = None,
        noise: Mapping[Hashable, float] | None = None,
        spoilt: Mapping[int, float] | None = None,
    ) -> None:
        """`common`: what each stack's variance is drawn towards. `noise`: variances that values are weighed by; none: alike.

        `spoilt`: blocks in which all variances are so many times as large.
        """
        self._points = _joined(list(points))
        self._place = {name: place for place, name in enumerate(dict.fromkeys(point.name for point in self._points))}
        self._common, self._noise, self._spoilt = common or {}, noise or {}, spoilt or {}

    @property
    def names(self) -> tuple[Name, ...]:
        """The stacks that have a value, in the order of their first ones."""
        return tuple(self._place)

    def weigh(self, noise: Mapping[Hashable, float]) -> Fit[Name]:
        """The same values, each weighed by the variance that `noise` gives its stack."""
        return Fit(self._points, self._common, noise, self._spoilt)

    def borrowing(self, common: Mapping[Hashable, Prior]) -> Fit[Name]:
        """The same fit, with each stack's variance drawn towards its prior."""
        return Fit(self._points, common, self._noise, self._spoilt)

    def doubting(self, spoilt: Mapping[int, float]) -> Fit[Name]:
        """The same values, each of which counts the less the more its block is spoilt."""
        return Fit(self._points, self._common, self._noise, spoilt)

    @property
    def block_errors(self) -> Mapping[int, Variance]:
        """The variance of each block's errors, as a share of what their stacks and their block foretell."""
        import numpy

        numbers, found = numpy.array([point.block for point in self._points], dtype=int), dict[int, Variance]()
        foretold = self._variances[0][self._solved.owner] if self._points else numpy.zeros(0)
        for number in dict.fromkeys(numbers.tolist()):
            ours = (numbers == number) & (foretold > 0)
            share = float(self._solved.free.diagonal()[ours].sum())
            if share > NOTHING:
                found[number] = Variance(float((self._solved.errors[ours] ** 2 / foretold[ours]).sum()) / share, share)
        return found

    @property
    def spoilt(self) -> Mapping[int, float]:
        """The blocks whose values count for less, and how many times the others' variance they have."""
        return self._spoilt

    @cached_property
    def spreads(self) -> Spreads:
        """The variance that the stacks share, and each one's own.

        Squared residuals are less than squared errors, since stacks and rounds were fitted to them. A stack's own variance has
        the degrees of freedom of a chi-square with the same mean and variance as its sum of squares (Satterthwaite 1946).
        """
        solved, own = self._solved, dict[Hashable, Variance]()
        summed = freedom = 0.0
        for name, place in self._place.items():
            ours = solved.owner == place
            left = solved.free[ours][:, ours]
            share = float(left.trace())
            value = float((solved.errors[ours] ** 2).sum()) / share if share > NOTHING else 0.0
            own[name] = Variance(value, share**2 / float((left**2).sum()) if share > NOTHING else 0.0)
            summed, freedom = summed + value * share, freedom + share
        return Spreads(Variance(summed / freedom, freedom) if freedom > NOTHING else Variance(0.0, 0.0), own)

    @cached_property
    def levels(self) -> Mapping[Name, Mapping[int, float]]:
        """The logarithms of each stack by block, without what the machine did to all of its round."""
        found: dict[Name, dict[int, list[float]]] = {name: {} for name in self.names}
        for point, residual in zip(self._points, self._solved.residuals.tolist(), strict=True):
            level = float(self._solved.levels[self._place[point.name]])
            found[point.name].setdefault(point.block, []).append(level + residual)
        return {
            name: {block: math.fsum(logs) / len(logs) for block, logs in sorted(blocks.items())} for name, blocks in found.items()
        }

    @property
    def drift(self) -> float | None:
        """The machine's drift; None below two rounds.

        It is how much more the machine gave all stacks of one round than those of another, 0.1 is 10 %.
        """
        ranges = [max(paces) - min(paces) for paces in self._solved.paces.values() if len(paces) > 1]
        return math.expm1(max(ranges)) if ranges else None

    def against(self, one: Name, other: Name) -> Estimate | None:
        """`one` over `other`, or None where no round joins them or one has a single block."""
        blocks = min(len(self.levels.get(name, ())) for name in (one, other))
        if blocks < LEAST_BLOCKS or self._solved.part[one] != self._solved.part[other]:
            return None
        return self._estimate(self._weights(one) - self._weights(other), blocks, self._freedom_of_both(one, other))

    def beside(self, name: Name) -> Estimate | None:
        """A stack over the mean of all that rounds join it with; for one by itself its own mean. None for a single block.

        Such intervals leave out what was done to all stacks alike: Loftus & Masson, "Using confidence intervals in within-subject
        designs", Psychonomic Bulletin & Review 1994.
        """
        blocks = len(self.levels.get(name, ()))
        if blocks < LEAST_BLOCKS:
            return None
        weights = self._weights(name)
        same = [other for other in self.names if self._solved.part[other] == self._solved.part[name]]
        if len(same) > 1:
            weights = weights - sum(self._weights(other) for other in same) / len(same)
        return self._estimate(weights, blocks)

    def _weights(self, name: Name) -> Array:
        found: Array = self._solved.weights[self._place[name]]
        return found

    def _freedom_of_both(self, one: Name, other: Name) -> float:
        """The degrees of freedom of two stacks together: in a round of two each residual is the other's, and counts once."""
        import numpy

        places = [self._place[one], self._place[other]]
        ours = numpy.isin(self._solved.owner, places)
        left = self._solved.free[ours][:, ours]
        share = float(left.trace())
        own = sum(self.spreads.stacks[name].freedom for name in (one, other))
        lent = float(self._variances[1][places].sum()) - own
        return lent + (share**2 / float((left**2).sum()) if share > NOTHING else 0.0)

    def _estimate(self, weights: Array, blocks: int, most: float = math.inf) -> Estimate | None:
        """The weighted sum of all values, each with its stack's variance; None where one of those is not known.

        `most`: it has so many degrees of freedom at most.
        """
        import numpy

        squares = numpy.bincount(self._solved.owner, weights**2 * self._solved.scale, len(self._place))
        values, freedoms = self._variances
        ours = squares > NOTHING
        if not freedoms[ours].all():
            return None
        parts = (squares * values)[ours]
        total, apart = float(parts.sum()), float((parts**2 / freedoms[ours]).sum())
        most = min(most, max([self.spreads.shared.freedom, *(one.most for one in self._common.values())]))
        freedom = min(total**2 / apart, most) if apart else most
        return Estimate(float(weights @ self._solved.logs), math.sqrt(total), freedom, blocks)

    @cached_property
    def _variances(self) -> tuple[Array, Array]:
        """The stacks' variances with their degrees of freedom, as their priors make them."""
        import numpy

        made = [moderated.of(own, self._common.get(name)) for name, own in self.spreads.stacks.items()]
        return numpy.array([one.value for one in made]), numpy.array([one.freedom for one in made])

    @cached_property
    def _solved(self) -> _Solved:
        scale = [self._spoilt.get(point.block, 1.0) for point in self._points]
        return _solve(self._points, self._place, [self._noise.get(name, 1.0) for name in self._place], scale)


def together(fits: Sequence[Fit[Name]], known: Known = ()) -> list[Fit[Name]]:
    """Fit the fields of one run together.

    Values are weighed by how noisy their stack is there, and variances are drawn towards what they share. The weights are
    of the priors, never of a stack's own variance: two values that agree by chance must not count for much. Priors are estimates
    too. So a value counts by the root of its prior's variance, which keeps intervals honest and most of the gain.

    `known`: by field, what earlier runs foretell of its stacks. Values of a spoilt block count for less.
    """
    found, before = _lent(fits, known), dict[int, float]()
    for _ in range(spoilt.PASSES):
        blocks = spoilt.spoilt_blocks([fit.block_errors for fit in found], before)
        if spoilt.is_settled(blocks, before):
            break
        found, before = _lent([fit.doubting(blocks) for fit in fits], known), blocks
    return found


def _lent(fits: Sequence[Fit[Name]], known: Known) -> list[Fit[Name]]:
    """Weigh values by how noisy their stack is, and draw variances towards their priors."""
    alike = _priors(fits, known)
    weighed = [
        fit.weigh({name: math.sqrt(prior.variance) for name, prior in common.items()})
        for fit, common in zip(fits, alike, strict=True)
    ]
    return [fit.borrowing(common) for fit, common in zip(weighed, _priors(weighed, known), strict=True)]


def _priors(fits: Sequence[Fit[Name]], known: Known) -> Known:
    """The priors of the fields' stacks: what the run shows, and what was known before."""
    spreads = [fit.spreads for fit in fits]
    own = moderated.priors(spreads)
    return memory.join(spreads, own, known) if known else own


@dataclass(frozen=True)
class _Solved:
    """`owner`: the place of each value's stack. `weights`: for each stack, those of all values in its level. `free` makes
    residuals of errors, both over the square root of their noise. `errors`: residuals over the square root of their block's
    `scale`. `part`: which stacks rounds join. `paces`: by part, what the
    machine gave in each of its rounds."""

    owner: Array
    logs: Array
    levels: Array
    residuals: Array
    errors: Array
    scale: Array
    weights: Array
    free: Array
    part: Mapping[object, int]
    paces: Mapping[int, Sequence[float]]


def _solve(
    points: Sequence[FitPoint[Name]], places: Mapping[Name, int], noise: Sequence[float], scale: Sequence[float]
) -> _Solved:
    """Least squares of the logarithms on stacks and rounds, each value weighed by the inverse of its stack's `noise`.

    And by that of its `scale`, which is its block's.
    """
    import numpy

    parts = _parts(points)
    sizes = Counter(parts.values())
    shared = [(point.block, point.round) if sizes[parts[point.name]] > 1 else None for point in points]
    rounds = {one: place for place, one in enumerate(dict.fromkeys(one for one in shared if one is not None), len(places))}
    owner = numpy.array([places[point.name] for point in points], dtype=int)
    logs = numpy.array([point.log for point in points])
    design = numpy.zeros((len(points), len(places) + len(rounds)))
    for row, one in enumerate(shared):
        design[row, owner[row]] = 1
        if one is not None:
            design[row, rounds[one]] = 1
    scales = numpy.array(scale)
    weight = 1 / numpy.sqrt(numpy.array(noise)[owner] * scales)
    inverse = numpy.linalg.pinv(design * weight[:, None])
    solution = inverse * weight
    levels = (solution @ logs)[: len(places)]
    for part in sizes:  # a part's levels are known up to a constant: their mean becomes that of its values
        ours = numpy.array([parts[point.name] == part for point in points])
        levels[[place for name, place in places.items() if parts[name] == part]] += (logs - levels[owner])[ours].mean()
    paces: dict[int, list[float]] = {}
    for one, part in {one: parts[point.name] for point, one in zip(points, shared, strict=True) if one is not None}.items():
        paces.setdefault(part, []).append(float(solution[rounds[one]] @ logs))
    free = numpy.eye(len(points)) - (design * weight[:, None]) @ inverse
    residuals = logs - design @ (solution @ logs)
    errors = residuals / numpy.sqrt(scales)
    return _Solved(owner, logs, levels, residuals, errors, scales, solution[: len(places)], free, parts, paces)


def _joined(points: list[FitPoint[Name]]) -> list[FitPoint[Name]]:
    """The values that count: of rounds with several stacks, and all of a stack that has no such round."""
    stacks: dict[tuple[int, Hashable], set[Name]] = {}
    for point in points:
        stacks.setdefault((point.block, point.round), set()).add(point.name)
    shared = {point.name for point in points if len(stacks[point.block, point.round]) > 1}
    return [point for point in points if len(stacks[point.block, point.round]) > 1 or point.name not in shared]


def _parts(points: Sequence[FitPoint[Name]]) -> Mapping[object, int]:
    """Stack → the number of the part of the layout that it is in; parts share no round."""
    rounds: dict[tuple[int, Hashable], list[Name]] = {}
    for point in points:
        rounds.setdefault((point.block, point.round), []).append(point.name)
    part: dict[object, int] = {name: place for place, name in enumerate(dict.fromkeys(point.name for point in points))}
    for names in rounds.values():
        lowest, ours = min(part[name] for name in names), {part[name] for name in names}
        part.update({name: lowest for name, number in part.items() if number in ours})
    return part
