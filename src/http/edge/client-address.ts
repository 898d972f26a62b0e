/** The address of the client that sent a request. */
import ipaddr from 'ipaddr.js'
import type { HttpRequest } from './request.ts'

/**
 * Returns the address of the connection, or the address that the outermost trusted proxy saw. Each proxy appends an entry
 * to X-Forwarded-For, so the entry `trustedProxies` places from the right was written by that proxy. Entries further left
 * may be forged by the client. Null when the address is unknown.
 */
function clientAddress(
  request: Pick<HttpRequest, 'header' | 'remoteAddress'>,
  trustedProxies: number,
): ipaddr.IPv4 | ipaddr.IPv6 | null {
  const connected = request.remoteAddress === null ? null : parseAddress(request.remoteAddress)
  if (trustedProxies === 0) return connected
  const entries = request.header('x-forwarded-for')?.split(',') ?? []
  // With fewer entries than proxies, the request bypassed the proxies and its header cannot be trusted.
  return parseAddress(entries.at(-trustedProxies)?.trim() ?? '') ?? connected
}

/**
 * Returns the key of the client for rate limits: an IPv4 address, or the /64 of an IPv6 address, because a client can use
 * every address of its /64.
 */
export function sourceOf(
  request: Pick<HttpRequest, 'header' | 'remoteAddress'>,
  trustedProxies: number,
): string | null {
  const address = clientAddress(request, trustedProxies)
  if (address === null) return null
  const claimed = trustedProxies === 0 && isLocal(address) ? claimedAddress(request) : null
  // `rate-limit/source.ts` reads this form: nothing proves that the connection is one of a proxy.
  return claimed === null ? keyOf(address) : `${keyOf(claimed)} via ${keyOf(address)}`
}

function keyOf(address: ipaddr.IPv4 | ipaddr.IPv6): string {
  if (address instanceof ipaddr.IPv4) return address.toString()
  const network = ipaddr.IPv6.networkAddressFromCIDR(`${address.toNormalizedString()}/64`)
  return `${network.toString()}/64`
}

/** Returns whether the request has an address from a proxy that the configuration does not name. */
export function isForwardedUnknown(request: Pick<HttpRequest, 'header'>, trustedProxies: number): boolean {
  return trustedProxies === 0 && (request.header('x-forwarded-for') ?? request.header('forwarded')) !== undefined
}

/** A proxy without a setting usually runs on this machine or in its network. Others choose their headers themselves. */
function isLocal(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  return ['loopback', 'private', 'linkLocal', 'uniqueLocal', 'carrierGradeNat'].includes(address.range())
}

/** Returns the sender that the nearest proxy saw: the last public address, else the last one. */
function claimedAddress(request: Pick<HttpRequest, 'header'>): ipaddr.IPv4 | ipaddr.IPv6 | null {
  const plain = request.header('x-forwarded-for')?.split(',') ?? []
  const standard = request.header('forwarded')?.split(',').map(forwardedFor) ?? []
  const entries = plain.length > 0 ? plain : standard
  const addresses = entries.map((entry) => parseAddress(entry.trim())).filter((address) => address !== null)
  return addresses.findLast((address) => !isLocal(address)) ?? addresses.at(-1) ?? null
}

/** Reads `for=` of one element of `Forwarded` (RFC 7239). */
function forwardedFor(element: string): string {
  const pair = element
    .split(';')
    .map((part) => part.trim())
    .find((part) => part.toLowerCase().startsWith('for='))
  return pair?.slice('for='.length).replaceAll('"', '') ?? ''
}

/** Parses an address with or without a port, brackets or a zone. Unwraps an IPv4-mapped IPv6 address. */
function parseAddress(text: string): ipaddr.IPv4 | ipaddr.IPv6 | null {
  const bare = /^\[([^\]]+)\](?::\d+)?$/.exec(text)?.[1] ?? /^(\d+\.\d+\.\d+\.\d+):\d+$/.exec(text)?.[1] ?? text
  const address = bare.replace(/%.*/s, '')
  if (ipaddr.IPv4.isValidFourPartDecimal(address)) return ipaddr.IPv4.parse(address)
  return ipaddr.IPv6.isValid(address) ? ipaddr.process(address) : null
}
