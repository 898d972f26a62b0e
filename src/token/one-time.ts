/**
 * Whatever is good once: a random value of which only the hash is kept, bound to a purpose, and where it matters to a
 * provider, an actor and the browser that began. Consumed by one conditional UPDATE.
 */
export type Purpose =
  /** `state` of a sign-in at a provider, also as the nonce of form_post. */
  | 'state'
  /** Deep-linked to a mobile application, which redeems it. */
  | 'ticket'
  /** `?session=` of a single-page application's redirect. */
  | 'spa_session'
  /** Free-text entry of an address. */
  | 'email_session'
  | 'email_verification'
  /** The anti-forgery proof of a claim page: join an actor that was made without proof. */
  | 'claim'
  /** Authorization code for a client. */
  | 'code'
  /** A consent that waits for the owner. */
  | 'consent'
  /** Mark of an assertion that was shown (recorded as used from the start). */
  | 'assertion'

/** In seconds. */
export const lifetimes: Readonly<Record<Purpose, number>> = {
  state: 600,
  ticket: 300,
  spa_session: 600,
  email_session: 600,
  email_verification: 86_400,
  claim: 600,
  code: 60,
  consent: 600,
  assertion: 900,
}
