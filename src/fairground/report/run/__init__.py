"""The page of a run: its first screen, its sections, and what they say."""
