/** Subscriptions of a service whose data continues a copy: every copy of a subscriber equals its publisher again. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it, type TestContext } from 'node:test'
import { html } from '../../src/index.ts'
import type { PageValues } from '../../src/pages.ts'
import { makeBackup } from '../../src/backup/make-backup.ts'
import { builtInTables } from '../../src/features/features.ts'
import { restoreBackup } from '../../src/backup/restore-backup.ts'
import { MemoryBytes } from '../../src/object/memory.ts'
import { beginIncarnation, findIncarnation, startIncarnation } from '../../src/incarnation/incarnation.ts'
import { openStore } from '../../src/open-store.ts'
import type { PeerClient } from '../../src/peer/peer-client.ts'
import { emptyTarget } from '../support/backups.ts'
import { ManualClock, passUntil } from '../support/manual-clock.ts'
import { PythonPeer } from '../support/python-peer.ts'
import { PythonPublisher, PythonSubscriber, sorted } from '../support/python-subscriptions.ts'
import { relateTo, type TestRelationship } from '../support/recording-peer.ts'
import { startService, type StartOptions, type TestActor, type TestService } from '../support/service.ts'
import { OwnersBrowser } from '../support/sessions.ts'
import { createTestDatabase, faulty } from '../support/stores.ts'

let root = ''
before(async () => {
  root = await mkdtemp(join(tmpdir(), 'troupe-restored-'))
})
after(() => rm(root, { recursive: true, force: true }))

interface Call {
  readonly url: string
  readonly body: Record<string, unknown>
}

/** Records calls to peers and receivers of webhooks, and accepts all of them. */
function recorder(): { readonly client: PeerClient; readonly calls: Call[] } {
  const calls: Call[] = []
  return {
    calls,
    client: {
      call: async ({ url, body }) => {
        calls.push({ url, body: JSON.parse(String(body ?? '{}')) as Record<string, unknown> })
        return { kind: 'answered', status: 204, headers: {}, body: '' }
      },
      close: async () => {},
    },
  }
}

for (const dialect of ['sqlite', 'postgres'] as const) {
  describe(`with ${dialect}`, () => {
    async function open(t: TestContext, options: StartOptions = {}) {
      const clock = new ManualClock()
      const database = await createTestDatabase(dialect)
      const still = { now: clock.now, timers: clock.timers, random: () => 1, ...options }
      const service = await startService(database.url, still)
      let current: TestService | null = service
      t.after(async () => {
        await current?.close()
        await database.remove()
      })
      const actor = await service.createActor()
      const backup = async (): Promise<string> => {
        const folder = await mkdtemp(join(root, 'copy-'))
        const store = await openStore({ url: database.url, mustExist: true, now: clock.now })
        const bytes = new MemoryBytes()
        await makeBackup(
          { store, now: clock.now, url: database.url, bytes, hasFiles: true, tables: builtInTables },
          join(folder, 'copy'),
        )
        await store.close()
        return join(folder, 'copy')
      }
      /** Ends the service, and starts another one at its address with the copy. */
      const restore = async (folder: string): Promise<{ service: TestService; actor: TestActor }> => {
        await service.close()
        current = null
        const target = await emptyTarget(dialect)
        await restoreBackup({ url: target.url, bytes: new MemoryBytes(), hasFiles: true }, folder)
        const port = options.listen === true ? { port: Number(new URL(service.url).port) } : {}
        const restored = await startService(target.url, { ...still, ...port })
        t.after(async () => {
          await restored.close()
          await target.remove()
        })
        const request: TestActor['request'] = async (method, path, body, headers = {}) =>
          restored.request(`/${actor.id}${path}`, {
            method,
            headers: { authorization: actor.authorization, 'content-type': 'application/json', ...headers },
            ...(body === undefined ? {} : { body: JSON.stringify(body) }),
          })
        return { service: restored, actor: { ...actor, request } }
      }
      return { clock, database, service, actor, backup, restore }
    }

    const put = async (actor: TestActor, value: unknown, name = 'mood'): Promise<void> => {
      assert.equal((await actor.request('PUT', `/properties/${name}`, value)).status, 204)
    }

    const shownOf = async (actor: TestActor, peer: Pick<TestRelationship, 'peerId'>, id: string) => {
      const answer = await actor.request('GET', `/subscriptions/${peer.peerId}/${id}?timeline=true`)
      const { data, state, failing_since } = (await answer.json()) as {
        data: { sequence: number; outcome: string }[]
        state: string
        failing_since: string | null
      }
      const outcomes = data.map(({ sequence, outcome }) => [sequence, outcome])
      return { outcomes: outcomes.toReversed(), state, isFailing: failing_since !== null }
    }

    describe('a restored publisher', () => {
      it('brings the copy of each subscriber to its own state, before and after further changes (SUB-20)', async (t) => {
        const peer = await PythonPeer.start({ autoAccept: 'friend' })
        t.after(() => peer.close())
        const { clock, service, actor, backup, restore } = await open(t, { listen: true })
        const asked = await actor.request('POST', '/trust', { url: peer.url, relationship: 'friend' })
        assert.equal(asked.status, 201)
        const subscriber = new PythonSubscriber(peer)
        const id = (await subscriber.subscribe(actor.id)) ?? ''
        const append = async (at: TestService, item: number): Promise<void> => {
          await (await at.app.actors.get(actor.id))?.list('notes').append(item)
          await at.settled()
        }
        for (const item of [1, 2, 3]) await append(service, item)
        await passUntil(clock, [service], () => subscriber.last(id) === 3)
        const folder = await backup()
        for (const item of [4, 5, 6, 7, 8]) await append(service, item)
        await passUntil(clock, [service], () => subscriber.last(id) === 8)
        assert.deepEqual(subscriber.copy.get('notes'), [1, 2, 3, 4, 5, 6, 7, 8])
        const { service: restored } = await restore(folder)
        await passUntil(clock, [restored], () => (subscriber.copy.get('notes') as number[]).length === 3)
        assert.deepEqual(subscriber.copy.get('notes'), [1, 2, 3])
        for (const item of [9, 10]) await append(restored, item)
        await passUntil(clock, [restored], () => (subscriber.copy.get('notes') as number[]).length === 5)
        assert.deepEqual(subscriber.copy.get('notes'), [1, 2, 3, 9, 10])
      })

      it('deletes from the copies what was deleted before the copy and had not arrived (SUB-30)', async (t) => {
        const peer = await PythonPeer.start({ autoAccept: 'friend' })
        t.after(() => peer.close())
        const { clock, service, actor, backup, restore } = await open(t, { listen: true })
        const asked = await actor.request('POST', '/trust', { url: peer.url, relationship: 'friend' })
        assert.equal(asked.status, 201)
        const subscriber = new PythonSubscriber(peer)
        for (const name of ['mood', 'plan', 'diary']) await put(actor, 'first', name)
        const ingress = { status: 0 }
        peer.route('POST', /^\/callbacks\/subscriptions\//, () => (ingress.status > 0 ? ingress : undefined))
        await subscriber.subscribe(actor.id)
        ingress.status = 503
        await actor.request('DELETE', '/properties/mood')
        ingress.status = 404
        await actor.request('DELETE', '/properties/plan')
        await service.settled()
        const folder = await backup()
        const { service: restored } = await restore(folder)
        ingress.status = 0
        await passUntil(clock, [restored], () => subscriber.copy.size === 1, 1000)
        assert.deepEqual(Object.fromEntries(subscriber.copy), { diary: 'first' })
      })

      it('repeats no sequence number, and sends a resync before every change (SUB-20)', async (t) => {
        const { client, calls } = recorder()
        const { clock, service, actor, backup, restore } = await open(t, { peerClient: client })
        const peer = await relateTo(service, actor, { baseuri: 'https://peer.example.com/them' })
        const id = await peer.subscribe({ granularity: 'high' })
        for (const value of [1, 2, 3]) await put(actor, value)
        await passUntil(clock, [service], () => calls.length === 3)
        const folder = await backup()
        for (const value of [4, 5, 6, 7, 8]) await put(actor, value)
        await passUntil(clock, [service], () => calls.length === 8)
        const { service: restored, actor: again } = await restore(folder)
        for (const value of [9, 10, 11]) await put(again, value)
        const sent = (): (readonly [string, number, unknown])[] =>
          calls
            .slice(8)
            .map(
              ({ body }) =>
                [body['type'] === 'resync' ? 'resync' : 'diff', Number(body['sequence']), body['data']] as const,
            )
        await passUntil(clock, [restored], async () => {
          const { outcomes, isFailing } = await shownOf(again, peer, id)
          return !isFailing && outcomes.every(([, outcome]) => outcome !== 'waiting')
        })
        // The resync covers the changes that were stored before it was sent.
        const [first, ...later] = sent()
        assert.deepEqual([first?.[0], first?.[2]], ['resync', undefined])
        assert.ok((first?.[1] ?? 0) >= 1_000_004)
        const diffs = [1_000_005, 1_000_006, 1_000_007].filter((sequence) => sequence > (first?.[1] ?? 0))
        assert.deepEqual(
          later,
          diffs.map((sequence) => ['diff', sequence, { mood: sequence - 999_996 }]),
        )
        const { outcomes, state } = await shownOf(again, peer, id)
        assert.equal(state, 'live')
        assert.deepEqual(
          outcomes.map(([sequence]) => sequence),
          [1, 2, 3, 1_000_004, 1_000_005, 1_000_006, 1_000_007],
        )
        assert.deepEqual(
          outcomes.slice(0, 3).map(([, outcome]) => outcome),
          ['delivered', 'delivered', 'delivered'],
        )
      })

      it('sends nothing again that the copy shows as sent, and changes that waited only as part of the resync (SUB-20)', async (t) => {
        const { client, calls } = recorder()
        const { clock, service, actor, backup, restore } = await open(t, { peerClient: client })
        const hook = await actor.request('POST', '/webhooks', {
          url: 'https://receiver.example.com/hook',
          events: ['property_changed'],
        })
        assert.equal(hook.status, 201)
        const peer = await relateTo(service, actor, { baseuri: 'https://peer.example.com/them' })
        const id = await peer.subscribe({ granularity: 'high' })
        await put(actor, 1)
        await passUntil(clock, [service], () => calls.length === 2)
        assert.equal((await actor.request('PUT', `/trust/friend/${peer.peerId}`, { approved: false })).status, 204)
        await service.settled()
        const folder = await backup()
        const { service: restored, actor: again } = await restore(folder)
        const path = `/trust/friend/${peer.peerId}`
        assert.equal((await again.request('PUT', path, { approved: true })).status, 204)
        await passUntil(clock, [restored], async () => !(await shownOf(again, peer, id)).isFailing)
        for (let minute = 0; minute < 120; minute += 20) {
          clock.pass(20 * 60_000)
          await restored.settled()
        }
        const sent = calls
          .slice(2)
          .filter(({ url }) => url.includes('/callbacks/subscriptions/') || url.includes('hook'))
        assert.deepEqual(
          sent.map(({ body }) => body['type']),
          ['resync'],
        )
      })

      it('moves on the number of a polled subscription, whose peer then fetches the full state (SUB-20)', async (t) => {
        const { client, calls } = recorder()
        const { clock, service, actor, backup, restore } = await open(t, { peerClient: client })
        const peer = await relateTo(service, actor, { baseuri: 'https://peer.example.com/them' })
        const id = await peer.subscribe({ granularity: 'none' })
        for (const value of [1, 2, 3]) await put(actor, value)
        const folder = await backup()
        const { service: restored, actor: again } = await restore(folder)
        const poll = async () => {
          const answer = await restored.request(`/${actor.id}/subscriptions/${peer.peerId}/${id}`, {
            headers: { authorization: `Bearer ${peer.secret}` },
          })
          const { sequence, data } = (await answer.json()) as { sequence: number; data: { sequence: number }[] }
          return [sequence, data.map((diff) => diff.sequence)]
        }
        assert.deepEqual(await poll(), [1_000_003, []])
        await put(again, 4)
        assert.deepEqual(await poll(), [1_000_004, [1_000_004]])
        clock.pass(3_600_000)
        await restored.settled()
        assert.deepEqual(calls, [])
      })

      it('sends no resync for a suspended subscription until it is resumed, and then one (SUB-20)', async (t) => {
        const { client, calls } = recorder()
        const { clock, service, actor, backup, restore } = await open(t, { peerClient: client })
        const peer = await relateTo(service, actor, { baseuri: 'https://peer.example.com/them' })
        const id = await peer.subscribe({ granularity: 'high' })
        await put(actor, 1)
        await passUntil(clock, [service], () => calls.length === 1)
        await (await service.app.actors.get(actor.id))?.subscriptions.suspend('properties')
        const { service: restored, actor: again } = await restore(await backup())
        for (let hour = 0; hour < 5; hour += 1) {
          clock.pass(3_600_000)
          await restored.settled()
        }
        assert.equal(calls.length, 1)
        await (await restored.app.actors.get(actor.id))?.subscriptions.resume('properties')
        await passUntil(clock, [restored], () => calls.length === 2)
        assert.deepEqual([calls[1]?.body['type'], calls[1]?.body['sequence']], ['resync', 1_000_002])
        assert.deepEqual((await shownOf(again, peer, id)).state, 'live')
      })

      it('sends the resyncs one after the other, about 20 each second (SUB-20)', async (t) => {
        const { client, calls } = recorder()
        const { clock, service, actor, backup, restore } = await open(t, { peerClient: client })
        for (let n = 0; n < 40; n += 1) {
          const peer = await relateTo(service, actor, { baseuri: `https://peer${n}.example.com/them` })
          await peer.subscribe({ granularity: 'high' })
          clock.pass(347)
        }
        const begun = clock.now()
        const { service: restored } = await restore(await backup())
        const times: number[] = []
        await passUntil(
          clock,
          [restored],
          () => {
            while (times.length < calls.length) times.push(clock.now() - begun)
            return calls.length === 40
          },
          100,
        )
        assert.equal(new Set(calls.map(({ url }) => new URL(url).host)).size, 40)
        const most = Math.max(
          ...Map.groupBy(times, (time) => time)
            .values()
            .map(({ length }) => length),
        )
        assert.ok(most <= 25, `${most} resyncs at one time`)
        assert.ok((times.at(-1) ?? 0) <= 3200, `the last one after ${times.at(-1)} ms`)
      })
    })

    describe('a restored subscriber', () => {
      it('fetches every copy again, without a callback (SUB-21)', async (t) => {
        const peer = await PythonPeer.start({ autoAccept: 'friend' })
        t.after(() => peer.close())
        const { clock, service, actor, backup, restore } = await open(t, { listen: true })
        const asked = await actor.request('POST', '/trust', { url: peer.url, relationship: 'friend' })
        assert.equal(asked.status, 201)
        const publisher = new PythonPublisher(peer)
        publisher.properties.set('mood', 'sunny')
        publisher.properties.set('gone', 1)
        const copyAt = async (at: TestService) =>
          sorted((await (await at.app.actors.get(actor.id))?.remote(peer.id).all()) ?? {})
        await (await service.app.actors.get(actor.id))?.subscribe(peer.id)
        await publisher.append('notes', 1)
        await passUntil(clock, [service], async () => 'notes' in (await copyAt(service)))
        const folder = await backup()
        await publisher.append('notes', 2)
        await publisher.delete('gone')
        await passUntil(clock, [service], async () => !('gone' in (await copyAt(service))))
        const { service: restored } = await restore(folder)
        assert.deepEqual(await copyAt(restored), { gone: 1, mood: 'sunny', notes: [1] })
        await passUntil(clock, [restored], async () => !('gone' in (await copyAt(restored))))
        assert.deepEqual(await copyAt(restored), { mood: 'sunny', notes: [1, 2] })
        await publisher.append('notes', 3)
        await passUntil(clock, [restored], async () => JSON.stringify(await copyAt(restored)).includes('3'))
        assert.deepEqual(await copyAt(restored), { mood: 'sunny', notes: [1, 2, 3] })
      })
    })

    describe('the restore', () => {
      it('is named on the page of activities of older actors for 30 days (SUB-20)', async (t) => {
        const shown: PageValues<'activity'>[] = []
        const restoredNow = () => shown[0]?.restored
        const pages = { activity: (values: PageValues<'activity'>) => (shown.unshift(values), html`activity`) }
        const { clock, service, actor, backup, restore } = await open(t, { pages })
        await (await OwnersBrowser.open(service, actor)).get('/activity')
        assert.equal(restoredNow(), null)
        const copied = new Date(clock.now()).toISOString()
        const folder = await backup()
        clock.pass(3_600_000)
        const { service: restored, actor: again } = await restore(folder)
        const since = new Date(clock.now()).toISOString()
        await (await OwnersBrowser.open(restored, again)).get('/activity')
        assert.deepEqual([restoredNow()?.since.at, restoredNow()?.copied?.at], [since, copied])
        clock.pass(1000)
        const later = await restored.createActor('later@example.com')
        await (await OwnersBrowser.open(restored, later)).get('/activity')
        assert.equal(restoredNow(), null)
        clock.pass(31 * 86_400_000)
        await (await OwnersBrowser.open(restored, again)).get('/activity')
        assert.equal(restoredNow(), null)
      })
    })

    describe('the beginning of an incarnation', () => {
      const numbers = async (url: string): Promise<unknown> => {
        const store = await openStore({ url, mustExist: true })
        try {
          return await store.read((q) =>
            q.all(
              `SELECT sequence, committed, repair_at IS NOT NULL AS doubtful FROM publisher_subscription ORDER BY created_at`,
            ),
          )
        } finally {
          await store.close()
        }
      }
      const silent = { warn: () => {} }

      it('doubts no copy for an original, and once for troupe restored and for a copy (SUB-20)', async (t) => {
        const { client } = recorder()
        const { clock, service, actor, database } = await open(t, { peerClient: client })
        const peer = await relateTo(service, actor, { baseuri: 'https://peer.example.com/them' })
        await peer.subscribe({ granularity: 'high' })
        await put(actor, 1)
        await service.settled()
        await service.close()
        const store = await openStore({ url: database.url, mustExist: true, now: clock.now })
        t.after(() => store.close())
        await startIncarnation(store, silent)
        assert.deepEqual(await numbers(database.url), [{ sequence: 1, committed: 1, doubtful: 0 }])
        const { doubtful } = await beginIncarnation(store)
        assert.deepEqual(doubtful, { subscribers: 1, subscribed: 0 })
        const after_ = [{ sequence: 1_000_002, committed: 1_000_001, doubtful: 1 }]
        assert.deepEqual(await numbers(database.url), after_)
        await startIncarnation(store, silent)
        assert.deepEqual(await numbers(database.url), after_)
      })

      it('is stored with every doubt or not at all, when any statement fails (SUB-20)', async (t) => {
        const { client } = recorder()
        const { service, actor, database } = await open(t, { peerClient: client })
        const peer = await relateTo(service, actor, { baseuri: 'https://peer.example.com/them' })
        await peer.subscribe({ granularity: 'high' })
        await put(actor, 1)
        await service.settled()
        await service.close()
        const store = await openStore({ url: database.url, mustExist: true })
        t.after(() => store.close())
        const original = await store.read(findIncarnation)
        // The first statement on PostgreSQL reads the timeline, which some servers do not state.
        for (let at = dialect === 'sqlite' ? 1 : 2; ; at += 1) {
          const failing = faulty(store, { at })
          const isDone = await beginIncarnation(failing).then(
            () => true,
            () => false,
          )
          const found = await store.read(findIncarnation)
          assert.equal(found?.id === original?.id, !isDone, `statement ${at}`)
          assert.deepEqual(
            await numbers(database.url),
            isDone
              ? [{ sequence: 1_000_002, committed: 1_000_001, doubtful: 1 }]
              : [{ sequence: 1, committed: 1, doubtful: 0 }],
          )
          if (isDone) {
            assert.ok(at > 8, `${at} statements`)
            break
          }
        }
      })
    })
  })
}
