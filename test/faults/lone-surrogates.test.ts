/** Half of a surrogate pair in names, keys and values: refused where a client writes, replaced where data must not be lost. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { z } from 'zod'
import { valueOfText } from '../../src/actingweb-import/stored-value.ts'
import { ServiceError } from '../../src/errors.ts'
import { authorizeClient } from '../support/mcp-client.ts'
import { seeded } from '../support/random.ts'
import { listenTo, ScriptedPeers } from '../support/scripted-peer.ts'
import { forEachService } from '../support/service.ts'
import { OwnersBrowser } from '../support/sessions.ts'

const halves = ['\\ud800', '\\uDBFF', '\\udc00', '\\uDFFF', '\\ud83d', '\\ud83d\\ud83d', '\\ude00\\ud83d'] as const
const whole = ['', 'a', 'é', '😀', '\\ud83d\\ude00', '\\\\ud800', '\\u0041', '\\n', '\\"}'] as const

interface Placed {
  /** An object as a client sends it. */
  readonly sent: string
  /** The same with U+FFFD. */
  readonly replaced: unknown
}

/** An object with a lone surrogate in a key or a value, at a random depth. */
function placed(seed: number): Placed {
  const random = seeded(seed)
  const text = (half: string): string => `"${random.pick(whole)}${half}${random.pick(whole)}"`
  const isKey = random.below(2) === 0
  let inner = isKey
    ? `{${text(random.pick(halves))}:${random.pick(['1', 'null', '"x"', '[]'])}}`
    : random.pick([text(random.pick(halves)), `[1,${text(random.pick(halves))}]`])
  for (let depth = random.below(4); depth > 0; depth -= 1)
    inner = random.below(2) === 0 ? `[${text('')},${inner}]` : `{"k":${inner},"other":${text('')}}`
  const wellFormed = (value: unknown): unknown => {
    if (typeof value === 'string') return value.toWellFormed()
    if (Array.isArray(value)) return value.map(wellFormed)
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [key.toWellFormed(), wellFormed(member)]))
  }
  const sent = `{"v":${inner}}`
  return { sent, replaced: wellFormed(JSON.parse(sent)) }
}

forEachService((start, kind) => {
  const seeds = Array.from({ length: kind === 'sqlite' ? 60 : 12 }, (_, n) => n + 1)

  describe('half of a surrogate pair', () => {
    it('is refused at every entrance for values of clients and of the application, and nothing is stored (HTTP-05, HTTP-45)', async () => {
      const service = await start({ declare: (app) => app.action('probe', ({ input }) => ({ input })) })
      const actor = await service.createActor()
      await actor.request('POST', '/properties', { notes: { _type: 'list' } })
      assert.equal((await actor.request('POST', '/properties/notes', '1')).status, 201)
      const stored = async (): Promise<string> =>
        `${await (await actor.request('GET', '/properties')).text()}${await (await actor.request('GET', '/properties/notes')).text()}`
      const before = await stored()
      const handle = await service.app.actors.get(actor.id)
      assert.ok(handle)
      for (const seed of seeds) {
        const { sent } = placed(seed)
        for (const [method, path, body] of [
          ['PUT', '/properties/p', sent],
          ['PUT', '/properties/p/below/it', sent],
          ['POST', '/properties', `{"p":${sent}}`],
          ['PUT', '/properties', `{"p":1,"q":${sent}}`],
          ['POST', '/properties', '{"n\\ud800":1}'],
          ['POST', '/properties/notes', sent],
          ['PUT', '/properties/notes/0', sent],
          ['POST', '/properties/notes/items', `{"action":"add","item_value":${sent}}`],
          ['POST', '/properties/notes/items', `{"action":"update","item_index":0,"item_value":${sent}}`],
          ['POST', '/actions/probe', sent],
        ] as const) {
          const answer = await actor.request(method, path, body, { 'content-type': 'application/json' })
          assert.equal(answer.status, 400, `${method} ${path} ${body}`)
          assert.match(await answer.text(), /has half of a surrogate pair, such as \\\\ud83d alone: send the whole/)
        }
        const value = JSON.parse(sent) as { v: never }
        for (const [what, write] of [
          ['set', () => handle.set('p', value)],
          ['setText', () => handle.setText('p', sent)],
          ['a path', () => handle.set(['p', 'x\ud800'], 1)],
          ['append', () => handle.list('notes').append(value)],
          ['update', () => handle.list('notes').update(0, value)],
          ['a transaction', () => handle.transaction(async (tx) => tx.set('p', value))],
        ] as const)
          await assert.rejects(
            async () => write(),
            (error) => error instanceof ServiceError && error.status === 400,
            `${what} ${sent}`,
          )
      }
      assert.equal(await stored(), before)
    })

    it('is refused in messages of AI clients and in forms of the pages, and nothing is stored (HTTP-45)', async () => {
      const service = await start({
        declare: (app) => {
          app.action('keep', { input: z.looseObject({}), mcp: true }, async ({ actor, input }) => {
            await actor.set('kept', input as never)
            return { kept: true }
          })
        },
      })
      const actor = await service.createActor()
      await actor.request('POST', '/properties', { notes: { _type: 'list' }, old: 1 })
      assert.equal((await actor.request('POST', '/properties/notes', '1')).status, 201)
      const stored = async (): Promise<string> => (await actor.request('GET', '/properties?format=full')).text()
      const before = await stored()
      const client = await authorizeClient(service, actor)
      const browser = await OwnersBrowser.open(service, actor)
      for (const seed of seeds) {
        const { sent } = placed(seed)
        for (const [method, params] of [
          ['tools/call', `{"name":"keep","arguments":${sent}}`],
          ['tools/call', `{"name":"keep","arguments":{"a":1},"_meta":${sent}}`],
          [
            'initialize',
            `{"protocolVersion":"2025-11-25","capabilities":${sent},"clientInfo":{"name":"a","version":"1"}}`,
          ],
          ['tools/list', `{"cursor":"\\ud800","_meta":${sent}}`],
        ] as const) {
          const message = `{"jsonrpc":"2.0","id":1,"method":"${method}","params":${params}}`
          const answer = await client.send(message, { 'mcp-protocol-version': '2025-11-25' })
          assert.equal(answer.status, 400, message)
          assert.match(await answer.text(), /"code":-32700,.*has half of a surrogate pair/)
        }
        for (const [path, fields] of [
          ['/properties', { property_name: 'p', property_value: sent, property_type: 'simple', value_type: 'json' }],
          ['/properties', { property_name: 'p', property_value: sent, property_type: 'simple', value_type: '' }],
          ['/properties/old', { value: sent, value_type: 'json' }],
          ['/properties/notes/items', { action: 'add', item_value: sent, value_type: 'json' }],
          ['/properties/notes/items', { action: 'add_several', items: `[${sent}]`, value_type: 'json' }],
          ['/properties/notes/items', { action: 'update', item_index: '0', item_value: sent, value_type: 'json' }],
        ] as const) {
          const answer = await browser.send(path, fields)
          assert.equal(answer.status, 400, `${path} ${JSON.stringify(fields)}`)
          assert.match(await answer.text(), /has half of a surrogate pair, such as/)
        }
      }
      assert.equal(await stored(), before)
    })

    it('is replaced in callbacks of peers, in archives and in data of the Python library (PEER-10, HTTP-45)', async () => {
      const service = await start({ peerClient: new ScriptedPeers() })
      const actor = await service.createActor()
      const peer = await listenTo(service, actor)
      const expected: Record<string, unknown> = {}
      for (const [at, seed] of seeds.entries()) {
        const { sent, replaced } = placed(seed)
        assert.equal((await peer.send(`{"sequence":${at + 1},"data":{"p${at}":${sent}}}`)).status, 204)
        expected[`p${at}`] = replaced
        assert.deepEqual(await peer.copy(), expected, sent)
        assert.deepEqual(JSON.parse(valueOfText(sent)), replaced, sent)
      }
      const { sent, replaced } = placed(7)
      const header = JSON.stringify({
        kind: 'archive',
        version: 1,
        actor: actor.id,
        creator: 'eve@example.com',
        created_at: '2026-01-01T00:00:00.000Z',
      })
      const archive = `${header}\n{"kind":"property","name":"p","value":${sent}}\n{"kind":"end","records":2}\n`
      const begun = await actor.request('POST', '/import', archive)
      assert.equal(begun.status, 202, await begun.clone().text())
      await service.settled()
      assert.deepEqual(await (await actor.request('GET', '/properties/p')).json(), replaced)
    })
  })
})
