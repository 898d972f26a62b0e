/** View of `/<actor>/www/trust/<peerid>`: a peer, its rights with their reasons, and the forms to change them. */
import { html } from 'hono/html'
import { icon } from '../shared/icons.ts'
import { operationsOf, ruledCategories } from '../../permission/rules.ts'
import { longestNickname } from '../../trust/trust-change.ts'
import type { Messages } from '../languages/language.ts'
import { beyond, confirmationField, levelChoice, reviewView } from './access-review-view.ts'
import { avatar } from '../shared/avatar.ts'
import { formField } from '../shared/form-field.ts'
import { confirmation, hiddenFields, signInAgain } from '../shared/forms.ts'
import { actorPage, following, forgeryField, type PageContext } from '../shared/layout.ts'
import { approvalEnd, grantList } from './end-forms-view.ts'
import { momentView } from '../shared/time.ts'
import { accessTableView } from './access/access-table-view.ts'
import { rightsForm, rightsList } from './rights-form-view.ts'
import { verbOf } from '../shared/rights.ts'
import { badge } from './list-view.ts'
import { connectionStyle } from './style.ts'
import type { AccessReview, TrustPeerValues } from './values.ts'
import type { Html } from '../shared/values.ts'

export function trustPeerPage(values: TrustPeerValues, context: PageContext): Html {
  const { trust, actor_www } = values
  const { messages } = context
  const { peer } = trust
  return actorPage(
    values,
    {
      ...context,
      title: peer.name,
      section: '/trust',
      styles: [connectionStyle],
      trail: [{ text: messages.connections.title, href: `${actor_www}/trust` }],
      isAnswer: values.is_editing || (values.level?.review ?? null) !== null,
      wrongField: wrongFieldOf(values),
    },
    html`
${following('peer', ['trust', 'subscriptions'], html`${head(values, messages)}${decision(values, messages)}${membership(values, context)}`, peer.peerid)}
<div class="columns"><div>
${values.fresh_href === null || values.approval !== null || values.is_member ? '' : html`<section class="card">${signInAgain(values.fresh_href, messages)}</section>`}
${following('access', ['trust', 'properties'], html`${rights(values, messages)}${accessTableView(values, messages)}`)}
${following('grants', ['trust'], html`${grantList(values, messages)}${approvalEnd(values, messages)}`, peer.peerid)}
${mayBox(values, messages)}
${following('rights', ['trust'], html`${rightsForm(values, messages)}`, peer.peerid)}
${following('access-level', ['trust'], html`${level(values, messages)}`, peer.peerid)}
</div><div>
${following('facts-of', ['trust', 'subscriptions'], html`${facts(values, messages)}${follow(values, messages)}`, peer.peerid)}
${recent(values, messages)}
</div></div>
${ending(values, messages)}`,
  )
}

function head({ trust, form_action, undelivered }: TrustPeerValues, { peer: words }: Messages): Html {
  const { peer } = trust
  return html`<div class="head"><div class="person">${avatar(peer.peerid, peer.name, peer.is_app)}<h1>${peer.name}</h1></div>
<p class="actions"><a class="button quiet" href="${form_action}/view">${icon('eye')} ${words.viewAs(peer.name)}</a></p></div>
<p class="lead">${badge(trust.standing, trust.standing_word)} ${trust.standing_text}</p>${undelivered.map(({ text, href }) => html`<p class="warning"><a href="${href}">${text}</a></p>`)}`
}

/** The latest acts of the peer. */
function recent({ recent: acts, trust, actor_www }: TrustPeerValues, messages: Messages): Html | string {
  const { peer: words, activity, history } = messages
  const caller = encodeURIComponent(trust.peerid)
  return html`<section class="card" aria-labelledby="recent"><h2 id="recent">${words.recent}</h2>
${acts.length === 0 ? html`<p class="kind">${activity.empty}</p>` : html`<ul class="rows">${acts.map(({ at, what, is_refused }) => html`<li>${what} ${is_refused ? html`<span class="badge bad">${activity.outcomes.denied}</span>` : ''}<p class="kind">${momentView(at)}</p></li>`)}</ul>`}
<p class="actions"><a class="button quiet" href="${actor_www}/activity?caller=${caller}">${icon('activity')} ${words.viewActivity}</a><a class="button quiet" href="${actor_www}/history?caller=${caller}">${icon('history')} ${history.link}</a></p></section>`
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

function decision(values: TrustPeerValues, messages: Messages): Html | string {
  const words = messages.peer
  const { trust, form_action, approval, typed } = values
  if (approval === null) return ''
  const isAsking = trust.standing === 'waiting'
  return html`<section class="card${isAsking ? ' urgent' : ''}" aria-labelledby="decision">
<h2 id="decision">${isAsking ? words.approve : words.resume}</h2>
${isAsking && trust.desc !== '' ? html`<p>${words.message(trust.desc)}</p>` : ''}
<p>${
    isAsking && !trust.verified && !trust.peer.is_app
      ? words.unverified(trust.peer.host === '' ? trust.peer.name : trust.peer.host)
      : words.ifApproved
  }</p>
${approval.needs_confirmation ? reviewView(approval, messages) : ''}
${values.fresh_href === null ? '' : signInAgain(values.fresh_href, messages)}
<div class="actions">${
    values.fresh_href === null
      ? html`<form method="post" action="${form_action}">${forgeryField(values)}${hiddenFields(approval.fields)}${confirmationField(
          'confirmation',
          approval,
          {
            typed: typed.action === 'approve' ? typed.confirmation : '',
            error: errorOf(values, 'approve', 'confirmation'),
          },
          messages,
        )}<button type="submit">${words.approveButton}</button></form>`
      : ''
  }${
    isAsking
      ? html`
<form method="post" action="${form_action}">${forgeryField(values)}${hiddenFields({ action: 'end', version: values.version })}<button class="quiet" type="submit">${words.decline}</button></form>`
      : ''
  }</div></section>`
}

/** Leads to the page where the role of a member is given and changed. */
function membership(values: TrustPeerValues, { messages, membersAt }: PageContext): Html | string {
  const { trust, form_action, actor_www, version } = values
  const { membership: words, peer } = messages
  if (!values.is_member) return ''
  const isAsking = trust.standing === 'waiting'
  return html`<section class="card${isAsking ? ' urgent' : ''}" aria-labelledby="membership">
<h2 id="membership">${words.membership}</h2>
${isAsking && trust.desc !== '' ? html`<p>${peer.message(trust.desc)}</p>` : ''}
<p>${isAsking ? words.asks(trust.peer.name) : words.roleDecides}</p>
${isAsking && !trust.verified ? html`<p>${peer.unverified(trust.peer.host === '' ? trust.peer.name : trust.peer.host)}</p>` : ''}
<div class="actions">${membersAt === null ? '' : html`<a class="button" href="${actor_www}${membersAt}?member=${encodeURIComponent(trust.peerid)}">${isAsking ? words.choose : words.change}</a>`}${
    isAsking
      ? html`<form method="post" action="${form_action}">${forgeryField(values)}${hiddenFields({ action: 'end', version })}<button class="quiet" type="submit">${peer.decline}</button></form>`
      : ''
  }</div></section>`
}

/** The form that requests another trust type: choice, review, and a typed confirmation for a powerful type. */
function level(values: TrustPeerValues, messages: Messages): Html | string {
  const words = messages.peer
  const { form_action, level: form, trust, typed } = values
  if (form === null || values.fresh_href !== null) return ''
  if (form.review !== null) return levelReview(values, form.review, messages)
  const error = errorOf(values, 'level', 'trust_type')
  return html`<details class="card" id="level"${typed.action === 'level' ? html` open` : ''}><summary>${words.changeLevel}</summary>
<p>${words.changeLevelText(trust.peer.name, trust.relationship_name)}</p>
<form method="post" action="${form_action}">${forgeryField(values)}${hiddenFields({ action: 'level', step: 'review', version: values.version })}
${levelChoice({ id: 'level-type', legend: words.levelLegend, chosen: form.chosen, error }, form.choices, messages)}
<button type="submit">${words.reviewLevel}</button></form></details>`
}

function levelReview(values: TrustPeerValues, review: AccessReview, messages: Messages): Html {
  const words = messages.peer
  const { form_action, typed, error } = values
  return html`<section class="card urgent" id="level" aria-labelledby="level-title" tabindex="-1"${error === null ? html` autofocus` : ''}>
<h2 id="level-title">${words.levelTitle(review.level)}</h2>
${reviewView(review, messages)}
<p class="fine">${words.levelNotSent}</p>
<div class="actions"><form method="post" action="${form_action}">${forgeryField(values)}${hiddenFields(review.fields)}${confirmationField(
    'level-confirmation',
    review,
    { typed: typed.confirmation, error: errorOf(values, 'level', 'confirmation') },
    messages,
  )}<button${review.needs_confirmation ? html` class="danger"` : ''} type="submit">${words.levelSend}</button></form>
<a class="button quiet" href="${form_action}">${words.cancel}</a></div>
</section>`
}

function facts(values: TrustPeerValues, messages: Messages): Html {
  const { trust, profile } = values
  const { peer: words } = messages
  return html`<section class="card" aria-labelledby="facts"><h2 id="facts">${words.details}</h2><dl class="facts">
${trust.baseuri === '' ? '' : html`<dt>${words.address}</dt><dd><code>${trust.baseuri}</code></dd>`}
${trust.peer.own_name === '' ? '' : html`<dt>${words.ownName}</dt><dd>${trust.peer.own_name}</dd>`}
${trust.peer.claimed_name === '' ? '' : html`<dt>${words.claimedName}</dt><dd>${trust.peer.claimed_name} <span class="kind">${messages.connections.unverifiedName}</span></dd>`}
<dt>${words.level}</dt><dd>${trust.relationship_name} <span class="kind">${trust.relationship_description}</span></dd>
${trust.peer.is_app || trust.type === '' ? '' : html`<dt>${words.app}</dt><dd>${trust.type}</dd>`}
<dt>${words.connected}</dt><dd>${momentView(trust.since)}</dd>
<dt>${words.lastActive}</dt><dd>${momentView(trust.last_contact)}</dd>
${trust.peer.is_app ? '' : html`<dt>${words.addressProof}</dt><dd>${trust.verified ? words.verified : words.notVerified}</dd>`}
${trust.desc === '' || trust.standing === 'waiting' ? '' : html`<dt>${words.firstMessage}</dt><dd>${trust.desc}</dd>`}
${profile.map(([name, text]) => html`<dt>${words.profile(name)}</dt><dd>${text}</dd>`)}
</dl>
${nicknameForm(values, messages)}</section>`
}

/** The form for the owner's own name for the peer. */
function nicknameForm(values: TrustPeerValues, { forms, peer: words }: Messages): Html {
  const { trust, typed, form_action } = values
  const error = errorOf(values, 'nickname', 'nickname')
  return html`<details id="rename"${error === null ? '' : html` open`}><summary>${trust.nickname === '' ? words.addNickname : words.changeNickname}</summary>
<form method="post" action="${form_action}">${forgeryField(values)}${hiddenFields({ action: 'nickname' })}${formField({
    id: 'nickname',
    name: 'nickname',
    label: forms.optional(words.nickname),
    value: error === null ? trust.nickname : typed.nickname,
    hint: words.nicknameHint,
    error,
    attributes: { autocomplete: 'off', maxlength: String(longestNickname) },
  })}<button type="submit">${words.saveNickname}</button></form></details>`
}

/** The form that follows the peer: the owner's subscription to the peer's data. */
function follow(values: TrustPeerValues, { peer: words }: Messages): Html | string {
  const { trust, followed, form_action } = values
  // A membership gives the group nothing to follow.
  if (values.is_member || trust.peer.is_app || trust.standing !== 'mutual') return ''
  const { name } = trust.peer
  return html`<section class="card" aria-labelledby="follow"><h2 id="follow">${words.updates}</h2>
${
  followed === null
    ? html`<p>${words.subscribeText(name)}</p>
<form method="post" action="${form_action}">${forgeryField(values)}<input type="hidden" name="action" value="follow"><button type="submit">${words.subscribe}</button></form>`
    : html`<p>${words.subscribed(name, followed)}</p>`
}</section>`
}

function rights({ trust, rights: lines, reach, is_member: isMember }: TrustPeerValues, messages: Messages): Html {
  const words = messages.peer
  return html`<section class="card" aria-labelledby="may"><h2 id="may">${words.access}</h2>
${trust.approved || isMember ? '' : html`<p>${words.noAccessYet}</p>`}
${rightsList(lines)}
${beyond(reach, messages)}
<p class="fine">${
    isMember
      ? messages.membership.accessByRole
      : trust.has_custom_permissions
        ? words.customized(trust.relationship_name)
        : words.byLevel(trust.relationship_name)
  }</p>
</section>`
}

function mayBox({ may, form_action }: TrustPeerValues, messages: Messages): Html {
  const { answer } = may
  const words = messages.check
  return html`<section class="card" id="may-it" aria-labelledby="may-it-title"><h2 id="may-it-title">${words.title}</h2>
<form class="line" method="get" action="${form_action}#may-it">
<div><label for="ask">${words.action}</label><select id="ask" name="ask">${ruledCategories.map(
    (category) =>
      html`<optgroup label="${messages.subjects[category]}">${operationsOf[category].map((operation) => {
        const value = `${category}.${operation}`
        const label = messages.checkOptions[operation === 'append' ? 'lists' : category](verbOf(operation, messages))
        return html`<option value="${value}"${value === may.ask ? html` selected` : ''}>${label}</option>`
      })}</optgroup>`,
  )}</select></div>
<div><label for="target">${words.name}</label><input id="target" name="target" required autocomplete="off" autocapitalize="none" spellcheck="false" placeholder="notes/1" value="${may.target}"></div>
<button type="submit">${words.button}</button></form>
${
  answer === null
    ? ''
    : html`<div class="answer ${answer.allowed ? 'yes' : 'no'}" role="status"><p><strong>${answer.allowed ? words.allowed : words.blocked}</strong> ${answer.sentence} ${answer.because}</p><p class="fine">${answer.to_change}</p></div>`
}</section>`
}

function ending(values: TrustPeerValues, messages: Messages): Html {
  const { endings: words } = messages
  const { trust, form_action } = values
  const { name, is_app: isApp } = trust.peer
  return html`<section class="endings" aria-label="${words.label}">
${
  trust.approved && !values.is_member
    ? confirmation(
        values,
        {
          action: form_action,
          fields: { action: 'withdraw', version: values.version },
          summary: words.pause,
          warning: words.pauseText(name),
          button: words.pauseButton,
          isDanger: true,
        },
        messages,
      )
    : ''
}
${confirmation(
  values,
  {
    action: form_action,
    fields: { action: 'end', version: values.version },
    summary: words.disconnect,
    warning: isApp ? words.disconnectAppText(name) : words.disconnectText(name),
    button: words.disconnectButton(name),
    isDanger: true,
  },
  messages,
)}</section>`
}
