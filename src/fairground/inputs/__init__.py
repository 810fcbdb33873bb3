"""What a person writes, as files or on the command line → values, checked: manifests, suites, conditions, published claims."""
