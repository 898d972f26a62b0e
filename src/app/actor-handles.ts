/** Creates the handles that application code receives. Modules request a handle here; `src/api` implements it. */
import type { ActorHandle } from './actor-handle.ts'

type HandledActor = Pick<ActorHandle, 'id' | 'creator' | 'kind'>
export type MakeActorHandle = (actor: HandledActor, access: { readonly withoutHooks: boolean }) => ActorHandle

export class ActorHandles {
  #make: MakeActorHandle | null = null

  /** Sets the factory. Called once during startup, before the first request. */
  connect(make: MakeActorHandle): void {
    if (this.#make !== null) throw new Error('Cannot connect the actor handles: they are connected already')
    this.#make = make
  }

  readonly of = (actor: HandledActor): ActorHandle => this.#made(actor, false)

  /** Returns a handle for property hooks: its accesses run no property hooks, which prevents endless recursion. */
  readonly withoutHooks = (actor: HandledActor): ActorHandle => this.#made(actor, true)

  #made(actor: HandledActor, withoutHooks: boolean): ActorHandle {
    if (this.#make === null) throw new Error('Cannot create an actor handle: the service is still starting')
    return this.#make(actor, { withoutHooks })
  }
}
