/** `/<actor>/www/approvals/<id>`: one call that needs the owner's approval, which the owner allows once or refuses. */
import { html } from 'hono/html'
import type { ApprovalRow, ApprovalValues } from './values.ts'
import type { Messages } from '../languages/language.ts'
import { actorPage, following, forgeryField, type PageContext } from '../shared/layout.ts'
import { momentView } from '../shared/time.ts'
import type { ValueTree } from '../shared/value-tree.ts'
import { valueView } from '../shared/value-view.ts'
import type { Html } from '../shared/values.ts'

type Words = Messages['approvals']

export function approvalPage(values: ApprovalValues, context: PageContext): Html {
  const { approval, actor_www } = values
  const { messages } = context
  const words = messages.approvals
  const { peer, title, description, kind, operation } = approval
  return actorPage(
    values,
    {
      ...context,
      title,
      section: '/apps',
      trail: [
        { text: messages.navigation.apps, href: `${actor_www}/apps` },
        { text: words.title, href: `${actor_www}/approvals` },
      ],
    },
    following(
      'approval',
      ['approvals'],
      html`
<h1>${words.wants(peer.name, title)}</h1>
<section class="card${approval.state === 'waiting' ? ' urgent' : ''}" aria-label="${words.requestedBy(peer.name)}">
<p>${description}</p>
<h2>${words.details}</h2>
${isEmpty(values.arguments) ? html`<p>${words.noInput}</p>` : valueView(values.arguments, messages)}
${approval.state === 'waiting' ? decision(values, words) : html`<p class="answer"><strong>${outcomeOf(approval, words)}</strong></p>`}
</section>
<p class="fine">${messages.calls[kind](operation, momentView(approval.asked), peer.href === '' ? peer.name : html`<a href="${peer.href}">${peer.name}</a>`)}</p>`,
      approval.id,
    ),
  )
}

function isEmpty(tree: ValueTree): boolean {
  return tree.kind === 'object' && tree.members.length === 0
}

function outcomeOf({ state, peer }: ApprovalRow, words: Words): string {
  if (state === 'approved') return words.approved(peer.name)
  return state === 'denied' ? words.denied : words.used
}

function decision(values: ApprovalValues, words: Words): Html {
  const { form_action, approval } = values
  const button = (choice: string, text: string, quiet: boolean): Html =>
    html`<form method="post" action="${form_action}">${forgeryField(values)}<input type="hidden" name="decision" value="${choice}"><button${quiet ? html` class="quiet"` : ''} type="submit">${text}</button></form>`
  return html`<p class="fine">${words.once(momentView(approval.expires))}</p>
<div class="actions">${button('allow', words.allow, false)}${button('refuse', words.deny, true)}</div>`
}
