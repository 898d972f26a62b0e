/** The page about programs with a password, and its form. */
import { ServiceError } from '../../errors.ts'
import { mostListed } from '../../sign-in/password-access.ts'
import { momentOf } from '../shared/time.ts'
import { visible } from '../shared/visible.ts'
import type { Answer } from '../../http/edge/response.ts'
import { readUrlencodedForm } from '../../http/edge/body.ts'
import { goOn, pageValues, showPage } from '../shared/page.ts'
import { formRefusal, refusedOnPage } from '../shared/refused-on-page.ts'
import type { PageExchange } from '../../http/dispatch/route.ts'
import { urlOf } from '../../http/dispatch/urls.ts'

const path = '/password-access'

export async function showPasswordAccess(exchange: PageExchange, error: ServiceError | null = null): Promise<Answer> {
  const { parts, actor } = exchange
  const records = await parts.passwordAccess.list(actor.id)
  const values = pageValues(exchange, path, error)
  const page = parts.pages.passwordAccess({
    ...values,
    programs: records.map(({ actorId, creator, decision, provenAt }) => ({
      actor: actorId,
      address: urlOf(parts, actorId),
      creator: visible(creator),
      is_own: actorId === actor.id,
      decision,
      proven: momentOf(provenAt, parts.now()),
    })),
    is_complete: records.length < mostListed,
    form_action: `${values.actor_www}${path}`,
  })
  return showPage(exchange, page, error?.status)
}

export async function decidePasswordAccess(exchange: PageExchange): Promise<Answer> {
  const { parts, actor, caller } = exchange
  const sent = await readUrlencodedForm(exchange.request, exchange.parts.config)
  return refusedOnPage(
    exchange,
    async () => {
      const action = sent.get('action')
      if (action !== 'keep' && action !== 'revoke') throw formRefusal('the action is neither keep nor revoke')
      const decision = action === 'keep' ? 'kept' : 'revoked'
      try {
        const actorId = sent.get('actor') ?? ''
        await parts.passwordAccess.decide({ ownerId: actor.id, actorId, decision, by: caller })
      } catch (error) {
        if (!(error instanceof ServiceError) || (error.code !== 'not_found' && error.code !== 'actor_not_found'))
          throw error
        throw new ServiceError('conflict', 'Cannot decide this: the account does not exist (any more)')
      }
      return goOn(exchange, sent, path, action === 'keep' ? 'accessKept' : 'accessRevoked')
    },
    (error) => showPasswordAccess(exchange, error),
  )
}
