/** View of `/<actor>/www/apps`: the owner's sessions, and the programs that act for the owner. */
import { html } from 'hono/html'
import type { AppGroup, AppsValues, ConnectedApp, KeyRow, SessionRow } from './values.ts'
import type { Messages } from '../languages/language.ts'
import { connectGuide } from './connect-view.ts'
import { createdKeyCard, keyForm, wrongKeyField } from './new-key-view.ts'
import { claimedName } from './claimed-name.ts'
import { confirmation, hiddenFields } from '../shared/forms.ts'
import { actorPage, following, forgeryField, type PageContext } from '../shared/layout.ts'
import { exactView, momentView } from '../shared/time.ts'
import { rightsList } from '../relationships/rights-form-view.ts'
import type { Html } from '../shared/values.ts'

type Words = Messages['apps']

export function appsPage(values: AppsValues, context: PageContext): Html {
  const { apps: words, devices } = context.messages
  const { sessions, groups, keys, form_action } = values
  const others = sessions.filter(({ is_current }) => !is_current).length
  return actorPage(
    values,
    {
      ...context,
      title: words.title,
      section: '/apps',
      wrongField: wrongKeyField(values),
      isAnswer: values.created_key !== null,
    },
    html`
<h1>${words.title}</h1>
<p class="lead">${words.text}</p>
${createdKeyCard(values, context.messages)}
${following(
  'clients',
  ['trust', 'sessions'],
  html`<h2>${words.apps}</h2>
<p><a href="${values.actor_www}/password-access">${words.passwordAccess}</a></p>
${values.mcp_url === '' ? '' : html`<dl class="facts"><dt>${words.mcpUrl}</dt><dd><code>${values.mcp_url}</code></dd></dl>`}
${groups.length === 0 ? html`<p class="empty">${values.mcp_url === '' ? words.empty : words.emptyWithUrl}</p>` : groups.map((each) => group(values, each, context.messages))}`,
)}
${connectGuide(values, context.messages)}
${following(
  'keys',
  ['trust'],
  html`<h2>${words.keys}</h2>
${keys.length === 0 ? html`<p class="empty">${words.noKeys}</p>` : keys.map((key) => keyCard(values, key, words))}`,
)}
${keyForm(values, context.messages)}
${following(
  'sessions',
  ['sessions'],
  html`<h2>${devices.title}</h2>
<ul class="rows">${sessions.map((session) => row(values, session, devices))}</ul>
${
  others === 0
    ? ''
    : confirmation(
        values,
        {
          action: form_action,
          fields: { action: 'end_other_sessions' },
          summary: devices.signOutOthers,
          warning: devices.signOutOthersText(others),
          button: devices.signOutOthersButton,
          isDanger: true,
        },
        context.messages,
      )
}`,
)}`,
  )
}

function group(values: AppsValues, { name, redirect_host, is_local, apps }: AppGroup, messages: Messages): Html {
  const { apps: words } = messages
  const known = is_local ? words.isLocal : words.returnsTo(redirect_host)
  return html`<section class="card" aria-label="${name}">
<h3 class="app">${name}</h3>
<p class="kind">${words.origin(redirect_host === '' ? words.unknownOrigin : known, apps.length)}</p>
${apps.map((app) => connected(values, app, messages))}</section>`
}

function connected(values: AppsValues, app: ConnectedApp, messages: Messages): Html {
  const { apps: words } = messages
  const { peer, relationship_name, is_approved, approval_ends, client_ends, has_ended, rights } = app
  const { first_used, last_used, has_access } = app
  return html`<div class="connected">
${claimedName(peer, messages)}
<p>${is_approved ? words.level(relationship_name, approval_ends === null ? null : exactView(approval_ends)) : words.paused}</p>
${client_ends === null ? '' : html`<p>${has_ended ? words.ended(exactView(client_ends)) : words.ends(exactView(client_ends))}</p>`}
${is_approved ? rightsList(rights) : ''}
<p class="kind">${words.facts(momentView(first_used), momentView(last_used), has_access)}${callsText(app, words)}</p>
<div class="actions">${pauseForm(values, { ...app, peerid: peer.peerid, name: peer.name }, words)}<form method="post" action="${values.form_action}">${forgeryField(values)}${hiddenFields({ action: 'revoke', peerid: peer.peerid })}<button class="danger" type="submit">${words.disconnect(peer.name)}</button></form>
<a class="button quiet" href="${peer.href}">${words.manage(peer.name)}</a></div></div>`
}

function callsText({ calls }: Pick<KeyRow, 'calls'>, words: Words): string {
  return calls === null ? '' : ` · ${words.calls(calls)}`
}

/** Renders the button that pauses or resumes an app or a key; nothing when neither is possible. */
function pauseForm(
  values: AppsValues,
  {
    peerid,
    name,
    can_pause,
    can_resume,
  }: Pick<KeyRow, 'name' | 'can_pause' | 'can_resume'> & { readonly peerid: string },
  words: Words,
): Html | string {
  if (!can_pause && !can_resume) return ''
  if (!can_pause && values.fresh_href !== null)
    return html`<a class="button quiet" href="${values.fresh_href}">${words.resume(name)}</a>`
  return html`<form method="post" action="${values.form_action}">${forgeryField(values)}${hiddenFields({ action: can_pause ? 'pause' : 'resume', peerid })}<button class="quiet" type="submit">${can_pause ? words.pause(name) : words.resume(name)}</button></form>`
}

function keyCard(values: AppsValues, key: KeyRow, words: Words): Html {
  const { id, name, href, is_approved, rights, created, last_used, ends } = key
  return html`<section class="card" aria-label="${name}">
<h3 class="app">${name}</h3>
${is_approved ? rightsList(rights) : html`<p>${words.paused}</p>`}
<p class="kind">${words.keyFacts(momentView(created), last_used === null ? null : momentView(last_used), ends === null ? null : exactView(ends))}${callsText(key, words)}</p>
<div class="actions">${pauseForm(values, { ...key, peerid: id }, words)}<form method="post" action="${values.form_action}">${forgeryField(values)}${hiddenFields({ action: 'revoke_key', key: id })}<button class="danger" type="submit">${words.revoke(name)}</button></form>
<a class="button quiet" href="${href}">${words.manage(name)}</a></div></section>`
}

function row(
  values: AppsValues,
  { id, device, began_with, began, last_used, is_current, is_new }: SessionRow,
  words: Messages['devices'],
): Html {
  return html`<li><div class="row-head"><strong>${device}${is_new ? html` <span class="badge warn">${words.isNew}</span>` : ''}</strong>${
    is_current
      ? html`<span class="now">${words.thisDevice}</span>`
      : html`<form method="post" action="${values.form_action}">${forgeryField(values)}${hiddenFields({ action: 'end_session', session: id })}<button class="quiet" type="submit">${words.signOut(device, began_with)}</button></form>`
  }</div><p class="kind">${words.facts(began_with, momentView(began), momentView(last_used))}</p></li>
`
}
