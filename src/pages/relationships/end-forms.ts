/** The forms on the page of a peer that move the end of the approval or of a grant, or withdraw a grant. */
import { ruledCategories } from '../../permission/rules.ts'
import type { SeenVersion } from '../../trust/acts/trust-acts.ts'
import type { GrantedPattern } from '../../trust/acts/rights-acts.ts'
import type { PageExchange } from '../../http/dispatch/route.ts'
import type { Params } from '../../http/edge/params.ts'
import { pageRefusal } from '../shared/error-text.ts'
import { formRefusal } from '../shared/refused-on-page.ts'
import type { PeerQuery, RelationshipPageDeps } from './deps.ts'

/** Moves the end of a grant, or withdraws it. */
export async function changeGrant(
  deps: RelationshipPageDeps,
  exchange: PageExchange<string, PeerQuery>,
  peerId: string,
  sent: Params,
  seen: SeenVersion,
): Promise<void> {
  const granted = grantIn(sent)
  if (sent.get('action') === 'withdraw_grant') await deps.rightsActs.withdrawGrants(exchange, peerId, granted, seen)
  else await deps.rightsActs.moveGrantEnd(exchange, peerId, { ...granted, until: endIn(sent, deps.now()) }, seen)
}

function grantIn(sent: Params): GrantedPattern {
  const category = ruledCategories.find((name) => name === sent.get('category'))
  const pattern = sent.get('pattern') ?? ''
  if (category === undefined || pattern === '') throw formRefusal('the grant is unknown')
  return { category, pattern }
}

/** The typed time in UTC, in Unix milliseconds. Null for an empty field: no end. */
export function endIn(sent: Params, now: number): number | null {
  const text = sent.get('until') ?? ''
  if (text === '') return null
  const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?$/.test(text) ? Date.parse(`${text}Z`) : Number.NaN
  if (Number.isNaN(time))
    throw pageRefusal(
      'bad_request',
      'Enter a date and a time, such as 2030-01-31T18:00.',
      ({ peerErrors }) => peerErrors.timeInvalid,
      { field: 'until' },
    )
  if (time <= now)
    throw pageRefusal('bad_request', 'Choose a time in the future.', ({ peerErrors }) => peerErrors.timePast, {
      field: 'until',
    })
  return time
}
