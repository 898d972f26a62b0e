/** The forms on the page of a peer that move the end of the approval or of a grant, or withdraw a grant. */
import { noteAct } from '../../observe/context.ts'
import { type RuledCategory, ruledCategories } from '../../permission/rules.ts'
import type { RightsJudge } from '../../trust/permissions.ts'
import { isApprovedAt } from '../../trust/trust.ts'
import { requireRightsVersion, rightsVersion } from '../../trust/trust-version.ts'
import type { TrustJudge } from '../../trust/trusts.ts'
import type { PageExchange } from '../../http/dispatch/route.ts'
import type { Params } from '../../http/edge/params.ts'
import { pageRefusal } from '../shared/error-text.ts'
import { formRefusal } from '../shared/refused-on-page.ts'
import type { PeerQuery, RelationshipPageDeps } from './deps.ts'

type Exchange = PageExchange<string, PeerQuery>

/** Moves the end of the approval. Does not approve again. */
export async function moveApprovalEnd(
  deps: RelationshipPageDeps,
  { actor }: Exchange,
  peerId: string,
  sent: Params,
  isCurrent: TrustJudge,
): Promise<void> {
  const until = endIn(sent, deps.now())
  const change = { approved: true, ...(until === null ? {} : { approvedUntil: until }) }
  await deps.trusts.change(actor, peerId, null, change, async (before, tx) => {
    await isCurrent(before, tx)
    if (!isApprovedAt(before, deps.now()))
      throw pageRefusal(
        'conflict',
        'The approval ended while you were deciding. You can approve again.',
        ({ peerErrors }) => peerErrors.approvalEnded,
      )
  })
}

/** Moves the end of a grant, or withdraws it. */
export async function changeGrant(
  deps: RelationshipPageDeps,
  { actor }: Exchange,
  peerId: string,
  sent: Params,
): Promise<void> {
  const category = ruledCategories.find((name) => name === sent.get('category'))
  const pattern = sent.get('pattern') ?? ''
  if (category === undefined || pattern === '') throw formRefusal('the grant is unknown')
  const expected = sent.get('version') ?? null
  let relationship = ''
  const judge: RightsJudge = (trust, override) => {
    requireRightsVersion(expected, rightsVersion(trust, override))
    relationship = trust.relationship
  }
  if (sent.get('action') === 'withdraw_grant') {
    await deps.permissions.withdraw(actor.id, peerId, withdrawalOf(category, pattern), judge)
  } else {
    await deps.permissions.moveEnd({ actorId: actor.id, peerId }, { category, pattern }, endIn(sent, deps.now()), judge)
  }
  noteAct(actor.id, 'PUT', 'trust', relationship, peerId, 'permissions')
}

function withdrawalOf(category: RuledCategory, pattern: string): object {
  return { [category]: { patterns: [pattern] } }
}

/** The typed time in UTC, in Unix milliseconds. Null for an empty field: no end. */
function endIn(sent: Params, now: number): number | null {
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
