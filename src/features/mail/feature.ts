import { defineFeature } from '../feature.ts'
import { createMail } from './create.ts'
import { mailOptions } from './options.ts'
import { mailTable } from './tables.ts'

/** Messages to people by email. */
export const mail = defineFeature({
  name: 'mail',
  tables: [mailTable],
  options: mailOptions,
  start: (core) => {
    const { workers } = createMail(core)
    return { parts: {}, workers }
  },
})
