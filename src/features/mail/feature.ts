import { ServiceError } from '../../errors.ts'
import { builtInFeature } from '../feature.ts'
import { mailCheck } from './check.ts'
import { mailChoiceTable } from './choice-store.ts'
import { createMail, hasInbox, sendsMail } from './create.ts'
import { inboxRoutes } from './inbox.ts'
import { mailNoteTable } from './note-store.ts'
import { mailOptions } from './options.ts'
import { mailPages } from './page.ts'
import { mailRoutes } from './routes.ts'
import { mailTable } from './tables.ts'

/** Messages to people by email. */
export const mail = builtInFeature({
  name: 'mail',
  tables: [mailTable, mailChoiceTable, mailNoteTable],
  options: mailOptions,
  pages: mailPages,
  sendsMail,
  localChecks: [mailCheck],
  start: (core) => {
    const { workers, mails, inbox } = createMail(core)
    return {
      parts: { store: core.store, keyRing: core.keyRing, now: core.now, inbox },
      workers,
      handle: {
        mail:
          ({ actor }) =>
          async (message, options) => {
            if (mails !== null) return mails.ofApplication(actor.id, message, options)
            throw new ServiceError('mail_unavailable', 'Cannot send the message: TROUPE_SMTP_URL is not set')
          },
      },
    }
  },
  routes: (facts, parts, page) => [
    ...mailRoutes(() => ({ ...page(), ...parts() }), facts.config.webUi),
    ...(hasInbox(facts) ? inboxRoutes(() => ({ ...page(), ...parts() })) : []),
  ],
})
