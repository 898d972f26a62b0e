import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { dataSchema, inputSchema, type JsonSchema, UnfitError } from '../../src/app/schema.ts'
import type { Json } from '../../src/json/json.ts'

describe('plain JSON Schemas', () => {
  it('may have the same `$id` and differ', async () => {
    const small = dataSchema({ $id: 'https://example.com/count', type: 'integer', maximum: 9 })
    const large = dataSchema({ $id: 'https://example.com/count', type: 'integer', minimum: 10 })
    for (const schema of [small, large]) await schema.load()
    assert.equal(small.check(9), 9)
    assert.throws(() => small.check(10), UnfitError)
    assert.equal(large.check(10), 10)
    assert.throws(() => large.check(9), UnfitError)
  })

  it('may refer to the schema of schemas', async () => {
    const schema = dataSchema({ $ref: 'https://json-schema.org/draft/2020-12/schema' })
    await schema.load()
    assert.deepEqual(schema.check({ type: 'string' }), { type: 'string' })
    assert.throws(() => schema.check({ type: 'text' }), UnfitError)
  })

  it('are refused when they are not valid, each time', async () => {
    const wrong = { type: 'text' }
    for (let attempt = 0; attempt < 2; attempt += 1) {
      await assert.rejects(dataSchema(wrong).load(), /schema is invalid: data\/type must be/)
      await assert.rejects(inputSchema(wrong).check(1), /schema is invalid: data\/type must be/)
    }
    const valid = dataSchema({ type: 'string' })
    await valid.load()
    assert.throws(() => valid.check(1), UnfitError)
  })

  it('are refused when they name another dialect', async () => {
    await assert.rejects(
      dataSchema({ $schema: 'http://json-schema.org/draft-04/schema#', type: 'string' }).load(),
      /no schema with key or ref "http:\/\/json-schema.org\/draft-04\/schema#"/,
    )
  })

  describe('with unique items', () => {
    const listsWithout = [
      '[]',
      '[1,2,3]',
      '["1",1,true,"true",null,"null"]',
      '[{"a":1,"b":2},{"a":2,"b":1}]',
      '[[1],[2],[1,2],[[1]]]',
      '[{},[],"",0,false,null]',
      '[{"__proto__":1},{"__proto__":2},"__proto__"]',
      '["a,b","a","b"]',
    ]
    const listsWith = [
      '[1,1]',
      '[1,1.0]',
      '[0,-0]',
      '[[0],[-0]]',
      '[{"a":1,"b":[2,{"c":3}]},5,{"b":[2,{"c":3}],"a":1}]',
      '[null,"x",null]',
      '["__proto__","__proto__"]',
      '[[],[1],[]]',
    ]

    it('accept exactly the lists without equal items', async () => {
      const schema = dataSchema({ type: 'array', uniqueItems: true })
      await schema.load()
      for (const text of listsWithout) assert.deepEqual(schema.check(JSON.parse(text) as Json), JSON.parse(text), text)
      for (const text of listsWith)
        assert.throws(() => schema.check(JSON.parse(text) as Json), /must NOT have duplicate items/, text)
      const any = inputSchema({ type: 'array', uniqueItems: false })
      assert.deepEqual(await any.check([1, 1]), [1, 1])
    })

    it('read each item of a list once, however many there are (HTTP-21)', async () => {
      const schema = inputSchema({
        type: 'object',
        properties: { tags: { type: 'array', uniqueItems: true }, rows: { items: { uniqueItems: true } } },
      })
      const readsFor = async (length: number): Promise<number> => {
        let reads = 0
        const watched = (item: object): object =>
          new Proxy(item, {
            get(target, name): unknown {
              if (name === 'at') reads += 1
              return Reflect.get(target, name)
            },
          })
        const items = Array.from({ length }, (_, at) => watched({ at }))
        await schema.check({ tags: items, rows: [items] })
        return reads
      }
      assert.equal(await readsFor(100), 200)
      assert.equal(await readsFor(1000), 2000)
    })
  })

  describe('that name themselves', () => {
    const part = { $ref: '#/$defs/part' }
    const branches = (count: number, keyword: string, member: object): object => ({
      $defs: {
        part: {
          [keyword]: Array.from({ length: count }, (_, n) => ({
            type: 'object',
            properties: { parts: member, op: { const: `op${n}` } },
            required: ['op'],
          })),
        },
      },
      $ref: '#/$defs/part',
    })
    const nested = (levels: number, op: string): Json => {
      let value: Json = { op }
      for (let level = 1; level < levels; level += 1) value = { parts: value, op }
      return value
    }

    it('in several branches accept values as deep as the validator can check, and refuse deeper ones (HTTP-22)', async () => {
      for (const [count, keyword, deepest] of [
        [2, 'oneOf', 19],
        [2, 'anyOf', 19],
        [3, 'oneOf', 12],
        [10, 'oneOf', 6],
      ] as const) {
        const schema = dataSchema(branches(count, keyword, part) as JsonSchema)
        await schema.load()
        const last = `op${count - 1}`
        assert.deepEqual(schema.check(nested(5, last)), nested(5, last))
        assert.throws(() => schema.check(nested(5, 'none')), UnfitError)
        assert.throws(
          () => schema.check(nested(deepest + 1, last)),
          new RegExp(`nested more than ${deepest} levels deep`),
          `${count} ${keyword}`,
        )
        assert.throws(() => schema.check(nested(60, last)), /levels deep/)
      }
    })

    it('in one branch, or for different members, accept values of any depth (HTTP-22)', async () => {
      const ways: readonly object[] = [
        { type: 'object', properties: { parts: { $ref: '#' }, left: { $ref: '#' }, right: { $ref: '#' } } },
        { type: 'object', properties: { parts: { anyOf: [{ $ref: '#' }, { type: 'null' }] } } },
        { type: 'object', additionalProperties: { anyOf: [{ $ref: '#' }, { type: 'string' }] } },
        {
          anyOf: [
            { type: 'object', properties: { parts: { $ref: '#' } } },
            { type: 'object', properties: { others: { $ref: '#' } } },
          ],
        },
      ]
      for (const way of ways) {
        const schema = dataSchema(way as JsonSchema)
        await schema.load()
        assert.deepEqual(schema.check(nested(60, 'x')), nested(60, 'x'), JSON.stringify(way))
      }
    })

    it('are bounded in lists, by every keyword, and in pointers of any spelling (HTTP-22)', async () => {
      const branch = { items: { $ref: '#/$defs/a%20~1b' } }
      const list = (keywords: object): JsonSchema => ({ $defs: { 'a /b': keywords }, $ref: '#/$defs/a%20~1b' })
      for (const keywords of [
        { oneOf: [branch, branch, { type: 'number' }] },
        { allOf: [branch, branch] },
        Object.fromEntries(['if', 'then'].map((keyword) => [keyword, branch])),
        { not: branch, anyOf: [branch] },
        { items: branch.items, contains: branch.items },
        { prefixItems: [branch.items], items: branch.items, anyOf: [branch] },
      ]) {
        const schema = dataSchema(list(keywords))
        await schema.load()
        let value: Json = []
        for (let level = 1; level < 60; level += 1) value = [value]
        assert.throws(() => schema.check(value), /levels deep/, JSON.stringify(keywords))
      }
    })
  })
})
