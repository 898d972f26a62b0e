/** Large bodies at the same time, in a process with little memory. */
import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { describe, it } from 'node:test'
import { sqliteService, type TestActor, type TestService } from '../support/service.ts'
import { startServiceProcess } from '../support/service-process.ts'
import { requestText, Wire } from '../support/wire.ts'

const large = 60_000
const noRoom = {
  error: 'unavailable',
  message: 'Cannot read the body now: other large bodies use the memory. Try again.',
}

/** The most memory of a process since `forget`, in bytes. Linux counts it. */
const peakOf = (pid: number): number =>
  Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024
const forget = (pid: number): void => writeFileSync(`/proc/${pid}/clear_refs`, '5')

describe('large request bodies at the same time', () => {
  const start = sqliteService()
  /** A service with memory for two bodies of `large` bytes. A request waits for a third of the timeout. */
  const startSmall = (seconds: number): Promise<TestService> =>
    start({
      listen: true,
      env: {
        TROUPE_BODY_MEMORY_BYTES: '131072',
        TROUPE_MAX_BODY_BYTES: '65536',
        TROUPE_REQUEST_TIMEOUT_SECONDS: String(seconds),
        TROUPE_TRUSTED_PROXIES: '1',
      },
      declare: (app) => app.action('count', ({ input }) => Object.keys(input as object).length),
    })

  const head = (actor: TestActor, sender: string, more: Record<string, string>): Record<string, string> => ({
    Authorization: actor.authorization,
    'X-Forwarded-For': sender,
    ...more,
  })

  /** Begins a body that does not end. */
  async function hold(service: TestService, actor: TestActor, sender: string, name: string): Promise<Wire> {
    const wire = await Wire.open(service.url)
    const headers = head(actor, sender, { 'Content-Length': String(large) })
    return wire.send(requestText('PUT', `/${actor.id}/properties/${name}`, headers, 'x'))
  }

  const put = (actor: TestActor, sender: string, name: string, bytes: number): Promise<Response> =>
    actor.request('PUT', `/properties/${name}`, 'y'.repeat(bytes), { 'x-forwarded-for': sender })

  it('wait for each other, and all are stored (HTTP-27)', async () => {
    const service = await startSmall(30)
    const actor = await service.createActor()
    const answers = await Promise.all(Array.from({ length: 12 }, (_, n) => put(actor, `192.0.2.${n}`, `p${n}`, large)))
    assert.deepEqual(
      answers.map(({ status }) => status),
      Array.from({ length: 12 }, () => 204),
    )
    for (let n = 0; n < 12; n++)
      assert.equal((await (await actor.request('GET', `/properties/p${n}`)).text()).length, large)
  })

  it('get 503 with Retry-After and a closed connection before they are sent, while small bodies pass (HTTP-27)', async () => {
    const service = await startSmall(3)
    const actor = await service.createActor()
    const slow = [await hold(service, actor, '192.0.2.1', 's1'), await hold(service, actor, '192.0.2.2', 's2')]
    const places: readonly [method: string, path: string, more: Record<string, string>][] = [
      ['PUT', '/properties/late', { 'Content-Length': String(large) }],
      ['POST', '/properties', { 'Content-Length': String(large), 'Content-Type': 'application/json' }],
      ['POST', '/properties', { 'Content-Length': String(large), 'Content-Type': 'application/x-www-form-urlencoded' }],
      ['POST', '/properties', { 'Content-Length': String(large), 'Content-Type': 'multipart/form-data; boundary=b' }],
      ['POST', '/actions/count', { 'Content-Length': String(large), 'Idempotency-Key': 'one' }],
    ]
    const late = await Promise.all(
      places.map(async ([method, path, more], n) => {
        const wire = await Wire.open(service.url)
        wire.send(requestText(method, `/${actor.id}${path}`, head(actor, `192.0.2.${n + 3}`, more)))
        return wire
      }),
    )
    assert.equal((await put(actor, '192.0.2.1', 'small', 16_384)).status, 204)
    for (const [index, wire] of late.entries()) {
      const [answer, ...more] = await wire.untilClosed()
      assert.equal(answer?.status, 503, JSON.stringify(places[index]))
      assert.deepEqual(JSON.parse(answer.body), noRoom)
      assert.equal(answer.headers.get('retry-after'), '5')
      assert.equal(answer.headers.get('connection'), 'close')
      assert.deepEqual(more, [])
    }
    // The slow senders get 408 at the deadline of each request, and then there is room.
    for (const wire of slow) assert.equal((await wire.untilClosed())[0]?.status, 408)
    assert.equal((await put(actor, '192.0.2.3', 'later', large)).status, 204)
    for (const name of ['s1', 's2', 'late'])
      assert.equal((await actor.request('GET', `/properties/${name}`)).status, 404)
  })

  it('of one slow sender leave room for the body of another one (HTTP-27)', async () => {
    const service = await startSmall(30)
    const actor = await service.createActor()
    const slow = await Promise.all(Array.from({ length: 20 }, (_, n) => hold(service, actor, '192.0.2.1', `s${n}`)))
    for (let n = 0; n < 5; n++) assert.equal((await put(actor, '192.0.2.2', `p${n}`, large)).status, 204)
    for (const wire of slow) wire.close()
    assert.equal((await put(actor, '192.0.2.1', 'own', large)).status, 204)
  })

  it('return their memory when the client disconnects, or the body is refused (HTTP-27)', async () => {
    const service = await startSmall(30)
    const actor = await service.createActor()
    for (let round = 0; round < 4; round++) {
      const slow = [await hold(service, actor, '192.0.2.1', 's1'), await hold(service, actor, '192.0.2.2', 's2')]
      for (const wire of slow) wire.reset()
      const refused = [
        await actor.request('PUT', '/properties/bad', '['.repeat(large), { 'content-type': 'application/json' }),
        await actor.request('PUT', '/properties', 'z'.repeat(large), { 'content-type': 'application/json' }),
        await actor.request('PUT', '/properties/bad', 'z'.repeat(70_000)),
      ]
      assert.deepEqual(
        refused.map(({ status }) => status),
        [400, 400, 413],
      )
      for (const sender of ['192.0.2.3', '192.0.2.4'])
        assert.equal((await put(actor, sender, 'good', large)).status, 204)
    }
  })

  it('of unknown or compressed length count with the largest length (HTTP-27)', async () => {
    const service = await startSmall(3)
    const actor = await service.createActor()
    const chunked = async (sender: string): Promise<Wire> => {
      const wire = await Wire.open(service.url)
      const headers = head(actor, sender, { 'Transfer-Encoding': 'chunked' })
      const begun = `4400\r\n${'x'.repeat(0x4400)}\r\n`
      return wire.send(requestText('PUT', `/${actor.id}/properties/chunked`, headers, begun))
    }
    const slow = [await chunked('192.0.2.1'), await chunked('192.0.2.2')]
    const packed = gzipSync(JSON.stringify({ id: actor.id, data: 'x'.repeat(large) }))
    const late = await service.request(`/${actor.id}/callbacks/subscriptions/peer/1`, {
      method: 'POST',
      headers: { ...head(actor, '192.0.2.3', {}), 'content-type': 'application/json', 'content-encoding': 'gzip' },
      body: packed,
    })
    assert.notEqual(late.status, 500)
    assert.equal((await put(actor, '192.0.2.4', 'late', large)).status, 503)
    for (const each of slow) each.close()
  })

  it('never take more than the memory of the process for 160 bodies of 1.5 MB (HTTP-28)', async () => {
    if (!existsSync('/proc/self/clear_refs')) return
    const service = await start()
    const actor = await service.createActor()
    await service.close()
    const process = await startServiceProcess({
      database: service.databaseUrl,
      env: { NODE_OPTIONS: '--max-old-space-size=64' },
    })
    try {
      const send = (name: string): Promise<{ status: number }> =>
        process.send('PUT', `/${actor.id}/properties/${name}`, {
          authorization: actor.authorization,
          body: 'x'.repeat(1_500_000),
        })
      for (let warm = 0; warm < 10; warm++) assert.equal((await send('warm')).status, 204)
      forget(process.pid)
      const idle = peakOf(process.pid)
      const answers = await Promise.all(Array.from({ length: 160 }, (_, n) => send(`p${n}`)))
      assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([204]))
      const grown = peakOf(process.pid) - idle
      // The bodies alone have 240 MB. The memory counts pages of files, too, and what no collection has freed yet.
      assert.ok(grown < 144 * 1_048_576, `${grown} bytes`)
    } finally {
      await process.stop()
    }
  })
})
