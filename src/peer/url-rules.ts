/** Rules for the URLs of calls to peers. `address-rules.ts` judges the addresses to which the host resolves. */
import { isIP } from 'node:net'

export interface PeerPolicy {
  /** Allows loopback and private addresses, and host names that belong to them. */
  readonly allowPrivatePeers: boolean
  /** Allows plain http even when private peers are not allowed. */
  readonly allowHttp: boolean
}

export type JudgedUrl = { readonly url: URL } | { readonly refused: string }

/** Host names at which clouds give out credentials. */
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
 * Whether the host is written in its normal form. `127.1`, `2130706433`, `%31`, full-width letters and backslashes mean
 * one host here, and may mean another to a program that compares or logs the URL.
 */
function isWrittenPlainly(text: string, url: URL): boolean {
  const authority = /^https?:\/\/([^/?#]*)/i.exec(text)?.[1]?.toLowerCase()
  return authority === url.host || authority === `${url.host}:${defaultPorts[url.protocol]}`
}

/** Ports below 1024 belong to services other than HTTP. Deployments choose freely from the higher ones. */
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

/**
 * Returns the host, with the port unless it is the default of the scheme. Empty: not a valid URL. The regular
 * expression is a fast path.
 */
export function hostOf(url: string): string {
  return /^https?:\/\/([a-z\d.-]+(?::(?!80\/|443\/)\d+)?)\//.exec(url)?.[1] ?? URL.parse(url)?.host ?? ''
}

/**
 * Whether `url` is the base address or below it, compared by segments. A URL with an encoded slash or backslash is
 * never below: a server that decodes it before it resolves `..` would leave the base.
 */
export function liesBelow(url: URL, baseuri: string): boolean {
  const base = URL.parse(baseuri)
  if (base === null || base.origin !== url.origin || /%2f|%5c/i.test(url.pathname)) return false
  const prefix = base.pathname.replace(/(?<!\/)\/+$/, '')
  return url.pathname === prefix || url.pathname.startsWith(`${prefix}/`)
}
