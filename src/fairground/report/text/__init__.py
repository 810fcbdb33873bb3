"""Write numbers, names and verdicts, whatever they are shown on."""
