// Starts the workers: this process alone when there is one, else a cluster whose pools share POOL_SIZE.
import cluster from 'node:cluster'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { createApp } from './app.js'
import { Store, Unavailable } from './store.js'

const RETRY_MS = 200
const STOP_MS = 1500

const { HOST, PORT, DATABASE_URL, POOL_SIZE, POOL_WAIT_MS, WORKERS, PREPARED } = process.env
const poolSize = Number(POOL_SIZE)
const workers = Math.min(Number(WORKERS), poolSize)

// The listeners stay and what they call changes: a signal that comes while a listener is replaced would be lost.
let stop = () => process.exit(0)
for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => stop())

if (process.argv[2] === '--version') {
  printVersion()
} else if (cluster.isWorker) {
  serve(shareOf(Number(process.env.WORKER_INDEX)))
} else if (workers === 1) {
  serve(poolSize)
} else {
  announceWhenAllListen()
  supervise()
}

function shareOf (index) {
  return Math.floor(poolSize / workers) + (index < poolSize % workers ? 1 : 0)
}

// Until all workers listen, connections would go to some of them only: `GET /ready` waits for this.
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
    const worker = cluster.fork({ WORKER_INDEX: index })
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

async function serve (poolShare) {
  let ready = cluster.isPrimary
  process.on('message', message => { ready ||= message === 'all listen' })
  const store = new Store({
    databaseUrl: DATABASE_URL,
    poolSize: poolShare,
    poolWaitMs: POOL_WAIT_MS ? Number(POOL_WAIT_MS) : null,
    prepared: PREPARED !== 'off'
  })
  const accounts = await loadAccounts(store)
  const server = createServer({ keepAliveTimeout: 0, requestTimeout: 0, noDelay: true })
  await createApp(server, store, accounts, () => ready).start()
  server.listen({ host: HOST, port: Number(PORT), backlog: 4096 })
  // `close` ends idle connections and waits for the others.
  stop = () => {
    setTimeout(() => process.exit(0), STOP_MS)
    server.close(() => process.exit(0))
  }
}

// Before the database answers there is nothing to serve, so nothing listens.
async function loadAccounts (store) {
  for (;;) {
    try {
      const rows = await store.query('accounts', 'SELECT * FROM accounts')
      return new Map(rows.map(row => [row.account_id, { ...row, balance_cents: Number(row.balance_cents) }]))
    } catch (error) {
      if (!(error instanceof Unavailable)) console.error(`cannot load \`accounts\`: ${error.message}`)
      await sleep(RETRY_MS)
    }
  }
}

function printVersion () {
  const installed = name => JSON.parse(readFileSync(new URL(`node_modules/${name}/package.json`, import.meta.url))).version
  console.log(`node ${process.versions.node}, hapi ${installed('@hapi/hapi')}, joi ${installed('joi')}, pg ${installed('pg')}`)
}
