import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseRedirectTarget } from '../../src/http/dispatch/urls.ts'

const atRoot = { baseUrl: 'https://troupe.example', basePath: '' }
const mounted = { baseUrl: 'https://troupe.example/under/here', basePath: '/under/here' }

describe('the redirect target of a form', () => {
  it('can be any path of the service, with its query and fragment (WEB-11, R-PAGE-03)', () => {
    for (const [wanted, expected] of [
      ['/', '/'],
      ['/a/www/properties', '/a/www/properties'],
      ['/a/www/properties?page=2#item-60', '/a/www/properties?page=2#item-60'],
      ['/a/www/properties/a%20b', '/a/www/properties/a%20b'],
      ['/a/../b', '/b'],
      ['/a?to=https://evil.example', '/a?to=https://evil.example'],
    ] as const)
      assert.equal(parseRedirectTarget(wanted, atRoot), expected, wanted)
    assert.equal(parseRedirectTarget('/under/here/a/www', mounted), '/under/here/a/www')
    assert.equal(parseRedirectTarget('/under/here', mounted), '/under/here')
  })

  const elsewhere = [
    '',
    'https://evil.example',
    'https://troupe.example/a',
    '//evil.example',
    '///evil.example',
    '/\\evil.example',
    '\\/evil.example',
    '/a\\b',
    '/\t/evil.example',
    '/\n/evil.example',
    '/ /evil.example',
    '\t//evil.example',
    ' //evil.example',
    '/a b',
    '/ä',
    'https:evil.example',
    'https:/evil.example',
    'javascript:alert(1)',
    'JavaScript:alert(1)',
    'data:text/html,x',
    'evil.example',
    '?a=b',
    '#a',
    '.',
    '..',
    '/.//evil.example',
    '/a/..//evil.example',
    '/%2e//evil.example',
    '/a/%2e%2e//evil.example',
    '//troupe.example@evil.example',
  ]
  for (const wanted of elsewhere) {
    it(`cannot be ${JSON.stringify(wanted)} (WEB-11)`, () => {
      assert.equal(parseRedirectTarget(wanted, atRoot), null)
      assert.equal(parseRedirectTarget(wanted, mounted), null)
    })
  }

  it('cannot be outside of the base path of the service, in any spelling (WEB-11)', () => {
    for (const wanted of [
      '/',
      '/a/www',
      '/under',
      '/under/hereabouts',
      '/under/here/../elsewhere',
      '/under/here/%2e%2e/elsewhere',
      '/under/here/..',
      '/UNDER/here/a',
    ])
      assert.equal(parseRedirectTarget(wanted, mounted), null, wanted)
  })
})
