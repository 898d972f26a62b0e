/** Rules for the IP addresses that a call to a peer may reach. */
import ipaddr from 'ipaddr.js'

type Address = ipaddr.IPv4 | ipaddr.IPv6

/** Allowed only when the operator allows private peers. */
const privateRanges: ReadonlySet<string> = new Set(['loopback', 'private', 'carrierGradeNat', 'uniqueLocal'])

/**
 * Addresses at which clouds give credentials to callers inside their network, besides the link-local 169.254.169.254.
 * Other rules would allow these addresses.
 */
const metadataServices: readonly [Address, number][] = [
  '100.100.100.200/32',
  '168.63.129.16/32',
  'fd00:ec2::/32',
  'fd20:ce::/64',
].map((range) => ipaddr.parseCIDR(range))

/** The only part of IPv6 that is routed between networks (RFC 4291 section 2.4). */
const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3')

/**
 * Returns the reason why `address` must not be called. Null: it may be called.
 *
 * IPv6 forms that contain an IPv4 address (mapped, NAT64, 6to4, Teredo) are always refused. Resolvers do not return
 * them unasked, and each is a second spelling of an address that may be refused.
 */
export function refusedAddress(address: string, allowPrivate: boolean): string | null {
  const parsed = parseAddress(address)
  if (parsed === null) return 'not an IP address in its usual form'
  if (metadataServices.some((range) => parsed.kind() === range[0].kind() && parsed.match(range))) {
    return 'an address of a metadata service'
  }
  const range: string = parsed.range()
  if (range === 'unicast') {
    return parsed instanceof ipaddr.IPv4 || parsed.match(globalUnicast) ? null : 'an address outside global unicast'
  }
  if (!privateRanges.has(range)) return `an address of the range ${range}`
  return allowPrivate ? null : `an address of the range ${range}, and private peers are not allowed`
}

/** Accepts only four decimal parts, or IPv6 without a zone. Programs interpret every other spelling differently. */
function parseAddress(address: string): Address | null {
  if (ipaddr.IPv4.isValidFourPartDecimal(address)) return ipaddr.IPv4.parse(address)
  return ipaddr.IPv6.isValid(address) && !address.includes('%') ? ipaddr.IPv6.parse(address) : null
}
