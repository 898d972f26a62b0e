/** Recovery codes: each signs the owner in once, without a passkey. */
import { newTypedCode, parseTypedCode } from '../../secret/typed-code.ts'

/** 140 random bits. */
const length = 28

/** Number of codes that an owner gets at once. */
const codesAtOnce = 10

/** Returns ten codes such as `k7dm-4x2p-…`, of seven groups. */
export function newRecoveryCodes(): readonly string[] {
  return Array.from({ length: codesAtOnce }, () => newTypedCode(length))
}

/** Reads a typed code; null for any other text. */
export function parseRecoveryCode(typed: string): string | null {
  return parseTypedCode(typed, length)
}
