/** The form that creates an API key, and the key that it created. */
import { html } from 'hono/html'
import { icon } from '../shared/icons.ts'
import type { Messages } from '../languages/language.ts'
import { checkField, type Field, formField, selectField, verbatim } from '../shared/form-field.ts'
import { copyButton, hiddenFields, signInAgain } from '../shared/forms.ts'
import { forgeryField } from '../shared/layout.ts'
import type { Html } from '../shared/values.ts'
import { emptyKey, type KeyField, keyReaches } from './new-key.ts'
import type { AppsValues } from './values.ts'

/** The field that was refused; null without one. */
export function wrongKeyField({ typed_key, error_field }: AppsValues): string | null {
  return typed_key === null ? null : error_field
}

export function createdKeyCard({ created_key }: AppsValues, messages: Messages): Html | string {
  if (created_key === null) return ''
  const { newKey: words } = messages
  return html`<section class="card urgent" id="created-key" role="status" tabindex="-1" autofocus aria-labelledby="created-key-title"><h2 id="created-key-title">${words.created}</h2>
<p>${words.createdText(created_key.name)}</p>
<dl class="facts"><dt>${words.key}</dt><dd><code id="key-text">${created_key.key}</code></dd></dl>
${copyButton('key-text', words.key, messages)}</section>`
}

export function keyForm(values: AppsValues, messages: Messages): Html {
  const { newKey: words } = messages
  const { typed_key, error, form_action, fresh_href } = values
  if (fresh_href !== null)
    return html`<details class="card" id="new-key"${typed_key === null ? '' : html` open`}><summary>${icon('key')} ${words.title}</summary>
${signInAgain(fresh_href, messages)}</details>`
  const typed = typed_key ?? emptyKey
  const wrong = wrongKeyField(values)
  const field = (name: KeyField, value: string): Field => ({
    id: name,
    name,
    label: words[name],
    value,
    error: wrong === name ? error : null,
  })
  const reaches = keyReaches.map((value) => ({ value, label: words.reaches[value] }))
  return html`<details class="card" id="new-key"${typed_key === null ? '' : html` open`}><summary>${icon('key')} ${words.title}</summary>
<p>${words.text}</p>
<form method="post" action="${form_action}">${forgeryField(values)}${hiddenFields({ action: 'create_key' })}
${formField({ ...field('name', typed.name), hint: words.nameHint, attributes: { required: true, maxlength: '200', autocomplete: 'off' } })}
${selectField(field('properties', typed.properties), reaches)}
${formField({ ...field('names', typed.names), hint: words.namesHint, rows: 2, attributes: verbatim })}
${selectField(field('files', typed.files), reaches)}
${checkField({ id: 'runs', name: 'runs', label: words.runs, value: '1' }, typed.runs)}
${formField({ ...field('until', typed.until), hint: words.untilHint, attributes: { type: 'date' } })}
<button type="submit">${words.create}</button></form></details>`
}
