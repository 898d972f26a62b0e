/**
 * Format of tokens. The service recognizes its own tokens, so that one lookup finds a token, and no token is sent to a
 * peer as its secret. Tokens of clients have a prefix. Tokens of sessions have a checksum, because peers' secrets have
 * the same form (40 hexadecimal characters, or 64 of base64url). API keys have both, for scanners that look for secrets in
 * source code: `trp_` and 38 letters and digits, the last 6 of which are the checksum.
 */
import { randomInt } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { TokenForm } from '../auth/authenticate.ts'
import { randomBytes } from '../secret/random.ts'

export type ChainKind = TokenForm['chain']
export type TokenKind = TokenForm['kind']

const checkBytes = 4

const keyPrefix = 'trp_'
const keyCharacters = 32
const checksumCharacters = 6
const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

export function makeToken(chain: ChainKind, kind: TokenKind): string {
  if (chain === 'client') return `${kind === 'access' ? 'aw_' : 'rt_'}${randomBytes(32).toString('base64url')}`
  return kind === 'access' ? checked(16).toString('hex') : checked(44).toString('base64url')
}

/** Returns a new API key, with 190 random bits. Letters and digits alone are selected by a double click. */
export function makeKey(): string {
  const random = Array.from({ length: keyCharacters }, () => base62[randomInt(base62.length)]).join('')
  return `${keyPrefix}${random}${keyChecksum(random)}`
}

function keyChecksum(random: string): string {
  let rest = crc32(`${keyPrefix}${random}`)
  let text = ''
  for (let place = 0; place < checksumCharacters; place++) {
    text = `${base62[rest % base62.length]}${text}`
    rest = Math.floor(rest / base62.length)
  }
  return text
}

/** Recognizes a token by its form. Null for any other string. The store decides whether the token is valid. */
export function recognizeToken(text: string): TokenForm | null {
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
  const [, random, checksum] = /^trp_([0-9A-Za-z]{32})([0-9A-Za-z]{6})$/.exec(text) ?? []
  if (random !== undefined) return keyChecksum(random) === checksum ? { chain: 'client', kind: 'access' } : null
  const prefix = /^(aw|rt)_[\w-]{43}$/.exec(text)?.[1]
  return prefix === undefined ? null : { chain: 'client', kind: prefix === 'aw' ? 'access' : 'refresh' }
}

/** Returns at least 128 random bits, followed by their checksum. */
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
