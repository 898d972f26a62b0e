/** Fills one actor with rows of every kind, written directly, for requests that must not depend on its data. */
import type { Store, Transaction } from '../../src/store/store.ts'
import { known } from '../../src/json/json.ts'
import { maxInvitations } from '../../src/features/invitations/invitations.ts'
import { putValues } from '../../src/property/property-store.ts'
import { hashSecret } from '../../src/secret/hash.ts'
import { seal } from '../../src/secret/sealed.ts'
import { bindingOf, trustSecret, trustToken } from '../../src/secret/sealed-columns.ts'
import type { KeyRing } from '../../src/secret/key-ring.ts'
import { authorizeClient } from './mcp-client.ts'
import { relateTo } from './recording-peer.ts'
import { samplePeer } from './routes.ts'
import { OwnersBrowser } from './sessions.ts'
import type { TestActor, TestService } from './service.ts'

export interface HeavyActor {
  readonly id: string
  /** The id of a webhook. */
  readonly webhook: string
  /** The id of the AI client's relationship. */
  readonly appPeer: string
  /** The headers of each caller: the owner with the passphrase, in a browser, a peer, an app with a key, an AI client. */
  readonly callers: Readonly<Record<CallerName, Readonly<Record<string, string>>>>
}

export type CallerName = 'owner' | 'browser' | 'peer' | 'app' | 'client'

export interface HeavyOptions {
  /** The size of all values and items, in MB. */
  readonly megabytes: number
  readonly relationships: number
  /** Receives each step. */
  readonly onStep?: (step: string) => void
}

/** Almost the largest value that a request can store. */
const longest = 1_900_000
const batch = 5000

interface Filling {
  readonly store: Store
  readonly keyRing: KeyRing
  readonly actorId: string
}

/**
 * Half of the size is in values of 1.9 MB, a quarter in short values, and a quarter in a list. Relationships, subscriptions,
 * diffs, files, invitations and entries of the audit log and the history are added. The names are those of the sample
 * requests of the route table.
 */
export async function fillHeavyActor(service: TestService, options: HeavyOptions): Promise<HeavyActor> {
  const { megabytes, relationships, onStep = () => {} } = options
  const actor = await service.createActor()
  const { store, keyRing } = await service.app.running()
  const filling: Filling = { store, keyRing, actorId: actor.id }
  const bytes = megabytes * 1_000_000
  onStep('values')
  await addLongValues(filling, Math.ceil(bytes / 2 / longest))
  onStep('names')
  await addShortValues(filling, Math.ceil(bytes / 4 / 400))
  onStep('items')
  await addItems(service, actor, Math.ceil(bytes / 4 / 400))
  onStep('relationships')
  await relateTo(service, actor, { peerId: 'asking', approved: false })
  const peer = await relateTo(service, actor, { peerId: samplePeer, baseuri: `https://peer.example.com/${samplePeer}` })
  await addRelationships(filling, relationships)
  onStep('records')
  await addDiffs(filling)
  await addRecords(filling)
  const webhook = await addWebhooks(actor)
  const handle = await service.app.actors.get(actor.id)
  if (handle === undefined) throw new Error('The actor does not exist')
  const everything = { patterns: ['*'], operations: ['read'] as const }
  const { key } = await handle.keys.create({ name: 'heavy', grants: { properties: everything, resources: everything } })
  const client = await authorizeClient(service, actor)
  return {
    id: actor.id,
    webhook,
    appPeer: client.peerId,
    callers: {
      owner: { authorization: actor.authorization },
      browser: (await OwnersBrowser.open(service, actor)).headers,
      peer: { authorization: `Bearer ${peer.secret}` },
      app: { authorization: `Bearer ${key}` },
      client: { authorization: `Bearer ${client.token}` },
    },
  }
}

async function addLongValues({ store, actorId }: Filling, count: number): Promise<void> {
  const value = known(JSON.stringify('x'.repeat(longest)))
  for (let n = 0; n < count; n += 1) {
    const name = n === 0 ? 'color' : `long ${n}`
    await store.write(async (tx) => void (await putValues(tx, actorId, [{ name, value, version: 1 }])))
  }
}

async function addShortValues({ store, actorId }: Filling, count: number): Promise<void> {
  const value = known(JSON.stringify({ text: 'y'.repeat(300) }))
  await inBatches(store, count, async (tx, from, to) => {
    const values = numbers(from, to).map((n) => ({ name: `a name of a short value ${n}`, value, version: 1 }))
    await putValues(tx, actorId, values)
  })
}

async function addItems({ app }: TestService, { id }: TestActor, count: number): Promise<void> {
  const actor = await app.actors.get(id)
  for (let from = 0; from < count; from += batch)
    await actor
      ?.list('notes')
      .extend(numbers(from, Math.min(from + batch, count)).map((n) => ({ n, text: 'z'.repeat(380) })))
}

/** Each peer has one subscription. */
export async function addRelationships({ store, keyRing, actorId }: Filling, count: number): Promise<void> {
  await inBatches(store, count, async (tx, from, to) => {
    const peers = numbers(from, to).map((n) => {
      const peerId = `peer-${n}`
      const secret = `secret-${n}`
      return [
        peerId,
        `https://peer.example.com/${peerId}`,
        seal(keyRing, secret, bindingOf(trustSecret, actorId, peerId)),
        hashSecret(secret),
        seal(keyRing, secret, bindingOf(trustToken, actorId, peerId)),
        'd'.repeat(400),
      ]
    })
    await tx.run(
      `INSERT INTO trust (actor_id, peer_id, baseuri, type, relationship, secret, secret_hash, verification_token,
         description, approved, peer_approved, verified, established_via, facts, created_at, last_accessed,
         last_connected_via)
       SELECT $1, made.peer, made.url, 'urn:actingweb:example.com:peer', 'friend', made.secret, made.hash, made.token,
         made.description, 1, 1, 1, 'trust', '{}', 1, 1, 'trust'
       FROM rows($2, peer TEXT, url TEXT, secret TEXT, hash TEXT, token TEXT, description TEXT) AS made WHERE true`,
      actorId,
      JSON.stringify(peers),
    )
    await addSubscriptions(
      tx,
      actorId,
      peers.map(([peerId = '']) => [peerId, `of ${peerId}`]),
    )
  })
}

async function addSubscriptions(
  tx: Transaction,
  actorId: string,
  subscriptions: readonly (readonly [peerId: string, id: string])[],
): Promise<void> {
  await tx.run(
    `INSERT INTO publisher_subscription (actor_id, peer_id, subscription_id, target, subtarget, resource, granularity,
       created_at)
     SELECT $1, made.peer, made.id, 'properties', '', '', 'none', 1 FROM rows($2, peer TEXT, id TEXT) AS made WHERE true`,
    actorId,
    JSON.stringify(subscriptions),
  )
  await tx.run(
    'UPDATE actor SET subscription_count = subscription_count + $2 WHERE id = $1',
    actorId,
    subscriptions.length,
  )
}

/** Leaves 100 of the subscriptions, because each would get a diff of a long value: 10 000 of them 19 GB. */
export async function endMostSubscriptions({ app }: TestService, actorId: string): Promise<void> {
  const { store } = await app.running()
  await store.write(async (tx) => {
    const ended = await tx.run(
      "DELETE FROM publisher_subscription WHERE actor_id = $1 AND peer_id LIKE 'peer-%' AND peer_id NOT LIKE 'peer-1__'",
      actorId,
    )
    await tx.run('UPDATE actor SET subscription_count = subscription_count - $2 WHERE id = $1', actorId, ended)
  })
}

/** Diffs of 1.9 MB for the subscription of the sample requests, and 100 further subscriptions of its peer. */
async function addDiffs({ store, actorId }: Filling): Promise<void> {
  const ids = ['none', ...numbers(0, 99).map((n) => `more ${n}`)]
  const data = JSON.stringify({ color: 'w'.repeat(longest) })
  await store.write((tx) =>
    addSubscriptions(
      tx,
      actorId,
      ids.map((id) => [samplePeer, id]),
    ),
  )
  for (const sequence of numbers(1, 9))
    await store.write((tx) =>
      tx.run(
        `INSERT INTO diff (actor_id, peer_id, subscription_id, sequence, kind, data, replaces, created_at)
         VALUES ($1, $2, 'none', $3, 'diff', $4, 0, 1)`,
        actorId,
        samplePeer,
        sequence,
        data,
      ),
    )
  await store.write((tx) =>
    tx.run(
      `UPDATE publisher_subscription SET sequence = 8, committed = 8
       WHERE actor_id = $1 AND peer_id = $2 AND subscription_id = 'none'`,
      actorId,
      samplePeer,
    ),
  )
}

async function addRecords({ store, actorId }: Filling): Promise<void> {
  const now = store.now()
  await inBatches(store, 5000, async (tx, from, to) => {
    const numbered = JSON.stringify(numbers(from, to).map((n) => [n, String(n)]))
    await tx.run(
      `INSERT INTO activity (actor_id, at, id, caller_kind, caller, through, method, path, decision, reason, status,
         request_id, times, device)
       SELECT $1, CAST($3 AS BIGINT), made.id, 'peer', 'peer-1', 'http', 'GET', $4, 'allowed', 'granted', 200, made.id, 1, ''
       FROM rows($2, n BIGINT, id TEXT) AS made WHERE true`,
      actorId,
      numbered,
      now,
      `/properties/${'p'.repeat(500)}`,
    )
    await tx.run(
      `INSERT INTO history (actor_id, seq, at, name, kind, operation, existed, content, characters, version, caller_kind,
         caller, request, origin)
       SELECT $1, made.n - 1000000, CAST($3 AS BIGINT), 'color', 'value', 'set', 1, $4, 2000, 1, 'peer', 'peer-1', made.id, ''
       FROM rows($2, n BIGINT, id TEXT) AS made WHERE true`,
      actorId,
      numbered,
      now,
      JSON.stringify('h'.repeat(2000)),
    )
    await tx.run(
      `INSERT INTO file (actor_id, name, object, size, type, hash, created_at, updated_at)
       SELECT $1, 'a file with a long name ' || made.id, made.id, 1, 'text/plain', $3, 1, 1
       FROM rows($2, n BIGINT, id TEXT) AS made WHERE true`,
      actorId,
      numbered,
      '0'.repeat(64),
    )
  })
  await inBatches(store, maxInvitations, async (tx, from, to) => {
    const numbered = JSON.stringify(numbers(from, to).map((n) => [n, String(n)]))
    await tx.run(
      `INSERT INTO invitation (actor_id, invitation_id, code_hash, relationship, nickname, created_at, ends_at)
       SELECT $1, made.id, 'hash ' || made.id, 'friend', 'A name', 1, CAST($3 AS BIGINT)
       FROM rows($2, n BIGINT, id TEXT) AS made WHERE true`,
      actorId,
      numbered,
      now + 86_400_000,
    )
  })
}

async function addWebhooks(actor: TestActor): Promise<string> {
  let id = ''
  for (const n of numbers(0, 3)) {
    const wanted = { url: `https://peer.example.com/hook/${n}`, events: ['property_changed'] }
    const answer = await actor.request('POST', '/webhooks', wanted)
    if (answer.status !== 201) throw new Error(`Cannot add a webhook: ${answer.status} ${await answer.text()}`)
    ;({ id } = (await answer.json()) as { id: string })
  }
  return id
}

async function inBatches(
  store: Store,
  count: number,
  add: (tx: Transaction, from: number, to: number) => Promise<void>,
): Promise<void> {
  for (let from = 0; from < count; from += batch)
    await store.write((tx) => add(tx, from, Math.min(from + batch, count)))
}

function numbers(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, n) => from + n)
}
