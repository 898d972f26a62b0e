/** Views of `/admin/operators`, and of the link of the first operator. */
import { html } from 'hono/html'
import { formField, verbatim } from '../shared/form-field.ts'
import { confirmation } from '../shared/forms.ts'
import { forgeryField, page, type PageContext } from '../shared/layout.ts'
import { momentView } from '../shared/time.ts'
import type { Html } from '../shared/values.ts'
import { operatorPage } from './operator-layout.ts'
import type { FirstOperatorValues, OperatorTeamValues } from './values.ts'

export function operatorTeamPage(values: OperatorTeamValues, context: PageContext): Html {
  const { operator: words } = context.messages
  const { configured, stored, error, typed, form_action } = values
  return operatorPage(
    values,
    { ...context, title: words.team, section: '/operators' },
    html`
<h1>${words.team}</h1>
<p class="lead">${words.teamText}</p>
${configured.length === 0 ? '' : html`<section class="card" aria-labelledby="configured"><h2 id="configured">${words.configuredTeam}</h2><ul>${configured.map((name) => html`<li><code class="inline">${name}</code></li>`)}</ul></section>`}
${stored.map(
  ({ name, added, added_by, is_removable }) =>
    html`<section class="card"><h2><code class="inline">${name}</code></h2><p class="fine">${momentView(added)} · ${words.addedBy(added_by)}</p>
${
  is_removable
    ? confirmation(
        values,
        {
          action: form_action,
          fields: { action: 'remove', name },
          summary: words.removeOperator,
          warning: words.removeOperatorText(name),
          button: words.removeOperator,
          isDanger: true,
        },
        context.messages,
      )
    : html`<p class="fine">${words.lastOperator}</p>`
}</section>
`,
)}
<form class="card" method="post" action="${form_action}">${forgeryField(values)}<input type="hidden" name="action" value="add">
<h2>${words.addOperator}</h2>
${formField({ id: 'name', name: 'name', label: words.operatorName, value: typed, error, isOnlyMessage: true, attributes: { ...verbatim, required: true, maxlength: '512' } })}
<p class="fine">${words.operatorNameText}</p>
<button type="submit">${words.addOperator}</button></form>`,
  )
}

export function firstOperatorPage(values: FirstOperatorValues, { messages }: PageContext): Html {
  const { operator: words } = messages
  return page(
    { ...values, title: words.begin, messages },
    html`<section class="card"><h1>${words.begin}</h1>${step(values, words)}</section>`,
  )
}

function step(
  { step: at, candidate, action, code, csrf_token, sign_in_href }: FirstOperatorValues,
  words: PageContext['messages']['operator'],
): Html {
  switch (at) {
    case 'explain':
      return html`<p class="lead">${words.beginText}</p><p>${words.beginSignIn}</p>
<form method="post" action="${action}"><input type="hidden" name="code" value="${code}"><button type="submit">${words.beginContinue}</button></form>`
    case 'confirm':
      return html`<p class="lead">${words.beginAs(candidate)}</p><p>${words.beginOther}</p>
<form class="actions" method="post" action="${action}"><input type="hidden" name="csrf_token" value="${csrf_token}"><input type="hidden" name="name" value="${candidate}"><button type="submit">${words.beginButton}</button><a class="button quiet" href="${sign_in_href}">${words.beginOtherLink}</a></form>`
    case 'unproven':
      return html`<p class="lead">${words.beginUnproven}</p><p><a class="button" href="${sign_in_href}">${words.beginOtherLink}</a></p>`
    default:
      return at satisfies never
  }
}
