/* cspell:ignore svgx */
/** The accent color and the logo of an application. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ConfigError } from '../../src/config/config-error.ts'
import { colorText, contrast, mixed, parseColor, type Color } from '../../src/pages/theme/colors.ts'
import type { LookOptions } from '../../src/pages/theme/look-options.ts'
import { lookOf } from '../../src/pages/theme/look.ts'

const color = (text: string): Color => parseColor(text) ?? assert.fail(text)

/** The colors of a sheet by token and theme. */
function tokensOf(accent: NonNullable<LookOptions['accent']>): Record<string, readonly [light: string, dark: string]> {
  const text = lookOf({ accent }).accent?.text ?? ''
  return Object.fromEntries(
    [...text.matchAll(/--([a-z-]+):light-dark\((#[0-9a-f]{6}),(#[0-9a-f]{6})\)/g)].map(
      ([, name = '', light = '', dark = '']) => [name, [light, dark]],
    ),
  )
}

describe('contrast', () => {
  it('is that of WCAG', () => {
    assert.equal(contrast(color('#000000'), color('#ffffff')), 21)
    assert.equal(contrast(color('#ffffff'), color('#ffffff')), 1)
    assert.equal(contrast(color('#767676'), color('#ffffff')).toFixed(2), '4.54')
    assert.equal(contrast(color('#ffffff'), color('#ff0000')).toFixed(2), '4.00')
  })

  it('reads and writes colors', () => {
    assert.equal(colorText(mixed(color('#000000'), color('#ffffff'), 0.5)), '#808080')
    for (const text of ['red', '#fff', '#12345', '#1234567', 'rgb(0,0,0)', ''])
      assert.equal(parseColor(text), null, text)
  })
})

describe('the accent color of an application', () => {
  it('is readable as text on every background, and its ink on it, for many colors', () => {
    let used = 0
    for (let red = 0; red < 256; red += 51)
      for (let green = 0; green < 256; green += 51)
        for (let blue = 0; blue < 256; blue += 51) {
          const accent = colorText([red, green, blue])
          if (Math.min(contrast(color(accent), color('#f7f5f2')), contrast(color(accent), color('#ffffff'))) < 4.5) {
            assert.throws(() => lookOf({ accent }), ConfigError, accent)
            continue
          }
          used += 1
          const tokens = tokensOf(accent)
          for (const [at, grounds] of [
            ['#f7f5f2', '#ffffff'],
            ['#141312', '#1e1c1b'],
          ].entries()) {
            const [own, ink, soft] = ['accent', 'accent-ink', 'accent-soft'].map((name) =>
              color(tokens[name]?.[at] ?? ''),
            )
            assert.ok(own !== undefined && ink !== undefined && soft !== undefined)
            for (const ground of [...grounds.map(color), soft])
              assert.ok(contrast(own, ground) >= 4.5, `${accent} ${at} on ${colorText(ground)}`)
            assert.ok(contrast(ink, own) >= 4.5, `${accent} ${at}: ink`)
          }
        }
    assert.ok(used > 50)
  })

  it('takes a color for light and one for dark pages', () => {
    assert.deepEqual(tokensOf({ light: '#0a6b52', dark: '#7fd8bd' })['accent'], ['#0a6b52', '#7fd8bd'])
  })

  it('refuses what cannot be read, and texts that are not colors, with the reason', () => {
    const refusal = (accent: unknown): string => {
      try {
        lookOf({ accent } as LookOptions)
      } catch (error) {
        assert.ok(error instanceof ConfigError)
        return error.message
      }
      return ''
    }
    assert.equal(
      refusal('#ffcc00'),
      'Option console.accent: #ffcc00 has a contrast of only 1.4 with light pages, and text needs 4.5. Choose a darker color.',
    )
    assert.match(refusal({ light: '#0a6b52', dark: '#0a6b52' }), /console.accent.dark: .* Choose a lighter color/)
    assert.equal(refusal('green'), 'Option console.accent must be a color like #0a6b52.')
    assert.equal(refusal({ light: '#0a6b52' }), 'Option console.accent.dark must be a color like #0a6b52.')
    assert.equal(refusal(7), 'Option console.accent.light must be a color like #0a6b52.')
  })
})

describe('the logo of an application', () => {
  it('is a file with a hash in its name', () => {
    const { logo } = lookOf({ logo: '<svg xmlns="http://www.w3.org/2000/svg"/>' })
    assert.equal(logo.name, 'troupe-logo.svg')
    assert.match(logo.file, /^troupe-logo\.[\w-]{12}\.svg$/)
    assert.equal(logo.type, 'image/svg+xml')
  })

  it('refuses other files and long ones', () => {
    for (const logo of ['logo.png', '', '<html></html>', '<svgx/>'])
      assert.throws(() => lookOf({ logo }), /must be the text of an SVG file/, logo)
    assert.throws(() => lookOf({ logo: `<svg>${' '.repeat(70_000)}</svg>` }), /at most 65536 characters/)
    assert.throws(() => lookOf({ logo: 7 } as unknown as LookOptions), /must be the text of an SVG file/)
  })
})
