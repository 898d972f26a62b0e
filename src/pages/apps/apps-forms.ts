/** The forms on the page of connected apps. */
import { disconnectApp } from '../../authorization-server/connected-apps.ts'
import { pause } from '../../authorization-server/pause.ts'
import { ServiceError } from '../../errors.ts'
import { noteAct } from '../../observe/context.ts'
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
      if (change === createKey || change === resume) deps.freshSignIn.require(exchange.caller)
      return change(deps, exchange, sent)
    },
    (error) => showApps(deps, exchange, { error, ...(action === 'create_key' ? { typedKey: typedKey(sent) } : {}) }),
  )
}

type Change = (deps: AppPageDeps, exchange: PageExchange, sent: Params) => Promise<HttpResponse>

const resume: Change = (deps, exchange, sent) => changePause(deps, exchange, sent, false)

const changes: Readonly<Record<string, Change>> = {
  create_key: createKey,
  end_session: endSession,
  end_other_sessions: async (deps, exchange, sent) => {
    const { actor, caller } = exchange
    await deps.sessions.endOthers(actor.id, caller.kind === 'creator' ? (caller.session ?? '') : '')
    noteAct(actor.id, 'DELETE', 'sessions')
    return goOn(deps, exchange, sent, '/apps', 'signedOut')
  },
  revoke: disconnect,
  pause: (deps, exchange, sent) => changePause(deps, exchange, sent, true),
  resume,
  revoke_key: revokeKey,
}

async function endSession(deps: AppPageDeps, exchange: PageExchange, sent: Params): Promise<HttpResponse> {
  const session = sent.get('session') ?? ''
  if (!(await deps.sessions.end(exchange.actor.id, session)))
    throw pageRefusal(
      'conflict',
      'Cannot sign out there: this sign-in has ended already',
      ({ devices }) => devices.alreadySignedOut,
    )
  noteAct(exchange.actor.id, 'DELETE', 'sessions', session)
  return goOn(deps, exchange, sent, '/apps', 'signedOut')
}

async function disconnect(deps: AppPageDeps, exchange: PageExchange, sent: Params): Promise<HttpResponse> {
  const peerId = sent.get('peerid') ?? ''
  if (!(await disconnectApp(deps, exchange.actor, peerId)))
    throw pageRefusal(
      'conflict',
      'Cannot disconnect it: the app is no longer connected',
      ({ apps }) => apps.notConnected,
    )
  noteAct(exchange.actor.id, 'DELETE', 'apps', peerId)
  return goOn(deps, exchange, sent, '/apps', 'disconnected')
}

async function changePause(
  deps: AppPageDeps,
  exchange: PageExchange,
  sent: Params,
  isPaused: boolean,
): Promise<HttpResponse> {
  const { types } = deps.relationships
  const peerId = sent.get('peerid') ?? ''
  await pause({ ...deps, types }, exchange.actor, peerId, isPaused).catch((error: unknown) => {
    throw error instanceof ServiceError ? explained(error, ({ apps }) => apps.cannotPause) : error
  })
  noteAct(exchange.actor.id, 'PUT', 'trust', peerId)
  return goOn(deps, exchange, sent, '/apps', isPaused ? 'withdrawn' : 'resumed')
}

async function revokeKey(deps: AppPageDeps, exchange: PageExchange, sent: Params): Promise<HttpResponse> {
  const key = sent.get('key') ?? ''
  if (!(await deps.keys.revoke(exchange.actor, key)))
    throw pageRefusal('conflict', 'Cannot revoke the key: it does not exist any longer', ({ apps }) => apps.keyGone)
  noteAct(exchange.actor.id, 'DELETE', 'keys', key)
  return goOn(deps, exchange, sent, '/apps', 'keyRevoked')
}

/** Shows the new key in the response itself, because neither a redirect nor a cookie may carry it. */
async function createKey(deps: AppPageDeps, exchange: PageExchange, sent: Params): Promise<HttpResponse> {
  const key = newKeyOf(typedKey(sent), deps.now())
  const createdKey = await deps.keys.create(exchange.actor.id, key, exchange.caller).catch((error: unknown) => {
    throw error instanceof ServiceError ? explainedRefusal(error) : error
  })
  noteAct(exchange.actor.id, 'POST', 'keys')
  return showApps(deps, exchange, { createdKey })
}
