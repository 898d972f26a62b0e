/** E-mail addresses as identities: brought into one form once, before anything is compared or looked up. */
import { domainToASCII } from 'node:url'

/** Octets of an address and of the part before the `@` (RFC 5321 section 4.5.3.1). */
const longestAddress = 254
const longestLocalPart = 64

export type Address = `${string}@${string}`

const label = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/

/**
 * The one spelling of an address: without blanks around it, compatibility forms such as full-width letters folded (NFKC),
 * lower case, the domain in its ASCII form (IDNA). Null for what is no address that a provider could vouch for.
 */
export function parseAddress(text: string): Address | null {
  const trimmed = text.trim()
  // Lower case may take a letter out of the normal form again.
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

/** Empty for what is none. The conversion would decode percent signs and drop what nobody sees: such a text is refused. */
function asciiDomain(domain: string): string {
  if (isAscii(domain) && !domain.includes('xn--')) return domain
  return /[\s\p{C}%/?#:\\]/u.test(domain) ? '' : domainToASCII(domain)
}

/** Unquoted (RFC 5322 atoms with dots, RFC 6531 letters): no blank, control or invisible character and no separator. */
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
