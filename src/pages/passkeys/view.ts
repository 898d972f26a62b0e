/** View of `/<actor>/www/passkeys`. */
import { html } from 'hono/html'
import type { Messages } from '../languages/language.ts'
import { formField } from '../shared/form-field.ts'
import { confirmation, hiddenFields, signInAgain } from '../shared/forms.ts'
import { actorPage, following, forgeryField, type PageContext } from '../shared/layout.ts'
import { momentView } from '../shared/time.ts'
import type { Html } from '../shared/values.ts'
import { passkeyForm } from './passkey-form.ts'
import { passkeyScript } from './passkey-script.ts'
import { codeList } from './recovery-codes-view.ts'
import type { PasskeyRow, PasskeysValues } from './values.ts'

type Words = Messages['passkeys']

export function passkeysPage(values: PasskeysValues, context: PageContext): Html {
  const { passkeys: words, navigation } = context.messages
  const { passkeys, new_codes } = values
  return actorPage(
    values,
    {
      ...context,
      title: words.title,
      section: '/settings',
      trail: [{ text: navigation.settings, href: `${values.actor_www}/settings` }],
      isAnswer: new_codes !== null,
      scripts: [passkeyScript],
    },
    html`
<h1>${words.title}</h1>
<p class="lead">${words.aboutText}</p>
${new_codes === null ? '' : newCodes(new_codes, context.messages)}
${following(
  'passkeys',
  ['sessions'],
  passkeys.length === 0
    ? html`<p class="empty">${words.none}</p>`
    : html`<ul class="rows">${passkeys.map((passkey) => row(values, passkey, context.messages))}</ul>`,
)}
${values.fresh_href === null ? '' : html`<section class="card">${signInAgain(values.fresh_href, context.messages)}</section>`}
${adding(values, words)}
${recovery(values, context.messages)}`,
  )
}

function newCodes(codes: readonly string[], messages: Messages): Html {
  const { passkeys: words } = messages
  return html`<section class="card urgent" role="status" tabindex="-1" autofocus aria-labelledby="codes-title"><h2 id="codes-title">${words.codes}</h2>
<p>${words.codesText}</p>
${codeList(codes, messages)}</section>`
}

function row(
  values: PasskeysValues,
  { id, name, created, last_used, is_synced, fingerprint }: PasskeyRow,
  messages: Messages,
): Html {
  const { passkeys: words } = messages
  return html`<li><div class="row-head"><strong>${name}</strong></div>
<p class="kind">${words.facts(momentView(created), last_used === null ? null : momentView(last_used), is_synced)}</p>
<details class="fold"><summary>${words.rename(name)}</summary>
<form method="post" action="${values.form_action}">${forgeryField(values)}${hiddenFields({ action: 'rename', passkey: id })}
${formField({ id: `name-${id}`, name: 'name', label: words.name, value: name, attributes: nameAttributes })}
<button type="submit">${words.saveName}</button></form><p class="fine">${words.fingerprint} <code>${fingerprint}</code></p></details>
${
  values.fresh_href === null
    ? confirmation(
        values,
        {
          action: values.form_action,
          fields: { action: 'remove', passkey: id },
          summary: words.remove(name),
          warning: words.removeText,
          button: words.removeButton,
          isDanger: true,
        },
        messages,
      )
    : ''
}</li>`
}

const nameAttributes = { autocomplete: 'off', required: true, maxlength: '100' } as const

function adding(values: PasskeysValues, words: Words): Html | string {
  const { creation_options: options, ticket, form_action, csrf_token, fresh_href } = values
  if (fresh_href !== null) return ''
  if (options === null) return html`<p class="fine">${words.off}</p>`
  return html`<section class="card" aria-labelledby="add"><h2 id="add">${words.add}</h2>
<p>${words.addText}</p>
${passkeyForm(
  {
    action: form_action,
    kind: 'create',
    options,
    fields: { csrf_token, action: 'add', ticket },
    content: formField({
      id: 'name',
      name: 'name',
      label: words.name,
      value: values.new_name,
      hint: words.nameHint,
      attributes: nameAttributes,
    }),
    button: words.addButton,
    isMain: true,
  },
  words,
)}</section>`
}

function recovery(values: PasskeysValues, messages: Messages): Html | string {
  const { passkeys, code_count: count } = values
  const { passkeys: words } = messages
  if (passkeys.length === 0) return ''
  return html`<section class="card" aria-labelledby="recovery"><h2 id="recovery">${words.codes}</h2>
<p>${words.codesLeft(count)}</p>
${
  values.fresh_href === null
    ? confirmation(
        values,
        {
          action: values.form_action,
          fields: { action: 'new_codes' },
          summary: words.newCodes,
          warning: words.newCodesText,
          button: words.newCodesButton,
        },
        messages,
      )
    : ''
}</section>`
}
