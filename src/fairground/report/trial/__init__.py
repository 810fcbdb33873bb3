"""The page of one trial."""
