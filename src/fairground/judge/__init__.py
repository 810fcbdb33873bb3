"""The only judge: what was measured → findings, verdicts, and what limited it. Every bound is in `thresholds.toml`."""
