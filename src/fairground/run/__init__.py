"""A run: its plan, the order in which it is carried out, and when it repeats and stops."""
