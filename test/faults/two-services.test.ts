/** Effects of two services on one database on each other’s lists. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { History, type Recorded, type Reply } from '../support/history.ts'
import { violationsIn } from '../support/invariants.ts'
import { list, type ListInput } from '../support/sequential-objects.ts'
import { forEachPair, type PairActor, type ServicePair } from '../support/service-pair.ts'

const log = '/properties/log'
const entries = (items: readonly string[]): object[] => items.map((t, index) => ({ index, t }))

async function listActor(pair: ServicePair, items: readonly string[]): Promise<PairActor> {
  const actor = await pair.createActor()
  await fill(pair, actor, items)
  return actor
}

/** Deletes the list, if it exists, and creates it with these items. */
async function fill({ first }: ServicePair, actor: PairActor, items: readonly string[]): Promise<void> {
  assert.equal((await actor.request(first, 'DELETE', log)).status, 204)
  for (const body of [{ log: { _type: 'list' } }, { log: { items: entries(items) } }])
    assert.equal((await actor.request(first, 'POST', '/properties', body)).status, 201)
}

async function itemsOf({ second }: ServicePair, actor: PairActor): Promise<string[]> {
  const reply = await actor.request(second, 'GET', log)
  return (JSON.parse(reply.text) as { t: string }[]).map(({ t }) => t)
}

type Ask = (actor: PairActor, send: ServicePair['first']) => Promise<Reply>
type Read = (reply: Reply) => unknown

/** One change of a list: the request and a reader of its response. */
interface Change {
  readonly input: ListInput
  readonly ask: Ask
  readonly read: Read
}

const act =
  (name: string, input: object): Ask =>
  (actor, send) =>
    actor.request(send, 'POST', `/actions/${name}`, { list: 'log', ...input })
const done =
  (status: number, beyond = 0): Read =>
  (reply) =>
    reply.status === status ? 'done' : reply.status === beyond ? 'beyond' : undefined
const member =
  (name: string): Read =>
  ({ status, text }) =>
    status < 300 ? (JSON.parse(text) as Record<string, unknown>)[name] : undefined

const append = (t: string): Change => ({
  input: { do: 'append', item: t },
  ask: (actor, send) => actor.request(send, 'POST', `${log}/items`, { action: 'add', item_value: { t } }),
  read: member('index'),
})
const insert = (index: number, t: string): Change => ({
  input: { do: 'insert', index, item: t },
  ask: act('insert', { index, item: { t } }),
  read: done(200, 400),
})
const put = (index: number, t: string): Change => ({
  input: { do: 'put', index, item: t },
  ask: (actor, send) => actor.request(send, 'PUT', `${log}/${index}`, { t }),
  read: done(204, 404),
})
const remove = (index: number): Change => ({
  input: { do: 'delete', index },
  ask: (actor, send) => actor.request(send, 'DELETE', `${log}/${index}`),
  read: done(204, 404),
})
const pop = (index: number): Change => ({
  input: { do: 'pop', index },
  ask: act('pop', { index }),
  read: ({ status, text }) =>
    status === 200 ? ((JSON.parse(text) as { item: { t: string } | null }).item?.t ?? null) : undefined,
})
const clear: Change = { input: { do: 'clear' }, ask: act('clear', {}), read: done(200) }
const removeValue = (t: string): Change => ({
  input: { do: 'remove', item: t },
  ask: act('remove', { t }),
  read: member('count'),
})
const replaceValue = (t: string, by: string): Change => ({
  input: { do: 'replace', item: t, by },
  ask: act('replace', { t, item: { t: by } }),
  read: member('count'),
})
const bulk = (batch: readonly { index: number; item?: string }[]): Change => ({
  input: { do: 'bulk', entries: batch },
  ask: (actor, send) =>
    actor.request(send, 'POST', '/properties', {
      log: { items: batch.map(({ index, item }) => ({ index, ...(item === undefined ? {} : { t: item }) })) },
    }),
  read: ({ status, text }) =>
    status === 201
      ? /^\[Bulk update: (.*)\]$/.exec((JSON.parse(text) as { log: string }).log)?.[1]
      : status === 400
        ? 'beyond'
        : undefined,
})

/** Runs changes concurrently, alternating between the services. Returns why no serial order explains the resulting list. */
async function inParallel(
  pair: ServicePair,
  actor: PairActor,
  before: readonly string[],
  changes: readonly Change[],
): Promise<string[]> {
  const history = new History()
  const thing: Recorded<readonly string[], ListInput> = history.thing('log', list(before))
  await Promise.all(
    changes.map(({ input, ask, read }, index) =>
      thing.call(input, () => ask(actor, pair.both[index % 2] ?? pair.first), read),
    ),
  )
  const items = await itemsOf(pair, actor)
  await thing.call(
    { do: 'read' },
    async () => ({ status: 200, text: '' }),
    () => items,
  )
  assert.equal(history.refused, 0)
  return history.failures()
}

const three = ['a', 'b', 'c']
const writers: readonly (readonly [what: string, changes: readonly Change[]])[] = [
  ['a deletion and an append', [remove(0), append('x')]],
  ['two deletions of one index', [remove(1), remove(1)]],
  ['a replacement and a pop', [put(2, 'x'), pop(-1)]],
  ['two insertions at one index', [insert(1, 'x'), insert(1, 'y')]],
  ['a clearing and an append', [clear, append('x')]],
  ['two pops', [pop(-1), pop(-1)]],
  ['two batches', [bulk([{ index: 3, item: 'x' }, { index: 0 }]), bulk([{ index: 0, item: 'y' }, { index: 2 }])]],
  ['an append at the length and an append', [put(3, 'x'), append('y')]],
  ['an insertion and a deletion before it', [insert(3, 'x'), remove(0)]],
]

describe('lists that two services change concurrently', () => {
  forEachPair((pair) => {
    for (const [what, changes] of writers)
      it(`hold the result of one serial order of ${what} (LST-05)`, async () => {
        const actor = await listActor(pair(), three)
        for (let round = 0; round < 20; round++) {
          await fill(pair(), actor, three)
          assert.deepEqual(await inParallel(pair(), actor, three, changes), [])
        }
      })

    it('return by a pop exactly the removed item, and remove exactly the matched items, while others overwrite them (LST-06)', async () => {
      const actor = await listActor(pair(), three)
      for (let round = 0; round < 20; round++) {
        await fill(pair(), actor, three)
        const changes = [pop(-1), put(2, 'x'), removeValue('b'), replaceValue('b', 'y'), pop(0), put(0, 'z')]
        assert.deepEqual(await inParallel(pair(), actor, three, changes), [])
      }
    })

    it('hold each of 1 000 items once after 1 000 concurrent appends (LST-07)', async () => {
      const { both, database } = pair()
      const actor = await listActor(pair(), [])
      const tokens = Array.from({ length: 1_000 }, (_, index) => `item ${index}`)
      const indexes: number[] = []
      const appendOnce = async (t: string, index: number): Promise<void> => {
        const send = both[index % 2] ?? both[0]
        const reply = await actor.request(send, 'POST', `${log}/items`, { action: 'add', item_value: { t } })
        assert.equal(reply.status, 201, reply.text)
        indexes.push((JSON.parse(reply.text) as { index: number }).index)
      }
      await Promise.all(tokens.map(appendOnce))
      assert.deepEqual(
        indexes.sort((a, b) => a - b),
        tokens.map((_, index) => index),
      )
      assert.deepEqual((await itemsOf(pair(), actor)).sort(), tokens.sort())
      assert.deepEqual(await violationsIn(database), [])
    })

    it('are never changed through a position that the other service has moved (LST-12)', async () => {
      const { first, second } = pair()
      const actor = await listActor(pair(), ['a', 'b', 'c', 'd'])
      const { handles } = JSON.parse((await act('handles', {})(actor, first)).text) as { handles: string[] }
      assert.equal((await actor.request(second, 'DELETE', `${log}/0`)).status, 204)
      assert.equal((await actor.request(second, 'PUT', `${log}/1`, { t: 'C' })).status, 204)
      const byHandle = async (name: string, handle = '', t = ''): Promise<unknown> =>
        (JSON.parse((await act(name, { handle, item: { t } })(actor, first)).text) as { done: boolean }).done
      assert.equal(await byHandle('updateByHandle', handles[0], 'x'), false)
      assert.equal(await byHandle('updateByHandle', handles[2], 'x'), false)
      assert.deepEqual(await itemsOf(pair(), actor), ['b', 'C', 'd'])
      assert.equal(await byHandle('updateByHandle', handles[1], 'B'), true)
      assert.equal(await byHandle('deleteByHandle', handles[3]), true)
      assert.deepEqual(await itemsOf(pair(), actor), ['B', 'C'])
    })

    it('are never changed by a stale state after the other service recreated or extended them (LST-12)', async () => {
      const { first, second, database } = pair()
      const actor = await listActor(pair(), ['a', 'b'])
      assert.equal((await actor.request(first, 'GET', log)).status, 200)
      const many = Array.from({ length: 300 }, (_, index) => `new ${index}`)
      assert.equal((await actor.request(second, 'DELETE', log)).status, 204)
      for (const body of [{ log: { _type: 'list' } }, { log: { items: entries(many) } }])
        assert.equal((await actor.request(second, 'POST', '/properties', body)).status, 201)
      assert.equal((await actor.request(first, 'PUT', `${log}/150`, { t: 'x' })).status, 204)
      assert.equal((await actor.request(second, 'DELETE', `${log}/0`)).status, 204)
      assert.equal((await act('insert', { index: 150, item: { t: 'y' } })(actor, first)).status, 200)
      assert.deepEqual(await itemsOf(pair(), actor), many.with(150, 'x').slice(1).toSpliced(150, 0, 'y'))
      assert.deepEqual(await violationsIn(database), [])
    })
  })
})
