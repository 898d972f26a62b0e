/** `/<actor>/www/approvals/<id>`: one call that needs the owner's approval, which the owner allows once or refuses. */
import { html } from 'hono/html'
import type { ApprovalRow, ApprovalValues } from './values.ts'
import { actorPage, following, forgeryField, type Navigation } from '../shared/layout.ts'
import { momentView } from '../shared/time.ts'
import { valueView } from '../shared/value-view.ts'
import type { Html } from '../shared/values.ts'

export function approvalPage(values: ApprovalValues, navigation: Navigation): Html {
  const { approval, actor_www } = values
  const { peer, title, description, kind, operation } = approval
  return actorPage(
    values,
    {
      title,
      section: '/apps',
      navigation,
      trail: [
        { text: 'Connected apps', href: `${actor_www}/apps` },
        { text: 'Waiting for your yes', href: `${actor_www}/approvals` },
      ],
    },
    following(
      'approval',
      ['approvals'],
      html`
<h1>${peer.name} asks: ${title}</h1>
<section class="card${approval.state === 'waiting' ? ' urgent' : ''}" aria-label="What it wants to do">
<p>${description}</p>
<h2>With exactly this</h2>
${valueView(values.arguments)}
${approval.state === 'waiting' ? decision(values) : html`<p class="answer"><strong>${decided[approval.state]}</strong></p>`}
</section>
<p class="fine">The ${kindWords[kind]} <code>${operation}</code>, requested ${momentView(approval.asked)} by ${peer.href === '' ? peer.name : html`<a href="${peer.href}">${peer.name}</a>`}.</p>`,
      approval.id,
    ),
  )
}

const kindWords: Readonly<Record<ApprovalRow['kind'], string>> = {
  methods: 'method',
  actions: 'action',
  tools: 'tool',
  prompts: 'prompt',
  resources: 'resource',
}

const decided: Readonly<Record<Exclude<ApprovalRow['state'], 'waiting'>, string>> = {
  approved: 'You allowed it. It waits for the caller to make the call again.',
  denied: 'You refused it.',
  used: 'You allowed it, and it was done.',
}

function decision(values: ApprovalValues): Html {
  const { form_action, approval } = values
  const button = (choice: string, text: string, quiet: boolean): Html =>
    html`<form method="post" action="${form_action}">${forgeryField(values)}<input type="hidden" name="decision" value="${choice}"><button${quiet ? html` class="quiet"` : ''} type="submit">${text}</button></form>`
  return html`<p class="fine">Your yes is for this one call. The question ends ${momentView(approval.expires)}.</p>
<div class="actions">${button('allow', 'Allow once', false)}${button('refuse', 'Refuse', true)}</div>`
}
