"""The highest rate that keeps an objective: objective, load curve, search, and who drives it. `service`: any HTTP service."""
