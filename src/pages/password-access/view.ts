/** View of `/<actor>/www/password-access`: programs that created an account under the owner's name, and the decision. */
import { html } from 'hono/html'
import { confirmation, hiddenFields } from '../shared/forms.ts'
import { actorPage, forgeryField, type Navigation } from '../shared/layout.ts'
import { momentView } from '../shared/time.ts'
import type { PasswordAccessValues, ProgramWithPassword } from './values.ts'
import type { Html } from '../shared/values.ts'

export function passwordAccessPage(values: PasswordAccessValues, navigation: Navigation): Html {
  const { programs, actor_www } = values
  return actorPage(
    values,
    {
      title: 'Programs with a password',
      section: '/apps',
      navigation,
      trail: [{ text: 'Connected apps', href: `${actor_www}/apps` }],
    },
    html`
<h1>Programs with a password</h1>
<p class="lead">A program can create an account under any name, with a password of its own. You proved that the name is yours, so you decide.</p>
${programs.length === 0 ? html`<p class="empty">No program created an account under your name.</p>` : programs.map((program, index) => card(values, program, index))}
${values.is_complete ? '' : html`<p class="fine">Only the first ${programs.length} are shown. Decide about these, and the next ones appear.</p>`}`,
  )
}

function card(values: PasswordAccessValues, program: ProgramWithPassword, index: number): Html {
  const id = `program-${index + 1}`
  return html`<section class="card${program.decision === 'pending' ? ' urgent' : ''}" aria-labelledby="${id}">
<h2 id="${id}">${program.is_own ? 'This account' : 'Another account under your name'}</h2>
<p>${program.is_own ? 'This account' : 'It'} was created by a program with a password. ${question(program)}</p>
<dl class="facts">
<dt>Address of the account</dt><dd><code>${program.address}</code></dd>
<dt>Name in the program’s credentials</dt><dd><code>${program.creator}</code></dd>
<dt>You proved that the name is yours</dt><dd>${momentView(program.proven)}</dd>
</dl>
<p>${reach(program)}</p>
${program.decision === 'revoked' ? '' : decisions(values, program)}
</section>`
}

function question({ decision }: ProgramWithPassword): string {
  if (decision === 'pending') return 'Keep or revoke its access.'
  return decision === 'kept' ? 'You keep its access.' : 'You revoked its access.'
}

function reach({ is_own, decision }: ProgramWithPassword): string {
  if (decision === 'revoked') return 'The password no longer works. What the account holds is still there.'
  return is_own
    ? 'Until you revoke it, anyone with the password reads and changes everything in this account, as you do.'
    : 'Anyone with the password reads and changes that account. The password opens nothing of yours, and you do not see what that account holds.'
}

function decisions(values: PasswordAccessValues, { actor, creator, decision }: ProgramWithPassword): Html {
  const { form_action } = values
  return html`${
    decision === 'kept'
      ? ''
      : html`<form method="post" action="${form_action}">${forgeryField(values)}${hiddenFields({ action: 'keep', actor })}<button type="submit">Keep access<span class="unseen"> of ${creator} to ${actor}</span></button></form>`
  }
${confirmation(values, {
  action: form_action,
  fields: { action: 'revoke', actor },
  summary: 'Revoke access…',
  warning:
    'The password stops working at once, for good. What the account holds stays, and so do relationships and apps that the program connected.',
  button: 'Revoke access',
  isDanger: true,
})}`
}
