/** The parts of a service that only an embedding program uses. */
import type { HostRequest, RequestCaller, SessionsApi } from '../app/embedding/sessions.ts'
import { Visitor, type VisitorDeps } from '../http/dispatch/visitor.ts'
import { CookieNames } from '../http/edge/cookies/cookie-names.ts'
import { Cors } from '../http/edge/cors.ts'
import type { Runtime } from '../runtime.ts'
import { type CallerDeps, findCaller } from './caller-of.ts'
import { type HostSessionDeps, hostSessions } from './host-sessions.ts'

type Needs = Omit<CallerDeps & HostSessionDeps & VisitorDeps, 'forgeryRule' | 'baseUrl' | 'visitorOf' | 'cookieNames'>

export interface Embedding {
  readonly sessions: SessionsApi
  readonly callerOf: (request: HostRequest) => Promise<RequestCaller | undefined>
}

export function createEmbedding({ config, baseUrl }: Runtime, needs: Needs): Embedding {
  const { isNamed } = new Cors(config.spaCorsOrigins, config.mcpOrigins)
  const forgeryRule = { origin: new URL(baseUrl).origin, isTrustedOrigin: isNamed }
  const deps = { ...needs, baseUrl, forgeryRule, cookieNames: new CookieNames({ baseUrl, config }) }
  return {
    sessions: hostSessions({ ...deps, visitorOf: (head) => new Visitor(deps, head) }),
    callerOf: (request) => findCaller(deps, request),
  }
}
