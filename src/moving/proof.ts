/** The proofs of a move: the notice of the old service, and the statement of the new one to each peer (docs/spec/moving.md). */
import type { CryptoKey, JWK, JWTPayload } from 'jose'
import { known, members, normalize, stringValue } from '../json/json.ts'

const algorithm = 'EdDSA'
const noticeType = 'actor-move+jwt'
const statementType = 'actor-moved+jwt'
/** Seconds. A statement carries a secret, so a copy of it is soon worth nothing. */
const statementSeconds = 300

/** The last time that ECMAScript can express, in Unix milliseconds. */
const latestMs = 8_640_000_000_000_000

/** The key pair of one move, as JSON of two JSON Web Keys (RFC 8037). */
export interface MoveKeys {
  readonly publicKey: string
  readonly privateKey: string
}

/** States that an actor has moved. The old service publishes it at the old address. */
export interface MoveNotice {
  /** The old address. */
  readonly from: string
  /** The new address. */
  readonly to: string
  readonly actorId: string
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
  /** Time of the move, in Unix milliseconds. */
  readonly movedAt: number
  /** Time of this statement, in Unix milliseconds. A later one about the same move may have another secret. */
  readonly statedAt: number
}

export async function newMoveKeys(): Promise<MoveKeys> {
  const { exportJWK, generateKeyPair } = await import('jose')
  const { publicKey, privateKey } = await generateKeyPair(algorithm, { crv: 'Ed25519', extractable: true })
  const [shown, kept] = await Promise.all([exportJWK(publicKey), exportJWK(privateKey)])
  return { publicKey: JSON.stringify(shown), privateKey: JSON.stringify(kept) }
}

/** The public part of a private key. Null: it is not an Ed25519 key. */
export function publicPartOf(privateKey: string): string | null {
  const found = keyIn(privateKey)
  return found?.d === undefined ? null : JSON.stringify({ crv: found.crv, x: found.x, kty: found.kty })
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

export function signNotice(privateKey: string, { from, to, actorId }: MoveNotice, now: number): Promise<string> {
  return sign(privateKey, noticeType, { iss: from, sub: actorId, moved_to: to }, { now, seconds: null })
}

/** @throws Error from `jose` for a notice that the key did not sign, or that is about another move. */
export async function verifyNotice(notice: string, publicKey: string, from: string): Promise<MoveNotice> {
  const { iss, sub, moved_to: to } = await verify(notice, publicKey, { typ: noticeType, issuer: from })
  if (iss !== from || typeof sub !== 'string' || typeof to !== 'string')
    throw new Error('The notice of the move names no actor or no new address')
  return { from, to, actorId: sub }
}

export function signStatement(
  privateKey: string,
  { from, actorId, peer, secret, isApproved, movedAt, statedAt }: MoveStatement,
): Promise<string> {
  const times = { moved_at: movedAt, stated_at: statedAt }
  const claims = { iss: from, sub: actorId, aud: peer, secret, approved: isApproved, ...times }
  return sign(privateKey, statementType, claims, { now: statedAt, seconds: statementSeconds })
}

/** The new address that a statement claims, before it is verified. Null for any other text. */
export async function claimedAddress(statement: string): Promise<string | null> {
  const { decodeJwt } = await import('jose')
  try {
    return decodeJwt(statement).iss ?? null
  } catch {
    return null
  }
}

/** @throws Error from `jose` for a statement that the key did not sign, that is for another peer, or that has expired. */
export async function verifyStatement(
  statement: string,
  publicKey: string,
  { from, peer, now }: { readonly from: string; readonly peer: string; readonly now: number },
): Promise<MoveStatement> {
  const claims = await verify(statement, publicKey, { typ: statementType, issuer: from, audience: peer, now })
  const { sub, secret, approved, moved_at: movedAt, stated_at: statedAt } = claims
  const isWhole = typeof sub === 'string' && typeof secret === 'string' && typeof approved === 'boolean'
  if (!isWhole || !isTime(movedAt) || !isTime(statedAt)) throw new Error('The statement of the move is not complete')
  return { from, actorId: sub, peer, secret, isApproved: approved, movedAt, statedAt }
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= latestMs
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

async function verify(
  token: string,
  publicKey: string,
  {
    typ,
    issuer,
    audience,
    now,
  }: { readonly typ: string; readonly issuer: string; readonly audience?: string; readonly now?: number },
): Promise<JWTPayload> {
  const { jwtVerify } = await import('jose')
  const { payload } = await jwtVerify(token, await imported(publicKey), {
    algorithms: [algorithm],
    typ,
    issuer,
    ...(audience === undefined ? {} : { audience, requiredClaims: ['exp'] }),
    // The clocks of two services differ.
    clockTolerance: 300,
    ...(now === undefined ? {} : { currentDate: new Date(now) }),
  })
  return payload
}

async function imported(key: string): Promise<CryptoKey | Uint8Array> {
  const { importJWK } = await import('jose')
  const found = keyIn(key)
  if (found === null) throw new Error('The key of the move is not an Ed25519 key')
  return importJWK(found, algorithm)
}
