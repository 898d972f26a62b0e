/* cspell:ignore acef dfbaec ceabfd dcbafe efabcd efac faec cdef lastnew abcdef Ahbdefg efgh dfbeg efbhgd hgef fbae ceab baec */
/** Queries of lists by their fields, over HTTP and from code, with and without indexes. */
import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { z } from 'zod'
import type { ActorHandle, ListHandle } from '../../src/app/actor-handle.ts'
import type { ListQuery } from '../../src/app/list-query.ts'
import { App } from '../../src/troupe.ts'
import { extend, makeList } from '../../src/list/list.ts'
import { known } from '../../src/json/json.ts'
import { seeded } from '../support/random.ts'
import { relateTo } from '../support/recording-peer.ts'
import { countOf } from '../support/citus.ts'
import { forEachService, type TestActor, type TestService } from '../support/service.ts'
import { refused } from '../support/stored.ts'
import { until } from '../support/until.ts'

const Task = z.object({
  text: z.string(),
  done: z.boolean().default(false),
  due: z.string().nullable().optional(),
  rank: z.number().optional(),
})
type Given = z.input<typeof Task>

function declare(app: App): void {
  app.list('tasks', { item: Task, indexes: ['done', 'due', 'rank'] })
  app.list('plain', { item: Task })
  app.list('hooked', { item: Task, indexes: ['rank'] })
  app.property('hooked', {
    get: ({ path, value }) => (path.length > 1 && JSON.stringify(value).includes('secret') ? null : value),
  })
  app.trustType({
    name: 'reader',
    display_name: 'Reader',
    description: 'Reads plain tasks',
    permissions: { properties: { patterns: ['plain'], operations: ['read'] } },
  })
}

const some: readonly Given[] = [
  { text: 'a', due: '2026-03-01', rank: 2 },
  { text: 'b', done: true, due: '2026-01-01', rank: -1.5 },
  { text: 'c', due: null, rank: 10 },
  { text: 'd', done: true },
  { text: 'e', due: 'é', rank: 2 },
  { text: 'f', due: '2026-03-01', rank: -20 },
]

type Querying = Pick<ListHandle, 'query' | 'count'>

/** The texts of all pages of a query. */
async function allTexts(list: Querying, query: ListQuery): Promise<string[]> {
  const texts: string[] = []
  let after: string | null = null
  do {
    const page: Awaited<ReturnType<Querying['query']>> = await list.query({ ...query, after })
    texts.push(...page.items.map(({ item }) => (item as Given).text))
    assert.ok(page.items.length <= (query.limit ?? 1000))
    after = page.next
  } while (after !== null)
  return texts
}

const asked: readonly ListQuery[] = [
  {},
  { where: { done: false } },
  { where: { done: true } },
  { where: { rank: 2 } },
  { where: { due: null } },
  { where: { done: false, rank: 2 } },
  { sort: 'rank' },
  { sort: '-due' },
  { where: { done: false }, sort: '-rank' },
  { where: { rank: { gte: 0, lt: 5 } } },
  { where: { rank: { gt: 0 } }, sort: '-rank' },
  { where: { rank: { in: [1, 2, 5] } } },
  { where: { due: { startsWith: '2026' }, done: false } },
]

forEachService((start) => {
  let service: TestService
  let actor: TestActor
  let handle: ActorHandle
  before(async () => {
    service = await start({ declare })
  })

  async function fresh(): Promise<void> {
    actor = await service.createActor()
    const found = await service.app.actors.get(actor.id)
    assert.ok(found !== undefined)
    handle = found
    for (const name of ['tasks', 'plain', 'hooked']) await handle.list(name).extend(some)
  }

  const get = (path: string, headers?: Record<string, string>): Promise<Response> =>
    actor.request('GET', `/properties/${path}`, undefined, headers)

  async function texts(path: string): Promise<string> {
    const answer = await get(path)
    const body = (await answer.json()) as { readonly items: readonly { readonly item: Given }[] }
    assert.equal(answer.status, 200, JSON.stringify(body))
    return body.items.map(({ item }) => item.text).join('')
  }

  const questions = [
    ['where[done]=false', 'acef'],
    ['where[done]=true', 'bd'],
    ['where[due]=2026-03-01', 'af'],
    ['where[due]=null', 'c'],
    ['where[rank]=2', 'ae'],
    ['where[rank]=2.0', 'ae'],
    ['where[rank]="2"', ''],
    ['where[due]=2026-03-01&where[rank]=2', 'a'],
    ['sort=rank', 'dfbaec'],
    ['sort=-rank', 'ceabfd'],
    ['sort=due', 'dcbafe'],
    ['sort=-due', 'efabcd'],
    ['where[done]=false&sort=-due', 'efac'],
    ['where[done]=false&sort=rank', 'faec'],
    ['where[done]=true&where[rank]=2&sort=due', ''],
    ['where[rank][gte]=2', 'aec'],
    ['where[rank][gt]=2', 'c'],
    ['where[rank][lt]=2', 'fb'],
    ['where[rank][lte]=2', 'fbae'],
    ['where[rank][gte]=-1.5&where[rank][lt]=10', 'bae'],
    ['where[rank][gt]=2&where[rank][lt]=2', ''],
    ['where[rank][gte]="0"', ''],
    ['where[due][gte]=2026-02', 'afe'],
    ['where[due][lt]=2026-02', 'b'],
    ['where[due][startsWith]=2026-0', 'baf'],
    ['where[due][startsWith]=2026-0&where[due][gt]=2026-01-01', 'af'],
    ['where[due][startsWith]=é', 'e'],
    ['where[due][startsWith]="2"', 'baf'],
    ['where[rank][in]=10,-20', 'fc'],
    ['where[due][in]=null,2026-01-01', 'cb'],
    ['where[due][in]=["2026-01-01","a,b"]', 'b'],
    ['where[rank][in]=[]', ''],
    ['where[done]=false&where[rank][gte]=2', 'ace'],
    ['where[rank][gte]=2&where[done]=false&sort=-due', 'eac'],
    ['where[rank][gte]=-1.5&sort=-rank', 'ceab'],
    ['where[rank][gte]=-1.5&where[done][in]=true,false&sort=rank', 'baec'],
    ['where[rank][in]=2,10&sort=-rank', 'cea'],
    ['where[due][startsWith]=2026&where[rank][lt]=2', 'bf'],
  ] as const

  for (const list of ['tasks', 'plain', 'hooked']) {
    describe(`a query of the list ${list}`, () => {
      it('returns the matching items in order', async () => {
        await fresh()
        for (const [query, expected] of questions) assert.equal(await texts(`${list}/items?${query}`), expected, query)
      })

      it('returns pages that each name the next one', async () => {
        await fresh()
        for (const [query, expected] of questions) {
          let found = ''
          let url: string | undefined = `?${query}&limit=2`
          while (url !== undefined) {
            const answer = await get(`${list}/items${url}`)
            const body = (await answer.json()) as { readonly items: readonly { readonly item: Given }[]; next?: string }
            found += body.items.map(({ item }) => item.text).join('')
            assert.ok(body.items.length <= 2)
            const link = /^<(.+)>; rel="next"$/.exec(answer.headers.get('link') ?? '')?.[1]
            assert.equal(link === undefined, body.next === undefined)
            url = link
          }
          assert.equal(found, expected, query)
        }
      })

      it('follows insertions, updates, deletions and bulk changes', async () => {
        await fresh()
        const tasks = handle.list(list)
        await tasks.insert(0, { text: 'g', rank: 2 })
        await tasks.update(1, { text: 'A', done: true, rank: 3 })
        await tasks.delete(2)
        await tasks.updateWhere('text', 'c', { text: 'C', rank: 2 })
        await tasks.removeWhere('text', 'd')
        const bulk = {
          items: [
            { index: 3, text: 'E', due: 'x' },
            { index: 5, text: 'h', rank: 2 },
          ],
        }
        assert.equal((await actor.request('PUT', '/properties', { [list]: bulk })).status, 204)
        assert.equal(await texts(`${list}/items?where[rank]=2`), 'Cgh')
        assert.equal(await texts(`${list}/items?where[done]=true`), 'A')
        assert.equal(await texts(`${list}/items?sort=rank`), 'EfCghA')
        await handle.transaction(async (tx) => {
          await tx.list(list).append({ text: 'i', rank: 2 })
          await tx.list(list).pop(0)
        })
        assert.equal(await texts(`${list}/items?where[rank]=2`), 'Chi')
        await tasks.clear()
        assert.equal(await texts(`${list}/items?where[rank]=2`), '')
        await tasks.append({ text: 'j', rank: 2 })
        assert.equal(await texts(`${list}/items?where[rank]=2`), 'j')
        await tasks.remove()
        assert.equal(await texts(`${list}/items?where[rank]=2`), '')
        await tasks.append({ text: 'k', rank: 2 })
        assert.equal(await texts(`${list}/items?sort=-rank`), 'k')
      })

      it('answers code with handles, counts and pages', async () => {
        await fresh()
        const tasks = handle.list(list)
        assert.equal(await tasks.count(), 6)
        assert.equal(await tasks.count({ done: false }), 4)
        assert.equal(await tasks.count({ due: '2026-03-01', rank: 2 }), 1)
        const page = await tasks.query({ where: { done: false }, sort: '-due', limit: 2 })
        assert.deepEqual(
          page.items.map(({ item }) => (item as Given).text),
          ['e', 'f'],
        )
        const rest = await tasks.query({ where: { done: false }, sort: '-due', limit: 2, after: page.next })
        assert.deepEqual(
          rest.items.map(({ item }) => (item as Given).text),
          ['a', 'c'],
        )
        assert.equal(rest.next, null)
        const [first] = page.items
        assert.equal(await tasks.updateByHandle(first?.handle ?? '', { text: 'E', done: true }), true)
        assert.equal(await tasks.deleteByHandle(first?.handle ?? ''), false)
        assert.equal(await tasks.count({ done: true }), 3)
        const all = await tasks.query({ limit: 4 })
        assert.deepEqual(
          all.items.map(({ item }) => (item as Given).text),
          ['a', 'b', 'c', 'd'],
        )
        const last = await tasks.query({ limit: 4, after: all.next })
        assert.deepEqual([last.items.length, last.next], [2, null])
      })

      it('in a transaction sees the changes of the transaction', async () => {
        await fresh()
        await handle.transaction(async (tx) => {
          const tasks = tx.list(list)
          await tasks.append({ text: 'g', rank: 2 })
          await tasks.update(0, { text: 'A', done: true, rank: 3 })
          await tasks.delete(2)
          await tasks.insert(1, { text: 'h', due: null, rank: 10 })
          const results = []
          for (const query of asked) results.push((await allTexts(tasks, { ...query, limit: 2 })).join(''))
          assert.deepEqual(results, [
            'Ahbdefg',
            'efgh',
            'Abd',
            'eg',
            'h',
            'eg',
            'dfbegAh',
            'efbhgdA',
            'hgef',
            'egA',
            'hAge',
            'eg',
            'f',
          ])
          assert.equal(await tasks.count(), 7)
          assert.equal(await tasks.count({ done: false }), 4)
          assert.equal(await tasks.count({ rank: 2, done: false }), 2)
          assert.equal(await tasks.count({ due: '2026-03-01' }), 1)
          await tasks.clear()
          assert.deepEqual([await allTexts(tasks, { sort: 'rank' }), await tasks.count({ done: false })], [[], 0])
          await tasks.append({ text: 'i', rank: 5 })
          assert.deepEqual(await allTexts(tasks, { where: { rank: 5 } }), ['i'])
          await tasks.remove()
          assert.deepEqual([await allTexts(tasks, { sort: 'rank' }), await tasks.count()], [[], 0])
          await tasks.append({ text: 'j', rank: 5 })
          assert.deepEqual(await allTexts(tasks, { where: { rank: 5 } }), ['j'])
        })
        assert.deepEqual(await allTexts(handle.list(list), { where: { rank: 5 } }), ['j'])
      })

      it('answers in a transaction as after its end, for 8 seeds', async () => {
        for (let seed = 1; seed <= 8; seed++) {
          await fresh()
          const random = seeded(seed)
          const task = (text: string): Given => ({
            text,
            done: random.below(2) === 0,
            due: random.pick([null, '2026-01-01', '2026-03-01']),
            rank: random.below(4),
          })
          const results: (string[] | number)[] = []
          await handle.transaction(async (tx) => {
            const tasks = tx.list(list)
            for (let change = 0; change < 12; change++) {
              const length = await tasks.length()
              const at = random.below(length)
              const operation = random.pick(['append', 'insert', 'update', 'update', 'delete'])
              if (operation === 'append' || length === 0) await tasks.append(task(`${change}`))
              else if (operation === 'insert') await tasks.insert(at, task(`${change}`))
              else if (operation === 'update') await tasks.update(at, task(`${change}`))
              else await tasks.delete(at)
            }
            for (const query of asked) results.push(await allTexts(tasks, { ...query, limit: 1 + random.below(4) }))
            for (const { where } of asked) results.push(await tasks.count(where))
          })
          const after: (string[] | number)[] = []
          for (const query of asked) after.push(await allTexts(handle.list(list), query))
          for (const { where } of asked) after.push(await handle.list(list).count(where))
          assert.deepEqual(results, after, `seed ${seed}`)
        }
      })

      it('in a transaction returns handles of stored and of new items', async () => {
        await fresh()
        let kept = ''
        await handle.transaction(async (tx) => {
          const tasks = tx.list(list)
          await tasks.insert(0, { text: 'g', rank: 99 })
          await tasks.update(1, { text: 'A', rank: 98 })
          const [g, replaced, c] = (await tasks.query({ sort: '-rank', limit: 3 })).items
          assert.deepEqual(
            [g, replaced, c].map((found) => (found?.item as Given | undefined)?.text),
            ['g', 'A', 'c'],
          )
          kept = g?.handle ?? ''
          assert.equal(await tasks.updateByHandle(kept, { text: 'G', rank: 97 }), true)
          assert.equal(await tasks.updateByHandle(kept, { text: 'again' }), false)
          assert.equal(await tasks.deleteByHandle(replaced?.handle ?? ''), true)
          assert.equal(await tasks.deleteByHandle(replaced?.handle ?? ''), false)
          assert.equal(await tasks.updateByHandle(c?.handle ?? '', { text: 'C', rank: 1 }), true)
          assert.equal(await tasks.deleteByHandle(c?.handle ?? ''), false)
          const [first] = (await tasks.query({ limit: 1 })).items
          assert.equal(await tasks.updateByHandle(first?.handle ?? '', { text: 'GG', rank: 96 }), true)
        })
        assert.deepEqual(await allTexts(handle.list(list), {}), ['GG', 'b', 'C', 'd', 'e', 'f'])
        await assert.rejects(handle.list(list).deleteByHandle(kept), { code: 'invalid_value' })
      })

      it('streams JSON lines', async () => {
        await fresh()
        const lines = { accept: 'application/x-ndjson' }
        const read = async (query: string): Promise<string> => {
          const answer = await get(`${list}/items${query}`, lines)
          assert.equal(answer.headers.get('content-type'), 'application/x-ndjson')
          const body = await answer.text()
          return body
            .split('\n')
            .slice(0, -1)
            .map((line) => (JSON.parse(line) as Given).text)
            .join('')
        }
        assert.equal(await read(''), 'abcdef')
        assert.equal(await read('?start=2'), 'cdef')
        assert.equal(await read('?start=2&limit=1'), 'c')
        assert.equal(await read('?where[done]=false&sort=-due'), 'efac')
        assert.equal(await read('?sort=rank&limit=2'), 'df')
      })
    })
  }

  it('names the next part of a list in its order', async () => {
    await fresh()
    const answer = await get('tasks/items?start=1&limit=2')
    const body = (await answer.json()) as {
      readonly next?: number
      readonly after?: string
      readonly items: readonly unknown[]
      readonly count: number
    }
    assert.deepEqual([body.items.length, body.count, body.next], [2, 6, 3])
    assert.equal(answer.headers.get('link'), `<?limit=2&after=${body.after}>; rel="next"`)
    const end = await get('tasks/items?start=4&limit=2')
    assert.equal(end.headers.get('link'), null)
    assert.deepEqual(Object.keys((await end.json()) as object), ['items', 'count'])
    assert.deepEqual(Object.keys((await (await get('tasks/items')).json()) as object), ['items', 'count'])
  })

  it('in a transaction runs again when the list changed after the query', async () => {
    await fresh()
    const counts: number[] = []
    await handle.transaction(async (tx) => {
      counts.push(await tx.list('tasks').count({ rank: 2 }))
      if (counts.length === 1) await handle.list('tasks').append({ text: 'g', rank: 2 })
      await tx.set('counted', counts.at(-1) ?? 0)
    })
    assert.deepEqual(counts, [2, 3])
    assert.equal(await handle.get('counted'), 3)
  })

  it('shows no item that a hook hides', async () => {
    await fresh()
    await handle.list('hooked').append({ text: 'secret', rank: 99 })
    const peer = handle.list('hooked')
    assert.equal(await peer.count({ rank: 99 }), 0)
    const inside = await handle.transaction(async (tx) => {
      await tx.list('hooked').append({ text: 'secret too', rank: 99 })
      return [
        await tx.list('hooked').count({ rank: 99 }),
        await allTexts(tx.list('hooked'), { sort: '-rank', limit: 1 }),
      ]
    })
    assert.deepEqual(inside, [0, ['c', 'e', 'a', 'b', 'f', 'd']])
    assert.equal(await texts('hooked/items?sort=-rank&limit=1'), 'c')
  })

  const refusals = [
    ['?limit=0', 'Invalid limit: expected a whole number from 1 to 1000.'],
    ['?limit=1001', 'Invalid limit: expected a whole number from 1 to 1000.'],
    ['?sort=-', 'Invalid sort: expected the name of a field.'],
    ['?after=x&sort=due', 'Invalid after: expected `next` of the page before.'],
    ['?where[due]=1&where[due]=2', 'Invalid where of "due": expected it once.'],
    [`?where[due]=${'x'.repeat(200)}`, 'Invalid where of "due": expected fewer than 200 characters.'],
    [
      '?where[rank][above]=1',
      'Invalid where of "rank": "above" is not an operator. Use gt, gte, lt, lte, startsWith or in.',
    ],
    ['?where[rank][]=1', 'Invalid where of "rank": "" is not an operator. Use gt, gte, lt, lte, startsWith or in.'],
    ['?where[rank][gte]=1&where[rank][gte]=2', 'Invalid where of "rank": expected it once.'],
    ['?where[rank][gte]=1&where[rank]=2', 'Invalid where of "rank": expected it once.'],
    ['?where[rank]=1&where[rank][gte]=2', 'Invalid where of "rank": expected it once.'],
    ['?where[rank][gte]=true', 'Invalid where of "rank": expected a string or a number.'],
    ['?where[rank][gte]=1&where[rank][lt]=x', 'Invalid where of "rank": expected two strings or two numbers.'],
    ['?where[due][in]=1&where[due][gt]=1', 'Invalid where of "due": expected `in` alone, with at most 100 values.'],
    [
      `?where[due][in]=${Array.from({ length: 101 }, (_, at) => at).join(',')}`,
      'Invalid where of "due": expected `in` alone, with at most 100 values.',
    ],
    ['?where[due][in]=[1,', 'Invalid where of "due": expected a JSON array.'],
    ['?where[due][in]=[[1]]', 'Invalid where of "due": expected a string, a number, true, false or null.'],
    ['?where[rank][lt]=1e999', 'Invalid where of "rank": the number is beyond the range of a double (1.8e308).'],
    [`?where[due][lt]=${'x'.repeat(200)}`, 'Invalid where of "due": expected fewer than 200 characters.'],
    ['?start=1&sort=due', 'Cannot give both start and a query: use after with the `next` of a page.'],
  ] as const

  for (const [query, message] of refusals) {
    it(`refuses ${query.slice(0, 40)}`, async () => {
      await fresh()
      await refused(await get(`tasks/items${query}`), 400, 'bad_request', message)
    })
  }

  // Caches add a parameter against caching, links carry those of trackers, and later versions of peers send more.
  it('ignores parameters that it does not know, and names them in development', async () => {
    await fresh()
    for (const [query, ignored] of [
      ['?_=1730000000000', '_'],
      ['?utm_source=mail&limit=1&fbclid=x', 'utm_source, fbclid'],
      ['?filter=1', 'filter'],
      ['?where=1', 'where'],
      ['?%0d%0aX-Y:1=1&ü=2', '%0D%0AX-Y%3A1, %C3%BC'],
      [`?${'n'.repeat(60)}=1`, 'n'.repeat(50)],
      [`?${Array.from({ length: 12 }, (_, n) => `p${n}=1`).join('&')}`, 'p0, p1, p2, p3, p4, p5, p6, p7, p8, p9'],
    ] as const) {
      const answer = await get(`tasks/items${query}`)
      assert.deepEqual([answer.status, answer.headers.get('troupe-ignored-query')], [200, ignored], query)
    }
  })

  it('refuses values from code that no field can be compared with', async () => {
    await fresh()
    const tasks = handle.list('tasks')
    await assert.rejects(tasks.count({ due: ['x'] as unknown as string }), {
      code: 'bad_request',
      message: 'Invalid where of "due": expected a string, a number, true, false or null.',
    })
    for (const [due, message] of [
      [{ startsWith: 1 }, 'Invalid where of "due": expected a string.'],
      [{}, 'Invalid where of "due": expected an operator: gt, gte, lt, lte, startsWith or in.'],
      [{ in: 'x' }, 'Invalid where of "due": expected `in` alone, with at most 100 values.'],
      [{ gte: null }, 'Invalid where of "due": expected a string or a number.'],
    ] as const)
      await assert.rejects(tasks.count({ due: due as object }), { code: 'bad_request', message })
    await assert.rejects(tasks.query({ limit: 0.5 }), { code: 'bad_request' })
    await assert.rejects(
      handle.transaction(async (tx) => tx.list('tasks').query({ limit: 1001 })),
      { code: 'bad_request', message: 'Invalid limit: expected a whole number from 1 to 1000.' },
    )
    const many = Object.fromEntries(Array.from({ length: 9 }, (_, at) => [`f${at}`, 1]))
    await assert.rejects(tasks.count(many), {
      code: 'bad_request',
      message: 'Invalid where: expected at most 8 fields.',
    })
  })

  it('requires the right to read the list', async () => {
    await fresh()
    const peer = await relateTo(service, actor, { relationship: 'reader' })
    assert.equal((await peer.request('GET', '/properties/plain/items?where[rank]=2')).status, 200)
    assert.equal((await peer.request('GET', '/properties/tasks/items?where[rank]=2')).status, 403)
  })

  describe('a long list', () => {
    /** Creates a list of 10,500 items as an earlier version did, without indexes. */
    async function long(name: string): Promise<void> {
      const { store } = await service.app.running()
      const at = { actorId: actor.id, list: name, format: null }
      await handle.list(name).remove()
      await store.writeActor(actor.id, async (tx) => {
        await makeList(tx, at, {}, 0)
        const items = Array.from({ length: 10_500 }, (_, rank) =>
          known(JSON.stringify({ text: 't', done: rank % 2 === 0, due: `${rank % 7}`, rank })),
        )
        await extend(tx, at, items, 0)
      })
    }

    it('without an index is refused, and the error names the index', async () => {
      await fresh()
      await long('plain')
      await refused(
        await get('plain/items?where[rank]=2&sort=due'),
        400,
        'index_required',
        'Cannot query the list "plain" of 10500 items: it has no index of "rank" and "due". Declare it in `indexes` of the list',
      )
      await assert.rejects(handle.list('plain').count({ rank: 1 }), { code: 'index_required' })
      assert.equal((await handle.list('plain').query({ limit: 3 })).items.length, 3)
      await assert.rejects(
        handle.transaction(async (tx) => {
          await tx.list('plain').append({ text: 'new', rank: 1 })
          assert.equal((await tx.list('plain').query({ limit: 3 })).items.length, 3)
          assert.equal(await tx.list('plain').count(), 10_501)
          await tx.list('plain').count({ rank: 1 })
        }),
        {
          code: 'index_required',
          message:
            'Cannot query the list "plain" of 10501 items: it has no index of "rank". Declare it in `indexes` of the list',
        },
      )
    })

    it('is queried in a transaction by its indexes, which are built first', async () => {
      await fresh()
      await long('tasks')
      const { parts } = await service.app.running()
      const change = (): Promise<unknown> =>
        handle.transaction(async (tx) => {
          const tasks = tx.list('tasks')
          await tasks.delete(-1)
          await tasks.update(4, { text: 'new', done: true, rank: 20_000 })
          await tasks.append({ text: 'last', rank: -1 })
          const { items } = await tasks.query({ where: { done: true }, sort: '-rank', limit: 3 })
          const [lowest] = (await tasks.query({ sort: 'rank', limit: 1 })).items
          return [items.map(({ item }) => (item as Given).rank), lowest?.item, await tasks.count({ done: true })]
        })
      await assert.rejects(change(), { code: 'unavailable' })
      await parts.listIndexes.settled()
      service.reset()
      assert.deepEqual(await change(), [[20_000, 10_498, 10_496], { text: 'last', done: false, rank: -1 }, 5250])
      assert.ok(countOf(service.statements) <= 80, `${countOf(service.statements)} statements`)
      assert.equal(await handle.list('tasks').count({ done: true }), 5250)
    })

    it('whose hook determines what a caller sees is refused', async () => {
      await fresh()
      await long('hooked')
      await refused(
        await get('hooked/items?where[rank]=2'),
        400,
        'index_required',
        'Cannot query the list "hooked" of 10500 items: a hook determines what a caller sees of each item',
      )
    })

    it('has its indexes built in the background, while it changes', async () => {
      await fresh()
      await long('tasks')
      const tasks = handle.list('tasks')
      const answer = await get('tasks/items?where[rank]=2')
      assert.equal(answer.headers.get('retry-after'), '5')
      await refused(
        answer,
        503,
        'unavailable',
        'Cannot query the list "tasks" of 10500 items: its index is being built. Try again later',
      )
      await tasks.update(10_000, { text: 'new', rank: -1 })
      await tasks.delete(0)
      await tasks.append({ text: 'last', rank: -2 })
      const { parts } = await service.app.running()
      await parts.listIndexes.settled()
      assert.equal(await texts('tasks/items?sort=rank&limit=2'), 'lastnew')
      assert.equal(await tasks.count({ rank: 0 }), 0)
      assert.equal(await tasks.count({ rank: 10_000 }), 0)
      assert.equal(await tasks.count({ rank: 10_499 }), 1)
      await assert.rejects(tasks.count({ done: false }), { code: 'unavailable' })
      await parts.listIndexes.settled()
      assert.equal(await tasks.count({ done: false }), 5252)
    })

    it('answers a page with as many statements as a short list, and a rare match beside a sort', async () => {
      await fresh()
      const ask = '?where[done]=true&sort=-rank&limit=50'
      service.reset()
      await get(`tasks/items${ask}`)
      const short = service.statements.length
      await long('tasks')
      await handle
        .list('tasks')
        .query({ where: { done: true }, sort: 'rank' })
        .catch(() => null)
      const { parts } = await service.app.running()
      await until(async () => {
        await parts.listIndexes.settled()
        return (await get(`tasks/items${ask}`)).status === 200
      })
      service.reset()
      const answer = await get(`tasks/items${ask}`)
      assert.equal(answer.status, 200)
      assert.ok(
        service.statements.length <= short + 2,
        `${service.statements.length} statements, ${short} for a short list`,
      )
      const { items } = (await answer.json()) as { readonly items: readonly { readonly item: Given }[] }
      assert.deepEqual([items.length, items[0]?.item.rank, items[49]?.item.rank], [50, 10_498, 10_400])
      const tasks = handle.list('tasks')
      const ranks = async (query: ListQuery): Promise<unknown[]> =>
        (await tasks.query(query)).items.map(({ item }) => (item as Given).rank)
      service.reset()
      assert.deepEqual(await ranks({ where: { rank: { gte: 9000 } }, limit: 2 }), [9000, 9001])
      assert.ok(service.statements.length <= short, `${service.statements.length} statements for a range`)
      assert.deepEqual(await ranks({ where: { rank: { lt: 9000 } }, sort: '-rank', limit: 2 }), [8999, 8998])
      const below = Buffer.from('[1,"0"]').toString('base64url')
      assert.deepEqual(await ranks({ where: { rank: { gte: 9000 } }, limit: 1, after: below }), [9000])
      assert.equal(await tasks.count({ rank: { gte: 500 } }), 10_000)
      await until(async () => {
        await parts.listIndexes.settled()
        return (await get('tasks/items?where[due]=0')).status === 200
      })
      assert.equal(await tasks.count({ due: { in: ['0', '6', '7'] } }), 3000)
      assert.equal(await tasks.count({ due: { in: ['0', '6'] }, rank: { lt: 70 } }), 20)
      assert.equal((await allTexts(tasks, { where: { due: { in: ['6', '0'] } } })).length, 3000)
      assert.equal((await allTexts(tasks, { where: { rank: { gt: 99 }, done: true }, sort: '-due' })).length, 5200)
    })

    it('leaves no entry of its indexes when it is removed', async () => {
      await fresh()
      const { store, parts } = await service.app.running()
      const tasks = handle.list('tasks')
      await tasks.extend(Array.from({ length: 3000 }, (_, rank) => ({ text: 't', rank })))
      await tasks.clear()
      await tasks.append({ text: 'x', rank: 5 })
      assert.equal(await texts('tasks/items?sort=rank'), 'x')
      await tasks.remove()
      await parts.removedLists.settled()
      const left = await store.read((q) =>
        q.all('SELECT field, item FROM list_index WHERE actor_id = $1 AND list = $2', actor.id, 'tasks'),
      )
      assert.deepEqual(left, [])
    })
  })
})

it('refuses declarations of indexes that are not different names', () => {
  const app = new App({ type: 'urn:actingweb:example.com:test' })
  assert.throws(() => app.list('a', { item: Task, indexes: ['due', 'due'] }), {
    message: 'Cannot declare the list "a": indexes must be different names of fields.',
  })
  const many = Array.from({ length: 9 }, (_, at) => `f${at}`) as unknown as 'due'[]
  assert.throws(() => app.list('b', { item: Task, indexes: many }), {
    message: 'Cannot declare the list "b": it has more than 8 indexes.',
  })
})
