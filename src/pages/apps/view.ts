/** View of `/<actor>/www/apps`: the owner's sessions, and the programs that act for the owner. */
import { html } from 'hono/html'
import type { AppGroup, AppsValues, ConnectedApp, KeyRow, SessionRow } from './values.ts'
import { confirmation, hiddenFields } from '../shared/forms.ts'
import { actorPage, following, forgeryField, type Navigation } from '../shared/layout.ts'
import { exactView, momentView } from '../shared/time.ts'
import { rightsList } from '../relationships/rights-form-view.ts'
import type { Html } from '../shared/values.ts'
import { count } from '../shared/plural.ts'

export function appsPage(values: AppsValues, navigation: Navigation): Html {
  const { sessions, groups, keys, form_action } = values
  const others = sessions.filter(({ is_current }) => !is_current).length
  return actorPage(
    values,
    { title: 'Connected apps', section: '/apps', navigation },
    html`
<h1>Connected apps</h1>
<p class="lead">Programs that act for you, and where you are signed in. Whatever you end here ends at once, everywhere.</p>
${following(
  'clients',
  ['trust', 'sessions'],
  html`<h2>AI apps and other programs</h2>
<p><a href="${values.actor_www}/approvals">What waits for your yes</a></p>
<p><a href="${values.actor_www}/password-access">Programs with a password</a></p>
${values.mcp_url === '' ? '' : html`<dl class="facts"><dt>To connect an AI app, give it this address</dt><dd><code>${values.mcp_url}</code></dd></dl>`}
${groups.length === 0 ? html`<p class="empty">No program acts for you.</p>` : groups.map((each) => group(values, each))}`,
)}
${following(
  'keys',
  ['trust'],
  html`<h2>API keys</h2>
${keys.length === 0 ? html`<p class="empty">No program or device has a key.</p>` : keys.map((key) => keyCard(values, key))}`,
)}
${following(
  'sessions',
  ['sessions'],
  html`<h2>Where you are signed in</h2>
<ul class="rows">${sessions.map((session) => row(values, session))}</ul>
${
  others === 0
    ? ''
    : confirmation(values, {
        action: form_action,
        fields: { action: 'end_other_sessions' },
        summary: 'Sign out everywhere else…',
        warning: `${count(others, 'other sign-in')} will end at once. This one stays.`,
        button: 'Sign out everywhere else',
        isDanger: true,
      })
}`,
)}`,
  )
}

function group(values: AppsValues, { name, redirect_host, apps }: AppGroup): Html {
  return html`<section class="card" aria-label="${name}">
<h3 class="app">${name}</h3>
<p class="kind">${redirect_host === '' ? 'Where it comes from is not known.' : html`Sends you back to <strong>${redirect_host}</strong>`}${apps.length > 1 ? `, connected ${apps.length} times` : ''}</p>
${apps.map((app) => connected(values, app))}</section>`
}

function connected(values: AppsValues, app: ConnectedApp): Html {
  const { peer, relationship_name, is_approved, approval_ends, client_ends, has_ended, rights } = app
  const { first_used, last_used, has_access } = app
  return html`<div class="connected">
<p>${is_approved ? html`As <strong>${relationship_name}</strong>${approval_ends === null ? '' : html` until ${exactView(approval_ends)}`}:` : 'You took its approval back: it may do nothing.'}</p>
${client_ends === null ? '' : html`<p>Its access ${has_ended ? 'ended' : 'ends'} on ${exactView(client_ends)}.</p>`}
${is_approved ? rightsList(rights) : ''}
<p class="kind">Connected ${momentView(first_used)} · last used ${momentView(last_used)}${has_access ? '' : ' · has no access now, it would have to ask again'}</p>
<div class="actions"><form method="post" action="${values.form_action}">${forgeryField(values)}${hiddenFields({ action: 'revoke', peerid: peer.peerid })}<button class="danger" type="submit">Disconnect ${peer.name}</button></form>
<a class="button quiet" href="${peer.href}">Everything it may do<span class="unseen">: ${peer.name}</span></a></div></div>`
}

function keyCard(values: AppsValues, { id, name, href, is_approved, rights, created, last_used, ends }: KeyRow): Html {
  return html`<section class="card" aria-label="${name}">
<h3 class="app">${name}</h3>
${is_approved ? rightsList(rights) : html`<p>You took its approval back: it may do nothing.</p>`}
<p class="kind">Created ${momentView(created)} · ${last_used === null ? 'never used' : html`last used ${momentView(last_used)}`}${ends === null ? '' : html` · ends on ${exactView(ends)}`}</p>
<div class="actions"><form method="post" action="${values.form_action}">${forgeryField(values)}${hiddenFields({ action: 'revoke_key', key: id })}<button class="danger" type="submit">Revoke ${name}</button></form>
<a class="button quiet" href="${href}">Everything it may do<span class="unseen">: ${name}</span></a></div></section>`
}

function row(values: AppsValues, { id, device, began_with, began, last_used, is_current }: SessionRow): Html {
  return html`<li><div class="row-head"><strong>${device}</strong>${
    is_current
      ? html`<span class="now">This one</span>`
      : html`<form method="post" action="${values.form_action}">${forgeryField(values)}${hiddenFields({ action: 'end_session', session: id })}<button class="quiet" type="submit">Sign out<span class="unseen"> ${device}, ${began_with}</span></button></form>`
  }</div><p class="kind">${began_with} · signed in ${momentView(began)} · last used ${momentView(last_used)}</p></li>
`
}
