/** Which URLs a call to a peer may have. What its host resolves to is judged by `address-rules.ts`. */
import { isIP } from 'node:net'

export interface PeerPolicy {
  /** Loopback and private addresses, and the names that belong to them. */
  readonly allowPrivatePeers: boolean
  /** Plain http also where private peers are not allowed. */
  readonly allowHttp: boolean
}

export type JudgedUrl = { readonly url: URL } | { readonly refused: string }

/** The names behind which clouds hand out credentials. */
const metadataNames: ReadonlySet<string> = new Set([
  'instance-data',
  'instance-data.ec2.internal',
  'metadata',
  'metadata.azure.internal',
  'metadata.goog',
  'metadata.google.internal',
])

const privateSuffixes = ['.localhost', '.local', '.localdomain', '.internal', '.lan', '.home.arpa']

const defaultPorts: Readonly<Record<string, string>> = { 'https:': '443', 'http:': '80' }

/** `refused` completes "The URL …". */
export function judgeUrl(text: string, policy: PeerPolicy): JudgedUrl {
  const url = URL.parse(text)
  if (url === null) return { refused: 'cannot be parsed' }
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return { refused: 'is neither https nor http' }
  if (url.protocol === 'http:' && !policy.allowHttp && !policy.allowPrivatePeers) return { refused: 'is not https' }
  if (url.username !== '' || url.password !== '') return { refused: 'carries credentials' }
  if (!isWrittenPlainly(text, url)) return { refused: 'spells its host in an unusual way' }
  if (!isAllowedPort(Number(url.port || defaultPorts[url.protocol])))
    return { refused: 'names a port of another service' }
  const refused = refusedHost(url.hostname, policy.allowPrivatePeers)
  return refused === null ? { url } : { refused }
}

/**
 * The host must be written as it is understood. `127.1`, `2130706433`, `%31`, full-width letters and backslashes are
 * read as one host here and may be read as another by whoever compares or logs the text.
 */
function isWrittenPlainly(text: string, url: URL): boolean {
  const authority = /^https?:\/\/([^/?#]*)/i.exec(text)?.[1]?.toLowerCase()
  return authority === url.host || authority === `${url.host}:${defaultPorts[url.protocol]}`
}

/** Below 1024 live the services that have nothing to do with HTTP; above it deployments choose freely. */
function isAllowedPort(port: number): boolean {
  return port === 443 || port === 80 || port > 1023
}

function refusedHost(host: string, allowPrivate: boolean): string | null {
  if (host.startsWith('[') || isIP(host) !== 0) return null
  if (host.endsWith('.')) return 'has a host with a dot at its end'
  if (metadataNames.has(host)) return 'names a metadata service'
  if (allowPrivate) return null
  if (!host.includes('.')) return 'names a host without a domain'
  return privateSuffixes.some((suffix) => host.endsWith(suffix)) ? 'names a host of a private network' : null
}

/** With the port where it is not that of the scheme; empty for what is no URL. Most are written plainly. */
export function hostOf(url: string): string {
  return /^https?:\/\/([a-z\d.-]+(?::(?!80\/|443\/)\d+)?)\//.exec(url)?.[1] ?? URL.parse(url)?.host ?? ''
}

/**
 * True when `url` is the base address itself or lies below it, by whole segments. An encoded slash or backslash is
 * never below: a server that decodes it before it resolves `..` would leave the base.
 */
export function liesBelow(url: URL, baseuri: string): boolean {
  const base = URL.parse(baseuri)
  if (base === null || base.origin !== url.origin || /%2f|%5c/i.test(url.pathname)) return false
  const prefix = base.pathname.replace(/\/+$/, '')
  return url.pathname === prefix || url.pathname.startsWith(`${prefix}/`)
}
