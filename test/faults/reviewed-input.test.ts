/** The input of a call that the owner reviews: the page, the digest and the handler have the same value. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { z } from 'zod'
import type { App } from '../../src/troupe.ts'
import { authorizeClient, type TestClient } from '../support/mcp-client.ts'
import { relateTo, type TestRelationship } from '../support/recording-peer.ts'
import { forEachService, type TestActor, type TestService } from '../support/service.ts'
import { OwnersBrowser } from '../support/sessions.ts'
import { leavesAll } from '../support/stored.ts'

const decoy = 'recipient (checked by Troupe)'

const payment = z.object({
  to: z.string().meta({ title: 'Recipient' }),
  amount: z.coerce.number().default(5000),
  memo: z.object({ text: z.string().trim() }).optional(),
})

/** The same input as JSON Schema, which converts nothing and by itself allows every member. */
const plainPayment = {
  type: 'object',
  properties: {
    to: { type: 'string' },
    amount: { type: 'number' },
    memo: { $ref: '#/$defs/memo' },
    copies: { type: 'array', items: { $ref: '#/$defs/memo' } },
  },
  required: ['to'],
  $defs: { memo: { type: 'object', properties: { text: { type: 'string' } } } },
} as const

function declare(ran: unknown[]): (app: App) => void {
  const run = ({ input }: { input: unknown }): object => ({ ran: ran.push(input) })
  return (app) => {
    app.action('pay', { confirm: 'owner', input: payment, mcp: true }, run)
    app.action('pay_plain', { confirm: 'owner', inputSchema: plainPayment, mcp: true }, run)
    app.action('pay_tool', { confirm: 'owner', mcp: { inputSchema: plainPayment } }, run)
    app.method('ask', { confirm: 'owner', input: payment }, run)
    app.method(
      'card',
      { confirm: 'owner', mcp: { prompt: { arguments: [{ name: 'to', required: true }] } } },
      ({ input }) => {
        ran.push(input)
        return 'A card'
      },
    )
    app.action('any', { confirm: 'owner' }, run)
    app.action('loose', { confirm: 'owner', input: z.looseObject({ to: z.string() }), mcp: true }, run)
    const inputSchema = { type: 'object', properties: { at: { type: 'string' } } }
    const input = z.object({ at: z.coerce.date() })
    app.action('remind', { confirm: 'owner', input, inputSchema, mcp: true }, ({ input }) => {
      ran.push(input.at instanceof Date ? input.at.getTime() : input.at)
      return {}
    })
    app.action(
      'renamed',
      { confirm: 'owner', input: z.object({ to: z.string() }).transform(({ to }) => ({ name: to })) },
      run,
    )
    app.action('twice', () => null)
    app.action('twice', { confirm: 'owner', input: payment }, run)
  }
}

interface Approval {
  readonly id: string
  readonly operation: string
  readonly arguments: unknown
}

interface World {
  readonly service: TestService
  readonly actor: TestActor
  readonly friend: TestRelationship
  readonly client: TestClient
  readonly ran: unknown[]
  readonly waiting: () => Promise<Approval[]>
  readonly decide: (id: string) => Promise<void>
}

forEachService((start) => {
  async function open(): Promise<World> {
    const ran: unknown[] = []
    const service = await start({ declare: declare(ran) })
    const actor = await service.createActor()
    const friend = await relateTo(service, actor)
    const client = await authorizeClient(service, actor, { relationship: 'admin' })
    const waiting = async (): Promise<Approval[]> =>
      ((await (await actor.request('GET', '/approvals')).json()) as { approvals: Approval[] }).approvals
    const decide = async (id: string): Promise<void> => {
      assert.equal((await actor.request('PUT', `/approvals/${id}`, { approved: true })).status, 200)
    }
    return { service, actor, friend, client, ran, waiting, decide }
  }

  type Call = (world: World, args: object) => Promise<unknown>
  const channels: readonly (readonly [channel: string, call: Call])[] = [
    ['POST of an action', ({ friend }, args) => friend.request('POST', '/actions/pay', args)],
    ['POST of a method', ({ friend }, args) => friend.request('POST', '/methods/ask', args)],
    [
      'JSON-RPC',
      ({ friend }, args) => friend.request('POST', '/methods', { jsonrpc: '2.0', method: 'ask', params: args, id: 1 }),
    ],
    ['tools/call before 2026', ({ client }, args) => client.legacy('tools/call', { name: 'pay', arguments: args })],
    ['tools/call', ({ client }, args) => client.modern('tools/call', { name: 'pay', arguments: args })],
    ['handlers without a schema', ({ friend }, args) => friend.request('POST', '/actions/twice', args)],
  ]

  describe('a call that the owner reviews', () => {
    for (const [channel, call] of channels)
      it(`shows and runs the converted input with its defaults, by ${channel} (ACL-15)`, async () => {
        const world = await open()
        const shown = { to: 'Ada', amount: 5000, memo: { text: 'rent' } }
        await call(world, { to: 'Ada', memo: { text: '  rent ' } })
        const [approval] = await world.waiting()
        assert.deepEqual(approval?.arguments, shown)
        // The default in full and other spaces give the same input, so it is the same call.
        await call(world, { memo: { text: 'rent' }, amount: '5000', to: 'Ada' })
        assert.equal((await world.waiting()).length, 1)
        await world.decide(approval?.id ?? '')
        await call(world, { to: 'Ada', amount: 5001, memo: { text: 'rent' } })
        assert.deepEqual(world.ran, [])
        await call(world, { to: 'Ada', memo: { text: 'rent ' } })
        assert.deepEqual(world.ran, [shown])
      })

    const undeclared: readonly (readonly [field: string, args: object])[] = [
      [decoy, { to: 'Ada', [decoy]: 'Your landlord' }],
      [decoy, { [decoy]: 'Your landlord', to: 'Ada' }],
      ['To', { to: 'Ada', To: 'Your landlord' }],
      ['to ', { to: 'Ada', 'to ': 'Your landlord' }],
      ['__proto__', JSON.parse('{"to":"Ada","__proto__":{"amount":1}}') as object],
      ['constructor', { to: 'Ada', constructor: 'x' }],
      ['toString', { to: 'Ada', toString: 'x' }],
      [`memo.${decoy}`, { to: 'Ada', memo: { text: 'rent', [decoy]: 'Your landlord' } }],
    ]
    for (const [field, args] of undeclared) {
      for (const path of ['/actions/pay', '/actions/pay_plain', '/methods/ask', '/actions/twice'])
        it(`refuses ${JSON.stringify(args)} at ${path} by the name of the field (ACL-15)`, async () => {
          const { service, friend, waiting, ran } = await open()
          const text = await leavesAll(service, () => friend.request('POST', path, args), 400)
          assert.deepEqual((JSON.parse(text) as { error: string; field: string }).error, 'invalid_input')
          assert.equal((JSON.parse(text) as { field: string }).field, field)
          assert.deepEqual([await waiting(), ran], [[], []])
        })
      it(`refuses ${JSON.stringify(args)} from an AI client, with a message that names the field (ACL-15)`, async () => {
        const { client, waiting, ran } = await open()
        for (const name of ['pay', 'pay_plain', 'pay_tool']) {
          const { body } = (await client.modern('tools/call', { name, arguments: args })) as {
            body: { result: { isError: boolean; content: { text: string }[] } }
          }
          assert.equal(body.result.isError, true)
          assert.ok(body.result.content[0]?.text.includes(`"${field}"`), JSON.stringify(body))
        }
        assert.deepEqual([await waiting(), ran], [[], []])
      })
    }

    it('refuses an undeclared argument of a prompt, and an undeclared member of a list item (ACL-15)', async () => {
      const { client, friend, waiting } = await open()
      const { body } = (await client.modern('prompts/get', {
        name: 'card',
        arguments: { to: 'Ada', [decoy]: 'x' },
      })) as {
        body: { error: { message: string } }
      }
      assert.ok(body.error.message.includes(decoy), JSON.stringify(body))
      const args = { to: 'Ada', copies: [{ text: 'a' }, { text: 'b', [decoy]: 'x' }] }
      const answer = await friend.request('POST', '/actions/pay_plain', args)
      assert.deepEqual([answer.status, ((await answer.json()) as { field: string }).field], [400, `copies.1.${decoy}`])
      assert.deepEqual(await waiting(), [])
    })

    it('distinguishes values that only the converted input has, such as dates (ACL-15)', async () => {
      const { friend, waiting, decide, ran } = await open()
      const call = (at: string) => friend.request('POST', '/actions/remind', { at })
      assert.equal((await call('2030-01-01')).status, 403)
      const [approval] = await waiting()
      assert.deepEqual(approval?.arguments, { at: '2030-01-01T00:00:00.000Z' })
      await decide(approval?.id ?? '')
      assert.equal((await call('2031-01-01')).status, 403)
      assert.deepEqual(ran, [])
      assert.equal((await call('2030-01-01T01:00:00+01:00')).status, 200)
      assert.deepEqual(ran, [Date.UTC(2030, 0, 1)])
    })

    it('shows the names that a schema gives to the members (ACL-15)', async () => {
      const { friend, waiting, decide, ran } = await open()
      assert.equal((await friend.request('POST', '/actions/renamed', { to: 'Ada' })).status, 403)
      const [approval] = await waiting()
      assert.deepEqual(approval?.arguments, { name: 'Ada' })
      await decide(approval?.id ?? '')
      assert.equal((await friend.request('POST', '/actions/renamed', { to: 'Ada' })).status, 200)
      assert.deepEqual(ran, [{ name: 'Ada' }])
    })
  })

  describe('the page of a call that the owner reviews', () => {
    async function pageOf(world: World, name: string, args: object): Promise<string> {
      await world.client.modern('tools/call', { name, arguments: args })
      const [approval] = await world.waiting()
      const browser = await OwnersBrowser.open(world.service, world.actor)
      return (await browser.get(`/approvals/${approval?.id}`)).text()
    }
    const textOf = (page: string): string =>
      page
        .replaceAll(/<[^>]*>/g, ' ')
        .replaceAll('&quot;', '"')
        .replaceAll(/\s+/g, ' ')

    it('shows defaults and conversions with the titles of the schema (ACL-15)', async () => {
      const page = await pageOf(await open(), 'pay', { to: '7', amount: '7' })
      assert.match(textOf(page), /Details Recipient to "7" amount 7 /)
      assert.doesNotMatch(page, /Other values/)
    })

    it('lists names that the caller chose apart from declared ones (ACL-15)', async () => {
      const page = await pageOf(await open(), 'loose', { [decoy]: 'Your landlord', to: 'Ada' })
      assert.match(
        textOf(page),
        /Details to "Ada" Other values A test client chose these names\. The application doesn’t describe them\. recipient \(checked by Troupe\) "Your landlord"/,
      )
    })

    for (const [text, value] of [
      ['1', 1],
      ['true', true],
      ['false', false],
      ['null', null],
      ['-0', -0],
      ['', []],
      ['Empty text', ''],
      ['Empty list', []],
      ['[1]', [1]],
      ['a: 1', { a: 1 }],
      ['{}', {}],
    ] as const)
      it(`shows ${JSON.stringify(value)} differently from the string ${JSON.stringify(text)} (ACL-15)`, async () => {
        const rows = await Promise.all(
          [text, value].map(async (each) => {
            const page = textOf(await pageOf(await open(), 'loose', { to: 'Ada', value: each }))
            return /describe them\. value (.*?) (?:This approves|Allow)/.exec(page)?.[1]
          }),
        )
        assert.ok(
          rows.every((row) => row !== undefined && row !== ''),
          JSON.stringify(rows),
        )
        assert.notEqual(rows[0], rows[1])
      })
  })
})
