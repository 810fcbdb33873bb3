// pm2 as the parent of the workers, in this process (its no-daemon mode), with a home of its own that goes with it.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const KILL_MS = 2500

// pm2 reads its environment when it is imported. `stopWith` is told what ends it all.
export async function superviseWithPm2 (script, instances, stopWith) {
  const home = mkdtempSync(join(tmpdir(), 'pm2-'))
  process.on('exit', () => rmSync(home, { recursive: true, force: true }))
  Object.assign(process.env, {
    PM2_HOME: home,
    PM2_SILENT: 'true',
    PM2_DISCRETE_MODE: 'true',
    PM2_DISABLE_VERSION_CHECK: 'true',
    PM2_NO_INTERACTION: 'true',
    PM2_KILL_SIGNAL: 'SIGTERM',
    PM2_CONCURRENT_ACTIONS: String(instances)
  })
  const { default: pm2 } = await import('pm2')
  await promisify(pm2.connect).call(pm2, true)
  await passOnErrors(pm2)
  const started = promisify(pm2.start).call(pm2, {
    script,
    name: 'server',
    exec_mode: 'cluster',
    instances,
    node_args: process.execArgv,
    instance_var: 'WORKER_INDEX',
    kill_timeout: KILL_MS,
    restart_delay: 200,
    treekill: false,
    pmx: false,
    vizion: false,
    out_file: '/dev/null',
    error_file: '/dev/null'
  })
  // A worker that pm2 is about to start would not be known to its `kill`.
  stopWith(() => started.finally(() => pm2.kill(() => process.exit(0))))
  await started
}

// What a worker writes to its standard error comes as a message.
async function passOnErrors (pm2) {
  const bus = await promisify(pm2.launchBus).call(pm2)
  bus.on('log:err', ({ data }) => process.stderr.write(data))
}
