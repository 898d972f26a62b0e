/* oxlint-disable typescript/no-unsafe-call -- the mistakes that must not compile */
/** The types for embedding programs. `npm run check` compiles this file. Each `@ts-expect-error` must not compile. */
import type { IncomingMessage } from 'node:http'
import type express from 'express'
import { type ActorHandle, type BegunSession, type RequestCaller, type SessionsApi, troupe } from '../../src/index.ts'

const users = new WeakMap<object, { readonly email: string }>()
const app = troupe({
  type: 'urn:actingweb:example.com:types',
  authenticate: async (request, original) => {
    const user = users.get(original)
    return user === undefined || request.method !== 'GET' ? null : { email: user.email, verified: true }
  },
  signInUrl: '/login?next={return}',
})
// @ts-expect-error -- an address without proof does not identify a user
void troupe({ type: 'urn:actingweb:example.com:types', authenticate: () => ({ email: 'ada@example.com' }) })
// @ts-expect-error -- the id of a user is not an address
void troupe({ type: 'urn:actingweb:example.com:types', authenticate: () => 'ada' })

export async function begins(actor: ActorHandle, fetched: Request, received: IncomingMessage): Promise<BegunSession> {
  const sessions: SessionsApi = app.sessions
  await sessions.begin({ id: 'a1' }, { request: fetched })
  // @ts-expect-error -- without the request, a planted session would continue
  void sessions.begin(actor)
  // @ts-expect-error -- an id is not an actor
  void sessions.begin('a1', { request: fetched })
  const ended: number = await sessions.endAll(actor)
  const { cookies } = await sessions.end(received)
  // @ts-expect-error -- the cookies are read-only
  cookies.push(String(ended))
  return sessions.begin(actor, { request: received })
}

export async function finds(request: express.Request): Promise<string | undefined> {
  const caller: RequestCaller | undefined = await app.callerOf(request)
  // @ts-expect-error -- a request may have no caller
  void caller.actorId
  if (caller === undefined) return undefined
  // @ts-expect-error -- only a client has a relationship
  void caller.relationship
  return caller.kind === 'client' ? caller.relationship : caller.actorId
}
