/** Values of the pages about passkeys. */
import type { Moment } from '../shared/time.ts'
import type { ActorPageValues, SiteValues } from '../shared/values.ts'

/** The page on which a person signs in with a passkey. */
export interface PasskeyValues extends SiteValues {
  readonly action: string
  /** Form fields of every form. */
  readonly state: string
  readonly code_challenge: string
  /** `PublicKeyCredentialRequestOptionsJSON` of WebAuthn. */
  readonly request_options: string
  /** `PublicKeyCredentialCreationOptionsJSON` of WebAuthn; null when this sign-in creates no account. */
  readonly creation_options: string | null
  readonly error: string | null
  /** The form that was refused: `sign_in`, `sign_up` or `recover`. */
  readonly refused: string | null
  /** The refused name; empty otherwise. */
  readonly typed_name: string
}

/** The page that shows the recovery codes of a new account. */
export interface RecoveryCodesValues extends SiteValues {
  readonly codes: readonly string[]
  readonly continue_url: string
}

export interface PasskeyRow {
  readonly id: string
  readonly name: string
  readonly created: Moment
  /** Null before the first sign-in. */
  readonly last_used: Moment | null
  /** Whether several devices of the owner have it. */
  readonly is_synced: boolean
  /** Names it in the configuration of the service. */
  readonly fingerprint: string
}

/** The owner's passkeys. */
export interface PasskeysValues extends ActorPageValues {
  readonly passkeys: readonly PasskeyRow[]
  /** Number of unused recovery codes. */
  readonly code_count: number
  /** New recovery codes, which are shown only once. Null: none. */
  readonly new_codes: readonly string[] | null
  /** `PublicKeyCredentialCreationOptionsJSON` of WebAuthn; null when the service has no sign-in with passkeys. */
  readonly creation_options: string | null
  /** Form field `ticket` of the form that adds a passkey. */
  readonly ticket: string
  /** The name in that form. */
  readonly new_name: string
  readonly form_action: string
}
