// `next start` in each process of a cluster. Next itself closes its listener on SIGTERM.
import { start } from './cluster.js'

const { HOST, PORT } = process.env

start(async () => {
  process.argv.splice(2, Infinity, 'start', import.meta.dirname, '-H', HOST, '-p', PORT, '--keepAliveTimeout', '75000')
  await import('next/dist/bin/next')
  return () => {}
})
