import { ensureSystemActor } from '../../actor/system-actor.ts'
import { systemActorId, systemCreator } from '../../authorization-server/client.ts'
import { ConfigError } from '../../config/config-error.ts'
import { Cleaning } from '../../job/cleaning.ts'
import { workerDeps } from '../../job/create.ts'
import { runHandler } from '../../job/handlers.ts'
import { JobWorker } from '../../job/worker.ts'
import type { Runtime } from '../../runtime.ts'
import { type Core, settingsOf } from '../feature.ts'
import { Inbox } from './inbox.ts'
import { deleteOldMail, oldestWaiting } from './mail-store.ts'
import { Mails } from './mails.ts'
import type { MailTransport } from './message.ts'
import { mailOptions } from './options.ts'
import { OwnerMails } from './owner-mails.ts'
import { QuotaLooks } from './quota-looks.ts'
import { MailSender } from './sender.ts'
import { parseSender, publicHostOf, type Sender, smtpServerOf } from './smtp-settings.ts'

const weekMs = 7 * 86_400_000

/** Without a transport, the service sends no mail, and the parts only delete what is old. */
export function createMail(core: Core) {
  const { smtpUrl, mailFrom } = settingsOf(core, mailOptions)
  const inbox = hasInbox(core) ? new Inbox(core) : null
  const from = mailFrom === null ? null : parseSender(mailFrom)
  const { store, now, mail, metrics } = core
  metrics.gauge(
    { name: 'troupe_mail_oldest_seconds', help: 'Age of the oldest waiting message to a person, in the whole store' },
    async () => {
      const oldest = await store.read(oldestWaiting)
      return oldest === null ? 0 : Math.max(0, now() - oldest) / 1000
    },
  )
  const cleaning = new Cleaning(core, 'old messages to people', async () => {
    await store.write((tx) => deleteOldMail(tx, now() - weekMs))
  })
  const transport = inbox?.transport ?? transportOf(core, smtpUrl, from)
  if (transport === null) return { workers: [cleaning], mails: null, inbox }
  const host = publicHostOf(core.baseUrl)
  const sender = new MailSender({ ...core, transport, from, host })
  const worker = new JobWorker(workerDeps(core), sender.jobQueue)
  const mails = new Mails({
    ...core,
    wake: worker.wake,
    serviceActor: async () => {
      await ensureSystemActor(core, systemActorId, systemCreator)
      return systemActorId
    },
  })
  const quotaLooks: QuotaLooks = new QuotaLooks(core, (actorId) => ownerMails.quota(actorId))
  const ownerMails = new OwnerMails({ ...core, mails, nearQuota: quotaLooks.add, hasPages: core.config.webUi })
  const forgetting = new Cleaning(core, 'reports of quotas', () => ownerMails.forgetCalm())
  mail.connect({
    post: (message) => mails.post(message),
    event: ownerMails.event,
    setLanguage: ownerMails.setLanguage,
  })
  return { workers: [quotaLooks, worker, cleaning, forgetting], mails, inbox }
}

/** @throws ConfigError for a server without a sender. */
export function sendsMail(given: Pick<Runtime, 'config' | 'registry'>): boolean {
  const { smtpUrl, mailFrom } = settingsOf(given, mailOptions)
  if (smtpUrl !== null && mailFrom === null)
    throw new ConfigError('TROUPE_MAIL_FROM is required with TROUPE_SMTP_URL: the sender of the mail of the service.')
  return given.registry.eventHandlers('mail').length > 0 || smtpUrl !== null || hasInbox(given)
}

/** Whether nothing sends the messages of a service in development, so that it shows them. */
export function hasInbox(given: Pick<Runtime, 'config' | 'registry'>): boolean {
  const { smtpUrl, devMail } = settingsOf(given, mailOptions)
  return (
    devMail &&
    given.config.mode === 'development' &&
    smtpUrl === null &&
    given.registry.eventHandlers('mail').length === 0
  )
}

/** The handler of the application comes first. Null: nothing sends mail. */
function transportOf(runtime: Runtime, smtpUrl: string | null, from: Sender | null): MailTransport | null {
  if (runtime.registry.eventHandlers('mail').length > 0) return byHandler(runtime)
  if (smtpUrl === null || from === null) return null
  const smtp = { server: smtpServerOf(smtpUrl), host: publicHostOf(runtime.baseUrl) }
  return async (mail, mark) => {
    // Loaded on demand: most processes of tests and commands send nothing.
    const { sendBySmtp } = await import('./smtp.ts')
    return sendBySmtp(smtp, { ...mail, from }, mark)
  }
}

/** The first handler sends. Further ones would send the same message again. */
function byHandler({ registry, log, timers }: Runtime): MailTransport {
  return async ({ messageId, kind, to, subject, text, html, headers }, mark) => {
    const [handler] = registry.eventHandlers('mail')
    await mark()
    const context = { actorId: null, hops: 0, call: 'mail', signal: new AbortController().signal }
    let hasFailed = false
    try {
      const answer: unknown = await runHandler(timers, context, async () => {
        try {
          return await handler?.({ message_id: messageId, kind, to, subject, text, html, headers })
        } catch (error) {
          hasFailed = true
          throw error
        }
      })
      return answer === false
        ? { kind: 'refused', reason: 'The handler of the application refused it' }
        : { kind: 'sent', answer: '' }
    } catch (error) {
      log.error({ error, event: 'mail' }, 'An event handler failed')
      return hasFailed
        ? { kind: 'retry', reason: 'The handler of the application failed' }
        : { kind: 'unknown', reason: 'The handler of the application did not end in time' }
    }
  }
}
