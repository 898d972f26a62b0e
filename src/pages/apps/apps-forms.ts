/** The forms on the page of connected apps. */
import { ServiceError } from '../../errors.ts'
import type { Bodied } from '../../http/dispatch/define-route.ts'
import type { PageExchange } from '../../http/dispatch/route.ts'
import type { Params } from '../../http/edge/params.ts'
import type { HttpResponse } from '../../http/edge/response.ts'
import { explained } from '../shared/error-text.ts'
import { goOn } from '../shared/page.ts'
import { formRefusal, refusedOnPage } from '../shared/refused-on-page.ts'
import { type AppPageDeps, showApps } from './apps-page.ts'
import { explainedRefusal, newKeyOf, typedKey } from './new-key.ts'

export async function changeApps(deps: AppPageDeps, exchange: PageExchange & Bodied<Params>): Promise<HttpResponse> {
  const sent = await exchange.body()
  const action = sent.get('action') ?? ''
  return refusedOnPage(
    exchange,
    () => {
      const change = Object.hasOwn(changes, action) ? changes[action] : undefined
      if (change === undefined) throw formRefusal('the action is unknown')
      // Before the input is judged, because the owner types it again after the sign-in.
      if (change === createKey) deps.freshSignIn.require(exchange.caller)
      return change(deps, exchange, sent)
    },
    (error) => showApps(deps, exchange, { error, ...(action === 'create_key' ? { typedKey: typedKey(sent) } : {}) }),
  )
}

type Change = (deps: AppPageDeps, exchange: PageExchange, sent: Params) => Promise<HttpResponse>

const changes: Readonly<Record<string, Change>> = {
  create_key: createKey,
  end_session: async (deps, exchange, sent) => {
    await deps.sessionActs.end(exchange, sent.get('session') ?? '')
    return goOn(deps, exchange, sent, '/apps', 'signedOut')
  },
  end_other_sessions: async (deps, exchange, sent) => {
    await deps.sessionActs.endOthers(exchange)
    return goOn(deps, exchange, sent, '/apps', 'signedOut')
  },
  revoke: async (deps, exchange, sent) => {
    await deps.appActs.disconnect(exchange, sent.get('peerid') ?? '')
    return goOn(deps, exchange, sent, '/apps', 'disconnected')
  },
  pause: async (deps, exchange, sent) => {
    await deps.appActs.pause(exchange, sent.get('peerid') ?? '').catch(explainPause)
    return goOn(deps, exchange, sent, '/apps', 'withdrawn')
  },
  resume: async (deps, exchange, sent) => {
    await deps.appActs.resume(exchange, sent.get('peerid') ?? '').catch(explainPause)
    return goOn(deps, exchange, sent, '/apps', 'resumed')
  },
  revoke_key: async (deps, exchange, sent) => {
    await deps.keyActs.revoke(exchange, sent.get('key') ?? '')
    return goOn(deps, exchange, sent, '/apps', 'keyRevoked')
  },
}

function explainPause(error: unknown): never {
  const isOfPause = error instanceof ServiceError && error.code !== 'insufficient_user_authentication'
  throw isOfPause ? explained(error, ({ apps }) => apps.cannotPause) : error
}

/** Shows the new key in the response itself, because neither a redirect nor a cookie may carry it. */
async function createKey(deps: AppPageDeps, exchange: PageExchange, sent: Params): Promise<HttpResponse> {
  const key = newKeyOf(typedKey(sent), deps.now())
  const createdKey = await deps.keyActs.create(exchange, key).catch((error: unknown) => {
    throw error instanceof ServiceError ? explainedRefusal(error) : error
  })
  return showApps(deps, exchange, { createdKey })
}
