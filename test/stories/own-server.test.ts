/** An application that starts its own server. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { App } from '../../src/troupe.ts'
import { testKeys } from '../support/service.ts'
import { createTestDatabase, type TestDatabase } from '../support/stores.ts'

let database: TestDatabase
before(async () => {
  database = await createTestDatabase('sqlite')
})
after(() => database.remove())

function application(): App {
  return new App({
    type: 'urn:actingweb:example.com:test',
    name: 'test',
    mode: 'development',
    database: database.url,
    secretKeys: testKeys,
    host: '127.0.0.1',
    port: 0,
    env: {},
    localSignIn: false,
    logLevel: 'silent',
  })
}

describe('an application that called listen()', () => {
  for (const end of ['close', 'stop'] as const) {
    it(`accepts no connection after ${end}()`, async () => {
      const app = application()
      const server = await app.listen()
      assert.equal((await fetch(`${server.url}/health/live`)).status, 200)
      await (end === 'close' ? app.close() : server.stop())
      await assert.rejects(fetch(`${server.url}/health/live`), ({ cause }: Error) => {
        assert.equal((cause as NodeJS.ErrnoException).code, 'ECONNREFUSED')
        return true
      })
    })
  }

  it('may close after its server was stopped, and listen again', async () => {
    const app = application()
    const first = await app.listen()
    await first.stop()
    await app.close()
    const second = await app.listen()
    assert.equal((await fetch(`${second.url}/health/ready`)).status, 200)
    await app.close()
  })
})
