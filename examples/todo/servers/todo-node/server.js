// Starts WEB_CONCURRENCY processes with node:cluster, each with the same share of the connections.
import cluster from 'node:cluster'
import { createRequire } from 'node:module'

const { HOST, PORT, DB_POOL_MAX, WEB_CONCURRENCY } = process.env

if (process.argv[2] === '--version') {
  const { packages } = createRequire(import.meta.url)('./package-lock.json')
  const versions = ['fastify', '@fastify/jwt', 'pg'].map(name => `${name} ${packages[`node_modules/${name}`].version}`)
  console.log([`node ${process.version}`, ...versions].join(', '))
} else if (cluster.isPrimary) {
  supervise(Math.min(Number(WEB_CONCURRENCY), Number(DB_POOL_MAX)))
} else {
  await serve()
}

function supervise (workers) {
  const fork = () => cluster.fork({ POOL_SHARE: String(Math.floor(Number(DB_POOL_MAX) / workers)) })
  let ending = false
  for (let number = 0; number < workers; number++) fork()
  process.on('SIGTERM', () => {
    ending = true
    for (const worker of Object.values(cluster.workers)) worker.process.kill('SIGTERM')
  })
  cluster.on('exit', () => {
    if (!ending) fork()
    else if (Object.keys(cluster.workers).length === 0) process.exit(0)
  })
}

async function serve () {
  process.on('SIGTERM', () => {
    setTimeout(() => process.exit(0), 2000)
    app.close().then(() => process.exit(0))
  })
  const { createApp } = await import('./app.js')
  const app = createApp()
  await app.listen({ host: HOST, port: Number(PORT), backlog: 4096 })
}
