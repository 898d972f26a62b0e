/** Describes a device by its `User-Agent`, only so that its owner recognizes it. */

/** The first match counts, because many browsers also name other browsers. */
const programs: readonly (readonly [pattern: RegExp, name: string])[] = [
  [/\bEdgi?A?(?:iOS)?\//i, 'Edge'],
  [/\b(?:OPR|Opera|OPiOS)\//, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\bVivaldi\//, 'Vivaldi'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/\b(?:Chrome|CriOS|HeadlessChrome)\//, 'Chrome'],
  [/^(?=.*\bVersion\/[\d.]+ ).*\bSafari\//, 'Safari'],
  [/\bokhttp\//i, 'an Android application'],
  [/\b(?:CFNetwork|Darwin)\//, 'an Apple application'],
  [/\bcurl\//i, 'curl'],
  [/\b(?:python-requests|aiohttp|httpx|Python-urllib)\b/i, 'a Python program'],
  [/\bnode\b|\bundici\b/i, 'a Node.js program'],
]

const systems: readonly (readonly [pattern: RegExp, name: string])[] = [
  [/\biPad\b/, 'iPad'],
  [/\b(?:iPhone|iPod)\b/, 'iPhone'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\b(?:Macintosh|Mac OS X)\b/, 'macOS'],
  [/\bLinux\b/, 'Linux'],
]

export const unknownDevice = 'an unknown device'

/** Returns a description such as "Firefox on Linux", or `unknownDevice`. */
export function deviceOf(userAgent: string | undefined): string {
  const text = (userAgent ?? '').slice(0, 512)
  const program = nameIn(programs, text)
  const system = nameIn(systems, text)
  if (program === null) return system ?? unknownDevice
  return system === null ? program : `${program} on ${system}`
}

function nameIn(names: typeof programs, text: string): string | null {
  return names.find(([pattern]) => pattern.test(text))?.[1] ?? null
}
