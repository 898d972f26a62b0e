import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { dataSchema, inputSchema, UnfitError } from '../../src/app/schema.ts'

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
})
