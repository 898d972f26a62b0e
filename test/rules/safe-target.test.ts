import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { SafeTargets } from '../../src/sign-in/safe-target.ts'

const provider = { redirectUri: 'https://login.example.com/back', deepLink: 'com.example.app:/signed-in' }
const targets = new SafeTargets(
  'https://troupe.example/pre',
  ['https://app.example.com', 'otherapp://done'],
  [provider as never],
)

describe('the redirect target after a sign-in', () => {
  const good: Readonly<Record<string, string>> = {
    '/app': 'https://troupe.example/app',
    'app?x=1#y': 'https://troupe.example/pre/app?x=1#y',
    '?x=//evil.example': 'https://troupe.example/pre/?x=//evil.example',
    'https://troupe.example/pre/x': 'https://troupe.example/pre/x',
    'https://TROUPE.example:443/x': 'https://troupe.example/x',
    'https://app.example.com/cb?a=1#frag': 'https://app.example.com/cb?a=1#frag',
    'https://login.example.com/other': 'https://login.example.com/other',
    'com.example.app:/signed-in/here': 'com.example.app:/signed-in/here',
    'otherapp://done/x': 'otherapp://done/x',
    '/%C3%BC%20x': 'https://troupe.example/%C3%BC%20x',
  }
  for (const [text, address] of Object.entries(good)) {
    it(`is ${address} for ${text} (R-OC-04)`, () => assert.equal(targets.parse(text), address))
  }

  const attacks = [
    '',
    '//evil.example',
    '///evil.example',
    '/\\evil.example',
    '\\\\evil.example',
    '\\/evil.example',
    'https:evil.example',
    'https:/evil.example',
    'https:\\\\evil.example',
    'https:///evil.example',
    '\t//evil.example',
    '/\t/evil.example',
    '/\n/evil.example',
    '\r\n//evil.example',
    ' //evil.example',
    '/ /evil.example',
    'https://troupe.example@evil.example',
    'https://troupe.example:x@evil.example/',
    'https://user@troupe.example/',
    'https://user:secret@app.example.com/',
    'https://troupe.example.evil.example/',
    'https://app.example.com.evil.example/',
    'https://app.example.com:8443/',
    'http://app.example.com/',
    'http://troupe.example/',
    '/%2F%2Fevil.example',
    '/%2Fevil.example',
    '%2F%2Fevil.example',
    '/%5Cevil.example',
    '/%5cevil.example',
    '%5C%5Cevil.example',
    '/%252F%252Fevil.example',
    '%252F%252Fevil.example',
    '/%25252Fevil.example',
    '/%09/evil.example',
    '/%0A/evil.example',
    '/%0d%0aSet-Cookie:%20a=b',
    '/%2509/evil.example',
    'javascript:alert(1)',
    'JavaScript:alert(1)',
    'java\tscript:alert(1)',
    'javascript://troupe.example/%0Aalert(1)',
    'data:text/html,x',
    'vbscript:x',
    'blob:https://troupe.example/x',
    'file:///etc/passwd',
    'com.evil.app:/signed-in',
    'otherapp://evil',
    'otherapp:done',
    'https://',
    'https://%65vil.example/',
    '/%zz',
    '/ü',
    'x'.repeat(2049),
    'ftp://troupe.example/',
    'https://evil.example/\\@troupe.example',
    'https://troupe.example\\.evil.example',
    'https://troupe.example%2eevil.example/',
    'https://app。example。com.evil.example/',
    '/x//y',
    './/evil.example',
  ]
  it('is absent for text that a browser could read as another origin (WEB-11, R-OC-04)', () => {
    for (const text of attacks) assert.equal(targets.parse(text), null, JSON.stringify(text))
  })

  it('is never outside of the list, for any combination of the parts of attacks (WEB-11)', () => {
    const parts = [
      '/',
      '//',
      '\\',
      '%2F',
      '%5C',
      '%09',
      '\t',
      '@',
      ':',
      'https:',
      'javascript:',
      'evil.example',
      'troupe.example',
      '.',
      '..',
      '?',
      '#',
      '%252F',
      'a',
    ]
    const places = ['https://troupe.example', 'https://app.example.com', 'https://login.example.com']
    let seen = 0
    for (const a of parts)
      for (const b of parts)
        for (const c of parts)
          for (const d of parts) {
            const target = targets.parse(`${a}${b}${c}${d}`)
            if (target === null) continue
            seen += 1
            assert.ok(places.includes(new URL(target).origin), `${a}${b}${c}${d} → ${target}`)
            // A browser on a page of the service resolves the string to the same URL.
            assert.equal(new URL(target, 'https://troupe.example/pre/').href, target)
          }
    assert.ok(seen > 500)
  })

  it('is a path of this host for a page of the service (R-OC-18)', () => {
    assert.equal(targets.parsePath('/pre/abc/www?x=1'), '/pre/abc/www?x=1')
    for (const text of [
      'https://app.example.com/x',
      'abc',
      '//evil.example',
      '/\\evil.example',
      'com.example.app:/signed-in',
    ]) {
      assert.equal(targets.parsePath(text), null, text)
    }
  })

  it('defaults to the root of the service (IDP-06)', () => assert.equal(targets.root, 'https://troupe.example/pre/'))
})
