import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ServiceError } from '../../src/errors.ts'
import { openStore } from '../../src/open-store.ts'
import { freePort } from '../support/free-port.ts'
import { sharedPostgresUrl } from '../support/postgres.ts'
import { openRelay } from '../support/relay.ts'
import { sqliteService } from '../support/service.ts'
import { bound, createPostgresDatabase } from '../support/stores.ts'

describe('a start without its database', () => {
  it('waits for a server that comes later, and says so without the password', async () => {
    const database = await createPostgresDatabase(await sharedPostgresUrl())
    const port = await freePort()
    const url = new URL(database.url)
    const target = Number(url.port)
    url.hostname = '127.0.0.1'
    url.port = String(port)
    const lines: string[] = []
    const waits = Promise.withResolvers<void>()
    const opening = openStore({
      url: url.href,
      waitMs: 60_000,
      log: (_level, message) => {
        lines.push(message)
        waits.resolve()
      },
    })
    await Promise.race([waits.promise, opening])
    const relay = await openRelay(target, port)
    const store = await opening
    try {
      await store.ping()
      assert.match(
        lines[0] ?? '',
        /^Cannot reach the PostgreSQL database "\w+" at 127\.0\.0\.1:\d+: connect ECONNREFUSED 127\.0\.0\.1:\d+; the start tries again for 60 seconds$/,
      )
    } finally {
      await store.close()
      await relay.close()
      await database.remove()
    }
  })

  it('ends with the reason when the time is over, and at once for a wrong database', async () => {
    const lines: string[] = []
    const log = (_level: string, message: string): void => void lines.push(message)
    await assert.rejects(
      openStore({ url: `postgres://me:hunter2@127.0.0.1:${await freePort()}/notes`, waitMs: 500, log }),
      /^StoreStartError: Cannot reach the PostgreSQL database "notes" at 127\.0\.0\.1:\d+: connect ECONNREFUSED 127\.0\.0\.1:\d+\.$/,
    )
    const url = new URL(await sharedPostgresUrl())
    url.pathname = '/none'
    await assert.rejects(openStore({ url: url.href, waitMs: 60_000, log }), /database "none" does not exist\.$/)
    assert.deepEqual(lines, [])
  })
})

describe('an outage of the database', () => {
  const start = sqliteService()

  it('logs one line for many failed requests within a second, and counts the others', async () => {
    let isOut = false
    const service = await start({
      wrapStore: (store) => ({
        ...bound(store),
        ping: () =>
          isOut
            ? Promise.reject(new ServiceError('store_unavailable', undefined, { reason: 'planned' }))
            : store.ping(),
      }),
    })
    isOut = true
    service.reset()
    // Real time: the lines are limited by it, and a slow machine may write more of them.
    const begunAt = performance.now()
    for (let n = 0; n < 200; n += 1) assert.equal((await service.request('/health/ready')).status, 503)
    // Real time: the lines are counted against it.
    const seconds = (performance.now() - begunAt) / 1000
    const failed = service.log
      .map((line) => JSON.parse(line) as { msg: string; error: { reason: string }; more?: number })
      .filter(({ msg }) => msg === 'A request failed')
    assert.ok(failed.length >= 1 && failed.length <= Math.floor(seconds) + 1, `${failed.length} lines`)
    assert.equal(failed[0]?.error.reason, 'planned')
    assert.equal(failed[0].more, undefined)
  })
})
