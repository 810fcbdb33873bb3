"""Any HTTP service, seen from outside: how it behaves on the wire, and what it does under load."""
