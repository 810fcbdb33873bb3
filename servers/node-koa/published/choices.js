// The authors give node-postgres statements without names, so that each is parsed anew.
process.env.PREPARED = 'off'
