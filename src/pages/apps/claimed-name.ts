/** The name that an app claims, beside the name to which the owner consented. */
import { html } from 'hono/html'
import type { Messages } from '../languages/language.ts'
import type { PeerName } from '../relationships/values.ts'
import type { Html } from '../shared/values.ts'

/** Empty for an app that claims no other name. */
export function claimedName({ claimed_name: claimed }: PeerName, { connections }: Messages): Html | string {
  return claimed === '' ? '' : html`<p class="notice">${connections.claims(claimed)}</p>`
}
