"""Report on windows that their workload's events sized, for the terminal, the page and a pull request."""

from __future__ import annotations

from fairground.report.text.words import NO_NUMBER, count, plural, seconds
from fairground.stats.window_sizes import HeldEvents, WindowSizes


def cost(of: WindowSizes) -> str:
    """Say how long the windows became, what for, and how many seconds that took."""
    wanted = " and ".join(f"{held.wanted} {event.words}" for event, held in of.events.items())
    lasted = f"{of.longest_s:g} s" if of.shortest_s == of.longest_s else f"{of.shortest_s:g} to {of.longest_s:g} s"
    more = f"{seconds(of.added_s)} more" if of.added_s else "no longer than asked for"
    return f"Windows of {of.workload} lasted {lasted}, to hold {wanted} each: {more}."


def shortage(of: WindowSizes) -> str | None:
    """Say how many windows held too few of their events; None: none did."""
    if not of.capped:
        return None
    held = ", ".join(f"{_range(one)} {event.words}" for event, one in of.events.items() if one.fewest is not None)
    known = f": {held}" if held else ", as far as anybody could count"
    return f"{of.capped} of {plural(of.windows, 'window')} of {of.workload} held fewer within {of.ceiling_s:g} s{known}."


def _range(held: HeldEvents) -> str:
    if held.fewest is None or held.most is None:
        return NO_NUMBER
    low, high = count(round(held.fewest)), count(round(held.most))
    return low if low == high else f"{low} to {high}"
