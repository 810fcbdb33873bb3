"""Read and check what a person writes, in files or on the command line: manifests, suites, conditions, published claims."""
