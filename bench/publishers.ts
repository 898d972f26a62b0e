/** Inserts actors with subscribers into a store in bulk. */
import { parseKeyRing } from '../src/secret/key-ring.ts'
import { hashSecret } from '../src/secret/hash.ts'
import { randomId, randomToken } from '../src/secret/random.ts'
import { seal } from '../src/secret/sealed.ts'
import { actorPassphrase, bindingOf, trustSecret, trustToken } from '../src/secret/sealed-columns.ts'
import { openStore } from '../src/open-store.ts'
import type { Store } from '../src/store/store.ts'
import type { BenchActor } from './client.ts'
import type { Subject } from './subject.ts'

export interface Publishers {
  readonly actors: number
  /** Subscribers of each actor; each is a separate peer. */
  readonly subscribers: number
  /** Waiting diffs of each subscriber. */
  readonly diffs: number
  readonly granularity: 'high' | 'none'
  /** Base URL of the peers. */
  readonly peers: string
}

const authorization = `Basic ${Buffer.from('creator@example.com:open sesame').toString('base64')}`
const diff = JSON.stringify({ theme: { mode: 'dark', size: 12, note: 'x'.repeat(130) } })

export async function createPublishers(subject: Subject, wanted: Publishers): Promise<BenchActor[]> {
  const ring = parseKeyRing(subject.keys)
  const store = await openStore({ url: subject.database, synchronous: 'NORMAL' })
  const actors: BenchActor[] = []
  for (let index = 0; index < wanted.actors; index += 1) {
    const id = randomId()
    const peers = Array.from({ length: wanted.subscribers }, () => {
      const [peer, secret] = [randomId(), randomToken(20)]
      return [
        peer,
        randomId(),
        `${wanted.peers}/${peer}`,
        seal(ring, secret, bindingOf(trustSecret, id, peer)),
        hashSecret(secret),
        seal(ring, secret, bindingOf(trustToken, id, peer)),
      ]
    })
    await insert(store, id, seal(ring, 'open sesame', bindingOf(actorPassphrase, id)), peers, wanted)
    actors.push({ id, authorization })
  }
  await store.close()
  return actors
}

async function insert(
  store: Store,
  actorId: string,
  passphrase: string,
  peers: readonly (readonly string[])[],
  { subscribers, diffs, granularity }: Publishers,
): Promise<void> {
  const now = Date.now()
  const columns = 'rows($2, peer TEXT, subscription TEXT, baseuri TEXT, secret TEXT, hash TEXT, token TEXT) AS made'
  const rows = JSON.stringify(peers)
  const numbers = JSON.stringify(Array.from({ length: diffs }, (_, index) => [index + 1]))
  await store.write(async (tx) => {
    await tx.run(
      `INSERT INTO actor (id, creator, passphrase, trustee_root, created_at, subscription_count)
       VALUES ($1, 'creator@example.com', $2, NULL, 0, $3)`,
      actorId,
      passphrase,
      subscribers,
    )
    await tx.run(
      `INSERT INTO trust (actor_id, peer_id, baseuri, type, relationship, secret, secret_hash, verification_token,
         description, approved, peer_approved, verified, established_via, facts, created_at, last_accessed,
         last_connected_via)
       SELECT $1, made.peer, made.baseuri, 'urn:peer', 'friend', made.secret, made.hash, made.token, '', 1, 1, 1, 'trust',
         '{}', 0, 0, 'trust' FROM ${columns}`,
      actorId,
      rows,
    )
    await tx.run(
      `INSERT INTO publisher_subscription (actor_id, peer_id, subscription_id, target, subtarget, resource, granularity,
         sequence, due_at, created_at)
       SELECT $1, made.peer, made.subscription, 'properties', '', '', $3, CAST($4 AS BIGINT), CAST($5 AS BIGINT), 0
       FROM ${columns}`,
      actorId,
      rows,
      granularity,
      diffs,
      diffs > 0 && granularity === 'high' ? now : null,
    )
    if (diffs === 0) return
    await tx.run(
      `INSERT INTO diff (actor_id, peer_id, subscription_id, sequence, kind, data, replaces, created_at)
       SELECT $1, made.peer, made.subscription, n.number, 'diff', $4, 1, CAST($5 AS BIGINT)
       FROM ${columns}, rows($3, number BIGINT) AS n`,
      actorId,
      rows,
      numbers,
      diff,
      now,
    )
    await tx.run(
      `INSERT INTO delivery (actor_id, peer_id, subscription_id, sequence, written_at, outcome)
       SELECT $1, made.peer, made.subscription, n.number, CAST($4 AS BIGINT), 'waiting'
       FROM ${columns}, rows($3, number BIGINT) AS n`,
      actorId,
      rows,
      numbers,
      now,
    )
  })
}
