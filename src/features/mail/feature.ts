import { ServiceError } from '../../errors.ts'
import { defineFeature } from '../feature.ts'
import { mailChoiceTable } from './choice-store.ts'
import { createMail, sendsMail } from './create.ts'
import { mailNoteTable } from './note-store.ts'
import { mailOptions } from './options.ts'
import { mailPages } from './page.ts'
import { mailRoutes } from './routes.ts'
import { mailTable } from './tables.ts'

/** Messages to people by email. */
export const mail = defineFeature({
  name: 'mail',
  tables: [mailTable, mailChoiceTable, mailNoteTable],
  options: mailOptions,
  pages: mailPages,
  sendsMail,
  start: (core) => {
    const { workers, mails } = createMail(core)
    return {
      parts: { store: core.store, keyRing: core.keyRing, now: core.now },
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
  routes: ({ config }, parts, page) => mailRoutes(() => ({ ...page(), ...parts() }), config.webUi),
})
