import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ServerClock } from '../../src/store/postgres/server-clock.ts'

/** A server whose clock is one hour and 500 ms ahead of this process. Each request and each response takes time. */
class Server {
  counted = 1_000
  ahead = 3_600_500
  there = 2
  back = 2
  asked = 0
  isDown = false

  readonly clock = new ServerClock({
    monotonic: () => this.counted,
    ask: async () => {
      this.asked++
      this.counted += this.there
      const time = this.counted + this.ahead
      this.counted += this.back
      if (this.isDown) throw new Error('down')
      return time
    },
  })

  /** The error of the clock: its time minus the time of the server. */
  get error(): number {
    return this.clock.now() - (this.counted + this.ahead)
  }
}

/** Waits for requests in the background. */
async function answered(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await Promise.resolve()
}

describe('the clock of the database server', () => {
  it('is known within a round trip to a process whose own clock is an hour off', async () => {
    const server = new Server()
    server.there = 10
    server.back = 4
    await server.clock.set()
    assert.ok(Math.abs(server.error) <= 8, String(server.error))
    server.counted += 4_000
    assert.ok(Math.abs(server.error) <= 8, String(server.error))
    assert.equal(server.asked, 1)
  })

  it('is requested again in the background after five seconds, and its new time is used afterwards', async () => {
    const server = new Server()
    await server.clock.set()
    server.ahead -= 3_600_000
    server.counted += 5_001
    assert.ok(server.error > 3_599_000)
    await answered()
    assert.equal(server.asked, 2)
    assert.ok(Math.abs(server.error) <= 3, String(server.error))
  })

  it('is not adjusted after a slow response', async () => {
    const server = new Server()
    await server.clock.set()
    const before = server.error
    server.there = 900
    server.counted += 5_001
    server.clock.now()
    await answered()
    assert.equal(server.asked, 2)
    assert.equal(server.error, before)
  })

  it('becomes more exact after a faster response', async () => {
    const server = new Server()
    server.there = 900
    await server.clock.set()
    assert.ok(server.error > 400 || server.error < -400)
    server.there = 1
    server.back = 1
    server.counted += 5_001
    server.clock.now()
    await answered()
    assert.ok(Math.abs(server.error) <= 2, String(server.error))
  })

  it('continues unchanged while the server does not respond, with one request at a time', async () => {
    const server = new Server()
    await server.clock.set()
    const before = server.error
    server.isDown = true
    server.counted += 60_000
    server.clock.now()
    server.clock.now()
    assert.equal(server.error, before)
    await answered()
    assert.equal(server.asked, 2)
    server.isDown = false
    server.clock.now()
    await answered()
    assert.equal(server.asked, 3)
  })

  it('must be read once before use: a server that does not respond is an error', async () => {
    const server = new Server()
    server.isDown = true
    await assert.rejects(server.clock.set(), /down/)
    assert.equal(server.asked, 1)
  })
})
