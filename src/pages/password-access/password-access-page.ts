/** The page about programs with a password, and its form. */
import { ServiceError } from '../../errors.ts'
import { maxProgramsListed, type PasswordAccess } from '../../sign-in/password-access.ts'
import type { PasswordAccessActs } from '../../sign-in/acts/password-access-acts.ts'
import { momentOf } from '../shared/time.ts'
import { visible } from '../shared/visible.ts'
import type { HttpResponse } from '../../http/edge/response.ts'
import { goOn, pageValues, showPage, type PageDeps } from '../shared/page.ts'
import { pageRefusal } from '../shared/error-text.ts'
import { formRefusal, refusedOnPage } from '../shared/refused-on-page.ts'
import type { Bodied } from '../../http/dispatch/define-route.ts'
import type { Params } from '../../http/edge/params.ts'
import type { PageExchange } from '../../http/dispatch/route.ts'
import { urlOf } from '../../http/dispatch/urls.ts'
import type { View } from '../shared/values.ts'
import type { PasswordAccessValues } from './values.ts'

export interface PasswordAccessPageDeps extends PageDeps {
  readonly passwordAccess: PasswordAccess
  readonly passwordAccessActs: PasswordAccessActs
  /** Unix milliseconds. */
  readonly now: () => number
  readonly pages: {
    readonly passwordAccess: View<PasswordAccessValues>
  }
}

const path = '/password-access'

export async function showPasswordAccess(
  deps: PasswordAccessPageDeps,
  exchange: PageExchange,
  error: ServiceError | null = null,
): Promise<HttpResponse> {
  const { actor } = exchange
  const { messages } = deps.languages.of(exchange.request)
  const [values, records] = await Promise.all([
    pageValues(deps, exchange, path, error),
    deps.passwordAccess.list(actor.id),
  ])
  const page = deps.pages.passwordAccess({
    ...values,
    programs: records.map(({ actorId, creator, decision, provenAt }) => ({
      actor: actorId,
      address: urlOf(deps, actorId),
      creator: visible(creator),
      is_own: actorId === actor.id,
      decision,
      proven: momentOf(provenAt, deps.now(), messages),
    })),
    is_complete: records.length < maxProgramsListed,
    form_action: `${values.actor_www}${path}`,
  })
  return showPage(deps, exchange, page, error?.status)
}

export async function decidePasswordAccess(
  deps: PasswordAccessPageDeps,
  exchange: PageExchange & Bodied<Params>,
): Promise<HttpResponse> {
  const sent = await exchange.body()
  return refusedOnPage(
    exchange,
    async () => {
      const action = sent.get('action')
      if (action !== 'keep' && action !== 'revoke') throw formRefusal('the action is neither keep nor revoke')
      try {
        await deps.passwordAccessActs.decide(exchange, sent.get('actor') ?? '', action === 'keep' ? 'kept' : 'revoked')
      } catch (error) {
        if (!(error instanceof ServiceError) || (error.code !== 'not_found' && error.code !== 'actor_not_found'))
          throw error
        throw pageRefusal(
          'conflict',
          'Cannot decide this: the account no longer exists',
          ({ passwordAccess }) => passwordAccess.gone,
        )
      }
      return goOn(deps, exchange, sent, path, action === 'keep' ? 'accessKept' : 'accessRevoked')
    },
    (error) => showPasswordAccess(deps, exchange, error),
  )
}
