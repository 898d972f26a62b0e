/** Records and times that evil services make up. */
import type { Random } from '../../support/random.ts'
import type { SimActor } from '../world.ts'

/** An archive whose relationships name the other actors at their addresses. */
export function forgedRecords(id: string, peers: readonly SimActor[], secret: () => string): string {
  const at = '2030-01-01T00:00:00.000Z'
  const relationships = peers.map((peer) => ({
    kind: 'relationship',
    peer_id: peer.id,
    baseuri: peer.url,
    type: 'urn:actingweb:example.com:simulation',
    relationship: 'friend',
    secret: secret(),
    verification_token: 'token',
    description: '',
    nickname: '',
    approved: true,
    approved_until: null,
    peer_approved: true,
    verified: true,
    established_via: 'trust',
    facts: {},
    created_at: at,
    last_accessed: null,
    last_connected_via: '',
    request: null,
  }))
  const head = { kind: 'archive', version: 1, actor: id, creator: 'mallory', created_at: at, secrets: true }
  const lines = [head, ...relationships, { kind: 'end', records: relationships.length + 1 }]
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('')
}

/** Times of a statement or notice: far in the future, in the past, or none at all. */
export function bogusTimes(random: Random): Record<string, unknown> {
  const [now, year] = [Date.now(), 365 * 86_400_000]
  const seconds = Math.floor(now / 1000)
  return random.pick<Record<string, unknown>>([
    { moved_at: now + 100 * year, stated_at: now + 100 * year, exp: seconds + 3_000_000_000 },
    { moved_at: 8.64e15, stated_at: 8.64e15 },
    { moved_at: now + 50_000, stated_at: now + 50_000, iat: Math.floor((now + 50_000) / 1000), exp: seconds + 300 },
    { moved_at: 0, stated_at: 0, iat: 0, exp: 1 },
    { moved_at: now - year, stated_at: now },
    { moved_at: 'soon', stated_at: null },
    { moved_at: -1, stated_at: 1e300 },
  ])
}
