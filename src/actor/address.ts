/** E-mail addresses as identities. Each address is normalized once, before any comparison or lookup. */
import { domainToASCII } from 'node:url'

/** Limits in octets for an address and for the part before the `@` (RFC 5321 section 4.5.3.1). */
const longestAddress = 254
const longestLocalPart = 64

export type Address = `${string}@${string}`

const label = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/

/**
 * Normalizes an address: trims it, folds compatibility forms such as full-width letters (NFKC), and converts it to
 * lower case and its domain to ASCII (IDNA). Null: not an address that a provider could verify.
 */
export function parseAddress(text: string): Address | null {
  const trimmed = text.trim()
  // Conversion to lower case may leave the normal form, so the result is normalized again.
  const folded = isAscii(trimmed) ? trimmed.toLowerCase() : trimmed.normalize('NFKC').toLowerCase().normalize('NFKC')
  const [local = '', domain = '', ...more] = folded.split('@')
  if (more.length > 0 || !isLocalPart(local)) return null
  const ascii = asciiDomain(domain)
  const labels = ascii.split('.')
  if (labels.length < 2 || !labels.every((part) => label.test(part)) || /^\d+$/.test(labels.at(-1) ?? '')) return null
  const address = `${local}@${ascii}` as const
  return Buffer.byteLength(address) > longestAddress ? null : address
}

function isAscii(text: string): boolean {
  return /^[\0-\x7f]*$/.test(text)
}

/** Returns an empty string for an invalid domain. Refuses characters that the conversion would decode or drop. */
function asciiDomain(domain: string): string {
  if (isAscii(domain) && !domain.includes('xn--')) return domain
  return /[\s\p{C}%/?#:\\]/u.test(domain) ? '' : domainToASCII(domain)
}

/**
 * Accepts unquoted local parts (RFC 5322 atoms with dots, RFC 6531 letters), without space, control or invisible
 * characters.
 */
function isLocalPart(local: string): boolean {
  return (
    local !== '' &&
    Buffer.byteLength(local) <= longestLocalPart &&
    local.isWellFormed() &&
    !/[\s\p{C}"(),:;<>@[\]\\]/u.test(local) &&
    !local.startsWith('.') &&
    !local.endsWith('.') &&
    !local.includes('..')
  )
}
