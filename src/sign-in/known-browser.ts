/**
 * Browsers in which a person has proven an address. Each has its own limit for emails to the address, so that others who ask
 * for emails to the address cannot keep the person out. A mark grants no access and names no address.
 */
import { createHmac, hkdfSync, type KeyObject } from 'node:crypto'
import { sameSecret } from '../secret/hash.ts'
import type { KeyRing } from '../secret/key-ring.ts'
import { randomToken } from '../secret/random.ts'

/** Addresses that one browser is known for. */
const maxMarks = 4
const markPattern = /^([\w-]{43})\.([\w-]{43})$/

/** Returns the marks of a browser with one for the address, which it has just proven. */
export function withMark(keyRing: KeyRing, marks: string | null, address: string): string {
  if (knownBrowser(keyRing, marks, address) !== null) return marks ?? ''
  const key = keyRing.keys.get(keyRing.currentId)
  if (key === undefined) throw new Error('Cannot mark the browser: the key ring has no current key')
  const id = randomToken(32)
  return [`${id}.${proofOf(key, id, address)}`, ...marksOf(marks)].slice(0, maxMarks).join('~')
}

/** Returns the id of the browser for the address. Null: the browser has not proven it. */
export function knownBrowser(keyRing: KeyRing, marks: string | null, address: string): string | null {
  for (const mark of marksOf(marks)) {
    const [, id = '', proof = ''] = markPattern.exec(mark) ?? []
    if ([...keyRing.keys.values()].some((key) => sameSecret(proof, proofOf(key, id, address)))) return id
  }
  return null
}

function marksOf(marks: string | null): string[] {
  return (marks ?? '').split('~', maxMarks).filter((mark) => markPattern.test(mark))
}

/** Derives a separate key (RFC 5869), because callers choose the address. */
function proofOf(key: KeyObject, id: string, address: string): string {
  const own = Buffer.from(hkdfSync('sha256', key, '', 'troupe known browser v1', 32))
  return createHmac('sha256', own).update(`${id}\n${address}`).digest('base64url')
}
