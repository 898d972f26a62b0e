/** The forms on the page of a peer (WIRE-PAGE-02, with additional actions). */
import { ServiceError } from '../../errors.ts'
import { noteAct } from '../../observe/context.ts'
import { findOverride } from '../../trust/override-store.ts'
import { readOwnOverride, type RightsJudge } from '../../trust/permissions.ts'
import type { TrustTypes } from '../../permission/trust-types.ts'
import { isConnected, type Trust } from '../../trust/trust.ts'
import { requireRightsVersion, requireVersion, rightsVersion, trustVersion } from '../../trust/trust-version.ts'
import type { TrustJudge } from '../../trust/trusts.ts'
import { accessReview, choicesOf } from './access-review.ts'
import type { HttpResponse } from '../../http/edge/response.ts'
import type { FlashMessage } from '../../http/dispatch/flash-messages.ts'
import { goOn } from '../shared/page.ts'
import type { Params } from '../../http/edge/params.ts'
import { peerName } from '../shared/peer-names.ts'
import type { Messages } from '../languages/language.ts'
import { explained, pageRefusal } from '../shared/error-text.ts'
import { formRefusal, refusedOnPage } from '../shared/refused-on-page.ts'
import { withChoices } from './access/access-choice.ts'
import { sentChoices } from './access/access-table.ts'
import { overrideBody, overrideIn, typedFields } from './rights-form.ts'
import type { Bodied } from '../../http/dispatch/define-route.ts'
import type { PageExchange } from '../../http/dispatch/route.ts'
import { changeGrant, moveApprovalEnd } from './end-forms.ts'
import { showPeer } from './relationship-pages.ts'
import { trustTypeName } from '../shared/trust-rows.ts'
import { confirmationFieldName, requireConfirmation } from './typed-confirmation.ts'
import type { PeerQuery, RelationshipPageDeps } from './deps.ts'
import { requireNickname } from './nickname.ts'
import type { TypedPeer } from './values.ts'

/** Handles the form of a connection: approve, pause, follow, change the access level, or end. */
export async function changeTrust(
  deps: RelationshipPageDeps,
  exchange: PageExchange<string, PeerQuery> & Bodied<Params>,
): Promise<HttpResponse> {
  const { actor, params } = exchange
  const peerId = params['peerid'] ?? ''
  const sent = await exchange.body()
  const here = `/trust/${encodeURIComponent(peerId)}`
  const judge = judgeVersion(sent)
  return refusedOnPage(
    exchange,
    async () => {
      const action = sent.get('action') ?? ''
      if (widening.has(action)) deps.freshSignIn.require(exchange.caller)
      switch (action) {
        case 'approve':
          await approve(deps, exchange, peerId, sent)
          noteAct(actor.id, 'PUT', 'trust', peerId)
          return goOn(deps, exchange, sent, here, 'approved')
        case 'withdraw':
          await deps.trusts.change(actor, peerId, null, { approved: false }, judge)
          noteAct(actor.id, 'PUT', 'trust', peerId)
          return goOn(deps, exchange, sent, here, 'withdrawn')
        case 'approve_until':
          await moveApprovalEnd(deps, exchange, peerId, sent, judge)
          noteAct(actor.id, 'PUT', 'trust', peerId)
          return goOn(deps, exchange, sent, here, 'saved')
        case 'nickname':
          await deps.trusts.change(actor, peerId, null, { nickname: requireNickname(sent.get('nickname') ?? '') })
          noteAct(actor.id, 'PUT', 'trust', peerId)
          return goOn(deps, exchange, sent, here, 'saved')
        case 'grant_until':
        case 'withdraw_grant':
          await changeGrant(deps, exchange, peerId, sent)
          return goOn(deps, exchange, sent, here, 'saved')
        case 'level':
          return changeLevel(deps, exchange, peerId, sent)
        case 'follow':
          return await follow(deps, exchange, peerId, sent)
        case 'end': {
          const { relationship } = await deps.trusts.require(actor.id, peerId, null)
          await deps.trusts.delete(actor, peerId, null, { byPeer: false, notify: true, judge })
          noteAct(actor.id, 'DELETE', 'trust', relationship, peerId)
          return goOn(deps, exchange, sent, '/trust', 'connectionEnded')
        }
        default:
          throw formRefusal('the action is unknown')
      }
    },
    (error) => showPeer(deps, exchange, { error: notFollowed(error, sent.get('action')), typed: typedOf(sent) }),
  )
}

async function follow(
  deps: RelationshipPageDeps,
  exchange: PageExchange<string, PeerQuery>,
  peerId: string,
  sent: Params,
): Promise<HttpResponse> {
  const wish = { target: 'properties', subtarget: '', resource: '', granularity: 'high' }
  const { subscription } = await deps.subscribing.subscribe(exchange.actor, peerId, wish)
  const path = `/subscriptions/${encodeURIComponent(peerId)}/${encodeURIComponent(subscription.subscriptionId)}`
  return goOn(deps, exchange, sent, path, 'followed')
}

/** Actions that give access which outlives the session. */
const widening: ReadonlySet<string> = new Set(['approve', 'approve_until', 'grant_until', 'level'])

function typedOf(sent: Params): TypedPeer {
  return {
    action: sent.get('action') ?? '',
    confirmation: sent.get(confirmationFieldName) ?? '',
    trust_type: sent.get('trust_type') ?? '',
    nickname: sent.get('nickname') ?? '',
  }
}

/** Checks the version of the connection. Forms without a version, such as those of templates, are not checked. */
function judgeVersion(sent: Params): TrustJudge {
  return async (before, tx) => {
    const expected = sent.get('version') ?? null
    if (expected === null) return
    const version = trustVersion(before, await findOverride(tx, before.actorId, before.peerId))
    explainConflict(
      ({ peerErrors }) => peerErrors.changed,
      () => requireVersion(expected, version),
    )
  }
}

/** Explains a conflict on the page. */
function explainConflict(onPage: (messages: Messages) => string, judge: () => void): void {
  try {
    judge()
  } catch (error) {
    throw error instanceof ServiceError && error.code === 'conflict' ? explained(error, onPage) : error
  }
}

/** Approves the stored trust type, because the peer may have requested another one since the page was rendered. */
async function approve(
  deps: RelationshipPageDeps,
  exchange: PageExchange<string, PeerQuery>,
  peerId: string,
  sent: Params,
): Promise<void> {
  const { actor } = exchange
  const { messages } = deps.languages.of(exchange.request)
  const profile = await deps.facts.find({ actorId: actor.id, peerId }, 'profile')
  const isCurrent = judgeVersion(sent)
  await deps.trusts.change(actor, peerId, null, { approved: true }, async (before, tx) => {
    await isCurrent(before, tx)
    if (deps.relationships.types.needsConfirmation(before.relationship))
      requireConfirmation(sent.get(confirmationFieldName) ?? '', before, profile, messages)
  })
}

/** Requests another trust type from the peer. `step=send` sends the reviewed request. */
async function changeLevel(
  deps: RelationshipPageDeps,
  exchange: PageExchange<string, PeerQuery>,
  peerId: string,
  sent: Params,
): Promise<HttpResponse> {
  const { actor } = exchange
  const { types } = deps.relationships
  const { messages } = deps.languages.of(exchange.request)
  const [{ trust, override }, profile] = await Promise.all([
    deps.permissions.require(actor.id, peerId),
    deps.facts.find({ actorId: actor.id, peerId }, 'profile'),
  ])
  const { trust_type: relationship } = typedOf(sent)
  requireOfferedLevel(deps, messages, trust, relationship)
  const review = await accessReview(deps, exchange, {
    who: peerName(trust, profile, '', messages).name,
    relationship,
    override,
    isApp: false,
    fields: { action: 'level', step: 'send', trust_type: relationship, version: trustVersion(trust, override) },
  })
  const step = sent.get('step') ?? 'review'
  if (step === 'review') return showPeer(deps, exchange, { review })
  if (step !== 'send') throw formRefusal('the step is neither review nor send')
  try {
    if (types.needsConfirmation(relationship))
      requireConfirmation(sent.get(confirmationFieldName) ?? '', trust, profile, messages)
    if (sent.get('reviewed') !== review.fields['reviewed'])
      throw pageRefusal(
        'conflict',
        'This access changed while you were deciding. Review it again.',
        ({ review: words }) => words.changed,
      )
    await deps.trusts.request(actor, {
      url: trust.baseuri,
      relationship,
      description: trust.description,
      judge: judgeLevel(sent, trust),
    })
    noteAct(actor.id, 'POST', 'trust')
  } catch (error) {
    if (!(error instanceof ServiceError) || error.status >= 500) throw error
    return showPeer(deps, exchange, { review, error: notTaken(error, types, trust), typed: typedOf(sent) })
  }
  return goOn(deps, exchange, sent, `/trust/${encodeURIComponent(peerId)}`, 'asked')
}

/** @throws ServiceError when the connection or the level does not allow the request. */
function requireOfferedLevel(deps: RelationshipPageDeps, messages: Messages, trust: Trust, relationship: string): void {
  if (!isConnected(trust))
    throw pageRefusal(
      'conflict',
      'Only an existing connection can get another access level.',
      ({ peerErrors }) => peerErrors.notConnected,
    )
  if (relationship === '')
    throw pageRefusal('bad_request', 'Choose an access level.', ({ peerErrors }) => peerErrors.levelMissing, {
      field: 'trust_type',
    })
  if (!choicesOf(deps, messages).some(({ name }) => name === relationship))
    throw pageRefusal(
      'bad_request',
      'Choose one of the access levels below.',
      ({ peerErrors }) => peerErrors.levelUnknown,
      { field: 'trust_type' },
    )
}

/** Checks that the connection still exists before sending: otherwise the request would create a new one. */
function judgeLevel(
  sent: Params,
  { peerId }: Trust,
): (before: Trust | null, tx: Parameters<TrustJudge>[1]) => Promise<void> {
  const isCurrent = judgeVersion(sent)
  return async (before, tx) => {
    if (before === null || before.peerId !== peerId || !isConnected(before))
      throw pageRefusal(
        'conflict',
        'This connection ended or changed while you were deciding.',
        ({ peerErrors }) => peerErrors.ended,
      )
    await isCurrent(before, tx)
  }
}

function notTaken(error: ServiceError, types: TrustTypes, trust: Trust): ServiceError {
  if (error.code !== 'peer_failed') return error
  const level = trustTypeName(types, trust.relationship)
  return explained(error, ({ peerErrors }) => peerErrors.levelRefused(level))
}

function notFollowed(error: ServiceError, action: string | undefined): ServiceError {
  if (error.code !== 'peer_failed' || action !== 'follow') return error
  return explained(error, ({ peerErrors }) => peerErrors.notSubscribed)
}

/** Saves the rights of a peer. Shows a preview first, unless the form states that the owner has seen it. */
export async function changeRights(
  deps: RelationshipPageDeps,
  exchange: PageExchange<string, PeerQuery> & Bodied<Params>,
): Promise<HttpResponse> {
  const { actor, caller, params } = exchange
  const peerId = params['peerid'] ?? ''
  const sent = await exchange.body()
  const fields = typedFields(sent)
  const { trust, override: stored } = await deps.permissions.require(actor.id, peerId)
  const step = sent.get('step') ?? 'preview'
  const expected = sent.get('version') ?? null
  const judge: RightsJudge = (now, override) =>
    explainConflict(
      ({ peerErrors }) => peerErrors.rightsChanged,
      () => requireRightsVersion(expected, rightsVersion(now, override)),
    )
  const { relationship } = trust
  const done = (notice: FlashMessage): HttpResponse =>
    goOn(deps, exchange, sent, `/trust/${encodeURIComponent(peerId)}`, notice)
  return refusedOnPage(
    exchange,
    async () => {
      if (step !== 'preview') deps.freshSignIn.require(caller)
      if (step === 'reset') {
        await deps.permissions.reset(trust, judge)
        noteAct(actor.id, 'DELETE', 'trust', relationship, peerId, 'permissions')
        return done('reset')
      }
      if (step !== 'preview' && step !== 'save') throw formRefusal('the step is neither preview, save nor reset')
      const override = overrideIn(fields, deps.relationships.effective(relationship, null))
      const body = override === null ? null : overrideBody(override)
      // Rejects invalid rights before the preview.
      if (body !== null) readOwnOverride(body)
      judge(trust, stored)
      if (step === 'preview') return showPeer(deps, exchange, { sent: { fields, override, error: null } })
      if (body === null) await deps.permissions.resetRules(trust, judge)
      else await deps.permissions.override(trust, body, caller, judge)
      noteAct(actor.id, 'PUT', 'trust', relationship, peerId, 'permissions')
      return done('saved')
    },
    (error) => {
      const isConflict = error.code === 'conflict'
      const typed =
        isConflict && step !== 'reset' ? overrideIn(fields, deps.relationships.effective(relationship, null)) : null
      return showPeer(deps, exchange, step === 'reset' ? { error } : { sent: { fields, override: typed, error } })
    },
  )
}

/** Saves the choices of the access table. */
export async function changeAccess(
  deps: RelationshipPageDeps,
  exchange: PageExchange<string, PeerQuery> & Bodied<Params>,
): Promise<HttpResponse> {
  const { actor, caller, params } = exchange
  const peerId = params['peerid'] ?? ''
  const sent = await exchange.body()
  const expected = sent.get('version') ?? null
  return refusedOnPage(
    exchange,
    async () => {
      deps.freshSignIn.require(caller)
      const chosen = sentChoices(sent)
      if (chosen === null) throw formRefusal('a choice of access is unknown')
      const { trust, override } = await deps.permissions.require(actor.id, peerId)
      const judge: RightsJudge = (now, stored) =>
        explainConflict(
          ({ peerErrors }) => peerErrors.rightsChanged,
          () => requireRightsVersion(expected, rightsVersion(now, stored)),
        )
      judge(trust, override)
      const changed = withChoices(override?.rules ?? {}, chosen)
      if (Object.keys(changed).length > 0) await deps.permissions.override(trust, overrideBody(changed), caller, judge)
      noteAct(actor.id, 'PUT', 'trust', trust.relationship, peerId, 'permissions')
      return goOn(deps, exchange, sent, `/trust/${encodeURIComponent(peerId)}`, 'saved')
    },
    (error) => showPeer(deps, exchange, { error, editsAccess: true }),
  )
}
