import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { AtOnce } from '../../src/rate-limit/concurrency-limit.ts'
import { clientKeyOf, type McpAccess } from '../../src/mcp/call/call.ts'
import { Outgoing, type OnDisconnect } from '../../src/mcp/call/outgoing.ts'

const progress = (n: number, text = ''): object => ({ method: 'notifications/progress', params: { progress: n, text } })
const question = (id: string): object => ({ id, method: 'elicitation/create' })

/** Everything that a receiver gets that begins to read now. */
async function received(outgoing: Outgoing, answer: object): Promise<object[]> {
  return Array.fromAsync(outgoing.messages(Promise.resolve(answer)))
}

describe('what a call sends while it runs', () => {
  it('comes in order, and the answer last', async () => {
    const outgoing = new Outgoing('cancels')
    outgoing.send(progress(1))
    outgoing.send(progress(2))
    assert.equal(await outgoing.firstOf(Promise.resolve('done')), 'message')
    assert.deepEqual(await received(outgoing, { result: 1 }), [progress(1), progress(2), { result: 1 }])
  })

  it('is no stream when the answer comes first', async () => {
    const outgoing = new Outgoing('cancels')
    assert.deepEqual(await outgoing.firstOf(Promise.resolve('done')), { answer: 'done' })
  })

  it('is bounded for a receiver that reads nothing: the oldest notifications go, questions and the newest stay', async () => {
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

  it('is bounded by its size, too', async () => {
    const outgoing = new Outgoing('cancels')
    for (let n = 1; n <= 50; n++) outgoing.send(progress(n, 'x'.repeat(100_000)))
    const messages = await received(outgoing, { result: 1 })
    assert.equal(messages.length, 10)
    assert.ok(JSON.stringify(messages).length < 1_100_000)
  })

  const partings: [parting: OnDisconnect, isAborted: boolean][] = [
    ['cancels', true],
    ['means_nothing', false],
  ]
  for (const [parting, isAborted] of partings) {
    it(`is dropped when the receiver has gone, which ${isAborted ? 'ends the call' : 'the call does not hear of'}`, async () => {
      const outgoing = new Outgoing(parting)
      const { signal } = outgoing
      outgoing.send(progress(1))
      outgoing.left()
      outgoing.send(progress(2))
      assert.equal(signal.aborted, isAborted)
      assert.deepEqual(await received(outgoing, { result: 1 }), [])
    })
  }

  it('wakes whoever waits for a first message when the call is cancelled, and sends no answer', async () => {
    const outgoing = new Outgoing('means_nothing')
    const first = outgoing.firstOf(new Promise(() => {}))
    outgoing.abort()
    assert.equal(await first, 'message')
    assert.equal(outgoing.signal.aborted, true)
    assert.deepEqual(await received(outgoing, { result: 1 }), [])
  })

  it('hears nothing of a receiver that goes after it has everything', async () => {
    const outgoing = new Outgoing('cancels')
    outgoing.send(progress(1))
    await received(outgoing, { result: 1 })
    outgoing.left()
    assert.equal(outgoing.signal.aborted, false)
  })
})

describe('what a client has under way at once', () => {
  const access = (actor: string, peerId: string): McpAccess =>
    ({ actor: { id: actor }, caller: { peerId } }) as unknown as McpAccess

  it('is bounded for each client of each actor by itself, and an end makes room once', () => {
    const streams = new AtOnce(2, 'This client', 'streams')
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
