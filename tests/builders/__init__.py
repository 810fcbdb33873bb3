"""What several tests build or look up: one place for each, so that no test imports another."""
