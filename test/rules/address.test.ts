import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseAddress } from '../../src/actor/address.ts'
import { normalizeCreator } from '../../src/actor/actor.ts'

describe('an email address', () => {
  const spellings: Readonly<Record<string, readonly string[]>> = {
    'user@example.com': [
      'user@example.com',
      ' user@example.com\n',
      'User@EXAMPLE.com',
      'user＠example.com',
      'user﹫example.com',
      'ｕｓｅｒ@ｅｘａｍｐｌｅ.com',
      'user@example。com',
      'user@example．com',
      'ＵＳＥＲ@example.com',
    ],
    'user@xn--bcher-kva.example': [
      'user@bücher.example',
      'USER@BÜCHER.example',
      'user@xn--bcher-kva.example',
      'user@bu\u0308cher.example',
    ],
    'kim@example.com': ['\u212Aim@example.com'],
    'first.last+tag@mail.example.co.uk': ['First.Last+Tag@mail.example.co.uk'],
    'fi@example.com': ['\uFB01@example.com'],
    "o'brien@example.com": ["O'Brien@example.com"],
  }
  for (const [one, all] of Object.entries(spellings)) {
    it(`is normalized to one spelling: ${one} (IDP-10)`, () => {
      for (const text of all) assert.equal(parseAddress(text), one, JSON.stringify(text))
      assert.equal(parseAddress(one), one)
    })
  }

  it('with a lookalike letter is a different address (IDP-10)', () => {
    assert.equal(parseAddress('\u0430dmin@example.com'), '\u0430dmin@example.com')
    assert.notEqual(parseAddress('\u0430dmin@example.com'), parseAddress('admin@example.com'))
  })

  const none = [
    '',
    ' ',
    'user',
    '@',
    'user@',
    '@example.com',
    'a@b',
    'a@b@example.com',
    'a＠b@example.com',
    'a b@example.com',
    'a\u00a0b@example.com',
    'a\u200b@example.com',
    'a\u00ad@example.com',
    'a@exam\u200bple.com',
    'a@exam\u00adple.com',
    'a@exam%70le.com',
    'a@example.com%00',
    'a\0@example.com',
    'a@example.com\0.evil.com',
    'a@1.2.3.4',
    'a@[1.2.3.4]',
    'a@-example.com',
    'a@example..com',
    'a@.example.com',
    '"a b"@example.com',
    'a,b@example.com',
    'a@example.com,b@example.com',
    '<a@example.com>',
    'a@ex_ample.com',
    'a..b@example.com',
    '.a@example.com',
    'a.@example.com',
    'a@example.com/path',
    'a@example.com:25',
    'a@example.com#x',
    `${'a'.repeat(65)}@example.com`,
    `a@${'b'.repeat(250)}.com`,
    '\ud800@example.com',
    'unproven:a@example.com:0123',
  ]
  it('is rejected when it is not valid or when a mail server could read it as another address (IDP-10)', () => {
    for (const text of none) assert.equal(parseAddress(text), null, JSON.stringify(text))
  })

  it('is normalized in the same way as a creator, and other creators are lowercased only when they contain @ (IDP-10)', () => {
    assert.equal(normalizeCreator('ＵＳＥＲ＠Example.com'), 'user@example.com')
    assert.equal(normalizeCreator('Somebody'), 'Somebody')
    assert.equal(normalizeCreator('Not An@Address'), 'not an@address')
  })
})
