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

import copy
import math
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
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
FOUND = ("_solved", "spreads", "levels", "_variances")
"""What a fit keeps once it was asked for, in the order in which one rests on the other."""


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
        return self._without(FOUND, _noise=noise)

    def borrowing(self, common: Mapping[Hashable, Prior]) -> Fit[Name]:
        """The same fit, with each stack's variance drawn towards its prior."""
        return self._without(["_variances"], _common=common)

    def doubting(self, spoilt: Mapping[int, float]) -> Fit[Name]:
        """The same values, each of which counts the less the more its block is spoilt."""
        return self._without(FOUND, _spoilt=spoilt)

    def _without(self, found: Sequence[str], **changed: object) -> Fit[Name]:
        """A copy with something `changed`, and without what was `found` by that. The layout stays as it is."""
        made = copy.copy(self)
        made.__dict__ = {name: value for name, value in vars(self).items() if name not in found} | changed
        return made

    @property
    def block_errors(self) -> Mapping[int, Variance]:
        """The variance of each block's errors, as a share of what their stacks and their block foretell."""
        import numpy

        numbers, found = numpy.array([point.block for point in self._points], dtype=int), dict[int, Variance]()
        foretold = self._variances[0][self._layout.owner] if self._points else numpy.zeros(0)
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
        import numpy

        owner, free = self._layout.owner, self._solved.free
        ours = owner[:, None] == owner
        parts = [
            numpy.bincount(owner, values, len(self._place)).tolist()
            for values in (self._solved.errors**2, free.diagonal(), (free**2 * ours).sum(axis=1))
        ]
        own, summed, freedom = dict[Hashable, Variance](), 0.0, 0.0
        for name, squares, share, left in zip(self._place, *parts, strict=True):
            own[name] = Variance(squares / share, share**2 / left) if share > NOTHING else Variance(0.0, 0.0)
            summed, freedom = summed + own[name].value * share, freedom + share
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
        if blocks < LEAST_BLOCKS or self._layout.part[one] != self._layout.part[other]:
            return None
        return self._estimate(self._weights(one) - self._weights(other), blocks, self._freedom_of_both(one, other))

    def beside(self, name: Name, among: Collection[Name] | None = None) -> Estimate | None:
        """A stack over the mean of all that rounds join it with; for one by itself its own mean. None for a single block.

        `among`: those that the mean is of; all, unless told. The others still tell what the machine did to each round.
        Such intervals leave out what was done to all stacks alike: Loftus & Masson, "Using confidence intervals in within-subject
        designs", Psychonomic Bulletin & Review 1994.
        """
        blocks = len(self.levels.get(name, ()))
        if blocks < LEAST_BLOCKS:
            return None
        weights = self._weights(name)
        joined = [other for other in self.names if self._layout.part[other] == self._layout.part[name]]
        same = [other for other in joined if among is None or other in among]
        if len(same) > 1:
            weights = weights - sum(self._weights(other) for other in same) / len(same)
        elif len(joined) > 1:
            return Fit((point for point in self._points if point.name == name), spoilt=self._spoilt).beside(name)
        return self._estimate(weights, blocks)

    def _weights(self, name: Name) -> Array:
        found: Array = self._solved.weights[self._place[name]]
        return found

    def _freedom_of_both(self, one: Name, other: Name) -> float:
        """The degrees of freedom of two stacks together: in a round of two each residual is the other's, and counts once."""
        places = [self._place[one], self._place[other]]
        ours = (self._layout.owner == places[0]) | (self._layout.owner == places[1])
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

        squares = numpy.bincount(self._layout.owner, weights**2 * self._solved.scale, len(self._place))
        values, freedoms = self._variances
        ours = squares > NOTHING
        if not freedoms[ours].all():
            return None
        parts = (squares * values)[ours]
        total, apart = float(parts.sum()), float((parts**2 / freedoms[ours]).sum())
        most = min(most, max([self.spreads.shared.freedom, *(one.most for one in self._common.values())]))
        freedom = min(total**2 / apart, most) if apart else most
        return Estimate(float(weights @ self._layout.logs), math.sqrt(total), freedom, blocks)

    @cached_property
    def _variances(self) -> tuple[Array, Array]:
        """The stacks' variances with their degrees of freedom, as their priors make them."""
        import numpy

        made = [moderated.of(own, self._common.get(name)) for name, own in self.spreads.stacks.items()]
        return numpy.array([one.value for one in made]), numpy.array([one.freedom for one in made])

    @cached_property
    def _layout(self) -> _Layout:
        return _lay_out(self._points, self._place)

    @cached_property
    def _solved(self) -> _Solved:
        import numpy

        scale = numpy.array([self._spoilt.get(block, 1.0) for block in self._layout.blocks])
        noise = numpy.array([self._noise.get(name, 1.0) for name in self._place])
        return _solve(self._layout, noise[self._layout.owner], scale)


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
class _Layout:
    """`owner`: the place of each value's stack. `design`: which stack and which round each value has, a column for each of them.

    `part`: which stacks rounds join, by their names. `part_of`: the part of each value, and of each stack in `part_of_stacks`.
    `rounds`: the columns of each part's rounds.
    """

    owner: Array
    logs: Array
    blocks: Sequence[int]
    design: Array
    part: Mapping[object, int]
    part_of: Array
    part_of_stacks: Array
    rounds: Mapping[int, Sequence[int]]


@dataclass(frozen=True)
class _Solved:
    """`weights`: for each stack, those of all values in its level. `free` makes residuals of errors, both over the square root of
    their noise. `errors`: residuals over the square root of their block's `scale`. `paces`: by part, what the machine gave in its
    rounds."""

    levels: Array
    residuals: Array
    errors: Array
    scale: Array
    weights: Array
    free: Array
    paces: Mapping[int, Sequence[float]]


def _lay_out(points: Sequence[FitPoint[Name]], places: Mapping[Name, int]) -> _Layout:
    """The stacks and rounds of values: a round counts where its stack shares one with another."""
    import numpy

    part = _parts(points)
    sizes = Counter(part.values())
    shared = [(point.block, point.round) if sizes[part[point.name]] > 1 else None for point in points]
    columns = {one: place for place, one in enumerate(dict.fromkeys(one for one in shared if one is not None), len(places))}
    owner = numpy.array([places[point.name] for point in points], dtype=int)
    design = numpy.zeros((len(points), len(places) + len(columns)))
    design[numpy.arange(len(points)), owner] = 1
    rounds: dict[int, dict[int, None]] = {}
    for row, (point, one) in enumerate(zip(points, shared, strict=True)):
        if one is not None:
            design[row, columns[one]] = 1
            rounds.setdefault(part[point.name], {})[columns[one]] = None
    part_of_stacks = numpy.array([part[name] for name in places], dtype=int)
    return _Layout(
        owner=owner,
        logs=numpy.array([point.log for point in points]),
        blocks=[point.block for point in points],
        design=design,
        part=part,
        part_of=part_of_stacks[owner],
        part_of_stacks=part_of_stacks,
        rounds={number: list(some) for number, some in rounds.items()},
    )


def _solve(layout: _Layout, noise: Array, scale: Array) -> _Solved:
    """Least squares of the logarithms on stacks and rounds.

    Each value is weighed by the inverse of its stack's `noise` times its block's `scale`.
    """
    import numpy

    stacks, logs = len(layout.part_of_stacks), layout.logs
    weight = 1 / numpy.sqrt(noise * scale)
    weighed = layout.design * weight[:, None]
    inverse = numpy.linalg.pinv(weighed)
    solution = inverse * weight
    solved = solution @ logs
    levels = solved[:stacks].copy()
    for part in set(layout.part.values()):  # a part's levels are known up to a constant: their mean becomes that of its values
        ours = layout.part_of == part
        levels[layout.part_of_stacks == part] += (logs - levels[layout.owner])[ours].mean()
    residuals = logs - layout.design @ solved
    return _Solved(
        levels=levels,
        residuals=residuals,
        errors=residuals / numpy.sqrt(scale),
        scale=scale,
        weights=solution[:stacks],
        free=numpy.eye(len(logs)) - weighed @ inverse,
        paces={part: solved[columns].tolist() for part, columns in layout.rounds.items()},
    )


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
