/** The forms on the page of a peer (WIRE-PAGE-02, with additional actions). */
import { ServiceError } from '../../errors.ts'
import type { JsonText } from '../../json/json.ts'
import type { OverrideRules } from '../../permission/rules.ts'
import type { SeenVersion } from '../../trust/acts/trust-acts.ts'
import { readOwnOverride, roleDecides } from '../../trust/permissions.ts'
import type { TrustTypes } from '../../permission/trust-types.ts'
import { isConnected, type Trust } from '../../trust/trust.ts'
import { requireRightsVersion, rightsVersion, trustVersion } from '../../trust/trust-version.ts'
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
import { changeGrant, endIn } from './end-forms.ts'
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
  const peerId = exchange.params['peerid'] ?? ''
  const sent = await exchange.body()
  const action = sent.get('action') ?? ''
  return refusedOnPage(
    exchange,
    () => {
      const change = Object.hasOwn(changes, action) ? changes[action] : undefined
      if (change === undefined) throw formRefusal('the action is unknown')
      // Before a review, and before the input is judged, because the owner repeats both after the sign-in.
      if (widening.has(action)) deps.freshSignIn.require(exchange.caller)
      // Forms without a version, such as those of templates, are not checked.
      return change(deps, exchange, { peerId, sent, seen: sent.get('version') ?? null })
    },
    (error) => showPeer(deps, exchange, { error: notFollowed(error, action), typed: typedOf(sent) }),
  )
}

/** Actions that give access which outlives the session. */
const widening: ReadonlySet<string> = new Set(['approve', 'approve_until', 'grant_until', 'level'])

interface PeerForm {
  readonly peerId: string
  readonly sent: Params
  readonly seen: SeenVersion
}

type Change = (
  deps: RelationshipPageDeps,
  exchange: PageExchange<string, PeerQuery>,
  form: PeerForm,
) => Promise<HttpResponse>

const changes: Readonly<Record<string, Change>> = {
  approve,
  withdraw: async (deps, exchange, { peerId, sent, seen }) => {
    await deps.trustActs.withdraw(exchange, peerId, seen)
    return goOn(deps, exchange, sent, pageOf(peerId), 'withdrawn')
  },
  approve_until: async (deps, exchange, { peerId, sent, seen }) => {
    await deps.trustActs.moveApprovalEnd(exchange, peerId, endIn(sent, deps.now()), seen)
    return goOn(deps, exchange, sent, pageOf(peerId), 'saved')
  },
  nickname: async (deps, exchange, { peerId, sent }) => {
    await deps.trustActs.rename(exchange, peerId, requireNickname(sent.get('nickname') ?? ''))
    return goOn(deps, exchange, sent, pageOf(peerId), 'saved')
  },
  grant_until: moveGrant,
  withdraw_grant: moveGrant,
  level: changeLevel,
  follow,
  end: async (deps, exchange, { peerId, sent, seen }) => {
    await deps.trustActs.end(exchange, { peerId, relationship: null }, { notify: true, seen })
    return goOn(deps, exchange, sent, '/trust', 'connectionEnded')
  },
}

function pageOf(peerId: string): string {
  return `/trust/${encodeURIComponent(peerId)}`
}

async function moveGrant(
  deps: RelationshipPageDeps,
  exchange: PageExchange<string, PeerQuery>,
  { peerId, sent, seen }: PeerForm,
): Promise<HttpResponse> {
  await changeGrant(deps, exchange, peerId, sent, seen)
  return goOn(deps, exchange, sent, pageOf(peerId), 'saved')
}

async function follow(
  deps: RelationshipPageDeps,
  exchange: PageExchange<string, PeerQuery>,
  { peerId, sent }: PeerForm,
): Promise<HttpResponse> {
  const wish = { target: 'properties', subtarget: '', resource: '', granularity: 'high' }
  const { subscription } = await deps.subscribing.subscribe(exchange.actor, peerId, wish)
  const path = `/subscriptions/${encodeURIComponent(peerId)}/${encodeURIComponent(subscription.subscriptionId)}`
  return goOn(deps, exchange, sent, path, 'followed')
}

function typedOf(sent: Params): TypedPeer {
  return {
    action: sent.get('action') ?? '',
    confirmation: sent.get(confirmationFieldName) ?? '',
    trust_type: sent.get('trust_type') ?? '',
    nickname: sent.get('nickname') ?? '',
  }
}

async function approve(
  deps: RelationshipPageDeps,
  exchange: PageExchange<string, PeerQuery>,
  { peerId, sent, seen }: PeerForm,
): Promise<HttpResponse> {
  const { actor, request } = exchange
  const { messages } = deps.languages.of(request)
  const profile = await deps.facts.find({ actorId: actor.id, peerId }, 'profile')
  await deps.trustActs.approve(exchange, peerId, seen, (trust) =>
    requireConfirmation(sent.get(confirmationFieldName) ?? '', trust, profile, messages),
  )
  return goOn(deps, exchange, sent, pageOf(peerId), 'approved')
}

/** Requests another trust type from the peer. `step=send` sends the reviewed request. */
async function changeLevel(
  deps: RelationshipPageDeps,
  exchange: PageExchange<string, PeerQuery>,
  { peerId, sent, seen }: PeerForm,
): Promise<HttpResponse> {
  const { actor } = exchange
  const { types } = deps.relationships
  const { messages } = deps.languages.of(exchange.request)
  const [{ trust, override }, profile] = await Promise.all([
    deps.permissions.require(actor.id, peerId),
    deps.facts.find({ actorId: actor.id, peerId }, 'profile'),
  ])
  const { trust_type: relationship } = typedOf(sent)
  if (types.isOfMembers(trust.relationship, actor)) throw roleDecides()
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
    await deps.trustActs.requestLevel(exchange, trust, relationship, seen)
  } catch (error) {
    if (!(error instanceof ServiceError) || error.status >= 500) throw error
    return showPeer(deps, exchange, { review, error: notTaken(error, types, trust), typed: typedOf(sent) })
  }
  return goOn(deps, exchange, sent, pageOf(peerId), 'asked')
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

function notTaken(error: ServiceError, types: TrustTypes, trust: Trust): ServiceError {
  if (error.code !== 'peer_failed') return error
  const level = trustTypeName(types, trust.relationship)
  return explained(error, ({ peerErrors }) => peerErrors.levelRefused(level))
}

function notFollowed(error: ServiceError, action: string): ServiceError {
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
  const seen = sent.get('version') ?? null
  const { relationship } = trust
  const done = (notice: FlashMessage): HttpResponse => goOn(deps, exchange, sent, pageOf(peerId), notice)
  return refusedOnPage(
    exchange,
    async () => {
      if (step !== 'preview') deps.freshSignIn.require(caller)
      if (step === 'reset') {
        await deps.rightsActs.reset(exchange, trust, seen)
        return done('reset')
      }
      if (step !== 'preview' && step !== 'save') throw formRefusal('the step is neither preview, save nor reset')
      const override = overrideIn(fields, deps.relationships.effective(relationship, null))
      const body = override === null ? null : overrideBody(override)
      if (step === 'preview') {
        if (deps.relationships.types.isOfMembers(relationship, actor)) throw roleDecides()
        if (body !== null) readOwnOverride(body)
        requireRightsVersion(seen, rightsVersion(trust, stored))
        return showPeer(deps, exchange, { sent: { fields, override, error: null } })
      }
      if (body === null) await deps.rightsActs.resetRules(exchange, trust, seen)
      else await deps.rightsActs.replace(exchange, trust, body, seen)
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
  const peerId = exchange.params['peerid'] ?? ''
  const sent = await exchange.body()
  return refusedOnPage(
    exchange,
    async () => {
      deps.freshSignIn.require(exchange.caller)
      const chosen = sentChoices(sent)
      if (chosen === null) throw formRefusal('a choice of access is unknown')
      const choose = (rules: OverrideRules): JsonText | null => {
        const changed = withChoices(rules, chosen)
        return Object.keys(changed).length === 0 ? null : overrideBody(changed)
      }
      await deps.rightsActs.choose(exchange, peerId, choose, sent.get('version') ?? null)
      return goOn(deps, exchange, sent, pageOf(peerId), 'saved')
    },
    (error) => showPeer(deps, exchange, { error, editsAccess: true }),
  )
}
