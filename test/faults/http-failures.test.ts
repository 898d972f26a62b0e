import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { ServiceError } from '../../src/errors.ts'
import type { Store } from '../../src/store/store.ts'
import { Workplace } from '../support/program.ts'
import { sqliteService, type TestActor, type TestService } from '../support/service.ts'
import { bound } from '../support/stores.ts'
import { requestText, Wire } from '../support/wire.ts'

const secret = 'the-cause-that-stays-inside'

/** Throws any value, as JavaScript permits. */
function throwAny(value: unknown): never {
  throw value as Error
}

/** Ways in which a handler can fail. */
const failures: Readonly<Record<string, () => unknown>> = {
  throws: () => {
    throw new Error(secret)
  },
  rejects: () => Promise.reject(new Error(secret)),
  rejectsLater: async () => {
    await new Promise((resolve) => setImmediate(resolve))
    throw new TypeError(secret)
  },
  throwsText: () => throwAny(secret),
  throwsNothing: () => throwAny(undefined),
  throwsNull: async () => throwAny(await Promise.resolve(null)),
  throwsBareObject: () => {
    throw Object.create(null)
  },
  throwsItself: () => {
    const error = new Error(secret)
    error.cause = error
    throw error
  },
  throwsOddError: () => {
    throw Object.assign(new Error(), { message: { secret }, stack: 5, name: null, code: {}, detail: 7 })
  },
  throwsTrap: () => {
    throw new Proxy(new Error(secret), {
      get: (_target, name) => {
        throw new Error(`${secret} ${String(name)}`)
      },
    })
  },
  throwsStack: () => {
    const deeper = (): number => deeper() + 1
    return deeper()
  },
  throwsStatus: () => {
    throw Object.assign(new Error(secret), { status: 200, statusCode: 204, headers: { 'X-Secret': secret } })
  },
  answersBigInt: () => ({ value: 1n }),
  answersFunction: () => ({ value: () => secret }),
  answersItself: () => {
    const value: Record<string, unknown> = {}
    value['self'] = value
    return value
  },
  answersTrap: () => ({
    toJSON() {
      throw new Error(secret)
    },
  }),
}

describe('a handler of the application that fails', () => {
  const start = sqliteService()
  let service: TestService
  let actor: TestActor
  before(async () => {
    service = await start({
      listen: true,
      declare(app) {
        for (const [name, fail] of Object.entries(failures)) {
          app
            .action(name, () => fail() as never)
            .method(name, () => fail() as never)
            .resource(name, () => fail() as never)
          if (name.startsWith('throws') || name.startsWith('rejects')) app.property(name, () => fail() as never)
        }
        app.action('refuses', () => {
          throw new ServiceError('conflict', 'Not twice', {
            headers: { 'X-Fine': 'yes', 'X-Break': 'a\r\nSet-Cookie: x=1', 'Bad Name': 'x', 'X-Wide': '→' },
            members: { hint: 'once' },
          })
        })
        app.action('hangs', () => new Promise<never>(() => {}))
      },
    })
    actor = await service.createActor()
  })

  for (const name of Object.keys(failures)) {
    it(`gives 500 with the request id and a neutral message for the failure ${name}, and logs the cause under that id (HTTP-14, R-OBS-01)`, async () => {
      const places: [method: string, path: string][] = [
        ['POST', `/actions/${name}`],
        ['GET', `/actions/${name}`],
        ['POST', `/methods/${name}`],
        ['PUT', `/resources/${name}`],
      ]
      if (name.startsWith('throws') || name.startsWith('rejects'))
        places.push(['PUT', `/properties/${name}`], ['DELETE', `/properties/${name}`])
      for (const [index, [method, path]] of places.entries()) {
        service.reset()
        const id = `${name}-${index}`
        const answer = await actor.request(method, path, method === 'PUT' || method === 'POST' ? {} : undefined, {
          'x-request-id': id,
        })
        assert.equal(answer.status, 500, `${method} ${path}`)
        assert.equal(answer.headers.get('x-request-id'), id)
        assert.equal(await answer.text(), '{"error":"server_error","message":"The service failed"}')
        assert.equal([...answer.headers.values()].join().includes(secret), false)
        const failed = service.log
          .map((line) => JSON.parse(line) as { level: string; context: string; msg: string })
          .filter(({ msg }) => msg === 'A request failed')
        const tag = `[${id.replaceAll('-', '').slice(-8)}:${actor.id}:-]`
        assert.deepEqual(
          failed.map(({ level, context }) => [level, context]),
          [['error', tag]],
        )
        assert.deepEqual(service.changes, [])
      }
    })
  }

  it('gives a JSON-RPC internal error without the cause (HTTP-14)', async () => {
    const answer = await actor.request('POST', '/methods', { jsonrpc: '2.0', id: 1, method: 'throws' })
    const text = await answer.text()
    assert.equal((JSON.parse(text) as { error: { code: number } }).error.code, -32603)
    assert.equal(text.includes(secret), false)
  })

  it('cannot break the response by invalid headers, which are left out (HTTP-08, HTTP-14)', async () => {
    const answer = await actor.request('POST', '/actions/refuses', {})
    assert.equal(answer.status, 409)
    assert.deepEqual(await answer.json(), { hint: 'once', error: 'conflict', message: 'Not twice' })
    assert.equal(answer.headers.get('x-fine'), 'yes')
    assert.equal(answer.headers.has('x-break'), false)
    assert.equal(answer.headers.has('x-wide'), false)
    assert.equal(answer.headers.has('set-cookie'), false)
  })

  it('does not block other requests when it never answers, and its caller may disconnect (HTTP-14)', async () => {
    const wires = await Promise.all(Array.from({ length: 30 }, () => Wire.open(service.url)))
    for (const wire of wires)
      wire.send(requestText('POST', `/${actor.id}/actions/hangs`, { Authorization: actor.authorization }, '{}'))
    for (let round = 0; round < 20; round += 1)
      assert.equal((await actor.request('PUT', '/properties/beside', String(round))).status, 204)
    for (const wire of wires) wire.close()
    assert.equal((await service.request('/health/ready')).status, 200)
  })
})

describe('a failure of the service itself', () => {
  const start = sqliteService()

  it('in the store gives 500 without detail, and a planned failure gives its own code (HTTP-14, R-OBS-01)', async () => {
    let fault: Error | undefined
    const service = await start({
      wrapStore: (store): Store => ({
        ...bound(store),
        read: (work) => (fault === undefined ? store.read(work) : Promise.reject(fault)),
      }),
    })
    const actor = await service.createActor()
    fault = new Error(`SQLITE_CORRUPT ${secret}`)
    for (const path of [`/${actor.id}`, `/${actor.id}/meta`, `/${actor.id}/properties/x`]) {
      const answer = await service.request(path, { headers: { authorization: actor.authorization } })
      assert.equal(answer.status, 500)
      assert.equal(await answer.text(), '{"error":"server_error","message":"The service failed"}')
      assert.match(answer.headers.get('x-request-id') ?? '', /^[0-9a-f-]{36}$/)
    }
    fault = new ServiceError('store_unavailable', undefined, { reason: secret, retryAfterSeconds: 2 })
    const busy = await service.request(`/${actor.id}`, { headers: { authorization: actor.authorization } })
    assert.equal(busy.status, 503)
    assert.equal(busy.headers.get('retry-after'), '2')
    assert.equal(await busy.text(), '{"error":"store_unavailable","message":"Storage cannot be used right now"}')
    fault = undefined
    assert.equal((await actor.request('GET', '')).status, 200)
  })
})

describe('a failure that no request waits for', () => {
  const place = new Workplace()
  after(() => place.remove())
  before(() => {
    place.write(
      'app.ts',
      `import { troupe } from 'troupe'
const app = troupe({ type: 'urn:actingweb:example.com:late', name: 'late' })
app.action('reject', () => {
  setImmediate(() => void Promise.reject(new Error('left behind')))
  return { ok: true }
})
app.action('throw', () => {
  setImmediate(() => { throw new Error('out of the blue') })
  return { ok: true }
})
app.action('fine', () => ({ ok: true }))
export default app
`,
    )
  })

  const run = async (): Promise<{
    program: ReturnType<Workplace['start']>
    call: (name: string) => Promise<Response>
  }> => {
    const program = place.start(['dev', '--no-watch', 'app.ts'], {
      env: { PORT: '0', HOST: '127.0.0.1', TROUPE_LOG_FORMAT: 'json' },
    })
    const [, url = ''] = await program.prints(/(http:\/\/[^\s]+:\d+)/)
    const created = (await (await fetch(url, { method: 'POST', headers: { accept: 'application/json' } })).json()) as {
      id: string
      creator: string
      passphrase: string
    }
    const authorization = `Basic ${Buffer.from(`${created.creator}:${created.passphrase}`).toString('base64')}`
    return {
      program,
      call: (name) =>
        fetch(`${url}/${created.id}/actions/${name}`, {
          method: 'POST',
          headers: { authorization, 'x-request-id': `call-of-${name}`, connection: 'close' },
          body: '{}',
        }),
    }
  }

  it('is logged under its request when a promise rejects after the response, and the process continues (HTTP-14)', async () => {
    const { program, call } = await run()
    for (let round = 0; round < 5; round += 1) assert.equal((await call('reject')).status, 200)
    assert.equal((await call('fine')).status, 200)
    program.signal('SIGTERM')
    const { code, stderr } = await program.ended
    assert.equal(code, 0)
    const lines = stderr
      .split('\n')
      .filter((line) => line.includes('Unhandled promise rejection'))
      .map((line) => JSON.parse(line) as { level: string; context: string; error: { message: string } })
    assert.equal(lines.length, 5)
    for (const { level, context, error } of lines) {
      assert.equal(level, 'error')
      assert.match(context, /^\[ofreject:[0-9a-f]{32}:-\]$/)
      assert.equal(error.message, 'left behind')
    }
  })

  it('is logged as fatal when an exception is uncaught, and the service shuts down with code 1 (HTTP-14)', async () => {
    const { program, call } = await run()
    assert.equal((await call('throw')).status, 200)
    const { code, signal, stdout, stderr } = await program.ended
    assert.deepEqual([code, signal], [1, null])
    assert.match(stdout, /Stopped\.\n$/)
    const line = stderr.split('\n').find((text) => text.includes('Uncaught exception in the application')) ?? '{}'
    const { level, error } = JSON.parse(line) as { level: string; error: { message: string } }
    assert.deepEqual([level, error.message], ['fatal', 'out of the blue'])
  })
})
