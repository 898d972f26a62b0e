/** A peer requests a relationship with this actor. */
import { findEndings } from '../../outbox/notice-store.ts'
import { openNoticeSecret } from '../../outbox/notices.ts'
import { ServiceError } from '../../errors.ts'
import { hashSecret, sameSecret } from '../../secret/hash.ts'
import { randomPassphrase } from '../../secret/random.ts'
import type { LockedActor, Queries, Transaction } from '../../store/store.ts'
import { fireIfCompleted, fireTrust } from '../events.ts'
import type { IncomingRequest } from './incoming-request.ts'
import { judgeRequest, type RequestVerdict } from './judge-request.ts'
import { newTrust, sealedSecret } from '../new-trust.ts'
import { forget } from './renewal.ts'
import { countPending, findTrust, findTrustBySecret, insertTrust, updateTrust } from '../trust-store.ts'
import { isCrossed, isRenewal, type Trust } from '../trust.ts'
import type { AdvanceApproval, Self, TrustDeps } from '../trust-deps.ts'

export interface Received {
  readonly trust: Trust
  /** The secret, when the peer sent none. The response returns it this one time. */
  readonly mintedSecret: string | null
  /** Both actors asked at once, and this actor’s request wins. The secret of the peer's request is ignored. */
  readonly keepsOwn: boolean
}

/** Limit for verifying again when the relationship changes during a verification. */
const maxRounds = 3
/** Value of `Retry-After`. Owners decide in their own time. */
const fullSeconds = 3600

/**
 * Verifies a trust request by a call-back, outside of any transaction, and then stores it. If the relationship changed
 * meanwhile, the verification is repeated. Of two simultaneous requests, both sides therefore keep the same one.
 *
 * @throws ServiceError `forbidden`, with the same message for every reason; `too_many_requests`; `bad_request` when the
 *   actor requests a relationship with itself.
 */
export async function receiveRequest(deps: TrustDeps, actor: Self, request: IncomingRequest): Promise<Received> {
  if (request.peerId === actor.id) {
    throw new ServiceError('bad_request', 'Cannot take this trust request: an actor has no relationship with itself')
  }
  const mintedSecret = request.secret === null ? randomPassphrase() : null
  const secret = request.secret ?? mintedSecret ?? ''
  let crossed = false
  for (let round = 0; round < maxRounds; round += 1) {
    const atFirst = await deps.store.read((q) => known(deps, q, actor.id, request, secret))
    const left = await leftAddress(deps, atFirst, request)
    const located = (trust: Trust | null): Trust | null =>
      trust === null || trust.baseuri !== left?.address
        ? trust
        : movedTo(request.baseuri, trust, left.newKey, deps.now())
    crossed ||= atFirst !== null && isCrossed(atFirst, deps.now(), deps.times.crossingMs)
    const judge = (existing: Trust | null, verified: boolean): RequestVerdict =>
      existing?.approved === true && deps.changesMembership(existing.relationship, request.relationship, actor)
        ? { kind: 'refuse', because: 'a member has no other relationship' }
        : judgeRequest(located(existing), { ...request, actorId: actor.id, crossed, verified }, deps.now())
    const hopeful = judge(atFirst, true)
    if (hopeful.kind === 'refuse') throw refused(hopeful.because)
    const verified = await isVerified(deps, actor, request)
    const done = await deps.store.writeActor(actor.id, async (tx, locked) => {
      const before = await known(deps, tx, actor.id, request, secret)
      if (stamp(before) !== stamp(atFirst)) return null
      if (before === null) await requireNotEnded(deps, tx, actor.id, request.peerId, secret)
      const verdict = judge(before, verified)
      const trust = await carryOut(deps, tx, locked, located(before), { request, secret, verified, verdict })
      await deps.live.record(tx, locked, 'trust', [trust.peerId])
      return { before, verdict, trust }
    })
    if (done === null) continue
    const { before, verdict, trust } = done
    if (verdict.kind === 'refuse') throw refused(verdict.because)
    if (verdict.kind === 'add' || verdict.kind === 'replace')
      await fireTrust(deps, 'trust_request_received', actor, trust)
    if (verdict.kind !== 'wait') await fireIfCompleted(deps, actor, before, trust)
    return { trust, mintedSecret, keepsOwn: verdict.kind === 'join' }
  }
  throw refused('the relationship changed during every verification')
}

/** The relationship at the new address of the peer. Statements that the peer made before this moment change nothing. */
function movedTo(baseuri: string, trust: Trust, key: string, now: number): Trust {
  const at = new Date(now).toISOString()
  return { ...trust, baseuri, facts: { ...trust.facts, moved_at: at, move_stated_at: at, move_key: key } }
}

/** The known address of a peer that has moved to the address of its request, with its new key. Null: the peer is where it was. */
async function leftAddress(
  deps: TrustDeps,
  known: Trust | null,
  request: IncomingRequest,
): Promise<{ readonly address: string; readonly newKey: string } | null> {
  if (known === null || known.baseuri === '' || known.baseuri === request.baseuri) return null
  const { baseuri: address, peerId: actorId, facts } = known
  const newKey = await deps.movedKey({ address, actorId, publicKey: facts.move_key ?? null }, request.baseuri)
  return newKey === null ? null : { address, newKey }
}

/**
 * Finds the relationship that the request would change.
 *
 * @throws ServiceError `forbidden` when another relationship of the actor has this secret; `too_many_requests` when the
 *   limit of pending requests is reached. Anybody may send a request, and each one causes a call.
 */
async function known(
  deps: TrustDeps,
  q: Queries,
  actorId: string,
  request: IncomingRequest,
  secret: string,
): Promise<Trust | null> {
  const bySecret = await findTrustBySecret(q, actorId, hashSecret(secret))
  if (bySecret !== null && bySecret.peerId !== request.peerId) throw refused('the secret is in use')
  const found = bySecret ?? (await findTrust(q, actorId, request.peerId))
  const waits =
    found === null && !deps.isAutoAccepted(request.relationship) && !(await isInvited(deps, q, actorId, request))
  if (waits && (await countPending(q, actorId)) >= deps.maxPending) {
    throw new ServiceError('too_many_requests', 'Cannot take this trust request: too many wait for approval', {
      retryAfterSeconds: fullSeconds,
    })
  }
  return found
}

/** Whether the request carries the code of an open invitation for the same trust type. */
async function isInvited(deps: TrustDeps, q: Queries, actorId: string, request: IncomingRequest): Promise<boolean> {
  return (await invitationFor(deps, q, actorId, request)) !== null
}

async function invitationFor(
  { advanceApprovals }: TrustDeps,
  q: Queries,
  actorId: string,
  { invitation: code, relationship }: IncomingRequest,
): Promise<AdvanceApproval | null> {
  if (code === null) return null
  for (const approvals of advanceApprovals) {
    const found = await approvals.find(q, actorId, code)
    if (found?.relationship === relationship) return found
  }
  return null
}

/**
 * Approves the relationship by the invitation that the request carries, and deletes the invitation. A request without proof
 * of its sender waits for the owner: with a stolen code, it could claim any address.
 */
async function invited(
  deps: TrustDeps,
  tx: Transaction,
  trust: Trust,
  { request, verified }: JudgedRequest,
): Promise<Invited> {
  const uninvited = { trust, invitation: null }
  if (trust.approved || !verified || trust.relationship !== request.relationship) return uninvited
  const invitation = await invitationFor(deps, tx, trust.actorId, request)
  if (invitation === null) return uninvited
  await invitation.use(tx)
  const { actorId, peerId } = trust
  deps.store.afterCommit(tx, () => deps.mail.event({ kind: 'invitation', actorId, peerId }))
  const nickname = trust.nickname === '' ? invitation.nickname : trust.nickname
  return { trust: { ...trust, approved: true, nickname }, invitation }
}

interface Invited {
  readonly trust: Trust
  /** The used invitation. Null: none approved the relationship. */
  readonly invitation: AdvanceApproval | null
}

/** Refuses the secret of an ended relationship. A peer that has not received the end yet would confirm an old request. */
async function requireNotEnded(
  { keyRing }: TrustDeps,
  q: Queries,
  actorId: string,
  peerId: string,
  secret: string,
): Promise<void> {
  const endings = await findEndings(q, { actorId, peerId })
  const isEnded = endings.some((ending) => sameSecret(openNoticeSecret(keyRing, ending.id, ending.secret), secret))
  if (isEnded) throw refused('the relationship with this secret ended')
}

async function isVerified(deps: TrustDeps, actor: Self, request: IncomingRequest): Promise<boolean> {
  const { baseuri, relationship, secret, verify } = request
  // The verification needs a secret and a token of the peer.
  if (secret === null || verify === null) return false
  return deps.calls.verify({ baseuri, relationship, actorId: actor.id, secret, token: verify })
}

/** The state that must stay the same from the call-back to the transaction. */
function stamp(trust: Trust | null): string {
  return trust === null ? '' : JSON.stringify([trust.secretHash, trust.ownRequest, trust.createdAt])
}

interface JudgedRequest {
  readonly request: IncomingRequest
  /** The peer's own secret, or the one that was created for it. */
  readonly secret: string
  /** Whether the peer confirmed the request. */
  readonly verified: boolean
  readonly verdict: RequestVerdict
}

async function add(
  deps: TrustDeps,
  tx: Transaction,
  actor: LockedActor,
  asked: Trust,
  judged: JudgedRequest,
): Promise<Trust> {
  const isNew = judged.verdict.kind === 'add'
  const { trust, invitation } = isNew ? await invited(deps, tx, asked, judged) : { trust: asked, invitation: null }
  await insertTrust(tx, trust)
  if (invitation !== null) await deps.onInvited(tx, actor, trust, invitation)
  return trust
}

async function carryOut(
  deps: TrustDeps,
  tx: Transaction,
  actor: LockedActor,
  before: Trust | null,
  judged: JudgedRequest,
): Promise<Trust> {
  const { request, secret, verified, verdict } = judged
  const asked = newTrust(deps.keyRing, {
    actorId: actor.id,
    peerId: request.peerId,
    baseuri: request.baseuri,
    type: request.type,
    relationship: request.relationship,
    description: request.description,
    secret,
    approved: verdict.kind === 'add' && deps.isAutoAccepted(request.relationship),
    peerApproved: true,
    verified,
    ownRequest: null,
    now: deps.now(),
  })
  if (before === null) return add(deps, tx, actor, asked, judged)
  const renewed = changed(deps, before, verdict, asked, secret)
  // The response shows the request as received, and the stored relationship stays unchanged.
  if (renewed === null) return asked
  const { trust: after, invitation } = await invited(deps, tx, renewed, judged)
  await updateTrust(tx, after, deps.now())
  if (invitation !== null) await deps.onInvited(tx, actor, after, invitation)
  if (isRenewal(before) && !isRenewal(after)) await forget(deps, tx, before)
  if (before.approved && after.approved && after.relationship !== before.relationship)
    await deps.onTypeChanged(tx, actor, before, after)
  if (after.secretHash !== before.secretHash) await deps.onRenewed(tx, actor.id, after.peerId)
  if (after.approved && !before.approved) await deps.onApproved(tx, actor, after)
  if (before.approved && !after.approved) await deps.onApprovalEnded(tx, actor, before)
  return after
}

function changed(deps: TrustDeps, before: Trust, verdict: RequestVerdict, asked: Trust, secret: string): Trust | null {
  const renewed = {
    ...before,
    ...sealedSecret(deps.keyRing, before, secret),
    type: asked.type,
    peerApproved: true,
    verified: true,
    ownRequest: null,
  }
  const { relationship, description } = asked
  switch (verdict.kind) {
    case 'rotate':
      return renewed
    case 'replace':
      return { ...renewed, relationship, description, approved: false }
    case 'yield':
      // This actor requested the same, which counts as its approval.
      return verdict.agreed
        ? { ...renewed, relationship, approved: true }
        : { ...renewed, relationship, description, approved: false }
    case 'both': {
      const { ownRequest } = before
      return { ...renewed, relationship, ownRequest: ownRequest && { ...ownRequest, crossed: true } }
    }
    case 'join':
      return { ...before, peerApproved: true, verified: true }
    case 'add':
    case 'wait':
    case 'refuse':
      return null
    default:
      return verdict satisfies never
  }
}

function refused(reason: string): ServiceError {
  return new ServiceError('forbidden', 'Cannot take this trust request', { reason })
}
