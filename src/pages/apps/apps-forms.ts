/** The forms on the page of connected apps. */
import { disconnectApp } from '../../authorization-server/connected-apps.ts'
import { pause } from '../../authorization-server/pause.ts'
import { ServiceError } from '../../errors.ts'
import type { Bodied } from '../../http/dispatch/define-route.ts'
import type { PageExchange } from '../../http/dispatch/route.ts'
import type { Params } from '../../http/edge/params.ts'
import type { HttpResponse } from '../../http/edge/response.ts'
import { explained, pageRefusal } from '../shared/error-text.ts'
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
      return change(deps, exchange, sent)
    },
    (error) => showApps(deps, exchange, { error, ...(action === 'create_key' ? { typedKey: typedKey(sent) } : {}) }),
  )
}

type Change = (deps: AppPageDeps, exchange: PageExchange, sent: Params) => Promise<HttpResponse>

const changes: Readonly<Record<string, Change>> = {
  create_key: createKey,
  end_session: endSession,
  end_other_sessions: async (deps, exchange, sent) => {
    const { actor, caller } = exchange
    await deps.sessions.endOthers(actor.id, caller.kind === 'creator' ? (caller.session ?? '') : '')
    return goOn(deps, exchange, sent, '/apps', 'signedOut')
  },
  revoke: disconnect,
  pause: (deps, exchange, sent) => changePause(deps, exchange, sent, true),
  resume: (deps, exchange, sent) => changePause(deps, exchange, sent, false),
  revoke_key: revokeKey,
}

async function endSession(deps: AppPageDeps, exchange: PageExchange, sent: Params): Promise<HttpResponse> {
  if (!(await deps.sessions.end(exchange.actor.id, sent.get('session') ?? '')))
    throw pageRefusal(
      'conflict',
      'Cannot sign out there: this sign-in has ended already',
      ({ devices }) => devices.alreadySignedOut,
    )
  return goOn(deps, exchange, sent, '/apps', 'signedOut')
}

async function disconnect(deps: AppPageDeps, exchange: PageExchange, sent: Params): Promise<HttpResponse> {
  if (!(await disconnectApp(deps, exchange.actor, sent.get('peerid') ?? '')))
    throw pageRefusal(
      'conflict',
      'Cannot disconnect it: the app is no longer connected',
      ({ apps }) => apps.notConnected,
    )
  return goOn(deps, exchange, sent, '/apps', 'disconnected')
}

async function changePause(
  deps: AppPageDeps,
  exchange: PageExchange,
  sent: Params,
  isPaused: boolean,
): Promise<HttpResponse> {
  const { types } = deps.relationships
  await pause({ ...deps, types }, exchange.actor, sent.get('peerid') ?? '', isPaused).catch((error: unknown) => {
    throw error instanceof ServiceError ? explained(error, ({ apps }) => apps.cannotPause) : error
  })
  return goOn(deps, exchange, sent, '/apps', isPaused ? 'withdrawn' : 'resumed')
}

async function revokeKey(deps: AppPageDeps, exchange: PageExchange, sent: Params): Promise<HttpResponse> {
  if (!(await deps.keys.revoke(exchange.actor, sent.get('key') ?? '')))
    throw pageRefusal('conflict', 'Cannot revoke the key: it does not exist any longer', ({ apps }) => apps.keyGone)
  return goOn(deps, exchange, sent, '/apps', 'keyRevoked')
}

/** Shows the new key in the response itself, because neither a redirect nor a cookie may carry it. */
async function createKey(deps: AppPageDeps, exchange: PageExchange, sent: Params): Promise<HttpResponse> {
  const key = newKeyOf(typedKey(sent), deps.now())
  const createdKey = await deps.keys.create(exchange.actor.id, key, exchange.caller).catch((error: unknown) => {
    throw error instanceof ServiceError ? explainedRefusal(error) : error
  })
  return showApps(deps, exchange, { createdKey })
}
