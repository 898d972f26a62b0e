/** Operations and endpoints of an application below an actor: methods, actions, resources, the bot and `/devtest`. */
import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { z } from 'zod'
import type { StandardSchema } from '../../src/app/schema.ts'
import { ServiceError } from '../../src/errors.ts'
import type { App } from '../../src/troupe.ts'
import { forEachService, type TestActor, type TestService } from '../support/service.ts'
import { answered, changesNothing, done, everythingStored, refused } from '../support/stored.ts'

const json = { 'content-type': 'application/json' }

/** Asserts a 400 whose body names the refused field in its own member, beside the message. */
async function refusedField(answer: Response, field: string, message: string | RegExp): Promise<void> {
  const body = (await answer.json()) as Record<string, unknown>
  assert.equal(answer.status, 400, JSON.stringify(body))
  assert.deepEqual(Object.keys(body).toSorted(), ['error', 'field', 'message'])
  assert.equal(body['error'], 'invalid_input')
  assert.equal(body['field'], field)
  if (typeof message === 'string') assert.equal(body['message'], message)
  else assert.match(String(body['message']), message)
}

/** A handwritten Standard Schema for an object with a `qty` of at least 1, which it converts to a number. */
function handWritten(withJsonSchema: boolean): StandardSchema<{ qty: number }> {
  return {
    '~standard': {
      version: 1,
      vendor: 'by hand',
      validate: async (value) => {
        await turn()
        const qty = Number((value as { qty?: unknown }).qty)
        if (Number.isNaN(qty)) return { issues: [{ message: 'must be a number', path: ['qty'] }] }
        if (qty < 1) return { issues: [{ message: 'must be 1 or more', path: [{ key: 'order' }, { key: 'qty' }] }] }
        return { value: { qty } }
      },
      ...(withJsonSchema
        ? {
            jsonSchema: {
              input: ({ target }) => ({ $schema: 'x', title: `in ${target}` }),
              output: ({ target }) => ({ $schema: 'x', title: `out ${target}` }),
            },
          }
        : {}),
    },
  }
}

forEachService((start) => {
  for (const kind of ['methods', 'actions'] as const) {
    const declare = (app: App, name: string, ...rest: [unknown] | [unknown, unknown]): void => {
      // One declaration serves both kinds, so it drops the types that distinguish their handlers.
      const untyped = app as unknown as Record<'method' | 'action', (name: string, ...rest: unknown[]) => App>
      untyped[kind === 'methods' ? 'method' : 'action'](name, ...rest)
    }
    const noun = kind === 'methods' ? 'method' : 'action'

    describe(`GET /${kind}`, () => {
      it('returns an empty list when nothing is declared (R-OP-02)', async () => {
        const service = await start()
        const actor = await service.createActor()
        await answered(await actor.request('GET', `/${kind}`), 200, { [kind]: [] })
        await answered(await actor.request('GET', `/${kind}/`), 200, { [kind]: [] })
      })

      it('describes each declared name in order of declaration, without * (R-OP-02, R-OP-03, R-OP-05, CHOICE-04)', async () => {
        const service = await start({
          declare: (app) => {
            declare(app, 'zeta', () => 1)
            declare(app, '*', { description: 'any' }, () => 1)
            declare(app, 'zeta', { description: 'the second handler describes it' }, () => 1)
            declare(
              app,
              'alpha',
              {
                description: 'Alpha',
                annotations: { readOnlyHint: true, idempotentHint: false, destructiveHint: true, title: 'A' },
                inputSchema: { type: 'object' },
                outputSchema: { type: 'string' },
              },
              () => 1,
            )
            declare(app, 'bare', () => 1)
            declare(app, 'a/b', {}, () => 1)
          },
        })
        const actor = await service.createActor()
        const nothing = { description: '', input_schema: null, output_schema: null, annotations: {} }
        await answered(await actor.request('GET', `/${kind}`), 200, {
          [kind]: [
            { name: 'zeta', ...nothing, description: 'the second handler describes it' },
            {
              name: 'alpha',
              description: 'Alpha',
              input_schema: { type: 'object' },
              output_schema: { type: 'string' },
              annotations: { readOnlyHint: true, idempotentHint: false, destructiveHint: true, title: 'A' },
            },
            { name: 'bare', ...nothing },
            { name: 'a/b', ...nothing },
          ],
        })
      })

      it('derives schemas from zod, plain JSON Schema and any Standard Schema, and prefers explicit ones (R-OP-03)', async () => {
        const input = z.object({ qty: z.int(), note: z.string().nullable() })
        const plain = { type: 'object', properties: { a: { type: 'string' } } }
        const service = await start({
          declare: (app) => {
            declare(app, 'zod', { input, output: z.array(z.number()) }, () => 1)
            declare(app, 'plain', { input: plain, output: { type: 'null' } }, () => 1)
            declare(app, 'hand', { input: handWritten(true), output: handWritten(true) }, () => 1)
            declare(app, 'mute', { input: handWritten(false), output: handWritten(false) }, () => 1)
            declare(app, 'explicit', { input, output: input, inputSchema: { x: 1 }, outputSchema: { y: 2 } }, () => 1)
          },
        })
        const actor = await service.createActor()
        const list = (
          (await (await actor.request('GET', `/${kind}`)).json()) as Record<string, Record<string, unknown>[]>
        )[kind]
        const schemas: Record<string, unknown> = {}
        for (const entry of list ?? []) schemas[String(entry['name'])] = [entry['input_schema'], entry['output_schema']]
        assert.deepEqual(schemas, {
          zod: [
            {
              type: 'object',
              properties: {
                qty: { type: 'integer', minimum: -9007199254740991, maximum: 9007199254740991 },
                note: { type: ['string', 'null'] },
              },
              required: ['qty', 'note'],
            },
            { type: 'array', items: { type: 'number' } },
          ],
          plain: [plain, { type: 'null' }],
          hand: [{ title: 'in draft-2020-12' }, { title: 'out draft-2020-12' }],
          mute: [null, null],
          explicit: [{ x: 1 }, { y: 2 }],
        })
      })
    })

    describe(`calling ${noun}s`, () => {
      const seen: unknown[] = []
      let service: TestService
      let actor: TestActor
      const echo = ({ input, name }: { input: unknown; name: string }): object => ({ name, input })
      before(async () => {
        service = await start({
          declare: (app) => {
            declare(app, 'echo', echo)
            declare(app, 'deep/er', echo)
            declare(app, 'with space', echo)
            for (const [name, result] of Object.entries({
              zero: 0,
              empty: '',
              no: false,
              object: {},
              list: [],
              yes: true,
            }))
              declare(app, name, () => result)
            declare(app, 'null', () => null)
            declare(app, 'nothing', () => void seen.push('nothing'))
            declare(app, 'order', () => {
              seen.push('first')
              return null
            })
            declare(app, 'order', async () => {
              await turn()
              seen.push('second')
              return null
            })
            declare(app, 'order', () => {
              seen.push('third')
              return 'third'
            })
            declare(app, 'order', () => seen.push('fourth'))
            declare(app, 'late', async () => {
              await turn()
              return { late: true }
            })
            declare(app, 'throws', () => {
              throw new Error('the secret reason')
            })
            declare(app, 'rejects', () => Promise.reject(new Error('the secret reason')))
            declare(app, 'refuses', () => {
              throw new ServiceError('conflict', 'Cannot do it twice')
            })
            declare(app, 'unspeakable', () => Number.NaN)
            declare(
              app,
              'who',
              ({ actor: handle, caller }: { actor: { id: string; creator: string }; caller: object }) => ({
                id: handle.id,
                creator: handle.creator,
                caller,
              }),
            )
            declare(
              app,
              'write',
              async ({ actor: handle }: { actor: { set(name: string, value: number): Promise<void> } }) => {
                await handle.set('written', 1)
                throw new Error('after the write')
              },
            )
          },
        })
        actor = await service.createActor('me@example.com')
      })
      const call = (
        method: string,
        name: string,
        body?: unknown,
        headers?: Record<string, string>,
      ): Promise<Response> => actor.request(method, `/${kind}/${name}`, body, headers)

      for (const method of ['POST', 'PUT']) {
        for (const body of [{ a: 1 }, {}, [1, 2], 'text', { jsonrpc: '1.0', method: 'x' }, { method: 'GET' }]) {
          it(`passes the body ${JSON.stringify(body)} of a ${method} to the handler and returns the result (R-OP-04)`, async () => {
            const answer = await call(method, 'echo', JSON.stringify(body), json)
            assert.equal(answer.headers.get('content-type'), 'application/json')
            await answered(answer, 200, { name: 'echo', input: body })
          })
        }
        for (const [body, code, message] of [
          ['{', 'invalid_json', /./],
          ['not json', 'invalid_json', /./],
          ['null', 'bad_request', 'Cannot call: the body must be a JSON object'],
          ['5', 'bad_request', 'Cannot call: the body must be a JSON object'],
          ['true', 'bad_request', 'Cannot call: the body must be a JSON object'],
        ] as const) {
          it(`rejects a ${method} with ${body} (R-OP-04)`, async () => {
            await changesNothing(service, async () => refused(await call(method, 'echo', body), 400, code, message))
          })
        }
        for (const name of ['null', 'unknown', 'deep', 'ECHO', '*'])
          it(`answers 404 to a ${method} of ${name}, which is not declared, and 400 when every handler declines (R-OP-04)`, async () => {
            const answer = await call(method, name, {})
            if (name === 'null')
              await refused(answer, 400, 'no_result', 'Cannot call "null": no handler takes this call')
            else
              await refused(
                answer,
                404,
                'not_found',
                new RegExp(`^Cannot call "${name.replace('*', '[*]')}": no ${noun} has this name`),
              )
          })
        it(`runs an empty ${method} with an empty object (R-OP-04)`, async () => {
          for (const headers of [{}, { 'content-type': 'application/json' }, { 'content-type': 'text/plain' }])
            await answered(await actor.request(method, `/${kind}/echo`, '', headers), 200, { name: 'echo', input: {} })
          await refused(await actor.request(method, `/${kind}/echo`, ' '), 400, 'invalid_json', /./)
        })
        it(`requires a name for ${method} (R-OP-04)`, async () => {
          const answer = await actor.request(method, `/${kind}`, {})
          await refused(answer, 400, 'bad_request', `Cannot call: the address names no ${noun}`)
        })
      }

      it('takes the rest of the path with slashes and spaces as the name, and does not pass the query (R-OP-04)', async () => {
        await answered(await call('POST', 'deep/er', {}), 200, { name: 'deep/er', input: {} })
        await answered(await call('POST', 'with%20space?x=1', { a: 1 }), 200, { name: 'with space', input: { a: 1 } })
      })

      for (const [name, result] of [
        ['zero', 0],
        ['empty', ''],
        ['no', false],
        ['object', {}],
        ['list', []],
      ] as const) {
        it(`accepts ${JSON.stringify(result)} as a result (R-OP-04)`, async () => {
          await answered(await call('POST', name, {}), 200, result)
          await answered(await call('GET', name), 200, result)
        })
      }

      it('stops at the first handler that returns a result, sync or async (R-OP-04, R-EVT-03)', async () => {
        seen.length = 0
        await answered(await call('POST', 'order', {}), 200, 'third')
        assert.deepEqual(seen, ['first', 'second', 'third'])
        await answered(await call('POST', 'late', {}), 200, { late: true })
      })

      it('gives the handler the actor and the caller (R-OP-04)', async () => {
        await answered(await call('POST', 'who', {}), 200, {
          id: actor.id,
          creator: 'me@example.com',
          caller: { kind: 'creator', via: 'basic' },
        })
      })

      for (const method of ['POST', 'PUT', 'GET', 'DELETE'] as const)
        it(`answers ${method} with 204 when the handler returned nothing (R-OP-04)`, async () => {
          seen.length = 0
          await done(await call(method, 'nothing', method === 'GET' || method === 'DELETE' ? undefined : {}))
          assert.deepEqual(seen, ['nothing'])
        })

      it(`passes {"method":"GET"} to the handler for a GET, and answers 404 without a result (R-OP-04)`, async () => {
        await answered(await call('GET', 'echo?a=1'), 200, { name: 'echo', input: { method: 'GET' } })
        for (const name of ['null', 'unknown'])
          await refused(await call('GET', name), 404, 'not_found', `Nothing answers "${name}"`)
      })

      it('passes {"method":"DELETE"} to the handler for a DELETE, and answers 204, or 403 without a result (R-OP-04)', async () => {
        await done(await call('DELETE', 'echo'))
        await done(await call('DELETE', 'yes'))
        for (const name of ['null', 'unknown'])
          await refused(
            await call('DELETE', name),
            403,
            'forbidden',
            `Cannot delete "${name}": nothing by this name allowed it`,
          )
        for (const name of ['zero', 'empty', 'no', 'object']) {
          const answer = await call('DELETE', name)
          if (kind === 'methods') await done(answer)
          else await refused(answer, 403, 'forbidden', `Cannot delete "${name}": nothing by this name allowed it`)
        }
      })

      for (const name of ['throws', 'rejects', 'unspeakable'])
        it(`answers 500 without the reason when a handler ${name}, and logs the reason (R-OP-04, HTTP-14)`, async () => {
          for (const method of ['POST', 'GET', 'DELETE']) {
            service.reset()
            const answer = await call(method, name, method === 'POST' ? {} : undefined)
            assert.match(answer.headers.get('x-request-id') ?? '', /^[0-9a-f-]{36}$/)
            await refused(answer, 500, 'server_error', 'The service failed')
            assert.ok(service.log.some((line) => line.includes(name === 'unspeakable' ? 'NaN' : 'the secret reason')))
          }
        })

      it('passes on an error of the catalog that a handler throws (R-OP-04)', async () => {
        await refused(await call('POST', 'refuses', {}), 409, 'conflict', 'Cannot do it twice')
      })

      it('lets _method replace GET beside an Authorization header (R-OP-04, CHOICE-11)', async () => {
        await done(await call('GET', 'yes?_method=DELETE'))
        await refused(await call('GET', 'echo?_method=POST'), 400, 'invalid_json', 'Cannot read the body: it is empty')
      })

      it(`rejects missing credentials with 401 and wrong ones with 403, and runs no handler (R-OP-04, R-AUTH-03)`, async () => {
        seen.length = 0
        for (const method of ['GET', 'POST', 'PUT', 'DELETE']) {
          const open = await service.request(`/${actor.id}/${kind}/order`, { method })
          await refused(open, 401, 'unauthorized', 'Authentication required')
          await refused(
            await call(method, 'order', undefined, { authorization: 'Bearer unknown' }),
            403,
            'forbidden',
            /^Cannot authenticate/,
          )
        }
        await refused(await service.request(`/${actor.id}/${kind}`), 401, 'unauthorized', 'Authentication required')
        assert.deepEqual(seen, [])
      })
    })

    describe(`* among ${noun}s`, () => {
      it('answers when the exact name has no result, and receives the called name (R-OP-04)', async () => {
        const seen: string[] = []
        const service = await start({
          declare: (app) => {
            declare(app, '*', ({ name }: { name: string }) => {
              seen.push(`any ${name}`)
              return name === 'mute' ? null : { any: name }
            })
            declare(app, 'exact', ({ input }: { input: { pass?: boolean } }) => {
              seen.push('exact')
              return input.pass === true ? null : 'exact'
            })
          },
        })
        const actor = await service.createActor()
        await answered(await actor.request('POST', `/${kind}/exact`, {}), 200, 'exact')
        assert.deepEqual(seen, ['exact'])
        await answered(await actor.request('POST', `/${kind}/exact`, { pass: true }), 200, { any: 'exact' })
        await answered(await actor.request('POST', `/${kind}/other`, {}), 200, { any: 'other' })
        await refused(await actor.request('POST', `/${kind}/mute`, {}), 400, 'no_result', /"mute"/)
        assert.deepEqual(seen, ['exact', 'exact', 'any exact', 'any other', 'any mute'])
      })
    })

    describe(`the declared input of ${noun}s`, () => {
      let service: TestService
      let actor: TestActor
      let ran = 0
      before(async () => {
        const count = ({ input }: { input: unknown }): object => {
          ran++
          return { input }
        }
        service = await start({
          declare: (app) => {
            declare(
              app,
              'zod',
              { input: z.object({ qty: z.int().min(1), tags: z.array(z.string()).default([]) }) },
              count,
            )
            declare(
              app,
              'plain',
              {
                input: {
                  type: 'object',
                  required: ['qty'],
                  properties: {
                    qty: { type: 'integer', minimum: 1 },
                    'a/b': { type: 'object', properties: { '~': { type: 'string' } } },
                  },
                },
              },
              count,
            )
            declare(app, 'hand', { input: handWritten(false) }, count)
            declare(app, 'published', { inputSchema: { type: 'object', required: ['never'] } }, count)
          },
        })
        actor = await service.createActor()
      })
      const call = async (name: string, body: unknown): Promise<Response> =>
        actor.request('POST', `/${kind}/${name}`, body)

      it('reaches the handler with the defaults and conversions of the schema (R-OP-03)', async () => {
        await answered(await call('zod', { qty: 2, other: 1 }), 200, { input: { qty: 2, tags: [] } })
        await answered(await call('hand', { qty: '3' }), 200, { input: { qty: 3 } })
        await answered(await call('plain', { qty: 4, other: 1 }), 200, { input: { qty: 4, other: 1 } })
      })

      it('is validated by `input` only, because an explicit schema is only published (R-OP-03)', async () => {
        await answered(await call('published', { a: 1 }), 200, { input: { a: 1 } })
      })

      for (const [name, body, field, message] of [
        ['zod', {}, 'qty', /^Cannot accept field "qty": /],
        ['zod', { qty: 0 }, 'qty', /^Cannot accept field "qty": /],
        ['zod', { qty: 1, tags: ['a', 2] }, 'tags.1', /^Cannot accept field "tags\.1": /],
        ['zod', [], '', /^Cannot accept the input: /],
        ['plain', {}, 'qty', 'Cannot accept field "qty": must have required property \'qty\''],
        ['plain', { qty: 'x' }, 'qty', 'Cannot accept field "qty": must be integer'],
        ['plain', { qty: 1, 'a/b': { '~': 1 } }, 'a/b.~', 'Cannot accept field "a/b.~": must be string'],
        ['plain', [], '', 'Cannot accept the input: must be object'],
        ['hand', {}, 'qty', 'Cannot accept field "qty": must be a number'],
        ['hand', { qty: 0 }, 'order.qty', 'Cannot accept field "order.qty": must be 1 or more'],
      ] as const) {
        it(`is rejected by ${name} for ${JSON.stringify(body)} with a 400 that names the field, before the handler runs (R-OP-03)`, async () => {
          ran = 0
          await refusedField(await call(name, body), field, message)
          assert.equal(ran, 0)
        })
      }
    })

    it(`a GET with the session cookie runs only read-only ${noun}s (R-OP-04)`, async () => {
      const seen: string[] = []
      const service = await start({
        bearerKinds: [(token, _actor, via) => Promise.resolve(token === 'session' ? { kind: 'creator', via } : null)],
        declare: (app) => {
          declare(app, 'reads', { annotations: { readOnlyHint: true } }, () => seen.push('reads'))
          declare(app, 'writes', () => seen.push('writes'))
          declare(app, 'mixed', { annotations: { readOnlyHint: true } }, () => seen.push('mixed'))
          declare(app, 'mixed', () => seen.push('mixed'))
        },
      })
      const actor = await service.createActor()
      const link = (name: string): Promise<Response> =>
        service.request(`/${actor.id}/${kind}/${name}`, { headers: { cookie: 'oauth_token=session' } })
      await answered(await link('reads'), 200, 1)
      for (const name of ['writes', 'mixed', 'unknown'])
        await refused(
          await link(name),
          403,
          'forbidden',
          `Cannot call "${name}" by GET with a session cookie: use POST`,
        )
      assert.deepEqual(seen, ['reads'])
      const bearer = { authorization: 'Bearer session' }
      await answered(await service.request(`/${actor.id}/${kind}/writes`, { headers: bearer }), 200, 2)
    })
  }

  describe('JSON-RPC 2.0 on /methods', () => {
    let service: TestService
    let actor: TestActor
    before(async () => {
      service = await start({
        declare: (app) =>
          app
            .method(
              'add',
              { input: z.object({ a: z.number(), b: z.number().default(1) }) },
              ({ input }) => input.a + input.b,
            )
            .method('echo', ({ input }) => ({ input }))
            .method('null', () => null)
            .method('nothing', () => undefined)
            .method('throws', () => {
              throw new Error('the secret reason')
            }),
      })
      actor = await service.createActor()
    })
    const rpc = (body: object, name = ''): Promise<Response> =>
      actor.request('POST', `/methods${name}`, { jsonrpc: '2.0', ...body })

    for (const [what, name, body, result] of [
      ['a result', '', { method: 'add', params: { a: 1, b: 2 }, id: 7 }, { jsonrpc: '2.0', result: 3, id: 7 }],
      [
        'the name in the address too',
        '/add',
        { method: 'add', params: { a: 1 }, id: 'x' },
        { jsonrpc: '2.0', result: 2, id: 'x' },
      ],
      ['no id', '', { method: 'add', params: { a: 1 } }, { jsonrpc: '2.0', result: 2 }],
      ['an id of null', '', { method: 'add', params: { a: 1 }, id: null }, { jsonrpc: '2.0', result: 2, id: null }],
      ['a handler that returns nothing', '', { method: 'nothing', id: 1 }, { jsonrpc: '2.0', result: null, id: 1 }],
      [
        'no params, which become an empty object',
        '',
        { method: 'echo', id: 1 },
        { jsonrpc: '2.0', result: { input: {} }, id: 1 },
      ],
      [
        'params that are an array',
        '',
        { method: 'echo', params: [1], id: 1 },
        { jsonrpc: '2.0', result: { input: [1] }, id: 1 },
      ],
      [
        'params that are a number',
        '',
        { method: 'echo', params: 5, id: 1 },
        { jsonrpc: '2.0', result: { input: 5 }, id: 1 },
      ],
      [
        'no method',
        '',
        { id: 1 },
        { jsonrpc: '2.0', error: { code: -32600, message: 'Invalid Request', data: 'Missing method' }, id: 1 },
      ],
      [
        'no method but a name',
        '/add',
        {},
        { jsonrpc: '2.0', error: { code: -32600, message: 'Invalid Request', data: 'Missing method' }, id: null },
      ],
      [
        'a method that is not a string',
        '',
        { method: 5, id: 1 },
        { jsonrpc: '2.0', error: { code: -32600, message: 'Invalid Request', data: 'Missing method' }, id: 1 },
      ],
      [
        'another name in the address',
        '/echo',
        { method: 'add', id: 1 },
        { jsonrpc: '2.0', error: { code: -32600, message: 'Invalid Request', data: 'Method name mismatch' }, id: 1 },
      ],
      [
        'an unknown method',
        '',
        { method: 'unknown', id: 1 },
        { jsonrpc: '2.0', error: { code: -32601, message: 'Method not found' }, id: 1 },
      ],
      [
        'no answer',
        '',
        { method: 'null' },
        { jsonrpc: '2.0', error: { code: -32601, message: 'Method not found' }, id: null },
      ],
      [
        'a handler that throws',
        '',
        { method: 'throws', id: 1 },
        { jsonrpc: '2.0', error: { code: -32603, message: 'Internal error', data: 'The service failed' }, id: 1 },
      ],
    ] as const) {
      it(`answers ${what} with 200 and ${JSON.stringify(result).slice(16, 60)}… (R-OP-04)`, async () => {
        const answer = await rpc(body, name)
        assert.equal(answer.headers.get('content-type'), 'application/json')
        await answered(answer, 200, result)
      })
    }

    it('answers an invalid input with -32602 and names the field (R-OP-04)', async () => {
      const answer = (await (await rpc({ method: 'add', params: { a: 'x' }, id: 1 })).json()) as {
        error: Record<string, unknown>
      }
      assert.deepEqual([answer.error['code'], answer.error['message']], [-32602, 'Invalid params'])
      assert.match(String(answer.error['data']), /^Cannot accept field "a": /)
    })

    it('returns a big id exactly as it was sent (R-OP-04)', async () => {
      const answer = await actor.request(
        'POST',
        '/methods',
        '{"jsonrpc":"2.0","method":"echo","id":12345678901234567890}',
        json,
      )
      assert.equal(await answer.text(), '{"jsonrpc":"2.0","result":{"input":{}},"id":12345678901234567890}')
    })

    it('rejects a batch with 400 (R-OP-04)', async () => {
      const batch = [{ jsonrpc: '2.0', method: 'add', params: { a: 1 }, id: 1 }]
      await refused(
        await actor.request('POST', '/methods', batch),
        400,
        'bad_request',
        'Cannot call: the address names no method',
      )
    })

    it('treats another version, and any version on /actions, as an ordinary call (R-OP-04)', async () => {
      const other = { jsonrpc: '1.0', method: 'echo' }
      await answered(await actor.request('POST', '/methods/echo', other), 200, { input: other })
      await refused(
        await actor.request('POST', '/actions/echo', { jsonrpc: '2.0', method: 'echo' }),
        404,
        'not_found',
        /"echo"/,
      )
    })

    it('rejects the whole request when the caller lacks the right (R-OP-04)', async () => {
      const open = await service.request(`/${actor.id}/methods`, {
        method: 'POST',
        body: '{"jsonrpc":"2.0","method":"echo"}',
      })
      await refused(open, 401, 'unauthorized', 'Authentication required')
    })
  })

  describe('/resources', () => {
    let service: TestService
    let actor: TestActor
    const results: Record<string, unknown> = {
      yes: true,
      seven: 7,
      text: 'x',
      no: false,
      zero: 0,
      empty: '',
      null: null,
    }
    before(async () => {
      service = await start({
        declare: (app) =>
          app
            .resource('echo', ({ name, input, caller }) => ({ name, input, caller }))
            .resource('a/b', async ({ name }) => {
              await turn()
              return { name }
            })
            .resource('', () => 'root')
            .resource('pick', ({ input }) => input['skip'] !== true && 'first')
            .resource('pick', () => 'second')
            .resource('result', ({ input }) =>
              typeof input['of'] === 'string' ? (results[input['of']] as string) : undefined,
            )
            .resource('unspeakable', () => Number.POSITIVE_INFINITY)
            .resource('throws', () => {
              throw new Error('the secret reason')
            }),
      })
      actor = await service.createActor()
    })
    const request = (method: string, path: string, body?: unknown): Promise<Response> =>
      actor.request(method, `/resources${path}`, body)
    const caller = { kind: 'creator', via: 'basic' }

    for (const [method, body, input, status] of [
      ['GET', undefined, { method: 'GET' }, 200],
      ['DELETE', undefined, { method: 'DELETE' }, 200],
      ['PUT', { a: 1 }, { a: 1, method: 'PUT' }, 200],
      ['POST', { a: 1 }, { a: 1, method: 'POST' }, 201],
      ['PUT', { method: 'forged' }, { method: 'PUT' }, 200],
    ] as const) {
      it(`passes ${JSON.stringify(body)} of a ${method} to the handler and answers ${status} (R-OP-01)`, async () => {
        const answer = await request(method, '/echo?query=1', body)
        assert.equal(answer.headers.get('content-type'), 'application/json')
        await answered(answer, status, { name: 'echo', input, caller })
      })
    }

    it('takes the rest of the path as the name, which may be empty (R-OP-01)', async () => {
      await answered(await request('GET', '/a/b'), 200, { name: 'a/b' })
      await answered(await request('GET', ''), 200, 'root')
    })

    it('returns the first result that a handler gives (R-OP-01, R-OP-04)', async () => {
      await answered(await request('PUT', '/pick', {}), 200, 'first')
      await answered(await request('PUT', '/pick', { skip: true }), 200, 'second')
    })

    for (const which of ['yes', 'seven', 'text'])
      it(`returns ${JSON.stringify(results[which])} unchanged with 200, and never uses a number as a status (R-OP-01)`, async () => {
        await answered(await request('PUT', '/result', { of: which }), 200, results[which])
      })
    it('answers 204 when a handler returned nothing (R-OP-01)', async () => {
      await done(await request('PUT', '/result', { of: 'nothing' }))
      await done(await request('DELETE', '/result'))
    })
    for (const which of ['no', 'zero', 'empty', 'null'])
      it(`answers 404 when the handlers return ${JSON.stringify(results[which])} (R-OP-01)`, async () => {
        await refused(
          await request('PUT', '/result', { of: which }),
          404,
          'not_found',
          'Cannot find the resource "result": it does not exist',
        )
      })

    for (const method of ['GET', 'DELETE', 'PUT', 'POST'])
      it(`answers 404 to a ${method} that no handler serves (R-OP-01)`, async () => {
        const body = method === 'PUT' || method === 'POST' ? {} : undefined
        await refused(
          await request(method, '/unknown/x', body),
          404,
          'not_found',
          'Cannot find the resource "unknown/x": it does not exist',
        )
      })

    for (const [body, code, message] of [
      ['', 'invalid_json', 'Cannot read the body: it is empty'],
      ['{', 'invalid_json', /./],
      ['[1]', 'bad_request', 'Cannot use the resource: the body must be a JSON object'],
      ['5', 'bad_request', 'Cannot use the resource: the body must be a JSON object'],
      ['null', 'bad_request', 'Cannot use the resource: the body must be a JSON object'],
    ] as const) {
      it(`rejects a PUT and a POST with ${body === '' ? 'an empty body' : body}, with and without a handler (R-OP-01)`, async () => {
        for (const method of ['PUT', 'POST'])
          for (const path of ['/echo', '/unknown']) await refused(await request(method, path, body), 400, code, message)
      })
    }

    for (const name of ['throws', 'unspeakable'])
      it(`answers 500 without the reason when a handler ${name} (R-OP-01, HTTP-14)`, async () => {
        await refused(await request('GET', `/${name}`), 500, 'server_error', 'The service failed')
      })

    it('requires credentials (R-OP-01)', async () => {
      await refused(
        await service.request(`/${actor.id}/resources/echo`),
        401,
        'unauthorized',
        'Authentication required',
      )
    })

    it('neither changes properties nor notifies subscribers (R-OP-01)', async () => {
      await changesNothing(service, async () => assert.equal((await request('POST', '/echo', { a: 1 })).status, 201))
    })
  })

  describe('/bot', () => {
    it('answers 404 when no bot token is configured (R-OP-01)', async () => {
      const seen: unknown[] = []
      const service = await start({ declare: (app) => app.bot(() => seen.push(1)) })
      await refused(
        await service.request('/bot', { method: 'POST', body: '{}' }),
        404,
        'not_found',
        'Cannot reach the bot: none is configured',
      )
      assert.deepEqual(seen, [])
    })

    it('passes the message and the token to the handlers, and answers 204 without their result (R-OP-01)', async () => {
      const seen: unknown[] = []
      const service = await start({
        botToken: 'the-bot-token',
        declare: (app) =>
          app
            .bot((call) => {
              seen.push(call)
              return null
            })
            .bot(async () => {
              await turn()
              return { secret: 1 }
            })
            .bot(() => seen.push('too late')),
      })
      for (const body of ['{"text":"hi"}', '[1]', 'no json', ''])
        await done(await service.request('/bot', { method: 'POST', body }))
      const common = { path: '/bot', method: 'POST', bot_token: 'the-bot-token' }
      assert.deepEqual(seen, [{ ...common, body: { text: 'hi' } }, { ...common, body: [1] }, common, common])
    })

    for (const [what, result] of [
      ['null', null],
      ['nothing', undefined],
      ['false', false],
      ['0', 0],
      ['an empty string', ''],
    ] as const)
      it(`answers 404 when the handler returns ${what} (R-OP-01)`, async () => {
        const service = await start({ botToken: 't', declare: (app) => app.bot(() => result) })
        await refused(
          await service.request('/bot', { method: 'POST', body: '{}' }),
          404,
          'not_found',
          'No bot handled the message',
        )
      })

    it('answers 404 without a handler and below the path, and 500 when a handler throws (R-OP-01)', async () => {
      const silent = await start({ botToken: 't' })
      const post = (service: TestService, path: string): Promise<Response> =>
        service.request(path, { method: 'POST', body: '{}' })
      await refused(await post(silent, '/bot'), 404, 'not_found', 'No bot handled the message')
      await refused(await post(silent, '/bot/x'), 404, 'not_found', 'There is nothing at this address')
      const broken = await start({ botToken: 't', declare: (app) => app.bot(() => Promise.reject(new Error('x'))) })
      await refused(await post(broken, '/bot'), 500, 'server_error', 'The service failed')
    })
  })

  describe('/devtest', () => {
    let service: TestService
    let actor: TestActor
    const time = Date.UTC(2026, 0, 2, 3, 4, 5, 678)
    const timestamp = '2026-01-02 03:04:05'
    before(async () => {
      service = await start({ now: () => time })
    })
    const fresh = async (): Promise<void> => {
      actor = await service.createActor()
    }
    const request = (method: string, path: string, body?: unknown): Promise<Response> =>
      actor.request(method, `/devtest/${path}`, body)
    const nothing = async (answer: Response): Promise<void> =>
      refused(answer, 404, 'not_found', 'There is nothing at this devtest address')

    it('answers 404 to every caller where it is disabled (R-OP-01)', async () => {
      const off = await start({ devtest: false })
      const owner = await off.createActor()
      for (const path of ['/devtest', '/devtest/ping', '/devtest/attribute']) {
        await refused(await owner.request('GET', path), 404, 'not_found', 'There is nothing at this address')
        await refused(await off.request(`/${owner.id}${path}`), 404, 'not_found', 'There is nothing at this address')
      }
    })

    it('serves only the creator (R-OP-01)', async () => {
      await fresh()
      await refused(await service.request(`/${actor.id}/devtest/ping`), 401, 'unauthorized', 'Authentication required')
      for (const kind of ['friend', 'admin', 'trustee'] as const) {
        const other = await start({
          bearerKinds: [
            (_token, _actor, via) =>
              Promise.resolve(
                kind === 'trustee'
                  ? { kind, via }
                  : { kind: 'peer', peerId: 'p', relationship: kind, approved: true, via },
              ),
          ],
        })
        const owner = await other.createActor()
        await refused(
          await owner.request('GET', '/devtest/ping', undefined, { authorization: 'Bearer x' }),
          403,
          'forbidden',
          'Cannot read devtest: these credentials do not allow it',
        )
      }
    })

    it('answers GET, PUT and DELETE of ping (R-OP-01)', async () => {
      await fresh()
      for (const method of ['GET', 'PUT', 'DELETE']) await done(await request(method, 'ping'))
      await nothing(await request('POST', 'ping', {}))
    })

    it('writes attributes, reads one, a bucket or all, and deletes them (R-OP-01)', async () => {
      await fresh()
      for (const path of ['attribute', 'attribute/b', 'attribute/b/k', 'attributes'])
        await nothing(await request('GET', path))
      await done(await request('PUT', 'attribute/b/k', { a: 1 }))
      await done(await request('PUT', 'attribute/b/t', 'raw text'))
      await done(await request('PUT', 'attribute/c/n', '5'))
      const [k, t, n] = [
        { data: { a: 1 }, timestamp },
        { data: 'raw text', timestamp },
        { data: 5, timestamp },
      ]
      await answered(await request('GET', 'attribute'), 200, { b: { k, t }, c: { n } })
      await answered(await request('GET', 'attributes'), 200, { b: { k, t }, c: { n } })
      await answered(await request('GET', 'attribute/b'), 200, { k, t })
      await answered(await request('GET', 'attribute/b/k'), 200, k)
      await done(await request('DELETE', 'attribute/b/k'))
      await done(await request('DELETE', 'attribute/b/absent'))
      await answered(await request('GET', 'attribute'), 200, { b: { t }, c: { n } })
      await done(await request('DELETE', 'attribute/b'))
      await answered(await request('GET', 'attribute'), 200, { c: { n } })
      await done(await request('DELETE', 'attribute'))
      await nothing(await request('GET', 'attribute'))
    })

    it('sets each field of a posted object and returns the body (R-OP-01)', async () => {
      await fresh()
      await answered(await request('POST', 'attribute/b', { x: 1, y: 'two', z: null }), 200, {
        x: 1,
        y: 'two',
        z: null,
      })
      await answered(await request('GET', 'attribute/b'), 200, {
        x: { data: 1, timestamp },
        y: { data: 'two', timestamp },
      })
      for (const body of ['', '{}', '[]', 'no json', '5'])
        await changesNothing(service, async () => {
          const answer = await request('POST', 'attribute/b', body)
          assert.deepEqual([answer.status, await answer.text(), answer.headers.get('content-type')], [200, '', null])
        })
    })

    for (const value of ['null', '0', '""', '', 'false'])
      it(`does not store ${value === '' ? 'an empty body' : value} (R-OP-01)`, async () => {
        await fresh()
        await changesNothing(service, async () => done(await request('PUT', 'attribute/b/k', value)))
      })

    for (const [method, path] of [
      ['GET', ''],
      ['GET', 'other'],
      ['GET', 'attribute/b/k/x'],
      ['PUT', 'attribute'],
      ['PUT', 'attribute/b'],
      ['PUT', 'attributes/b/k'],
      ['POST', 'attribute'],
      ['POST', 'attributes/b'],
      ['POST', 'other'],
      ['DELETE', 'attributes'],
      ['DELETE', 'other'],
      ['PUT', 'ping/x'],
    ] as const)
      it(`answers 404 to ${method} ${path === '' ? '(no path)' : path} (R-OP-01)`, async () => {
        await fresh()
        await changesNothing(service, async () =>
          nothing(await request(method, path, method === 'GET' || method === 'DELETE' ? undefined : '{"a":1}')),
        )
      })

    it('keeps attributes apart from properties, and deletes them with the actor (R-OP-01)', async () => {
      await fresh()
      await done(await request('PUT', 'attribute/b/k', '1'))
      await answered(await actor.request('GET', '/properties'), 200, {})
      await done(await actor.request('DELETE', ''))
      assert.deepEqual(
        (await everythingStored(service)).attribute.filter((row) => row['actor_id'] === actor.id),
        [],
      )
    })
  })
})
