/** View of the form that overrides a peer's rights, with a preview of the effect. */
import { html } from 'hono/html'
import type { Messages } from '../languages/language.ts'
import { formField } from '../shared/form-field.ts'
import { confirmation, hiddenFields } from '../shared/forms.ts'
import { forgeryField } from '../shared/layout.ts'
import { type RightsLine, verbOf } from '../shared/rights.ts'
import type { RightsFieldset, RightsPreview, TrustPeerValues } from './values.ts'
import type { Html } from '../shared/values.ts'

type Words = Messages['editAccess']

export function rightsList(lines: readonly RightsLine[]): Html {
  return html`<dl class="rights">${lines.map(
    ({ subject, sentences, is_granted }) =>
      html`<div class="${is_granted ? 'granted' : 'closed'}"><dt>${subject}</dt><dd>${sentences.join(' ')}</dd></div>`,
  )}</dl>`
}

export function rightsForm(values: TrustPeerValues, messages: Messages): Html | string {
  if (values.is_member || values.fresh_href !== null) return ''
  const words = messages.editAccess
  const { fieldsets, is_editing, preview, form_action, trust, rights_version } = values
  return html`<details class="card" id="change"${is_editing ? html` open` : ''}><summary>${words.title}</summary>
<p>${words.text(trust.relationship_name)}</p>
<form method="post" action="${form_action}/permissions">${forgeryField(values)}${hiddenFields({ step: 'preview', version: rights_version })}
${fieldsets.map((each) => fieldset(values, each, messages))}
<button type="submit">${words.preview}</button></form>
${
  trust.has_custom_permissions
    ? confirmation(
        values,
        {
          action: `${form_action}/permissions`,
          fields: { step: 'reset', version: rights_version },
          summary: words.reset(trust.relationship_name),
          warning: words.resetText(trust.peer.name),
          button: words.resetButton,
          isDanger: true,
        },
        messages,
      )
    : ''
}</details>
${preview === null ? '' : previewCard(values, preview, words)}`
}

function fieldset(
  { error, error_field, trust }: TrustPeerValues,
  { category, subject, fields, matches, name_count, operations, by_type, has_patterns, has_names }: RightsFieldset,
  messages: Messages,
): Html {
  const { editAccess: words } = messages
  const texts = ['patterns', 'excluded_patterns', 'allowed', 'denied'] as const
  const isWrong = error_field?.startsWith(`${category}.`) === true
  const isUsed = isWrong || fields.only || texts.some((text) => fields[text] !== '')
  const area = (part: (typeof texts)[number], label: string): Html => {
    const id = `${category}-${part}`
    const text = fields[part]
    const matched = text === '' ? null : matches[part]
    return formField({
      id,
      name: `${category}.${part}`,
      label,
      value: text,
      rows: Math.min(8, Math.max(2, text.split('\n').length)),
      ...(matched === null ? {} : { hint: words.matches(matched, name_count) }),
      error: error_field === `${category}.${part}` ? error : null,
      attributes: { spellcheck: 'false', autocapitalize: 'none' },
    })
  }
  return html`<details class="part"${isUsed ? html` open` : ''}><summary>${subject}</summary>
<p class="fine">${words.byLevel(trust.relationship_name, by_type)}</p>
${
  has_patterns
    ? html`<div class="pair">${area('patterns', words.patterns)}${area('excluded_patterns', words.excluded_patterns)}</div>
<fieldset><legend>${words.permissions}</legend>${operations.map(
        (operation) =>
          html`<label class="choice"><input type="checkbox" name="${category}.operations.${operation}" value="1"${fields.operations.includes(operation) ? html` checked` : ''}> ${verbOf(operation, messages)}</label>`,
      )}</fieldset>`
    : ''
}
${has_names ? html`<div class="pair">${area('allowed', has_patterns ? words.allowed : words.patterns)}${area('denied', words.denied)}</div>` : ''}
<label class="choice"><input type="checkbox" name="${category}.only" value="1"${fields.only ? html` checked` : ''}> ${words.only(trust.relationship_name)}</label>
</details>`
}

function previewCard(values: TrustPeerValues, { lines, gained, lost, fields }: RightsPreview, words: Words): Html {
  const { form_action } = values
  return html`<section class="card urgent" id="preview" aria-labelledby="preview-title" tabindex="-1" autofocus>
<h2 id="preview-title">${words.review}</h2>
${values.error === null ? '' : html`<p>${words.storedNow} <span class="names">${rightsNow(values, words)}</span></p>`}
${rightsList(lines)}
${
  gained.length + lost.length === 0
    ? html`<p>${words.noEffect}</p>`
    : html`<p>${words.effect}</p><div class="pair">${changes(words.gained, gained)}${changes(words.lost, lost)}</div>`
}
<p class="fine">${words.notSaved}</p>
<div class="actions"><form method="post" action="${form_action}/permissions">${forgeryField(values)}${hiddenFields({ ...fields, step: 'save', version: values.rights_version })}<button type="submit">${words.save}</button></form>
<a class="button quiet" href="${form_action}">${words.cancel}</a></div>
</section>`
}

/** Describes the rights that were stored meanwhile. */
function rightsNow({ rights }: TrustPeerValues, words: Words): Html {
  return html`${rights
    .filter(({ is_granted: isGranted }) => isGranted)
    .map(({ subject, sentences }) => html`${words.stored(subject, sentences)} `)}`
}

function changes(title: string, all: readonly string[]): Html | string {
  return all.length === 0
    ? ''
    : html`<div><h3>${title}</h3><ul class="dense">${all.map((each) => html`<li>${each}</li>`)}</ul></div>`
}
