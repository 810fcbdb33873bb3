// Starts WORKERS processes with node:cluster, as its documentation shows; `serve` runs in each, and returns what `close` ends.
import cluster from 'node:cluster'

export function start (serve) {
  const poolSize = Number(process.env.POOL_SIZE)
  const workers = Math.min(Number(process.env.WORKERS), poolSize)
  if (cluster.isPrimary && workers > 1) supervise(workers, String(Math.floor(poolSize / workers)))
  else run(serve)
}

function supervise (workers, share) {
  let stopping = false
  const fork = () => cluster.fork({ POOL_SHARE: share })
  for (let index = 0; index < workers; index++) fork()
  cluster.on('exit', () => {
    if (!stopping) fork()
    else if (Object.keys(cluster.workers).length === 0) process.exit(0)
  })
  process.on('SIGTERM', () => {
    stopping = true
    for (const worker of Object.values(cluster.workers)) worker.process.kill('SIGTERM')
  })
}

async function run (serve) {
  let close = () => process.exit(0)
  process.on('SIGTERM', () => {
    setTimeout(() => process.exit(0), 2000)
    close(() => process.exit(0))
  })
  close = await serve()
}
