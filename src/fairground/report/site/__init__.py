"""All records as a site, and a cell over runs."""
