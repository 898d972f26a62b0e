/** View of the form that overrides a peer's rights, with a preview of the effect. */
import { html } from 'hono/html'
import { formField } from '../shared/form-field.ts'
import { confirmation, hiddenFields } from '../shared/forms.ts'
import { forgeryField } from '../shared/layout.ts'
import { type RightsLine, verbOf } from '../shared/rights.ts'
import { fieldLabels } from './rights-answer-view.ts'
import type { RightsFieldset, RightsPreview, TrustPeerValues } from './values.ts'
import type { Html } from '../shared/values.ts'

export function rightsList(lines: readonly RightsLine[]): Html {
  return html`<dl class="rights">${lines.map(
    ({ subject, sentences, is_granted }) =>
      html`<div class="${is_granted ? 'granted' : 'closed'}"><dt>${subject}</dt><dd>${sentences.join(' ')}</dd></div>`,
  )}</dl>`
}

export function rightsForm(values: TrustPeerValues): Html {
  const { fieldsets, is_editing, preview, form_action, trust, rights_version } = values
  return html`<details class="card" id="change"${is_editing ? html` open` : ''}><summary>Change these rights</summary>
<p>Names stand one to a line. <code>*</code> is any run of characters: <code>notes/*</code> is everything in notes. What this kind of relationship excludes stays excluded.</p>
<form method="post" action="${form_action}/permissions">${forgeryField(values)}${hiddenFields({ step: 'preview', version: rights_version })}
${fieldsets.map((each) => fieldset(values, each))}
<button type="submit">Look at what that means</button></form>
${
  trust.has_custom_permissions
    ? confirmation(values, {
        action: `${form_action}/permissions`,
        fields: { step: 'reset', version: rights_version },
        summary: 'Back to the usual rights…',
        warning: `What you chose for ${trust.peer.name} will be forgotten. It may do then what ${trust.relationship_name} lets everybody do.`,
        button: 'Forget what I chose',
        isDanger: true,
      })
    : ''
}</details>
${preview === null ? '' : previewCard(values, preview)}`
}

function fieldset(
  { error, error_field }: TrustPeerValues,
  { category, subject, fields, operations, by_type, has_patterns, has_names }: RightsFieldset,
): Html {
  const texts = ['patterns', 'excluded_patterns', 'allowed', 'denied'] as const
  const isWrong = error_field?.startsWith(`${category}.`) === true
  const isUsed = isWrong || fields.only || texts.some((text) => fields[text] !== '')
  const area = (part: (typeof texts)[number], label: string): Html => {
    const id = `${category}-${part}`
    const text = fields[part]
    return formField({
      id,
      name: `${category}.${part}`,
      label,
      value: text,
      rows: Math.min(8, Math.max(2, text.split('\n').length)),
      error: error_field === `${category}.${part}` ? error : null,
      attributes: { spellcheck: 'false', autocapitalize: 'none' },
    })
  }
  return html`<details class="part"${isUsed ? html` open` : ''}><summary>${subject}</summary>
<p class="fine">By its kind of relationship: ${by_type.join(' ')}</p>
${
  has_patterns
    ? html`<div class="pair">${area('patterns', fieldLabels.patterns)}${area('excluded_patterns', fieldLabels.excluded_patterns)}</div>
<fieldset><legend>May do with them</legend>${operations.map(
        (operation) =>
          html`<label class="choice"><input type="checkbox" name="${category}.operations.${operation}" value="1"${fields.operations.includes(operation) ? html` checked` : ''}> ${verbOf(operation)}</label>`,
      )}</fieldset>`
    : ''
}
${has_names ? html`<div class="pair">${area('allowed', has_patterns ? fieldLabels.allowed : fieldLabels.patterns)}${area('denied', fieldLabels.denied)}</div>` : ''}
<label class="choice"><input type="checkbox" name="${category}.only" value="1"${fields.only ? html` checked` : ''}> Only what stands here, not what its kind of relationship grants besides</label>
</details>`
}

function previewCard(values: TrustPeerValues, { lines, gained, lost, fields }: RightsPreview): Html {
  const { trust, form_action } = values
  return html`<section class="card urgent" id="preview" aria-labelledby="preview-title" tabindex="-1" autofocus>
<h2 id="preview-title">What ${trust.peer.name} could do then</h2>
${values.error === null ? '' : html`<p>Stored now: <span class="names">${rightsNow(values)}</span></p>`}
${rightsList(lines)}
${
  gained.length + lost.length === 0
    ? html`<p>For what you have now nothing would change.</p>`
    : html`<p>For what you have now:</p><div class="pair">${changes('It could then', gained)}${changes('It could no longer', lost)}</div>`
}
<p class="fine">Nothing is saved yet. The form above has what you typed, to change it further.</p>
<div class="actions"><form method="post" action="${form_action}/permissions">${forgeryField(values)}${hiddenFields({ ...fields, step: 'save', version: values.rights_version })}<button type="submit">Save these rights</button></form>
<a class="button quiet" href="${form_action}">Leave it as it is</a></div>
</section>`
}

/** Describes the rights that were stored meanwhile. */
function rightsNow({ rights }: TrustPeerValues): Html {
  return html`${rights
    .filter(({ is_granted: isGranted }) => isGranted)
    .map(({ subject, sentences }) => html`${subject}: ${sentences.join(' ')} `)}`
}

function changes(title: string, all: readonly string[]): Html | string {
  return all.length === 0
    ? ''
    : html`<div><h3>${title}</h3><ul class="dense">${all.map((each) => html`<li>${each}</li>`)}</ul></div>`
}
