"""`python -m fairground` is `./fairground`."""

from fairground.cli import main

main()
