"""Numbers in, words out: intervals, differences, comparisons with an anchor, effects of the order. Pure: no I/O, no clock."""
