/** Methods of the revisions with a handshake that are about the session and nothing of the actor's; each answers `{}`. */
import { isLogLevel } from './call/channel.ts'
import { McpFailure } from './protocol/failure.ts'
import type { Params } from './protocol/message.ts'
import { isUri } from './methods/read-resource.ts'
import type { Session } from './sessions/session.ts'
import type { McpSessions } from './sessions/sessions.ts'

type Keep = (sessions: McpSessions, session: Session | null, params: Params) => Promise<void>

/** Null for every other method. Without a session they have nothing to keep, and say so to nobody. @throws McpFailure */
export function housekeepingOf(method: string): Keep | null {
  return Object.hasOwn(methods, method) ? (methods[method] ?? null) : null
}

const methods: Readonly<Record<string, Keep>> = {
  ping: async () => {},
  'logging/setLevel': async (sessions, session, { level }) => {
    if (!isLogLevel(level)) throw new McpFailure('invalid_params', 'The log level is not known')
    if (session !== null) await sessions.setLogLevel(session, level)
  },
  'resources/subscribe': async (sessions, session, { uri }) => {
    const wanted = requireUri(uri)
    if (session !== null) await sessions.subscribe(session, wanted)
  },
  'resources/unsubscribe': async (sessions, session, { uri }) => {
    const wanted = requireUri(uri)
    if (session !== null) await sessions.unsubscribe(session, wanted)
  },
}

function requireUri(uri: unknown): string {
  if (isUri(uri)) return uri
  throw new McpFailure('invalid_params', 'The call names no resource')
}
