/** Who touches whose data: what every use case of this folder is told first. */
import type { Caller } from '../caller.ts'

export interface Access {
  readonly actor: { readonly id: string; readonly creator: string }
  readonly caller: Caller
  /** Set where a property hook itself reads or writes: its own access must not call it again. */
  readonly withoutHooks?: true
}
