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
  if (address instanceof ipaddr.IPv4) return address.toString()
  const network = ipaddr.IPv6.networkAddressFromCIDR(`${address.toNormalizedString()}/64`)
  return `${network.toString()}/64`
}

/** Parses an address with or without a port, brackets or a zone. Unwraps an IPv4-mapped IPv6 address. */
function parseAddress(text: string): ipaddr.IPv4 | ipaddr.IPv6 | null {
  const bare = /^\[([^\]]+)\](?::\d+)?$/.exec(text)?.[1] ?? /^(\d+\.\d+\.\d+\.\d+):\d+$/.exec(text)?.[1] ?? text
  const address = bare.replace(/%.*/s, '')
  if (ipaddr.IPv4.isValidFourPartDecimal(address)) return ipaddr.IPv4.parse(address)
  return ipaddr.IPv6.isValid(address) ? ipaddr.process(address) : null
}
