/** Publishers that went back in time, or do not announce every change: the copies at their peers equal them again. */
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { ManualClock, passUntil } from '../support/manual-clock.ts'
import { RecordingPeer, relateTo } from '../support/recording-peer.ts'
import { forEachService } from '../support/service.ts'

forEachService((start) => {
  const closers: (() => Promise<void>)[] = []
  afterEach(async () => {
    for (const close of closers.splice(0)) await close()
  })

  describe('an acknowledgement', () => {
    async function published(granularity = 'high') {
      const clock = new ManualClock()
      const service = await start({ now: clock.now, timers: clock.timers })
      const actor = await service.createActor()
      const remote = await new RecordingPeer().start()
      closers.push(() => remote.stop())
      const peer = await relateTo(service, actor, { baseuri: `${remote.url}/them` })
      const id = await peer.subscribe({ granularity })
      const put = async (value: unknown) =>
        assert.equal((await actor.request('PUT', '/properties/mood', value)).status, 204)
      for (const value of [1, 2]) await put(value)
      if (granularity !== 'none') await passUntil(clock, [service], () => remote.received.length === 2)
      const acknowledge = async (sequence: number) =>
        assert.equal((await peer.request('PUT', `/subscriptions/${peer.peerId}/${id}`, { sequence })).status, 204)
      const sequence = async (): Promise<unknown> => {
        const answer = await peer.request('GET', `/subscriptions/${peer.peerId}/${id}`)
        return ((await answer.json()) as { sequence: number }).sequence
      }
      return { clock, service, handle: await service.app.actors.get(actor.id), remote, put, acknowledge, sequence }
    }

    it('of a number that was not used yet leads to a resync with the next number (SUB-25)', async () => {
      const { clock, service, remote, put, acknowledge } = await published()
      await acknowledge(99)
      await passUntil(clock, [service], () => remote.received.length === 3)
      await put(3)
      await passUntil(clock, [service], () => remote.received.length === 4)
      assert.deepEqual(
        remote.received.slice(2).map(({ body }) => [body?.['type'] ?? 'diff', body?.['sequence']]),
        [
          ['resync', 100],
          ['diff', 101],
        ],
      )
      assert.match(service.log.join('\n'), /A subscriber knows later changes than the publisher/)
    })

    for (const [what, sequence] of [
      ['0', 0],
      ['a known number', 1],
      ['the last number', 2],
      ['a number that cannot be of this subscription', 9_000_000_000_000],
    ] as const) {
      it(`of ${what} leaves the numbers as they are (SUB-25)`, async () => {
        const { clock, service, remote, put, acknowledge } = await published()
        await acknowledge(sequence)
        await put(3)
        await passUntil(clock, [service], () => remote.received.length === 3)
        assert.deepEqual(remote.sequences, [1, 2, 3])
      })
    }

    it('of a number that was not used yet leaves the numbers of a peer that only polls as they are (SUB-25)', async () => {
      const { put, acknowledge, sequence } = await published('none')
      await acknowledge(99)
      await put(3)
      assert.equal(await sequence(), 3)
    })

    it('of a number that was not used yet continues the numbers of a suspended subscription with its resume (SUB-25)', async () => {
      const { clock, service, handle, remote, acknowledge } = await published()
      await handle?.subscriptions.suspend('properties')
      await acknowledge(99)
      await handle?.subscriptions.resume('properties')
      await passUntil(clock, [service], () => remote.received.length === 3)
      assert.deepEqual([remote.received[2]?.body?.['type'], remote.received[2]?.body?.['sequence']], ['resync', 100])
    })
  })
})
