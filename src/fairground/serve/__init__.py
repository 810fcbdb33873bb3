"""The lab in a browser: records as pages, a run as it goes on, and measurements started and stopped by a click.

It measures nothing itself. A measurement is a process of its own, started as a person would start it. So what serves pages is
no part of what is measured.
"""
