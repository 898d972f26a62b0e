/** Values of the page about programs with a password. */
import type { Moment } from '../shared/time.ts'
import type { ActorPageValues } from '../shared/values.ts'

export interface ProgramWithPassword {
  /** Id of the account that the program created: the form field `actor`. */
  readonly actor: string
  readonly address: string
  /** The user name in its Basic credentials. */
  readonly creator: string
  /** True when the account is the present one, because the owner joined it by its passphrase. */
  readonly is_own: boolean
  readonly decision: 'pending' | 'kept' | 'revoked'
  /** When the owner proved to be the creator. */
  readonly proven: Moment
}

export interface PasswordAccessValues extends ActorPageValues {
  readonly programs: readonly ProgramWithPassword[]
  /** False when there are more programs than the page shows. */
  readonly is_complete: boolean
  readonly form_action: string
}
