import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { everything } from '../support/callers.ts'
import {
  areaOf,
  ask,
  assertHoldsNothingOf,
  bearer,
  forCallers,
  Isolation,
  type Kind,
  textOf,
  type World,
} from '../support/isolation.ts'
import { sampleOf } from '../support/routes.ts'
import { forEachService, type TestActor } from '../support/service.ts'
import type { Dump } from '../support/store-dump.ts'

forEachService((start) => {
  const isolation = new Isolation()
  let world: World
  before(async () => {
    world = await isolation.begin(start)
  })

  /** An actor that no request has changed. */
  let spare: TestActor | undefined

  /** The store when no notice to a peer of a deleted actor is in progress. */
  async function settledStore(): Promise<Dump> {
    await (await world.service.app.running()).settled()
    return isolation.store()
  }

  describe('a route for callers', () => {
    for (const route of forCallers) {
      it(`${route.id} serves authorized callers within their categories, and affects no other actor (ACL-01, R-PERM-04)`, async () => {
        const grants = everything
        const { status, peer: named, peerStatus = status } = sampleOf(route)
        const owner = 'owner' in route ? route.owner : undefined
        const area = areaOf(route)
        const all = owner?.exclusive !== true
        const data = ['properties', 'files', 'methods', 'actions', 'resources'].includes(area)
        const ofAdmin = data || ['actor', 'trust', 'services'].includes(area)
        const ofTrustee = ['actor', 'trust', 'subscriptions', 'services'].includes(area)
        const asNamed =
          (approved: boolean): Kind =>
          ({ callers }, actor) =>
            bearer(
              callers.as(
                actor.id,
                (via) => ({ kind: 'peer', peerId: named ?? 'unknown', relationship: 'friend', approved, via }),
                grants,
              ),
            )
        const may: readonly [who: string, may: boolean, headers: Kind][] = [
          ['the creator', all, (_, actor) => ({ authorization: actor.authorization })],
          ['a session', all, ({ callers }, actor) => bearer(callers.session(actor.id))],
          ['a friend', data, ({ callers }, actor) => bearer(callers.peer(actor.id, { grants }))],
          ['a client', data, ({ callers }, actor) => bearer(callers.client(actor.id, { grants }))],
          [
            'a client of the type admin',
            data,
            ({ callers }, actor) => bearer(callers.client(actor.id, { relationship: 'admin', grants })),
          ],
          [
            'an unknown relationship',
            data,
            ({ callers }, actor) => bearer(callers.peer(actor.id, { relationship: 'neighbor', grants })),
          ],
          [
            'an admin',
            all && ofAdmin,
            ({ callers }, actor) => bearer(callers.peer(actor.id, { relationship: 'admin', grants })),
          ],
          [
            'an associate',
            data,
            ({ callers }, actor) => bearer(callers.peer(actor.id, { relationship: 'associate', grants })),
          ],
          ['a trustee', all && ofTrustee, ({ callers }, actor) => bearer(callers.trustee(actor.id))],
          ['the peer that the path names', data || owner !== undefined, asNamed(true)],
          ['that peer while it is not approved', owner?.standing === 'any', asNamed(false)],
        ]
        let actor = spare ?? (await isolation.freshActor())
        spare = undefined
        const served = async (who: string, expected: number, headers: Kind): Promise<string> => {
          const response = await ask(world, route, actor, headers(world, actor))
          assert.equal(response.status, expected, who)
          const text = await textOf(response)
          assertHoldsNothingOf(world.victim, text.replaceAll(/planted-\w+/g, ''), who)
          return text
        }
        const atFirst = await settledStore()
        for (const [who, allowed, headers] of may) {
          if (allowed) continue
          assertHoldsNothingOf(actor, await served(who, 403, headers), who)
          assert.deepEqual(await settledStore(), atFirst, who)
          assert.deepEqual(world.done, [], who)
        }
        let { writes } = isolation.dumps
        for (const [who, allowed, headers] of may) {
          if (!allowed) continue
          await served(who, who === 'the peer that the path names' ? peerStatus : status, headers)
          world.done.length = 0
          await (await world.service.app.running()).settled()
          // The actor of a request that wrote nothing serves the next caller, also of the next route.
          if (isolation.dumps.writes === writes) continue
          // A small store keeps the isolation.dumps short.
          await world.service.app.actors.delete(actor.id)
          actor = await isolation.freshActor()
          writes = isolation.dumps.writes
        }
        spare = actor
        await isolation.assertUntouched(route.id)
      })
    }
  })
})
