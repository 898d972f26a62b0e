/** Where a request comes from, as far as that can be known. */
import ipaddr from 'ipaddr.js'
import type { HttpRequest } from './request.ts'

/**
 * The address of the sender: that of the connection, or, behind proxies, the one that the first of ours saw. Each proxy
 * appends what it saw to X-Forwarded-For, so with `trustedProxies` of them the entry that many places from the right is
 * the last one that was not written by the sender. Null when nothing is known.
 */
function clientAddress(
  request: Pick<HttpRequest, 'header' | 'remoteAddress'>,
  trustedProxies: number,
): ipaddr.IPv4 | ipaddr.IPv6 | null {
  const connected = request.remoteAddress === null ? null : parseAddress(request.remoteAddress)
  if (trustedProxies === 0) return connected
  const entries = request.header('x-forwarded-for')?.split(',') ?? []
  // Fewer entries than proxies: it did not come through them, and what it says was written by nobody we know.
  return parseAddress(entries.at(-trustedProxies)?.trim() ?? '') ?? connected
}

/**
 * Whose bucket it is: an IPv4 address, or the /64 of an IPv6 address, within which a sender takes whichever it likes.
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

/** With or without a port, brackets or a zone; an IPv4 address in the clothes of IPv6 is that IPv4 address. */
function parseAddress(text: string): ipaddr.IPv4 | ipaddr.IPv6 | null {
  const bare = /^\[([^\]]+)\](?::\d+)?$/.exec(text)?.[1] ?? /^(\d+\.\d+\.\d+\.\d+):\d+$/.exec(text)?.[1] ?? text
  const address = bare.replace(/%.*$/, '')
  if (ipaddr.IPv4.isValidFourPartDecimal(address)) return ipaddr.IPv4.parse(address)
  return ipaddr.IPv6.isValid(address) ? ipaddr.process(address) : null
}
