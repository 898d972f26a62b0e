/** Records the relationship events that an application receives, and waits for one of them. */
import type { TrustEvent } from '../../src/app/declarations.ts'
import type { App } from '../../src/troupe.ts'

const names = [
  'trust_initiated',
  'trust_request_received',
  'trust_fully_approved_local',
  'trust_fully_approved_remote',
  'trust_deleted',
] as const
export type TrustEventName = (typeof names)[number]

export interface RecordedEvent {
  readonly name: TrustEventName
  readonly event: TrustEvent & { readonly initiated_by_peer?: boolean }
}

export class EventRecorder {
  readonly all: RecordedEvent[] = []
  readonly #waiting = new Set<() => void>()

  /** The `declare` option for `start`. */
  readonly declare = (app: App): void => {
    for (const name of names) {
      app.on(name, (event) => {
        this.all.push({ name, event })
        for (const wake of this.#waiting) wake()
      })
    }
  }

  /** Returns the event names in order, of all actors or only of the given actor. */
  names(actorId?: string): TrustEventName[] {
    return this.all.filter(({ event }) => actorId === undefined || event.actor.id === actorId).map(({ name }) => name)
  }

  /** Waits for the first event with this name about this actor. */
  async first(name: TrustEventName, actorId: string): Promise<RecordedEvent['event']> {
    for (;;) {
      const found = this.all.find((heard) => heard.name === name && heard.event.actor.id === actorId)
      if (found !== undefined) return found.event
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          this.#waiting.delete(wake)
          resolve()
        }
        this.#waiting.add(wake)
      })
    }
  }
}
