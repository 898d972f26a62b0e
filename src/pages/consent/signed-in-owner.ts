/** The signed-in owner who decides on a client. */
import type { Actor } from '../../actor/actor.ts'
import type { Actors } from '../../actor/actors.ts'
import type { SignIn } from '../../sign-in/sign-in.ts'
import type { FreshSignInDeps } from '../../http/dispatch/fresh-sign-in.ts'
import type { Visitor } from '../../http/dispatch/visitor.ts'

export interface SignedInOwnerDeps extends FreshSignInDeps {
  readonly actors: Pick<Actors, 'find'>
  readonly signIn: Pick<SignIn, 'accounts'>
}

/**
 * Returns the actor with the identifier that signed in, which may differ from the creator. Clients receive the identifier,
 * so the result is null for an unverified address: the owner must sign in with a verified one. The access of a client
 * outlives a session, so the result is null for an old sign-in too.
 */
export async function signedInOwner(deps: SignedInOwnerDeps, visitor: Visitor): Promise<Actor | null> {
  const found = await visitor.pageSession()
  if (found === null || !deps.freshSignIn.isFreshSession(found.chain)) return null
  const account = await deps.signIn.accounts.find(found.chain.actorId)
  if (account?.verified === false) return null
  const actor = await deps.actors.find(found.chain.actorId)
  return actor === null || account === null ? actor : { ...actor, creator: account.identifier }
}
