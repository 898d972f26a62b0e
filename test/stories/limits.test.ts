/** The limits and the settings that configure them. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { ConfigError } from '../../src/config/config.ts'
import { resolveConfig } from '../../src/features/config.ts'
import { App } from '../../src/troupe.ts'
import { forEachService } from '../support/service.ts'

const development = { mode: 'development' } as const

function workersOf(code: { workers?: number }, env: Record<string, string> = {}): number {
  return resolveConfig({ ...development, ...code }, env).workers
}

describe('the worker pool', () => {
  it('has 10 workers by default, and accepts 1 to 100 (R-LIM-01, R-LIM-02)', () => {
    assert.equal(workersOf({}), 10)
    for (const workers of [1, 2, 99, 100]) {
      assert.equal(workersOf({ workers }), workers)
      assert.equal(workersOf({}, { TROUPE_WORKERS: String(workers) }), workers)
    }
  })

  it('takes its size from the environment rather than from code (R-LIM-02)', () => {
    assert.equal(workersOf({ workers: 7 }, { TROUPE_WORKERS: '8' }), 8)
    assert.equal(workersOf({ workers: 7 }, { TROUPE_WORKERS: '' }), 7)
  })

  for (const workers of [0, 101, -1, 1000, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
    it(`refuses ${workers} in code with an error that names the option (R-LIM-02)`, () => {
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
    it(`refuses ${JSON.stringify(text)} in the environment with an error that names the setting (R-LIM-02)`, () => {
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

  it('prevents the start when its size is out of range (R-LIM-02)', async () => {
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

describe('the configuration of a limit', () => {
  for (const [name, env, low, high, byDefault] of [
    ['maxBodyBytes', 'TROUPE_MAX_BODY_BYTES', 1024, 268435456, 2097152],
    ['maxJsonDepth', 'TROUPE_MAX_JSON_DEPTH', 4, 512, 64],
    ['requestTimeoutSeconds', 'TROUPE_REQUEST_TIMEOUT_SECONDS', 1, 3600, 30],
    ['shutdownSeconds', 'TROUPE_SHUTDOWN_SECONDS', 0, 600, 10],
    ['storeTimeoutSeconds', 'TROUPE_STORE_TIMEOUT_SECONDS', 1, 300, 5],
  ] as const) {
    it(`defaults to ${byDefault} for ${name}, and accepts ${low} to ${high} (R-LIM-01)`, () => {
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
    it(`a pool of ${workers} serves many concurrent requests (R-LIM-02)`, async () => {
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

  it(`the service reports the release of its package on ${dialect} (R-VER-01)`, async () => {
    const file = await readFile(join(import.meta.dirname, '..', '..', 'package.json'), 'utf8')
    const { version } = JSON.parse(file) as { version: string }
    const service = await start()
    const metrics = await (await service.request('/metrics')).text()
    assert.ok(metrics.includes(`"${version}"`))
  })
})
