/** The messages of a service in development that has no mail server: shown at `/dev/mail`, and printed. */
import { html } from 'hono/html'
import { ServiceError } from '../../errors.ts'
import { defineRoute } from '../../http/dispatch/define-route.ts'
import type { Route } from '../../http/dispatch/route.ts'
import { errorResponses } from '../../http/dispatch/schemas.ts'
import type { HttpRequest } from '../../http/edge/request.ts'
import { type HttpResponse, html as htmlResponse } from '../../http/edge/response.ts'
import type { Log } from '../../observe/log.ts'
import { page } from '../../pages/shared/layout.ts'
import type { PageDeps } from '../../pages/shared/page.ts'
import { inLanguage, siteValues } from '../../pages/shared/site.ts'
import type { Html } from '../../pages/shared/values.ts'
import type { MailTransport, OutgoingMail } from './message.ts'

const maxMails = 100
/** The frame runs no script and has no origin. Its links open outside of it. */
const sandbox = 'allow-popups allow-popups-to-escape-sandbox'

export class Inbox {
  readonly #mails: OutgoingMail[] = []
  readonly #log: Pick<Log, 'info'>
  readonly #address: string

  constructor({ log, baseUrl }: { readonly log: Pick<Log, 'info'>; readonly baseUrl: string }) {
    this.#log = log
    this.#address = `${baseUrl}/dev/mail`
  }

  readonly transport: MailTransport = async (mail, mark) => {
    await mark()
    this.#mails.unshift(mail)
    this.#mails.splice(maxMails)
    const { to, subject, text } = mail
    this.#log.info({ to, subject, text }, `A message to a person, also at ${this.#address}`)
    return { kind: 'sent', answer: '' }
  }

  /** Newest first. */
  get mails(): readonly OutgoingMail[] {
    return this.#mails
  }
}

interface InboxRouteDeps extends PageDeps {
  readonly inbox: Inbox | null
}

/** The routes of development. Their pages are for developers, so they are in English. */
export function inboxRoutes(deps: () => InboxRouteDeps): readonly Route[] {
  return [
    defineRoute({
      id: 'developmentMails',
      method: 'GET',
      path: '/dev/mail',
      access: 'visitor',
      page: true,
      summary: 'The messages to people that a service in development has made',
      responses: { 200: { text: 'The page', type: 'text/html' }, ...errorResponses(404) },
      handler: ({ request }) => {
        const { mails } = inboxOf(deps())
        return shown(deps(), request, 'Messages', listed(deps().basePath, mails))
      },
    }),
    defineRoute({
      id: 'developmentMail',
      method: 'GET',
      path: '/dev/mail/:mail',
      access: 'visitor',
      page: true,
      summary: 'One of these messages',
      responses: { 200: { text: 'The page', type: 'text/html' }, ...errorResponses(404) },
      handler: ({ request, params }) => {
        const mail = inboxOf(deps()).mails.find((each) => idOf(each) === params.mail)
        if (mail === undefined) throw new ServiceError('not_found', 'Cannot find the message')
        return shown(deps(), request, mail.subject, content(deps().basePath, mail))
      },
    }),
  ]
}

function inboxOf({ inbox }: InboxRouteDeps): Inbox {
  if (inbox === null) throw new ServiceError('not_found', 'The messages go to a mail server or to the application')
  return inbox
}

/** The part of the message id before the host. */
function idOf({ messageId }: OutgoingMail): string {
  return messageId.slice(1, messageId.indexOf('@'))
}

function shown(deps: PageDeps, request: HttpRequest, title: string, body: Html): HttpResponse {
  const language = deps.languages.of(request)
  const frame = { ...siteValues(deps, language), title, messages: language.messages }
  return inLanguage(htmlResponse(200, page(frame, body)), language)
}

function listed(basePath: string, mails: readonly OutgoingMail[]): Html {
  const rows = mails.map(
    (mail) =>
      html`<li><div class="row-head"><a href="${basePath}/dev/mail/${idOf(mail)}">${mail.subject}</a></div>
<p class="fine">${mail.to} · ${new Date(mail.createdAt).toISOString()}</p></li>`,
  )
  return html`<section class="card"><h1>Messages</h1>
<p>This process sends no mail. It shows the last ${maxMails} messages here.</p>
${rows.length === 0 ? html`<p>No message was made yet.</p>` : html`<ul class="rows">${rows}</ul>`}</section>`
}

function content(basePath: string, mail: OutgoingMail): Html {
  const { from, to, subject, text, html: source, messageId, createdAt, headers } = mail
  const all = {
    From: from === null ? '' : `${from.name} <${from.address}>`.trim(),
    To: to,
    Subject: subject,
    Date: new Date(createdAt).toUTCString(),
    'Message-ID': messageId,
    ...headers,
  }
  const frame =
    source === null
      ? ''
      : html`<section class="card"><h2>HTML</h2>
<iframe title="The message as HTML" sandbox="${sandbox}" srcdoc="${`<base target="_blank">${source}`}" width="100%" height="480"></iframe></section>`
  return html`<p><a href="${basePath}/dev/mail">All messages</a></p>
<section class="card"><h1>${subject}</h1>
<dl class="facts">${Object.entries(all).map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl></section>
${frame}
<section class="card"><h2>Text</h2><pre tabindex="0">${linked(text)}</pre></section>`
}

/** Makes links of the addresses in a text. */
function linked(text: string): Html {
  const parts = text.split(/(https?:\/\/\S+)/)
  return html`${parts.map((part, place) => (place % 2 === 1 ? html`<a href="${part}">${part}</a>` : part))}`
}
