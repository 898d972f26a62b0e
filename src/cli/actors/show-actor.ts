/** `troupe actors show`: facts about one actor, without its values. */
import { commandArgs } from '../command-args.ts'
import { namedActor } from './named-actor.ts'
import { withExistingStore } from '../existing-store.ts'
import { counted, print, printable, printJson, sizeText, timeText } from '../output.ts'
import { UsageError } from '../usage-error.ts'
import { type ActorFacts, actorFacts } from '../../operator/actor-facts.ts'

export async function showActor(args: readonly string[]): Promise<number> {
  const { words, options } = commandArgs('troupe actors show', args, { json: 'boolean' })
  const [id, ...more] = words
  if (id === undefined || more.length > 0)
    throw new UsageError('Cannot run troupe actors show: expected the id or the creator of one actor.')
  const facts = await withExistingStore((store) =>
    store.snapshot(async (q) => {
      const found = await namedActor(q, id)
      return found === null ? null : actorFacts(q, found)
    }),
  )
  if (facts === null) throw new UsageError(`Cannot show actor ${printable(id)}: it does not exist.`)
  if (options.json === true) printJson(asJson(facts))
  else for (const line of linesOf(facts)) print(line)
  return 0
}

function asJson(facts: ActorFacts): object {
  const { relationships, sessions, createdAt, basicUsedAt, lastUsedAt } = facts
  return {
    ...facts,
    createdAt: timeText(createdAt),
    relationships: {
      count: relationships.count,
      shown: relationships.shown.map((one) => ({
        ...one,
        approved: one.approved === 1,
        peerApproved: one.peerApproved === 1,
        lastAccessed: timeOrNull(one.lastAccessed),
      })),
    },
    sessions: {
      count: sessions.count,
      shown: sessions.shown.map((one) => ({
        ...one,
        createdAt: timeText(one.createdAt),
        lastUsedAt: timeText(one.lastUsedAt),
      })),
    },
    basicUsedAt: timeOrNull(basicUsedAt),
    lastUsedAt: timeOrNull(lastUsedAt),
  }
}

function timeOrNull(ms: number | null): string | null {
  return ms === null || ms === 0 ? null : timeText(ms)
}

function* linesOf(facts: ActorFacts): Generator<string> {
  const { properties, lists, subscriptions, relationships, sessions } = facts
  yield `actor          ${facts.id}`
  yield `creator        ${printable(facts.creator)}${facts.isProven ? ' (proven)' : ' (not proven)'}`
  if (facts.isSuspended) yield 'suspended      by an operator: every request is refused'
  yield `created        ${timeText(facts.createdAt)}`
  yield `last use       ${timeOrNull(facts.lastUsedAt) ?? 'never'}`
  yield `Basic          ${timeOrNull(facts.basicUsedAt) ?? 'never'}`
  yield `properties     ${properties.count}, ${sizeText(properties.bytes)}`
  yield `lists          ${lists.count} with ${counted(lists.items, 'item')}, ${sizeText(lists.bytes)}`
  yield `subscriptions  ${subscriptions.ofPeers} of peers, ${subscriptions.toPeers} to peers`
  yield `relationships  ${relationships.count}`
  for (const one of relationships.shown) {
    const state =
      one.approved === 1 ? (one.peerApproved === 1 ? 'approved' : 'not approved by the peer') : 'not approved'
    yield `  ${printable(one.peerId)}  ${printable(one.relationship)}, ${state}${one.baseuri === '' ? '' : `, ${printable(one.baseuri)}`}`
  }
  yield `sessions       ${sessions.count}`
  for (const one of sessions.shown)
    yield `  ${timeText(one.lastUsedAt)}  ${printable(one.beganWith)}, ${printable(one.device === '' ? 'unknown device' : one.device)}`
}
