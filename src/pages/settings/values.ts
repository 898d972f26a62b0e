/** Values of the page of settings. */
import type { QuotaRow } from './quotas.ts'
import type { ActorPageValues } from '../shared/values.ts'

export interface LanguageChoice {
  readonly value: string
  readonly label: string
}

export interface SettingsValues extends ActorPageValues {
  /** The name that people and apps with access see; null when it is not shown or not a text. */
  readonly display_name: string | null
  readonly typed_name: string | null
  /** Version of the stored name, for the form. */
  readonly name_version: string
  /** The languages of the pages, each in its own words. */
  readonly languages: readonly LanguageChoice[]
  /** Tag of the chosen language; empty for that of the browser. */
  readonly chosen_language: string
  readonly time_zones: readonly string[]
  readonly chosen_time_zone: string
  /** The email address of the sign-in, or null without a sign-in at a provider. */
  readonly email: string | null
  /** Whether the email address or the identity is verified. */
  readonly is_verified: boolean
  /** Name of the provider of the latest sign-in; null when only the passphrase opens the account. */
  readonly provider: string | null
  readonly typed_confirmation: string
  readonly form_action: string
  /** Path of the pages of operators; null for everybody else. */
  readonly operator_href: string | null
  /** Path of the page for messages by email; null when the service sends none. */
  readonly mail_href: string | null
  /** How much of each quota the actor uses. */
  readonly quotas: readonly QuotaRow[]
}
