/** E-mail addresses as identities. Each address is normalized once, before any comparison or lookup. */
import { domainToASCII, domainToUnicode } from 'node:url'

/** Limits in octets for an address and for the part before the `@` (RFC 5321 section 4.5.3.1). */
const longestAddress = 254
const longestLocalPart = 64

export type Address = `${string}@${string}`

const label = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/

/**
 * Normalizes an address: removes white space around it, and converts ASCII letters to lower case and the domain to ASCII
 * (IDNA). Letters that look alike stay different: an address that compatibility normalization (NFKC) would change, such as
 * one with a long s, is invalid. Otherwise, the owner of such an address could enter the account of another person.
 *
 * Null: not an address that a provider could verify.
 */
export function parseAddress(text: string): Address | null {
  const trimmed = trimAscii(text)
  if (isCompatibilityForm(trimmed)) return null
  const [local = '', domain = '', ...more] = lowerAscii(trimmed).split('@')
  if (more.length > 0 || !isLocalPart(local)) return null
  const ascii = asciiDomain(domain)
  const labels = ascii.split('.')
  if (labels.length < 2 || !labels.every((part) => label.test(part)) || /^\d+$/.test(labels.at(-1) ?? '')) return null
  const address = `${local}@${ascii}` as const
  return Buffer.byteLength(address) > longestAddress ? null : address
}

/** Removes the white space of ASCII. Other space is part of the text. */
export function trimAscii(text: string): string {
  let [start, end] = [0, text.length]
  while (start < end && isAsciiSpace(text.charCodeAt(start))) start += 1
  while (end > start && isAsciiSpace(text.charCodeAt(end - 1))) end -= 1
  return text.slice(start, end)
}

function isAsciiSpace(unit: number): boolean {
  return unit === 0x20 || (unit >= 0x09 && unit <= 0x0d)
}

/** Converts the letters A to Z alone. `toLowerCase` also converts the Kelvin sign to k. */
export function lowerAscii(text: string): string {
  return text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase())
}

/** Whether compatibility normalization would change the text. */
export function isCompatibilityForm(text: string): boolean {
  return !isAscii(text) && text.normalize('NFKC') !== text
}

/** Each letter by itself: `toLowerCase` of a text depends on the position of a sigma, which IDNA ignores. */
function lowered(text: string): string {
  return Array.from(text, (letter) => letter.toLowerCase()).join('')
}

function isAscii(text: string): boolean {
  return /^[\0-\x7f]*$/.test(text)
}

/**
 * Returns an empty string for an invalid domain. Labels of ASCII stay as they are, and others become labels of punycode that
 * name exactly the given letters, in lower case: IDNA drops some characters, and maps others to ASCII.
 */
function asciiDomain(domain: string): string {
  if (isAscii(domain) && !domain.includes('xn--')) return domain
  const ascii = /[\s\p{C}%/?#:\\]/u.test(domain) ? '' : domainToASCII(domain)
  const labels = ascii.split('.')
  const given = domain.split('.')
  const isExact = (part: string, index: number): boolean => {
    const found = labels[index] ?? ''
    return found === part || (!isAscii(part) && domainToUnicode(found) === lowered(part))
  }
  return labels.length === given.length && given.every(isExact) ? ascii : ''
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
