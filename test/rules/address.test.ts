import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseAddress } from '../../src/actor/address.ts'
import { normalizeCreator } from '../../src/actor/actor.ts'

describe('an email address', () => {
  const spellings: Readonly<Record<string, readonly string[]>> = {
    'user@example.com': ['user@example.com', ' user@example.com\n', 'User@EXAMPLE.com'],
    'user@xn--bcher-kva.example': ['user@bücher.example', 'USER@BÜCHER.example', 'user@XN--BCHER-KVA.example'],
    'user@xn--mxa9ab.example': ['user@σασ.example', 'user@ΣΑΣ.example'],
    'first.last+tag@mail.example.co.uk': ['First.Last+Tag@mail.example.co.uk'],
    'ünal@example.com': ['ünal@example.com', 'ünaL@Example.com'],
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
    'user＠example.com',
    'user﹫example.com',
    'ｕｓｅｒ@ｅｘａｍｐｌｅ.com',
    'ＵＳＥＲ@example.com',
    'bo\u017fs@example.com',
    '\u212Aim@example.com',
    '\uFB01@example.com',
    'u\u0308nal@example.com',
    'user@bu\u0308cher.example',
    'user@example。com',
    'user@example．com',
    'user@exam\uFE0Fple.com',
    'user@example.com\u00a0',
    '\uFEFFuser@example.com',
    'user@example\u212F.com',
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
    assert.equal(normalizeCreator(' USER@Example.com'), 'user@example.com')
    assert.equal(normalizeCreator('Somebody'), 'Somebody')
    assert.equal(normalizeCreator('Not An@Address'), 'not an@address')
  })

  /** Characters that a case conversion or a compatibility normalization makes ASCII, and characters that IDNA ignores. */
  const treacherous = Array.from({ length: 0x110000 - 0x80 }, (_, index) => index + 0x80)
    .filter((point) => point < 0xd800 || point > 0xdfff)
    .map((point) => String.fromCodePoint(point))
    .filter(
      (one) =>
        /\p{Default_Ignorable_Code_Point}|\p{White_Space}/u.test(one) ||
        [one.toLowerCase(), one.toUpperCase(), one.normalize('NFKC'), one.normalize('NFKD')].some((form) =>
          /[\0-\x7f]/.test(form),
        ),
    )

  it('with a letter that only becomes ASCII by conversion is never the address in ASCII (IDP-23)', () => {
    assert.ok(treacherous.length > 5000 && treacherous.includes('\u017f') && treacherous.includes('\u212a'))
    const isPlain = (text: string | null): boolean =>
      text !== null && /^[\0-\x7f]*$/.test(text) && !text.includes('xn--')
    for (const one of treacherous)
      for (const text of [
        `${one}boss@example.com`,
        `bo${one}s@example.com`,
        `boss@${one}example.com`,
        `boss@example${one}.com`,
        `boss@example${one}com`,
        `boss@example.com${one}`,
        `boss${one}example.com`,
      ]) {
        assert.equal(isPlain(parseAddress(text)), false, JSON.stringify(text))
        assert.equal(isPlain(creatorOf(text)), false, JSON.stringify(text))
      }
  })

  it('that compatibility normalization would change is refused as a creator (IDP-23)', () => {
    for (const text of ['bo\u017fs@example.com', '\u212Aim@example', 'user\uFF20example.com', '\uFB01 x@y'])
      assert.throws(() => normalizeCreator(text), { code: 'invalid_value' }, JSON.stringify(text))
    // A name without an address is only compared as it is.
    assert.equal(normalizeCreator('\uFB01'), '\uFB01')
  })
})

function creatorOf(text: string): string | null {
  try {
    return normalizeCreator(text)
  } catch {
    return null
  }
}
