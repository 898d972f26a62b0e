/** View of `/<actor>/www/trust/<peerid>`: a peer, its rights with their reasons, and the forms to change them. */
import { html } from 'hono/html'
import { operationsOf, ruledCategories } from '../../permission/rules.ts'
import { confirmationField, levelChoice, reviewView } from './access-review-view.ts'
import { confirmation, hiddenFields } from '../shared/forms.ts'
import { actorPage, following, forgeryField, type Navigation } from '../shared/layout.ts'
import { approvalEnd, grantList } from './end-forms-view.ts'
import { momentView } from '../shared/time.ts'
import { rightsForm, rightsList } from './rights-form-view.ts'
import { subjects, verbOf } from '../shared/rights.ts'
import { badge } from './list-view.ts'
import type { AccessReview, TrustPeerValues } from './values.ts'
import type { Html } from '../shared/values.ts'

export function trustPeerPage(values: TrustPeerValues, navigation: Navigation): Html {
  const { trust, actor_www } = values
  const { peer } = trust
  return actorPage(
    values,
    {
      title: peer.name,
      section: '/trust',
      navigation,
      trail: [{ text: 'Relationships', href: `${actor_www}/trust` }],
      isAnswer: values.is_editing || (values.level?.review ?? null) !== null,
      wrongField: wrongFieldOf(values),
    },
    html`
${following('peer', ['trust', 'subscriptions'], html`${head(values)}${decision(values)}${facts(values)}${follow(values)}${rights(values)}`, peer.peerid)}
${following('grants', ['trust'], html`${grantList(values)}${approvalEnd(values)}`, peer.peerid)}
${mayBox(values)}
${following('rights', ['trust'], rightsForm(values), peer.peerid)}
${following('access-level', ['trust'], html`${level(values)}`, peer.peerid)}
${ending(values)}`,
  )
}

function head({ trust }: TrustPeerValues): Html {
  return html`<h1>${trust.peer.name}</h1>
<p class="lead">${badge(trust.standing, trust.standing_word)} ${trust.standing_text}</p>`
}

/** Returns the id of the refused field. */
function wrongFieldOf({ error_field: field, typed, trust, level }: TrustPeerValues): string | null {
  if (field === 'confirmation')
    return typed.action === 'level' ? 'level-confirmation' : trust.approved ? null : 'confirmation'
  if (field === 'trust_type') return level === null ? null : 'level-type'
  // Fields of the rights form have names such as `properties.patterns`.
  return field === null ? null : field.replace('.', '-')
}

/** Returns the error for a field, if the form of this action was refused because of the field. */
function errorOf({ error, error_field, typed }: TrustPeerValues, action: string, field: string): string | null {
  return error_field === field && typed.action === action ? error : null
}

function decision(values: TrustPeerValues): Html | string {
  const { trust, form_action, approval, typed } = values
  if (approval === null) return ''
  const isAsking = trust.standing === 'waiting'
  return html`<section class="card${isAsking ? ' urgent' : ''}" aria-labelledby="decision">
<h2 id="decision">${isAsking ? 'Will you approve it?' : 'Approve it again?'}</h2>
${isAsking && trust.desc !== '' ? html`<p>It says: <q>${trust.desc}</q></p>` : ''}
<p>${
    isAsking && !trust.verified && !trust.peer.is_app
      ? 'It did not prove that it is where it says it is. Approve it only if you expected it.'
      : 'If you approve, they get the access listed here.'
  }</p>
${approval.needs_confirmation ? reviewView(approval) : ''}
<div class="actions"><form method="post" action="${form_action}">${forgeryField(values)}${hiddenFields(approval.fields)}${confirmationField(
    'confirmation',
    approval,
    { typed: typed.action === 'approve' ? typed.confirmation : '', error: errorOf(values, 'approve', 'confirmation') },
  )}<button type="submit">Approve</button></form>${
    isAsking
      ? html`
<form method="post" action="${form_action}">${forgeryField(values)}${hiddenFields({ action: 'end', version: values.version })}<button class="quiet" type="submit">Refuse</button></form>`
      : ''
  }</div></section>`
}

/** The form that requests another trust type: choice, review, and a typed confirmation for a powerful type. */
function level(values: TrustPeerValues): Html | string {
  const { form_action, level: form, trust, typed } = values
  if (form === null) return ''
  if (form.review !== null) return levelReview(values, form.review)
  const error = errorOf(values, 'level', 'trust_type')
  return html`<details class="card" id="level"${typed.action === 'level' ? html` open` : ''}><summary>Change the access level</summary>
<p>Now: <strong>${trust.relationship_name}</strong>. ${trust.peer.name} gets a request for the new level, which holds for both of you.</p>
<form method="post" action="${form_action}">${forgeryField(values)}${hiddenFields({ action: 'level', step: 'review', version: values.version })}
${levelChoice('level-type', 'What they can access in your account', form.choices, { chosen: form.chosen, error })}
<button type="submit">Review change</button></form></details>`
}

function levelReview(values: TrustPeerValues, review: AccessReview): Html {
  const { form_action, typed, error } = values
  return html`<section class="card urgent" id="level" aria-labelledby="level-title" tabindex="-1"${error === null ? html` autofocus` : ''}>
<h2 id="level-title">Change the access level to ${review.level}?</h2>
${reviewView(review)}
<p class="fine">Nothing is sent yet. The new access starts as soon as the request arrives.</p>
<div class="actions"><form method="post" action="${form_action}">${forgeryField(values)}${hiddenFields(review.fields)}${confirmationField(
    'level-confirmation',
    review,
    { typed: typed.confirmation, error: errorOf(values, 'level', 'confirmation') },
  )}<button${review.needs_confirmation ? html` class="danger"` : ''} type="submit">Send request</button></form>
<a class="button quiet" href="${form_action}">Cancel</a></div>
</section>`
}

function facts({ trust, profile }: TrustPeerValues): Html {
  return html`<section class="card" aria-labelledby="facts"><h2 id="facts">Who it is</h2><dl class="facts">
${trust.baseuri === '' ? '' : html`<dt>Address</dt><dd><code>${trust.baseuri}</code></dd>`}
<dt>Relationship</dt><dd>${trust.relationship_name} <span class="kind">${trust.relationship_description}</span></dd>
${trust.peer.is_app ? '' : html`<dt>Kind of application</dt><dd>${trust.type}</dd>`}
<dt>Since</dt><dd>${momentView(trust.since)}</dd>
<dt>Last contact</dt><dd>${momentView(trust.last_contact)}</dd>
${trust.peer.is_app ? '' : html`<dt>Proved its address</dt><dd>${trust.verified ? 'Yes' : 'No'}</dd>`}
${trust.desc === '' || trust.standing === 'waiting' ? '' : html`<dt>Said when it was made</dt><dd>${trust.desc}</dd>`}
${profile.map(([name, text]) => html`<dt>Says of itself (${name})</dt><dd>${text}</dd>`)}
</dl></section>`
}

/** The form that follows the peer: the owner's subscription to the peer's data. */
function follow(values: TrustPeerValues): Html | string {
  const { trust, followed, form_action } = values
  if (trust.peer.is_app || trust.standing !== 'mutual') return ''
  const { name } = trust.peer
  return html`<section class="card" aria-labelledby="follow"><h2 id="follow">What changes there</h2>
${
  followed === null
    ? html`<p>Follow ${name}, and you see here what it shows you of its properties, as it changes.</p>
<form method="post" action="${form_action}">${forgeryField(values)}<input type="hidden" name="action" value="follow"><button type="submit">Follow ${name}</button></form>`
    : html`<p>You follow ${name}. <a href="${followed}">What you know of it</a></p>`
}</section>`
}

function rights({ trust, rights: lines, reach, form_action, actor_www }: TrustPeerValues): Html {
  return html`<section class="card" aria-labelledby="may"><h2 id="may">What it may do</h2>
${trust.approved ? '' : html`<p>Nothing now. Once approved:</p>`}
${rightsList(lines)}
${reach.length === 0 ? '' : html`<p class="warning"><strong>Beyond your data:</strong> ${reach.join(' ')}</p>`}
<p class="fine">${
    trust.has_custom_permissions
      ? `You chose rights of its own for it, beside those of ${trust.relationship_name}.`
      : `These are the rights of ${trust.relationship_name}.`
  } What nothing grants is refused.</p>
<p class="actions"><a class="button quiet" href="${form_action}/view">View as ${trust.peer.name}</a><a class="button quiet" href="${actor_www}/activity?caller=${encodeURIComponent(trust.peerid)}">What it did</a></p>
</section>`
}

function mayBox({ may, form_action, trust }: TrustPeerValues): Html {
  const { answer } = may
  return html`<section class="card" id="may-it" aria-labelledby="may-it-title"><h2 id="may-it-title">May it …?</h2>
<form class="line" method="get" action="${form_action}#may-it">
<div><label for="ask">Do what</label><select id="ask" name="ask">${ruledCategories.map(
    (category) =>
      html`<optgroup label="${subjects[category]}">${operationsOf[category].map((operation) => {
        const value = `${category}.${operation}`
        return html`<option value="${value}"${value === may.ask ? html` selected` : ''}>${verbOf(operation)} ${operation === 'append' ? 'a list' : oneOf[category]}</option>`
      })}</optgroup>`,
  )}</select></div>
<div><label for="target">Of this name</label><input id="target" name="target" required autocomplete="off" autocapitalize="none" spellcheck="false" placeholder="notes/1" value="${may.target}"></div>
<button type="submit">Ask</button></form>
${
  answer === null
    ? ''
    : html`<div class="answer ${answer.allowed ? 'yes' : 'no'}" role="status"><p><strong>${answer.allowed ? 'Yes' : 'No'}:</strong> ${trust.peer.name} ${
        answer.allowed ? 'may' : 'may not'
      } ${answer.question}, because ${answer.because}.</p><p class="fine">To change that: ${answer.to_change}.</p></div>`
}</section>`
}

const oneOf = {
  properties: 'a property',
  files: 'a file',
  methods: 'a method',
  actions: 'an action',
  tools: 'a tool',
  resources: 'a resource',
  prompts: 'a prompt',
} as const

function ending(values: TrustPeerValues): Html {
  const { trust, form_action } = values
  const { name, is_app: isApp } = trust.peer
  return html`<section class="endings" aria-label="Ending it">
${
  trust.approved
    ? confirmation(values, {
        action: form_action,
        fields: { action: 'withdraw', version: values.version },
        summary: 'Take the approval back…',
        warning: `${name} loses every right at once. The relationship stays: it can see that it is not approved, and you can approve it again.`,
        button: 'Take the approval back',
        isDanger: true,
      })
    : ''
}
${confirmation(values, {
  action: form_action,
  fields: { action: 'end', version: values.version },
  summary: isApp ? 'Disconnect it…' : 'End the relationship…',
  warning: isApp
    ? `${name} loses its access at once. To come back it has to ask you again.`
    : `${name} loses its access at once, what it follows here ends, and what you know of it is forgotten. It is notified.`,
  button: isApp ? `Disconnect ${name}` : `End the relationship with ${name}`,
  isDanger: true,
})}</section>`
}
