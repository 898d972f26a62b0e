/** Numbers beyond the range of a double, and digits that a double does not have. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { z } from 'zod'
import { bodyOfFramework } from '../../src/http/edge/framework-body.ts'
import { known, normalize, toPlain } from '../../src/json/json.ts'
import type { App } from '../../src/troupe.ts'
import { archiveOf, restore } from '../support/archives.ts'
import { authorizeClient } from '../support/mcp-client.ts'
import { seeded } from '../support/random.ts'
import { listenTo, ScriptedPeers } from '../support/scripted-peer.ts'
import { forEachService, type TestActor, type TestService } from '../support/service.ts'
import { OwnersBrowser } from '../support/sessions.ts'

const tooLarge = [
  '1e400',
  '-1e400',
  '1E+400',
  '1e0309',
  '1.8e308',
  '-17976931348623159e292',
  `1${'0'.repeat(309)}`,
  `-${'9'.repeat(400)}.5`,
  `${'9'.repeat(250)}e60`,
  `0.1e310`,
  '1e99999999999999999999999999999999999',
] as const

/** The largest finite numbers, and long ones that are small. */
const inRange = [
  '1.7976931348623157e308',
  '-1.7976931348623158e308',
  `1${'0'.repeat(308)}`,
  `0.${'0'.repeat(400)}1`,
  '1e-400',
  '1e000000000000000000000000000000000000001',
  `${'9'.repeat(250)}e50`,
] as const

/** A value with the number somewhere in it. */
function nested(random: ReturnType<typeof seeded>, number: string): string {
  let text = number
  for (let depth = random.below(5); depth > 0; depth--)
    text =
      [`[${text}]`, `[1,"e999",${text}]`, `{"a":${text}}`, `{"1e400":0,"b":${text},"c":null}`][random.below(4)] ?? ''
  return text
}

const isRefusal = async (answer: Response, what: string): Promise<void> => {
  const text = await answer.text()
  assert.equal(answer.status, 400, `${what}: ${text}`)
  assert.match(text, /beyond the range of a double \(1\.8e308\)/, what)
}

function declare(app: App): void {
  app.action('keep', { input: z.object({ n: z.any() }), mcp: true }, async ({ actor, input }) => {
    await actor.set('kept', input.n as object)
    return { kept: true }
  })
  app.action('show', { mcp: true }, async ({ actor }) => ({ shown: await actor.all() }))
}

describe('numbers beyond the range of a double', () => {
  it('are refused when JSON is read, in any nesting, and the largest finite ones are kept (HTTP-15)', () => {
    const random = seeded(26)
    for (let round = 0; round < 400; round++) {
      const number = random.pick(tooLarge)
      assert.throws(
        () => normalize(nested(random, number)),
        { code: 'invalid_value', message: /^The number at position \d+ is beyond the range of a double/ },
        number,
      )
      const kept = nested(random, random.pick(inRange))
      assert.equal(normalize(kept), kept)
      assert.deepEqual(toPlain(normalize(kept)), JSON.parse(kept))
    }
  })

  it('leave a string that is not JSON, and only begins as such a number, to its reader (HTTP-15)', () => {
    for (const text of ['17e354d05a4c18d8', '1e400 apples', '-1e999x', '[1e400', '{"a":1e999,}', '1e400 2'])
      assert.throws(() => normalize(text), { code: 'invalid_json' }, text)
  })

  it('are read as the largest double where an older version stored them (HTTP-15)', () => {
    for (const number of tooLarge) {
      const most = number.startsWith('-') ? -Number.MAX_VALUE : Number.MAX_VALUE
      assert.deepEqual(toPlain(known(`{"a":[${number}],"b":"1e400"}`)), { a: [most], b: '1e400' })
    }
  })

  it('are refused in a body that a framework has parsed (HTTP-15)', () => {
    const message = (body: unknown): Parameters<typeof bodyOfFramework>[0] =>
      ({ body, headers: { 'content-type': 'application/json', 'content-length': '9' } }) as Parameters<
        typeof bodyOfFramework
      >[0]
    for (const number of tooLarge)
      assert.throws(() => bodyOfFramework(message(JSON.parse(`{"a":[${number}]}`))), { code: 'invalid_value' }, number)
    assert.equal(String(bodyOfFramework(message({ a: [Number.MAX_VALUE] }))), '{"a":[1.7976931348623157e+308]}')
  })
})

forEachService((start) => {
  async function world(): Promise<{ service: TestService; actor: TestActor }> {
    const service = await start({ declare })
    const actor = await service.createActor()
    await actor.request('PUT', '/properties/old', '{"n":1}')
    await actor.request('POST', '/properties', '{"l":{"_type":"list"}}')
    await actor.request('POST', '/properties/l', '1')
    return { service, actor }
  }
  const before = '{"old":{"n":1},"l":{"_list":true,"count":1}}'
  const stored = async (actor: TestActor): Promise<string> => (await actor.request('GET', '/properties')).text()

  describe('a number beyond the range of a double', () => {
    it('is refused by every request that stores or passes on JSON, and changes nothing (HTTP-15)', async () => {
      const { service, actor } = await world()
      const random = seeded(400)
      for (const number of tooLarge) {
        const value = nested(random, number)
        for (const [method, path, body] of [
          ['PUT', '/properties/new', value],
          ['PUT', '/properties/old', value],
          ['PUT', '/properties/old/n', value],
          ['PUT', '/properties', `{"new":${value}}`],
          ['POST', '/properties', `{"new":${value},"other":1}`],
          ['POST', '/properties/l', value],
          ['PUT', '/properties/l/0', value],
          ['POST', '/actions/keep', `{"n":${value}}`],
          ['PUT', '/properties/old?format=full', value],
          ['POST', '/import', archiveWith(value)],
        ] as const)
          await isRefusal(await actor.request(method, path, body), `${method} ${path} ${number.slice(0, 20)}`)
        await isRefusal(
          await actor.request('PUT', '/properties/new', value, { 'content-type': 'text/plain' }),
          'a text that is JSON',
        )
        const where = await actor.request('GET', `/properties/l/items?where[a]=${encodeURIComponent(number)}`)
        await isRefusal(where, 'a query')
        await assert.rejects(restore(service, archiveWith(value)), { message: /beyond the range of a double/ })
      }
      assert.equal(await stored(actor), before)
    })

    it('is refused in forms of the pages, which name the field (HTTP-15)', async () => {
      const { service, actor } = await world()
      const browser = await OwnersBrowser.open(service, actor)
      for (const number of tooLarge) {
        for (const type of ['number', 'json', '']) {
          const fields = { property_name: 'new', property_value: number, property_type: 'simple', value_type: type }
          const answer = await browser.send('/properties', fields)
          assert.equal(answer.status, 400, `${type} ${number}`)
          assert.match(await answer.text(), /isn’t a number|beyond the range of a double/)
        }
      }
      assert.equal(await stored(actor), before)
    })

    it('is refused in arguments of AI clients (HTTP-15)', async () => {
      const { service, actor } = await world()
      const client = await authorizeClient(service, actor)
      for (const number of tooLarge) {
        const call = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"keep","arguments":{"n":[${number}]}}}`
        const answer = await client.send(call)
        assert.deepEqual(await answer.json(), {
          jsonrpc: '2.0',
          error: {
            code: -32700,
            message:
              'Invalid request: The number at position 88 is beyond the range of a double (1.8e308): send it as a string',
          },
        })
      }
      assert.equal(await stored(actor), before)
    })

    it('is refused in callbacks, answers and data of peers, and the copy stays as it was (HTTP-15)', async () => {
      const peers = new ScriptedPeers()
      const service = await start({ declare, peerClient: peers })
      const actor = await service.createActor()
      const peer = await listenTo(service, actor)
      peers.publish({ subscriber: actor.id, id: peer.id }, {}, 7)
      assert.equal((await peer.diff(1, { mood: { now: 1 } })).status, 204)
      for (const number of tooLarge) {
        const diff = `{"id":"${peer.peerId}","subscriptionid":"${peer.id}","target":"properties","sequence":2,"granularity":"high","data":{"mood":{"now":${number}}}}`
        await isRefusal(await peer.send(diff), 'a callback')
        peers.answers.set('GET /properties', { body: `{"mood":${number}}` })
        const handle = await service.app.actors.get(actor.id)
        const { subscriptions } = (await handle?.sync(peer.peerId)) ?? { subscriptions: [] }
        assert.deepEqual(
          subscriptions.map(({ outcome }) => outcome),
          ['failed'],
        )
      }
      assert.deepEqual(await peer.copy(), { mood: { now: 1 } })
    })
  })

  describe('a number beyond the range of a double that an older version stored', () => {
    it('is served, exported, copied and read by handlers, and can be replaced (HTTP-15)', async () => {
      const peers = new ScriptedPeers()
      const service = await start({ declare, peerClient: peers })
      const actor = await service.createActor()
      const { store } = await service.app.running()
      await actor.request('PUT', '/properties/big', '1')
      await actor.request('POST', '/properties', '{"l":{"_type":"list"}}')
      await actor.request('POST', '/properties/l', '1')
      const peer = await listenTo(service, actor)
      assert.equal((await peer.diff(1, { mood: 1 })).status, 204)
      await store.write(async (tx) => {
        await tx.run(
          `UPDATE property SET value = '1e400', checksum = NULL WHERE actor_id = $1 AND name = 'big'`,
          actor.id,
        )
        await tx.run(`UPDATE list_item SET value = '-1e400', checksum = NULL WHERE actor_id = $1`, actor.id)
        await tx.run(`UPDATE attribute SET data = '{"a":1e400}' WHERE actor_id = $1 AND name = 'mood'`, actor.id)
      })
      assert.equal(await (await actor.request('GET', '/properties/big')).text(), '1e400')
      assert.equal(await (await actor.request('GET', '/properties/l')).text(), '[-1e400]')
      const shown = await actor.request('POST', '/actions/show', '{}')
      assert.deepEqual(await shown.json(), { shown: { big: Number.MAX_VALUE } })
      const client = await authorizeClient(service, actor)
      const called = await client.legacy('tools/call', { name: 'show', arguments: {} })
      assert.match(JSON.stringify(called.body), /"structuredContent":\{"shown":\{"big":1\.7976931348623157e\+308\}\}/)
      assert.deepEqual(await peer.copy(), { mood: { a: Number.MAX_VALUE } })
      const handle = await service.app.actors.get(actor.id)
      assert.deepEqual(await handle?.list('l').items(), [-Number.MAX_VALUE])
      assert.equal(await handle?.getText('big'), '1e400')
      await handle?.update('big', (value) => ({ was: value ?? null }))
      assert.equal(await handle?.getText('big'), '{"was":1.7976931348623157e+308}')
      await handle?.list('l').append(1)
      await assert.rejects(restore(service, (await archiveOf(service, actor.id)).replaceAll(actor.id, 'copied')), {
        message: /beyond the range of a double/,
      })
      assert.equal((await actor.request('PUT', '/properties/big', '2')).status, 204)
      assert.equal(await handle?.get('big'), 2)
    })
  })

  describe('digits that a double does not have', () => {
    const value =
      '{"id":9007199254740993,"price":0.1000000000000000055511151231257827,"n":1.0,"more":[12345678901234567890]}'

    it('are kept by update for every number that it returns unchanged, wherever it moves (HTTP-15)', async () => {
      const { service, actor } = await world()
      const handle = await service.app.actors.get(actor.id)
      assert.ok(handle !== null && handle !== undefined)
      interface Order {
        id: number
        price: number
        n: number
        more: number[]
      }
      const add = (given: unknown): object => {
        const order = given as Order
        return { count: 1, ...order, n: order.n + 1, more: [7, ...order.more], copy: { of: order.id } }
      }
      const expected =
        '{"count":1,"id":9007199254740993,"price":0.1000000000000000055511151231257827,"n":2,"more":[7,12345678901234567890],"copy":{"of":9007199254740993}}'
      await handle.setText('order', ` ${value} `)
      assert.equal(await handle.getText('order'), value)
      assert.equal(await handle.getText('order/more'), '[12345678901234567890]')
      assert.equal(await handle.getText('missing'), undefined)
      await handle.update('order', add)
      assert.equal(await handle.getText('order'), expected)
      await handle.setText('order', value)
      await handle.transaction(async (tx) => {
        assert.equal(await tx.getText('order'), value)
        await tx.update('order', add)
        await tx.setText('other', '9007199254740993')
      })
      assert.equal(await handle.getText('order'), expected)
      assert.equal(await (await actor.request('GET', '/properties/other')).text(), '9007199254740993')
    })

    it('are rounded where two stored numbers could be meant, and for a number that changed (HTTP-15)', async () => {
      const { service, actor } = await world()
      const handle = await service.app.actors.get(actor.id)
      assert.ok(handle !== null && handle !== undefined)
      await handle.setText('two', '{"a":9007199254740993,"b":9007199254740991.5,"c":12345678901234567890}')
      await handle.update('two', (given) => {
        const { a, c } = given as { a: number; c: number }
        return { a, moved: a, c: c + 4096 }
      })
      assert.equal(
        await handle.getText('two'),
        '{"a":9007199254740993,"moved":9007199254740992,"c":12345678901234571000}',
      )
      for (const text of ['', '{', 'NaN', '1e400', '[01]'])
        await assert.rejects(handle.setText('two', text), { status: 400 }, text)
    })
  })
})

function archiveWith(value: string): string {
  const header =
    '{"kind":"archive","version":1,"actor":"imported","creator":"ada@example.com","created_at":"2026-01-01T00:00:00.000Z"}'
  return `${header}\n{"kind":"property","name":"new","value":${value}}\n{"kind":"end","records":2}\n`
}
