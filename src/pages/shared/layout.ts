/** The layouts: one for public pages, one for the pages of an actor's owner. */
import { html } from 'hono/html'
import type { LiveCategory } from '../../live/live.ts'
import { otherWords } from '../languages/live-words.ts'
import type { Messages } from '../languages/language.ts'
import { type Asset, assetPath, commonAssets } from './assets.ts'
import { avatar } from './avatar.ts'
import { openRequests, shownCount } from './counts.ts'
import { icon, type IconName } from './icons.ts'
import { type LocalText, localText } from '../languages/local-text.ts'
import type { ActorPageValues, Html, SiteValues } from './values.ts'

export interface Frame extends SiteValues {
  readonly title: string
  readonly messages: Messages
  /** Style sheets of the page besides the common one. */
  readonly styles?: readonly Asset[]
  /** Scripts of the page besides that of live updates. */
  readonly scripts?: readonly Asset[]
}

export function page(frame: Frame, content: Html): Html {
  return shell(
    frame,
    html`<header class="bar">${brand(frame, `${frame.base_path}/`)}</header>
<main id="content" class="narrow" tabindex="-1">
${content}
</main>`,
  )
}

/** A link in the navigation of the owner's pages. */
export interface Section {
  /** Path below `actor_www`; empty for the first page. */
  readonly path: string
  /** The link's text, or its name in the messages. */
  readonly label: keyof Messages['navigation'] | LocalText
  readonly icon: IconName
  /** The number beside the link: open requests, or failing subscriptions. */
  readonly count?: 'open' | 'failing'
}

/** Sections in the displayed order. */
export type Navigation = readonly Section[]

/** The input of every view besides the values of its page. */
export interface PageContext {
  readonly navigation: Navigation
  /** Path of the page that invites people. Null: no feature has one. */
  readonly invitesAt: string | null
  /** Path of the page of the members of a group. Null: no feature has one. */
  readonly membersAt: string | null
  /** The messages in the language of the page. */
  readonly messages: Messages
}

export interface ActorFrame extends PageContext {
  readonly title: string
  /** Style sheets of the page besides the common one. */
  readonly styles?: readonly Asset[]
  /** Scripts of the page besides that of live updates. */
  readonly scripts?: readonly Asset[]
  /** Path of the section that the page belongs to. */
  readonly section: string
  /** Breadcrumbs, outermost first, when the page is below another page. */
  readonly trail?: readonly Step[]
  /** True when the page shows the input of a submitted form, or a secret once. Such a page is not refreshed while it is open. */
  readonly isAnswer?: boolean
  /** Id of the field that caused the refusal. The message links to the field, and the field takes the focus. */
  readonly wrongField?: string | null
}

export interface Step {
  readonly text: string
  readonly href: string
}

/** Renders a page of the owner. `content` begins with its `h1`. */
export function actorPage(values: ActorPageValues, frame: ActorFrame, content: Html): Html {
  const { messages } = frame
  const isAnswer = values.error !== null || frame.isAnswer === true
  const words = otherWords(messages.live)
  const session = values.session ?? values.csrf_token
  const live = html` data-live="${values.actor_www}/live" data-session="${session}"${words === null ? '' : html` data-words="${words}"`}`
  return shell(
    { ...values, title: titleOf(values, frame), messages, styles: frame.styles ?? [], scripts: frame.scripts ?? [] },
    html`<div class="shell">
<header class="side">${brand(values, values.actor_www)}
${following('navigation', ['trust', 'approvals', 'sessions', 'subscriptions'], sections(values, frame))}
${owner(values, messages)}</header>
<main id="content" tabindex="-1"${isAnswer ? '' : live}>
${frame.trail === undefined ? '' : trail(frame.trail, frame.title, messages)}
${outcome(values, frame.wrongField ?? null, messages)}
${content}
</main>
</div>`,
    true,
  )
}

/** The title begins with the number of decisions that wait, because it is all that another tab shows. */
function titleOf(values: ActorPageValues, { title, messages }: ActorFrame): string {
  const open = openRequests(values)
  const named = values.error === null ? title : messages.frame.errorTitle(title)
  return open === 0 ? named : `(${shownCount(open)}) ${named}`
}

function sections(values: ActorPageValues, { navigation, section: current, trail: steps, messages }: ActorFrame): Html {
  return html`<nav class="sections" aria-label="${messages.frame.navigation}"><ul>
${navigation.map(
  (section) =>
    html`<li><a href="${values.actor_www}${section.path}"${section.path === current ? html` aria-current="${steps === undefined ? 'page' : 'true'}"` : ''}>${icon(section.icon)}${labelOf(section, values, messages)}${countOf(section, values, messages)}</a></li>`,
)}
</ul></nav>`
}

function labelOf({ label }: Section, { language }: ActorPageValues, { navigation }: Messages): string {
  return typeof label === 'string' ? navigation[label] : localText(label, language)
}

function countOf({ count }: Section, values: ActorPageValues, { frame }: Messages): Html | string {
  if (count === undefined) return ''
  const isOpen = count === 'open'
  const number = isOpen ? openRequests(values) : values.failing_count
  if (number === 0) return ''
  const shown = shownCount(number)
  return html` <span class="count${isOpen ? '' : ' bad'}" aria-hidden="true">${shown}</span><span class="unseen">${isOpen ? frame.open(shown) : frame.failing(shown)}</span>`
}

/** Renders the outcome of a form. It takes the focus for screen readers, unless a refused field does. */
function outcome(values: ActorPageValues, wrongField: string | null, messages: Messages): Html {
  const { notice, notice_undo, error } = values
  return html`<div aria-live="polite">${
    notice === null
      ? ''
      : notice_undo === null
        ? html`<p class="notice" role="status" tabindex="-1" autofocus>${notice}</p>`
        : html`<div class="undoable"><p class="notice" role="status" tabindex="-1" autofocus>${notice}</p><form method="post" action="${values.actor_www}/history/undo">${forgeryField(values)}<input type="hidden" name="request_id" value="${notice_undo}"><input type="hidden" name="redirect_to" value="${new URL(values.url).pathname}"><button class="quiet" type="submit">${icon('undo')} ${messages.history.undo}</button></form></div>`
  }${error === null ? '' : errorMessage(error, wrongField)}</div>`
}

function errorMessage(error: string, wrongField: string | null): Html {
  return wrongField === null
    ? html`<p class="error" role="alert" id="error" tabindex="-1" autofocus>${error}</p>`
    : html`<p class="error" role="alert" id="error"><a href="#${wrongField}">${error}</a></p>`
}

function trail(steps: readonly Step[], title: string, { frame }: Messages): Html {
  return html`<nav class="trail" aria-label="${frame.breadcrumb}"><ol>${steps.map(
    ({ text, href }) => html`<li><a href="${href}">${text}</a></li>`,
  )}<li aria-current="page">${title}</li></ol></nav>`
}

function owner(values: ActorPageValues, { frame }: Messages): Html {
  return html`<div class="owner">${avatar(values.id, values.creator)}<span class="who">${values.creator}</span>${
    values.can_sign_out
      ? html`
<form method="post" action="${values.base_path}/oauth/logout">${forgeryField(values)}<button class="quiet" type="submit" title="${frame.signOut}">${icon('signOut')}<span class="unseen">${frame.signOut}</span></button></form>`
      : ''
  }</div>`
}

/**
 * Renders a region that the live script refreshes when its content changes. Each region has its own id.
 *
 * @param follows Categories of changes, as `/<actor>/www/live` names them.
 * @param name Refreshes only for changes of this name. Default: all changes.
 */
export function following(
  id: string,
  follows: readonly LiveCategory[],
  content: Html,
  name: string | null = null,
): Html {
  return html`<div id="${id}" data-follows="${follows.join(' ')}"${name === null ? '' : html` data-name="${name}"`}>${content}</div>`
}

/** Renders the CSRF token, which every form must contain. */
export function forgeryField({ csrf_token }: Pick<ActorPageValues, 'csrf_token'>): Html {
  return html`<input type="hidden" name="csrf_token" value="${csrf_token}">`
}

/** Renders the logo and the name of the service, as a link. */
export function brand(frame: SiteValues, home: string): Html {
  return html`<a class="brand" href="${home}"><img src="${frame.base_path}${frame.logo}" alt="" width="28" height="28">${frame.name}</a>`
}

/** Renders the document around a layout. @param isLive Loads the script of live updates. */
export function shell(frame: Frame, body: Html, isLive = false): Html {
  return html`<!doctype html>
<html lang="${frame.language}" dir="${frame.direction}"${frame.theme === null ? '' : html` data-theme="${frame.theme}"`}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="${frame.theme ?? 'light dark'}">
<title>${frame.title} · ${frame.name}</title>
${[commonAssets.style, ...(frame.styles ?? [])].map(
  (sheet) => html`<link rel="stylesheet" href="${frame.base_path}${assetPath(sheet)}">
`,
)}${frame.accent_sheet === null ? '' : html`<link rel="stylesheet" href="${frame.base_path}${frame.accent_sheet}">`}<link rel="icon" href="${frame.base_path}${frame.logo}" type="image/svg+xml">${[
    ...(isLive ? [commonAssets.script] : []),
    ...(frame.scripts ?? []),
  ].map(
    (script) => html`
<script type="module" src="${frame.base_path}${assetPath(script)}"></script>`,
  )}
</head>
<body>
<a class="skip" href="#content">${frame.messages.frame.skip}</a>
${body}
</body>
</html>
`
}
