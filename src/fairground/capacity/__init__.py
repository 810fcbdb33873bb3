"""The highest rate that keeps an objective: the objective, the load curve, the search, and who drives it."""
