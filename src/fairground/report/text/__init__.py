"""How numbers, names and verdicts are written, whatever they are shown on."""
