"""Counting what a server does, by running it under QEMU's user mode with a plugin of ours.

The server is an ordinary process that is translated block by block: database, load engine and kernel run as ever. `emulator`
finds QEMU, builds the plugin and says what starts a program under it. `reading` reads what the plugin counts meanwhile, and
`symbols` whose functions that is.
"""

from fairground.host.emulation.emulator import Emulator, check, find, require
from fairground.host.emulation.reading import CountReader
from fairground.host.emulation.symbols import Locator, Symbols, require_nm

__all__ = ["CountReader", "Emulator", "Locator", "Symbols", "check", "find", "require", "require_nm"]
