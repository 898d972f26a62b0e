import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { quoted } from '../../src/errors.ts'
import { present } from '../../src/json/present.ts'

describe('present members', () => {
  it('are all except the undefined ones', () => {
    assert.deepEqual(present({ a: 1, b: undefined, c: null, d: '', e: false }), { a: 1, c: null, d: '', e: false })
  })

  it('keep the old value of an undefined member in a spread', () => {
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
    it(`${JSON.stringify(name.slice(0, 12))} with ${name.length} characters is shortened to ${expected.length} characters`, () => {
      assert.equal(quoted(name), expected)
    })
  }
})
