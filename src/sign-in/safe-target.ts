/** Where a browser may be sent after a sign-in (WIRE-SIGNIN-03): to this service, and to places that its operator named. */
import type { Provider } from './provider.ts'

/** A scheme that acts in the page that opens it is nobody's application. */
const acting = new Set(['javascript:', 'data:', 'vbscript:', 'file:', 'blob:', 'about:', 'filesystem:', 'view-source:'])

export class SafeTargets {
  readonly #base: URL
  readonly #places: ReadonlySet<string>

  /** @param origins Of single-page applications elsewhere: `https://app.example.com`. */
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
   * @returns the whole address, as a browser understands it: what was judged is what is sent. Null for any other place,
   *   and for every text that one reader takes for an address here and another for one elsewhere.
   */
  parse(text: string): string | null {
    if (!isPlain(text)) return null
    const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(text)?.[1]?.toLowerCase()
    if (scheme === undefined && text.startsWith('//')) return null
    // A browser completes `https:evil` from the page that it is on.
    if ((scheme === 'http' || scheme === 'https') && !/^https?:\/\/[^/]/i.test(text)) return null
    const url = URL.parse(text, this.#base.href)
    if (url === null || url.username !== '' || url.password !== '' || acting.has(url.protocol)) return null
    return this.#places.has(placeOf(url)) ? url.href : null
  }

  /** As `parse`, on this host alone; begins with one slash. */
  parsePath(text: string): string | null {
    const url = text.startsWith('/') ? this.parse(text) : null
    return url === null ? null : url.slice(this.#base.origin.length)
  }

  get root(): string {
    return this.#base.href
  }

  /** True for a page of this service itself, which has its cookies. */
  isOwn(target: string): boolean {
    return new URL(target).origin === this.#base.origin
  }
}

/** Scheme and authority. Schemes of applications have no origin to compare. */
function placeOf(url: URL): string {
  return `${url.protocol}//${url.host}`
}

const mostDecodings = 4

/**
 * Neither as it stands nor decoded, once or several times, does it hold what readers disagree about: blanks and control
 * characters (which browsers drop), backslashes (which they take for slashes), a second slash at the front.
 */
function isPlain(text: string): boolean {
  if (text === '' || text.length > 2048 || !/^[!-~]+$/.test(text)) return false
  let place = text.split(/[?#]/, 1)[0] ?? ''
  for (let round = 0; round <= mostDecodings; round += 1) {
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

/** An address with an authority holds two slashes, after its scheme. */
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
