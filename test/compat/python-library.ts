/** Relationships with a live service that runs the reference library. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, renameSync, rmSync } from 'node:fs'
import { createServer, request as httpRequest } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { beginIncarnation } from '../../src/incarnation/incarnation.ts'
import type { Json } from '../../src/json/text.ts'
import { openStore } from '../../src/open-store.ts'
import { freePort } from '../support/free-port.ts'
import { startPostgres } from '../support/postgres.ts'
import { relate } from '../support/friends.ts'
import { runReaddress } from '../support/readdressed.ts'
import { basic, type TestActor, type TestService } from '../support/service.ts'
import { until, untilEqual } from '../support/until.ts'

import type { CompatRow, World } from './row.ts'

export const libraryProgram = 'python3 with the package actingweb'

/** Whether `python3` finds the library and a web server for it. */
export function hasLibrary(): boolean {
  return spawnSync('python3', ['-c', 'import actingweb, fastapi, psycopg_pool, uvicorn']).status === 0
}

type Verdict = (method: string, path: string) => number | undefined

/** The library behind a gate, which returns the status of the verdict in place of the library. */
class Library {
  readonly url: string
  verdict: Verdict = () => undefined
  readonly #ends: (() => unknown)[]

  private constructor(url: string, ends: (() => unknown)[]) {
    this.url = url
    this.#ends = ends
  }

  static async start(): Promise<Library> {
    const database = await startPostgres()
    const [port, open] = [await freePort(), await freePort()]
    const program = spawn('python3', [join(import.meta.dirname, 'python', 'peer.py'), `${port}`, `127.0.0.1:${open}`], {
      stdio: 'ignore',
      env: {
        ...process.env,
        DATABASE_BACKEND: 'postgresql',
        PG_DB_HOST: '127.0.0.1',
        PG_DB_PORT: new URL(database.url).port,
        PG_DB_NAME: 'postgres',
        PG_DB_USER: 'postgres',
      },
    })
    const ends: (() => unknown)[] = [() => program.kill(), () => database.remove()]
    const library = new Library(`http://127.0.0.1:${open}`, ends)
    const gate = createServer((asked, answer) => {
      const status = library.verdict(asked.method ?? '', asked.url ?? '')
      if (status !== undefined) {
        asked.resume()
        answer.writeHead(status, { location: 'https://elsewhere.example/' }).end()
        return
      }
      const { method = '', url = '', headers } = asked
      const passed = httpRequest({ port, host: '127.0.0.1', method, path: url, headers }, (given) => {
        answer.writeHead(given.statusCode ?? 502, given.headers)
        given.pipe(answer)
      })
      passed.on('error', () => answer.writeHead(502).end())
      asked.pipe(passed)
    })
    await new Promise<void>((resolve) => gate.listen(open, '127.0.0.1', resolve))
    ends.unshift(() => gate.close())
    await answers(`http://127.0.0.1:${port}/`, program)
    return library
  }

  async close(): Promise<void> {
    for (const end of this.#ends) await end()
  }

  /** Sends a request as the application of the library. */
  async asApplication(method: string, path: string, body?: unknown): Promise<unknown> {
    const answer = await fetch(`${this.url}/_peer/${path}`, {
      method,
      ...(body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
    })
    if (!answer.ok) assert.fail(`${method} ${path}: ${answer.status} ${await answer.text()}`)
    return answer.json()
  }

  async createActor(): Promise<TestActor> {
    const made = await fetch(this.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ creator: 'grace@example.com' }),
    })
    assert.equal(made.status, 201)
    const created = (await made.json()) as { id: string; creator: string; passphrase: string }
    const authorization = basic(created.creator, created.passphrase)
    return {
      ...created,
      authorization,
      request: (method, path, body, headers = {}) =>
        fetch(`${this.url}/${created.id}${path}`, {
          method,
          headers: { authorization, 'content-type': 'application/json', ...headers },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        }),
    }
  }
}

async function answers(url: string, program: ChildProcess): Promise<void> {
  await until(async () => {
    assert.equal(program.exitCode, null, 'python3 ended')
    return fetch(url).then(
      () => true,
      () => false,
    )
  })
}

/** Two related actors. `copyAtLibrary` and `copyHere` read what each keeps of the other. */
interface Pair {
  readonly here: TestActor
  readonly there: TestActor
  readonly library: Library
  readonly service: TestService
  readonly copyAtLibrary: () => Promise<unknown>
  readonly copyHere: () => Promise<unknown>
}

async function pairOf(library: Library, service: TestService): Promise<Pair> {
  const [here, there] = [await service.createActor(), await library.createActor()]
  return {
    here,
    there,
    library,
    service,
    copyAtLibrary: () => library.asApplication('GET', `${there.id}/copy/${here.id}`),
    copyHere: async () => (await service.app.actors.get(here.id))?.remote(there.id).all(),
  }
}

/** The library asks, our owner approves, and the library subscribes to all properties. */
async function subscribedLibrary(library: Library, service: TestService): Promise<Pair> {
  const pair = await pairOf(library, service)
  const { here, there } = pair
  await relate(there, [service, here])
  const made = await library.asApplication('POST', `${there.id}/subscribe/${here.id}`)
  assert.notEqual((made as { url: unknown }).url, null)
  return pair
}

/** Our owner asks, the library approves, and we subscribe to all properties. */
async function subscribedHere(library: Library, service: TestService): Promise<Pair> {
  const pair = await pairOf(library, service)
  const { here, there } = pair
  await relate(here, [{ url: library.url, request: (path, init) => fetch(`${library.url}${path}`, init) }, there])
  const wanted = { peerid: there.id, target: 'properties', granularity: 'high' }
  assert.equal((await here.request('POST', '/subscriptions', wanted)).status, 204)
  return pair
}

async function put(actor: TestActor, name: string, value: Json): Promise<void> {
  assert.equal((await actor.request('PUT', `/properties/${name}`, value)).status, 204)
}

async function append(pair: Pair, value: Json): Promise<void> {
  const handle = await pair.service.app.actors.get(pair.here.id)
  await handle?.list('notes').append(value)
}

/** The subscription of the library. */
async function subscriptionOf({ here, there }: Pair): Promise<{ id: string; state: string }> {
  const listed = await here.request('GET', `/subscriptions/${there.id}`)
  const [one] = ((await listed.json()) as { data: { subscriptionid: string; callback: boolean }[] }).data
  const id = one?.subscriptionid ?? ''
  const shown = await here.request('GET', `/subscriptions/${there.id}/${id}?timeline=true`)
  return { id, state: ((await shown.json()) as { state: string }).state }
}

async function approveAtLibrary({ here, there }: Pair): Promise<void> {
  const approved = await there.request('PUT', `/trust/friend/${here.id}`, { approved: true })
  assert.ok(approved.ok, await approved.text())
}

/** Both owners agree again, and a change happens between the request and the approval of the library. */
async function renew(library: Library, service: TestService): Promise<void> {
  const pair = await subscribedLibrary(library, service)
  const { here, there } = pair
  await put(here, 'color', 'blue')
  await untilEqual(pair.copyAtLibrary, () => ({ color: 'blue' }))
  const asked = await here.request('POST', '/trust', { url: `${library.url}/${there.id}`, relationship: 'friend' })
  assert.equal(asked.status, 201)
  await put(here, 'color', 'red')
  await put(here, 'shape', { corners: 4 })
  await approveAtLibrary(pair)
  await untilEqual(pair.copyAtLibrary, () => ({ color: 'red', shape: { corners: 4 } }))
}

/** The service gets another address, serves at its former one too, and asks the library again without an end before it. */
async function changeAddress(library: Library, _service: TestService, start: World['start']): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-readdressed-'))
  const port = await freePort()
  const [from, to] = [`http://127.0.0.1:${port}`, `http://localhost:${port}`]
  const settings = { database: `sqlite:${join(folder, 'troupe.db')}`, port }
  try {
    const original = await start({ ...settings, baseUrl: from })
    const pair = await subscribedLibrary(library, original)
    await put(pair.here, 'color', 'blue')
    await untilEqual(pair.copyAtLibrary, () => ({ color: 'blue' }))
    await original.close()
    const moved = await start({ ...settings, baseUrl: to, formerBaseUrls: [from] })
    const handle = await moved.app.actors.get(pair.here.id)
    await handle?.set('color', 'green')
    await untilEqual(pair.copyAtLibrary, () => ({ color: 'green' }))
    assert.notEqual(await runReaddress(moved, { from, to, asksAgain: true }), null)
    const knownAt = async (): Promise<unknown> => {
      const listed = await pair.there.request('GET', '/trust')
      return ((await listed.json()) as { peerid: string; baseuri: string }[]).find(
        ({ peerid }) => peerid === pair.here.id,
      )?.baseuri
    }
    await untilEqual(knownAt, () => `${to}/${pair.here.id}`)
    await handle?.set('shape', { corners: 5 })
    await approveAtLibrary(pair)
    await untilEqual(pair.copyAtLibrary, () => ({ color: 'green', shape: { corners: 5 } }))
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** The library goes back, and its later change has the number of a change that our copy has. */
async function restoreLibrary(library: Library, service: TestService): Promise<void> {
  const pair = await subscribedHere(library, service)
  const { there } = pair
  await put(there, 'color', 'blue')
  await untilEqual(pair.copyHere, () => ({ color: 'blue' }))
  await library.asApplication('POST', 'backup')
  await put(there, 'shape', { corners: 3 })
  await untilEqual(pair.copyHere, () => ({ color: 'blue', shape: { corners: 3 } }))
  await library.asApplication('POST', 'restore')
  await put(there, 'color', 'red')
  await untilEqual(pair.copyHere, () => ({ color: 'red' }))
  await put(there, 'shape', { corners: 4 })
  await untilEqual(pair.copyHere, () => ({ color: 'red', shape: { corners: 4 } }))
}

/** The library announces only some of many changes at the same time. */
async function writeInParallel(library: Library, service: TestService): Promise<void> {
  const pair = await subscribedHere(library, service)
  const { here, there } = pair
  for (let round = 0; round < 10; round += 1)
    await Promise.all(Array.from({ length: 10 }, (_, n) => put(there, `name${n}`, { round, n })))
  const synced = await (await service.app.actors.get(here.id))?.sync(there.id)
  assert.equal(synced?.trustEnded, false)
  const kept = await there.request('GET', '/properties')
  const published = (await kept.json()) as Record<string, unknown>
  assert.equal(Object.keys(published).length, 10)
  await untilEqual(pair.copyHere, () => published)
}

/** Changes a list while the gate answers callbacks with the status, then lets them pass. No other change follows. */
async function failDuringAppends(library: Library, service: TestService, status: number): Promise<void> {
  const pair = await subscribedLibrary(library, service)
  await append(pair, { number: 0 })
  await untilEqual(pair.copyAtLibrary, () => ({ notes: [{ number: 0 }] }))
  let refused = 0
  library.verdict = (_method, path) => {
    if (!path.startsWith(`/${pair.there.id}/callbacks/`)) return undefined
    refused += 1
    return status
  }
  for (let number = 1; number < 8; number += 1) await append(pair, { number })
  if (status === 410) await until(async () => (await subscriptionOf(pair)).state === 'stopped')
  else await until(() => refused > 1)
  library.verdict = () => undefined
  if (status === 410) {
    const { id } = await subscriptionOf(pair)
    const redriven = await pair.here.request('POST', `/subscriptions/${pair.there.id}/${id}/redrive`)
    assert.equal(redriven.status, 200)
  }
  await untilEqual(pair.copyAtLibrary, () => ({ notes: [0, 1, 2, 3, 4, 5, 6, 7].map((number) => ({ number })) }))
}

/** The publisher goes back to a copy of its database, and later changes have the numbers of changes that the copy lacks. */
async function restorePublisher(library: Library, _service: TestService, start: World['start']): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-restored-'))
  const file = join(folder, 'troupe.db')
  const settings = { database: `sqlite:${file}`, port: await freePort() }
  try {
    const original = await start(settings)
    const pair = await subscribedLibrary(library, original)
    await put(pair.here, 'color', 'blue')
    await put(pair.here, 'shape', { corners: 3 })
    await untilEqual(pair.copyAtLibrary, () => ({ color: 'blue', shape: { corners: 3 } }))
    const database = new DatabaseSync(file)
    database.exec(`VACUUM INTO '${file}.copy'`)
    database.close()
    for (const corners of [4, 5, 6]) await put(pair.here, 'shape', { corners })
    await untilEqual(pair.copyAtLibrary, () => ({ color: 'blue', shape: { corners: 6 } }))
    await original.close()
    for (const ending of ['-wal', '-shm']) rmSync(`${file}${ending}`, { force: true })
    renameSync(`${file}.copy`, file)
    const store = await openStore({ url: settings.database, mustExist: true })
    await beginIncarnation(store)
    await store.close()
    const restored = await start(settings)
    const handle = await restored.app.actors.get(pair.here.id)
    await handle?.set('color', 'red')
    await untilEqual(pair.copyAtLibrary, () => ({ color: 'red', shape: { corners: 3 } }))
  } finally {
    rmSync(folder, { recursive: true })
  }
}

type Flow = readonly [
  flow: string,
  expected: string,
  check: (library: Library, service: TestService, start: World['start']) => Promise<void>,
]

const flows: readonly Flow[] = [
  [
    'asks for a relationship and subscribes',
    'its copy follows values, lists and deletions',
    async (library, service) => {
      const pair = await subscribedLibrary(library, service)
      await put(pair.here, 'color', 'blue')
      await put(pair.here, 'shape', { corners: 3 })
      await append(pair, { text: 'one' })
      await untilEqual(pair.copyAtLibrary, () => ({
        color: 'blue',
        notes: [{ text: 'one' }],
        shape: { corners: 3 },
      }))
      assert.equal((await pair.here.request('DELETE', '/properties/color')).status, 204)
      await append(pair, { text: 'two' })
      await untilEqual(pair.copyAtLibrary, () => ({
        notes: [{ text: 'one' }, { text: 'two' }],
        shape: { corners: 3 },
      }))
    },
  ],
  [
    'approves a relationship and publishes',
    'our copy follows values and lists',
    async (library, service) => {
      const pair = await subscribedHere(library, service)
      const { there } = pair
      await library.asApplication('POST', `${there.id}/lists/notes`, { text: 'one' })
      await put(there, 'color', 'blue')
      await library.asApplication('POST', `${there.id}/lists/notes`, { text: 'two' })
      await untilEqual(pair.copyHere, () => ({ color: 'blue', notes: [{ text: 'one' }, { text: 'two' }] }))
    },
  ],
  [
    'publishes a list that it creates after the subscription',
    'our copy has a list',
    async (library, service) => {
      const pair = await subscribedHere(library, service)
      await library.asApplication('POST', `${pair.there.id}/lists/later`, { text: 'one' })
      await library.asApplication('POST', `${pair.there.id}/lists/later`, { text: 'two' })
      await untilEqual(pair.copyHere, () => ({ later: [{ text: 'one' }, { text: 'two' }] }))
    },
  ],
  [
    'deletes our subscription',
    'a sync keeps the relationship',
    async (library, service) => {
      const pair = await subscribedHere(library, service)
      const { here, there } = pair
      await put(there, 'color', 'blue')
      await untilEqual(pair.copyHere, () => ({ color: 'blue' }))
      const listed = await there.request('GET', `/subscriptions/${here.id}`)
      for (const { subscriptionid } of ((await listed.json()) as { data: { subscriptionid: string }[] }).data)
        await library.asApplication('DELETE', `${there.id}/subscriptions/${here.id}/${subscriptionid}`)
      const synced = await (await service.app.actors.get(here.id))?.sync(there.id)
      assert.equal(synced?.trustEnded, false)
      assert.equal((await here.request('GET', `/trust/friend/${there.id}`)).status, 200)
    },
  ],
  [
    'may read less, then more',
    'its copy loses the values that it may not read, and gets their latest state back',
    async (library, service) => {
      const pair = await subscribedLibrary(library, service)
      const { here, there } = pair
      const permissions = `/trust/friend/${there.id}/permissions`
      await put(here, 'color', 'blue')
      await put(here, 'salary', 100)
      await untilEqual(pair.copyAtLibrary, () => ({ color: 'blue', salary: 100 }))
      const less = await here.request('PUT', permissions, { properties: { excluded_patterns: ['salary'] } })
      assert.equal(less.status, 201)
      await untilEqual(pair.copyAtLibrary, () => ({ color: 'blue' }))
      await put(here, 'salary', 120)
      assert.equal((await here.request('DELETE', permissions)).status, 204)
      await untilEqual(pair.copyAtLibrary, () => ({ color: 'blue', salary: 120 }))
    },
  ],
  [
    'subscribes to a publisher that is restored from a copy of its database',
    'its copy goes back too, and follows later changes',
    restorePublisher,
  ],
  ...[502, 404, 302].map(
    (status): Flow => [
      `is behind a proxy that returns ${status} for a while`,
      'its copy is complete again without another change',
      (library, service) => failDuringAppends(library, service, status),
    ],
  ),
  [
    'is behind a proxy that returns 410 for a while',
    'its copy is complete again when the owner sends the changes again',
    (library, service) => failDuringAppends(library, service, 410),
  ],
  ['approves a renewed relationship after further changes', 'its copy has these changes', renew],
  [
    'subscribes to a service whose address changes',
    'it has the new address, and its copy has the changes before and after its approval',
    changeAddress,
  ],
  ['is restored from a copy of its database', 'our copy goes back too, and follows later changes', restoreLibrary],
  ['changes 10 properties at the same time, 10 times', 'a sync makes our copy exact', writeInParallel],
]

let shared: Promise<Library> | undefined

export const libraryRows: readonly CompatRow[] = flows.map(([flow, expected, check]) => ({
  group: 'Peers',
  client: 'ActingWeb library for Python',
  version: '3.14.0',
  flow,
  expected,
  source: 'https://actingweb.readthedocs.io/en/latest/',
  program: libraryProgram,
  run: async (world) => {
    if (shared === undefined) {
      shared = Library.start()
      world.atEnd(async () => (await shared)?.close())
    }
    await check(await shared, world.service, world.start)
  },
}))
