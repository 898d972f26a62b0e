/** The proofs of a move: the notice of the home that an actor left, and the statement of its new home to each peer (docs/spec/moving.md). */
import type { CryptoKey, JWK, JWTPayload } from 'jose'
import { known, members, normalize, stringValue } from '../json/json.ts'

const algorithm = 'EdDSA'
const noticeType = 'actor-move+jwt'
const statementType = 'actor-moved+jwt'
/** Seconds. A statement carries a secret, so a copy of it is soon worth nothing. */
const statementSeconds = 300
/** How far the clocks of two services may differ. A time beyond it could make every later statement look old. */
export const maxSkewMs = 60_000

/** The key pair of one home of an actor, as JSON of two JSON Web Keys (RFC 8037). */
export interface HomeKeys {
  readonly publicKey: string
  readonly privateKey: string
}

/** States where an actor has moved to. The home that it left signs and publishes it. */
export interface MoveNotice {
  /** The old address. */
  readonly from: string
  /** The new address. */
  readonly to: string
  readonly actorId: string
  /** The public key of the new home, which the new home made. */
  readonly newKey: string
  /** Time of the move, in Unix milliseconds. */
  readonly movedAt: number
}

/** Tells a peer the new address and the new secret of the relationship. */
export interface MoveStatement {
  /** The new address. */
  readonly from: string
  readonly actorId: string
  /** Address of the peer. */
  readonly peer: string
  readonly secret: string
  /** Whether the owner has approved the relationship. */
  readonly isApproved: boolean
  /** Time of the arrival at the new home, in Unix milliseconds. */
  readonly movedAt: number
  /** Time of this statement, in Unix milliseconds. A later one about the same move may have another secret. */
  readonly statedAt: number
}

export async function newHomeKeys(): Promise<HomeKeys> {
  const { exportJWK, generateKeyPair } = await import('jose')
  const { publicKey, privateKey } = await generateKeyPair(algorithm, { crv: 'Ed25519', extractable: true })
  const [shown, kept] = await Promise.all([exportJWK(publicKey), exportJWK(privateKey)])
  return { publicKey: JSON.stringify(shown), privateKey: JSON.stringify(kept) }
}

/** The public key in a JSON text, in one spelling. Null: it is not a public Ed25519 key. */
export function publicKeyIn(text: string): string | null {
  const found = keyIn(text)
  return found === null || found.d !== undefined ? null : JSON.stringify({ crv: found.crv, x: found.x, kty: found.kty })
}

/** Whether two public keys are the same. */
export function isSameKey(one: string, other: string): boolean {
  const [first, second] = [keyIn(one), keyIn(other)]
  return first !== null && first.x === second?.x
}

type Ed25519Key = JWK & { readonly crv: 'Ed25519'; readonly x: string; readonly kty: 'OKP' }

function keyIn(text: string): Ed25519Key | null {
  const found = membersIn(text)
  const text_ = (name: string): string | null => stringValue(found?.get(name) ?? known('null'))
  const [kty, crv, x, d] = ['kty', 'crv', 'x', 'd'].map((name) => text_(name))
  if (kty !== 'OKP' || crv !== 'Ed25519' || typeof x !== 'string' || x === '') return null
  return { kty, crv, x, ...(typeof d === 'string' ? { d } : {}) }
}

/** The members of a JSON object. Null for any other text. */
export function membersIn(text: string): ReadonlyMap<string, ReturnType<typeof normalize>> | null {
  try {
    return members(normalize(text, 8))
  } catch {
    return null
  }
}

export function signNotice(privateKey: string, notice: MoveNotice, now: number): Promise<string> {
  const { from, to, actorId, newKey, movedAt } = notice
  const claims = { iss: from, sub: actorId, moved_to: to, key: JSON.parse(newKey) as object, moved_at: movedAt }
  return sign(privateKey, noticeType, claims, { now, seconds: null })
}

/**
 * @throws Error from `jose` for a notice that the key did not sign, or that is about another move; Error for one that is not
 *   complete, or from the future.
 */
export async function verifyNotice(
  notice: string,
  publicKey: string,
  { from, now }: { readonly from: string; readonly now: number },
): Promise<MoveNotice> {
  const { payload } = await verify(notice, publicKey, { typ: noticeType, issuer: from })
  const { sub, moved_to: to, key, moved_at: movedAt, iat } = payload
  const newKey = publicKeyIn(JSON.stringify(key ?? null))
  if (typeof sub !== 'string' || typeof to !== 'string' || newKey === null)
    throw new Error('The notice of the move names no actor, no new address or no key of the new home')
  requireNotAhead(movedAt, now)
  requireNotAhead((iat ?? Number.NaN) * 1000, now)
  return { from, to, actorId: sub, newKey, movedAt }
}

export function signStatement(
  privateKey: string,
  { from, actorId, peer, secret, isApproved, movedAt, statedAt }: MoveStatement,
): Promise<string> {
  const times = { moved_at: movedAt, stated_at: statedAt }
  const claims = { iss: from, sub: actorId, aud: peer, secret, approved: isApproved, ...times }
  return sign(privateKey, statementType, claims, { now: statedAt, seconds: statementSeconds })
}

/** The address that a statement or a notice claims to come from, before it is verified. Null for any other text. */
export async function claimedAddress(statement: string): Promise<string | null> {
  const { decodeJwt } = await import('jose')
  try {
    return decodeJwt(statement).iss ?? null
  } catch {
    return null
  }
}

/**
 * @param expected `peers` has the addresses of the peer.
 * @throws Error from `jose` for a statement that the key did not sign, or that is for another peer; Error for one that is not
 *   complete, has expired, is valid for too long, or has a time in the future.
 */
export async function verifyStatement(
  statement: string,
  publicKey: string,
  { from, peers, now }: { readonly from: string; readonly peers: readonly string[]; readonly now: number },
): Promise<MoveStatement> {
  const { payload } = await verify(statement, publicKey, { typ: statementType, issuer: from, audiences: peers })
  const { sub, secret, approved, moved_at: movedAt, stated_at: statedAt, iat, exp } = payload
  if (typeof sub !== 'string' || typeof secret !== 'string' || typeof approved !== 'boolean')
    throw new Error('The statement of the move is not complete')
  requireNotAhead(movedAt, now)
  requireNotAhead(statedAt, now)
  if (iat !== Math.floor(statedAt / 1000)) throw new Error('The statement was not issued at its time')
  if (movedAt > statedAt) throw new Error('The statement is older than the move')
  if (exp === undefined || exp <= iat || exp > iat + statementSeconds)
    throw new Error(`The statement is not valid for 1 to ${statementSeconds} seconds`)
  if (exp * 1000 + maxSkewMs < now) throw new Error('The statement has expired')
  return { from, actorId: sub, peer: String(payload.aud), secret, isApproved: approved, movedAt, statedAt }
}

/** @throws Error for a value that is not a time, or lies further in the future than clocks differ. */
function requireNotAhead(value: unknown, now: number): asserts value is number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0)
    throw new Error('A time of the move is not a whole number of milliseconds')
  if (value > now + maxSkewMs) throw new Error('A time of the move is in the future')
}

async function sign(
  privateKey: string,
  typ: string,
  claims: JWTPayload,
  { now, seconds }: { readonly now: number; readonly seconds: number | null },
): Promise<string> {
  const { SignJWT } = await import('jose')
  const issuedAt = Math.floor(now / 1000)
  const token = new SignJWT(claims).setProtectedHeader({ alg: algorithm, typ }).setIssuedAt(issuedAt)
  if (seconds !== null) token.setExpirationTime(issuedAt + seconds)
  return token.sign(await imported(privateKey))
}

/** Only the signature and the names. Callers check the times, which `jose` would not bound. */
async function verify(
  token: string,
  publicKey: string,
  { typ, issuer, audiences }: { readonly typ: string; readonly issuer: string; readonly audiences?: readonly string[] },
): Promise<{ readonly payload: JWTPayload }> {
  const { compactVerify, decodeJwt, decodeProtectedHeader } = await import('jose')
  await compactVerify(token, await imported(publicKey), { algorithms: [algorithm] })
  const payload = decodeJwt(token)
  if (decodeProtectedHeader(token).typ !== typ) throw new Error('The token has another type')
  if (payload.iss !== issuer) throw new Error('The token is of another address')
  const isForOther = audiences !== undefined && !audiences.some((audience) => audience === payload.aud)
  if (isForOther) throw new Error('The token is for another actor')
  return { payload }
}

async function imported(key: string): Promise<CryptoKey | Uint8Array> {
  const { importJWK } = await import('jose')
  const found = keyIn(key)
  if (found === null) throw new Error('The key of the move is not an Ed25519 key')
  return importJWK(found, algorithm)
}
