"""The use cases: what the verbs do, without a word to a terminal.

A command line or a page gives them inputs and shows what comes.
"""
