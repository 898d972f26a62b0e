import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Params } from '../../src/http/edge/params.ts'

const parse = (text: string): Params => Params.parse(text, 10, 'query')

describe('the fields of a query or a form', () => {
  it('have the first value of a repeated name', () => {
    assert.equal(parse('a=1&a=2').get('a'), '1')
    assert.equal(parse('A=1&a=2').get('a'), '1')
    assert.equal(parse('a=2&A=1').get('A'), '2')
  })

  it('are found by name in any letter case', () => {
    for (const name of ['format', 'FORMAT', 'Format']) assert.equal(parse('ForMat=full').get(name), 'full')
    assert.equal(parse('format=full').get('forma'), undefined)
  })

  it('are absent when they are empty, even before a later value of the same name', () => {
    assert.equal(parse('a=').get('a'), undefined)
    assert.equal(parse('a').get('a'), undefined)
    assert.equal(parse('a=').has('a'), false)
    assert.equal(parse('a=&a=2').get('a'), undefined)
    assert.equal(parse('').get('a'), undefined)
  })

  it('keep the sent order, letter case and whitespace', () => {
    assert.deepEqual(
      [...parse('b=1&A=&c=%20x+y&b=2').entries],
      [
        ['b', '1'],
        ['A', ''],
        ['c', ' x y'],
      ],
    )
  })

  it('are decoded once', () => {
    assert.equal(parse('a=%2541').get('a'), '%41')
    assert.equal(parse('%61=1').get('a'), '1')
    assert.equal(parse('a=1%262').get('a'), '1&2')
  })

  it('may be named like members of Object.prototype (HTTP-03)', () => {
    const fields = parse('__proto__=1&constructor=2&toString=3')
    assert.equal(fields.get('__proto__'), '1')
    assert.equal(fields.get('constructor'), '2')
    assert.equal(fields.get('tostring'), '3')
    assert.equal(fields.get('hasOwnProperty'), undefined)
    assert.equal(parse('a=1').get('__proto__'), undefined)
  })

  it('are limited in number, including repeated ones (HTTP-11)', () => {
    assert.equal(parse(Array.from({ length: 10 }, () => 'a=1').join('&')).entries.size, 1)
    assert.throws(() => parse(Array.from({ length: 11 }, () => 'a=1').join('&')), {
      code: 'bad_request',
      message: 'Cannot read the query: it has more than 10 fields',
    })
    // An empty string between two ampersands does not count as a field.
    assert.equal(parse('&&&&&&&&&&&&&&a=1&&').get('a'), '1')
  })
})
