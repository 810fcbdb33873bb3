"""A run: its plan, the order in which it is carried out, when it repeats and stops, and the folder that keeps it."""
