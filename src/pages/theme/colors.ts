/** Colors of the sRGB space: contrast (WCAG 2.2) and mixtures. */

/** Red, green and blue, each from 0 to 255. */
export type Color = readonly [red: number, green: number, blue: number]

/** Reads `#rrggbb`. Null for any other text. */
export function parseColor(text: string): Color | null {
  const [, red, green, blue] = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i.exec(text) ?? []
  if (red === undefined || green === undefined || blue === undefined) return null
  return [Number.parseInt(red, 16), Number.parseInt(green, 16), Number.parseInt(blue, 16)]
}

export function colorText(color: Color): string {
  return `#${color.map((part) => part.toString(16).padStart(2, '0')).join('')}`
}

/** @param share The share of the second color, from 0 to 1. */
export function mixed(a: Color, b: Color, share: number): Color {
  const part = (one: number, other: number): number => Math.round(one + (other - one) * share)
  return [part(a[0], b[0]), part(a[1], b[1]), part(a[2], b[2])]
}

/** The contrast ratio of two colors, from 1 to 21 (WCAG 2.2, "contrast ratio"). */
export function contrast(a: Color, b: Color): number {
  const [light, dark] = [luminance(a), luminance(b)].toSorted((one, other) => other - one)
  return ((light ?? 0) + 0.05) / ((dark ?? 0) + 0.05)
}

function luminance([red, green, blue]: Color): number {
  return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
}

function linear(part: number): number {
  const share = part / 255
  return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
}
