/** Names of properties that look alike: the same letters in two Unicode forms. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isRecord } from '../../src/json/is-record.ts'
import { relate } from '../support/friends.ts'
import { authorizeClient } from '../support/mcp-client.ts'
import { forEachService, type TestActor, type TestService } from '../support/service.ts'
import { OwnersBrowser } from '../support/sessions.ts'
import { until } from '../support/until.ts'

const composed = ['caf\u00e9', '\u1ebf', '\uac01', '\u00c5\u00f6'] as const
const others = composed.map((name) => name.normalize('NFD'))
const address = encodeURIComponent

async function listed(actor: TestActor): Promise<unknown> {
  return (await actor.request('GET', '/properties')).json()
}

/** Stores values under names in the form NFD, as earlier versions did. */
async function plant(service: TestService, actor: TestActor): Promise<void> {
  const { store } = await service.app.running()
  await store.writeActor(actor.id, async (tx) => {
    for (const name of others)
      await tx.run(
        "INSERT INTO property (actor_id, name, kind, value, version) VALUES ($1, $2, 'value', '\"old\"', 1)",
        actor.id,
        name,
      )
  })
}

forEachService((start) => {
  describe('a name in another Unicode form', () => {
    it('is stored and found as one property in the form NFC, at every entrance (ACL-22)', async () => {
      const service = await start()
      const actor = await service.createActor()
      const handle = await service.app.actors.get(actor.id)
      assert.ok(handle !== null && handle !== undefined)
      const client = await authorizeClient(service, actor)
      const browser = await OwnersBrowser.open(service, actor)
      for (const [at, name] of composed.entries()) {
        const other = others[at] ?? ''
        const fields = { property_name: other, property_value: 'x', property_type: 'simple', value_type: 'text' }
        const entrances: readonly (() => Promise<unknown>)[] = [
          async () => actor.request('PUT', `/properties/${address(other)}`, '"x"'),
          async () => actor.request('POST', `/properties/${address(other)}`, '"x"'),
          async () => actor.request('PUT', '/properties', { [other]: 'x' }),
          async () => actor.request('POST', '/properties', { [other]: 'x' }),
          async () => handle.set(other, 'x'),
          async () => handle.setText([other], '"x"'),
          async () => handle.transaction((tx) => tx.set(other, 'x')),
          async () => handle.update(other, () => 'x'),
          async () => browser.send('/properties', fields),
        ]
        for (const [n, enter] of entrances.entries()) {
          await enter()
          assert.deepEqual(await listed(actor), { [name]: 'x' }, `${name} ${n}`)
          assert.equal(await (await actor.request('GET', `/properties/${address(other)}`)).text(), 'x')
          assert.equal(await handle.get(other), 'x')
          assert.equal(await handle.transaction((tx) => tx.get(other)), 'x')
          const read = await client.legacy('resources/read', { uri: `actingweb://properties/${address(other)}` })
          assert.match(JSON.stringify(read.body), /\\"x\\"/)
          assert.equal((await actor.request('DELETE', `/properties/${address(other)}`)).status, 204)
          assert.deepEqual(await listed(actor), {}, `${name} ${n}`)
        }
        await handle.list(other).append('milk')
        await handle.transaction((tx) => tx.list(other).append('bread'))
        await actor.request('POST', `/properties/${address(other)}/items`, { action: 'add', item_value: 'tea' })
        assert.deepEqual(await handle.list(name).items(), ['milk', 'bread', 'tea'])
        assert.deepEqual(await handle.list(other).items(), ['milk', 'bread', 'tea'])
        await handle.list(other).remove()
        assert.deepEqual(await listed(actor), {})
      }
    })

    it('reaches an old property of exactly this name, and nothing is lost (ACL-22)', async () => {
      const service = await start()
      const actor = await service.createActor()
      const handle = await service.app.actors.get(actor.id)
      assert.ok(handle !== null && handle !== undefined)
      await plant(service, actor)
      for (const [at, name] of composed.entries()) {
        const other = others[at] ?? ''
        assert.equal(await (await actor.request('GET', `/properties/${address(other)}`)).text(), 'old')
        assert.equal((await actor.request('GET', `/properties/${address(name)}`)).status, 404)
        assert.equal((await actor.request('PUT', '/properties', { [name]: 'new', [other]: 'kept' })).status, 204)
        assert.equal(await handle.get(name), 'new')
        assert.equal(await handle.get(other), 'kept')
        await handle.transaction((tx) => tx.set(other, 'again'))
        assert.equal(await handle.get(name), 'new')
        assert.equal(await handle.get(other), 'again')
        await handle.delete(other)
        assert.equal(await handle.get(other), 'new')
        await handle.delete(other)
      }
      assert.deepEqual(await listed(actor), {})
    })

    it('calls the hooks of the name, and two forms of a name in one body are refused (ACL-22)', async () => {
      const seen: string[] = []
      const service = await start({
        declare: (app) => {
          for (const name of composed)
            app.property(name, {
              put: ({ value, path }) => {
                seen.push(path.join('/'))
                return value
              },
            })
        },
      })
      const actor = await service.createActor()
      for (const [at, name] of composed.entries()) {
        const other = others[at] ?? ''
        assert.equal((await actor.request('PUT', `/properties/${address(other)}`, '"x"')).status, 204)
        assert.deepEqual(seen.splice(0), [name])
        const refused = await actor.request('PUT', '/properties', { [name]: 'a', [other]: 'b' })
        assert.equal(refused.status, 400)
        const body: unknown = await refused.json()
        assert.match(isRecord(body) ? String(body['message']) : '', /in two Unicode forms/)
      }
    })

    it('takes two statements more, and names that no property can have stay refused (ACL-22)', async () => {
      const service = await start()
      const actor = await service.createActor()
      const count = async (name: string): Promise<number> => {
        service.reset()
        await actor.request('GET', `/properties/${address(name)}`)
        return service.statements.length
      }
      await actor.request('PUT', `/properties/${address(composed[0])}`, '"x"')
      const plain = await count(composed[0])
      for (const name of others) assert.equal((await count(name)) - plain, 2, name)
      for (const name of ['e\u0301'.repeat(1000), '', `list:${others[0]}`])
        assert.equal((await actor.request('PUT', '/properties', { [name]: 'x' })).status, 400, name.slice(0, 20))
    })

    it('comes in by an import of the owner as by a request, and two forms in one archive are refused (ACL-23)', async () => {
      const service = await start()
      for (const existing of ['keep', 'replace'] as const) {
        const actor = await service.createActor()
        const handle = await service.app.actors.get(actor.id)
        assert.ok(handle !== null && handle !== undefined)
        const records: object[] = [
          { kind: 'archive', version: 1, actor: 'ada', creator: 'ada', created_at: '2026-01-01T00:00:00.000Z' },
          ...others.map((name) => ({ kind: 'property', name, value: 'from the archive' })),
          { kind: 'property', name: composed[0], value: 'the other form' },
          ...others.flatMap((name, at) => [
            {
              kind: 'list',
              name: `${name} ${at}`,
              id: `l${at}`,
              description: '',
              explanation: '',
              created_at: '2026-01-01T00:00:00.000Z',
              updated_at: '2026-01-01T00:00:00.000Z',
              next_item: 2,
              revision: 1,
              length: 1,
            },
            { kind: 'item', number: 1, value: 'milk' },
          ]),
        ]
        const archive = [...records, { kind: 'end', records: records.length }].map((one) => JSON.stringify(one))
        const bring = async (): Promise<Record<string, unknown>> => {
          const begun = await actor.request('POST', `/import?existing=${existing}`, `${archive.join('\n')}\n`)
          assert.equal(begun.status, 202, await begun.clone().text())
          await service.settled()
          return (await (await actor.request('GET', '/import')).json()) as Record<string, unknown>
        }
        for (const round of [0, 1]) {
          const report = await bring()
          assert.deepEqual(
            [report['state'], report['imported'], report['same']],
            round === 0
              ? ['done', { property: 4, list: 4, item: 4 }, {}]
              : ['done', {}, { property: 4, list: 4, item: 4 }],
          )
          assert.match(JSON.stringify(report['refused']), /^\{"count":1,.*has this name in two Unicode forms/)
          for (const [at, name] of composed.entries()) {
            assert.equal(await handle.get(name), 'from the archive')
            assert.deepEqual(await handle.list(`${name} ${at}`).items(), ['milk'])
          }
          const names = Object.keys((await listed(actor)) as object)
          assert.deepEqual(
            names.filter((name) => name !== name.normalize('NFC')),
            [],
          )
        }
        // A property of an older version has exactly this name, and gets the value.
        await plant(service, actor)
        const report = await bring()
        assert.deepEqual(await handle.get(others[1] ?? ''), existing === 'keep' ? 'old' : 'from the archive')
        assert.equal(report['state'], 'done')
      }
    })

    it('is the name of the publisher in a copy and on the way to it, whatever form a subscriber writes (ACL-23)', async () => {
      const service = await start({ listen: true, allowPrivatePeers: true })
      const [asking, publisher] = [await service.createActor(), await service.createActor()]
      await relate(asking, [service, publisher])
      const [copies, published] = [await service.app.actors.get(asking.id), await service.app.actors.get(publisher.id)]
      assert.ok(copies !== undefined && published !== undefined)
      // The publisher has one name in the form NFC, and one as an older version stored it.
      const [fresh, old] = [composed[0], others[1] ?? '']
      await plant(service, publisher)
      await published.delete(others[0] ?? '')
      await published.set(fresh, 'first')
      await published.list('\u1ebf list').append('milk')
      for (const subtarget of [others[0] ?? '', old, '\u1ebf list'.normalize('NFD')])
        await copies.subscribe(publisher.id, { subtarget })
      const remote = copies.remote(publisher.id)
      assert.deepEqual(Object.keys(await remote.all()).toSorted(), [fresh, old, '\u1ebf list'].toSorted())
      await published.set(others[0] ?? '', 'second')
      await published.set(old, 'newer')
      await published.list('\u1ebf list').append('tea')
      await until(async () => (await remote.list('\u1ebf list').length()) === 2)
      await until(async () => (await remote.get(fresh)) === 'second' && (await remote.get(old)) === 'newer')
      assert.equal(await remote.get(others[0] ?? ''), 'second')
      assert.deepEqual(await remote.list('\u1ebf list'.normalize('NFD')).items(), ['milk', 'tea'])
      assert.deepEqual((await remote.list('\u1ebf list'.normalize('NFD')).query()).items, [
        { item: 'milk' },
        { item: 'tea' },
      ])
      assert.deepEqual(Object.keys(await remote.all()).toSorted(), [fresh, old, '\u1ebf list'].toSorted())
      // A suspension means the same property as a request.
      await published.subscriptions.suspend('properties', others[0] ?? '')
      assert.deepEqual(await published.subscriptions.suspended(), [{ target: 'properties', subtarget: fresh }])
      await published.subscriptions.resume('properties', others[0] ?? '')
      assert.deepEqual(await published.subscriptions.suspended(), [])
    })
  })
})
