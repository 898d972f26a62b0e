/**
 * The texts of tokens. Each can be told from a text that somebody else made, so that one look-up finds a token, and a
 * token of ours is never taken for, or sent to, anybody else: those of clients by their prefix, those of sessions by a
 * checksum, because their form (40 hexadecimal characters, 64 of base64url) is the one that peers' secrets have too.
 */
import { randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'

export type ChainKind = 'session' | 'client'
export type TokenKind = 'access' | 'refresh'

const checkBytes = 4

export function makeToken(chain: ChainKind, kind: TokenKind): string {
  if (chain === 'client') return `${kind === 'access' ? 'aw_' : 'rt_'}${randomBytes(32).toString('base64url')}`
  return kind === 'access' ? checked(16).toString('hex') : checked(44).toString('base64url')
}

/** What a text is by its form; null for what was not made here. Whether the token lives, the store knows. */
export function recogniseToken(text: string): { readonly chain: ChainKind; readonly kind: TokenKind } | null {
  if (text.length === 40) {
    return /^[0-9a-f]{40}$/.test(text) && isChecked(Buffer.from(text, 'hex'))
      ? { chain: 'session', kind: 'access' }
      : null
  }
  if (text.length === 64) {
    return /^[\w-]{64}$/.test(text) && isChecked(Buffer.from(text, 'base64url'))
      ? { chain: 'session', kind: 'refresh' }
      : null
  }
  const prefix = /^(aw|rt)_[\w-]{43}$/.exec(text)?.[1]
  return prefix === undefined ? null : { chain: 'client', kind: prefix === 'aw' ? 'access' : 'refresh' }
}

/** Random bytes, at least 128 bits of them, and their checksum. */
function checked(length: number): Buffer {
  const bytes = Buffer.alloc(length + checkBytes)
  randomBytes(length).copy(bytes)
  bytes.writeUInt32BE(crc32(bytes.subarray(0, length)), length)
  return bytes
}

function isChecked(bytes: Buffer): boolean {
  const end = bytes.length - checkBytes
  return bytes.readUInt32BE(end) === crc32(bytes.subarray(0, end))
}
