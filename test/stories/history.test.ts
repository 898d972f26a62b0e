/** The history of changes, and how the owner takes them back. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { z } from 'zod'
import type { ActorHandle } from '../../src/app/actor-handle.ts'
import { TestCallers } from '../support/callers.ts'
import { onShards } from '../support/citus.ts'
import { authorizeClient } from '../support/mcp-client.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { type Random, seeded } from '../support/random.ts'
import { relateTo } from '../support/recording-peer.ts'
import { forEachService, sqliteService, type TestActor } from '../support/service.ts'

interface Entry {
  readonly id: number
  readonly name: string
  readonly kind: string
  readonly operation: string
  readonly before?: unknown
  readonly too_long?: boolean
  readonly items?: number
  readonly caller_kind: string
  readonly caller?: string
  readonly request_id: string
}

interface Undone {
  readonly undone: string[]
  readonly conflicts: { readonly name: string; readonly reason: string }[]
}

async function historyOf(actor: TestActor, query = ''): Promise<Entry[]> {
  const answer = await actor.request('GET', `/history${query}`)
  assert.equal(answer.status, 200)
  return ((await answer.json()) as { history: Entry[] }).history
}

async function undo(actor: TestActor, body: object): Promise<Undone> {
  const answer = await actor.request('POST', '/history/undo', body)
  const text = await answer.text()
  assert.equal(answer.status, 200, text)
  return JSON.parse(text) as Undone
}

async function sent(actor: TestActor, method: string, path: string, body?: unknown): Promise<void> {
  const answer = await actor.request(method, path, body)
  assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${await answer.text()}`)
}

async function valueOf(actor: TestActor, name: string): Promise<unknown> {
  const answer = await actor.request('GET', `/properties/${name}`, undefined, { accept: 'application/json' })
  return answer.status === 404 ? undefined : answer.json()
}

/** Creates a list with items. */
async function makeList(actor: TestActor, name: string, items: readonly unknown[]): Promise<void> {
  await sent(actor, 'POST', '/properties', { [name]: { _type: 'list' } })
  for (const item of items) await sent(actor, 'POST', `/properties/${name}`, item)
}

forEachService((start) => {
  describe('actor.history', () => {
    it('lists what changes replaced, in pages', async () => {
      const service = await start()
      const made = await service.createActor()
      const actor = await service.app.actors.get(made.id)
      assert.ok(actor !== undefined)
      await actor.set('color', 'red')
      await actor.set('color', 'blue')
      await actor.list('notes').append('one')
      const first = await actor.history.list({ limit: 2 })
      assert.deepEqual(
        first.changes.map(({ name, kind, operation, before, callerKind, isTooLong }) => [
          name,
          kind,
          operation,
          before,
          callerKind,
          isTooLong,
        ]),
        [
          ['notes', 'list', 'add', undefined, 'application', false],
          ['notes', 'list', 'create', undefined, 'application', false],
        ],
      )
      const second = await actor.history.list({ limit: 2, before: first.next ?? 0 })
      assert.deepEqual([second.changes.map(({ before }) => before), second.next], [['red', undefined], null])
      assert.ok(second.changes[0]?.at instanceof Date)
      await assert.rejects(actor.history.list({ limit: 0 }), { code: 'bad_request' })
    })

    it('takes changes back, previews that, and names what others changed since (R-HIST-07)', async () => {
      const service = await start()
      const made = await service.createActor()
      const actor = await service.app.actors.get(made.id)
      assert.ok(actor !== undefined)
      await actor.set('color', 'red')
      await actor.set('color', 'blue')
      assert.deepEqual(await actor.history.undo({ name: 'color' }, { preview: true }), {
        undone: ['color'],
        conflicts: [],
      })
      assert.equal(await actor.get('color'), 'blue')
      const { changes } = await actor.history.list({ name: 'color' })
      await actor.history.undo({ id: changes[0]?.id ?? 0 })
      assert.equal(await actor.get('color'), 'red')
      await assert.rejects(actor.history.undo({ id: changes[1]?.id ?? 0 }), { code: 'conflict' })
      await actor.history.undo({ id: changes[1]?.id ?? 0 }, { overwrite: true })
      assert.equal(await actor.get('color'), undefined)
      await assert.rejects(actor.history.undo({}), { code: 'bad_request' })
      await assert.rejects(actor.history.undo({ name: 'other' }), { code: 'not_found' })
    })

    it('serves a tool with which an AI client takes changes back after the owner approves (R-HIST-08)', async () => {
      const service = await start({
        declare: (app) =>
          app.action(
            'undo_changes',
            {
              description: 'Takes back the changes of a property',
              input: z.object({ name: z.string() }),
              mcp: { title: 'Undo changes', confirm: 'owner' },
            },
            ({ actor, input }) => actor.history.undo({ name: input.name }),
          ),
      })
      const actor = await service.createActor()
      await sent(actor, 'PUT', '/properties/color', 'red')
      const client = await authorizeClient(service, actor)
      const call = async (): Promise<string> =>
        JSON.stringify(await client.modern('tools/call', { name: 'undo_changes', arguments: { name: 'color' } }))
      assert.match(await call(), /approval/)
      assert.equal(await valueOf(actor, 'color'), 'red')
      const { parts } = await service.app.running()
      const [waiting] = await parts.approvals.waiting(actor.id)
      await sent(actor, 'PUT', `/approvals/${waiting?.approvalId}`, { approved: true })
      assert.match(await call(), /undone/)
      assert.equal(await valueOf(actor, 'color'), undefined)
      const [newest] = await historyOf(actor)
      assert.deepEqual([newest?.operation, newest?.before], ['delete', 'red'])
    })
  })

  describe('GET /<actor>/history', () => {
    it('lists what each change of a value replaced, newest first, with who made it (R-HIST-01)', async () => {
      const callers = new TestCallers()
      const service = await start(callers.parts)
      const actor = await service.createActor()
      await sent(actor, 'PUT', '/properties/color', 'red')
      await sent(actor, 'PUT', '/properties/color', 'blue')
      const token = callers.client(actor.id, { grants: () => true })
      const changed = await service.request(`/${actor.id}/properties/color`, {
        method: 'PUT',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'x-request-id': 'r-7' },
        body: '"green"',
      })
      assert.equal(changed.status, 204)
      await sent(actor, 'DELETE', '/properties/color')
      const entries = await historyOf(actor)
      assert.deepEqual(
        entries.map(({ name, kind, operation, before, caller_kind }) => [name, kind, operation, before, caller_kind]),
        [
          ['color', 'value', 'delete', 'green', 'creator'],
          ['color', 'value', 'set', 'blue', 'client'],
          ['color', 'value', 'set', 'red', 'creator'],
          ['color', 'value', 'set', undefined, 'creator'],
        ],
      )
      assert.match(entries[1]?.caller ?? '', /^client-/)
    })

    it('does not show what a hook may hide from the owner, and takes it back nevertheless', async () => {
      const service = await start({
        declare: (app) => {
          app.property('hidden', { get: () => null })
          app.property('few', { get: ({ value }) => (value === 2 ? null : value) })
        },
      })
      const actor = await service.createActor()
      await sent(actor, 'PUT', '/properties/hidden', 'first')
      await sent(actor, 'PUT', '/properties/hidden', 'second')
      await makeList(actor, 'few', [1, 2])
      await sent(actor, 'DELETE', '/properties/few?index=1')
      const answer = await actor.request('GET', '/history')
      const text = await answer.text()
      assert.doesNotMatch(text, /first|second|"item"|"steps"/)
      const { history } = JSON.parse(text) as { history: (Entry & { hidden?: boolean })[] }
      assert.ok(history.every(({ hidden, before }) => hidden === true && before === undefined))
      assert.deepEqual(
        history.map(({ items }) => items ?? null),
        [1, 1, 1, 0, null, null],
      )
      assert.deepEqual((await undo(actor, { id: Number(history.at(-2)?.id) })).undone, ['hidden'])
      const { store } = await service.app.running()
      const row = await store.read((q) =>
        q.get<{ value: string }>(`SELECT value FROM property WHERE actor_id = $1 AND name = 'hidden'`, actor.id),
      )
      assert.equal(row?.value, '"first"')
    })

    it('takes back a change of a declared list whose items have the declared version', async () => {
      const service = await start({ declare: (app) => app.list('things', { item: z.object({ name: z.string() }) }) })
      const actor = await service.createActor()
      await sent(actor, 'POST', '/properties/things', { name: 'cup' })
      await sent(actor, 'PUT', '/properties/things?index=0', { name: 'pot' })
      await sent(actor, 'DELETE', '/properties/things?index=0')
      const [newest] = await historyOf(actor)
      await undo(actor, { id: Number(newest?.id) })
      assert.deepEqual(await valueOf(actor, 'things'), [{ name: 'pot' }])
    })

    it('has no entry for a write of the same value, or for a refused one', async () => {
      const service = await start()
      const actor = await service.createActor()
      await sent(actor, 'PUT', '/properties/color', 'red')
      await sent(actor, 'PUT', '/properties/color', 'red')
      assert.equal((await actor.request('PUT', '/properties/color', null)).status, 400)
      await sent(actor, 'DELETE', '/properties/shape')
      assert.equal((await historyOf(actor)).length, 1)
    })

    it('keeps nested writes and the writes of one request as changes of whole values', async () => {
      const service = await start()
      const actor = await service.createActor()
      await sent(actor, 'PUT', '/properties', { a: { x: 1 }, b: 2 })
      await sent(actor, 'PUT', '/properties/a/y', 2)
      await sent(actor, 'DELETE', '/properties/a/x')
      const entries = await historyOf(actor, '?name=a')
      assert.deepEqual(
        entries.map(({ before }) => before),
        [{ x: 1, y: 2 }, { x: 1 }, undefined],
      )
      const all = await historyOf(actor)
      assert.equal(all[2]?.request_id, all[3]?.request_id)
    })

    it('filters by name, caller and time, and pages (R-HIST-02)', async () => {
      const clock = new ManualClock(Date.parse('2026-11-27T12:00:00Z'))
      const service = await start({ now: clock.now })
      const actor = await service.createActor()
      for (let n = 0; n < 5; n++) {
        await sent(actor, 'PUT', '/properties/n', n)
        await sent(actor, 'PUT', `/properties/m${n}`, n)
        clock.pass(60_000)
      }
      assert.deepEqual((await historyOf(actor, '?name=n')).length, 5)
      assert.deepEqual((await historyOf(actor, '?since=2026-11-27T12:03:00Z')).length, 4)
      assert.deepEqual((await historyOf(actor, '?caller_kind=creator')).length, 10)
      assert.deepEqual((await historyOf(actor, '?caller_kind=client')).length, 0)
      const page = (await (await actor.request('GET', '/history?limit=4')).json()) as { history: Entry[]; next: number }
      assert.deepEqual(
        page.history.map(({ id }) => id),
        [10, 9, 8, 7],
      )
      assert.deepEqual(
        (await historyOf(actor, `?limit=4&before=${page.next}`)).map(({ id }) => id),
        [6, 5, 4, 3],
      )
      assert.equal((await actor.request('GET', '/history?limit=0')).status, 400)
      assert.equal((await actor.request('GET', '/history?since=yesterday')).status, 400)
    })

    it('is for the owner alone (R-HIST-03)', async () => {
      const callers = new TestCallers()
      const service = await start(callers.parts)
      const actor = await service.createActor()
      await sent(actor, 'PUT', '/properties/color', 'red')
      const tokens = [
        callers.client(actor.id, { grants: () => true }),
        callers.peer(actor.id, { grants: () => true }),
        callers.peer(actor.id, { relationship: 'admin', grants: () => true }),
      ]
      for (const token of tokens) {
        const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
        for (const [method, path] of [
          ['GET', '/history'],
          ['POST', '/history/undo'],
          ['DELETE', '/history'],
        ] as const) {
          const body = method === 'POST' ? JSON.stringify({ name: 'color' }) : undefined
          const answer = await service.request(`/${actor.id}${path}`, {
            method,
            headers,
            ...(body === undefined ? {} : { body }),
          })
          assert.equal(answer.status, 403, `${method} ${path}`)
        }
      }
      assert.equal(await valueOf(actor, 'color'), 'red')
      assert.equal((await historyOf(actor)).length, 1)
    })

    it('is deleted by DELETE, for one name or all, and with the actor (R-HIST-03)', async () => {
      const service = await start()
      const actor = await service.createActor()
      await sent(actor, 'PUT', '/properties', { a: 1, b: 2 })
      await sent(actor, 'DELETE', '/history?name=a')
      assert.deepEqual(
        (await historyOf(actor)).map(({ name }) => name),
        ['b'],
      )
      await sent(actor, 'DELETE', '/history')
      assert.deepEqual(await historyOf(actor), [])
    })

    it('is empty with TROUPE_HISTORY_DAYS=0 (R-HIST-04)', async () => {
      const service = await start({ historyDays: 0 })
      const actor = await service.createActor()
      await sent(actor, 'PUT', '/properties/color', 'red')
      await makeList(actor, 'todo', ['a'])
      assert.deepEqual(await historyOf(actor), [])
      assert.equal((await actor.request('POST', '/history/undo', { name: 'color' })).status, 404)
    })

    it('keeps the newest changes within the limits of number and size, and forgets old ones (R-HIST-04)', async () => {
      const clock = new ManualClock(Date.parse('2026-11-27T12:00:00Z'))
      const service = await start({
        now: clock.now,
        timers: clock.timers,
        historyPerActor: 5,
        historySize: 40_000,
        historyDays: 3,
      })
      const actor = await service.createActor()
      for (let n = 0; n < 70; n++) await sent(actor, 'PUT', '/properties/n', n)
      await sent(actor, 'PUT', '/properties/long', 'x'.repeat(12_000))
      await sent(actor, 'PUT', '/properties/long', 'short')
      clock.pass(3_600_000)
      await service.settled()
      const entries = await historyOf(actor)
      assert.equal(entries.length, 5)
      assert.deepEqual(
        entries.slice(0, 2).map(({ before, too_long }) => [before, too_long]),
        [
          [undefined, true],
          [undefined, undefined],
        ],
      )
      const refused = await actor.request('POST', '/history/undo', { id: entries[0]?.id })
      assert.equal(refused.status, 409)
      assert.match(await refused.text(), /too long/)
      clock.pass(3 * 86_400_000)
      assert.deepEqual(await historyOf(actor), [])
    })
  })

  describe('the history of many callers', () => {
    const tidied = async (historyPerActor: number) => {
      const callers = new TestCallers()
      const clock = new ManualClock(Date.parse('2026-11-27T12:00:00Z'))
      const service = await start({
        now: clock.now,
        timers: clock.timers,
        historyPerActor,
        ...callers.parts,
      })
      const actor = await service.createActor()
      /** A program with every right. */
      const program = () => {
        const authorization = `Bearer ${callers.client(actor.id, { grants: () => true })}`
        const request = (method: string, path: string, body: unknown): Promise<Response> =>
          service.request(`/${actor.id}${path}`, {
            method,
            headers: { authorization, 'content-type': 'application/json' },
            body: JSON.stringify(body),
          })
        return { request }
      }
      const tidy = async (): Promise<void> => {
        clock.pass(3_600_000)
        await service.settled()
      }
      return { actor, tidy, program }
    }

    it('keeps the changes of the owner and of quiet peers, whatever one peer changes (QUO-09)', async () => {
      const { actor, tidy, program } = await tidied(40)
      const [noisy, quiet] = [program(), program()]
      await sent(actor, 'PUT', '/properties/color', 'red')
      await sent(actor, 'PUT', '/properties/color', 'green')
      assert.equal((await quiet.request('PUT', '/properties/size', 1)).status, 204)
      assert.equal((await noisy.request('PUT', '/properties/color', 'stolen')).status, 204)
      for (let n = 0; n < 200; n++) assert.equal((await noisy.request('PUT', `/properties/n${n % 7}`, n)).status, 204)
      await tidy()
      const entries = await historyOf(actor, '?limit=1000')
      assert.ok(entries.length <= 80, `${entries.length}`)
      assert.equal(entries.filter(({ caller_kind }) => caller_kind === 'creator').length, 2)
      assert.equal(entries.filter(({ name }) => name === 'size').length, 1)
      const noise = entries.filter(({ name, caller_kind }) => caller_kind !== 'creator' && name !== 'size')
      assert.ok(noise.length <= 40 && noise.length >= 30, `${noise.length}`)
      // The change of the noisy peer after those of the owner lost its content, and an undo of the owner notices it.
      const [last] = noise.filter(({ name }) => name === 'color')
      assert.equal(last?.too_long, true)
      const first = entries.findLast(({ name, caller_kind }) => name === 'color' && caller_kind === 'creator')
      const refused = await actor.request('POST', '/history/undo', { id: first?.id })
      assert.equal(refused.status, 409)
      assert.equal(await valueOf(actor, 'color'), 'stolen')
    })

    it('takes back the changes that it keeps, and never a list with a gap (QUO-09)', async () => {
      for (let seed = 1; seed <= 4; seed += 1) {
        const random = seeded(seed)
        const { actor, tidy, program } = await tidied(12)
        const others = [program(), program()]
        await sent(actor, 'PUT', '/properties/l', ['a', 'b'])
        for (let n = 0; n < 70; n++) {
          const by = random.pick([actor, ...others])
          await by.request('PUT', `/properties/${random.pick(['v', 'w'])}`, n)
          if (random.below(4) === 0)
            await by.request('POST', '/properties', { l: { items: [{ index: 0, value: `u${n}` }] } })
        }
        await tidy()
        const entries = await historyOf(actor, '?limit=1000')
        for (const { id, name, before, too_long: isEmptied } of entries.slice(0, 6)) {
          const now = await valueOf(actor, name)
          const answer = await actor.request('POST', '/history/undo', { id })
          const isNewest = entries.find((one) => one.name === name)?.id === id
          if (!isNewest || isEmptied === true) assert.equal(answer.status, 409, `seed ${seed}: ${name} ${id}`)
          if (answer.status === 409) assert.deepEqual(await valueOf(actor, name), now)
          else if (before !== undefined) assert.deepEqual(await valueOf(actor, name), before)
          if (answer.status !== 409) break
        }
      }
    })
  })

  describe('POST /<actor>/history/undo', () => {
    it('sets a value back, removes a new one, and restores a deleted one (R-HIST-05)', async () => {
      const service = await start()
      const actor = await service.createActor()
      await sent(actor, 'PUT', '/properties', { changed: 1, deleted: { deep: [1, 2.5] } })
      await sent(actor, 'PUT', '/properties/changed', 2)
      await sent(actor, 'PUT', '/properties/created', 3)
      await sent(actor, 'DELETE', '/properties/deleted')
      for (const name of ['changed', 'created', 'deleted']) {
        const [newest] = await historyOf(actor, `?name=${name}`)
        assert.deepEqual(await undo(actor, { id: newest?.id }), { undone: [name], conflicts: [] })
      }
      assert.equal(await valueOf(actor, 'changed'), 1)
      assert.equal(await valueOf(actor, 'created'), undefined)
      assert.deepEqual(await valueOf(actor, 'deleted'), { deep: [1, 2.5] })
    })

    it('can be taken back itself (R-HIST-06)', async () => {
      const service = await start()
      const actor = await service.createActor()
      await sent(actor, 'PUT', '/properties/color', 'red')
      await sent(actor, 'PUT', '/properties/color', 'blue')
      for (const expected of ['red', 'blue', 'red']) {
        const [newest] = await historyOf(actor)
        await undo(actor, { id: newest?.id })
        assert.equal(await valueOf(actor, 'color'), expected)
      }
    })

    it('reaches subscribers and the history as any other change does (R-HIST-06)', async () => {
      const service = await start()
      const actor = await service.createActor()
      const peer = await relateTo(service, actor)
      const subscription = await peer.subscribe({})
      await sent(actor, 'PUT', '/properties/color', 'red')
      await sent(actor, 'PUT', '/properties/color', 'blue')
      const [newest] = await historyOf(actor)
      await undo(actor, { id: newest?.id })
      const polled = await peer.request('GET', `/subscriptions/${peer.peerId}/${subscription}`)
      const { data } = (await polled.json()) as { data: { sequence: number; data: unknown }[] }
      assert.deepEqual(
        data.map((diff) => [diff.sequence, diff.data]),
        [
          [1, { color: 'red' }],
          [2, { color: 'blue' }],
          [3, { color: 'red' }],
        ],
      )
      assert.deepEqual(
        (await historyOf(actor)).map(({ name, before }) => [name, before]),
        [
          ['color', 'blue'],
          ['color', 'red'],
          ['color', undefined],
        ],
      )
    })

    it('takes back everything that one request did', async () => {
      const service = await start()
      const actor = await service.createActor()
      await sent(actor, 'PUT', '/properties', { a: 1, b: 2 })
      await makeList(actor, 'todo', ['milk', 'bread'])
      await sent(actor, 'DELETE', '/properties')
      const [newest] = await historyOf(actor)
      const result = await undo(actor, { request_id: newest?.request_id })
      assert.deepEqual(result.undone.toSorted(), ['a', 'b', 'todo'])
      assert.deepEqual([await valueOf(actor, 'a'), await valueOf(actor, 'b')], [1, 2])
      assert.deepEqual(await valueOf(actor, 'todo'), ['milk', 'bread'])
    })

    it('keeps what others have changed since, and lists it (R-HIST-07)', async () => {
      const callers = new TestCallers()
      const service = await start(callers.parts)
      const actor = await service.createActor()
      await sent(actor, 'PUT', '/properties', { a: 1, b: 1 })
      const token = callers.client(actor.id, { grants: () => true })
      await service.request(`/${actor.id}/properties`, {
        method: 'PUT',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: '{"a":2,"b":2}',
      })
      await sent(actor, 'PUT', '/properties/b', 3)
      const preview = await undo(actor, { caller_kind: 'client', preview: true })
      const expected = { undone: ['a'], conflicts: [{ name: 'b', reason: 'changed' }] }
      assert.deepEqual(preview, expected)
      assert.deepEqual([await valueOf(actor, 'a'), await valueOf(actor, 'b')], [2, 3])
      assert.deepEqual(await undo(actor, { caller_kind: 'client' }), expected)
      assert.deepEqual([await valueOf(actor, 'a'), await valueOf(actor, 'b')], [1, 3])
      const [, ofB] = await historyOf(actor, '?name=b')
      const refused = await actor.request('POST', '/history/undo', { id: ofB?.id })
      assert.equal(refused.status, 409)
      assert.match(await refused.text(), /changed again since/)
      assert.deepEqual(await undo(actor, { id: ofB?.id, overwrite: true }), { undone: ['b'], conflicts: [] })
      assert.equal(await valueOf(actor, 'b'), 1)
    })

    it('refuses a body without a choice, and an unknown change', async () => {
      const service = await start()
      const actor = await service.createActor()
      assert.equal((await actor.request('POST', '/history/undo', {})).status, 400)
      assert.equal((await actor.request('POST', '/history/undo', { id: 99 })).status, 404)
      assert.equal((await actor.request('POST', '/history/undo', { id: 'first' })).status, 400)
    })

    it('runs the hooks and checks the schema of the application, and keeps what they refuse (R-HIST-06)', async () => {
      const isClosed = { value: false }
      const service = await start({
        declare(app) {
          app.property('note', { schema: z.string().min(2) })
          app.property('locked', ({ operation, value }) => (operation === 'put' && isClosed.value ? undefined : value))
        },
      })
      const actor = await service.createActor()
      await sent(actor, 'PUT', '/properties/note', 'first')
      await sent(actor, 'PUT', '/properties/note', 'second')
      await sent(actor, 'PUT', '/properties/locked', 1)
      await sent(actor, 'PUT', '/properties/locked', 2)
      isClosed.value = true
      const [locked] = await historyOf(actor, '?name=locked')
      const refused = await actor.request('POST', '/history/undo', { id: locked?.id })
      assert.equal(refused.status, 409)
      assert.match(await refused.text(), /the application does not accept/)
      const [note] = await historyOf(actor, '?name=note')
      await undo(actor, { id: note?.id })
      assert.deepEqual([await valueOf(actor, 'note'), await valueOf(actor, 'locked')], ['first', 2])
    })

    it('takes back changes of items, also when other items were added or removed since', async () => {
      const service = await start()
      const actor = await service.createActor()
      await makeList(actor, 'todo', ['a', 'b', 'c', 'd'])
      await sent(actor, 'PUT', '/properties/todo?index=2', 'C')
      const [update] = await historyOf(actor)
      await sent(actor, 'DELETE', '/properties/todo?index=1')
      const [removal] = await historyOf(actor)
      await sent(actor, 'POST', '/properties/todo', 'e')
      const [added] = await historyOf(actor)
      await sent(actor, 'DELETE', '/properties/todo?index=0')
      assert.deepEqual(await valueOf(actor, 'todo'), ['C', 'd', 'e'])
      await undo(actor, { id: update?.id })
      assert.deepEqual(await valueOf(actor, 'todo'), ['c', 'd', 'e'])
      await undo(actor, { id: added?.id })
      assert.deepEqual(await valueOf(actor, 'todo'), ['c', 'd'])
      await undo(actor, { id: removal?.id })
      assert.deepEqual(await valueOf(actor, 'todo'), ['c', 'b', 'd'])
    })

    it('keeps an item that was changed since it was added', async () => {
      const service = await start()
      const actor = await service.createActor()
      await makeList(actor, 'todo', ['a'])
      await sent(actor, 'POST', '/properties/todo', 'b')
      const [added] = await historyOf(actor)
      await sent(actor, 'PUT', '/properties/todo?index=1', 'B')
      const refused = await actor.request('POST', '/history/undo', { id: added?.id })
      assert.equal(refused.status, 409)
      assert.deepEqual(await valueOf(actor, 'todo'), ['a', 'B'])
    })

    it('puts a removed item back once', async () => {
      const service = await start()
      const actor = await service.createActor()
      await makeList(actor, 'todo', ['a', 'b'])
      await sent(actor, 'DELETE', '/properties/todo?index=0')
      const [removal] = await historyOf(actor)
      await undo(actor, { id: removal?.id })
      const again = await actor.request('POST', '/history/undo', { id: removal?.id })
      assert.equal(again.status, 409)
      assert.match(await again.text(), /changed again since/)
      assert.deepEqual(await valueOf(actor, 'todo'), ['a', 'b'])
    })

    it('restores a deleted list with its texts, and removes a created one', async () => {
      const service = await start()
      const actor = await service.createActor()
      await sent(actor, 'POST', '/properties', {
        todo: { _type: 'list', description: 'Chores', explanation: 'Weekly' },
      })
      for (const item of ['a', { b: 1 }]) await sent(actor, 'POST', '/properties/todo', item)
      await sent(actor, 'DELETE', '/properties/todo')
      assert.equal(await valueOf(actor, 'todo'), undefined)
      const [deleted] = await historyOf(actor)
      assert.equal(deleted?.operation, 'delete')
      await undo(actor, { id: deleted?.id })
      assert.deepEqual(await valueOf(actor, 'todo'), ['a', { b: 1 }])
      const metadata = (await (await actor.request('GET', '/properties/todo/metadata')).json()) as Record<
        string,
        unknown
      >
      assert.deepEqual([metadata['description'], metadata['explanation']], ['Chores', 'Weekly'])
      await undo(actor, { name: 'todo' })
      assert.equal(await valueOf(actor, 'todo'), undefined)
    })

    it('restores any series of changes of a list exactly, one by one and at once (R-HIST-05)', async () => {
      const clock = new ManualClock(Date.parse('2026-11-27T12:00:00Z'))
      const service = await start({ now: clock.now })
      const actor = await service.createActor()
      const handle = await service.app.actors.get(actor.id)
      assert.ok(handle !== undefined)
      for (let seed = 1; seed <= 12; seed++) {
        const name = `list${seed}`
        await makeList(
          actor,
          name,
          Array.from({ length: 8 }, (_, n) => `item ${n}`),
        )
        const before = await valueOf(actor, name)
        clock.pass(1000)
        const since = new Date(clock.now()).toISOString()
        const isAtOnce = seed % 2 === 0
        // The rows of a list that is removed on a sharded database wait for their deletion, so its items get new numbers.
        await changeAtRandom(actor, handle, name, { random: seeded(seed), removes: isAtOnce || !onShards() })
        const after = await valueOf(actor, name)
        const changes = await historyOf(actor, `?name=${name}&limit=1000&since=${since}`)
        if (isAtOnce) await undo(actor, { name, since })
        else for (const { id } of changes) await undo(actor, { id })
        assert.deepEqual(await valueOf(actor, name), before, `seed ${seed}`)
        const undos = (await historyOf(actor, `?name=${name}&limit=1000`)).filter(
          ({ id }) => id > (changes[0]?.id ?? 0),
        )
        if (isAtOnce) await undo(actor, { request_id: undos[0]?.request_id })
        else for (const { id } of undos) await undo(actor, { id })
        assert.deepEqual(await valueOf(actor, name), after, `seed ${seed}, again`)
      }
    })
  })
})

/** Makes 25 changes of a list, which may also be deleted and created again. */
async function changeAtRandom(
  actor: TestActor,
  handle: ActorHandle,
  name: string,
  { random, removes }: { readonly random: Random; readonly removes: boolean },
): Promise<void> {
  const own = handle.list(name)
  for (let step = 0; step < 25; step++) {
    const items = (await valueOf(actor, name)) as unknown[] | undefined
    if (items === undefined) {
      await makeList(actor, name, [`new ${step}`])
      continue
    }
    const at = random.below(items.length)
    const changes: [() => Promise<unknown>, ...(() => Promise<unknown>)[]] = [
      () => own.insert(random.below(items.length + 1), `insert ${step}`),
      () => own.extend([`x ${step}`, `y ${step}`]),
      () => sent(actor, 'POST', `/properties/${name}`, `append ${step}`),
      ...(items.length === 0
        ? []
        : [
            () => sent(actor, 'PUT', `/properties/${name}?index=${at}`, `update ${step}`),
            () => sent(actor, 'PUT', `/properties/${name}?index=${at}`, `update ${step}`),
            () => sent(actor, 'DELETE', `/properties/${name}?index=${at}`),
            () => sent(actor, 'DELETE', `/properties/${name}?index=${at}`),
          ]),
      ...(random.below(4) === 0 ? [() => own.clear()] : []),
      ...(removes && random.below(4) === 0 ? [() => sent(actor, 'DELETE', `/properties/${name}`)] : []),
    ]
    await random.pick(changes)()
  }
}

describe('the storage of the history on SQLite', () => {
  const start = sqliteService()

  it('needs less than twice the size of a value of 1,000 bytes', async () => {
    const changes = 500
    const service = await start()
    const actor = await service.createActor()
    const { store } = await service.app.running()
    const size = async (): Promise<number> => {
      const pages = `SELECT SUM(pgsize) AS n FROM dbstat WHERE name LIKE '%history%'`
      return Number((await store.read((q) => q.get<{ n: number }>(pages)))?.n)
    }
    const before = await size()
    const handle = await service.app.actors.get(actor.id)
    for (let n = 0; n < changes; n += 1) await handle?.set('text', String(n).padEnd(1000, 'x'))
    const perChange = ((await size()) - before) / changes
    assert.ok(perChange > 1000 && perChange < 2000, `${perChange} bytes for each change`)
  })
})
