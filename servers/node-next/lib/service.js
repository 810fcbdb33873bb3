// What all routes of this process share. Next bundles `instrumentation.js` and the routes apart, with a copy of this module for
// each, so it is kept on `globalThis`.
import { setTimeout as sleep } from 'node:timers/promises'
import { Unavailable } from './slots.js'
import { Store } from './store.js'

const RETRY_MS = 200

// { store, accounts }; there from the end of `open` on.
export const service = globalThis.service ??= {}

// Before the database answers there is nothing to serve: this waits for it.
export async function open ({ DATABASE_URL, POOL_SHARE, POOL_WAIT_MS, PREPARED }) {
  service.store = new Store({
    databaseUrl: DATABASE_URL,
    poolSize: Number(POOL_SHARE),
    poolWaitMs: POOL_WAIT_MS ? Number(POOL_WAIT_MS) : null,
    prepared: PREPARED !== 'off'
  })
  while (service.accounts === undefined) {
    try {
      service.accounts = await service.store.accounts()
    } catch (error) {
      if (!(error instanceof Unavailable)) console.error(`cannot load \`accounts\`: ${error.message}`)
      await sleep(RETRY_MS)
    }
  }
}
