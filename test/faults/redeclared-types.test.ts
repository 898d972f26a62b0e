/** A new deployment declares other rights for a trust type. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { App } from '../../src/index.ts'
import { holdWork, resumeWork } from '../../src/moving/held-work.ts'
import { resumeActor, suspendActor } from '../../src/operator/suspension.ts'
import { ManualClock, passUntil } from '../support/manual-clock.ts'
import { RecordingPeer, relateTo } from '../support/recording-peer.ts'
import { forEachService, type TestService } from '../support/service.ts'

type Rights = Parameters<App['trustType']>[0]['permissions']

const all: Rights = { properties: { patterns: ['*'], operations: ['read', 'subscribe'] } }
const withoutDiary: Rights = {
  properties: { patterns: ['*'], operations: ['read', 'subscribe'], excluded_patterns: ['diary'] },
}

forEachService((start) => {
  async function world(first: Rights) {
    const clock = new ManualClock()
    const remote = await new RecordingPeer().start()
    const deploy = (permissions: Rights | null, database?: string): Promise<TestService> =>
      start({
        now: clock.now,
        timers: clock.timers,
        ...(database === undefined ? {} : { database }),
        declare: (app) => {
          if (permissions !== null)
            app.trustType({ name: 'reader', display_name: 'Reader', description: 'Reads', permissions })
        },
      })
    let service = await deploy(first)
    const actor = await service.createActor()
    const peers = []
    for (const relationship of ['reader', 'reader', 'friend'] as const) {
      const baseuri = `${remote.url}/peer${peers.length}`
      const peer = await relateTo(service, actor, { baseuri, relationship })
      await peer.subscribe({ granularity: 'high' })
      peers.push(peer)
    }
    for (const name of ['diary', 'mood'])
      assert.equal((await actor.request('PUT', `/properties/${name}`, { now: name })).status, 204)
    await passUntil(clock, [service], () => remote.received.length === (first === all ? 6 : 4))
    remote.received.length = 0
    return {
      remote,
      actor,
      service: () => service,
      until: (holds: () => boolean) => passUntil(clock, [service], holds, 1000),
      /** Long enough for every repetition. */
      pause: () => {
        const end = clock.now() + 120_000
        return passUntil(clock, [service], () => clock.now() >= end, 20_000)
      },
      /** The messages to each peer, by its number. */
      received: () =>
        remote.received
          .map(({ path, body }) =>
            path.includes('/callbacks/permissions/')
              ? [path.slice(5, 6), 'permissions']
              : [path.slice(5, 6), body?.['type'] ?? body?.['data']],
          )
          .toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)),
      next: async (permissions: Rights | null) => {
        await service.close()
        service = await deploy(permissions, service.databaseUrl)
      },
      close: () => remote.stop(),
    }
  }

  describe('a deployment with other rights of a trust type', () => {
    const deployments: readonly [what: string, before: Rights, after: Rights | null, received: unknown[]][] = [
      [
        'fewer',
        all,
        withoutDiary,
        [
          ['0', 'permissions'],
          ['0', { diary: '' }],
          ['1', 'permissions'],
          ['1', { diary: '' }],
        ],
      ],
      [
        'no',
        all,
        null,
        [
          ['0', 'permissions'],
          ['0', { diary: '', mood: '' }],
          ['1', 'permissions'],
          ['1', { diary: '', mood: '' }],
        ],
      ],
      [
        'more',
        withoutDiary,
        all,
        [
          ['0', 'permissions'],
          ['0', 'resync'],
          ['1', 'permissions'],
          ['1', 'resync'],
        ],
      ],
      ['the same', all, structuredClone(all), []],
    ]
    for (const [what, before, after, received] of deployments) {
      it(`that declares ${what} tells the peers of this type once (SUB-37)`, async () => {
        const { remote, until, pause, received: heard, next, close } = await world(before)
        await next(after)
        await until(() => remote.received.length >= received.length)
        await pause()
        assert.deepEqual(heard(), received)
        await next(after)
        await pause()
        assert.equal(remote.received.length, received.length)
        await close()
      })
    }

    it('tells the peers of a suspended actor after its resumption, and those of all others at once (SUB-37)', async () => {
      const { remote, actor, service, until, pause, received: heard, next, close } = await world(all)
      const act = { operator: 'command line', device: '' }
      const suspension = { holdWork, resumeWork }
      const others = []
      for (const id of ['00', 'zz']) {
        const { actor: other } = await service().app.actors.create({ id, creator: `${id}@example.com` })
        const owner = { ...actor, id: other.id }
        others.push(await relateTo(service(), owner, { baseuri: `${remote.url}/other`, relationship: 'reader' }))
      }
      const { store } = await service().app.running()
      await suspendActor({ store, ...suspension }, actor.id, act)
      await next(withoutDiary)
      await until(() => remote.received.length >= others.length)
      await pause()
      assert.deepEqual(
        remote.received.map(({ path }) => path.slice(0, 7)),
        ['/other/', '/other/'],
      )
      remote.received.length = 0
      // A later deployment does not forget the rights that the peers received last.
      await next(null)
      await pause()
      remote.received.length = 0
      await next(withoutDiary)
      await pause()
      remote.received.length = 0
      const { store: current } = await service().app.running()
      await resumeActor({ store: current, ...suspension }, actor.id, act)
      await until(() => remote.received.length >= 4)
      await pause()
      assert.deepEqual(heard(), [
        ['0', 'permissions'],
        ['0', { diary: '' }],
        ['1', 'permissions'],
        ['1', { diary: '' }],
      ])
      await close()
    })
  })
})
