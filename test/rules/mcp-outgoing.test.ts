import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ConcurrencyLimit } from '../../src/rate-limit/concurrency-limit.ts'
import { clientKeyOf, type McpAccess } from '../../src/mcp/call/call.ts'
import { Outgoing, type OnDisconnect } from '../../src/mcp/call/outgoing.ts'

const progress = (n: number, text = ''): object => ({ method: 'notifications/progress', params: { progress: n, text } })
const question = (id: string): object => ({ id, method: 'elicitation/create' })

/** Everything that a receiver gets when it starts to read now. */
async function received(outgoing: Outgoing, answer: object): Promise<object[]> {
  return Array.fromAsync(outgoing.messages(Promise.resolve(answer)))
}

describe('the messages of a running call', () => {
  it('arrive in order, with the result last', async () => {
    const outgoing = new Outgoing('cancels')
    outgoing.send(progress(1))
    outgoing.send(progress(2))
    assert.equal(await outgoing.firstOf(Promise.resolve('done')), 'message')
    assert.deepEqual(await received(outgoing, { result: 1 }), [progress(1), progress(2), { result: 1 }])
  })

  it('need no stream when the result comes first', async () => {
    const outgoing = new Outgoing('cancels')
    assert.deepEqual(await outgoing.firstOf(Promise.resolve('done')), { answer: 'done' })
  })

  it('are limited for a receiver that reads nothing: the oldest notifications are dropped, requests and the newest notifications are kept', async () => {
    const outgoing = new Outgoing('cancels')
    outgoing.send(question('q1'))
    for (let n = 1; n <= 5000; n++) outgoing.send(progress(n))
    const messages = await received(outgoing, { result: 1 })
    assert.equal(messages.length, 1001)
    assert.deepEqual(messages[0], question('q1'))
    assert.deepEqual(messages[1], progress(4002))
    assert.deepEqual(messages.at(-2), progress(5000))
    assert.deepEqual(messages.at(-1), { result: 1 })
  })

  it('are limited in size, too', async () => {
    const outgoing = new Outgoing('cancels')
    for (let n = 1; n <= 50; n++) outgoing.send(progress(n, 'x'.repeat(100_000)))
    const messages = await received(outgoing, { result: 1 })
    assert.equal(messages.length, 10)
    assert.ok(JSON.stringify(messages).length < 1_100_000)
  })

  const cases: [onDisconnect: OnDisconnect, isAborted: boolean][] = [
    ['cancels', true],
    ['means_nothing', false],
  ]
  for (const [onDisconnect, isAborted] of cases) {
    it(`are dropped when the receiver has disconnected, which ${isAborted ? 'cancels' : 'does not cancel'} the call`, async () => {
      const outgoing = new Outgoing(onDisconnect)
      const { signal } = outgoing
      outgoing.send(progress(1))
      outgoing.left()
      outgoing.send(progress(2))
      assert.equal(signal.aborted, isAborted)
      assert.deepEqual(await received(outgoing, { result: 1 }), [])
    })
  }

  it('end without a result when the call is cancelled, also for a reader that waits for the first message', async () => {
    const outgoing = new Outgoing('means_nothing')
    const first = outgoing.firstOf(new Promise(() => {}))
    outgoing.abort()
    assert.equal(await first, 'message')
    assert.equal(outgoing.signal.aborted, true)
    assert.deepEqual(await received(outgoing, { result: 1 }), [])
  })

  it('are complete when the receiver disconnects after the result, which cancels nothing', async () => {
    const outgoing = new Outgoing('cancels')
    outgoing.send(progress(1))
    await received(outgoing, { result: 1 })
    outgoing.left()
    assert.equal(outgoing.signal.aborted, false)
  })
})

describe('the concurrent streams of a client', () => {
  const access = (actor: string, peerId: string): McpAccess =>
    ({ actor: { id: actor }, caller: { peerId } }) as unknown as McpAccess

  it('are limited separately for each client of each actor, and an end frees one place', () => {
    const streams = new ConcurrencyLimit(2, 'This client', 'streams')
    const begin = (actor: string, peerId: string): (() => void) => streams.begin(clientKeyOf(access(actor, peerId)))
    const ends = [begin('a', 'p'), begin('a', 'p')]
    assert.throws(() => begin('a', 'p'), {
      code: 'too_many_requests',
      status: 429,
      message: 'This client already has 2 streams open, which is the maximum',
    })
    begin('a', 'q')
    begin('b', 'p')
    ends[0]?.()
    ends[0]?.()
    begin('a', 'p')
    assert.throws(() => begin('a', 'p'), { code: 'too_many_requests' })
  })
})
