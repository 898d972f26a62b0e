/**
 * Acts of operators about one account: a link to sign in, the reset of limits, and the deletion. The command line makes the same
 * acts without a session (`act.operator` is then its name).
 */
import { findActor, type StoredActor } from '../actor/actor-store.ts'
import { parseActorId } from '../actor/actor.ts'
import type { Actors } from '../actor/actors.ts'
import { personKind } from '../app/kinds/person.ts'
import type { MailPort } from '../app/background/mail-port.ts'
import type { AuditLog } from '../audit-log/audit-log.ts'
import { ServiceError } from '../errors.ts'
import type { Log } from '../observe/log.ts'
import type { Store, Transaction } from '../store/store.ts'
import { findAccount } from '../sign-in/account-store.ts'
import type { Operator, Operators } from '../sign-in/operators/operators.ts'
import { createOwnerLink, ownerLinkPath } from '../sign-in/owner-links.ts'
import type { OneTime } from '../token/one-time.ts'
import { actEntryOf, type OperatorAct } from './act-entry.ts'
import { record } from './suspension.ts'

export interface AccountStore {
  readonly store: Pick<Store, 'read' | 'write' | 'now'>
}

export interface LinkDeps extends AccountStore {
  readonly oneTime: OneTime
  /** The public URL of the service, without a trailing slash. */
  readonly baseUrl: string
}

/** `rate-limit/resets.ts` */
export type ResetLimits = (
  tx: Transaction,
  account: { readonly actorId: string; readonly names: readonly string[]; readonly source: string | null },
  now: number,
) => Promise<number>

/**
 * Makes the one-time link with which the owner signs in. The audit log of the actor has an entry in the same transaction.
 *
 * @param byCommand The command line makes it, for any account.
 * @throws ServiceError `not_found`; `conflict` for an actor without a person, or one that is suspended or moves.
 */
export async function makeSignInLink(
  { store, oneTime, baseUrl }: LinkDeps,
  id: string,
  act: OperatorAct,
  byCommand: boolean,
): Promise<string> {
  const actor = await requireAccount(store, id)
  if (actor.kind !== personKind)
    throw new ServiceError('conflict', 'Cannot make a link to sign in: the actor is of no person')
  if (actor.residence !== 'here')
    throw new ServiceError('conflict', 'Cannot make a link to sign in: the account is suspended, moves or has moved')
  const code = await store.write(async (tx) => {
    await record(tx, store.now(), { id: actor.id, act, path: '/admin/sign-in-link' })
    return createOwnerLink(tx, oneTime, { actorId: actor.id, byCommand })
  })
  return `${baseUrl}${ownerLinkPath}?code=${code}`
}

/**
 * Ends what rate limits have counted about an account as a target. Every process notices it within 30 seconds.
 *
 * @param source The sender whose limits end too, in the form of the log. Null: none.
 * @returns the number of limits that had counted something.
 * @throws ServiceError `not_found`
 */
export async function resetAccountLimits(
  { store, resetLimits }: AccountStore & { readonly resetLimits: ResetLimits },
  id: string,
  act: OperatorAct,
  source: string | null,
): Promise<number> {
  const actor = await requireAccount(store, id)
  const account = await store.read((q) => findAccount(q, actor.id))
  const names = [...new Set([actor.id, actor.creator, ...(account === null ? [] : [account.identifier])])]
  return store.write(async (tx) => {
    const deleted = await resetLimits(tx, { actorId: actor.id, names, source }, store.now())
    await record(tx, store.now(), { id: actor.id, act, path: '/admin/reset-limits' })
    return deleted
  })
}

/** @throws ServiceError `not_found` */
async function requireAccount(store: Pick<Store, 'read'>, id: string): Promise<StoredActor> {
  const actor = parseActorId(id) === null ? null : await store.read((q) => findActor(q, id))
  if (actor === null) throw new ServiceError('not_found', 'This actor does not exist')
  return actor
}

export interface AccountActsDeps extends LinkDeps {
  readonly actors: Pick<Actors, 'deleteWithEvents'>
  readonly operators: Pick<Operators, 'nameOf'>
  readonly auditLog: Pick<AuditLog, 'record'>
  readonly mail: Pick<MailPort, 'event'>
  readonly log: Log
  readonly resetLimits: ResetLimits
  /** The limits that this process knows to be exhausted. */
  readonly resets: { forget(): void }
}

interface By extends Operator {
  /** Device of the operator, such as `Firefox on Linux`. */
  readonly device: string
}

/** The acts of an operator with a session, on the pages. */
export class AccountActs {
  readonly #deps: AccountActsDeps

  constructor(deps: AccountActsDeps) {
    this.#deps = deps
  }

  /**
   * Makes a link that the operator passes on to the owner. The owner sees it in the activity, and gets a message.
   *
   * @throws ServiceError `conflict` for an operator: who has the link could act as that operator.
   */
  async signInLink(id: string, by: By): Promise<string> {
    await this.#requireOrdinary(id, by, 'make a link to sign in')
    const link = await makeSignInLink(this.#deps, id, actOf(by), false)
    this.#deps.log.info({ actorId: id, by: by.name }, 'An operator made a link to sign in')
    await this.#deps.mail.event({ kind: 'sign_in_link', actorId: id })
    return link
  }

  /** @throws ServiceError `not_found` */
  async resetLimits(id: string, by: By, source: string | null): Promise<void> {
    await resetAccountLimits(this.#deps, id, actOf(by), source)
    this.#deps.resets.forget()
  }

  /**
   * Deletes the account with all its data, as its owner can. The audit log of the operator has the entry.
   *
   * @param typed The id of the actor, as a confirmation.
   * @throws ServiceError `bad_request` for another confirmation; `conflict` for an operator.
   */
  async delete(id: string, typed: string, by: By): Promise<void> {
    const { actors, auditLog, log, store } = this.#deps
    const actor = await requireAccount(store, id)
    await this.#requireOrdinary(id, by, 'delete the account')
    if (typed.trim() !== id)
      throw new ServiceError('bad_request', `Type the ID ${id} to delete the account.`, { field: 'confirmation' })
    await actors.deleteWithEvents(actor)
    log.warn({ actorId: id, by: by.name }, 'An operator deleted an account')
    auditLog.record({ ...actEntryOf(by.actorId, actOf(by)), method: 'POST', path: '/admin/delete' })
  }

  async #requireOrdinary(id: string, by: By, what: string): Promise<void> {
    const isOperator =
      id === by.actorId || (parseActorId(id) !== null && (await this.#deps.operators.nameOf(id)) !== null)
    if (isOperator)
      throw new ServiceError('conflict', `Cannot ${what}: it is the account of an operator. Remove the operator first`)
  }
}

function actOf({ name, device }: By): OperatorAct {
  return { operator: name, device }
}
