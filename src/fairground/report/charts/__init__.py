"""Specifications of charts, the pictures that need no renderer, and who renders the others."""
