/** The type and description of an actor, as other services see them: those of the application, or of the kind of the actor. */
import type { Identity } from '../identity.ts'
import type { Registry } from '../registry.ts'

export interface IdentityDeps {
  readonly identity: Identity
  readonly registry: Pick<Registry, 'of'>
}

/** @throws ServiceError `unknown_kind` */
export function identityOfActor({ identity, registry }: IdentityDeps, actor: { readonly kind: string }): Identity {
  const { kind, facts } = registry.of(actor)
  if (facts === null) return identity
  return { ...identity, type: facts.type ?? `${identity.type}:${kind}`, description: facts.description }
}
