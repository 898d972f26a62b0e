/** View of `/<actor>/www/password-access`: programs that created an account under the owner's name, and the decision. */
import { html } from 'hono/html'
import type { Messages } from '../languages/language.ts'
import { confirmation, hiddenFields, signInAgain } from '../shared/forms.ts'
import { actorPage, forgeryField, type PageContext } from '../shared/layout.ts'
import { momentView } from '../shared/time.ts'
import type { PasswordAccessValues, ProgramWithPassword } from './values.ts'
import type { Html } from '../shared/values.ts'

type Words = Messages['passwordAccess']

export function passwordAccessPage(values: PasswordAccessValues, context: PageContext): Html {
  const { programs, actor_www } = values
  const { passwordAccess: words, navigation } = context.messages
  return actorPage(
    values,
    {
      ...context,
      title: words.title,
      section: '/apps',
      trail: [{ text: navigation.apps, href: `${actor_www}/apps` }],
    },
    html`
<h1>${words.title}</h1>
<p class="lead">${words.text}</p>
${programs.length === 0 ? html`<p class="empty">${words.empty}</p>` : programs.map((program, index) => card(values, program, index, context.messages))}
${values.is_complete ? '' : html`<p class="fine">${words.firstShown(programs.length)}</p>`}`,
  )
}

function card(values: PasswordAccessValues, program: ProgramWithPassword, index: number, messages: Messages): Html {
  const { passwordAccess: words } = messages
  const id = `program-${index + 1}`
  return html`<section class="card${program.decision === 'pending' ? ' urgent' : ''}" aria-labelledby="${id}">
<h2 id="${id}">${program.is_own ? words.own : words.other}</h2>
<p>${question(program, words)}</p>
<dl class="facts">
<dt>${words.address}</dt><dd><code>${program.address}</code></dd>
<dt>${words.creator}</dt><dd><code>${program.creator}</code></dd>
<dt>${words.proven}</dt><dd>${momentView(program.proven)}</dd>
</dl>
<p>${reach(program, words)}</p>
${program.decision === 'revoked' ? '' : decisions(values, program, messages)}
</section>`
}

function question({ decision, is_own: isOwn }: ProgramWithPassword, words: Words): string {
  if (decision === 'pending') return isOwn ? words.ownPending : words.otherPending
  if (decision === 'kept') return isOwn ? words.ownKept : words.otherKept
  return isOwn ? words.ownRevoked : words.otherRevoked
}

function reach({ is_own: isOwn, decision }: ProgramWithPassword, words: Words): string {
  if (decision === 'revoked') return words.reachRevoked
  return isOwn ? words.reachOwn : words.reachOther
}

function decisions(
  values: PasswordAccessValues,
  { actor, creator, decision }: ProgramWithPassword,
  messages: Messages,
): Html {
  const { form_action, fresh_href } = values
  const { passwordAccess: words } = messages
  return html`${
    decision === 'kept'
      ? ''
      : fresh_href !== null
        ? signInAgain(fresh_href, messages)
        : html`<form method="post" action="${form_action}">${forgeryField(values)}${hiddenFields({ action: 'keep', actor })}<button type="submit">${words.keep(creator, actor)}</button></form>`
  }
${confirmation(
  values,
  {
    action: form_action,
    fields: { action: 'revoke', actor },
    summary: words.revoking,
    warning: words.revokeText,
    button: words.revoke,
    isDanger: true,
  },
  messages,
)}`
}
