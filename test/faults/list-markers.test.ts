/** Values that peers would read as lists. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { z } from 'zod'
import { archiveOf, restore } from '../support/archives.ts'
import { until } from '../support/until.ts'
import { authorizeClient } from '../support/mcp-client.ts'
import { forEachService } from '../support/service.ts'
import { OwnersBrowser } from '../support/sessions.ts'
import type { App } from '../../src/troupe.ts'

const descriptions = [
  '{"_list":true,"count":1}',
  '{"count":1,"_list":true}',
  '{"_list":true}',
  '{"_list":1}',
  '{"_list":"true","count":0}',
  '{"_list":true,"count":null,"error":"list_corrupted"}',
  String.raw`{"\u005flist":true,"count":1}`,
  '{"list":"shopping","operation":"append","length":1,"item":"milk"}',
  '{"operation":"delete_all","list":"shopping","length":0}',
  '{"list":"shopping","operation":"metadata","description":""}',
] as const

/** Objects that only resemble a description. */
const values = [
  '{"_list":false}',
  '{"_list":null}',
  '{"list":true,"count":1}',
  '{"inside":{"_list":true}}',
  '["_list"]',
  '"_list"',
  '{"list":"shopping","operation":"buy"}',
  '{"list":"other","operation":"append"}',
  '{"operation":"append"}',
] as const

const sentence =
  /marks a list|describe the change of a list.*Create a list with POST \/properties and \{"<name>":\{"_type":"list"\}\}, and add its items/

function declare(app: App): void {
  app.action('keep', { input: z.object({ text: z.string() }), mcp: true }, async ({ actor, input }) => {
    await actor.setText('shopping', input.text)
    return { kept: true }
  })
}

forEachService((start) => {
  describe('the description of a list', () => {
    it('is refused as a value at every entrance, with what to do, and changes nothing (LST-14)', async () => {
      const service = await start({ declare })
      const actor = await service.createActor()
      const handle = await service.app.actors.get(actor.id)
      assert.ok(handle !== null && handle !== undefined)
      const client = await authorizeClient(service, actor)
      const browser = await OwnersBrowser.open(service, actor)
      for (const value of descriptions) {
        for (const [method, path, body] of [
          ['PUT', '/properties/shopping', value],
          ['POST', '/properties', `{"other":1,"shopping":${value}}`],
          ['PUT', '/properties', `{"other":1,"shopping":${value}}`],
          ['POST', '/properties/shopping', value],
          ['POST', '/actions/keep', JSON.stringify({ text: value })],
        ] as const) {
          const answer = await actor.request(method, path, body)
          const text = await answer.text()
          assert.equal(answer.status, 400, `${method} ${path} ${value}: ${text}`)
          assert.match((JSON.parse(text) as { message: string }).message, sentence, `${method} ${path}`)
        }
        await assert.rejects(handle.setText('shopping', value), { code: 'invalid_value', message: sentence })
        await assert.rejects(
          handle.transaction((tx) => tx.setText('shopping', value)),
          { code: 'invalid_value', message: sentence },
        )
        const called = await client.legacy('tools/call', { name: 'keep', arguments: { text: value } })
        assert.match(JSON.stringify(called.body), /so peers would read the value as a list/)
        const fields = { property_name: 'shopping', property_value: value, property_type: 'simple', value_type: 'json' }
        assert.equal((await browser.send('/properties', fields)).status, 400)
      }
      await actor.request('POST', '/import', archiveWith(descriptions[0]))
      const refusals = async (): Promise<string> => (await actor.request('GET', '/import')).text()
      await until(async () => !(await refusals()).includes('"running"'))
      assert.match(await refusals(), /"refused":\{"count":1,.*so peers would read the value as a list/)
      assert.equal(await (await actor.request('GET', '/properties')).text(), '{}')
    })

    it('is refused when it is put together below a name (LST-14)', async () => {
      const service = await start()
      const actor = await service.createActor()
      const handle = await service.app.actors.get(actor.id)
      assert.ok(handle !== null && handle !== undefined)
      await actor.request('PUT', '/properties/shopping', '{"list":"shopping","count":1}')
      for (const [path, value] of [
        ['shopping/_list', 'true'],
        ['shopping/_list/deep', '1'],
        ['shopping/operation', '"append"'],
        ['new/_list', 'true'],
      ] as const) {
        const answer = await actor.request('PUT', `/properties/${path}`, value)
        assert.equal(answer.status, 400, path)
        assert.match(await answer.text(), /so peers would read the value as a list/)
        await assert.rejects(
          handle.transaction((tx) => tx.setText(path, value)),
          { code: 'invalid_value' },
        )
      }
      assert.equal(
        await (await actor.request('GET', '/properties')).text(),
        '{"shopping":{"list":"shopping","count":1}}',
      )
    })

    it('is only refused where peers would read a list (LST-14)', async () => {
      const service = await start()
      const actor = await service.createActor()
      for (const value of values) {
        assert.equal((await actor.request('PUT', '/properties/shopping', value)).status, 204, value)
        assert.equal(await (await actor.request('GET', '/properties/shopping')).text(), value.replace(/^"(.*)"$/, '$1'))
      }
      for (const value of descriptions) {
        await actor.request('POST', '/properties', '{"l":{"_type":"list"}}')
        assert.equal((await actor.request('POST', '/properties/l', value)).status, 201, `item ${value}`)
      }
    })

    it('is kept where an older version stored it, moves with the actor, and can be repaired (LST-14)', async () => {
      const service = await start()
      const actor = await service.createActor()
      const { store } = await service.app.running()
      await actor.request('PUT', '/properties/shopping', '{"count":1}')
      await store.write((tx) =>
        tx.run(
          `UPDATE property SET value = '{"_list":true,"count":1}', checksum = NULL WHERE actor_id = $1 AND name = 'shopping'`,
          actor.id,
        ),
      )
      const read = async (): Promise<string> => (await actor.request('GET', '/properties/shopping')).text()
      assert.equal(await read(), '{"_list":true,"count":1}')
      const moved = (await archiveOf(service, actor.id)).replaceAll(actor.id, 'copied')
      assert.equal((await restore(service, moved)).actorId, 'copied')
      assert.equal((await actor.request('PUT', '/properties/shopping/note', '"old"')).status, 204)
      assert.equal((await actor.request('DELETE', '/properties/shopping/_list')).status, 204)
      assert.equal(await read(), '{"count":1,"note":"old"}')
    })
  })
})

function archiveWith(value: string): string {
  const header =
    '{"kind":"archive","version":1,"actor":"imported","creator":"ada@example.com","created_at":"2026-01-01T00:00:00.000Z"}'
  return `${header}\n{"kind":"property","name":"shopping","value":${value}}\n{"kind":"end","records":2}\n`
}
