/** View of the ends of the approval and of grants, with the forms that move them. */
import { html } from 'hono/html'
import type { Messages } from '../languages/language.ts'
import { formField } from '../shared/form-field.ts'
import { hiddenFields } from '../shared/forms.ts'
import { forgeryField } from '../shared/layout.ts'
import { exactView, type Moment } from '../shared/time.ts'
import type { GrantRow, TrustPeerValues } from './values.ts'
import type { Html } from '../shared/values.ts'

type Words = Messages['ends']

/** The form for the end of the approval. Nothing for a connection that is not approved. */
export function approvalEnd(values: TrustPeerValues, { ends: words }: Messages): Html | string {
  const { trust, version, typed } = values
  if (values.is_member || !trust.approved || values.fresh_href !== null) return ''
  const isRefused = typed.action === 'approve_until'
  return html`<details class="card" id="approval-end"${isRefused ? html` open` : ''}><summary>${words.approval}</summary>
<p>${words.approvalText(trust.approval_ends === null ? null : exactView(trust.approval_ends), trust.peer.name)}</p>
${endForm(values, { id: 'until', ends: trust.approval_ends, isRefused, fields: { action: 'approve_until', version } }, words)}</details>`
}

/** The grants to this peer alone. */
export function grantList(values: TrustPeerValues, { ends: words }: Messages): Html | string {
  const { grants, trust } = values
  if (grants.length === 0) return ''
  return html`<section class="card" id="grants" aria-labelledby="grants-title"><h2 id="grants-title">${words.grants(trust.peer.name)}</h2>
${grants.map((grant, index) => grantView(values, grant, index, words))}</section>`
}

function grantView(values: TrustPeerValues, grant: GrantRow, index: number, words: Words): Html {
  const { form_action, rights_version: version } = values
  const { category, subject, pattern, may, ends } = grant
  return html`<div class="connected"><p>${words.grant(subject, may, pattern, ends === null ? null : exactView(ends))}</p>
${values.fresh_href === null ? endForm(values, { id: `grant-${index}-until`, ends, isRefused: false, fields: { action: 'grant_until', category, pattern, version } }, words) : ''}
<form method="post" action="${form_action}">${forgeryField(values)}${hiddenFields({ action: 'withdraw_grant', category, pattern, version })}<button class="quiet" type="submit">${words.withdraw(may, pattern)}</button></form></div>`
}

interface EndForm {
  readonly id: string
  readonly ends: Moment | null
  readonly isRefused: boolean
  readonly fields: Readonly<Record<string, string>>
}

function endForm(values: TrustPeerValues, { id, ends, isRefused, fields }: EndForm, words: Words): Html {
  return html`<form method="post" action="${values.form_action}">${forgeryField(values)}${hiddenFields(fields)}${formField(
    {
      id,
      name: 'until',
      label: words.end,
      value: ends === null ? '' : ends.at.slice(0, 19),
      hint: words.endHint,
      error: isRefused && values.error_field === 'until' ? values.error : null,
      attributes: { type: 'datetime-local', step: '1' },
    },
  )}<button type="submit">${words.save}</button></form>`
}
