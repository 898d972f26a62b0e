/** Issues bearer tokens of peers, clients and trustees to a test, with the rights that the test grants. */
import { randomUUID } from 'node:crypto'
import type { BearerKind } from '../../src/auth/authenticate.ts'
import type { Caller } from '../../src/caller.ts'
import type { Operation } from '../../src/permission/operation.ts'
import type { RelationshipRules } from '../../src/permission/permission.ts'

export type Grants = (operation: Operation) => boolean

export interface Related {
  /** The trust type. Default: `friend` for a peer, `mcp_client` for a client. */
  readonly relationship?: string
  /** The granted operations. Default: none. */
  readonly grants?: Grants
}

type Via = Parameters<BearerKind>[2]

interface Issued {
  readonly actorId: string
  readonly caller: (via: Via) => Caller
}

export class TestCallers {
  readonly #issued = new Map<string, Issued>()
  readonly #grants = new Map<string, Grants>()
  /** The number of times that the rules were read. */
  rulesRead = 0

  /** Options for `start`. */
  get parts(): { readonly bearerKinds: readonly BearerKind[]; readonly relationshipRules: RelationshipRules } {
    return { bearerKinds: [this.#bearerKind], relationshipRules: this.#rules }
  }

  readonly #bearerKind: BearerKind = async (token, actor, via) => {
    const issued = this.#issued.get(token)
    return issued === undefined || issued.actorId !== actor.id ? null : issued.caller(via)
  }

  readonly #rules: RelationshipRules = async (_actorId, caller) => {
    this.rulesRead += 1
    const grants = this.#grants.get(caller.kind === 'peer' ? caller.peerId : caller.clientId) ?? (() => false)
    return (operation) =>
      grants(operation) ? { allowed: true, reason: 'granted' } : { allowed: false, reason: 'no rule grants it' }
  }

  /** Issues a bearer token of a peer of the actor. */
  peer(actorId: string, { relationship = 'friend', grants, approved = true }: Related & { approved?: boolean } = {}) {
    const peerId = `urn:actingweb:example.com:peer:${randomUUID()}`
    if (grants !== undefined) this.#grants.set(peerId, grants)
    return this.#issue(actorId, (via) => ({ kind: 'peer', peerId, relationship, approved, via }))
  }

  client(actorId: string, { relationship = 'mcp_client', grants }: Related = {}): string {
    const clientId = `client-${randomUUID()}`
    if (grants !== undefined) this.#grants.set(clientId, grants)
    return this.#issue(actorId, (via) => ({
      kind: 'client',
      clientId,
      peerId: `oauth2_client:${clientId}`,
      relationship,
      via,
    }))
  }

  trustee(actorId: string): string {
    return this.#issue(actorId, (via) => ({ kind: 'trustee', via }))
  }

  /** Issues a token that authenticates like a session of the owner. */
  session(actorId: string): string {
    return this.#issue(actorId, (via) => ({ kind: 'creator', via }))
  }

  /** Issues a token for any caller. `grants` applies to a peer or a client. */
  as(actorId: string, caller: (via: Via) => Caller, grants?: Grants): string {
    const made = caller('bearer')
    if (grants !== undefined && made.kind === 'peer') this.#grants.set(made.peerId, grants)
    if (grants !== undefined && made.kind === 'client') this.#grants.set(made.clientId, grants)
    return this.#issue(actorId, caller)
  }

  #issue(actorId: string, caller: Issued['caller']): string {
    const token = `token-${randomUUID()}`
    this.#issued.set(token, { actorId, caller })
    return token
  }
}

/** Creates grants from rules `category right target`. A target that ends with `*` covers all targets with that prefix. */
export function granting(...rules: readonly string[]): Grants {
  return ({ category, right, target }) =>
    rules.some((rule) => {
      const [ruleCategory, ruleRight, ruleTarget = ''] = rule.split(' ')
      const covers = right === ruleRight || (right === 'append' && ruleRight === 'write')
      if (category !== ruleCategory || !covers) return false
      return ruleTarget.endsWith('*') ? target.startsWith(ruleTarget.slice(0, -1)) : target === ruleTarget
    })
}

export const everything: Grants = () => true
