/** The logo and the accent color of an application, as files that every page loads. */
import { ConfigError } from '../../config/config-error.ts'
import { commonAssets, logoFile, styleSheet } from '../shared/assets.ts'
import type { Asset } from './asset.ts'
import type { Look, LookOptions } from './look-options.ts'
import { type Color, colorText, contrast, mixed, parseColor } from './colors.ts'

/** Colors of `shared/style.ts`. */
const page = {
  light: { ground: '#f7f5f2', surface: '#ffffff' },
  dark: { ground: '#141312', surface: '#1e1c1b' },
} as const
const white: Color = [255, 255, 255]
const black: Color = [16, 16, 16]
const longestLogo = 65_536

/** The least contrast of text (WCAG 2.2, 1.4.3). */
const leastContrast = 4.5

/** @throws ConfigError */
export function lookOf({ accent, logo }: LookOptions): Look {
  return {
    logo: logo === undefined ? commonAssets.logo : logoOf(logo),
    accent: accent === undefined ? null : accentSheet(accent),
  }
}

function logoOf(text: string): Asset {
  if (typeof text !== 'string' || !/^\s*(?:<\?xml[^>]*>\s*)?<svg[\s>]/.test(text))
    throw new ConfigError('Option console.logo must be the text of an SVG file, which begins with <svg.')
  if (text.length > longestLogo)
    throw new ConfigError(
      `Option console.logo is too long: every page loads it, so use at most ${longestLogo} characters.`,
    )
  return logoFile(text)
}

function accentSheet(accent: NonNullable<LookOptions['accent']>): Asset {
  const isOne = typeof accent === 'string'
  const option = isOne ? 'console.accent' : 'console.accent.light'
  const light = colorOf(option, isOne ? accent : accent.light)
  requireContrast(light, 'light', option)
  const dark = isOne ? lighter(light) : colorOf('console.accent.dark', accent.dark)
  requireContrast(dark, 'dark', 'console.accent.dark')
  const pair = (a: Color, b: Color): string => `light-dark(${colorText(a)}, ${colorText(b)})`
  return styleSheet(
    'accent',
    `:root { --accent: ${pair(light, dark)}; --accent-ink: ${pair(inkOn(light), inkOn(dark))}; --accent-soft: ${pair(
      softOf(light, 'light'),
      softOf(dark, 'dark'),
    )} }`,
  )
}

function colorOf(option: string, text: string): Color {
  const color = typeof text === 'string' ? parseColor(text) : null
  if (color === null) throw new ConfigError(`Option ${option} must be a color like #0a6b52.`)
  return color
}

function requireContrast(color: Color, theme: keyof typeof page, option: string): void {
  const least = leastOn(color, theme)
  if (least >= leastContrast) return
  throw new ConfigError(
    `Option ${option}: ${colorText(color)} has a contrast of only ${least.toFixed(1)} with ${theme} pages, and text needs ${leastContrast}. Choose a ${theme === 'light' ? 'darker' : 'lighter'} color.`,
  )
}

function leastOn(color: Color, theme: keyof typeof page): number {
  return Math.min(...Object.values(page[theme]).map((text) => contrast(color, parseColor(text) ?? white)))
}

/** The first mixture with white that can be read on dark pages. */
function lighter(color: Color): Color {
  for (let share = 0; share < 1; share += 0.05) {
    const mixture = mixed(color, white, share)
    if (leastOn(mixture, 'dark') >= leastContrast + 1) return mixture
  }
  return white
}

function inkOn(color: Color): Color {
  return contrast(color, white) >= contrast(color, black) ? white : black
}

/** The background of the current section: as much of the accent as leaves the accent readable on it. */
function softOf(color: Color, theme: keyof typeof page): Color {
  const surface = parseColor(page[theme].surface) ?? white
  for (let share = 0.16; share > 0; share -= 0.02) {
    const mixture = mixed(surface, color, share)
    if (contrast(mixture, color) >= leastContrast) return mixture
  }
  return surface
}
