/** A PostgreSQL database with rows as the Python library ActingWeb 3.14 writes them. */
import pg from 'pg'
import { importActors, type ImportDeps, type ImportReport } from '../../src/actingweb-import/import-actors.ts'
import { SourceDatabase } from '../../src/actingweb-import/source.ts'
import type { Store } from '../../src/store/store.ts'
import type { TestService } from './service.ts'
import { sharedPostgresUrl } from './postgres.ts'
import { createPostgresDatabase, type TestDatabase } from './stores.ts'

const columns = {
  actors: 'id text PRIMARY KEY, creator text NOT NULL, passphrase text NOT NULL, created_at timestamp',
  properties: 'id text, name text, value text NOT NULL, PRIMARY KEY (id, name)',
  attributes: `id text, bucket text NOT NULL, name text NOT NULL, bucket_name text, data jsonb, timestamp timestamp,
    ttl_timestamp bigint, PRIMARY KEY (id, bucket_name)`,
  trusts: `id text, peerid text, baseuri text NOT NULL, type text NOT NULL, relationship text NOT NULL, secret text NOT NULL,
    "desc" text, approved boolean NOT NULL, peer_approved boolean NOT NULL, verified boolean NOT NULL,
    verification_token text, peer_identifier text, established_via text, created_at timestamp, last_accessed timestamp,
    last_connected_via text, client_name text, client_version text, client_platform text, oauth_client_id text,
    PRIMARY KEY (id, peerid)`,
  peertrustees: 'id text, peerid text, baseuri text, type text, passphrase text, PRIMARY KEY (id, peerid)',
  subscriptions: `id text, peer_sub_id text, peerid text, subid text, granularity text, target text, subtarget text,
    resource text, seqnr integer NOT NULL, callback boolean NOT NULL, PRIMARY KEY (id, peer_sub_id)`,
  subscription_diffs: `id text, subid_seqnr text, subid text, timestamp timestamp, diff text NOT NULL, seqnr integer,
    PRIMARY KEY (id, subid_seqnr)`,
} as const

export type SourceTable = keyof typeof columns | 'subscription_suspensions'

export class ActingWebDatabase {
  readonly url: string
  readonly #database: TestDatabase
  readonly #client: pg.Client

  private constructor(database: TestDatabase, client: pg.Client) {
    this.url = database.url
    this.#database = database
    this.#client = client
  }

  /** The database is a plain one, also where the tests run on a cluster. */
  static async create(): Promise<ActingWebDatabase> {
    const database = await createPostgresDatabase(await sharedPostgresUrl())
    const client = new pg.Client({ connectionString: database.url })
    await client.connect()
    await client.query('CREATE SCHEMA old; SET search_path TO old')
    for (const [table, rows] of Object.entries(columns)) await client.query(`CREATE TABLE ${table} (${rows})`)
    return new ActingWebDatabase(database, client)
  }

  async run(sql: string, ...values: readonly unknown[]): Promise<void> {
    await this.#client.query(sql, [...values])
  }

  async insert(table: SourceTable, row: Readonly<Record<string, unknown>>): Promise<void> {
    const names = Object.keys(row)
    const places = names.map((_name, n) => `$${n + 1}`).join(', ')
    await this.run(
      `INSERT INTO ${table} (${names.map((name) => `"${name}"`).join(', ')}) VALUES (${places})`,
      ...Object.values(row),
    )
  }

  actor(id: string, more: Readonly<Record<string, unknown>> = {}): Promise<void> {
    return this.insert('actors', {
      id,
      creator: `${id}@example.com`,
      passphrase: `passphrase-of-${id}`,
      created_at: '2025-03-01 12:00:00',
      ...more,
    })
  }

  /** @param value the text as the library stores it. */
  property(id: string, name: string, value: string): Promise<void> {
    return this.insert('properties', { id, name, value })
  }

  attribute(
    id: string,
    bucket: string,
    name: string,
    data: unknown,
    more: Readonly<Record<string, unknown>> = {},
  ): Promise<void> {
    const row = { id, bucket, name, bucket_name: `${bucket}:${name}`, data: JSON.stringify(data), ...more }
    return this.insert('attributes', row)
  }

  trust(id: string, peerid: string, more: Readonly<Record<string, unknown>> = {}): Promise<void> {
    return this.insert('trusts', {
      id,
      peerid,
      baseuri: `https://peer.example.com/${peerid}`,
      type: 'urn:actingweb:example.com:notes',
      relationship: 'friend',
      secret: `secret-of-${id}-${peerid}`,
      desc: 'A friend',
      approved: true,
      peer_approved: true,
      verified: true,
      verification_token: 'token',
      established_via: 'trust',
      created_at: '2025-03-02 12:00:00.5',
      last_connected_via: 'trust',
      ...more,
    })
  }

  /** @param sequence the last sequence number. */
  subscription(
    id: string,
    peerid: string,
    subid: string,
    sequence: number,
    more: Readonly<Record<string, unknown>> = {},
  ): Promise<void> {
    const row = { id, peerid, subid, peer_sub_id: `${peerid}:${subid}`, granularity: 'high', target: 'properties' }
    return this.insert('subscriptions', { ...row, seqnr: sequence, callback: false, ...more })
  }

  diff(id: string, subid: string, sequence: number, data: unknown): Promise<void> {
    return this.insert('subscription_diffs', {
      id,
      subid,
      subid_seqnr: `${subid}:${sequence}`,
      timestamp: '2025-03-03 12:00:00',
      diff: JSON.stringify(data),
      seqnr: sequence,
    })
  }

  async remove(): Promise<void> {
    await this.#client.end()
    await this.#database.remove()
  }
}

export interface TakeOver extends Partial<Pick<ImportDeps, 'companions' | 'signIns' | 'isDryRun' | 'uniqueCreator'>> {
  readonly wrapStore?: (store: Store) => Store
}

/** Imports the actors of the database into the service, as the command does. */
export async function takeOver(
  service: TestService,
  { url }: Pick<ActingWebDatabase, 'url'>,
  { wrapStore, ...options }: TakeOver = {},
): Promise<ImportReport> {
  const { store, keyRing, parts } = await service.app.running()
  const source = await SourceDatabase.open({ url, schema: 'old', connections: 2 })
  try {
    return await importActors({
      source,
      store: wrapStore?.(store) ?? store,
      keyRing,
      bytes: parts.fileBytes,
      tables: parts.tables,
      tokens: parts.tokens,
      uniqueCreator: false,
      companions: new Map(),
      signIns: new Map(),
      isDryRun: false,
      lanes: 2,
      now: store.now,
      deleteRemoved: (actorId) => parts.removedLists.deleteRowsOf(actorId),
      ...options,
    })
  } finally {
    await source.close()
  }
}
