/** Query parameters as only an attacker writes them: cursors that the service has not made, NUL, huge numbers, other JSON. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { z } from 'zod'
import type { Route } from '../../src/http/dispatch/route.ts'
import { elements, known } from '../../src/json/json.ts'
import { seeded } from '../support/random.ts'
import { declareAll, furnish, requestOf, routes } from '../support/routes.ts'
import { forEachService } from '../support/service.ts'
import { asBrowser, signIn } from '../support/sessions.ts'

/** Text that looks like a cursor of a page. */
const cursors: readonly string[] = [
  '[1,"a"}"]',
  '[1,"a" }{"]',
  '[1, {} ,"a"]',
  '[ {} ]',
  '[1,"\\"]',
  '[1,"\\x"]',
  '[1,"\\u0000"]',
  '[1,"a\\u0000"]',
  '[1,"\\ud800"]',
  '[1,"a","b"]',
  '[9999999999999999,"4a"]',
  '[1,"4a"',
  '{"a":1}',
  '["__proto__","constructor"]',
  '1e400',
  '\0',
  '9223372036854775808 a',
  '0',
].map((text) => Buffer.from(text).toString('base64url'))

const odd: readonly string[] = [
  ...cursors,
  '',
  '\0',
  'a\0b',
  '\ud83d',
  '%00',
  '__proto__',
  'constructor',
  '-1',
  '1e400',
  '9007199254740993',
  '9223372036854775808',
  '0x10',
  '1.5',
  'NaN',
  "'",
  '[ {} ]',
  '{"a":1}',
  '2026-02-30',
  '275760-09-13T00:00:00.001Z',
  '-000001-01-01T00:00:00Z',
  ':',
  'properties.read:\0',
  '//evil.example.com',
]

/** Parameters of conditions on the fields of items. */
const groups: readonly (readonly [name: string, value: string])[] = [
  ['where[due][in]', '[ {} ]'],
  ['where[due][in]', '[1 } ]'],
  ['where[due][in]', '[1e400]'],
  ['where[due][in]', '["\\ud800"]'],
  ['where[due][in]', `${'['.repeat(500)}${']'.repeat(500)}`],
  ['where[due][in]', '[1,'],
  ['where[due]', '"\\ud800"'],
  ['where[due]', '"\\x"'],
  ['where[due]', '\0'],
  ['where[due][gte]', '\0'],
  ['where[due][startsWith]', '\u{10ffff}'],
  ['where[due][startsWith]', '\0'],
  ['where[d\0e]', '1'],
  ['where[\0]', '1'],
  ['where[__proto__]', '1'],
  ['where[due][__proto__]', '1'],
]

const endless = new Set(['streamChanges', 'liveChanges'])

forEachService((start, kind) => {
  describe('a query of a stranger’s making', () => {
    it('makes no route fail, whatever a parameter has (HTTP-44)', async () => {
      const service = await start({ devtest: true, declare: (app) => declareAll(app) })
      const actor = await service.createActor()
      await furnish(actor)
      const cookie = `oauth_token=${await signIn(service, actor)}`
      const random = seeded(kind === 'sqlite' ? 11 : 12)
      const failed: string[] = []
      const ask = async (route: Route, name: string, value: string): Promise<void> => {
        const isPage = route.page === true || route.access === 'www'
        const [path, init] = requestOf(
          route,
          actor.id,
          isPage ? { ...asBrowser, cookie, 'sec-fetch-site': 'same-origin' } : { authorization: actor.authorization },
        )
        const query = `${encodeURIComponent(name)}=${encodeURIComponent(value.toWellFormed())}`
        const answer = await service.request(`${path}${path.includes('?') ? '&' : '?'}${query}`, init)
        await answer.body?.cancel()
        if (answer.status >= 500 && answer.status !== 502 && answer.status !== 507)
          failed.push(`${answer.status} ${route.id} ${name}=${JSON.stringify(value)}`)
      }
      for (const route of routes.filter(({ id, method }) => method === 'GET' && !endless.has(id))) {
        const names = Object.keys(route.query ?? {})
        for (const name of names)
          for (const value of kind === 'sqlite' ? odd : odd.filter(() => random.below(3) === 0))
            await ask(route, name, value)
        if (route.queryGroups !== undefined) for (const [name, value] of groups) await ask(route, name, value)
      }
      assert.deepEqual(failed, [])
    })

    it('finds the items that it names, or is refused, and never holds the process (HTTP-44)', async () => {
      const service = await start({
        declare: (app) => app.list('tasks', { item: z.looseObject({}), indexes: ['due', 'n'] } as never),
      })
      const actor = await service.createActor()
      await actor.request('POST', '/properties', { tasks: { _type: 'list' } })
      for (const item of [
        { due: 'a', n: 1 },
        { due: 'b', n: 2 },
        { due: 'c', n: 3 },
      ])
        assert.equal((await actor.request('POST', '/properties/tasks', item)).status, 201)
      const ask = async (query: string): Promise<readonly [number, string]> => {
        const answer = await actor.request('GET', `/properties/tasks/items?${query}`)
        return [answer.status, await answer.text()]
      }
      const where = (name: string, value: string): string => new URLSearchParams([[name, value]]).toString()
      for (const spaced of ['["a", "b"]', '[ "a" , "b" ]', '["a","b"]', ' ["a",\n"b"]'.trim()])
        assert.deepEqual(
          await ask(where('where[due][in]', spaced)),
          [200, '{"items":[{"item":{"due":"a","n":1}},{"item":{"due":"b","n":2}}]}'],
          spaced,
        )
      assert.deepEqual(await ask(where('where[due][in]', '[ ]')), [200, '{"items":[]}'])
      assert.deepEqual(await ask(where('where[n][in]', '[ 1, 3 ]')), [
        200,
        '{"items":[{"item":{"due":"a","n":1}},{"item":{"due":"c","n":3}}]}',
      ])
      for (const [name, value] of groups) {
        const [status, text] = await ask(where(name, value))
        assert.ok(status === 400 || status === 200, `${name}=${value}: ${status} ${text}`)
      }
      for (const after of cursors) {
        const [status] = await ask(`sort=due&after=${after}`)
        assert.ok(status === 400 || status === 200, after)
      }
    })
  })
})

describe('an array that was stored without its check', () => {
  it('is read or fails, and never without an end (HTTP-44)', () => {
    const random = seeded(5)
    const parts = ['[', ']', '{', '}', ',', ':', '"', '\\', ' ', '1', 'a', '"x"', '{}', '[]', 'null'] as const
    for (let round = 0; round < 20_000; round += 1) {
      const text = `[${Array.from({ length: random.below(8) }, () => random.pick(parts)).join('')}`
      try {
        elements(known(text))
      } catch (error) {
        assert.ok(error instanceof RangeError, text)
      }
    }
  })
})
