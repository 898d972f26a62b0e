/** Makes the handles that an application's code receives. The rooms ask for a handle; `src/api` knows how to make one. */
import type { ActorHandle } from './actor-handle.ts'

type HandledActor = Pick<ActorHandle, 'id' | 'creator'>
export type MakeActorHandle = (actor: HandledActor, access: { readonly withoutHooks: boolean }) => ActorHandle

export class ActorHandles {
  #make: MakeActorHandle | null = null

  /** Once, while the service is put together and before its first request. */
  connect(make: MakeActorHandle): void {
    if (this.#make !== null) throw new Error('The handles of actors are connected already')
    this.#make = make
  }

  readonly of = (actor: HandledActor): ActorHandle => this.#made(actor, false)

  /** For property hooks: access by this handle runs no property hook again. */
  readonly withoutHooks = (actor: HandledActor): ActorHandle => this.#made(actor, true)

  #made(actor: HandledActor, withoutHooks: boolean): ActorHandle {
    if (this.#make === null) throw new Error('The handles of actors are not connected yet')
    return this.#make(actor, { withoutHooks })
  }
}
