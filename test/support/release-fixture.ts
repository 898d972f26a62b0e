/**
 * Databases of releases, in `test/upgrade/<release>`. `npm run upgrade-fixture` makes those of this release. A later
 * release must start on them, so they never change.
 */
import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import pg from 'pg'
import { passkey } from '../../src/index.ts'
import { callInProcess } from '../../src/peer/in-process-call.ts'
import type { PeerClient, PeerOutcome, PeerRequest } from '../../src/peer/peer-client.ts'
import { release } from '../../src/release.ts'
import { readMigrations } from '../../src/store/migrate.ts'
import { compile, type Dialect } from '../../src/store/portable.ts'
import { signUpWith } from './passkey-page.ts'
import { type StartOptions, startService, type TestActor, type TestService, testKeys } from './service.ts'
import { signIn } from './sessions.ts'
import { actorIn } from './sign-in.ts'
import { type KeptPasskey, SoftPasskey } from './soft-passkey.ts'
import type { TestDatabase } from './stores.ts'
import { emptyTarget } from './backups.ts'
import { until } from './until.ts'

export const fixtures = join(import.meta.dirname, '..', 'upgrade')

type Account = Pick<TestActor, 'id' | 'creator' | 'passphrase'>

/** The content of a fixture besides the database: the keys, the credentials, and when it was made. */
export interface ReleaseFacts {
  readonly release: string
  /** The number of its last migration. */
  readonly schema: number
  /** Unix milliseconds. */
  readonly madeAt: number
  readonly secretKeys: string
  /** Has values, lists, a file, history, a webhook, a subscription to `bob`, and a peer that could not be reached. */
  readonly ada: Account & { readonly session: string; readonly key: string }
  readonly bob: Account
  /** Signs in with a passkey. */
  readonly cleo: { readonly id: string; readonly passkey: KeptPasskey }
  /** The secret of the relationship with `https://peer.example.com/dora`. */
  readonly peerSecret: string
}

/** The lengths of the lists of `ada`, by their names. */
export const listLengths = { none: 0, one: 1, short: 40, long: 2_500 } as const
export const fileText = 'The contents of a file.\n'
/** JSON with a number that a program would round, and names outside of ASCII. */
export const settings = '{"theme":"dark","größe":12345678901234567890,"nested":{"empty":[]}}'

const baseUrl = 'https://club.example.com'

/** Passes calls of the service to itself, and answers all others with a status. Null: no other peer can be reached. */
export class KnownPeers implements PeerClient {
  /** The requests to other services. */
  readonly calls: PeerRequest[] = []
  service: TestService | undefined
  readonly #status: number | null

  constructor(status: number | null) {
    this.#status = status
  }

  async call(request: PeerRequest): Promise<PeerOutcome> {
    const { service } = this
    if (service !== undefined && request.url.startsWith(`${baseUrl}/`))
      return callInProcess((sent) => service.app.fetch(sent), request, new URL(request.url))
    this.calls.push(request)
    return this.#status === null
      ? { kind: 'unreached', reason: 'the peer is down' }
      : { kind: 'answered', status: this.#status, headers: {}, body: '' }
  }

  async close(): Promise<void> {}
}

/** Starts a service on a fixture, or on a database that becomes one. */
export async function startOnFixture(
  url: string,
  { files, peers, ...more }: StartOptions & { readonly files: string; readonly peers: KnownPeers },
): Promise<TestService> {
  const options = { baseUrl, files, peerClient: peers, signIn: [passkey()], activityPerActor: 1_000, ...more }
  peers.service = await startService(url, options)
  return peers.service
}

async function done(answer: Promise<Response>): Promise<Response> {
  const response = await answer
  if (response.status >= 400) throw new Error(`${response.status} ${response.url} ${await response.text()}`)
  return response
}

async function fill(service: TestService): Promise<Omit<ReleaseFacts, 'release' | 'schema' | 'madeAt' | 'secretKeys'>> {
  const [ada, bob] = [await service.createActor('ada@example.com'), await service.createActor('bob@example.com')]
  await done(ada.request('PUT', '/properties/settings', settings, { 'content-type': 'application/json' }))
  for (const color of ['red', 'green', 'blue']) await done(ada.request('PUT', '/properties/color', color))
  await done(ada.request('PUT', '/properties/gone', 'soon'))
  await done(ada.request('DELETE', '/properties/gone'))
  const handle = await service.app.actors.get(ada.id)
  assert.ok(handle)
  for (const [name, length] of Object.entries(listLengths)) {
    await done(ada.request('POST', '/properties', { [name]: { _type: 'list', description: `A list: ${name}` } }))
    await handle.list(name).extend(Array.from({ length }, (_, n) => ({ n, text: `item ${n}` })))
  }
  await done(ada.request('PUT', '/files/notes.txt', fileText, { 'content-type': 'text/plain' }))
  // Ada subscribes to what Bob has, and has a copy of it.
  await done(ada.request('POST', '/trust', { url: `${service.url}/${bob.id}`, relationship: 'friend' }))
  await done(bob.request('PUT', `/trust/friend/${ada.id}`, { approved: true }))
  const everything = { properties: { patterns: ['*'], operations: ['read', 'subscribe'] } }
  await done(bob.request('PUT', `/trust/friend/${ada.id}/permissions`, everything))
  await service.settled()
  await done(ada.request('POST', '/subscriptions', { peerid: bob.id, target: 'properties', granularity: 'high' }))
  await done(bob.request('PUT', '/properties/status', 'here'))
  await until(async () => (await ada.request('GET', `/remote/${bob.id}/status`)).status === 200)
  // A peer outside subscribes to what Ada has, and cannot be reached when it changes.
  const peerSecret = 'the-secret-of-a-peer-that-is-down'
  const peer = { baseuri: 'https://peer.example.com/dora', id: 'dora', type: 'urn:actingweb:example.com:test' }
  await done(ada.request('POST', '/trust/friend', { ...peer, secret: peerSecret }))
  await done(ada.request('PUT', '/trust/friend/dora', { approved: true }))
  await done(ada.request('PUT', '/trust/friend/dora/permissions', everything))
  const authorization = `Bearer ${peerSecret}`
  await done(
    service.request(`/${ada.id}/subscriptions/dora`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body: '{"target":"properties","granularity":"high"}',
    }),
  )
  await done(
    ada.request('POST', '/webhooks', { url: 'https://receiver.example.com/hook', events: ['property_changed'] }),
  )
  await done(ada.request('PUT', '/properties/color', 'violet'))
  const made = await done(
    ada.request('POST', '/keys', {
      name: 'Sensor',
      grants: { properties: { patterns: ['color'], operations: ['read'] } },
    }),
  )
  const { key } = (await made.json()) as { key: string }
  const session = await signIn(service, ada, 'Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0')
  const device = new SoftPasskey()
  const cleo = actorIn((await signUpWith(service, device, 'Cleo')).answer)
  await service.settled()
  const account = ({ id, creator, passphrase }: TestActor): Account => ({ id, creator, passphrase })
  return {
    ada: { ...account(ada), session, key },
    bob: account(bob),
    cleo: { id: cleo, passkey: device.export() },
    peerSecret,
  }
}

/** Makes the fixture of this release on a new database, as files of a folder. */
export async function makeFixture(dialect: Dialect, folder: string): Promise<void> {
  const database = await emptyTarget(dialect)
  try {
    const files = join(folder, 'files')
    const service = await startOnFixture(database.url, { files, peers: new KnownPeers(null) })
    const facts: ReleaseFacts = {
      release,
      schema: readMigrations().length,
      madeAt: Date.now(),
      secretKeys: testKeys,
      ...(await fill(service)),
    }
    await service.close()
    writeFileSync(
      join(folder, `${dialect}.json`),
      `${JSON.stringify({ ...facts, files: contentsOf(files) }, null, 2)}\n`,
    )
    rmSync(files, { recursive: true })
    const content =
      dialect === 'sqlite' ? readFileSync(database.url.slice('sqlite:'.length)) : await dumpPostgres(database.url)
    writeFileSync(join(folder, nameOf(dialect)), gzipSync(content, { level: 9 }))
  } finally {
    await database.remove()
  }
}

function nameOf(dialect: Dialect): string {
  return dialect === 'sqlite' ? 'sqlite.db.gz' : 'postgres.sql.gz'
}

/** The files of a folder in base64, by their paths. */
function contentsOf(folder: string): Readonly<Record<string, string>> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  return Object.fromEntries(
    entries.map(({ parentPath, name }) => [
      relative(folder, join(parentPath, name)),
      readFileSync(join(parentPath, name)).toString('base64'),
    ]),
  )
}

/** Returns SQL that makes the database again, like `pg_dump --inserts`. */
async function dumpPostgres(url: string): Promise<string> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query('SET search_path TO troupe')
    const { rows: columns } = await client.query<{ table: string; columns: string[] }>(
      `SELECT c.relname AS table, array_agg(a.attname::text ORDER BY a.attnum) AS columns
       FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
       WHERE c.relnamespace = 'troupe'::regnamespace AND c.relkind = 'r' GROUP BY c.relname ORDER BY c.relname`,
    )
    const parts = [
      'CREATE SCHEMA troupe; SET search_path TO troupe; SET session_replication_role = replica;',
      'CREATE TABLE schema_migrations (number BIGINT NOT NULL PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL, applied_at BIGINT NOT NULL, release TEXT NOT NULL);',
      ...readMigrations().map(({ sql }) => compile(sql, 'postgres').text),
    ]
    for (const { table, columns: names } of columns) {
      const values = names.map((name) => `quote_nullable(${name})`).join(` || ', ' || `)
      const { rows } = await client.query<{ line: string }>(`SELECT ${values} AS line FROM ${table} ORDER BY 1`)
      parts.push(...rows.map(({ line }) => `INSERT INTO ${table} (${names.join(', ')}) VALUES (${line});`))
    }
    return parts.join('\n')
  } finally {
    await client.end()
  }
}

export interface UnpackedFixture extends TestDatabase {
  readonly facts: ReleaseFacts
  /** The folder with the contents of files. */
  readonly files: string
}

/** Puts the database of a fixture where a service can use it. */
export async function unpackFixture(name: string, dialect: Dialect, folder: string): Promise<UnpackedFixture> {
  const { files: contents, ...facts } = JSON.parse(
    readFileSync(join(fixtures, name, `${dialect}.json`), 'utf8'),
  ) as ReleaseFacts & {
    readonly files: Readonly<Record<string, string>>
  }
  const files = join(folder, 'files')
  for (const [path, content] of Object.entries(contents)) {
    mkdirSync(dirname(join(files, path)), { recursive: true })
    writeFileSync(join(files, path), Buffer.from(content, 'base64'))
  }
  const database = await emptyTarget(dialect)
  const content = gunzipSync(readFileSync(join(fixtures, name, nameOf(dialect))))
  if (dialect === 'sqlite') writeFileSync(database.url.slice('sqlite:'.length), content, { mode: 0o600 })
  else {
    const client = new pg.Client({ connectionString: database.url })
    await client.connect()
    await client.query(content.toString('utf8'))
    await client.end()
  }
  return { ...database, facts, files }
}
