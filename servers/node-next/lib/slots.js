// Who may use a connection, and how long the others wait (POOL_WAIT_MS): Postgres.js has no such wait of its own.

// No connection for this request.
export class Unavailable extends Error {
  status = 503
}

export class Slots {
  #waiting = new Set()

  constructor (free, waitMs) {
    this.free = free
    this.waitMs = waitMs
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
