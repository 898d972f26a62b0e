/** The limits and the settings behind them. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { ConfigError, resolveConfig } from '../../src/config/config.ts'
import { App } from '../../src/troupe.ts'
import { forEachService } from '../support/service.ts'

const development = { mode: 'development' } as const

function workersOf(code: { workers?: number }, env: Record<string, string> = {}): number {
  return resolveConfig({ ...development, ...code }, env).workers
}

describe('the worker pool', () => {
  it('R-LIM-01 R-LIM-02 has 10 workers unless told otherwise, and from 1 to 100', () => {
    assert.equal(workersOf({}), 10)
    for (const workers of [1, 2, 99, 100]) {
      assert.equal(workersOf({ workers }), workers)
      assert.equal(workersOf({}, { TROUPE_WORKERS: String(workers) }), workers)
    }
  })

  it('R-LIM-02 the environment decides over code', () => {
    assert.equal(workersOf({ workers: 7 }, { TROUPE_WORKERS: '8' }), 8)
    assert.equal(workersOf({ workers: 7 }, { TROUPE_WORKERS: '' }), 7)
  })

  for (const workers of [0, 101, -1, 1000, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
    it(`R-LIM-02 ${workers} in code is an error that names the option`, () => {
      assert.throws(
        () => workersOf({ workers }),
        (error) => {
          assert.ok(error instanceof ConfigError)
          assert.equal(error.message, 'Option workers must be a whole number from 1 to 100.')
          return true
        },
      )
    })
  }

  for (const text of ['0', '101', '-1', '1.5', 'ten', '1e1', '0x10', '10 workers']) {
    it(`R-LIM-02 ${JSON.stringify(text)} in the environment is an error that names the setting`, () => {
      assert.throws(
        () => workersOf({}, { TROUPE_WORKERS: text }),
        (error) => {
          assert.ok(error instanceof ConfigError)
          assert.equal(error.message, 'TROUPE_WORKERS must be a whole number from 1 to 100.')
          return true
        },
      )
    })
  }

  it('R-LIM-02 a service with a pool outside the range does not start', async () => {
    for (const workers of [0, 101]) {
      const app = new App({ type: 'urn:example', ...development, env: {}, database: 'sqlite:/dev/null/none', workers })
      await assert.rejects(app.running(), {
        name: 'ConfigError',
        message: 'Option workers must be a whole number from 1 to 100.',
      })
      await assert.rejects(app.listen(), { name: 'ConfigError' })
    }
  })
})

describe('what configures a limit', () => {
  for (const [name, env, low, high, byDefault] of [
    ['maxBodyBytes', 'TROUPE_MAX_BODY_BYTES', 1024, 268435456, 2097152],
    ['maxJsonDepth', 'TROUPE_MAX_JSON_DEPTH', 4, 512, 64],
    ['requestTimeoutSeconds', 'TROUPE_REQUEST_TIMEOUT_SECONDS', 1, 3600, 30],
    ['shutdownSeconds', 'TROUPE_SHUTDOWN_SECONDS', 0, 600, 10],
    ['storeTimeoutSeconds', 'TROUPE_STORE_TIMEOUT_SECONDS', 1, 300, 5],
  ] as const) {
    it(`R-LIM-01 ${name} is ${byDefault} by default, and from ${low} to ${high}`, () => {
      const valueOf = (code: object, environment: Record<string, string> = {}): unknown =>
        resolveConfig({ ...development, ...code }, environment)[name]
      assert.equal(valueOf({}), byDefault)
      for (const value of [low, high]) {
        assert.equal(valueOf({ [name]: value }), value)
        assert.equal(valueOf({}, { [env]: String(value) }), value)
      }
      for (const value of [low - 1, high + 1]) {
        assert.throws(() => valueOf({ [name]: value }), {
          name: 'ConfigError',
          message: new RegExp(`^Option ${name} must be a whole number from ${low} to ${high}`),
        })
        assert.throws(() => valueOf({}, { [env]: String(value) }), {
          name: 'ConfigError',
          message: new RegExp(`^${env} must be a whole number from ${low} to ${high}`),
        })
      }
    })
  }
})

forEachService((start, dialect) => {
  for (const workers of [1, 100]) {
    it(`R-LIM-02 a pool of ${workers} serves many requests at once`, async () => {
      const service = await start({ workers })
      const actor = await service.createActor()
      const answers = await Promise.all(
        Array.from({ length: 60 }, (_, at) => actor.request('PUT', `/properties/p${at}`, String(at))),
      )
      assert.deepEqual(
        answers.map(({ status }) => status),
        Array<number>(60).fill(204),
      )
      const stored = (await (await actor.request('GET', '/properties')).json()) as Record<string, number>
      assert.equal(Object.keys(stored).length, 60)
    })
  }

  it(`R-VER-01 the release of the package is what the service says of itself on ${dialect}`, async () => {
    const file = await readFile(join(import.meta.dirname, '..', '..', 'package.json'), 'utf8')
    const { version } = JSON.parse(file) as { version: string }
    const service = await start()
    const metrics = await (await service.request('/metrics')).text()
    assert.ok(metrics.includes(`"${version}"`))
  })
})
