/** The own names of callers, with which the audit log records them. A later change of a name does not change the past. */
import { known, toPlain } from '../json/json.ts'
import { byActor, naming } from '../store/by-key.ts'
import type { Queries } from '../store/store.ts'
import type { TrustFacts } from '../app/trust-record.ts'
import { ownNameOf } from '../trust/names/own-name.ts'
import type { Trust } from '../trust/trust.ts'
import { factBuckets } from './facts-store.ts'

interface NamedCaller {
  readonly actorId: string
  readonly caller: string
}

interface CallerRow {
  readonly actorId: string
  readonly peerId: string
  readonly establishedVia: Trust['establishedVia']
  readonly description: string
  readonly facts: string
  readonly profile: string | null
}

/** Adds to each entry the own name that its peer or program has now. Empty without a relationship. */
export async function withCallerNames<T extends NamedCaller & { readonly callerKind: string }>(
  q: Queries,
  entries: readonly T[],
): Promise<(T & { readonly callerName: string })[]> {
  const rows = await byActor(
    q,
    entries.filter(isRelated),
    ({ actorId }) => actorId,
    (own, only) => findCallers(q, own, only),
  )
  const names = new Map(rows.map((row) => [keyOf({ actorId: row.actorId, caller: row.peerId }), nameIn(row)]))
  return entries.map((entry) => ({ ...entry, callerName: isRelated(entry) ? (names.get(keyOf(entry)) ?? '') : '' }))
}

function isRelated({ callerKind }: { readonly callerKind: string }): boolean {
  return callerKind === 'peer' || callerKind === 'client'
}

function keyOf({ actorId, caller }: NamedCaller): string {
  return `${actorId}\0${caller}`
}

function findCallers(q: Queries, callers: readonly NamedCaller[], only: string | null): Promise<CallerRow[]> {
  const named = [naming(only, 'a.actor_id', 3), naming(only, 't.actor_id', 4)]
  return q.all<CallerRow>(
    `SELECT t.actor_id AS "actorId", t.peer_id AS "peerId", t.established_via AS "establishedVia", t.description, t.facts,
       a.data AS profile
     FROM (SELECT DISTINCT r.owner, r.caller FROM rows($1, owner TEXT, caller TEXT) AS r) AS named
     JOIN trust AS t ON t.actor_id = named.owner AND t.peer_id = named.caller
     LEFT JOIN attribute AS a ON a.actor_id = t.actor_id AND a.bucket = $2
       AND a.name = t.actor_id || ':' || t.peer_id${named[0]?.sql}
     WHERE true${named[1]?.sql}`,
    JSON.stringify(callers.map(({ actorId, caller }) => [actorId, caller])),
    factBuckets.profile,
    ...(named[0]?.params ?? []),
    ...(named[1]?.params ?? []),
  )
}

function nameIn({ establishedVia, description, facts, profile }: CallerRow): string {
  const shown = profile === null ? undefined : toPlain(known(profile))
  return ownNameOf({ establishedVia, description, facts: JSON.parse(facts) as TrustFacts }, shown)
}
