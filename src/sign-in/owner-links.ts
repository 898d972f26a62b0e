/**
 * One-time links with which an operator lets the owner of an account sign in who has lost every way to do so. The link shows a
 * page and changes nothing; the form of the page begins the session (docs/decisions/236).
 */
import { findActor } from '../actor/actor-store.ts'
import type { StoredActor } from '../actor/actor-store.ts'
import { requirePerson } from '../app/kinds/person.ts'
import { ServiceError } from '../errors.ts'
import { noteAct } from '../observe/own-acts.ts'
import type { Store, Transaction } from '../store/store.ts'
import type { IssuedTokens } from '../token/chain.ts'
import type { OneTime } from '../token/one-time.ts'
import { deletePurposeOf } from '../token/one-time-store.ts'
import type { Tokens } from '../token/tokens.ts'
import type { Operators } from './operators/operators.ts'

/** Minutes in which the link works. */
export const ownerLinkMinutes = 60

/** Path of the page, below the prefix of the service. */
export const ownerLinkPath = '/oauth/owner-link'

export interface OwnerLinksDeps {
  readonly store: Pick<Store, 'read' | 'write' | 'writeActor'>
  readonly oneTime: OneTime
  readonly tokens: Pick<Tokens, 'startSession'>
  readonly operators: Pick<Operators, 'nameOf'>
}

/** The sealed content of a link. */
interface LinkData {
  /** The command line made the link. Who runs it could name an operator as well. */
  readonly byCommand: boolean
}

const purpose = 'owner_link'

/**
 * Makes a link in the transaction that records it, and ends the earlier ones of the account.
 *
 * @returns the code of the link.
 */
export async function createOwnerLink(
  tx: Transaction,
  oneTime: OneTime,
  { actorId, byCommand }: LinkData & { readonly actorId: string },
): Promise<string> {
  await deletePurposeOf(tx, actorId, purpose)
  const data: LinkData = { byCommand }
  return oneTime.create(tx, { purpose, data, actorId })
}

export class OwnerLinks {
  readonly #deps: OwnerLinksDeps

  constructor(deps: OwnerLinksDeps) {
    this.#deps = deps
  }

  /** The account of a link. @throws ServiceError `gone` */
  async require(code: string): Promise<StoredActor> {
    const { store, oneTime, operators } = this.#deps
    const found = await store.read((q) => oneTime.peek<LinkData>(q, { purpose, value: code }))
    if (found === null) throw ended()
    const actor = await store.read((q) => findActor(q, found.actorId ?? ''))
    if (actor === null) throw ended()
    // The account may be that of an operator since the link was made.
    if (!found.data.byCommand && (await operators.nameOf(actor.id)) !== null) throw ended()
    return actor
  }

  /**
   * Consumes the link, and begins a session of the owner.
   *
   * @throws ServiceError `gone`, `actor_suspended`, `actor_moving`
   */
  async use(code: string, device: string): Promise<IssuedTokens> {
    const { store, oneTime, tokens } = this.#deps
    const { id, creator } = await this.require(code)
    const issued = await store.writeActor(id, async (tx, locked) => {
      requirePerson(locked.kind)
      if ((await oneTime.consume<LinkData>(tx, { purpose, value: code })) === null) throw ended()
      return tokens.startSession(tx, { actorId: id, identifier: creator, beganWith: 'operator', device })
    })
    noteAct(id, 'session.begin')
    return issued
  }
}

function ended(): ServiceError {
  return new ServiceError(
    'gone',
    'This link has ended: it was used, a newer one replaced it, or it is older than an hour. Ask the operator of this service for another one.',
  )
}
