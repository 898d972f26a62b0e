import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseOrigin } from '../../src/origin.ts'
import { authorizeClient } from '../support/mcp-client.ts'
import { forEachService, type TestService } from '../support/service.ts'
import { writtenAuditLog } from '../support/written-audit-log.ts'

async function originIn(service: TestService, actorId: string, name: string) {
  const { store } = await service.app.running()
  const row = await store.read((q) =>
    q.get<{ origin: string }>('SELECT origin FROM property WHERE actor_id = $1 AND name = $2', actorId, name),
  )
  return row === undefined ? undefined : parseOrigin(row.origin)
}

describe('the origin of a change', () => {
  forEachService((start) => {
    it('is stored for the owner and for the call of an AI client, with the id of the request', async () => {
      const service = await start({
        declare: (app) => {
          app.action('add_note', { mcp: true }, async ({ actor }) => {
            await actor.set('color', 'blue')
            await actor.list('notes').append('hello')
            return { saved: true }
          })
        },
      })
      const actor = await service.createActor()
      await actor.request('PUT', '/properties/color', 'red', { 'x-request-id': 'request-1' })
      assert.deepEqual(await originIn(service, actor.id, 'color'), { by: 'creator', request: 'request-1' })
      const client = await authorizeClient(service, actor, { clientId: 'mcp_origin' })
      await client.legacy('tools/call', { name: 'add_note' }, { 'x-request-id': 'request-2' })
      const origin = { by: 'client', name: 'mcp_origin', call: 'tools/call add_note 1', request: 'request-2' }
      assert.deepEqual(await originIn(service, actor.id, 'color'), origin)
      assert.deepEqual(await originIn(service, actor.id, 'notes'), origin)
      const { store } = await service.app.running()
      const item = await store.read((q) =>
        q.get<{ origin: string }>('SELECT origin FROM list_item WHERE actor_id = $1', actor.id),
      )
      assert.deepEqual(JSON.parse(item?.origin ?? ''), origin)
    })

    it('is stored correctly for many concurrent changes, even when one request commits the change of another', async () => {
      const service = await start()
      const actors = await Promise.all(Array.from({ length: 8 }, () => service.createActor()))
      await Promise.all(
        actors.flatMap((actor) =>
          Array.from({ length: 5 }, (_, n) =>
            actor.request('PUT', `/properties/p${n}`, String(n), { 'x-request-id': `${actor.id}-${n}` }),
          ),
        ),
      )
      for (const actor of actors) {
        for (let n = 0; n < 5; n += 1) {
          assert.deepEqual(await originIn(service, actor.id, `p${n}`), { by: 'creator', request: `${actor.id}-${n}` })
        }
      }
    })

    it('appears in the activity of the owner, for each allowed and each refused call of a client', async () => {
      const service = await start({
        activityPerActor: 100,
        declare: (app) => void app.action('add_note', { mcp: true }, async () => ({ saved: true })),
      })
      const actor = await service.createActor()
      const client = await authorizeClient(service, actor)
      const viewer = await authorizeClient(service, actor, { relationship: 'viewer' })
      await client.legacy('tools/call', { name: 'add_note', arguments: { secret: 'hush' } })
      await viewer.modern('tools/call', { name: 'add_note' })
      await writtenAuditLog(service)
      const listed = await actor.request('GET', '/activity')
      const { activity: entries } = (await listed.json()) as { activity: Record<string, unknown>[] }
      const lines = entries.map(({ caller, through, method, path, decision }) => [
        caller,
        through,
        method,
        path,
        decision,
      ])
      assert.deepEqual(
        lines.map((line) => line.join(' ')).toSorted(),
        [
          `${client.peerId} mcp tools/call add_note allowed`,
          `${viewer.peerId} mcp tools/call add_note refused`,
        ].toSorted(),
      )
      assert.ok(!JSON.stringify(entries).includes('hush'))
    })
  })
})
