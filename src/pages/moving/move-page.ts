/** The page that moves an account to another service, and its forms. */
import { ServiceError } from '../../errors.ts'
import type { Bodied } from '../../http/dispatch/define-route.ts'
import type { PageExchange } from '../../http/dispatch/route.ts'
import type { Params } from '../../http/edge/params.ts'
import type { HttpResponse } from '../../http/edge/response.ts'
import type { MoveActs } from '../../moving/acts.ts'
import type { ArrivalClaims, ShownArrival } from '../../moving/claims.ts'
import type { Departures, ShownDeparture } from '../../moving/departures.ts'
import type { PageLanguage } from '../languages/language.ts'
import { pageRefusal } from '../shared/error-text.ts'
import { goOn, type PageDeps, pageValues, showPage } from '../shared/page.ts'
import { formRefusal, refusedOnPage } from '../shared/refused-on-page.ts'
import { momentOf } from '../shared/time.ts'
import type { View } from '../shared/values.ts'
import { visible } from '../shared/visible.ts'
import type { MoveValues, ShownArrivalPage, ShownLeaving } from './values.ts'

export interface MovePageDeps extends PageDeps {
  /** Unix milliseconds. */
  readonly now: () => number
  readonly departures: Pick<Departures, 'find'>
  readonly arrivalClaims: Pick<ArrivalClaims, 'find'>
  readonly moveActs: MoveActs
  readonly pages: {
    readonly move: View<MoveValues>
  }
}

export async function showMove(
  deps: MovePageDeps,
  exchange: PageExchange,
  error: ServiceError | null = null,
  typedUrl = '',
): Promise<HttpResponse> {
  const { actor, request } = exchange
  const [values, leaving, arrived] = await Promise.all([
    pageValues(deps, exchange, '/move', error),
    deps.departures.find(actor.id),
    deps.arrivalClaims.find(actor.id),
  ])
  const language = deps.languages.of(request)
  const page = deps.pages.move({
    ...values,
    leaving: leaving === null ? null : leavingOf(leaving, deps.now(), language, values.fresh_href === null),
    arrived: arrived === null ? null : arrivedOf(arrived, values.actor_www, deps.now(), language),
    typed_url: typedUrl,
    form_action: `${values.actor_www}/move`,
  })
  return showPage(deps, exchange, page, error?.status)
}

function leavingOf(
  { url, state, reason, begunAt, claimUrl }: ShownDeparture,
  now: number,
  { messages }: PageLanguage,
  isFresh: boolean,
): ShownLeaving {
  return {
    state: state === 'failed' || state === 'moved' ? state : 'moving',
    to: visible(url),
    started: momentOf(begunAt, now, messages),
    reason: visible(reason),
    claim_url: isFresh ? claimUrl : '',
  }
}

function arrivedOf(
  { originUrl, hereAt, counts, peers }: ShownArrival,
  actorWww: string,
  now: number,
  { messages }: PageLanguage,
): ShownArrivalPage {
  return {
    from: visible(originUrl),
    at: momentOf(hereAt, now, messages),
    peers: peers.map(({ peerId, baseuri, state, reason }) => ({
      address: visible(baseuri),
      href: `${actorWww}/trust/${encodeURIComponent(peerId)}`,
      state,
      reason: visible(reason),
    })),
    count: Object.values(counts).reduce((sum, some) => sum + some, 0),
    failed: counts.failed ?? 0,
  }
}

export async function changeMove(deps: MovePageDeps, exchange: PageExchange & Bodied<Params>): Promise<HttpResponse> {
  const sent = await exchange.body()
  const to = sent.get('to') ?? ''
  return refusedOnPage(
    exchange,
    async () => {
      switch (sent.get('action')) {
        case 'begin':
          await begin(deps, exchange, to)
          return goOn(deps, exchange, sent, '/move', 'moveBegun')
        case 'stop':
          await deps.moveActs.stop(exchange)
          return goOn(deps, exchange, sent, '/move', 'moveStopped')
        case 'retry':
          await deps.moveActs.retryPeers(exchange)
          return goOn(deps, exchange, sent, '/move', 'peersTriedAgain')
        default:
          throw formRefusal('the action is neither begin, stop nor retry')
      }
    },
    (error) => showMove(deps, exchange, error, to),
  )
}

/** A refusal is about the address. The message of the other service is shown as it is. */
async function begin(deps: MovePageDeps, exchange: PageExchange, to: string): Promise<void> {
  try {
    await deps.moveActs.begin(exchange, to)
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    if (error.code === 'invalid_value')
      throw pageRefusal('invalid_value', error.message, ({ moving }) => moving.wrongAddress, { field: 'to' })
    if (error.code !== 'peer_failed') throw error
    const said = error.detail.members?.['said']
    throw pageRefusal(
      'bad_request',
      error.message,
      ({ moving }) => moving.notAgreed(typeof said === 'string' ? visible(said) : ''),
      { field: 'to' },
    )
  }
}
