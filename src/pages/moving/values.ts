/** Values of the pages about moves between services. */
import type { Moment } from '../shared/time.ts'
import type { ActorPageValues, SignInProvider, SiteValues } from '../shared/values.ts'

export interface ShownLeaving {
  /** `moved`: the account is at the other service, and its owner has not taken it there. */
  readonly state: 'moving' | 'failed' | 'moved'
  /** The address at the other service. */
  readonly to: string
  readonly started: Moment
  /** Why it failed; empty while it moves. */
  readonly reason: string
  /** Where the owner takes the account at the other service. Empty for an old session: the link takes the account for good. */
  readonly claim_url: string
}

export interface MovedPeerRow {
  /** Address of the peer. */
  readonly address: string
  /** Path of the page of the connection. */
  readonly href: string
  readonly state: 'waiting' | 'informed' | 'asked' | 'kept' | 'failed'
  readonly reason: string
}

export interface ShownArrivalPage {
  /** The address at the old service. */
  readonly from: string
  readonly at: Moment
  readonly peers: readonly MovedPeerRow[]
  /** The number of all peers, and of those that could not be notified. */
  readonly count: number
  readonly failed: number
}

export interface MoveValues extends ActorPageValues {
  /** The move that runs or failed; null without one. */
  readonly leaving: ShownLeaving | null
  /** Null for an account that was created here. */
  readonly arrived: ShownArrivalPage | null
  /** The refused input; empty otherwise. */
  readonly typed_url: string
  readonly form_action: string
}

/** A connection, companion or invitation that came along, or a reader of a feature. It can read the account when the owner keeps it. */
export interface ArrivedReaderRow {
  /** `relationship`, `companion`, `invitation`, `trustee`, or the kind of a feature. */
  readonly kind: string
  /** Form field that keeps it. Without the field, it is ended. */
  readonly field: string
  /** The name that the old service states; empty for none. */
  readonly name: string
  /** Empty for an invitation. */
  readonly address: string
  /** Name of the trust type; empty for others. */
  readonly relationship: string
  /** Whether it has rights besides those of its trust type. */
  readonly has_own_rights: boolean
}

/** The page on which the owner takes an account that came from another service. */
export interface ArrivalValues extends SiteValues {
  /** `used`: the link is not valid, or was used. `coming`: the account is not here yet. `taken`: it has a new passphrase. */
  readonly state: 'used' | 'coming' | 'here' | 'taken'
  /** The address at the old service; empty for `used`. */
  readonly from: string
  readonly readers: readonly ArrivedReaderRow[]
  /** Form field `version`, which names the list of readers. */
  readonly version: string
  /** Form field `csrf_token`. */
  readonly csrf_token: string
  /** Why the form was refused; null without a refusal. */
  readonly error: string | null
  /** The ways to sign in: values of the form field `way`. The links keep nothing. */
  readonly providers: readonly SignInProvider[]
  /** Whether a passphrase opens the pages. The form without `way` asks for one. */
  readonly by_passphrase: boolean
  readonly action: string
  /** Form field `code`. */
  readonly code: string
  /** For `taken`: the owner's name and the new passphrase, shown once. Empty otherwise. */
  readonly creator: string
  readonly passphrase: string
  /** Path of the account's pages. */
  readonly account_href: string
}
