import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { DatabaseSync } from 'node:sqlite'
import { describe, it } from 'node:test'
import { drainSecondsOf } from '../../src/http/edge/server.ts'
import { createActor, place, placeForEachTest, plain, slow, start } from '../support/cli.ts'
import { until } from '../support/until.ts'

placeForEachTest()

describe('a stop signal', () => {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    it(`lets a running request finish: ${signal} (OPS-03)`, async () => {
      place.write('app.ts', slow)
      const { program, url } = await start(['dev', 'app.ts'], { TROUPE_SHUTDOWN_SECONDS: '600' })
      const { id, authorization } = await createActor(url)
      const answer = fetch(`${url}/${id}/actions/slow`, { method: 'POST', headers: { authorization }, body: '{}' })
      await program.prints(/slow began/)
      program.signal(signal)
      await program.prints(/Stopping: waiting for running requests\./)
      await assert.rejects(fetch(`${url}/`), 'a new connection is refused')
      writeFileSync(place.path('gate'), '')
      assert.deepEqual(await (await answer).json(), { done: true })
      const { code, stderr } = await program.ended
      assert.deepEqual([code, stderr], [0, ''])
      const database = new DatabaseSync(place.path('data/troupe.db'), { readOnly: true })
      assert.equal(database.prepare("SELECT value FROM property WHERE name = 'done'").get()?.['value'], '"yes"')
      database.close()
    })
  }

  it('makes health fail before anything else, on connections that are still open (OPS-03)', async () => {
    place.write('app.ts', slow)
    const { program, url } = await start(['dev', 'app.ts'], { TROUPE_SHUTDOWN_SECONDS: '600' })
    const { id, authorization } = await createActor(url)
    const socket = await open(url)
    const said = everything(socket)
    socket.write(
      `POST /${id}/actions/slow HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\nContent-Length: 2\r\n\r\n{}`,
    )
    await program.prints(/slow began/)
    program.signal('SIGTERM')
    await program.prints(/Stopping/)
    // The connection is busy, so it stays open, and the second response follows the first.
    socket.write('GET /health/ready HTTP/1.1\r\nHost: x\r\n\r\n')
    writeFileSync(place.path('gate'), '')
    assert.match(await said, /^HTTP\/1\.1 200 .*\{"done":true\}HTTP\/1\.1 503 .*"error":"shutting_down"/s)
    assert.equal((await program.ended).code, 0)
  })

  it('closes a connection that never sent a request, without waiting (OPS-03)', async () => {
    const { program, url } = await start(['dev', 'app.ts'], { TROUPE_SHUTDOWN_SECONDS: '600' })
    const silent = await open(url)
    await (await fetch(`${url}/health/live`)).text()
    program.signal('SIGTERM')
    assert.equal((await program.ended).code, 0)
    silent.destroy()
  })

  it('aborts requests that have not ended within the configured time (OPS-03)', async () => {
    place.write('app.ts', slow)
    const { program, url } = await start(['dev', 'app.ts'], { TROUPE_SHUTDOWN_SECONDS: '0' })
    const { id, authorization } = await createActor(url)
    const answer = fetch(`${url}/${id}/actions/slow`, { method: 'POST', headers: { authorization }, body: '{}' })
    const cut = assert.rejects(answer)
    await program.prints(/slow began/)
    program.signal('SIGTERM')
    await cut
    const { code, stdout } = await program.ended
    assert.equal(code, 0)
    assert.match(stdout, /Stopped\.\n$/)
  })

  it('ends the process immediately when it arrives a second time (OPS-03)', async () => {
    place.write('app.ts', slow)
    const { program, url } = await start(['dev', 'app.ts'], { TROUPE_SHUTDOWN_SECONDS: '600' })
    const { id, authorization } = await createActor(url)
    const answer = fetch(`${url}/${id}/actions/slow`, { method: 'POST', headers: { authorization }, body: '{}' })
    const cut = assert.rejects(answer)
    await program.prints(/slow began/)
    program.signal('SIGINT')
    await program.prints(/Stopping/)
    // A user keeps pressing Ctrl-C: signals within one second of the first count as the same signal.
    const pressing = setInterval(() => program.signal('SIGINT'), 100)
    const { code, signal, stdout } = await program.ended
    clearInterval(pressing)
    assert.deepEqual([code, signal], [null, 'SIGINT'])
    assert.doesNotMatch(stdout, /Stopped/)
    await cut
  })

  it('lets the service serve while a proxy notices that it is not ready', async () => {
    const { program, url } = await start(['dev', 'app.ts'], { TROUPE_DRAIN_SECONDS: '600' })
    program.signal('SIGTERM')
    await program.prints(/Stopping/)
    const ready = await fetch(`${url}/health/ready`)
    assert.deepEqual([ready.status, ready.headers.get('connection')], [503, 'close'])
    const { id, authorization } = await createActor(url)
    for (const [method, status] of [
      ['PUT', 204],
      ['GET', 200],
      ['DELETE', 204],
    ] as const) {
      const answer = await fetch(`${url}/${id}/properties/motto`, {
        method,
        headers: { authorization },
        ...(method === 'PUT' ? { body: '"Measure twice"' } : {}),
      })
      assert.deepEqual([answer.status, answer.headers.get('connection')], [status, 'close'], method)
    }
  })

  it('leaves a proxy 5 seconds to notice, unless a setting names another time', () => {
    const drains = [
      [{ drainSeconds: null, trustedProxies: 0 }, 0],
      [{ drainSeconds: null, trustedProxies: 1 }, 5],
      [{ drainSeconds: null, trustedProxies: 2 }, 5],
      [{ drainSeconds: 0, trustedProxies: 1 }, 0],
      [{ drainSeconds: 30, trustedProxies: 0 }, 30],
    ] as const
    for (const [config, seconds] of drains) assert.equal(drainSecondsOf(config), seconds, JSON.stringify(config))
  })

  it('refuses no request until the service accepts no connection', async () => {
    const { program, url } = await start(['dev', 'app.ts'], { TROUPE_DRAIN_SECONDS: '1' })
    program.signal('SIGTERM')
    await program.prints(/Stopping/)
    const statuses = new Set<number>()
    let refusal: unknown
    await until(async () => {
      try {
        statuses.add((await fetch(`${url}/health/live`)).status)
      } catch (error) {
        refusal = (error as Error).cause
      }
      return refusal !== undefined
    })
    assert.deepEqual([...statuses], [200])
    assert.equal((refusal as NodeJS.ErrnoException).code, 'ECONNREFUSED')
    assert.equal((await program.ended).code, 0)
  })

  it('ends the service although the application left a timer running', async () => {
    place.write('app.ts', `${plain}setInterval(() => {}, 1000)\n`)
    const { program } = await start(['dev', 'app.ts'])
    program.signal('SIGTERM')
    const { code, stdout } = await program.ended
    assert.equal(code, 0)
    assert.match(stdout, /Stopped\.\n$/)
  })
})

async function open(url: string): Promise<Socket> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  await once(socket, 'connect')
  return socket
}

async function everything(socket: Socket): Promise<string> {
  let text = ''
  for await (const chunk of socket) text += String(chunk)
  return text
}
