/** Messages to owners about events of their actors. Each is about one event, and names what others chose only in its text. */
import { hash } from 'node:crypto'
import type { OwnerEvent } from '../../app/background/mail-port.ts'
import { shownDevice } from '../../pages/apps/apps-page.ts'
import type { Messages } from '../../pages/languages/language.ts'
import { quotaRows, quotaText } from '../../pages/settings/quotas.ts'
import { peerName, shownText } from '../../pages/shared/peer-names.ts'
import type { Core } from '../feature.ts'
import type { Words } from './letter.ts'
import type { Mails, OwnerMail } from './mails.ts'
import { countDevices, deleteNote, findReportedQuotas, note, putLanguage, type ReportedQuota } from './note-store.ts'

export interface OwnerMailsDeps
  extends Pick<Core, 'store' | 'now' | 'trusts' | 'facts' | 'quotaUses' | 'identity' | 'baseUrl'> {
  readonly mails: Pick<Mails, 'toOwner'>
  /** Receives the actors that came near a quota. */
  readonly nearQuota: (actorId: string) => void
  /** Whether owners have pages, to which the messages link. */
  readonly hasPages: boolean
}

/** The share of a quota at which the owner receives a message, and the one below which it counts as new again. */
const nearShare = 0.9
const calmShare = 0.8
const pageSize = 500

type EventOf<Kind extends OwnerEvent['kind']> = Extract<OwnerEvent, { readonly kind: Kind }>

export class OwnerMails {
  readonly #deps: OwnerMailsDeps

  constructor(deps: OwnerMailsDeps) {
    this.#deps = deps
  }

  readonly event = (event: OwnerEvent): Promise<void> => {
    const { actorId } = event
    switch (event.kind) {
      case 'approval':
        return this.#approval(event)
      case 'sign_in':
        return this.#signIn(event)
      case 'failing':
        return this.#failing(event)
      case 'invitation':
        return this.#send(actorId, 'invitation', `/trust/${encodeURIComponent(event.peerId)}`, async (messages) =>
          messages.mail.invitation({ ...this.#service, peer: await this.#nameOf(event, messages) }),
        )
      case 'move_started':
      case 'move_finished':
        return this.#move(event)
      case 'export':
        return this.#send(actorId, 'export', '/activity', ({ mail }) => mail.exported(this.#service))
      case 'sign_in_link':
        return this.#send(actorId, 'new_device', '/activity', ({ mail }) => mail.operatorLink(this.#service))
      case 'quota':
        this.#deps.nearQuota(actorId)
        return Promise.resolve()
      default:
        return event satisfies never
    }
  }

  readonly setLanguage = async (actorId: string, language: string): Promise<void> => {
    await this.#deps.store.write((tx) => putLanguage(tx, actorId, language, this.#deps.now()))
  }

  /** Forgets the reports of quotas of which the actor uses little again. */
  async forgetCalm(): Promise<void> {
    const { store, quotaUses } = this.#deps
    for (let after: ReportedQuota = { actorId: '', subject: '' }; ; ) {
      const reported = await store.read((q) => findReportedQuotas(q, after, pageSize))
      for (const [actorId, rows] of Map.groupBy(reported, (row) => row.actorId)) {
        const uses = await quotaUses(actorId)
        for (const { subject } of rows) {
          const use = uses.find(({ quota }) => quota.name === subject)
          if (use !== undefined && use.used >= use.limit * calmShare) continue
          await store.write((tx) => deleteNote(tx, actorId, { kind: 'quota', subject }))
        }
      }
      const last = reported.at(-1)
      if (last === undefined || reported.length < pageSize) return
      after = last
    }
  }

  get #service(): { readonly service: string } {
    return { service: this.#deps.identity.name }
  }

  async #approval(event: EventOf<'approval'>): Promise<void> {
    await this.#deps.mails.toOwner({
      actorId: event.actorId,
      kind: 'approval',
      compose: async ({ messages }) => ({
        words: messages.mail.approval({
          ...this.#service,
          caller: await this.#nameOf(event, messages),
          operation: shownText(event.operation),
        }),
        url: event.url,
      }),
    })
  }

  /** A browser with the same description as an earlier one is not new, as on the pages. Neither is the first one. */
  async #signIn({ actorId, device }: EventOf<'sign_in'>): Promise<void> {
    const { store, now } = this.#deps
    const subject = hash('sha256', device).slice(0, 32)
    const isNew = await store.write(async (tx) => {
      const isUnknown = await note(tx, actorId, { kind: 'device', subject }, { now: now() })
      return isUnknown && (await countDevices(tx, actorId)) > 1
    })
    if (!isNew) return
    await this.#send(actorId, 'new_device', '/apps#sessions', (messages) =>
      messages.mail.newDevice({ ...this.#service, device: shownText(shownDevice({ device }, messages)) }),
    )
  }

  /** A failure is reported once, however many subscriptions of the peer it concerns. */
  async #failing(event: EventOf<'failing'>): Promise<void> {
    const { store, now } = this.#deps
    const { actorId, peerId, since } = event
    const subject = peerId
    if (!(await store.write((tx) => note(tx, actorId, { kind: 'failing', subject }, { now: now(), since })))) return
    await this.#send(actorId, 'failing', `/trust/${encodeURIComponent(peerId)}`, async (messages) =>
      messages.mail.failing({ ...this.#service, peer: await this.#nameOf(event, messages) }),
    )
  }

  #move({ actorId, kind, to }: EventOf<'move_started' | 'move_finished'>): Promise<void> {
    const values = { ...this.#service, to: shownText(URL.parse(to)?.host ?? to) }
    return this.#send(actorId, 'move', '/move', ({ mail }) =>
      kind === 'move_started' ? mail.moveStarted(values) : mail.moveFinished(values),
    )
  }

  /** Sends a message about the quotas that the actor is newly near to. */
  async quota(actorId: string): Promise<void> {
    const { store, now, quotaUses } = this.#deps
    const near = (await quotaUses(actorId)).filter(({ used, limit }) => limit > 0 && used >= limit * nearShare)
    const fresh: typeof near = []
    for (const use of near) {
      const subject = use.quota.name
      if (await store.write((tx) => note(tx, actorId, { kind: 'quota', subject }, { now: now() }))) fresh.push(use)
    }
    if (fresh.length === 0) return
    await this.#send(actorId, 'quota', '/settings#quotas', (messages) =>
      messages.mail.quota({
        ...this.#service,
        uses: quotaRows(fresh).map((row) => quotaText(row, messages)),
      }),
    )
  }

  async #send(
    actorId: string,
    kind: OwnerMail['kind'],
    page: string,
    words: (messages: Messages) => Words | Promise<Words>,
  ): Promise<void> {
    const { mails, baseUrl, hasPages } = this.#deps
    await mails.toOwner({
      actorId,
      kind,
      compose: async ({ messages }) => ({
        words: await words(messages),
        url: hasPages ? `${baseUrl}/${actorId}/www${page}` : null,
      }),
    })
  }

  /** The name that pages show: the owner's nickname, or what the peer calls itself, visible and cut. */
  async #nameOf(
    { actorId, peerId }: { readonly actorId: string; readonly peerId: string },
    messages: Messages,
  ): Promise<string> {
    const { trusts, facts } = this.#deps
    const [trust, profile] = await Promise.all([
      trusts.find(actorId, peerId),
      facts.find({ actorId, peerId }, 'profile'),
    ])
    if (trust === null) return withoutAddresses(shownText(peerId))
    const { name, host } = peerName(trust, profile, '', messages)
    // The peer cannot forge its host.
    return host === '' || name === host ? name : `${withoutAddresses(name)} (${host})`
  }
}

/** Mail programs make links of addresses in the text, so a name could lead to another site. */
function withoutAddresses(name: string): string {
  return name.replaceAll(/[.:/@\\\u3002\uff0e\uff61]+/g, ' ').trim()
}
