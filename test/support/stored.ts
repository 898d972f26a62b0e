/** What a story checks besides an answer: everything that is stored, and the shape of a refusal. */
import assert from 'node:assert/strict'
import { ServiceError } from '../../src/errors.ts'
import type { TestActor, TestService } from './service.ts'
import { type Dump, dumpStore } from './store-dump.ts'
import { until } from './until.ts'

type Table =
  | 'actor'
  | 'unique_creator'
  | 'deleted_actor'
  | 'property'
  | 'list_node'
  | 'list_item'
  | 'property_lookup'
  | 'attribute'
  | 'setting'
type Row = Record<string, string | number | null>

/** Everything but the counters of the limiters, which a refusal moves. */
export async function stored(service: TestService): Promise<Dump> {
  const { rate_limit: _counters, ...rest } = await dumpStore((await service.app.running()).store)
  return rest
}

/** Everything, once what is told to peers and noted behind the requests was. */
export async function quietStore(service: TestService): Promise<Dump> {
  const { store, parts } = await service.app.running()
  let dump: Dump = {}
  await until(async () => {
    await Promise.all([parts.contacts.settled(), parts.sessionUses.settled()])
    dump = await dumpStore(store)
    return dump['notice']?.length === 0
  })
  return dump
}

/** The request is answered so, and nothing in the store is another than before. The text of the answer. */
export async function leavesAll(
  service: TestService,
  sending: () => Promise<Response>,
  status: number,
): Promise<string> {
  const before = await quietStore(service)
  const answer = await sending()
  assert.equal(answer.status, status)
  assert.deepEqual(await quietStore(service), before)
  return answer.text()
}

/** Somebody looks on as soon as the actor says so: from then on its changes are told. */
export async function untilWatched(service: TestService, actor: Pick<TestActor, 'id'>): Promise<void> {
  const { store } = await service.app.running()
  await until(async () => {
    const row = await store.read((q) =>
      q.get<{ watched_until: number }>('SELECT watched_until FROM actor WHERE id = $1', actor.id),
    )
    return (row?.watched_until ?? 0) > 0
  })
}

/** Every row of every table. */
export async function everythingStored(service: TestService): Promise<Record<Table, Row[]>> {
  const { store } = await service.app.running()
  const dump = Object.entries(await dumpStore(store)).map(
    ([table, rows]) => [table, rows.map((row) => JSON.parse(row) as Row)] as const,
  )
  return Object.fromEntries(dump) as Record<Table, Row[]>
}

/** The rows that name the actor, in any table but that of the deletion markers. */
export async function rowsOf(service: TestService, actorId: string): Promise<string[]> {
  const stored = await everythingStored(service)
  return Object.entries(stored)
    .filter(([table]) => table !== 'deleted_actor')
    .flatMap(([table, rows]) =>
      rows.filter((row) => row['actor_id'] === actorId || row['id'] === actorId).map(() => table),
    )
}

/** Runs `work` and holds it to having stored nothing and told subscribers of nothing. */
export async function changesNothing<T>(service: TestService, work: () => Promise<T>): Promise<T> {
  const [before, told] = [await everythingStored(service), service.changes.length]
  const result = await work()
  assert.deepEqual(await everythingStored(service), before, 'something was stored')
  assert.equal(service.changes.length, told, 'a change was recorded')
  return result
}

/** Holds a refusal to its status, its code and what it says; its body has these two members and no other. */
export async function refused(
  answer: Response,
  status: number,
  error: string,
  message: string | RegExp,
): Promise<void> {
  const text = await answer.text()
  assert.equal(answer.status, status, text)
  assert.equal(answer.headers.get('content-type'), 'application/json')
  const body = JSON.parse(text) as { error: unknown; message: unknown }
  assert.deepEqual(Object.keys(body).toSorted(), ['error', 'message'])
  assert.equal(body.error, error)
  if (typeof message === 'string') assert.equal(body.message, message)
  else assert.match(String(body.message), message)
}

/** Holds an answer to its status and JSON body. */
export async function answered(answer: Response, status: number, body: unknown): Promise<void> {
  const text = await answer.text()
  assert.equal(answer.status, status, text)
  assert.deepEqual(JSON.parse(text), body)
}

/** Holds an answer to 204: no body and no type. */
export async function done(answer: Response): Promise<void> {
  const text = await answer.text()
  assert.equal(answer.status, 204, text)
  assert.equal(text, '')
  assert.equal(answer.headers.get('content-type'), null)
}

/** The code of the ServiceError that the work ends with; 'done' when it succeeds. */
export async function outcomeOf(work: Promise<unknown>): Promise<string> {
  try {
    await work
    return 'done'
  } catch (error) {
    return error instanceof ServiceError ? error.code : String(error)
  }
}
