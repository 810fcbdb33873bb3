// Who may use a connection, and how long the others wait (POOL_WAIT_MS). Neither driver has this of its own: 0 means without a
// limit to pg, and what is short there also cuts off the making of a connection; Postgres.js has no such wait at all.

// No connection for this request: the caller answers 503.
export class Unavailable extends Error {}

export class Slots {
  #waiting = new Set()

  constructor (free, waitMs) {
    this.free = free
    this.waitMs = waitMs
  }

  // What `use` promises, which has a slot until then.
  async hold (use) {
    await this.take()
    try {
      return await use()
    } finally {
      this.release()
    }
  }

  take () {
    if (this.free > 0) return void this.free--
    if (this.waitMs === 0) throw new Unavailable('no free connection')
    return new Promise((resolve, reject) => {
      const waiter = { resolve }
      const refuse = () => {
        this.#waiting.delete(waiter)
        reject(new Unavailable('no connection in time'))
      }
      if (this.waitMs !== null) waiter.timer = setTimeout(refuse, this.waitMs)
      this.#waiting.add(waiter)
    })
  }

  // Hands the slot to who waits longest.
  release () {
    const [waiter] = this.#waiting
    if (waiter === undefined) return void this.free++
    this.#waiting.delete(waiter)
    clearTimeout(waiter.timer)
    waiter.resolve()
  }
}
