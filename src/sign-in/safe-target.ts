/** Checks redirect targets after a sign-in (WIRE-SIGNIN-03): only this service and configured origins are allowed. */
import type { Provider } from './provider.ts'

/** Schemes that act within the page that opens them. They cannot be an application's deep link. */
const acting = new Set(['javascript:', 'data:', 'vbscript:', 'file:', 'blob:', 'about:', 'filesystem:', 'view-source:'])

export class SafeTargets {
  readonly #base: URL
  readonly #places: ReadonlySet<string>

  /** @param origins Origins of single-page applications on other hosts, such as `https://app.example.com`. */
  constructor(baseUrl: string, origins: readonly string[], providers: readonly Provider[]) {
    this.#base = new URL(`${baseUrl}/`)
    const named = [...origins, ...providers.flatMap(({ redirectUri, deepLink }) => [redirectUri, deepLink ?? ''])]
    this.#places = new Set([placeOf(this.#base), ...named.flatMap((text) => this.#placeOfText(text))])
  }

  #placeOfText(text: string): string[] {
    const url = URL.parse(text)
    return url === null || acting.has(url.protocol) ? [] : [placeOf(url)]
  }

  /**
   * Resolves and checks a redirect target.
   *
   * @returns the absolute URL as a browser parses it, so that the checked URL is the one that is sent. Null for other
   *   origins, and for every string that parsers may resolve to different hosts.
   */
  parse(text: string): string | null {
    if (!isPlain(text)) return null
    const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(text)?.[1]?.toLowerCase()
    if (scheme === undefined && text.startsWith('//')) return null
    // A browser resolves `https:evil` relative to the current page.
    if ((scheme === 'http' || scheme === 'https') && !/^https?:\/\/[^/]/i.test(text)) return null
    const url = URL.parse(text, this.#base.href)
    if (url === null || url.username !== '' || url.password !== '' || acting.has(url.protocol)) return null
    return this.#places.has(placeOf(url)) ? url.href : null
  }

  /** Like `parse`, but accepts only paths on this host. Returns a path that begins with one slash. */
  parsePath(text: string): string | null {
    const url = text.startsWith('/') ? this.parse(text) : null
    return url === null ? null : url.slice(this.#base.origin.length)
  }

  get root(): string {
    return this.#base.href
  }

  /** Returns whether the target is on this service, whose pages have its cookies. */
  isOwn(target: string): boolean {
    return new URL(target).origin === this.#base.origin
  }
}

/** Returns scheme and authority. `URL.origin` is "null" for the custom schemes of applications. */
function placeOf(url: URL): string {
  return `${url.protocol}//${url.host}`
}

const maxDecodings = 4

/**
 * Returns whether all URL parsers read the string alike, raw and after repeated percent-decoding. Rejects whitespace and
 * control characters (browsers drop them), backslashes (browsers read slashes) and a second leading slash.
 */
function isPlain(text: string): boolean {
  if (text === '' || text.length > 2048 || !/^[!-~]+$/.test(text)) return false
  let place = text.split(/[?#]/, 1)[0] ?? ''
  for (let round = 0; round <= maxDecodings; round += 1) {
    if (
      /[^\S ]|[\p{C}\\]/u.test(place) ||
      place.startsWith('//') ||
      place.slice(1).includes('//') !== isAbsolute(place)
    )
      return false
    const decoded = decode(place)
    if (decoded === null) return false
    if (decoded === place) return true
    place = decoded
  }
  return false
}

/** Returns whether the string has a scheme and an authority, and so two slashes. */
function isAbsolute(text: string): boolean {
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(text)
}

function decode(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}
