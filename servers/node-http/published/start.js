// pm2 in place of node:cluster, where SUPERVISOR says so.
import cluster from 'node:cluster'
import { start as startCluster } from '../documented/cluster.js'
import { superviseWithPm2 } from '../pm2.js'

export function start (script, serve) {
  if (process.env.SUPERVISOR !== 'pm2' || cluster.isWorker) return startCluster(serve)
  let stop = () => process.exit(0)
  process.on('SIGTERM', () => stop())
  const poolSize = Number(process.env.POOL_SIZE)
  const workers = Math.min(Number(process.env.WORKERS), poolSize)
  process.env.POOL_SHARE = String(Math.floor(poolSize / workers))
  return superviseWithPm2(script, workers, stopWithPm2 => { stop = stopWithPm2 })
}
