/* cspell:ignore lned retrun listloans */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { nearestName } from '../../src/operation/nearest-name.ts'

describe('the nearest name', () => {
  const names = ['add_note', 'lend', 'return_book', 'list-loans', 'x', '']

  it('is the name with the fewest edits, whatever its case and separators', () => {
    for (const [given, expected] of [
      ['addNote', 'add_note'],
      ['add-note', 'add_note'],
      ['ad_note', 'add_note'],
      ['LEND', 'lend'],
      ['lned', 'lend'],
      ['lends', 'lend'],
      ['retrun_book', 'return_book'],
      ['listloans', 'list-loans'],
    ] as const)
      assert.equal(nearestName(given, names), expected, given)
  })

  it('does not exist for other words, empty and long names', () => {
    for (const given of ['delete_everything', '', '-', 'a'.repeat(65), 'add_note'.repeat(9), '__proto__'])
      assert.equal(nearestName(given, names), null, given)
    assert.equal(nearestName('lend', []), null)
    assert.equal(nearestName('lend', ['lend'.repeat(50)]), null)
  })
})
