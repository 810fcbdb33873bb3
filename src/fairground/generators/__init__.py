"""Load generators, one file each, all with one Result."""
