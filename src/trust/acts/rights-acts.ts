/** Acts of an owner about the permissions of a peer. */
import type { JsonText } from '../../json/json.ts'
import { type Acting, noteIfOwner } from '../../observe/own-acts.ts'
import type { OverrideRules, RuledCategory } from '../../permission/rules.ts'
import type { SignInAge } from '../../permission/sign-in-age.ts'
import type { SeenVersion, TrustOfPeer } from './trust-acts.ts'
import type { Permissions, RightsJudge } from '../permissions.ts'
import { requireRightsVersion, rightsVersion } from '../trust-version.ts'

export interface RightsActsDeps {
  readonly permissions: Permissions
  readonly signInAge: SignInAge
}

/** The grants on one pattern. */
export interface GrantedPattern {
  readonly category: RuledCategory
  readonly pattern: string
}

export class RightsActs {
  readonly #deps: RightsActsDeps

  constructor(deps: RightsActsDeps) {
    this.#deps = deps
  }

  /** Replaces the given categories. Returns whether it is the first override. @throws ServiceError like `Permissions.override` */
  replace(by: Acting, of: TrustOfPeer, body: JsonText, seen: SeenVersion = null): Promise<boolean> {
    return this.#change(by, of, seen, (permissions, key, judge) => permissions.override(key, body, by.caller, judge))
  }

  /**
   * Replaces the rules by those that `choose` makes from the stored ones. Null: it changes nothing.
   *
   * @throws ServiceError `not_found`, `conflict`, and what `choose` throws.
   */
  async choose(
    by: Acting,
    peerId: string,
    choose: (rules: OverrideRules) => JsonText | null,
    seen: SeenVersion,
  ): Promise<void> {
    const { permissions, signInAge } = this.#deps
    signInAge.require(by.caller)
    const { trust, override } = await permissions.require(by.actor.id, peerId)
    judgeSeen(seen)(trust, override)
    const body = choose(override?.rules ?? {})
    if (body !== null) await permissions.override(trust, body, by.caller, judgeSeen(seen))
    noteIfOwner(by, 'rights.change', { relationship: trust.relationship, peer: peerId })
  }

  /** Deletes the override with its grants. */
  async reset(by: Acting, of: TrustOfPeer, seen: SeenVersion = null): Promise<void> {
    const { permissions, signInAge } = this.#deps
    signInAge.require(by.caller)
    let relationship = ''
    await permissions.reset({ actorId: by.actor.id, ...of }, (trust, override) => {
      judgeSeen(seen)(trust, override)
      relationship = trust.relationship
    })
    noteIfOwner(by, 'rights.reset', { relationship, peer: of.peerId })
  }

  /** Deletes the rules of the override, and keeps its grants. */
  resetRules(by: Acting, of: TrustOfPeer, seen: SeenVersion): Promise<void> {
    return this.#change(by, of, seen, (permissions, key, judge) => permissions.resetRules(key, judge))
  }

  /** Withdraws the grants on a pattern. An old session may do that, because it only takes access. */
  async withdrawGrants(
    by: Acting,
    peerId: string,
    { category, pattern }: GrantedPattern,
    seen: SeenVersion,
  ): Promise<void> {
    const withdrawn = { [category]: { patterns: [pattern] } }
    await this.#narrow(by, { peerId, relationship: null }, seen, (permissions, { actorId }, judge) =>
      permissions.withdraw(actorId, peerId, withdrawn, judge),
    )
  }

  /** Moves the end of the grants on a pattern, in Unix milliseconds. Null: no end. */
  async moveGrantEnd(
    by: Acting,
    peerId: string,
    granted: GrantedPattern & { readonly until: number | null },
    seen: SeenVersion,
  ): Promise<void> {
    await this.#change(by, { peerId, relationship: null }, seen, (permissions, key, judge) =>
      permissions.moveEnd(key, granted, granted.until, judge),
    )
  }

  #change<T>(by: Acting, of: TrustOfPeer, seen: SeenVersion, work: RightsWork<T>): Promise<T> {
    this.#deps.signInAge.require(by.caller)
    return this.#narrow(by, of, seen, work)
  }

  async #narrow<T>(by: Acting, of: TrustOfPeer, seen: SeenVersion, work: RightsWork<T>): Promise<T> {
    let relationship = ''
    const done = await work(this.#deps.permissions, { actorId: by.actor.id, ...of }, (trust, override) => {
      judgeSeen(seen)(trust, override)
      relationship = trust.relationship
    })
    noteIfOwner(by, 'rights.change', { relationship, peer: of.peerId })
    return done
  }
}

type RightsWork<T> = (
  permissions: Permissions,
  key: TrustOfPeer & { readonly actorId: string },
  judge: RightsJudge,
) => Promise<T>

function judgeSeen(seen: SeenVersion): RightsJudge {
  return (trust, override) => requireRightsVersion(seen, rightsVersion(trust, override))
}
