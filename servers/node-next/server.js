// Starts the workers: this process alone when there is one, else a cluster whose pools share POOL_SIZE. Each worker is Next's
// custom server.
import cluster from 'node:cluster'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'

const RETRY_MS = 200
const STOP_MS = 1500

const { HOST, PORT, POOL_SIZE, WORKERS } = process.env
const poolSize = Number(POOL_SIZE)
const workers = Math.min(Number(WORKERS), poolSize)

// The listeners stay and what they call changes: a signal that comes while a listener is replaced would be lost.
let stop = () => process.exit(0)
for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => stop())

if (process.argv[2] === '--version') {
  printVersion()
} else if (cluster.isWorker) {
  serve()
} else if (workers === 1) {
  process.env.POOL_SHARE = POOL_SIZE
  serve()
} else {
  announceWhenAllListen()
  supervise()
}

function shareOf (index) {
  return Math.floor(poolSize / workers) + (index < poolSize % workers ? 1 : 0)
}

// Until all workers listen, connections would go to some of them only.
function announceWhenAllListen () {
  const listening = new Set()
  cluster.on('exit', worker => listening.delete(worker.id))
  cluster.on('listening', worker => {
    listening.add(worker.id)
    if (listening.size === workers) Object.values(cluster.workers).forEach(each => each.send('all listen'))
  })
}

function supervise () {
  let stopping = false
  const start = index => {
    if (stopping) return
    const worker = cluster.fork({ POOL_SHARE: shareOf(index) })
    worker.on('exit', () => {
      if (!stopping) setTimeout(start, RETRY_MS, index)
      else if (Object.keys(cluster.workers).length === 0) process.exit(0)
    })
    // A worker that died between the look and the message is replaced by 'exit'.
    worker.on('error', () => {})
  }
  for (let index = 0; index < workers; index++) start(index)
  stop = () => {
    stopping = true
    Object.values(cluster.workers).forEach(worker => worker.process.kill('SIGTERM'))
  }
}

async function serve () {
  let ready = cluster.isPrimary
  process.on('message', message => { ready ||= message === 'all listen' })
  const { default: next } = await import('next')
  const app = next({ dir: import.meta.dirname, hostname: HOST, port: Number(PORT) })
  await app.prepare()
  const handle = app.getRequestHandler()
  const server = createServer({ keepAliveTimeout: 0, requestTimeout: 0, noDelay: true }, (request, response) => {
    if (!ready) return fail(response, 503, 'not all workers listen yet', { 'retry-after': '1' })
    if (!isDecodable(request.url)) return fail(response, 400, 'the path is not percent-encoded')
    handle(request, response)
  })
  server.listen({ host: HOST, port: Number(PORT), backlog: 4096 })
  // `close` ends idle connections and waits for the others.
  stop = () => {
    setTimeout(() => process.exit(0), STOP_MS)
    server.close(() => process.exit(0))
  }
}

// Next answers such a path with a page.
function isDecodable (url) {
  if (!url.includes('%')) return true
  try {
    decodeURIComponent(url.split('?', 1)[0])
    return true
  } catch {
    return false
  }
}

function fail (response, status, message, headers) {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8', ...headers })
  response.end(JSON.stringify({ ok: false, message }))
}

function printVersion () {
  const installed = name => JSON.parse(readFileSync(new URL(`node_modules/${name}/package.json`, import.meta.url))).version
  console.log(`node ${process.versions.node}, ${['next', 'react', 'postgres', 'pg'].map(name => `${name} ${installed(name)}`).join(', ')}`)
}
