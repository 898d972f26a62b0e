/** The declared output of actions and methods: development and tests check each result. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { z } from 'zod'
import { type App, troupe } from '../../src/index.ts'
import { testing } from '../../src/testing.ts'
import { forEachService } from '../support/service.ts'

/** A value without a type, such as one of a third-party service. */
const untyped = (value: unknown) => value as never

function declare(app: App): void {
  const output = z.object({ index: z.int(), at: z.object({ day: z.string() }).optional() })
  app.action('right', { output }, () => ({ index: 1, extra: true }))
  app.action('wrong', { output }, () => untyped({ index: 1, at: { day: 7 } }))
  app.action('nothing', { output }, () => untyped(undefined))
  app.action('declined', { output }, () => null)
  app.action('exclusive', { output, exclusive: true }, async ({ actor }) => {
    await actor.set('done', true)
    return untyped({ index: 'one' })
  })
  app.method('when', { output: z.object({ at: z.date() }), outputSchema: { type: 'object' } }, () => ({
    at: new Date(0),
  }))
  const json = { type: 'object', required: ['at'], properties: { at: { type: 'string' } } }
  app.method('json', { output: json }, () => ({ at: new Date(0), extra: undefined }))
  app.method('wrong_json', { output: json }, () => ({ at: 7 }))
  app.method('no_json', { output: json }, () => {})
}

forEachService((start) => {
  describe('a result that does not fit the declared output', () => {
    it('is a 500 in development, and the log names the operation and the field', async () => {
      const service = await start({ declare })
      const actor = await service.createActor()
      const refused = [
        ['actions/wrong', 'action "wrong" does not fit its output: field "at.day": '],
        ['actions/nothing', 'action "nothing" does not fit its output: '],
        ['actions/exclusive', 'action "exclusive" does not fit its output: field "index": '],
        ['methods/wrong_json', 'method "wrong_json" does not fit its output: field "at": must be string'],
        ['methods/no_json', 'method "no_json" does not fit its output: must be object'],
      ] as const
      for (const [path, sentence] of refused) {
        service.log.length = 0
        const answer = await actor.request('POST', `/${path}`, {})
        assert.equal(answer.status, 500, path)
        assert.equal(((await answer.json()) as { error: string }).error, 'server_error')
        const logged = service.log.join('').replaceAll('\\"', '"')
        assert.ok(logged.includes(`The result of the ${sentence}`), logged)
      }
    })

    it('is sent as it is in production', async () => {
      const service = await start({ declare, mode: 'production', baseUrl: 'https://troupe.test', openCreation: true })
      const actor = await service.createActor()
      const answer = await actor.request('POST', '/actions/wrong', {})
      assert.deepEqual([answer.status, await answer.json()], [200, { index: 1, at: { day: 7 } }])
      assert.equal((await actor.request('POST', '/actions/nothing', {})).status, 204)
    })
  })

  it('sends a result that fits the declared output as the handler returned it', async () => {
    const service = await start({ declare })
    const actor = await service.createActor()
    const answers = [
      ['actions/right', { index: 1, extra: true }],
      ['methods/when', { at: '1970-01-01T00:00:00.000Z' }],
      ['methods/json', { at: '1970-01-01T00:00:00.000Z' }],
    ] as const
    for (const [path, body] of answers) {
      const answer = await actor.request('POST', `/${path}`, {})
      assert.deepEqual([answer.status, await answer.json()], [200, body])
    }
    const declined = await actor.request('POST', '/actions/declined', {})
    assert.deepEqual([declined.status, ((await declined.json()) as { error: string }).error], [400, 'no_result'])
  })
})

it('a result that does not fit the declared output fails in the test kit, also for an AI client', async () => {
  const app = troupe({ type: 'urn:actingweb:example.com:results' })
  app.action('wrong', { output: z.object({ index: z.int() }), mcp: true }, () => untyped({ index: 'one' }))
  app.trustType({
    name: 'mcp_client',
    display_name: 'Assistant',
    description: 'Calls the tool',
    permissions: { tools: { allowed: ['wrong'] } },
  })
  await using t = await testing(app)
  const ada = await t.signIn('ada@example.com')
  await assert.rejects(ada.action('wrong'), {
    status: 500,
    message: /The result of the action "wrong" does not fit its output: field "index": /,
  })
  const ai = await t.mcp(ada)
  const refused = await ai.call('wrong').then(
    ({ isError }) => isError,
    () => true,
  )
  assert.equal(refused, true)
  assert.match(String(t.log), /The result of the action "wrong" does not fit its output: field "index": /)
})
