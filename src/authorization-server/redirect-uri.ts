/** Validates redirect URIs of clients (RFC 9700 section 4.1.3, RFC 8252 section 7). */
import { loopbackNames } from '../config/other-base-urls.ts'

const longest = 2048

/** Schemes that run or display their content, control the device, or cannot belong to an application. */
const refusedSchemes: ReadonlySet<string> = new Set([
  'javascript:',
  'data:',
  'vbscript:',
  'file:',
  'blob:',
  'about:',
  'filesystem:',
  'view-source:',
  'ws:',
  'wss:',
  'ftp:',
  'mailto:',
  'tel:',
  'sms:',
  'intent:',
  'jar:',
  'res:',
  'shell:',
  'search:',
  'search-ms:',
  'urn:',
  'chrome:',
  'resource:',
])

/**
 * Parses a redirect URI. Null for a URI that a client must not register: relative, with a fragment, wildcard or user
 * information, http outside of loopback, a form that parsers read differently from people, or a dangerous scheme.
 */
export function parseRedirectUri(text: string): URL | null {
  // The set includes `#`, which begins a fragment. `@` and `*` in a path are plain characters: URIs are compared exactly.
  if (text.length > longest || !/^[\x21-\x7e]+$/.test(text) || /[\\<>"{}|^`#]/.test(text)) return null
  const url = URL.parse(text)
  if (url === null) return null
  const isAllowed = /^https?:$/.test(url.protocol) ? isWebRedirect(url, text) : isAppRedirect(url, text)
  return isAllowed ? url : null
}

function isWebRedirect(url: URL, text: string): boolean {
  // The host must be written as the parser reads it: `127.1` and `0x7f.1` also mean a loopback address.
  const written = /^https?:\/\/([^/?]+)/i.exec(text)?.[1]?.toLowerCase()
  if (written?.includes('*') === true) return false
  if (written !== url.host && written !== `${url.host}:${defaultPort(url)}`) return false
  if (/(?:^|\/)(?:\.|%2e){1,2}(?:\/|$)/i.test(url.pathname) || /(?:^|\/)(?:\.|%2e){1,2}(?:[/?]|$)/i.test(text))
    return false
  return url.protocol === 'https:' || loopbackNames.includes(url.hostname)
}

/** An application-defined scheme in reverse-domain form belongs to the owner of the domain (RFC 8252 section 7.1). */
function isAppRedirect({ protocol }: URL, text: string): boolean {
  // The schemes `ms-*` start tools of the system, which follow the instructions in the address.
  if (refusedSchemes.has(protocol) || protocol.startsWith('ms-')) return false
  return /^[a-z][a-z0-9+.-]*:$/.test(protocol) && /^[a-z][a-z0-9+.-]*:\/{0,3}[^/]/i.test(text) && !/[*@]/.test(text)
}

function defaultPort({ protocol }: URL): string {
  return protocol === 'https:' ? '443' : '80'
}

export function isLoopback(text: string): boolean {
  const url = URL.parse(text)
  return url !== null && url.protocol === 'http:' && loopbackNames.includes(url.hostname)
}

/** Compares redirect URIs exactly, except for the port of a loopback URL, which a native application chooses at its start. */
export function matchesRedirect(registered: string, asked: string): boolean {
  if (registered === asked) return parseRedirectUri(asked) !== null
  const [one, other] = [parseRedirectUri(registered), parseRedirectUri(asked)]
  if (one === null || other === null || !isLoopback(registered) || !isLoopback(asked)) return false
  return withoutPort(registered) === withoutPort(asked) && one.hostname === other.hostname
}

/** Removes the port, so that everything else is compared byte for byte. */
function withoutPort(text: string): string {
  return text.replace(/^(http:\/\/(?:\[::1\]|[^/:?]+))(?::\d+)?/i, '$1')
}

/** Returns the part that people recognize: the host, or the scheme of an application, whose host has no meaning. */
export function shownTarget(text: string): string {
  const url = URL.parse(text)
  if (url === null) return text
  return /^https?:$/.test(url.protocol) ? url.host : `${url.protocol}//`
}

/** The host of an address, or the scheme of an application on a device, such as `com.example.app:`. Empty: no address. */
export function placeOf(text: string): string {
  const url = URL.parse(text)
  if (url === null) return ''
  return /^https?:$/.test(url.protocol) ? url.host : url.protocol
}

/**
 * Appends the parameters of the response to the redirect URI, without a change of its own bytes. Null parameters are
 * omitted.
 */
export function withParameters(redirectUri: string, parameters: Readonly<Record<string, string | null>>): string {
  const given = Object.entries(parameters).flatMap(([name, value]) => (value === null ? [] : [[name, value]]))
  const query = new URLSearchParams(given).toString()
  const separator = redirectUri.includes('?') ? (/[?&]$/.test(redirectUri) ? '' : '&') : '?'
  return `${redirectUri}${separator}${query}`
}
