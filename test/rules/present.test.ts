import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { quoted } from '../../src/errors.ts'
import { present } from '../../src/json/present.ts'

describe('present members', () => {
  it('are all but those that are undefined', () => {
    assert.deepEqual(present({ a: 1, b: undefined, c: null, d: '', e: false }), { a: 1, c: null, d: '', e: false })
  })

  it('leave a value in its place where they are spread', () => {
    const change: { kept?: string | undefined; added: string } = { kept: undefined, added: 'new' }
    assert.deepEqual({ kept: 'old', ...present(change) }, { kept: 'old', added: 'new' })
  })
})

describe('a quoted name', () => {
  for (const [name, expected] of [
    ['mood', '"mood"'],
    ['two\nlines', '"two\\nlines"'],
    ['x'.repeat(120), `"${'x'.repeat(120)}"`],
    ['x'.repeat(121), `"${'x'.repeat(120)}…"`],
  ] as const) {
    it(`${JSON.stringify(name.slice(0, 12))} of ${name.length} characters has ${expected.length} characters`, () => {
      assert.equal(quoted(name), expected)
    })
  }
})
