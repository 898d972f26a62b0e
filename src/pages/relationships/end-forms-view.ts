/** View of the ends of the approval and of grants, with the forms that move them. */
import { html } from 'hono/html'
import { formField } from '../shared/form-field.ts'
import { hiddenFields } from '../shared/forms.ts'
import { forgeryField } from '../shared/layout.ts'
import { exactView, type Moment } from '../shared/time.ts'
import type { GrantRow, TrustPeerValues } from './values.ts'
import type { Html } from '../shared/values.ts'

/** The form for the end of the approval. Nothing for a connection that is not approved. */
export function approvalEnd(values: TrustPeerValues): Html | string {
  const { trust, version, typed } = values
  if (!trust.approved) return ''
  const isRefused = typed.action === 'approve_until'
  return html`<details class="card" id="approval-end"${isRefused ? html` open` : ''}><summary>When your approval ends</summary>
<p>${trust.approval_ends === null ? 'It has no end.' : html`It ends on ${exactView(trust.approval_ends)}.`} Then ${trust.peer.name} may do nothing until you approve again.</p>
${endForm(values, { id: 'until', ends: trust.approval_ends, isRefused, fields: { action: 'approve_until', version } })}</details>`
}

/** The grants to this peer alone. */
export function grantList(values: TrustPeerValues): Html | string {
  const { grants, trust } = values
  if (grants.length === 0) return ''
  return html`<section class="card" id="grants" aria-labelledby="grants-title"><h2 id="grants-title">Granted to ${trust.peer.name} alone</h2>
${grants.map((grant, index) => grantView(values, grant, index))}</section>`
}

function grantView(values: TrustPeerValues, grant: GrantRow, index: number): Html {
  const { form_action, rights_version: version } = values
  const { category, subject, pattern, may, ends } = grant
  return html`<div class="connected"><p>${subject}: may ${may} <strong>${pattern}</strong>${ends === null ? '' : html` until ${exactView(ends)}`}</p>
${endForm(values, { id: `grant-${index}-until`, ends, isRefused: false, fields: { action: 'grant_until', category, pattern, version } })}
<form method="post" action="${form_action}">${forgeryField(values)}${hiddenFields({ action: 'withdraw_grant', category, pattern, version })}<button class="quiet" type="submit">Withdraw it<span class="unseen">: ${may} ${pattern}</span></button></form></div>`
}

interface EndForm {
  readonly id: string
  readonly ends: Moment | null
  readonly isRefused: boolean
  readonly fields: Readonly<Record<string, string>>
}

function endForm(values: TrustPeerValues, { id, ends, isRefused, fields }: EndForm): Html {
  return html`<form method="post" action="${values.form_action}">${forgeryField(values)}${hiddenFields(fields)}${formField(
    {
      id,
      name: 'until',
      label: 'End, in UTC',
      value: ends === null ? '' : ends.at.slice(0, 19),
      hint: 'Leave it empty for no end.',
      error: isRefused && values.error_field === 'until' ? values.error : null,
      attributes: { type: 'datetime-local', step: '1' },
    },
  )}<button type="submit">Save the end</button></form>`
}
