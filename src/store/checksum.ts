/**
 * Checksums of stored values. A disk or memory may flip a bit, and no database notices that inside a string. The checksum
 * covers the key too, so that a value cannot appear under another name or as another actor's value.
 */
import { crc32 } from 'node:zlib'
import { ServiceError } from '../errors.ts'

export function checksumOf(actorId: string, name: string, value: string): number {
  // Joining the value would copy it.
  return crc32(value, crc32(`${actorId}\n${name}\n`))
}

interface Checked {
  readonly value: string
  readonly checksum: number | null
}

export function isIntact(actorId: string, name: string, { value, checksum }: Checked): boolean {
  return checksum === null || checksum === checksumOf(actorId, name, value)
}

/** @throws ServiceError `value_corrupted` */
export function requireIntact(actorId: string, name: string, stored: Checked): void {
  if (isIntact(actorId, name, stored)) return
  throw new ServiceError('value_corrupted', `The stored value of ${JSON.stringify(name)} is damaged`, {
    reason: `The checksum of ${JSON.stringify(name)} of actor ${actorId} does not match its value: restore it from a backup, or write it again`,
  })
}

/** Returns the name under which the checksum of a list item is computed, because items have no names. */
export function itemName(list: string, item: number): string {
  return `${list}#${item}`
}

/** Items of one list whose texts contain no line break. */
export interface CheckedItems {
  readonly numbers: readonly number[]
  readonly checksums: readonly number[]
  readonly texts: readonly string[]
  /** The texts, joined by line breaks. */
  readonly joined: string
}

/**
 * Whether every item fits its checksum. Texts in ASCII need one checksum of the joined text: a CRC is linear, so the
 * checksums of the items give the checksum of the joined text (`crc32_combine` of zlib). A call for each item would take
 * three times as long.
 */
export function areIntact(actorId: string, list: string, items: CheckedItems): boolean {
  const { numbers, checksums, texts, joined } = items
  const isShort = texts.every(({ length }) => length <= longestCombined)
  if (!isShort || Buffer.byteLength(joined) !== joined.length) {
    return texts.every((value, at) =>
      isIntact(actorId, itemName(list, numbers[at] ?? 0), { value, checksum: checksums[at] ?? 0 }),
    )
  }
  const prefix = crc32(`${actorId}\n${itemName(list, 0).slice(0, -1)}`)
  let whole = 0
  for (const [at, text] of texts.entries()) {
    if (at > 0) whole = ~withByte(~whole, lineBreak)
    whole = product(whole ^ keyOf(prefix, numbers[at] ?? 0), powers[text.length] ?? 0) ^ (checksums[at] ?? 0)
  }
  return whole >>> 0 === crc32(joined)
}

/** The longest text for which `powers` has an entry. */
const longestCombined = 1024
const lineBreak = 0x0a
/** The polynomial of CRC-32, lowest power first. */
const polynomial = 0xedb88320
const one = 0x80000000
const table = Int32Array.from({ length: 256 }, (_, byte) => {
  let register = byte
  for (let bit = 0; bit < 8; bit++) register = register & 1 ? (register >>> 1) ^ polynomial : register >>> 1
  return register
})
/** The factor of a checksum for each number of bytes that follow. */
const powers = new Int32Array(longestCombined + 1)
powers[0] = one
for (let bytes = 1; bytes <= longestCombined; bytes++) powers[bytes] = withByte(powers[bytes - 1] ?? 0, 0)

/** The checksum of the key of an item, which precedes its text. */
function keyOf(prefix: number, item: number): number {
  const digits = String(item)
  let register = ~prefix
  for (let at = 0; at < digits.length; at++) register = withByte(register, digits.charCodeAt(at))
  return ~withByte(register, lineBreak)
}

function withByte(register: number, byte: number): number {
  return (table[(register ^ byte) & 0xff] ?? 0) ^ (register >>> 8)
}

/** The product of two polynomials modulo the polynomial of CRC-32. */
function product(left: number, right: number): number {
  let sum = 0
  let shifted = right
  for (let rest = left; rest !== 0; rest <<= 1) {
    if (rest < 0) sum ^= shifted
    shifted = shifted & 1 ? (shifted >>> 1) ^ polynomial : shifted >>> 1
  }
  return sum
}
