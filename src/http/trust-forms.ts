/** The forms on the pages of relationships (wire, 5.3, and ours). */
import { ServiceError } from '../errors.ts'
import type { Answer } from './answer.ts'
import type { Notice } from './notices.ts'
import { goOn, readForm } from './page.ts'
import { formRefusal, refusedOnPage } from './refused-on-page.ts'
import { overrideBody, overrideIn, typedFields } from './rights-form.ts'
import type { PageExchange } from './route.ts'
import { parseBaseuri } from '../trust/baseuri.ts'
import { showPeer, showTrustNew } from './trust-pages.ts'
import { nameOf } from './trust-rows.ts'
import { readOverride } from '../permission/permissions.ts'

const longestRelationship = 100

/** The peer is asked while the owner waits. */
export async function requestTrust(exchange: PageExchange): Promise<Answer> {
  const { parts, actor } = exchange
  const sent = await readForm(exchange)
  const typed = {
    peer_url: sent.get('peer_url') ?? '',
    trust_type: sent.get('trust_type') ?? '',
    description: sent.get('description') ?? '',
  }
  return refusedOnPage(
    exchange,
    async () => {
      const address = typed.peer_url.trim()
      if (address === '') throw refused('the address of the other actor is missing')
      if (typed.trust_type === '') throw refused('choose what it is to be')
      if (parts.relationships.types.find(typed.trust_type) === undefined)
        throw refused(`there is no kind of relationship ${JSON.stringify(typed.trust_type.slice(0, 100))}`)
      if ((sent.get('relationship') ?? '').length > longestRelationship)
        throw refused(`the relationship is longer than ${longestRelationship} characters`)
      const url = actorAt(address)
      if (parseBaseuri(url) === `${parts.baseUrl}/${actor.id}`) throw refused('this is the address of your own actor')
      await parts.trusts.request(actor, {
        url,
        relationship: typed.trust_type,
        description: typed.description,
      })
      return goOn(exchange, sent, '/trust', 'asked')
    },
    async (error) => showTrustNew(exchange, { error: await inWords(exchange, error, typed), typed }),
  )
}

function refused(why: string): ServiceError {
  return new ServiceError('bad_request', `Cannot ask for this relationship: ${why}`)
}

/** People leave the scheme out, and copy the address of a page of the actor, which lies below that of the actor. */
function actorAt(address: string): string {
  const url = /^[a-z][a-z0-9+.-]*:\/\//i.test(address) ? address : `https://${address}`
  return url.replace(/\/www(?:[/?#].*)?$/, '')
}

/** What a person can do about it. */
async function inWords(
  { parts, actor }: PageExchange,
  error: ServiceError,
  typed: { readonly peer_url: string; readonly trust_type: string },
): Promise<ServiceError> {
  if (error.code !== 'peer_failed') return error
  const baseuri = parseBaseuri(actorAt(typed.peer_url.trim()))
  const known = (await parts.trusts.list(actor.id)).find((trust) => trust.baseuri === baseuri)
  const why =
    known === undefined || known.relationship === typed.trust_type
      ? 'there is no actor at this address that takes part. Check the address, or try again later.'
      : `you have another one with this actor, “${nameOf(parts.relationships.types, known.relationship)}”, and it did not take a second one. End that one first, or try again later.`
  return new ServiceError('peer_failed', `Cannot ask for this relationship: ${why}`, error.detail)
}

/** Approving, taking the approval back, following, and ending. */
export async function changeTrust(exchange: PageExchange): Promise<Answer> {
  const { parts, actor, params } = exchange
  const peerId = params['peerid'] ?? ''
  const sent = await readForm(exchange)
  const here = `/trust/${encodeURIComponent(peerId)}`
  return refusedOnPage(
    exchange,
    async () => {
      switch (sent.get('action')) {
        case 'approve':
          await parts.trusts.change(actor, peerId, null, { approved: true })
          return goOn(exchange, sent, here, 'approved')
        case 'withdraw':
          await parts.trusts.change(actor, peerId, null, { approved: false })
          return goOn(exchange, sent, here, 'withdrawn')
        case 'follow': {
          const wish = { target: 'properties', subtarget: '', resource: '', granularity: 'high' }
          const { subscription } = await parts.subscribing.subscribe(actor, peerId, wish)
          const { subscriptionId } = subscription
          return goOn(
            exchange,
            sent,
            `/subscriptions/${encodeURIComponent(peerId)}/${encodeURIComponent(subscriptionId)}`,
            'followed',
          )
        }
        case 'end':
          await parts.trusts.require(actor.id, peerId, null)
          await parts.trusts.delete(actor, peerId, null, { byPeer: false, tell: true })
          return goOn(exchange, sent, '/trust', 'ended')
        default:
          throw formRefusal('the action is none of approve, withdraw, follow and end')
      }
    },
    (error) => showPeer(exchange, { error: notFollowed(error) }),
  )
}

/** Only following asks the other side while the owner waits. */
function notFollowed(error: ServiceError): ServiceError {
  if (error.code !== 'peer_failed') return error
  return new ServiceError(
    'peer_failed',
    'Cannot follow it: the other side refused, or cannot be reached now.',
    error.detail,
  )
}

/** Shown before it is saved, unless the form says that it was. */
export async function changeRights(exchange: PageExchange): Promise<Answer> {
  const { parts, actor, caller, params } = exchange
  const peerId = params['peerid'] ?? ''
  const sent = await readForm(exchange)
  const fields = typedFields(sent)
  const { trust } = await parts.permissions.require(actor.id, peerId)
  const { relationship } = trust
  const done = (notice: Notice): Answer => goOn(exchange, sent, `/trust/${encodeURIComponent(peerId)}`, notice)
  return refusedOnPage(
    exchange,
    async () => {
      const step = sent.get('step') ?? 'preview'
      if (step === 'reset') {
        await parts.permissions.reset(actor.id, peerId, relationship)
        return done('reset')
      }
      if (step !== 'preview' && step !== 'save') throw formRefusal('the step is neither preview, save nor reset')
      const override = overrideIn(fields, parts.relationships.effective(relationship, null))
      const body = override === null ? null : overrideBody(override)
      // What cannot be saved is refused before it is shown.
      if (body !== null) readOverride(body)
      if (step === 'preview') return showPeer(exchange, { sent: { fields, override, error: null } })
      if (body === null) await parts.permissions.reset(actor.id, peerId, relationship)
      else await parts.permissions.override(actor.id, peerId, relationship, body, caller)
      return done('saved')
    },
    (error) => showPeer(exchange, { sent: { fields, override: null, error } }),
  )
}
