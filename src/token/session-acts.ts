/** Acts of an owner about the sessions on other devices. */
import { ServiceError } from '../errors.ts'
import { type Acting, noteIfOwner } from '../observe/own-acts.ts'
import type { Sessions } from './sessions.ts'

export class SessionActs {
  readonly #sessions: Pick<Sessions, 'end' | 'endOthers'>

  constructor(sessions: Pick<Sessions, 'end' | 'endOthers'>) {
    this.#sessions = sessions
  }

  /** @throws ServiceError `not_found` */
  async end(by: Acting, session: string): Promise<void> {
    if (!(await this.#sessions.end(by.actor.id, session)))
      throw new ServiceError('not_found', 'Cannot find the session: it does not exist', { refusal: 'session_ended' })
    noteIfOwner(by, 'session.end', { session })
  }

  /** Ends every session except the one of the caller. @returns the number of ended sessions. */
  async endOthers(by: Acting): Promise<number> {
    const own = by.caller.kind === 'creator' ? (by.caller.session ?? '') : ''
    const ended = await this.#sessions.endOthers(by.actor.id, own)
    noteIfOwner(by, 'session.end_others')
    return ended
  }
}
