/** The form that requests a relationship with another actor (WIRE-PAGE-02), with a review before sending. */
import { quoted, ServiceError } from '../../errors.ts'
import { copiedAddress } from '../../trust/baseuri.ts'
import { type InvitationLink, parseLink } from '../../trust/handshake/invitation-link.ts'
import type { OfferedRole } from '../../trust/handshake/peer-calls.ts'
import { isConnected, type Trust } from '../../trust/trust.ts'
import type { Messages } from '../languages/language.ts'
import { accessReview, choicesOf } from './access-review.ts'
import type { HttpResponse } from '../../http/edge/response.ts'
import { goOn } from '../shared/page.ts'
import type { Params } from '../../http/edge/params.ts'
import { peerName, shownText } from '../shared/peer-names.ts'
import { explained, pageRefusal } from '../shared/error-text.ts'
import { formRefusal, refusedOnPage } from '../shared/refused-on-page.ts'
import type { Bodied } from '../../http/dispatch/define-route.ts'
import type { PageExchange } from '../../http/dispatch/route.ts'
import { showTrustNew } from './relationship-pages.ts'
import { trustTypeName } from '../shared/trust-rows.ts'
import type { RelationshipPageDeps } from './deps.ts'

const longestRelationship = 100

interface Typed {
  readonly peer_url: string
  readonly trust_type: string
  readonly description: string
}

/**
 * Handles the form. `step=review` shows the rights that the peer would get. `step=send`, or a form without a step (from a
 * template), sends the request while the owner waits.
 */
export async function requestTrust(
  deps: RelationshipPageDeps,
  exchange: PageExchange & Bodied<Params>,
): Promise<HttpResponse> {
  const sent = await exchange.body()
  const typed: Typed = {
    peer_url: sent.get('peer_url') ?? '',
    trust_type: sent.get('trust_type') ?? '',
    description: sent.get('description') ?? '',
  }
  return refusedOnPage(
    exchange,
    async () => {
      const step = sent.get('step') ?? 'send'
      if (step === 'edit') return showTrustNew(deps, exchange, { typed })
      if (step !== 'review' && step !== 'send') throw formRefusal('the step must be review, edit or send')
      if ((sent.get('relationship') ?? '').length > longestRelationship)
        throw formRefusal(`the relationship is longer than ${longestRelationship} characters`)
      const link = parseLink(typed.peer_url)
      if (step === 'review' && link !== null) return await reviewInvitation(deps, exchange, typed.peer_url)
      const offered = link === null ? null : await membershipOf(deps, link, typed.trust_type)
      const url = judgeTyped(deps, exchange, typed, offered)
      const review = await reviewOf(deps, exchange, typed, { url, offered })
      if (step === 'review') return showTrustNew(deps, exchange, { typed, review })
      if (sent.has('reviewed') && sent.get('reviewed') !== review.fields['reviewed']) {
        const error = pageRefusal(
          'conflict',
          'This access changed while you were deciding. Review it again.',
          ({ review: words }) => words.changed,
        )
        return showTrustNew(deps, exchange, { typed, review, error })
      }
      const { trust_type: relationship, description } = typed
      const trust = await deps.trustActs.request(exchange, { url, relationship, description })
      return goOn(deps, exchange, sent, '/trust', isConnected(trust) ? 'connected' : 'asked')
    },
    async (error) => showTrustNew(deps, exchange, { error: await inWords(deps, exchange, error, typed), typed }),
  )
}

/** Shows what accepting an invitation means. The invitation decides the trust type. */
export async function reviewInvitation(
  deps: RelationshipPageDeps,
  exchange: PageExchange,
  url: string,
): Promise<HttpResponse> {
  const link = parseLink(url)
  const typed = { peer_url: url, trust_type: '', description: '' }
  try {
    if (link === null) throw refused('the link is not an invitation', (words) => words.invitationInvalid, 'peer_url')
    requireOther(deps, exchange, link.baseuri)
    const found = await deps.trusts.invitedTo(link)
    if (found === null)
      throw refused(
        'the invitation was used, has ended or cannot be reached',
        (words) => words.invitationEnded,
        'peer_url',
      )
    const accepted = { ...typed, trust_type: found.relationship }
    judgeTyped(deps, exchange, accepted, found.membership)
    const name = shownText(found.name)
    const who = name === '' ? null : `${name} (${new URL(link.baseuri).host})`
    const review = await reviewOf(deps, exchange, accepted, { url, offered: found.membership, who })
    return await showTrustNew(deps, exchange, { typed: accepted, review })
  } catch (error) {
    if (!(error instanceof ServiceError) || error.status >= 500) throw error
    return showTrustNew(deps, exchange, { error, typed })
  }
}

/** The membership that the invitation offers now, with this trust type. Null: it offers none. */
async function membershipOf(
  { trusts }: RelationshipPageDeps,
  link: InvitationLink,
  relationship: string,
): Promise<OfferedRole | null> {
  const found = await trusts.invitedTo(link)
  return found?.relationship === relationship ? found.membership : null
}

function requireOther({ baseUrl }: RelationshipPageDeps, { actor }: PageExchange, baseuri: string): void {
  if (baseuri === `${baseUrl}/${actor.id}`)
    throw refused('this is the address of your own actor', (words) => words.ownAddress, 'peer_url')
}

/** Returns the URL of the requested actor, or the link of its invitation. @throws ServiceError `bad_request` with the name of the field. */
function judgeTyped(
  deps: RelationshipPageDeps,
  exchange: PageExchange,
  { peer_url, trust_type }: Typed,
  offered: OfferedRole | null,
): string {
  const address = peer_url.trim()
  if (address === '')
    throw refused('the address of the other actor is missing', (words) => words.addressMissing, 'peer_url')
  if (trust_type === '') throw refused('choose what it is to be', (words) => words.levelMissing, 'trust_type')
  if (offered === null || !givesNothing(deps, trust_type)) requireOffered(deps, exchange, trust_type)
  const url = actorAt(address)
  const baseuri = rootOf(url)
  if (baseuri === null)
    throw refused('the url is not the address of an actor', (words) => words.addressInvalid, 'peer_url')
  requireOther(deps, exchange, baseuri)
  return url
}

/** Whether a group gets nothing here by the type of its members, as it is unknown here or known as such. */
function givesNothing({ relationships: { types } }: RelationshipPageDeps, relationship: string): boolean {
  const type = types.find(relationship)
  return type === undefined || type.membersOf !== undefined
}

/** @throws ServiceError `bad_request` for a type that people do not give each other on this page. */
function requireOffered(deps: RelationshipPageDeps, exchange: PageExchange, trust_type: string): void {
  const { types } = deps.relationships
  if (types.find(trust_type) === undefined)
    throw refused(
      `the kind of relationship ${quoted(trust_type)} does not exist`,
      (words) => words.levelUnknown(trust_type),
      'trust_type',
    )
  if (types.find(trust_type)?.membersOf !== undefined)
    throw pageRefusal(
      'bad_request',
      'Cannot ask for this relationship: a membership begins with an invitation of the group',
      ({ membership }) => membership.byInvitation,
      { field: 'trust_type' },
    )
  const name = trustTypeName(types, trust_type)
  if (types.needsConfirmation(trust_type))
    throw refused(
      `“${name}” can only be given to an existing connection, on its page`,
      (words) => words.levelPowerful(name),
      'trust_type',
    )
  if (!choicesOf(deps, deps.languages.of(exchange.request).messages).some((choice) => choice.name === trust_type))
    throw refused(`“${name}” is for apps`, (words) => words.levelForApps(name), 'trust_type')
}

/** The root address of the actor at a URL, which may be the link of an invitation. */
function rootOf(url: string): string | null {
  return parseLink(url)?.baseuri ?? copiedAddress(url)
}

/** Returns the review. An existing override for the peer applies to the new trust type too. */
async function reviewOf(
  deps: RelationshipPageDeps,
  exchange: PageExchange,
  typed: Typed,
  {
    url,
    offered,
    who = null,
  }: { readonly url: string; readonly offered: OfferedRole | null; readonly who?: string | null },
): ReturnType<typeof accessReview> {
  const { actor } = exchange
  const known = await knownAt(deps, exchange, url)
  const [overrides, profile] =
    known === undefined
      ? [null, undefined]
      : await Promise.all([
          deps.permissions.overrides(actor.id, [known.peerId]),
          deps.facts.find({ actorId: actor.id, peerId: known.peerId }, 'profile'),
        ])
  return accessReview(deps, exchange, {
    who:
      who ??
      (known === undefined
        ? (rootOf(url) ?? url)
        : peerName(known, profile, '', deps.languages.of(exchange.request).messages).name),
    relationship: typed.trust_type,
    override: known === undefined ? null : (overrides?.get(known.peerId) ?? null),
    isApp: false,
    offered,
    fields: { ...typed, step: 'send' },
  })
}

async function knownAt(deps: RelationshipPageDeps, { actor }: PageExchange, url: string): Promise<Trust | undefined> {
  const baseuri = rootOf(url)
  for await (const page of deps.trusts.pages(actor.id)) {
    const known = page.find((trust) => trust.baseuri === baseuri)
    if (known !== undefined) return known
  }
  return undefined
}

function refused(why: string, onPage: (words: Messages['request']) => string, field: string): ServiceError {
  return pageRefusal('bad_request', `Cannot ask for this relationship: ${why}`, ({ request }) => onPage(request), {
    field,
  })
}

/** Returns the URL for a typed address. People omit the scheme. */
function actorAt(address: string): string {
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(address) ? address : `https://${address}`
}

/** Adds advice for the owner to a failure of the peer. */
async function inWords(
  deps: RelationshipPageDeps,
  exchange: PageExchange,
  error: ServiceError,
  typed: Typed,
): Promise<ServiceError> {
  if (error.code !== 'peer_failed') return error
  const known = await knownAt(deps, exchange, actorAt(typed.peer_url.trim()))
  const level =
    known === undefined || known.relationship === typed.trust_type
      ? null
      : trustTypeName(deps.relationships.types, known.relationship)
  return explained(
    new ServiceError(error.code, error.message, { ...error.detail, field: 'peer_url' }),
    ({ request }) => (level === null ? request.unreachable : request.alreadyConnected(level)),
  )
}
