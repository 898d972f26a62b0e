import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { visible } from '../../src/pages/shared/visible.ts'

describe('text on which a person decides', () => {
  for (const [what, text, shown] of [
    ['a right-to-left override', 'invoice\u202Efdp.exe', 'invoice[U+202E]fdp.exe'],
    [
      'embeddings and isolates',
      '\u202Aa\u202Bb\u202Cc\u202D\u2066d\u2067\u2068\u2069',
      '[U+202A]a[U+202B]b[U+202C]c[U+202D][U+2066]d[U+2067][U+2068][U+2069]',
    ],
    ['direction marks', 'a\u200Eb\u200Fc\u061C', 'a[U+200E]b[U+200F]c[U+061C]'],
    ['zero-width spaces', 'Ada\u200B\u2060\uFEFF', 'Ada[U+200B][U+2060][U+FEFF]'],
    ['joiners between Latin letters', 'A\u200Cd\u200Da', 'A[U+200C]d[U+200D]a'],
    ['a soft hyphen', 'pay\u00ADpal', 'pay[U+00AD]pal'],
    ['letters without a glyph', 'a\u3164b\uFFA0c\u115F\u1160', 'a[U+3164]b[U+FFA0]c[U+115F][U+1160]'],
    ['a blank Braille pattern', 'a\u2800b', 'a[U+2800]b'],
    ['a grapheme joiner', 'a\u034Fb', 'a[U+034F]b'],
    ['a variation selector after a letter', 'a\uFE0Fb\u{E0100}', 'a[U+FE0F]b[U+E0100]'],
    ['tags that spell another string', 'a\u{E0061}\u{E0062}', 'a[U+E0061][U+E0062]'],
    ['control characters', 'a\u0000b\u001Bc\u007Fd\u009B', 'a[U+0000]b[U+001B]c[U+007F]d[U+009B]'],
    ['line separators', 'a\u2028b\u2029', 'a[U+2028]b[U+2029]'],
    ['private and unassigned characters', 'a\uE000b\u{10FFFF}', 'a[U+E000]b[U+10FFFF]'],
    ['half a surrogate pair', 'a\uD800b', 'a\uFFFDb'],
    ['a joiner at the end of an emoji', '👩\u200D', '👩[U+200D]'],
  ] as const)
    it(`shows a visible replacement for ${what}`, () => assert.equal(visible(text), shown))

  for (const text of [
    '',
    'Ada Lovelace',
    'two\nlines\r\n\tand a tab',
    'Ærøskøbing, Łódź, Ελλάδα, Київ, 東京, 서울',
    'שלום ומה שלומך',
    'مرحبا',
    'می\u200Cخواهم',
    'क्\u200Dष श्री\u200Cमान',
    '👩\u200D💻 ❤\uFE0F 🏳\uFE0F\u200D🌈 👍🏽 🇳🇴 1\uFE0F\u20E3 🏴\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}',
  ])
    it(`leaves ${JSON.stringify(text)} unchanged`, () => assert.equal(visible(text), text))
})
