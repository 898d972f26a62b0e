/** Checks of stored data and of error responses for tests. */
import assert from 'node:assert/strict'
import { ServiceError } from '../../src/errors.ts'
import type { TestActor, TestService } from './service.ts'
import { type Dump, dumpStore } from './store-dump.ts'
import { until } from './until.ts'

type Table =
  | 'actor'
  | 'creator'
  | 'deleted_actor'
  | 'property'
  | 'list_node'
  | 'list_item'
  | 'property_lookup'
  | 'attribute'
  | 'setting'
type Row = Record<string, string | number | null>

/** Dumps all tables except the rate-limit counters, which a refused request changes. */
export async function stored(service: TestService): Promise<Dump> {
  const { store, parts } = await service.app.running()
  // A sharded database deletes the tokens of deleted actors behind the response.
  if (store.isSharded) await parts.deletedOwners.settled()
  const { rate_limit: _counters, ...rest } = await dumpStore(store)
  return rest
}

/** Dumps all tables after notices to peers were delivered and background records were written. */
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

/** Requires that the response has this status and that the store is unchanged. Returns the body of the response. */
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

/** Waits until the actor is marked as watched. Its changes are reported from then on. */
export async function untilWatched(service: TestService, actor: Pick<TestActor, 'id'>): Promise<void> {
  const { store } = await service.app.running()
  await until(async () => {
    const row = await store.read((q) =>
      q.get<{ watched_until: number }>('SELECT watched_until FROM actor WHERE id = $1', actor.id),
    )
    return (row?.watched_until ?? 0) > 0
  })
}

/** Returns every row of every table. */
export async function everythingStored(service: TestService): Promise<Record<Table, Row[]>> {
  const { store, parts } = await service.app.running()
  // A sharded database deletes the rows of removed lists behind the response.
  if (store.isSharded) await parts.removedLists.settled()
  const dump = Object.entries(await dumpStore(store)).map(
    ([table, rows]) => [table, rows.map((row) => JSON.parse(row) as Row)] as const,
  )
  return Object.fromEntries(dump) as Record<Table, Row[]>
}

/** Returns the table of each row that names the actor, without the table of tombstones. */
export async function rowsOf(service: TestService, actorId: string): Promise<string[]> {
  const stored = await everythingStored(service)
  return Object.entries(stored)
    .filter(([table]) => table !== 'deleted_actor')
    .flatMap(([table, rows]) =>
      rows.filter((row) => row['actor_id'] === actorId || row['id'] === actorId).map(() => table),
    )
}

/** Runs `work`, and requires that it stored nothing and recorded no change. */
export async function changesNothing<T>(service: TestService, work: () => Promise<T>): Promise<T> {
  const { parts } = await service.app.running()
  // Earlier requests record contacts and uses of sessions behind their responses.
  await Promise.all([parts.contacts.settled(), parts.sessionUses.settled()])
  const [before, changes] = [await everythingStored(service), service.changes.length]
  const result = await work()
  assert.deepEqual(await everythingStored(service), before, 'something was stored')
  assert.equal(service.changes.length, changes, 'a change was recorded')
  return result
}

/** Requires an error response with this status, code and message. Its body has no other members. */
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

/** Requires a response with this status and JSON body. */
export async function answered(answer: Response, status: number, body: unknown): Promise<void> {
  const text = await answer.text()
  assert.equal(answer.status, status, text)
  assert.deepEqual(JSON.parse(text), body)
}

/** Requires status 204 without a body and without a content type. */
export async function done(answer: Response): Promise<void> {
  const text = await answer.text()
  assert.equal(answer.status, 204, text)
  assert.equal(text, '')
  assert.equal(answer.headers.get('content-type'), null)
}

/** Returns the code of the ServiceError that the work throws, or 'done' when it succeeds. */
export async function outcomeOf(work: Promise<unknown>): Promise<string> {
  try {
    await work
    return 'done'
  } catch (error) {
    return error instanceof ServiceError ? error.code : String(error)
  }
}
